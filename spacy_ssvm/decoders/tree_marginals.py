"""Marginals of first-order trees: for each arc, the best score or the probability.

    max_marginals               the best score of a projective tree with the arc
    projective_marginals        its probability under p(tree) ~ exp(score), by inside-outside
    nonprojective_marginals     the same among all trees, by elimination of words

Tables are those of ``decoders.tree``; every tree has exactly one word whose head is the root.
"""

import numpy as np

from spacy_ssvm._jit import Floats, kernel
from spacy_ssvm.decoders.tree import chu_liu_edmonds

_FORBIDDEN = 1e-100  # a forbidden arc against the best of the same word
_DOUBTFUL = -100.0  # a log-partition below this may be that of trees with a forbidden arc


@kernel
def _sum(a: float, b: float, hard: bool) -> float:
    """The greater of two scores, or the logarithm of the sum of their exponentials."""
    high, low = max(a, b), min(a, b)
    if hard or low == -np.inf:
        return high
    return float(high + np.log1p(np.exp(low - high)))


@kernel
def _sum_of_splits(left: Floats, right: Floats, hard: bool) -> float:
    """The sum, in the sense of ``_sum``, of left + right."""
    high = -np.inf
    for k in range(len(left)):
        high = max(high, left[k] + right[k])
    if hard or high == -np.inf:
        return high
    total = 0.0
    for k in range(len(left)):
        total += np.exp(left[k] + right[k] - high)
    return float(high + np.log(total))


@kernel
def _inside_outside(scores: Floats, hard: bool, arcs: Floats) -> float:
    """Write the sum of the scores of all trees with each arc; return the sum of all.

    Spans are those of ``eisner``. What is outside a span is summed from the widest to the
    narrowest.
    """
    N = len(scores)
    arcs[:] = -np.inf
    if N == 1:
        return 0.0
    complete = np.full((N, N), -np.inf)
    by_end = np.full((N, N), -np.inf)
    incomplete = np.full((N, N), -np.inf)
    outside = np.full((N, N), -np.inf)  # of complete spans
    outside_arc = np.full((N, N), -np.inf)  # of incomplete spans
    for i in range(1, N):
        complete[i, i] = 0.0
        by_end[i, i] = 0.0
    for width in range(1, N - 1):
        for i in range(1, N - width):
            j = i + width
            between = _sum_of_splits(complete[i, i:j], complete[j, i + 1 : j + 1], hard)
            incomplete[i, j] = between + scores[i, j]
            incomplete[j, i] = between + scores[j, i]
            right = _sum_of_splits(incomplete[i, i + 1 : j + 1], by_end[j, i + 1 : j + 1], hard)
            complete[i, j] = right
            by_end[j, i] = right
            left = _sum_of_splits(incomplete[j, i:j], by_end[i, i:j], hard)
            complete[j, i] = left
            by_end[i, j] = left
    total = -np.inf
    for r in range(1, N):
        arcs[0, r] = complete[r, 1] + complete[r, N - 1] + scores[0, r]
        total = _sum(total, arcs[0, r], hard)
        outside[r, 1] = scores[0, r] + complete[r, N - 1]
        outside[r, N - 1] = _sum(outside[r, N - 1], scores[0, r] + complete[r, 1], hard)
    for width in range(N - 2, 0, -1):
        for i in range(1, N - width):
            j = i + width
            for h, e in ((i, j), (j, i)):
                rest = outside[h, e]
                if rest == -np.inf:
                    continue
                low, high = (h + 1, e + 1) if h < e else (e, h)
                for m in range(low, high):
                    outside_arc[h, m] = _sum(outside_arc[h, m], rest + by_end[e, m], hard)
                    outside[m, e] = _sum(outside[m, e], rest + incomplete[h, m], hard)
            arcs[i, j] = incomplete[i, j] + outside_arc[i, j]
            arcs[j, i] = incomplete[j, i] + outside_arc[j, i]
            right, left = outside_arc[i, j] + scores[i, j], outside_arc[j, i] + scores[j, i]
            rest = _sum(right, left, hard)
            if rest == -np.inf:
                continue
            for k in range(i, j):
                outside[i, k] = _sum(outside[i, k], rest + complete[j, k + 1], hard)
                outside[j, k + 1] = _sum(outside[j, k + 1], rest + complete[i, k], hard)
    return total


