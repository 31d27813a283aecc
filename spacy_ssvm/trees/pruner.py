"""The pruner: which arcs are likely enough to be scored.

A first-order model with few templates scores the best projective tree with each arc; arcs whose
best tree scores far below the best of all are discarded [Rush & Petrov 2012]. Where trees need not
be projective, arcs that score nearly as high as the best one of the same dependent remain, too.
"""

import numpy as np

from spacy_ssvm.decoders.tree import eisner
from spacy_ssvm.decoders.tree_marginals import max_marginals
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
def _find_margins(scores: Floats, projective: bool, margins: Floats) -> None:
    """Write how far each arc is from the best that could be kept, as a number up to about 0.

    Its best projective tree against the best of all and, where trees need not be projective, the
    arc against the best one of the same dependent; the better one of both.
    """
    N = len(scores)
    total = max_marginals(scores, margins)
    # Rounding can lower the arcs of the best tree slightly below its score.
    margins -= total - 1e-9 * (1.0 + abs(total))
    if not projective:
        for m in range(1, N):
            best = scores[:, m].max()
            for h in range(N):
                margins[h, m] = max(margins[h, m], scores[h, m] - best)


@kernel
def _keep_best_heads(scores: Floats, margins: Floats, max_heads: int, candidates: Flags) -> None:
    """Leave the candidates of each word with the best margins, and the best projective tree."""
    N, is_limited = len(candidates), False
    for m in range(1, N):
        if candidates[:, m].sum() > max_heads:
            is_limited = True
            for h in np.argsort(margins[:, m].copy())[: N - max_heads]:
                candidates[h, m] = False
    if is_limited:  # heads that are as good may have been preferred to those of the best tree
        heads = np.empty(N, dtype=np.int64)
        eisner(scores, heads)
        for m in range(1, N):
            candidates[heads[m], m] = True


@kernel
def likely_arcs(
    pruner: Pruner, attributes: Keys, start: int, end: int, max_heads: int, candidates: Flags
) -> None:
    """Find the arcs that the pruner keeps: bool [n + 1, n + 1], by head and dependent.

    Those with margins of at least -``threshold``, see ``_find_margins``, and of each dependent the
    best ``max_heads`` of them. The best projective tree always remains.
    """
    N = len(candidates)
    all_arcs(candidates)
    if pruner.threshold == np.inf:
        return
    scores, margins = np.empty((N, N)), np.empty((N, N))
    endpoints = hash_endpoints(pruner.arcs, attributes, start, end)
    arc_scores(pruner.arcs, endpoints, pruner.size, pruner.weights, candidates, scores)
    _find_margins(scores, pruner.projective, margins)
    candidates[:] = margins >= -pruner.threshold
    if max_heads < N:
        _keep_best_heads(scores, margins, max_heads, candidates)


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
