"""Marginals of first-order trees: for each arc, the best score or the probability.

    max_marginals               the best score of a projective tree with the arc
    projective_marginals        its probability under p(tree) ~ exp(score), by inside-outside
    nonprojective_marginals     the same among all trees, by elimination of words

Tables are those of ``decoders.tree``; every tree has exactly one word whose head is the root.
"""

from typing import NamedTuple

import numpy as np

from spacy_ssvm.decoders.chain_marginals import log_sum
from spacy_ssvm.decoders.semirings import LOG_SUM, MAX, add, add_splits
from spacy_ssvm.kernels.compile import inlined_kernel, inner_kernel, kernel, outlined_kernel
from spacy_ssvm.kernels.types import Float, Floats, Floats2

_TINY = 1e-280  # a smaller number above 0 may lose digits, and its inverse may overflow


class _Spans(NamedTuple):
    """Scores of spans, as in ``eisner``: float64 [n + 1, n + 1] each."""

    complete: Floats  #: by head and other end
    by_end: Floats  #: the same by other end and head
    incomplete: Floats
    outside: Floats  #: of complete spans that another one completes
    outside_by_end: Floats  #: of those that end an arc, by other end and head
    outside_arc: Floats  #: of incomplete spans


@kernel
def _inside_outside(semiring: int, scores: Floats, arcs: Floats) -> float:
    """Write the sum of the scores of all trees with each arc; return the sum over all trees."""
    N = len(scores)
    arcs[:] = -np.inf
    if N == 1:
        return 0.0
    spans = _Spans(
        np.full((N, N), -np.inf),
        np.full((N, N), -np.inf),
        np.full((N, N), -np.inf),
        np.full((N, N), -np.inf),
        np.full((N, N), -np.inf),
        np.full((N, N), -np.inf),
    )
    return _fill_spans(semiring, scores, spans, arcs)


@inner_kernel
def _fill_spans(semiring: int, scores: Floats, spans: _Spans, arcs: Floats) -> float:
    """See ``_inside_outside``. Outside scores are summed from the widest span to the narrowest."""
    N = len(scores)
    complete, by_end, incomplete, outside, outside_by_end, outside_arc = spans
    for i in range(1, N):
        complete[i, i] = 0.0
        by_end[i, i] = 0.0
    for width in range(1, N - 1):
        for i in range(1, N - width):
            j = i + width
            between = add_splits(semiring, complete[i, i:j], complete[j, i + 1 : j + 1])
            incomplete[i, j] = between + scores[i, j]
            incomplete[j, i] = between + scores[j, i]
            right = add_splits(semiring, incomplete[i, i + 1 : j + 1], by_end[j, i + 1 : j + 1])
            complete[i, j] = right
            by_end[j, i] = right
            left = add_splits(semiring, incomplete[j, i:j], by_end[i, i:j])
            complete[j, i] = left
            by_end[i, j] = left
    total = -np.inf
    for r in range(1, N):
        arcs[0, r] = complete[r, 1] + complete[r, N - 1] + scores[0, r]
        total = add(semiring, total, arcs[0, r])
        outside[r, 1] = scores[0, r] + complete[r, N - 1]
        outside[r, N - 1] = add(semiring, outside[r, N - 1], scores[0, r] + complete[r, 1])
    for width in range(N - 2, 0, -1):
        for i in range(1, N - width):
            j = i + width
            for h, e in ((i, j), (j, i)):
                rest = add(semiring, outside[h, e], outside_by_end[e, h])
                if rest == -np.inf:
                    continue
                low, high = (h + 1, e + 1) if h < e else (e, h)
                _add_to_all(semiring, outside_arc[h, low:high], rest, by_end[e, low:high])
                _add_to_all(semiring, outside_by_end[e, low:high], rest, incomplete[h, low:high])
            arcs[i, j] = incomplete[i, j] + outside_arc[i, j]
            arcs[j, i] = incomplete[j, i] + outside_arc[j, i]
            right, left = outside_arc[i, j] + scores[i, j], outside_arc[j, i] + scores[j, i]
            rest = add(semiring, right, left)
            if rest == -np.inf:
                continue
            _add_to_all(semiring, outside[i, i:j], rest, complete[j, i + 1 : j + 1])
            _add_to_all(semiring, outside[j, i + 1 : j + 1], rest, complete[i, i:j])
    return total


@inlined_kernel
def _add_to_all(semiring: int, sums: Floats, rest: float, others: Floats) -> None:
    """Add rest + others to sums in a semiring."""
    if semiring == MAX:
        for k in range(len(sums)):
            score = rest + others[k]
            sums[k] = score if score > sums[k] else sums[k]
    else:
        for k in range(len(sums)):
            sums[k] = add(semiring, sums[k], rest + others[k])


