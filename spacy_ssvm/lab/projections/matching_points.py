"""Euclidean projection onto the polytope of matchings [TLJ05 section 4].

The links z of m source words and n target words, and the extras e of each word, are the closest
to given ones, v and x, of

    0 <= z <= 1,  0 <= e <= 1,  sum_k z_jk - sum_c e_jc <= 1 for source words j,

and the same for target words.

With multipliers a >= 0 of source words and b >= 0 of target words,

    z_jk = clip(v_jk - a_j - b_k, 0, 1),  e_jc = clip(x_jc + a_j, 0, 1),

and the dual is convex, once differentiable and piecewise quadratic in (a, b). Each iteration
minimizes it exactly in the multipliers of one side at a time, which settles what is zero, and then
takes a semismooth Newton step in all multipliers above zero, with an exact line search. The step
eliminates the larger side, whose Hessian is diagonal.

Only links with v > 0 can be above zero. With L of them, an iteration costs O(L) for the sweeps
and the line search, O(L min(m, n)) to eliminate a side and O(min(m, n)^3 / 6) for the
factorization. Values of moderate size take up to ten iterations, most of the time.
"""

from typing import NamedTuple

import numpy as np

from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Flags, Floats, Ints
from spacy_ssvm.lab.projections.piecewise import (
    EPSILON,
    FLATNESS,
    MAX_STEPS,
    REACH,
    SLOW,
    next_point,
)

#: Iterations at the full scale of the values, and at each smaller one.
MAX_ITERATIONS = 500
MAX_SCALED_ITERATIONS = 20

#: The largest violation of a constraint at which iterations end, by the scale of the multipliers.
TOLERANCE = 1e-14
SCALED_TOLERANCE = 1e-2

#: The largest value, as a power of two, that is solved for without a smaller scale before.
START_SCALE = 4.0


class _Side(NamedTuple):
    """The words of one side, with their links of positive value."""

    starts: Ints  # [words + 1]: the links of each word
    others: Ints  # [L]: the other word of each link
    values: Floats  # [L]
    extras: Floats  # [words, extras of a word]


@kernel
def project_matching(links: Floats, source_extras: Floats, target_extras: Floats) -> None:
    """Replace links and extras by the closest point of the matching polytope.

    links: float64 [m, n], minus infinity where a link is forbidden: it becomes 0.
    source_extras, target_extras: float64 [m, f - 1] and [n, g - 1], the further links that each
    word may take; f - 1 and g - 1 may be 0. All C-contiguous.
    """
    m, n = links.shape
    if m >= n:
        larger = _side(links, source_extras)
        smaller = _side(np.ascontiguousarray(links.T), target_extras)
        both = _multipliers(larger, smaller)
        a, b = both[:m], both[m:]
    else:
        larger = _side(np.ascontiguousarray(links.T), target_extras)
        smaller = _side(links, source_extras)
        both = _multipliers(larger, smaller)
        a, b = both[n:], both[:n]
    _write_extras(source_extras, a)
    _write_extras(target_extras, b)
    for j in range(m):
        for k in range(n):
            links[j, k] = min(max(links[j, k] - a[j] - b[k], 0.0), 1.0)
    _shrink(links, source_extras, target_extras)


@kernel
def _side(links: Floats, extras: Floats) -> _Side:
    """The rows of a table of links as one side."""
    words = len(links)
    starts = np.zeros(words + 1, dtype=np.int64)
    others = np.empty(links.size, dtype=np.int64)
    values = np.empty(links.size)
    size = 0
    for j in range(words):
        for k in range(links.shape[1]):
            if links[j, k] > 0.0:
                others[size] = k
                values[size] = links[j, k]
                size += 1
        starts[j + 1] = size
    return _Side(starts, others[:size], values[:size], extras.copy())


@kernel
def _write_extras(extras: Floats, multipliers: Floats) -> None:
    for j in range(extras.shape[0]):
        for c in range(extras.shape[1]):
            extras[j, c] = min(max(extras[j, c] + multipliers[j], 0.0), 1.0)


@kernel
def _shrink(links: Floats, source_extras: Floats, target_extras: Floats) -> None:
    """Scale the links of words that have too many: by rounding, or where iterations ran out."""
    for j in range(links.shape[0]):
        total, most = links[j].sum(), 1.0 + source_extras[j].sum()
        if total > most:
            links[j] *= most / total
    for k in range(links.shape[1]):
        total, most = links[:, k].sum(), 1.0 + target_extras[k].sum()
        if total > most:
            links[:, k] *= most / total


