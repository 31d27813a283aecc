"""The pruner: which arcs of a sentence the parser scores.

A logistic regression with few templates gives the words of a sentence probabilities of their heads,
each word for itself: p(h | m) ~ exp(w f(h, m)). Heads that are much less probable than the most
probable head of the same word are discarded [Martins, Smith & Xing 2009], but for those of the best
projective tree.
"""

import numpy as np

from spacy_ssvm.decoders.tree import eisner
from spacy_ssvm.kernels.compile import inner_kernel, kernel, outlined_kernel
from spacy_ssvm.kernels.types import Flags, Floats, Floats2, Int, Ints, Ints1, Keys, Keys2
from spacy_ssvm.trees.keys import hash_endpoints
from spacy_ssvm.trees.layout import Pruner, SavedScorerType, Scorer, ScorerType
from spacy_ssvm.trees.scores import arc_scores

#: The number of heads per word, at most: all arcs of n equal words can be equally likely.
MAX_HEADS = 100
#: The same for the slower decoders: with grandparents, or of second order for trees that may cross.
MAX_HEADS_IF_SLOW = 20


@inner_kernel
def all_arcs(candidates: Flags) -> None:
    """Make every arc a candidate."""
    N = len(candidates)
    for h in range(N):
        for m in range(N):
            candidates[h, m] = m > 0 and h != m


@kernel
def _keep_likely_heads(scores: Floats, threshold: float, candidates: Flags) -> None:
    """Leave the candidates that score at most ``threshold`` less than the best of their word."""
    N = len(scores)
    least = np.full(N, -np.inf)
    for h in range(N):
        for m in range(1, N):
            least[m] = max(least[m], scores[h, m])
    least -= threshold
    for h in range(N):
        for m in range(1, N):
            candidates[h, m] &= scores[h, m] >= least[m]


@kernel
def _keep_best_heads(scores: Floats, max_heads: int, candidates: Flags) -> None:
    """Leave at most ``max_heads`` candidates of each word, those with the best scores."""
    N = len(candidates)
    for m in range(1, N):
        if candidates[:, m].sum() > max_heads:
            for h in np.argsort(scores[:, m].copy())[: N - max_heads]:
                candidates[h, m] = False


@kernel
def likely_arcs(
    pruner: Pruner, attributes: Keys, start: int, end: int, max_heads: int, candidates: Flags
) -> None:
    """Find the arcs that the pruner keeps: bool [n + 1, n + 1], by head and dependent.

    Those whose log-probability is at most ``threshold`` below that of the best head of the same
    dependent, and of each dependent the best ``max_heads`` of them. The best projective tree always
    remains.
    """
    N = len(candidates)
    all_arcs(candidates)
    if pruner.threshold == np.inf:
        return
    scores, heads = np.empty((N, N)), np.empty(N, dtype=np.int64)
    endpoints = hash_endpoints(pruner.arcs, attributes, start, end)
    arc_scores(pruner.arcs, endpoints, pruner.size, pruner.weights, candidates, scores)
    _keep_likely_heads(scores, pruner.threshold, candidates)
    if max_heads < N:
        _keep_best_heads(scores, max_heads, candidates)
    eisner(scores, heads)
    for m in range(1, N):
        candidates[heads[m], m] = True


@outlined_kernel(
    Floats2(ScorerType, Keys2, Int, Int, Ints1), Floats2(SavedScorerType, Keys2, Int, Int, Ints1)
)
def score_arcs(
    scorer: Scorer,
    attributes: Keys,
    start: int,
    end: int,
    fixed_heads: Ints,
) -> Floats:
    """The scores of the arcs of the sentence whose nodes are rows start to end.

    By head and dependent; minus infinity for arcs that the pruner discards.
    fixed_heads: int64 [n + 1], heads whose arcs are scored even if the pruner discards them; -1
    for none.
    """
    N = len(fixed_heads)
    candidates = np.empty((N, N), dtype=np.bool_)
    features, pruner = scorer.features, scorer.pruner
    likely_arcs(pruner, attributes, start, end, pruner.max_heads, candidates)
    for m in range(1, N):
        if fixed_heads[m] >= 0:
            candidates[fixed_heads[m], m] = True
    endpoints = hash_endpoints(features.arcs, attributes, start, end)
    scores = np.empty((N, N))
    arc_scores(features.arcs, endpoints, features.size, scorer.weights, candidates, scores)
    return scores
