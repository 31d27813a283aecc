"""First-order chains: label sequences y of n positions over K labels.

score(y) = start[y_0] + sum_t emissions[t, y_t] + sum_t transitions[y_t-1, y_t] + end[y_n-1]

Score tables, everywhere in the package:
    emissions     float64 [n, K]
    transitions   float64 [K + 2, K]: rows 0..K-1 are the previous label, row K holds the
                  start scores, row K + 1 the end scores
Minus infinity forbids a label or a transition, and so does NaN. Ties go to the smaller label.
Where every sequence is forbidden, the score is minus infinity and the sequence is arbitrary.
"""

import numpy as np

from spacy_ssvm.kernels.compile import inlined_kernel, inner_kernel, kernel
from spacy_ssvm.kernels.types import Floats, Ints

_MOST = 10**9  # steps, above which no gains are computed: about two seconds
_SLACK = 1e-9  # relative, of scores that are compared to bounds: above all rounding
_MANY, _LONG = 200, 8  # labels, positions: where it pays to look transitions up that are not 0
_SHARE = 16  # these are at most one in so many
_TOP = 8  # prefixes that are kept in order


@inner_kernel
def _forward(emissions: Floats, transitions: Floats, best: Floats) -> None:
    """best[t, k]: the best score of a prefix that ends at t with label k."""
    n, K = emissions.shape
    for k in range(K):
        best[0, k] = transitions[K, k] + emissions[0, k]
    for t in range(1, n):
        row = best[t]
        row[:] = -np.inf
        for j in range(K):
            prefix = best[t - 1, j]
            step = transitions[j]
            for k in range(K):  # vector instructions, because row and step are contiguous
                score = prefix + step[k]
                row[k] = score if score > row[k] else row[k]
        row += emissions[t]