@kernel
def max_marginals(scores: Floats, best: Floats) -> float:
    """Write the score of the best projective tree with each arc; return the best of all.

    best: float64 [n + 1, n + 1], minus infinity where no tree has the arc.
    """
    return _inside_outside(scores, True, best)


@kernel
def projective_marginals(scores: Floats, marginals: Floats) -> float:
    """Write the probability of each arc among projective trees; return the log-partition.

    marginals: float64 [n + 1, n + 1]; of no meaning where the log-partition is minus infinity.
    """
    total = _inside_outside(scores, False, marginals)
    for h in range(len(scores)):
        for m in range(len(scores)):
            marginals[h, m] = np.exp(marginals[h, m] - total)
    return total


@kernel
def nonprojective_marginals(scores: Floats, marginals: Floats) -> float:
    """Write the probability of each arc among all trees; return the log-partition.

    marginals: float64 [n + 1, n + 1]; of no meaning where the log-partition is minus infinity.

    The matrix-tree theorem [Koo et al. 2007] without a determinant: words are eliminated one
    by one, as Grassmann, Taksar and Heyman (1985) do it for Markov chains, whose stationary
    distribution is that of the root. Sums and products of positive numbers alone lose no
    digits, however peaked the distribution is. Arcs that are more than 230 worse than the best
    one of the same word count like forbidden ones. The derivatives of the log-partition, the
    marginals, come from the same steps backwards.
    """
    n = len(scores) - 1
    marginals[:] = 0.0
    if n == 0:
        return 0.0
    shift = 0.0
    weights = np.zeros((n, n))  # [word, head], against the best head of the word
    roots = np.zeros(n)
    for i in range(n):
        best = -np.inf
        for h in range(n + 1):
            if h != i + 1:
                best = max(best, scores[h, i + 1])
        if best == -np.inf:
            return -np.inf
        shift += best
        roots[i] = np.exp(scores[0, i + 1] - best)
        for j in range(n):
            if j != i:
                weights[i, j] = max(np.exp(scores[j + 1, i + 1] - best), _FORBIDDEN)
    q = weights.copy()
    sums = np.ones(n)
    shares = np.zeros((n, n))  # f[i, k]: what of word i's way through word k goes on
    for k in range(n - 1, 0, -1):
        sums[k] = q[k, :k].sum()
        for i in range(k):
            shares[i, k] = q[i, k] / sums[k]
            for j in range(k):
                if j != i:
                    q[i, j] += shares[i, k] * q[k, j]
    stationary = np.ones(n)
    for k in range(1, n):
        stationary[k] = (stationary[:k] * shares[:k, k]).sum()
    total = (roots * stationary).sum()
    log_partition = np.log(total) + np.log(sums).sum()
    if log_partition < _DOUBTFUL and chu_liu_edmonds(scores, np.empty(n + 1, np.int64)) == -np.inf:
        return -np.inf

    of_stationary = roots / total
    of_shares = np.zeros((n, n))
    for k in range(n - 1, 0, -1):
        for i in range(k):
            of_stationary[i] += of_stationary[k] * shares[i, k]
            of_shares[i, k] = of_stationary[k] * stationary[i]
    gradient = np.zeros((n, n))
    for k in range(1, n):
        of_sum = 1.0
        for i in range(k):
            for j in range(k):
                if j != i:
                    of_shares[i, k] += gradient[i, j] * q[k, j]
                    gradient[k, j] += gradient[i, j] * shares[i, k]
            of_sum -= of_shares[i, k] * shares[i, k]
            gradient[i, k] = of_shares[i, k] / sums[k]
        for j in range(k):
            gradient[k, j] += of_sum / sums[k]
    for i in range(n):
        marginals[0, i + 1] = roots[i] * stationary[i] / total
        for j in range(n):
            if j != i:
                marginals[j + 1, i + 1] = gradient[i, j] * weights[i, j]
    return float(log_partition + shift)
