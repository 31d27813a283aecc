"""Sums over all label sequences: the log-partition, and probabilities.

p(y) ~ exp(score(y)), with the score tables of ``decoders.chain``. Sums are computed with scaled
numbers [Rabiner 1989, section V.A], which takes one exponential for each score. Where a positive
number becomes too small, they are computed again with logarithms, which takes one exponential for
each pair of labels at each position and works for any range of scores.
"""

import numpy as np

from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Floats

_TINY = 1e-150  # smaller numbers may have lost digits or become 0
_MIN_EXPONENT = -708.0  # below it, exponentials are subnormal
_LOG2_E = 1.4426950408889634
_LN2_HIGH = 0.6931471803691238  # its last bits are 0, so that small multiples are exact
_LN2_LOW = 1.9082149292705877e-10
_ROUND = 6755399441055744.0  # 1.5 * 2**52: adding it rounds to an integer
# 1 / k!, the series of the exponential.
_C3, _C4, _C5, _C6 = 1 / 6, 1 / 24, 1 / 120, 1 / 720
_C7, _C8, _C9, _C10 = 1 / 5040, 1 / 40320, 1 / 362880, 1 / 3628800
_C11, _C12, _C13 = 1 / 39916800, 1 / 479001600, 1 / 6227020800


@kernel
def exponentials(scores: Floats, found: Floats) -> None:
    """Write the exponentials (float64 [n]) of scores that are at most 0; 0 below -708.

    exp x = 2^m exp r with |r| <= ln 2 / 2, and exp r by its series: unlike library calls, this
    uses vector instructions. Accurate to the last digit or two.
    """
    n = len(scores)
    rounded = np.empty(n)
    powers = np.empty(n)
    for i in range(n):
        rounded[i] = max(scores[i], _MIN_EXPONENT) * _LOG2_E + _ROUND
    bits = rounded.view(np.int64)
    power_bits = powers.view(np.int64)
    for i in range(n):
        power_bits[i] = (bits[i] + 1023) << 52
    for i in range(n):
        m = rounded[i] - _ROUND
        r = (max(scores[i], _MIN_EXPONENT) - m * _LN2_HIGH) - m * _LN2_LOW
        high = _C9 + r * (_C10 + r * (_C11 + r * (_C12 + r * _C13)))
        low = _C4 + r * (_C5 + r * (_C6 + r * (_C7 + r * (_C8 + r * high))))
        value = powers[i] * (1.0 + r * (1.0 + r * (0.5 + r * (_C3 + r * low))))
        found[i] = value if scores[i] >= _MIN_EXPONENT else 0.0


@kernel
def _exponential_rows(scores: Floats, found: Floats, shifts: Floats) -> None:
    """Write exp(scores[t] - shifts[t]), where shifts[t] is the best of the row, if finite."""
    n, K = scores.shape
    shifted = np.empty((n, K))
    for t in range(n):
        best = -np.inf
        for k in range(K):
            best = max(best, scores[t, k])
        shifts[t] = best
        if best == -np.inf:
            best = 0.0
        for k in range(K):
            shifted[t, k] = scores[t, k] - best
    exponentials(shifted.ravel(), found.ravel())


@kernel
def _exponential_steps(transitions: Floats, found: Floats) -> tuple[float, float, float]:
    """Write exp(transitions - shift), and return the shifts of steps, starts and ends."""
    K = transitions.shape[1]
    shifts = np.empty(K + 2)
    for p in range(K + 2):
        best = -np.inf
        for k in range(K):
            best = max(best, transitions[p, k])
        shifts[p] = best
    shifts[0] = shifts[:K].max()
    shifted = np.empty((K + 2, K))
    for p in range(K + 2):
        shift = shifts[0] if p < K else shifts[p]
        if shift == -np.inf:
            shift = 0.0
        for k in range(K):
            shifted[p, k] = transitions[p, k] - shift
    exponentials(shifted.ravel(), found.ravel())
    return float(shifts[0]), float(shifts[K]), float(shifts[K + 1])


@kernel
def _multiply(weights: Floats, table: Floats, row: Floats) -> None:
    """Write weights @ table: float64 [K]; four rows at a time save loads and stores."""
    n, K = len(weights), len(row)
    row[:] = 0.0
    whole = n - n % 4
    for j in range(0, whole, 4):
        a, b, c, d = weights[j], weights[j + 1], weights[j + 2], weights[j + 3]
        row_a, row_b, row_c, row_d = table[j], table[j + 1], table[j + 2], table[j + 3]
        for k in range(K):
            row[k] += (a * row_a[k] + b * row_b[k]) + (c * row_c[k] + d * row_d[k])
    for j in range(whole, n):
        weight, single = weights[j], table[j]
        for k in range(K):
            row[k] += weight * single[k]