@kernel
def _forward_by_nonzero(emissions: Floats, transitions: Floats, best: Floats) -> bool:
    """The same as ``_forward`` where few transitions are not 0; else return False.

    The best prefix of all precedes each label but for those whose transition from it is not 0.
    These are compared with the best prefix whose transition is 0, and all prefixes that could
    win by their largest transition with the labels where it is not 0.
    """
    n, K = emissions.shape
    starts, labels = _nonzero_labels(transitions, K * K // _SHARE)
    if len(starts) == 0:
        return False
    largest = np.full(K, -np.inf)  # of the transitions from each label that are not 0
    for j in range(K):
        for k in labels[starts[j] : starts[j + 1]]:
            largest[j] = max(largest[j], transitions[j, k])
    top = np.empty(_TOP, dtype=np.int64)
    for k in range(K):
        best[0, k] = transitions[K, k] + emissions[0, k]
    for t in range(1, n):
        before, row = best[t - 1], best[t]
        row[:] = -np.inf
        count = _best_prefixes(before, top)
        if count == 0:
            row += emissions[t]
            continue
        row[:] = least = before[top[0]]
        for i in range(starts[top[0]], starts[top[0] + 1]):
            k = labels[i]
            row[k] = _best_by_zero(before, transitions, k, top[:count])
            least = min(least, row[k])
        for j in range(K):
            prefix = before[j]
            if prefix + largest[j] > least:
                for i in range(starts[j], starts[j + 1]):
                    k = labels[i]
                    score = prefix + transitions[j, k]
                    row[k] = score if score > row[k] else row[k]
        row += emissions[t]
    return True


@inner_kernel
def _best_prefixes(scores: Floats, top: Ints) -> int:
    """Write the labels of the best scores, in order; return how many there are."""
    count = 0
    for k in range(len(scores)):
        score = scores[k]
        if not score > -np.inf or (count == len(top) and not score > scores[top[count - 1]]):
            continue
        place = min(count, len(top) - 1)
        while place > 0 and score > scores[top[place - 1]]:
            top[place] = top[place - 1]
            place -= 1
        top[place] = k
        count = min(count + 1, len(top))
    return count


@inner_kernel
def _best_by_zero(before: Floats, transitions: Floats, k: int, top: Ints) -> float:
    """The best prefix whose transition to label k is 0, or a better one where none is at the top.

    top: int64, the labels of the best prefixes, in order.
    """
    for j in top:
        if transitions[j, k] == 0:
            return before[j]  # type: ignore[no-any-return]
    best = -np.inf
    for j in range(len(before)):
        score = before[j] + transitions[j, k]
        best = score if score > best else best
    return best


@kernel
def swap_gains(transitions: Floats) -> Floats:
    """How much the rest of a sequence can gain at most where another label precedes it.

    Returns float64 [K, K]: of label b instead of a, max_l transitions[b, l] - transitions[a, l],
    the end included. A prefix that ends with b is no part of a best sequence where one that ends
    with a is better by more. Infinite where they would take long to compute: the time is that of
    transitions that are not 0, of which there are few where there are many labels.
    """
    K = transitions.shape[1]
    starts, labels = _nonzero_labels(transitions, _MOST // (2 * K))
    if len(starts) == 0:
        return np.full((K, K), np.inf)
    gains = np.full((K, K), -np.inf)
    for a in range(K):
        for b in range(K):
            gain = _gain(transitions[K + 1, a], transitions[K + 1, b], -np.inf)
            i, j, size = starts[a], starts[b], 0
            while i < starts[a + 1] or j < starts[b + 1]:
                of_i = labels[i] if i < starts[a + 1] else K
                of_j = labels[j] if j < starts[b + 1] else K
                label = min(of_i, of_j)
                i += of_i == label
                j += of_j == label
                gain = _gain(transitions[a, label], transitions[b, label], gain)
                size += 1
            gains[a, b] = max(gain, 0.0) if size < K else gain
    return gains


@inlined_kernel
def _gain(of_a: float, of_b: float, gain: float) -> float:
    """The larger of a gain, and of that of one score instead of another."""
    if not of_b > -np.inf:
        return gain
    return max(gain, of_b - of_a if of_a > -np.inf else np.inf)


@kernel
def _nonzero_labels(transitions: Floats, most: int) -> tuple[Ints, Ints]:
    """The labels that follow each label with a score other than 0.

    Returns where they start (int64 [K + 1]; [0] where there are more than ``most`` in all), and
    the labels, in order.
    """
    K = transitions.shape[1]
    starts = np.zeros(K + 1, dtype=np.int64)
    labels = np.empty(min(K * K, most), dtype=np.int64)
    size = 0
    for a in range(K):
        for label in range(K):
            if transitions[a, label] != 0:  # or is not a number
                if size == len(labels):
                    return starts[:0], labels[:0]
                labels[size] = label
                size += 1
        starts[a + 1] = size
    return starts, labels


@kernel
def _forward_of_some(emissions: Floats, transitions: Floats, gains: Floats, best: Floats) -> None:
    """The same as ``_forward``, without prefixes that ``gains`` rule out."""
    n, K = emissions.shape
    kept = np.empty(K, dtype=np.int64)
    for k in range(K):
        best[0, k] = transitions[K, k] + emissions[0, k]
    for t in range(1, n):
        before, row = best[t - 1], best[t]
        size = _keep_prefixes(before, gains, kept)
        row[:] = -np.inf
        for i in range(size):
            prefix = before[kept[i]]
            step = transitions[kept[i]]
            for k in range(K):
                score = prefix + step[k]
                row[k] = score if score > row[k] else row[k]
        row += emissions[t]


@inner_kernel
def _keep_prefixes(scores: Floats, gains: Floats, kept: Ints) -> int:
    """Write the last labels of the prefixes that ``gains`` do not rule out; return their number."""
    top, size = 0, 0
    for k in range(1, len(scores)):
        if scores[k] > scores[top] or not scores[top] > -np.inf:
            top = k
    least = scores[top] - _SLACK * (1.0 + abs(scores[top]))
    for k in range(len(scores)):
        kept[size] = k
        size += scores[k] + gains[top, k] >= least
    return size


@inner_kernel
def _backward(emissions: Floats, steps: Floats, end: Floats, best: Floats) -> None:
    """best[t, k]: the best score of a suffix after t, given label k at t.

    steps: float64 [K, K], the transitions by the label that they lead to. end: [K], end scores.
    """
    n, K = emissions.shape
    for k in range(K):
        best[n - 1, k] = end[k]
    for t in range(n - 2, -1, -1):
        row = best[t]
        row[:] = -np.inf
        for j in range(K):
            suffix = emissions[t + 1, j] + best[t + 1, j]
            step = steps[j]
            for k in range(K):
                score = suffix + step[k]
                row[k] = score if score > row[k] else row[k]


@kernel
def viterbi(emissions: Floats, transitions: Floats, y: Ints) -> float:
    """Fill y (int64 [n]) with the best label sequence; return its score.

    Stores no back pointers: the predecessor is recomputed, at K operations for each position, so
    that the K x K inner loop uses vector instructions.
    """
    if len(emissions) == 0:
        return 0.0
    best = np.empty(emissions.shape)
    n, K = emissions.shape
    if n < _LONG or K < _MANY or not _forward_by_nonzero(emissions, transitions, best):
        _forward(emissions, transitions, best)
    return _trace_back(best, transitions, np.empty((0, 0)), y)


@kernel
def viterbi_of_some(emissions: Floats, transitions: Floats, gains: Floats, y: Ints) -> float:
    """The same as ``viterbi``, faster where labels can be told apart by their emissions.

    gains: of ``swap_gains``.
    """
    if len(emissions) == 0:
        return 0.0
    best = np.empty(emissions.shape)
    _forward_of_some(emissions, transitions, gains, best)
    return _trace_back(best, transitions, gains, y)


@kernel
def _trace_back(best: Floats, transitions: Floats, gains: Floats, y: Ints) -> float:
    """Fill y with the best sequence, given the best scores of prefixes; return its score.

    gains: of ``swap_gains``, or [0, 0]. They spare reading most of a column of transitions.
    """
    n, K = best.shape
    score = -np.inf
    y[n - 1] = 0
    for k in range(K):
        if best[n - 1, k] + transitions[K + 1, k] > score:
            score = best[n - 1, k] + transitions[K + 1, k]
            y[n - 1] = k
    kept, size = np.arange(K), K
    for t in range(n - 1, 0, -1):
        k, before = y[t], best[t - 1]
        if len(gains) > 0:
            size = _keep_prefixes(before, gains, kept)
        prefix = -np.inf
        y[t - 1] = 0
        for j in kept[:size]:
            if before[j] + transitions[j, k] > prefix:
                prefix = before[j] + transitions[j, k]
                y[t - 1] = j
    return score


@kernel
def max_marginals(emissions: Floats, transitions: Floats) -> Floats:
    """The best score of a sequence with label k at t, for all t and k: float64 [n, K]."""
    n, K = emissions.shape
    scores = np.empty((n, K))
    if n == 0:
        return scores
    rest = np.empty((n, K))
    _forward(emissions, transitions, scores)
    steps = np.ascontiguousarray(transitions[:K].T)
    _backward(emissions, steps, transitions[K + 1], rest)
    for t in range(n):
        for k in range(K):
            scores[t, k] += rest[t, k]
    return scores


@inner_kernel
def fill_margins(best: Floats, y: Ints, margins: Floats) -> None:
    """Write best[t, y_t] minus the best score with another label, at each position.

    best: float64 [n, K]. y: int64 [n]. margins: float64 [n], infinite where no other is possible.
    """
    for t in range(len(y)):
        other = -np.inf
        for k in range(best.shape[1]):
            if k != y[t]:
                other = max(other, best[t, k])
        margins[t] = best[t, y[t]] - other