@kernel
def _multipliers(larger: _Side, smaller: _Side) -> Floats:
    """The multipliers of both sides, those of the larger side first.

    Large values make the problem all but a linear program, in which steps are many and short.
    So it is solved with values divided by powers of two first, each solution the start of the
    next.
    """
    both = np.zeros(len(larger.starts) + len(smaller.starts) - 2)
    largest = 0.0
    for value in larger.values:
        largest = max(largest, value)
    for side in (larger, smaller):
        for value in side.extras.ravel():
            largest = max(largest, abs(value))
    divisor = 1.0
    while largest > START_SCALE * divisor:
        divisor *= 2.0
    while divisor > 1.0:
        scaled_larger, scaled_smaller = _scaled(larger, divisor), _scaled(smaller, divisor)
        _iterate(scaled_larger, scaled_smaller, both, MAX_SCALED_ITERATIONS, SCALED_TOLERANCE)
        both *= 2.0
        divisor *= 0.5
    _iterate(larger, smaller, both, MAX_ITERATIONS, TOLERANCE)
    return both


@kernel
def _scaled(side: _Side, divisor: float) -> _Side:
    return _Side(side.starts, side.others, side.values / divisor, side.extras / divisor)


@kernel
def _iterate(
    larger: _Side, smaller: _Side, both: Floats, iterations: int, tolerance: float
) -> None:
    """Improve the multipliers until no constraint is violated by more than a tolerance.

    Where the dual has kinks at its minimum, Newton steps approach it by a constant factor, in a
    constant direction: so a slow iteration is followed by a search in its direction.
    """
    m = len(larger.starts) - 1
    before = both.copy()
    excess, step = np.empty_like(both), np.empty_like(both)
    last_violation = np.inf
    for _ in range(iterations):
        _balance(larger, both[:m], both[m:])
        _balance(smaller, both[m:], both[:m])
        violation = _excess(larger, smaller, both, excess)
        limit = tolerance
        for multiplier in both:
            limit = max(limit, tolerance * multiplier)
        if violation > limit and violation > SLOW * last_violation:
            step[:] = REACH * (both - before)
            _search(larger, smaller, both, excess, step)
            violation = _excess(larger, smaller, both, excess)
        if violation <= limit:
            break
        before[:] = both
        last_violation = violation
        _newton_step(larger, smaller, both, excess, 1e-2 * min(violation, 1.0), step)
        _search(larger, smaller, both, excess, step)


@kernel
def _balance(side: _Side, own: Floats, other: Floats) -> None:
    """Minimize the dual in each multiplier of one side, the other side's given."""
    reduced = np.empty(len(other))
    for j in range(len(own)):
        size = 0
        most = 0.0
        for link in range(side.starts[j], side.starts[j + 1]):
            value = side.values[link] - other[side.others[link]]
            if value > 0.0:
                reduced[size] = value
                most = max(most, value)
                size += 1
        own[j] = _multiplier(reduced[:size], side.extras[j], own[j], most)


@kernel
def _multiplier(values: Floats, extras: Floats, start: float, most: float) -> float:
    """The multiplier of a word, by Newton's method from a start.

    values: v_jk - b_k of its links; none is above most.
    """
    low, high, point = 0.0, most, 0.0
    rounding = EPSILON * max(1.0, most)
    for step in range(MAX_STEPS):
        excess, slope = -1.0, 0.0
        for value in values:
            z = value - point
            if z >= 1.0:
                excess += 1.0
            elif z > 0.0:
                excess += z
                slope -= 1.0
        for value in extras:
            e = value + point
            if e >= 1.0:
                excess -= 1.0
            elif e > 0.0:
                excess -= e
                slope -= 1.0
        if abs(excess) <= rounding or (step == 0 and excess < 0.0):
            break
        if excess > 0.0:
            low = point
        else:
            high = point
        if step == 0 and low < start < high:
            point = start
            continue
        following = next_point(low, high, point, excess, slope)
        if following == point or not low < following < high:
            break
        point = following
    return point


@kernel
def _excess(larger: _Side, smaller: _Side, both: Floats, excess: Floats) -> float:
    """Write sum_k z_jk - sum_c e_jc - 1 of each word; return the largest that is not optimal."""
    m = len(larger.starts) - 1
    a, b = both[:m], both[m:]
    excess[:] = -1.0
    for j in range(m):
        total = -1.0
        for link in range(larger.starts[j], larger.starts[j + 1]):
            k = larger.others[link]
            z = min(max(larger.values[link] - a[j] - b[k], 0.0), 1.0)
            total += z
            excess[m + k] += z
        excess[j] = total
    for side, first in ((larger, 0), (smaller, m)):
        for word in range(side.extras.shape[0]):
            for c in range(side.extras.shape[1]):
                e = side.extras[word, c] + both[first + word]
                excess[first + word] -= min(max(e, 0.0), 1.0)
    violation = 0.0
    for word in range(len(both)):
        violation = max(violation, abs(excess[word]) if both[word] > 0.0 else excess[word])
    return violation