@outlined_kernel(Float(Floats2, Floats2))
def max_marginals(scores: Floats, best: Floats) -> float:
    """Write the score of the best projective tree with each arc; return the best of all.

    best: float64 [n + 1, n + 1], minus infinity where no tree has the arc.
    """
    return _inside_outside(MAX, scores, best)


@outlined_kernel(Float(Floats2, Floats2))
def projective_marginals(scores: Floats, marginals: Floats) -> float:
    """Write the probability of each arc among projective trees; return the log-partition.

    marginals: float64 [n + 1, n + 1]; arbitrary where the log-partition is minus infinity.
    """
    total = _inside_outside(LOG_SUM, scores, marginals)
    for h in range(len(scores)):
        for m in range(len(scores)):
            marginals[h, m] = np.exp(marginals[h, m] - total)
    return total


@outlined_kernel(Float(Floats2, Floats2))
def nonprojective_marginals(scores: Floats, marginals: Floats) -> float:
    """Write the probability of each arc among all trees; return the log-partition.

    marginals: float64 [n + 1, n + 1], exactly 0 for forbidden arcs; arbitrary where the
    log-partition is minus infinity.

    The matrix-tree theorem [Koo et al. 2007] without a determinant: words are eliminated one
    by one, as Grassmann, Taksar and Heyman (1985) do for Markov chains, whose stationary
    distribution is that of the root. The log-partition consists of sums and products of
    positive numbers, which lose no digits however peaked the distribution is. Where one of
    them would leave the range of float64, the elimination is repeated with logarithms.

    The word eliminated last is the root of some tree. Every other word can reach it through
    allowed heads, so that no elimination divides by 0, whatever arcs are forbidden.
    """
    n = len(scores) - 1
    marginals[:] = 0.0
    if n == 0:
        return 0.0
    first = _find_root(scores)
    if first == 0:
        return -np.inf
    words = np.arange(1, n + 1)
    words[0], words[first - 1] = first, 1
    potentials = np.full((n, n), -np.inf)  # [word, head], against the best head of the word
    roots = np.full(n, -np.inf)
    shift = 0.0
    for i in range(n):
        best = -np.inf
        for h in range(n + 1):
            if h != words[i]:
                best = max(best, scores[h, words[i]])
        shift += best
        if scores[0, words[i]] > -np.inf:
            roots[i] = scores[0, words[i]] - best
        for j in range(n):
            if j != i and scores[words[j], words[i]] > -np.inf:
                potentials[i, j] = scores[words[j], words[i]] - best
    root_marginals, arc_marginals = np.zeros(n), np.zeros((n, n))
    total = _eliminate(potentials, roots, root_marginals, arc_marginals)
    if np.isnan(total):
        total = _eliminate_by_logarithms(potentials, roots, root_marginals, arc_marginals)
    for i in range(n):
        marginals[0, words[i]] = root_marginals[i]
        for j in range(n):
            marginals[words[j], words[i]] = arc_marginals[i, j]
    return float(total + shift)


@kernel
def _find_root(scores: Floats) -> int:
    """A word that depends on the root in some tree; 0 where there is no tree."""
    N = len(scores)
    stack = np.empty(N, dtype=np.int64)
    reached = np.empty(N, dtype=np.bool_)
    for root in range(1, N):
        if not scores[0, root] > -np.inf:
            continue
        reached[:] = False
        reached[root] = True
        stack[0] = root
        size, count = 1, 1
        while size > 0:
            size -= 1
            h = stack[size]
            for m in range(1, N):
                if not reached[m] and scores[h, m] > -np.inf:
                    reached[m] = True
                    stack[size] = m
                    size += 1
                    count += 1
        if count == N - 1:
            return root
    return 0


