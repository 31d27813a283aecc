"""Words as nodes of trees: the root of a sentence, its words, and a node that marks its end.

Sentences longer than the parser's maximum are cut into pieces, which it treats as sentences.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

import numpy as np

from spacy_ssvm.features.attributes import ByNode, ByPieceNode, ByWord, TokenTable
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Ints, Keys

_ROOT = np.uint64(0x8EBC6AF09C88C6E3)  # the value of all attributes of the root
_END = np.uint64(0x589965CC75374CC3)  # the value of all attributes of the end node


N = TypeVar("N", ByNode, ByPieceNode)
M = TypeVar("M", ByNode, ByPieceNode)


@dataclass(frozen=True)
class Nodes(Generic[N]):
    """The sentences of a batch of Docs, or pieces of them, laid out as in ``trees/layout.py``."""

    tokens: TokenTable
    attributes: Keys  #: uint64 [nodes, columns]
    starts: Ints  #: int64 [sentences + 1]: the root of each sentence
    words: ByWord  #: int64 [words]: the node of each word


def as_nodes(tokens: TokenTable) -> Nodes[N]:
    """The words of a table as nodes."""
    sentences = len(tokens.sentence_starts) - 1
    starts = tokens.sentence_starts + 2 * np.arange(sentences + 1)
    attributes = np.empty((int(starts[-1]), tokens.attributes.shape[1]), dtype=np.uint64)
    lay_out_nodes(tokens.attributes, tokens.sentence_starts, attributes)
    sizes = np.diff(tokens.sentence_starts)
    words = np.arange(len(tokens.positions)) + 1 + 2 * np.repeat(np.arange(sentences), sizes)
    return Nodes(tokens, attributes, starts, ByWord(words))


def sentence_roots(nodes: Nodes[N]) -> ByWord:
    """The root of the sentence of each word: int64 [words], nodes."""
    return ByWord(np.repeat(nodes.starts[:-1], np.diff(nodes.tokens.sentence_starts)))


def translate_heads(heads: N, nodes: Nodes[N], others: Nodes[M]) -> ByWord:
    """Translate heads between two segmentations of the same words into sentences or pieces.

    heads: int64 [nodes], as nodes of the sentences of ``nodes``, -1 for none. Returns int64
    [words], heads as nodes of the sentences of ``others``, -1 where they lie in another one.
    """
    word_heads = heads[nodes.words]
    is_word = word_heads > 0
    head_nodes = np.where(is_word, sentence_roots(nodes) + word_heads, nodes.words)
    moved = others.words[np.searchsorted(nodes.words, head_nodes)] - sentence_roots(others)
    sizes = np.repeat(np.diff(others.starts), np.diff(others.tokens.sentence_starts))
    inside = (moved > 0) & (moved < sizes - 1)
    return ByWord(np.where(is_word, np.where(inside, moved, -1), word_heads))


def join_pieces(heads: ByPieceNode, pieces: Nodes[ByPieceNode], nodes: Nodes[ByNode]) -> ByNode:
    """The heads of sentences, from the heads of their pieces: int64 [nodes].

    The roots of further pieces depend on the root of the first.
    """
    if len(pieces.starts) == len(nodes.starts):  # no sentence is cut
        return ByNode(heads)
    joined = np.full(len(nodes.attributes), -1, dtype=np.int64)
    joined[nodes.words] = translate_heads(heads, pieces, nodes)
    roots = nodes.words[joined[nodes.words] == 0]
    sentences = np.searchsorted(nodes.starts, roots, side="right") - 1
    _, first = np.unique(sentences, return_index=True)
    first_roots = np.repeat(roots[first], np.diff(np.append(first, len(roots))))
    joined[roots] = np.where(roots == first_roots, 0, first_roots - nodes.starts[sentences])
    return ByNode(joined)


@kernel
def lay_out_nodes(words: Keys, sentence_starts: Ints, nodes: Keys) -> None:
    """Write the nodes (uint64 [words + 2 sentences, columns]) of sentences."""
    for s in range(len(sentence_starts) - 1):
        start, end = sentence_starts[s], sentence_starts[s + 1]
        nodes[start + 2 * s] = _ROOT
        nodes[start + 2 * s + 1 : end + 2 * s + 1] = words[start:end]
        nodes[end + 2 * s + 1] = _END


def gold_nodes(nodes: Nodes[N], gold: Sequence[Ints]) -> tuple[N, N]:
    """Gold heads and labels by node: int64 [nodes] each, -1 for none.

    Heads that are whitespace or lie in another sentence count as missing. So do roots, where a
    sentence has several: it then spans several gold sentences.
    """
    tokens = nodes.tokens
    both = np.concatenate(gold)
    offsets = np.repeat(tokens.doc_starts[:-1], np.diff(tokens.doc_starts))
    node_of_token = np.full(len(both), -1, dtype=np.int64)
    node_of_token[tokens.positions] = nodes.words
    positions = tokens.positions
    targets = both[positions, 0]
    known = targets >= 0
    head_nodes = np.where(known, node_of_token[(offsets[positions] + targets) * known], -1)
    sentences = np.searchsorted(nodes.starts, nodes.words, side="right") - 1
    roots = nodes.starts[sentences]
    same = known & (head_nodes > roots) & (head_nodes < nodes.starts[sentences + 1])
    is_root = same & (head_nodes == nodes.words)
    several = np.bincount(sentences[is_root], minlength=len(nodes.starts)) > 1
    heads = np.full(len(nodes.attributes), -1, dtype=np.int64)
    heads[nodes.words] = np.where(same, head_nodes - roots, -1)
    heads[nodes.words[is_root]] = np.where(several[sentences[is_root]], -1, 0)
    labels = np.full(len(nodes.attributes), -1, dtype=np.int64)
    labels[nodes.words] = both[positions, 1]
    return cast(N, heads), cast(N, labels)


def find_flaw(node_starts: Ints, heads: Ints) -> tuple[int, str, list[int]] | None:
    """The first sentence whose gold heads cannot be part of a tree, the flaw, and its words.

    node_starts, heads: as in ``TreeProblem.append``.
    """
    s, member = _find_flaw(node_starts, heads)
    if s < 0:
        return None
    sentence_heads = heads[node_starts[s] : node_starts[s + 1]]
    if member == 0:
        return s, "several roots", np.flatnonzero(sentence_heads == 0).tolist()
    cycle = [member]
    while sentence_heads[cycle[-1]] != member:
        cycle.append(int(sentence_heads[cycle[-1]]))
    return s, "a cycle", sorted(cycle)


@kernel
def _find_flaw(node_starts: Ints, heads: Ints) -> tuple[int, int]:
    """A sentence with a cycle and a word of it, or with several roots and 0; else (-1, 0)."""
    for s in range(len(node_starts) - 1):
        sentence_heads = heads[node_starts[s] : node_starts[s + 1] - 1]
        N = len(sentence_heads)
        visit = np.zeros(N, dtype=np.int64)
        roots = 0
        for start in range(1, N):
            roots += sentence_heads[start] == 0
            m = start
            while m > 0 and visit[m] == 0:
                visit[m] = start
                m = sentence_heads[m]
            if m > 0 and visit[m] == start:
                return s, m
        if roots > 1:
            return s, 0
    return -1, 0
