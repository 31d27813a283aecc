"""First-order chains: label sequences y of n positions over K labels.

score(y) = start[y_0] + sum_t emissions[t, y_t] + sum_t transitions[y_t-1, y_t] + end[y_n-1]

Score tables, everywhere in the package:
    emissions     float64 [n, K]
    transitions   float64 [K + 2, K]: rows 0..K-1 are the previous label, row K holds the
                  start scores, row K + 1 the end scores
Minus infinity forbids a label or a transition, and so does NaN. Ties go to the smaller label.
Where every sequence is forbidden, the score is minus infinity and the sequence is arbitrary.
"""

from typing import NamedTuple

import numpy as np

from spacy_ssvm.kernels.compile import inlined_kernel, inner_kernel, kernel
from spacy_ssvm.kernels.types import (
    Flags,
    Flags1,
    Floats,
    Floats1,
    Floats2,
    Ints,
    Ints1,
    named_tuple,
)

_MOST = 10**9  # steps, above which no gains are computed: about two seconds
_SLACK = 1e-9  # relative, of scores that are compared to bounds: above all rounding
_MANY, _LONG = 200, 8  # labels, positions: where it pays to look for exceptions
_SHARE = 16  # these are at most one in so many
_TOP = 8  # labels that are kept in order


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


class Exceptions(NamedTuple):
    """Transitions, by how they differ from what is usual.

    After some labels, the usual scores are those that most labels have in common; after the others,
    minus infinity. With labels of spans, the former end a span, and the latter leave it open.
    """

    common: Floats  #: float64 [K], by next label: 0 or minus infinity
    is_common: Flags  #: bool [K], by previous label: whether ``common`` is usual
    starts: Ints  #: int64 [K + 1], by previous label: where its exceptions start
    middles: Ints  #: int64 [K]: where those start whose next label has 0 in common
    labels: Ints  #: int64: the next labels of exceptions; by previous label, each part in order


ExceptionsType = named_tuple(Exceptions, Floats1, Flags1, Ints1, Ints1, Ints1)


