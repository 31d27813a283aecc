"""What features know of nodes, in columns: characters, chunks, and what is around them."""

import numpy as np

from spacy_ssvm.features.extraction import mix
from spacy_ssvm.kernels.compile import inlined_kernel, kernel
from spacy_ssvm.kernels.types import Codes, Floats, Keys, ShortKeys
from spacy_ssvm.labelings.cached_sums import Features, add_features
from spacy_ssvm.tokenizer.chunks import (
    END,
    ENDING1,
    ENDING2,
    ENDING3,
    ENDING_CLASS,
    FIRST_CODE,
    GAP,
    LOWER_TEXT,
    SEED,
    SHAPE,
    TEXT,
    Chunks,
    KnownChunks,
    class_code,
    pattern_of,
)
from spacy_ssvm.tokenizer.nodes import INNER, Nodes

REACH = 3  #: characters on each side
_WIDTH = 2 * REACH + 1

#: What columns say of chunks, by their names.
_FIELD_OF = {
    "chunk": TEXT,
    "lower": LOWER_TEXT,
    "shape": SHAPE,
    "space": GAP,
    "ending1": ENDING1,
    "ending2": ENDING2,
    "ending3": ENDING3,
    "ending_class": ENDING_CLASS,
}
_OF_CHARACTERS = (
    *(("char", d) for d in range(-REACH, REACH + 1)),
    *(("class", d) for d in range(-REACH, REACH + 1)),
    *(("left", 0), ("right", 0), ("left_word", 0), ("right_word", 0), ("first", 0), ("link", 0)),
)
_OF_CHUNKS = (("chunk", 0), ("lower", 0), ("shape", 0), ("chunk", -1), ("chunk", 1))
#: Those that have no value but at the first character of a chunk.
_OF_FIRST = (
    *(("space", 0), ("chunk", -2), ("chunk", 2), ("lower", -1), ("lower", 1)),
    *(("shape", -1), ("shape", 1)),
    *(("ending1", -1), ("ending2", -1), ("ending3", -1), ("ending_class", -1)),
)
#: The attributes and offsets of parts of templates.
COLUMNS = (*_OF_CHARACTERS, *_OF_CHUNKS, *_OF_FIRST)

_LEFT, _RIGHT, _LEFT_WORD, _RIGHT_WORD, _FIRST, _LINK, _OWN = range(2 * _WIDTH, 2 * _WIDTH + 7)
#: The chunks and fields from the column _OWN on; those from _LATER on are of first characters.
_NEIGHBOURS = np.array([offset for _, offset in COLUMNS[_OWN:]])
_FIELDS = np.array([_FIELD_OF[name] for name, _ in COLUMNS[_OWN:]])
_LATER = len(_OF_CHUNKS)

_COLON, _SLASH, _W, _DOT, _AT = (np.uint32(ord(character)) for character in ":/w.@")
_BEFORE, _AFTER = np.uint64(2), END  # the values outside of chunk and text
_IS_FIRST, _IS_INNER = np.uint64(1), np.uint64(2)
#: What is known of a part of a chunk, from 1: what it is where it is a chunk.
WORD_KINDS = ("unknown", "token", "several tokens")
_UNKNOWN, _IS_TOKEN, _IS_TOKENS = np.uint64(1), np.uint64(2), np.uint64(3)
_LONGEST_WORD = 32  # characters of a part that is looked up


@inlined_kernel
def _hash_parts(codes: ShortKeys, start: int, end: int, lefts: Keys, rights: Keys) -> None:
    """Hash what is left and right of each character of a chunk [start, end)."""
    left = right = SEED
    for i in range(start, end):
        lefts[i - start] = left
        left = mix(left, np.uint64(codes[i]))
    for i in range(end - 1, start - 1, -1):
        right = mix(right, np.uint64(codes[i]))
        rights[i - start] = right


@inlined_kernel
def _hash_text(codes: ShortKeys, start: int, end: int) -> int:
    """The hash of [start, end) as a chunk; ``_hash_parts`` hashes what is right from its end on."""
    key = SEED
    for i in range(start, end):
        key = mix(key, np.uint64(codes[i]))
    return key  # type: ignore[no-any-return]


@inlined_kernel
def _word(known: KnownChunks, key: int, length: int) -> int:
    """What is known of a part of a chunk, by its hash and length (uint64)."""
    if length > _LONGEST_WORD:
        return _UNKNOWN  # type: ignore[no-any-return]
    pattern = pattern_of(known, max(key, np.uint64(1)), length)
    if pattern < 0:
        return _UNKNOWN  # type: ignore[no-any-return]
    is_token = known.cut_starts[pattern + 1] == known.cut_starts[pattern]
    return _IS_TOKEN if is_token else _IS_TOKENS  # type: ignore[no-any-return]


@inlined_kernel
def _find_link(codes: ShortKeys, start: int, end: int) -> int:
    """The mark of an address in the chunk [start, end): of "://", "www." or "@"; end for none."""
    for i in range(start, end):
        if codes[i] == _AT and start < i < end - 1:
            return i
        if i + 3 >= end:
            continue
        if codes[i] == _COLON and codes[i + 1] == _SLASH and codes[i + 2] == _SLASH:
            return i
        if codes[i] == _W and codes[i + 1] == _W and codes[i + 2] == _W and codes[i + 3] == _DOT:
            return i
    return end