@kernel
def _newton_step(
    larger: _Side, smaller: _Side, both: Floats, excess: Floats, damping: float, step: Floats
) -> None:
    """Solve (H + damping I) step = excess in the multipliers that are free to move."""
    m = len(larger.starts) - 1
    a, b = both[:m], both[m:]
    step[:] = 0.0
    free = (both > 0.0) | (excess > 0.0)
    place = np.cumsum(free[m:]) - 1
    size = place[-1] + 1 if len(b) > 0 else 0
    A, right = np.zeros((size, size)), np.empty(size)
    for k in range(len(b)):
        if free[m + k]:
            right[place[k]] = excess[m + k]
            A[place[k], place[k]] = damping + _interior_extras(smaller.extras[k], b[k])
    found = np.empty(len(b), dtype=np.int64)
    for j in range(m):
        count, inside = _interior(larger, j, a, b, free[m:], place, found)
        share = 1.0 / (inside + damping + _interior_extras(larger.extras[j], a[j]))
        for one in found[:count]:
            A[one, one] += 1.0
            if free[j]:
                right[one] -= excess[j] * share
                for two in found[:count]:
                    A[one, two] -= share
    _solve(A, right, damping)
    for k in range(len(b)):
        if free[m + k]:
            step[m + k] = right[place[k]]
    for j in range(m):
        if free[j]:
            count, inside = _interior(larger, j, a, b, free[m:], place, found)
            pivot = inside + damping + _interior_extras(larger.extras[j], a[j])
            total = excess[j]
            for one in found[:count]:
                total -= right[one]
            step[j] = total / pivot


@kernel
def _interior_extras(extras: Floats, multiplier: float) -> int:
    """The number of extras of a word that are between 0 and 1."""
    count = 0
    for value in extras:
        if 0.0 < value + multiplier < 1.0:
            count += 1
    return count


@kernel
def _interior(
    side: _Side, j: int, a: Floats, b: Floats, free: Flags, place: Ints, found: Ints
) -> tuple[int, int]:
    """The links of a word that are between 0 and 1.

    Writes the places of those whose other word is free. Returns how many they are, and the
    number of all links.
    """
    size, count = 0, 0
    for link in range(side.starts[j], side.starts[j + 1]):
        k = side.others[link]
        if 0.0 < side.values[link] - a[j] - b[k] < 1.0:
            count += 1
            if free[k]:
                found[size] = place[k]
                size += 1
    return size, count


@kernel
def _solve(A: Floats, x: Floats, damping: float) -> None:
    """Replace x by A^-1 x, A positive definite, by Cholesky's method; A is overwritten."""
    for i in range(len(x)):
        for j in range(i + 1):
            total = A[i, j]
            for k in range(j):
                total -= A[i, k] * A[j, k]
            if i == j:
                A[i, i] = np.sqrt(max(total, 0.5 * damping))
            else:
                A[i, j] = total / A[j, j]
        for k in range(i):
            x[i] -= A[i, k] * x[k]
        x[i] /= A[i, i]
    for i in range(len(x) - 1, -1, -1):
        x[i] /= A[i, i]
        for k in range(i):
            x[k] -= A[i, k] * x[i]


@kernel
def _search(larger: _Side, smaller: _Side, both: Floats, excess: Floats, step: Floats) -> None:
    """Go along a step, as far as the dual falls, and keep multipliers at 0 or above.

    The step is bent to stay at 0 or above where it leads downwards even so, and else cut short.
    """
    descent, longest = 0.0, 1.0
    for word in range(len(both)):
        descent += excess[word] * max(step[word], -both[word])
        if step[word] < -longest * both[word]:
            longest = -both[word] / step[word]
    for word in range(len(both)):
        step[word] = max(step[word], -both[word]) if descent > 0.0 else longest * step[word]
    low, high, point = 0.0, 1.0, 1.0
    fall = 0.0
    for word in range(len(both)):
        fall += excess[word] * step[word]
    for _ in range(MAX_STEPS):
        rise, curvature = _slope_along(larger, smaller, both, step, point)
        if rise <= 0.0:
            low = point
        else:
            high = point
        following = next_point(low, high, point, rise, curvature)
        if abs(rise) <= FLATNESS * fall or low == 1.0 or not low < following < high:
            break
        point = following
    for word in range(len(both)):
        both[word] = max(both[word] + point * step[word], 0.0)


@kernel
def _slope_along(
    larger: _Side, smaller: _Side, both: Floats, step: Floats, point: float
) -> tuple[float, float]:
    """The first and second derivatives of the dual at a point of a step."""
    m = len(larger.starts) - 1
    rise, curvature = step.sum(), 0.0
    for side, first in ((larger, 0), (smaller, m)):
        for word in range(side.extras.shape[0]):
            rate = step[first + word]
            for c in range(side.extras.shape[1]):
                e = side.extras[word, c] + both[first + word] + point * rate
                rise += min(max(e, 0.0), 1.0) * rate
                curvature += rate * rate * (0.0 < e < 1.0)
    for j in range(m):
        reduction, step_j = both[j] + point * step[j], step[j]
        for link in range(larger.starts[j], larger.starts[j + 1]):
            k = m + larger.others[link]
            rate = step_j + step[k]
            z = larger.values[link] - reduction - both[k] - point * step[k]
            rise -= min(max(z, 0.0), 1.0) * rate
            curvature += rate * rate * (0.0 < z < 1.0)
    return rise, curvature
