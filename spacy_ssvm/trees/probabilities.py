"""Probabilities of arcs, under p(tree) ~ exp(beta score(tree)), for trees of first order."""

import numpy as np

from spacy_ssvm._jit import AnyWeights, Floats, Ints, Keys, kernel
from spacy_ssvm.decoders.tree_marginals import nonprojective_marginals, projective_marginals
from spacy_ssvm.trees.inference import allow_only
from spacy_ssvm.trees.layout import ArcFeatures, Pruner
from spacy_ssvm.trees.pruner import score_arcs


@kernel
def arc_probabilities(
    features: ArcFeatures,
    pruner: Pruner,
    weights: AnyWeights,
    nodes: Keys,
    given: Ints,
    max_length: int,
    beta: float,
    probabilities: Floats,
) -> None:
    """Write the probability of each arc of one sentence: float64 [n + 1, n + 1].

    By head and dependent; 0 for what the pruner leaves out. given: int64 [n + 1], heads that
    trees must have, -1 for none. As in ``parse_sentence``, trees with crossing arcs count where
    no other has them, and they are left out where none at all has. A sentence of more than
    max_length words is analysed in pieces, as in ``ParserModel.parse``: the trees of the pieces
    are independent, and the root of each depends on the root of the first.
    """
    n = len(given) - 1
    probabilities[:] = 0.0
    if n == 0:
        return
    if n <= max_length:
        _of_piece(features, pruner, weights, nodes, given, beta, probabilities)
        return
    for first in range(1, n + 1, max_length):
        last = min(first + max_length, n + 1)
        size = last - first
        piece = np.empty((size + 2, nodes.shape[1]), dtype=np.uint64)
        piece[0] = nodes[0]
        piece[1:-1] = nodes[first:last]
        piece[-1] = nodes[n + 1]
        given_here = np.full(size + 1, -1, dtype=np.int64)
        for m in range(first, last):
            if first <= given[m] < last:
                given_here[m - first + 1] = given[m] - first + 1
        found = np.empty((size + 1, size + 1))
        _of_piece(features, pruner, weights, piece, given_here, beta, found)
        probabilities[first:last, first:last] = found[1:, 1:]
        if first == 1:
            probabilities[0, 1:last] = found[0, 1:]
            continue
        for m in range(first, last):
            for top in range(1, max_length + 1):
                probabilities[top, m] = probabilities[0, top] * found[0, m - first + 1]


@kernel
def _of_piece(
    features: ArcFeatures,
    pruner: Pruner,
    weights: AnyWeights,
    nodes: Keys,
    given: Ints,
    beta: float,
    found: Floats,
) -> None:
    scores = beta * score_arcs(features, pruner, weights, nodes, 0, len(nodes), given)[1]
    free = scores.copy()
    restricted = allow_only(given, scores)
    total = _marginals(features, scores, found)
    if restricted and total == -np.inf:
        total = nonprojective_marginals(scores, found)
        if total == -np.inf:
            _marginals(features, free, found)


@kernel
def _marginals(features: ArcFeatures, scores: Floats, found: Floats) -> float:
    if features.projective:
        return projective_marginals(scores, found)
    return nonprojective_marginals(scores, found)