@kernel
def _count_tiny(row: Floats) -> int:
    count = 0
    for k in range(len(row)):
        count += row[k] < _TINY
    return count


@kernel
def _has_lost(row: Floats, before: Floats, scores: Floats, transitions: Floats) -> bool:
    """Whether an entry is too small although its label is possible.

    row[k] = exp(scores[k]) sum_j before[j] exp(transitions[j, k])
    """
    K = len(row)
    for k in range(K):
        if row[k] < _TINY and scores[k] > -np.inf:
            for j in range(K):
                if before[j] > 0 and transitions[j, k] > -np.inf:
                    return True
    return False


@kernel
def _scale(row: Floats) -> float:
    """Scale a row to sum 1; return its sum before."""
    total = 0.0
    for k in range(len(row)):
        total += row[k]
    if total > 0:
        inverse = 1.0 / total
        for k in range(len(row)):
            row[k] *= inverse
    return total


@kernel
def _scaled_forward(
    emissions: Floats,
    transitions: Floats,
    tokens: Floats,
    steps: Floats,
    prefixes: Floats,
) -> float:
    """prefixes[t, k]: the probability of label k among the prefixes that end at t.

    tokens, steps: the exponentials. Returns the logarithm of the product of all scales; NaN
    where digits are lost, minus infinity where every prefix is forbidden.
    """
    n, K = emissions.shape
    total = 0.0
    for t in range(n):
        row, token = prefixes[t], tokens[t]
        if t == 0:
            start = steps[K]
            for k in range(K):
                row[k] = start[k] * token[k]
        else:
            _multiply(prefixes[t - 1], steps, row)
            for k in range(K):
                row[k] *= token[k]
        if _count_tiny(row) > 0:
            if t == 0:
                for k in range(K):
                    if row[k] < _TINY and transitions[K, k] + emissions[0, k] > -np.inf:
                        return np.nan
            elif _has_lost(row, prefixes[t - 1], emissions[t], transitions):
                return np.nan
        scale = _scale(row)
        if scale == 0:
            return -np.inf
        total += np.log(scale)
    return total


@kernel
def _ends(prefixes: Floats, transitions: Floats, steps: Floats) -> float:
    """The probability mass of complete prefixes that may end; NaN where digits are lost."""
    K = len(prefixes)
    share = 0.0
    for k in range(K):
        if prefixes[k] > 0 and transitions[K + 1, k] > -np.inf and steps[K + 1, k] < _TINY:
            return np.nan
        share += prefixes[k] * steps[K + 1, k]
    return share


@kernel
def log_partition(emissions: Floats, transitions: Floats) -> float:
    """The logarithm of the sum of exp(score(y)) over all y."""
    n, K = emissions.shape
    if n == 0:
        return 0.0
    tokens, token_shifts = np.empty((n, K)), np.empty(n)
    steps = np.empty((K + 2, K))
    _exponential_rows(emissions, tokens, token_shifts)
    step, start, end = _exponential_steps(transitions, steps)
    prefixes = np.empty((n, K))
    total = _scaled_forward(emissions, transitions, tokens, steps, prefixes)
    if total == -np.inf:
        return -np.inf
    share = _ends(prefixes[n - 1], transitions, steps)
    if np.isnan(total + share):
        forward = np.empty((n, K))
        _log_forward(emissions, transitions, forward)
        return log_sum(forward[n - 1] + transitions[K + 1])
    if share == 0:
        return -np.inf
    total += np.log(share) + token_shifts.sum() + start + end
    return float(total + (n - 1) * step) if n > 1 else float(total)


@kernel
def marginals(emissions: Floats, transitions: Floats, labels: Floats, pairs: Floats) -> float:
    """Write probabilities under p(y) ~ exp(score(y)); return the log-partition.

    labels: float64 [n, K], P(y_t = k); pairs: float64 [K, K], the sum over t of
    P(y_t-1 = j, y_t = k). Both are arbitrary where the log-partition is minus infinity.
    """
    n, K = emissions.shape
    pairs[:] = 0.0
    if n == 0:
        return 0.0
    tokens, token_shifts = np.empty((n, K)), np.empty(n)
    steps = np.empty((K + 2, K))
    _exponential_rows(emissions, tokens, token_shifts)
    step, start, end = _exponential_steps(transitions, steps)
    total = _scaled_marginals(emissions, transitions, tokens, steps, labels, pairs)
    if np.isnan(total):
        return _log_marginals(emissions, transitions, labels, pairs)
    if total == -np.inf:
        return -np.inf
    total += token_shifts.sum() + start + end
    return float(total + (n - 1) * step) if n > 1 else float(total)


