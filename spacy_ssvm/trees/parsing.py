"""Kernels that parse sentences: nodes and weights to heads, heads to the table of arcs.

Nodes are laid out as in ``trees/examples.py``: each sentence has its root, its words, and
one more node.
"""

import numpy as np

from spacy_ssvm._jit import AnyWeights, Floats, Ints, Keys, kernel
from spacy_ssvm.decoders.tree import chu_liu_edmonds
from spacy_ssvm.features.arcs import make_sides
from spacy_ssvm.features.labels import Columns, fill_arc_columns, order_dependents
from spacy_ssvm.trees.examples import ArcFeatures, Pruner
from spacy_ssvm.trees.scores import arc_scores, decode, likely_arcs

_ROOT = np.uint64(0x8EBC6AF09C88C6E3)  # the value of all attributes of the root
_BEHIND = np.uint64(0x589965CC75374CC3)  # and of the node behind the words


@kernel
def lay_out_nodes(words: Keys, sentence_starts: Ints, nodes: Keys) -> None:
    """Write the nodes (uint64 [words + 2 sentences, columns]) of sentences."""
    for s in range(len(sentence_starts) - 1):
        start, end = sentence_starts[s], sentence_starts[s + 1]
        nodes[start + 2 * s] = _ROOT
        nodes[start + 2 * s + 1 : end + 2 * s + 1] = words[start:end]
        nodes[end + 2 * s + 1] = _BEHIND


@kernel
def _allow_only(given: Ints, scores: Floats) -> bool:
    """Forbid all other heads of words whose head is given; return whether there are any."""
    N = len(scores)
    restricted = False
    for m in range(1, N):
        if given[m] >= 0:
            restricted = True
            for h in range(N):
                if h != given[m]:
                    scores[h, m] = -np.inf
    return restricted


@kernel
def _score_sentence(
    features: ArcFeatures, pruner: Pruner, weights: AnyWeights, nodes: Keys, given: Ints
) -> Floats:
    """The score table of one sentence: float64 [n + 1, n + 1], for the arcs that are allowed."""
    N = len(given)
    allowed = np.empty((N, N), dtype=np.bool_)
    likely_arcs(pruner, nodes, 0, N + 1, allowed)
    for m in range(1, N):
        if given[m] >= 0:
            allowed[given[m], m] = True
    sides = make_sides(features.arcs, nodes, 0, N + 1)
    scores = np.empty((N, N))
    arc_scores(features.arcs, sides, features.size, weights, allowed, scores)
    return scores


@kernel
def parse_sentence(
    features: ArcFeatures,
    pruner: Pruner,
    weights: AnyWeights,
    nodes: Keys,
    given: Ints,
    heads: Ints,
) -> float:
    """Fill heads with the best tree of one sentence; return its score.

    given: int64 [n + 1], heads that the tree must have, -1 for none. Where no projective
    tree has them, the best other one is taken; where none at all has, they are left out.
    """
    N = len(heads)
    scores = _score_sentence(features, pruner, weights, nodes, given)
    free = scores.copy()
    restricted = _allow_only(given, scores)
    sides = make_sides(features.pairs, nodes, 0, N + 1)
    score = decode(features, sides, weights, scores, heads)
    if restricted and score == -np.inf:
        score = chu_liu_edmonds(scores, heads)
        if score == -np.inf:
            score = decode(features, sides, weights, free, heads)
    return score


