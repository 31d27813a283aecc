"""Nodes, where it is decided whether a token or a sentence begins.

Nodes are the first characters of chunks, and all characters of chunks whose cuts are not known, but
for those in contexts where nothing has ever begun.
"""

from typing import NamedTuple

import numpy as np

from spacy_ssvm.features.attributes import ByWord
from spacy_ssvm.features.extraction import mix
from spacy_ssvm.kernels.compile import inlined_kernel, kernel
from spacy_ssvm.kernels.types import Codes, Flags, Ints, Keys, ShortKeys
from spacy_ssvm.tokenizer.chunks import (
    END,
    ENDING3,
    GAP,
    START,
    TEXT,
    Chunks,
    KnownChunks,
    class_code,
    pattern_of,
)
from spacy_ssvm.weights.hash_table import empty_slots, find_slot

#: The labels of nodes: nothing begins, a token, or a sentence (and a token). Ties, as of all labels
#: without weights, go to the first.
LABELS = ("inside", "token", "sentence")
INNER, TOKEN, SENTENCE = range(3)
#: The set of labels of the first characters of chunks, beside the sets of one label.
STARTS = len(LABELS)

#: A context is certain where a sentence begins at none of so many chunks of training, or a token at
#: none of so many characters in chunks whose cuts are not known.
_LEAST_CHUNKS, _LEAST_CHARACTERS = 50, 20

_CHUNK_SEED, _CHARACTER_SEED = np.uint64(0x8E9D5A0C7B3F2461), np.uint64(0xB5297A4D3F84D5B5)

#: Certain contexts where there are none.
NOTHING_CERTAIN = empty_slots(0)


class Nodes(NamedTuple):
    """The nodes of a batch of texts."""

    positions: Ints  #: int64 [nodes]: the character
    text_nodes: Ints  #: int64 [texts + 1]: the first node of each text
    chunk_nodes: Ints  #: int64 [chunks + 1]: the first node of each chunk
    patterns: Ints  #: int64 [chunks]: of known chunks, else -1


@kernel
def find_patterns(chunks: Chunks, known: KnownChunks) -> Ints:
    """The patterns of chunks: int64 [chunks], -1 for those that are not known."""
    patterns = np.empty(len(chunks.starts), dtype=np.int64)
    for chunk in range(len(patterns)):
        length = chunks.ends[chunk] - chunks.starts[chunk]
        patterns[chunk] = pattern_of(known, chunks.fields[chunk, TEXT], length)
    return patterns


@kernel
def find_nodes(
    codes: ShortKeys, classes: Codes, chunks: Chunks, patterns: Ints, certain: Keys
) -> Nodes:
    """The nodes of chunks.

    codes: of all texts. patterns: see ``find_patterns``.
    certain: the keys of contexts in which nothing begins, a hash table.
    """
    number = len(chunks.starts)
    most = number
    for chunk in range(number):
        most += chunks.ends[chunk] - chunks.starts[chunk] if patterns[chunk] < 0 else 0
    positions = np.empty(most, dtype=np.int64)
    chunk_nodes = np.empty(number + 1, dtype=np.int64)
    node = 0
    for chunk in range(number):
        chunk_nodes[chunk] = node
        start, end = chunks.starts[chunk], chunks.ends[chunk]
        is_first = chunks.fields[chunk, GAP] == START
        if not is_first and not _has(certain, _chunk_context(codes, classes, chunks, chunk)):
            positions[node] = start
            node += 1
        if patterns[chunk] < 0:
            for i in range(start + 1, end):
                if not _has(certain, _character_context(codes, classes, i, end)):
                    positions[node] = i
                    node += 1
    chunk_nodes[number] = node
    return Nodes(positions[:node], chunk_nodes[chunks.text_chunks], chunk_nodes, patterns)


@inlined_kernel
def _has(slots: Keys, key: int) -> bool:
    """Whether a hash table has a key."""
    return slots[find_slot(slots, key), 0] == key  # type: ignore[no-any-return]


@inlined_kernel
def _chunk_context(codes: ShortKeys, classes: Codes, chunks: Chunks, chunk: int) -> int:
    """The context of a chunk that has others before it, not 0."""
    key = mix(_CHUNK_SEED, chunks.fields[chunk - 1, ENDING3])
    key = mix(key, chunks.fields[chunk, GAP])
    key = mix(key, class_code(codes[chunks.starts[chunk]], classes))
    return max(key, np.uint64(1))  # type: ignore[no-any-return]


@inlined_kernel
def _character_context(codes: ShortKeys, classes: Codes, i: int, end: int) -> int:
    """The context of a character that has others before it in a chunk that ends at ``end``."""
    key = mix(_CHARACTER_SEED, np.uint64(codes[i - 1]))
    key = mix(key, np.uint64(codes[i]))
    key = mix(key, class_code(codes[i + 1], classes) if i + 1 < end else END)
    return max(key, np.uint64(1))  # type: ignore[no-any-return]


@kernel
def _contexts(codes: ShortKeys, classes: Codes, chunks: Chunks, nodes: Nodes) -> tuple[Keys, Flags]:
    """The contexts of nodes, and which of them are the first characters of chunks."""
    keys = np.empty(len(nodes.positions), dtype=np.uint64)
    are_first = np.zeros(len(keys), dtype=np.bool_)
    for chunk in range(len(chunks.starts)):
        for node in range(nodes.chunk_nodes[chunk], nodes.chunk_nodes[chunk + 1]):
            i = nodes.positions[node]
            if i == chunks.starts[chunk]:
                are_first[node] = True
                keys[node] = _chunk_context(codes, classes, chunks, chunk)
            else:
                keys[node] = _character_context(codes, classes, i, chunks.ends[chunk])
    return keys, are_first


def learn_contexts(
    codes: ShortKeys, classes: Codes, chunks: Chunks, nodes: Nodes, labels: ByWord
) -> Keys:
    """The certain contexts of texts: different keys, uint64.

    nodes: all of them. labels: as annotated, -1 for any.
    """
    keys, are_first = _contexts(codes, classes, chunks, nodes)
    begins = np.where(are_first, labels == SENTENCE, labels != INNER) | (labels < 0)
    different, index, counts = np.unique(keys, return_inverse=True, return_counts=True)
    least = np.zeros(len(different), dtype=np.int64)
    least[index] = np.where(are_first, _LEAST_CHUNKS, _LEAST_CHARACTERS)
    never = np.bincount(index, begins, minlength=len(different)) == 0
    certain: Keys = different[never & (counts >= least)]
    return certain


def label_sets() -> Flags:
    """The sets of labels that nodes may be restricted to: bool [4, 3]."""
    sets = np.eye(STARTS + 1, len(LABELS), dtype=bool)
    sets[STARTS, [TOKEN, SENTENCE]] = True
    return sets


def restrict(chunks: Chunks, nodes: Nodes) -> Ints:
    """The set of labels of each node: int64 [nodes], -1 for any label."""
    owners = np.repeat(np.arange(len(chunks.starts)), np.diff(nodes.chunk_nodes))
    return np.where(nodes.positions == chunks.starts[owners], STARTS, -1)


def labels_at(nodes: Nodes, is_start: Flags, is_sentence: Flags) -> ByWord:
    """The labels of nodes, by where tokens and sentences begin: bool [characters] each."""
    tokens = np.where(is_start[nodes.positions], TOKEN, INNER)
    return ByWord(np.where(is_sentence[nodes.positions], SENTENCE, tokens))