@kernel
def _scaled_marginals(
    emissions: Floats,
    transitions: Floats,
    tokens: Floats,
    steps: Floats,
    labels: Floats,
    pairs: Floats,
) -> float:
    """``marginals`` by scaled numbers; tokens, steps: exponentials of shifted scores.

    Returns the log-partition of the shifted scores, NaN where digits are lost.
    """
    n, K = emissions.shape
    prefixes = np.empty((n, K))
    total = _scaled_forward(emissions, transitions, tokens, steps, prefixes)
    if np.isnan(total) or total == -np.inf:
        return total
    share = _ends(prefixes[n - 1], transitions, steps)
    if np.isnan(share):
        return np.nan
    if share == 0:
        return -np.inf
    total += np.log(share)

    back = np.empty((K, K))
    for j in range(K):
        for k in range(K):
            back[j, k] = steps[k, j]
    suffix = steps[K + 1].copy()  # the probability of label k among suffixes after t
    entering = np.empty((n, K))  # the same among suffixes from t on
    for t in range(n - 1, 0, -1):
        row, token = entering[t], tokens[t]
        _join(prefixes[t], suffix, labels[t])
        for k in range(K):
            row[k] = suffix[k] * token[k]
        if _count_tiny(row) > 0:
            for k in range(K):
                if row[k] < _TINY and suffix[k] > 0 and emissions[t, k] > -np.inf:
                    return np.nan
        _multiply(row, back, suffix)
        if _count_tiny(suffix) > 0 and _has_lost(suffix, row, np.zeros(K), transitions[:K].T):
            return np.nan
        # P(j, k) ~ prefix[j] step[j, k] entering[k], normalized by ``mass``.
        prefix, mass = prefixes[t - 1], 0.0
        for j in range(K):
            mass += prefix[j] * suffix[j]
        if not mass > _TINY * _TINY:
            return np.nan
        inverse = 1.0 / mass
        for k in range(K):
            row[k] *= inverse
        _scale(suffix)
    _join(prefixes[0], suffix, labels[0])
    _sum_pairs(prefixes, steps, entering, pairs)
    return float(total)


@kernel
def _sum_pairs(prefixes: Floats, steps: Floats, entering: Floats, pairs: Floats) -> None:
    """Write the sum over t of prefixes[t - 1, j] steps[j, k] entering[t, k]: float64 [K, K]."""
    n, K = prefixes.shape
    weights = np.empty(n - 1)
    for j in range(K):
        for t in range(1, n):
            weights[t - 1] = prefixes[t - 1, j]
        pair, step = pairs[j], steps[j]
        _multiply(weights, entering[1:], pair)
        for k in range(K):
            pair[k] *= step[k]


@kernel
def _join(prefix: Floats, suffix: Floats, found: Floats) -> None:
    """Write the product of both, scaled to sum 1."""
    for k in range(len(prefix)):
        found[k] = prefix[k] * suffix[k]
    _scale(found)


@kernel
def _log_forward(emissions: Floats, transitions: Floats, forward: Floats) -> None:
    """forward[t, k]: the log-partition of the prefixes that end at t with label k."""
    n, K = emissions.shape
    scores = np.empty(K)
    forward[0] = transitions[K] + emissions[0]
    for t in range(1, n):
        for k in range(K):
            for j in range(K):
                scores[j] = forward[t - 1, j] + transitions[j, k]
            forward[t, k] = log_sum(scores) + emissions[t, k]


@kernel
def _log_marginals(emissions: Floats, transitions: Floats, labels: Floats, pairs: Floats) -> float:
    """``marginals`` by logarithms."""
    n, K = emissions.shape
    pairs[:] = 0.0
    forward = np.empty((n, K))
    backward = np.empty((n, K))  # the log-partition of suffixes after t, given label k at t
    scores = np.empty(K)
    _log_forward(emissions, transitions, forward)
    backward[n - 1] = transitions[K + 1]
    for t in range(n - 2, -1, -1):
        for j in range(K):
            for k in range(K):
                scores[k] = transitions[j, k] + emissions[t + 1, k] + backward[t + 1, k]
            backward[t, j] = log_sum(scores)
    total = log_sum(forward[n - 1] + backward[n - 1])
    if total == -np.inf:
        return total
    for t in range(n):
        for k in range(K):
            labels[t, k] = np.exp(forward[t, k] + backward[t, k] - total)
            if t > 0:
                rest = emissions[t, k] + backward[t, k] - total
                for j in range(K):
                    pairs[j, k] += np.exp(forward[t - 1, j] + transitions[j, k] + rest)
    return total


@kernel
def log_sum(scores: Floats) -> float:
    """The logarithm of the sum of the exponentials."""
    high = scores.max()
    if high == -np.inf:
        return -np.inf
    total = 0.0
    for score in scores:
        total += np.exp(score - high)
    return float(high + np.log(total))