@kernel
def parse_sentences(
    features: ArcFeatures,
    pruner: Pruner,
    weights: AnyWeights,
    nodes: Keys,
    node_starts: Ints,
    given: Ints,
    max_length: int,
    heads: Ints,
) -> None:
    """Fill heads (int64 [nodes]) with the best trees; the root and the last node get -1.

    A sentence of more than max_length words is parsed in pieces of that length, whose roots
    depend on the root of the first.
    """
    for s in range(len(node_starts) - 1):
        start, end = node_starts[s], node_starts[s + 1]
        n = end - start - 2
        heads[start] = -1
        heads[end - 1] = -1
        if n <= max_length:
            parse_sentence(
                features,
                pruner,
                weights,
                nodes[start:end],
                given[start : end - 1],
                heads[start : end - 1],
            )
            continue
        top = 0
        for first in range(1, n + 1, max_length):
            last = min(first + max_length, n + 1)
            piece = np.empty((last - first + 2, nodes.shape[1]), dtype=np.uint64)
            piece[0] = nodes[start]
            piece[1:-1] = nodes[start + first : start + last]
            piece[-1] = nodes[end - 1]
            given_here = np.full(last - first + 1, -1, dtype=np.int64)
            for m in range(first, last):
                if first <= given[start + m] < last:
                    given_here[m - first + 1] = given[start + m] - first + 1
            found = np.empty(last - first + 1, dtype=np.int64)
            parse_sentence(features, pruner, weights, piece, given_here, found)
            for m in range(first, last):
                head = found[m - first + 1]
                heads[start + m] = head + first - 1 if head > 0 else top
                if head == 0 and top == 0:
                    top = m


@kernel
def fill_arc_table(
    columns: Columns,
    nodes: Keys,
    node_starts: Ints,
    heads: Ints,
    table: Keys,
    arc_nodes: Ints,
    sequence_starts: Ints,
    sentence_sequences: Ints,
) -> int:
    """Write the table of all arcs (``features/labels.py``); return how many sequences there are.

    table: uint64 [arcs, columns]; arc_nodes: int64 [arcs], the dependents; sequence_starts:
    int64, with room for one more than the arcs; sentence_sequences: int64 [sentences + 1],
    the first sequence of each sentence.
    """
    longest = 0
    for s in range(len(node_starts) - 1):
        longest = max(longest, node_starts[s + 1] - node_starts[s])
    order = np.empty(longest, dtype=np.int64)
    starts = np.empty(longest + 1, dtype=np.int64)
    rows, sequences = 0, 0
    for s in range(len(node_starts) - 1):
        start, end = node_starts[s], node_starts[s + 1]
        sentence_sequences[s] = sequences
        of_sentence = heads[start : end - 1]
        found = order_dependents(of_sentence, order, starts)
        n = starts[found]
        fill_arc_columns(columns, nodes, start, end, of_sentence, order[:n], table[rows : rows + n])
        for row in range(n):
            arc_nodes[rows + row] = start + order[row]
        for sequence in range(found):
            sequence_starts[sequences] = rows + starts[sequence]
            sequences += 1
        rows += n
    sequence_starts[sequences] = rows
    sentence_sequences[len(node_starts) - 1] = sequences
    return sequences


@kernel
def arc_margins(
    features: ArcFeatures,
    pruner: Pruner,
    weights: AnyWeights,
    nodes: Keys,
    given: Ints,
    heads: Ints,
    margins: Floats,
) -> None:
    """Write how much worse the best tree is without the arc of each word (float64 [n + 1]).

    heads: the best tree. Infinite where every tree has the arc.
    """
    N = len(heads)
    scores = _score_sentence(features, pruner, weights, nodes, given)
    _allow_only(given, scores)
    sides = make_sides(features.pairs, nodes, 0, N + 1)
    other = np.empty(N, dtype=np.int64)
    best = decode(features, sides, weights, scores, other)
    for m in range(1, N):
        score = scores[heads[m], m]
        scores[heads[m], m] = -np.inf
        margins[m] = best - decode(features, sides, weights, scores, other)
        scores[heads[m], m] = score


@kernel
def best_trees(
    features: ArcFeatures, pruner: Pruner, weights: AnyWeights, nodes: Keys, m: int, heads: Ints
) -> tuple[float, float]:
    """Fill heads (int64 [2, n + 1]) with the best tree, and the best with another head of m.

    Returns their scores.
    """
    N = heads.shape[1]
    free = np.full(N, -1, dtype=np.int64)
    scores = _score_sentence(features, pruner, weights, nodes, free)
    sides = make_sides(features.pairs, nodes, 0, N + 1)
    best = decode(features, sides, weights, scores, heads[0])
    scores[heads[0, m], m] = -np.inf
    return best, decode(features, sides, weights, scores, heads[1])
