"""Probabilities of arcs, under p(tree) ~ exp(beta score(tree)), and the trees of least risk."""

import numpy as np

from spacy_ssvm.decoders.tree import chu_liu_edmonds
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Floats, Ints, Keys
from spacy_ssvm.trees.inference import fix_heads
from spacy_ssvm.trees.keys import hash_pairs
from spacy_ssvm.trees.layout import Scorer
from spacy_ssvm.trees.pruner import score_arcs
from spacy_ssvm.trees.scores import marginals, score_parts


@kernel
def arc_probabilities(
    scorer: Scorer,
    nodes: Keys,
    fixed_heads: Ints,
    max_length: int,
    beta: float,
    probabilities: Floats,
) -> None:
    """Write the probability of each arc of one sentence: float64 [n + 1, n + 1].

    By head and dependent; 0 for arcs that the pruner discards. fixed_heads: int64 [n + 1], heads
    that trees must have, -1 for none. As in ``parse_sentence``, non-projective trees are used where
    no projective one has these heads, and fixed heads are ignored where no tree has them. Sentences
    of more than max_length words are analysed in pieces, as in ``ParserModel.parse``: the trees of
    the pieces are independent, and the root of each depends on the root of the first.
    """
    n = len(fixed_heads) - 1
    probabilities[:] = 0.0
    if n == 0:
        return
    if n <= max_length:
        _piece_probabilities(scorer, nodes, fixed_heads, beta, probabilities)
        return
    for first in range(1, n + 1, max_length):
        last = min(first + max_length, n + 1)
        size = last - first
        piece = np.empty((size + 2, nodes.shape[1]), dtype=np.uint64)
        piece[0] = nodes[0]
        piece[1:-1] = nodes[first:last]
        piece[-1] = nodes[n + 1]
        fixed_in_piece = np.full(size + 1, -1, dtype=np.int64)
        for m in range(first, last):
            if first <= fixed_heads[m] < last:
                fixed_in_piece[m - first + 1] = fixed_heads[m] - first + 1
        found = np.empty((size + 1, size + 1))
        _piece_probabilities(scorer, piece, fixed_in_piece, beta, found)
        probabilities[first:last, first:last] = found[1:, 1:]
        if first == 1:
            probabilities[0, 1:last] = found[0, 1:]
            continue
        for m in range(first, last):
            for top in range(1, max_length + 1):
                probabilities[top, m] = probabilities[0, top] * found[0, m - first + 1]


@kernel
def _piece_probabilities(
    scorer: Scorer,
    nodes: Keys,
    fixed_heads: Ints,
    beta: float,
    found: Floats,
) -> None:
    features = scorer.features
    scores = score_arcs(scorer, nodes, 0, len(nodes), fixed_heads)
    endpoints = hash_pairs(features, nodes, 0, len(nodes))
    free = scores.copy()
    restricted = fix_heads(fixed_heads, scores)
    parts = score_parts(features, endpoints, scorer.weights, scores)
    total, probabilities = marginals(features.projective, beta, parts)
    if restricted and total == -np.inf:
        total, probabilities = marginals(False, beta, parts)
        if total == -np.inf:
            parts = score_parts(features, endpoints, scorer.weights, free)
            total, probabilities = marginals(features.projective, beta, parts)
    found[:] = probabilities.arcs


@kernel
def least_risk_trees(
    scorer: Scorer, beta: float, nodes: Keys, node_starts: Ints, fixed_heads: Ints, heads: Ints
) -> None:
    """Fill heads (int64 [nodes]) with the trees that are expected to have the most correct heads.

    Arcs may cross. fixed_heads: as in ``parse_sentences``; root and end nodes get -1.
    """
    heads[:] = -1
    for s in range(len(node_starts) - 1):
        start, end = node_starts[s], node_starts[s + 1]
        N = end - start - 1
        probabilities = np.empty((N, N))
        fixed, found = fixed_heads[start : end - 1], heads[start : end - 1]
        _piece_probabilities(scorer, nodes[start:end], fixed, beta, probabilities)
        likely = np.where(probabilities > 0, probabilities, -np.inf)
        if chu_liu_edmonds(likely, found) == -np.inf:
            chu_liu_edmonds(probabilities, found)