@kernel
def _eliminate(
    potentials: Floats, roots: Floats, root_marginals: Floats, arc_marginals: Floats
) -> float:
    """Write the probability of each arc; return the log-partition, NaN where digits are lost.

    potentials: float64 [n, n], the log-potential of each arc by word and head. The first word
        is eliminated last. roots: float64 [n], log-potentials of arcs from the root.
    root_marginals, arc_marginals: probabilities, laid out the same way.
    """
    n = len(roots)
    q = np.exp(potentials)
    has_lost = False
    for i in range(n):
        for j in range(n):
            has_lost |= (q[i, j] < _TINY) & (potentials[i, j] > -np.inf)
    sums = np.ones(n)
    shares = np.zeros((n, n))  # [k, i]: q[i, k] / sums[k]
    for k in range(n - 1, 0, -1):
        if has_lost:
            return np.nan
        sums[k] = q[k, :k].sum()
        onward = q[k]
        for i in range(k):
            if q[i, k] > 0:
                share = q[i, k] / sums[k]
                shares[k, i] = share
                row = q[i]
                for j in range(k):
                    through = share * onward[j]
                    has_lost |= (through < _TINY) & (onward[j] > 0)
                    row[j] += through
    stationary = np.ones(n)
    for k in range(1, n):
        stationary[k] = 0.0
        for i in range(k):
            through = stationary[i] * shares[k, i]
            has_lost |= (through < _TINY) & (stationary[i] > 0) & (shares[k, i] > 0)
            stationary[k] += through
    total = 0.0
    for i in range(n):
        root_marginals[i] = np.exp(roots[i]) * stationary[i]
        has_lost |= (root_marginals[i] < _TINY) & (roots[i] > -np.inf) & (stationary[i] > 0)
        total += root_marginals[i]
    if has_lost or not total < 1 / _TINY:
        return np.nan

    for i in range(n):
        root_marginals[i] /= total
    slopes = np.exp(roots) / total
    _differentiate(potentials, q, sums, shares, stationary, slopes, arc_marginals)
    return float(np.log(total) + np.log(sums).sum())


@kernel
def _differentiate(
    potentials: Floats,
    q: Floats,
    sums: Floats,
    shares: Floats,
    stationary: Floats,
    stationary_slope: Floats,
    arc_marginals: Floats,
) -> None:
    """Write the probability of each arc: the derivative of the log-partition, backwards.

    q, sums, shares, stationary: the numbers of ``_eliminate``. stationary_slope: the derivative
    of the log-partition by stationary; it is overwritten.
    """
    n = len(sums)
    for k in range(n - 1, 0, -1):
        if stationary[k] == 0:
            stationary_slope[k] = 0.0
        for i in range(k):
            stationary_slope[i] += stationary_slope[k] * shares[k, i]
    gradient = np.zeros((n, n))  # of the log-partition, by q
    for k in range(1, n):
        sum_slope = 1.0
        for i in range(k):
            if shares[k, i] == 0:
                continue
            share_slope = stationary_slope[k] * stationary[i]
            for j in range(k):
                share_slope += gradient[i, j] * q[k, j]
                gradient[k, j] += gradient[i, j] * shares[k, i]
            sum_slope -= share_slope * shares[k, i]
            gradient[i, k] = share_slope / sums[k]
        for j in range(k):  # where q is 0, the gradient is not needed and may be infinite
            gradient[k, j] = gradient[k, j] + sum_slope / sums[k] if q[k, j] > 0 else 0.0
    for i in range(n):
        for j in range(n):  # rounding can leave less than 0
            arc_marginals[i, j] = max(gradient[i, j] * np.exp(potentials[i, j]), 0.0)


@kernel
def _eliminate_by_logarithms(
    potentials: Floats, roots: Floats, root_marginals: Floats, arc_marginals: Floats
) -> float:
    """``_eliminate`` in the log domain, where no number is too small. About ten times slower."""
    n = len(roots)
    q = potentials.copy()
    sums = np.zeros(n)
    shares = np.full((n, n), -np.inf)
    for k in range(n - 1, 0, -1):
        sums[k] = log_sum(q[k, :k])
        for i in range(k):
            shares[k, i] = q[i, k] - sums[k]
            for j in range(k):
                q[i, j] = add(LOG_SUM, q[i, j], shares[k, i] + q[k, j])
    stationary = np.zeros(n)
    for k in range(1, n):
        stationary[k] = add_splits(LOG_SUM, stationary[:k], shares[k, :k])
    total = log_sum(roots + stationary)
    root_marginals[:] = np.exp(roots + stationary - total)

    stationary_slope = roots - total
    for k in range(n - 1, 0, -1):
        for i in range(k):
            stationary_slope[i] = add(
                LOG_SUM, stationary_slope[i], stationary_slope[k] + shares[k, i]
            )
    gradient = np.full((n, n), -np.inf)
    for k in range(1, n):
        sum_slope = 1.0
        used = np.zeros(k)  # gradient x q of row k, between 0 and 1
        for i in range(k):
            share_slope = add_splits(LOG_SUM, gradient[i, :k], q[k, :k])
            share_slope = add(LOG_SUM, share_slope, stationary_slope[k] + stationary[i])
            for j in range(k):
                used[j] += np.exp(gradient[i, j] + shares[k, i] + q[k, j])
            sum_slope -= np.exp(share_slope + shares[k, i])
            gradient[i, k] = share_slope - sums[k]
        for j in range(k):
            used[j] += sum_slope * np.exp(q[k, j] - sums[k])
            if used[j] > 0:
                gradient[k, j] = np.log(used[j]) - q[k, j]
    arc_marginals[:] = np.exp(gradient + potentials)
    return float(total + sums.sum())
