"""The pruner: which arcs are likely enough to be scored.

A first-order model with few templates scores the best projective tree with each arc; arcs whose
best tree scores far below the best of all are discarded [Rush & Petrov 2012]. Where trees need not
be projective, arcs that score nearly as high as the best one of the same dependent remain, too.
"""

import numpy as np

from spacy_ssvm._jit import Flags, Floats, Ints, Keys, kernel
from spacy_ssvm.decoders.tree_marginals import max_marginals
from spacy_ssvm.trees.keys import EndpointHashes, hash_endpoints
from spacy_ssvm.trees.layout import Pruner, Scorer
from spacy_ssvm.trees.scores import arc_scores


@kernel
def all_arcs(candidates: Flags) -> None:
    """Make every arc a candidate."""
    N = len(candidates)
    for h in range(N):
        for m in range(N):
            candidates[h, m] = m > 0 and h != m


@kernel
def likely_arcs(pruner: Pruner, attributes: Keys, start: int, end: int, candidates: Flags) -> None:
    """Find the arcs that the pruner keeps.

    Those whose best projective tree is at most ``threshold`` worse than the best of all, and, where
    trees need not be projective, those that are as little worse than the best arc of the same
    dependent. candidates: bool [n + 1, n + 1], by head and dependent. The best projective tree
    always remains.
    """
    N = len(candidates)
    all_arcs(candidates)
    if pruner.threshold == np.inf:
        return
    scores = np.empty((N, N))
    best = np.empty((N, N))
    endpoints = hash_endpoints(pruner.arcs, attributes, start, end)
    arc_scores(pruner.arcs, endpoints, pruner.size, pruner.weights, candidates, scores)
    total = max_marginals(scores, best)
    # Rounding can lower the arcs of the best tree slightly below its score.
    min_score = total - pruner.threshold - 1e-9 * (1.0 + abs(total))
    for h in range(N):
        for m in range(N):
            candidates[h, m] = best[h, m] >= min_score
    if not pruner.projective:
        for m in range(1, N):
            min_score = scores[:, m].max() - pruner.threshold
            for h in range(N):
                candidates[h, m] |= scores[h, m] >= min_score


@kernel
def score_arcs(
    scorer: Scorer,
    attributes: Keys,
    start: int,
    end: int,
    fixed_heads: Ints,
) -> tuple[EndpointHashes, Floats]:
    """The endpoints of the sentence whose nodes are rows start to end, and the scores of its arcs.

    fixed_heads: int64 [n + 1], heads whose arcs are scored even if the pruner discards them; -1
    for none.
    """
    N = len(fixed_heads)
    candidates = np.empty((N, N), dtype=np.bool_)
    likely_arcs(scorer.pruner, attributes, start, end, candidates)
    for m in range(1, N):
        if fixed_heads[m] >= 0:
            candidates[fixed_heads[m], m] = True
    features = scorer.features
    endpoints = hash_endpoints(features.arcs, attributes, start, end)
    scores = np.empty((N, N))
    arc_scores(features.arcs, endpoints, features.size, scorer.weights, candidates, scores)
    return endpoints, scores