@inlined_kernel
def _fill_columns(
    codes: ShortKeys,
    classes: Codes,
    chunks: Chunks,
    chunk: int,
    text: int,
    i: int,
    parts: Keys,
    link: int,
    known: KnownChunks,
    columns: Keys,
) -> None:
    """Write the columns of character i of a chunk.

    text: that of the chunk. parts: uint64 [2, characters of the chunk], see ``_hash_parts``.
    link: see ``_find_link``.
    """
    start, end = chunks.starts[chunk], chunks.ends[chunk]
    for d in range(_WIDTH):
        j = i + d - REACH
        if j < start:
            columns[d] = columns[_WIDTH + d] = _BEFORE
        elif j >= end:
            columns[d] = columns[_WIDTH + d] = _AFTER
        else:
            columns[d] = np.uint64(codes[j]) + np.uint64(FIRST_CODE)
            columns[_WIDTH + d] = class_code(codes[j], classes)
    is_first = i == start
    columns[_LEFT], columns[_RIGHT] = parts[0, i - start], parts[1, i - start]
    columns[_LEFT_WORD] = columns[_RIGHT_WORD] = np.uint64(0)
    if not is_first:
        columns[_LEFT_WORD] = _word(known, parts[0, i - start], i - start)
        right = _hash_text(codes, i, min(end, i + _LONGEST_WORD))
        columns[_RIGHT_WORD] = _word(known, right, end - i)
    columns[_FIRST] = _IS_FIRST if is_first else _IS_INNER
    columns[_LINK] = np.uint64(0)
    if link < end:
        columns[_LINK] = _IS_FIRST if i <= link else _IS_INNER
    for field in range(len(_FIELDS)):
        neighbour = chunk + _NEIGHBOURS[field]
        if field >= _LATER and not is_first:
            value = np.uint64(0)
        elif neighbour < chunks.text_chunks[text]:
            value = _BEFORE
        elif neighbour >= chunks.text_chunks[text + 1]:
            value = _AFTER
        else:
            value = chunks.fields[neighbour, _FIELDS[field]]
        columns[_OWN + field] = value


@inlined_kernel
def _longest(chunks: Chunks, nodes: Nodes) -> int:
    """The characters of the longest chunk with nodes."""
    longest = 0
    for chunk in range(len(chunks.starts)):
        if nodes.chunk_nodes[chunk + 1] > nodes.chunk_nodes[chunk]:
            longest = max(longest, chunks.ends[chunk] - chunks.starts[chunk])
    return longest


@kernel
def read_columns(
    codes: ShortKeys, classes: Codes, chunks: Chunks, nodes: Nodes, known: KnownChunks
) -> Keys:
    """The columns of all nodes: uint64 [nodes, columns], 0 for none."""
    columns = np.empty((len(nodes.positions), len(COLUMNS)), dtype=np.uint64)
    parts = np.empty((2, _longest(chunks, nodes)), dtype=np.uint64)
    for text in range(len(nodes.text_nodes) - 1):
        for chunk in range(chunks.text_chunks[text], chunks.text_chunks[text + 1]):
            link = _prepare(codes, chunks, nodes, chunk, parts)
            for node in range(nodes.chunk_nodes[chunk], nodes.chunk_nodes[chunk + 1]):
                i = nodes.positions[node]
                _fill_columns(
                    codes, classes, chunks, chunk, text, i, parts, link, known, columns[node]
                )
    return columns


@kernel
def score_nodes(
    codes: ShortKeys,
    classes: Codes,
    chunks: Chunks,
    nodes: Nodes,
    known: KnownChunks,
    features: Features,
    K: int,
) -> Floats:
    """The emissions of all nodes: float64 [nodes, K]. First characters are not inside a token."""
    emissions = np.zeros((len(nodes.positions), K))
    columns = np.empty((1, len(COLUMNS)), dtype=np.uint64)
    parts = np.empty((2, _longest(chunks, nodes)), dtype=np.uint64)
    keys = np.empty(len(features.templates.seeds), dtype=np.uint64)
    rows = np.empty(len(keys), dtype=np.int64)
    for text in range(len(nodes.text_nodes) - 1):
        for chunk in range(chunks.text_chunks[text], chunks.text_chunks[text + 1]):
            link = _prepare(codes, chunks, nodes, chunk, parts)
            for node in range(nodes.chunk_nodes[chunk], nodes.chunk_nodes[chunk + 1]):
                i = nodes.positions[node]
                _fill_columns(
                    codes, classes, chunks, chunk, text, i, parts, link, known, columns[0]
                )
                add_features(features, columns, 0, 1, 0, keys, rows, emissions[node])
                if i == chunks.starts[chunk]:
                    emissions[node, INNER] = -np.inf
    return emissions


@inlined_kernel
def _prepare(codes: ShortKeys, chunks: Chunks, nodes: Nodes, chunk: int, parts: Keys) -> int:
    """Hash the parts of a chunk, if it has nodes, and return its link."""
    start, end = chunks.starts[chunk], chunks.ends[chunk]
    if nodes.chunk_nodes[chunk + 1] == nodes.chunk_nodes[chunk]:
        return end  # type: ignore[no-any-return]
    _hash_parts(codes, start, end, parts[0], parts[1])
    return _find_link(codes, start, end)