@kernel
def find_exceptions(transitions: Floats, most: int) -> Exceptions:
    """The exceptions of transitions, if they are at most so many; else none, and ``starts`` is [0].

    The scores in common are minus infinity where those after label 0 are so, which is outside of
    spans, where there are any. Start and end scores are never exceptions.
    """
    K = transitions.shape[1]
    common, never = np.zeros(K), np.full(K, -np.inf)
    for k in range(K):
        if not transitions[0, k] > -np.inf:
            common[k] = -np.inf
    is_common, starts = np.ones(K, dtype=np.bool_), np.zeros(K + 1, dtype=np.int64)
    middles, labels = np.zeros(K, dtype=np.int64), np.empty(min(K * K, most), dtype=np.int64)
    found, size = np.empty(K, dtype=np.int64), 0
    for j in range(K):
        count = _differences(transitions[j], common, found, K // 2)
        if count < 0:
            count = _differences(transitions[j], never, found, K // 2)
            is_common[j] = count < 0
            if count < 0:
                count = _differences(transitions[j], common, found, K)
        if size + count > len(labels):
            return Exceptions(common, is_common, starts[:0], middles, labels[:0])
        for is_later in (False, True):
            middles[j] = size
            for k in found[:count]:
                if (common[k] == 0) == is_later:
                    labels[size] = k
                    size += 1
        starts[j + 1] = size
    return Exceptions(common, is_common, starts, middles, labels[:size].copy())


@inner_kernel
def _differences(step: Floats, usual: Floats, found: Ints, most: int) -> int:
    """Write the labels whose scores are not the usual ones; return how many, -1 if too many."""
    size = 0
    for k in range(len(step)):  # without a branch, which would be hard to foresee
        found[size] = k
        size += step[k] != usual[k]
    return size if size <= most else -1


@kernel
def _forward_by_exceptions(
    emissions: Floats, transitions: Floats, exceptions: Exceptions, best: Floats
) -> None:
    """The same as ``_forward``, faster where few transitions are exceptions.

    Of the labels that have transitions in common, the best prefix precedes each label but for its
    exceptions. These are compared with the best prefix that has none there, and all prefixes that
    could win by their largest exception.
    """
    n, K = emissions.shape
    common, labels = exceptions.common, exceptions.labels
    starts, middles = exceptions.starts, exceptions.middles
    largest = np.full(K, -np.inf)  # exception after each label; where others are illegal, infinite
    for j in range(K):
        if middles[j] > starts[j]:
            largest[j] = np.inf
        for k in labels[middles[j] : starts[j + 1]]:
            largest[j] = max(largest[j], transitions[j, k])
    top = np.empty(_TOP, dtype=np.int64)
    for k in range(K):
        best[0, k] = transitions[K, k] + emissions[0, k]
    for t in range(1, n):
        before, row, least = best[t - 1], best[t], -np.inf
        row[:] = -np.inf
        count = _best_labels(before, exceptions.is_common, top)
        if count > 0:
            least = before[top[0]]
            for k in range(K):
                row[k] = least + common[k]
            for i in range(middles[top[0]], starts[top[0] + 1]):
                k = labels[i]
                row[k] = _best_by_zero(before, transitions[: len(before), k], top[:count])
                least = min(least, row[k])
        for j in range(K):
            prefix = before[j]
            if prefix + largest[j] > least:
                for i in range(starts[j], starts[j + 1]):
                    k = labels[i]
                    score = prefix + transitions[j, k]
                    row[k] = score if score > row[k] else row[k]
        row += emissions[t]


@inner_kernel
def _best_labels(scores: Floats, is_wanted: Flags, top: Ints) -> int:
    """Write the labels of the best scores, of some labels, in order; return how many there are."""
    count = 0
    for k in range(len(scores)):
        score = scores[k]
        if not score > -np.inf or (count == len(top) and not score > scores[top[count - 1]]):
            continue
        if not is_wanted[k]:
            continue
        place = min(count, len(top) - 1)
        while place > 0 and score > scores[top[place - 1]]:
            top[place] = top[place - 1]
            place -= 1
        top[place] = k
        count = min(count + 1, len(top))
    return count


@inner_kernel
def _best_by_zero(scores: Floats, steps: Floats, top: Ints) -> float:
    """The best prefix or suffix by a transition of 0, or a better one where none is at the top.

    scores, steps: float64 [K], of prefixes or suffixes, and of the transitions to or from them.
    top: int64, the labels of the best ones, in order.
    """
    for label in top:
        if steps[label] == 0:
            return scores[label]  # type: ignore[no-any-return]
    best = -np.inf
    for label in range(len(scores)):
        score = scores[label] + steps[label]
        best = score if score > best else best
    return best


class Pruning(NamedTuple):
    """What tells which labels cannot be part of a best sequence; see ``prune``."""

    gains: Floats  #: float64 [K, K]
    exceptions: Exceptions


PruningType = named_tuple(Pruning, Floats2, ExceptionsType)


@kernel
def prune(transitions: Floats) -> Pruning:
    """How much the rest of a sequence can gain at most where another label precedes it.

    The gains: float64 [K, K], of label b instead of a, max_l transitions[b, l] - transitions[a, l],
    the end included. A prefix that ends with b is no part of a best sequence where one that ends
    with a is better by more. Infinite where they would take long to compute: the time is that of
    exceptions, of which there are few where there are many labels.
    """
    K = transitions.shape[1]
    exceptions = find_exceptions(transitions, _MOST // (2 * K))
    if len(exceptions.starts) == 0:
        return Pruning(np.full((K, K), np.inf), exceptions)
    common, is_common = exceptions.common, exceptions.is_common
    starts, middles, labels = exceptions.starts, exceptions.middles, exceptions.labels
    possible = int((common == 0).sum())
    gains = np.full((K, K), -np.inf)
    for a in range(K):
        for b in range(K):
            gain = _gain(transitions[K + 1, a], transitions[K + 1, b], -np.inf)
            of_a, of_b = labels[starts[a] : middles[a]], labels[starts[b] : middles[b]]
            gain, _ = _gain_of_some(transitions, a, b, of_a, of_b, gain)
            of_a, of_b = labels[middles[a] : starts[a + 1]], labels[middles[b] : starts[b + 1]]
            gain, size = _gain_of_some(transitions, a, b, of_a, of_b, gain)
            if size < possible and is_common[b]:
                gain = max(gain, 0.0) if is_common[a] else np.inf
            gains[a, b] = gain
    return Pruning(gains, exceptions)


@inner_kernel
def _gain_of_some(
    transitions: Floats, a: int, b: int, of_a: Ints, of_b: Ints, gain: float
) -> tuple[float, int]:
    """The gain of label b instead of a before labels of either; and how many these are."""
    i, j, size, K = 0, 0, 0, transitions.shape[1]
    while i < len(of_a) or j < len(of_b):
        label_of_a = of_a[i] if i < len(of_a) else K
        label_of_b = of_b[j] if j < len(of_b) else K
        label = min(label_of_a, label_of_b)
        i += label_of_a == label
        j += label_of_b == label
        gain = _gain(transitions[a, label], transitions[b, label], gain)
        size += 1
    return gain, size


@inlined_kernel
def _gain(of_a: float, of_b: float, gain: float) -> float:
    """The larger of a gain, and of that of one score instead of another."""
    if not of_b > -np.inf:
        return gain
    return max(gain, of_b - of_a if of_a > -np.inf else np.inf)


@kernel
def _forward_of_some(
    emissions: Floats, transitions: Floats, pruning: Pruning, best: Floats
) -> None:
    """The same as ``_forward``, without prefixes that gains rule out."""
    n, K = emissions.shape
    starts, labels = pruning.exceptions.starts, pruning.exceptions.labels
    is_common = pruning.exceptions.is_common
    kept = np.empty(K, dtype=np.int64)
    for k in range(K):
        best[0, k] = transitions[K, k] + emissions[0, k]
    for t in range(1, n):
        before, row = best[t - 1], best[t]
        size = _keep_prefixes(before, pruning.gains, kept)
        row[:] = -np.inf
        for i in range(size):
            last = kept[i]
            prefix, step = before[last], transitions[last]
            if is_common[last] or len(starts) == 0:
                for k in range(K):
                    score = prefix + step[k]
                    row[k] = score if score > row[k] else row[k]
            else:
                for entry in range(starts[last], starts[last + 1]):
                    k = labels[entry]
                    score = prefix + step[k]
                    row[k] = score if score > row[k] else row[k]
        row += emissions[t]


@inner_kernel
def _keep_prefixes(scores: Floats, gains: Floats, kept: Ints) -> int:
    """Write the last labels of the prefixes that gains do not rule out; return their number."""
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
def _backward_by_exceptions(
    emissions: Floats, transitions: Floats, exceptions: Exceptions, best: Floats
) -> None:
    """The same as ``_backward``, faster where few transitions are exceptions.

    The best suffix of all follows each label with transitions in common, but for its exceptions.
    """
    n, K = emissions.shape
    starts, labels = exceptions.starts, exceptions.labels
    suffixes, top = np.empty(K), np.empty(_TOP, dtype=np.int64)
    is_possible = exceptions.common == 0
    best[n - 1] = transitions[K + 1]
    for t in range(n - 2, -1, -1):
        row = best[t]
        for k in range(K):
            suffixes[k] = emissions[t + 1, k] + best[t + 1, k]
        count = _best_labels(suffixes, is_possible, top)
        for k in range(K):
            step = transitions[k]
            row[k] = -np.inf
            if exceptions.is_common[k] and count > 0:
                row[k] = _best_by_zero(suffixes, step, top[:count])
            for i in range(starts[k], starts[k + 1]):
                score = suffixes[labels[i]] + step[labels[i]]
                row[k] = score if score > row[k] else row[k]


@kernel
def viterbi(emissions: Floats, transitions: Floats, y: Ints) -> float:
    """Fill y (int64 [n]) with the best label sequence; return its score.

    Stores no back pointers: the predecessor is recomputed, at K operations for each position, so
    that the K x K inner loop uses vector instructions.
    """
    if len(emissions) == 0:
        return 0.0
    best, none = np.empty(emissions.shape), np.empty((0, 0))
    n, K = emissions.shape
    if n >= _LONG and K >= _MANY:
        exceptions = find_exceptions(transitions, K * K // _SHARE)
        if len(exceptions.starts) > 0:
            _forward_by_exceptions(emissions, transitions, exceptions, best)
            return _trace_back(best, transitions, none, y)
    _forward(emissions, transitions, best)
    return _trace_back(best, transitions, none, y)


@kernel
def viterbi_of_some(emissions: Floats, transitions: Floats, pruning: Pruning, y: Ints) -> float:
    """The same as ``viterbi``, faster where labels can be told apart by their emissions.

    pruning: of ``prune``, for the same transitions.
    """
    if len(emissions) == 0:
        return 0.0
    best = np.empty(emissions.shape)
    _forward_of_some(emissions, transitions, pruning, best)
    return _trace_back(best, transitions, pruning.gains, y)


@kernel
def _trace_back(best: Floats, transitions: Floats, gains: Floats, y: Ints) -> float:
    """Fill y with the best sequence, given the best scores of prefixes; return its score.

    gains: of ``prune``, or [0, 0]. They spare reading most of a column of transitions.
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
    most = K * K // _SHARE if n >= _LONG and K >= _MANY else 0
    return max_marginals_by(emissions, transitions, find_exceptions(transitions, most))


@kernel
def max_marginals_by(emissions: Floats, transitions: Floats, exceptions: Exceptions) -> Floats:
    """The same, given the exceptions of the transitions; there may be none."""
    n, K = emissions.shape
    scores = np.empty((n, K))
    if n == 0:
        return scores
    rest = np.empty((n, K))
    if len(exceptions.starts) > 0 and len(exceptions.labels) <= K * K // _SHARE:
        _forward_by_exceptions(emissions, transitions, exceptions, scores)
        _backward_by_exceptions(emissions, transitions, exceptions, rest)
    else:
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
