"""Euclidean projection onto the polytope of paths through a chain [TLJ05 section 4].

A label sequence of n positions is a path from a source, through one label at each position, to a
sink; the polytope of paths is that of unit flows x >= 0 through this trellis. With a potential
p of each node, the closest flow to given values v is

    x_e = max(v_e + p[tail of e] - p[head of e], 0),

and the dual is convex, once differentiable and piecewise quadratic in p. Its Hessian is the
Laplacian of the edges that carry flow. Potentials start between those of the best prefixes and the
best suffixes, so that only the best paths carry flow. Iterations are semismooth Newton steps
over the nodes that carry flow, with an exact line search.

An iteration costs O(n K^2) for flows and for each point of the line search, and, with up to k
nodes of a position that carry flow, O(n k^3) for the factorization.
"""

from typing import NamedTuple

import numpy as np

from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Floats, Ints
from spacy_ssvm.lab.projections.piecewise import (
    EPSILON,
    FLATNESS,
    MAX_STEPS,
    REACH,
    SLOW,
    next_point,
)

MAX_ITERATIONS = 500

#: By what part of the largest violation an edge may lack of carrying flow to count in the Hessian.
MARGIN = 0.3

#: The largest difference of inflow and outflow at which iterations end, by the size of potentials.
TOLERANCE = 2e-14


class _Trellis(NamedTuple):
    """The values of edges. Layer 0 is the source, layer t + 1 position t, layer n + 1 the sink."""

    first: Floats  # [1, K]
    pairs: Floats  # [n - 1, K, K]
    last: Floats  # [K, 1]


@kernel
def project_chain(first: Floats, pairs: Floats, last: Floats) -> None:
    """Replace the values of edges by the closest unit flow.

    first: float64 [K], the flow into each label at position 0. pairs: float64 [n - 1, K, K], the
    flow from label j at t to label k at t + 1. last: float64 [K], the flow out of each label at
    the last position. All C-contiguous. Minus infinity forbids an edge, which becomes 0; some path
    must be allowed.
    """
    K = len(first)
    trellis = _Trellis(first.copy().reshape(1, K), pairs.copy(), last.copy().reshape(K, 1))
    layers = len(pairs) + 3
    suffixes = np.zeros((layers, K))
    potentials = _start(trellis, suffixes)
    _iterate(trellis, potentials)
    _write_flow(trellis, potentials, suffixes)
    first[:] = trellis.first[0]
    pairs[:] = trellis.pairs
    last[:] = trellis.last[:, 0]


@kernel
def _edges(trellis: _Trellis, t: int) -> Floats:
    """The values of edges from layer t to the next."""
    if t == 0:
        return trellis.first
    if t <= len(trellis.pairs):
        pairs: Floats = trellis.pairs[t - 1]
        return pairs
    return trellis.last


@kernel
def _start(trellis: _Trellis, suffixes: Floats) -> Floats:
    """Potentials under which the best paths carry a flow of 1 from each layer to the next.

    Writes the values of the best suffixes, and forbids edges that no allowed path takes.
    """
    layers, K = suffixes.shape
    prefixes = np.zeros((layers, K))
    for t in range(layers - 1):
        v = _edges(trellis, t)
        prefixes[t + 1] = -np.inf
        for j in range(v.shape[0]):
            for k in range(v.shape[1]):
                prefixes[t + 1, k] = max(prefixes[t + 1, k], prefixes[t, j] + v[j, k])
    for t in range(layers - 2, -1, -1):
        v = _edges(trellis, t)
        suffixes[t] = -np.inf
        for j in range(v.shape[0]):
            for k in range(v.shape[1]):
                suffixes[t, j] = max(suffixes[t, j], v[j, k] + suffixes[t + 1, k])
    potentials = np.zeros((layers, K))
    for t in range(layers):
        for k in range(K):
            if prefixes[t, k] > -np.inf and suffixes[t, k] > -np.inf:
                potentials[t, k] = 0.5 * (prefixes[t, k] - suffixes[t, k])
    potentials -= 0.5 * prefixes[layers - 1, 0]
    potentials[layers - 1] = 0.0
    shift = 0.0
    for t in range(layers - 2, -1, -1):
        v = _edges(trellis, t)
        for j in range(v.shape[0]):
            for k in range(v.shape[1]):
                if prefixes[t, j] == -np.inf or suffixes[t + 1, k] == -np.inf:
                    v[j, k] = -np.inf
        potentials[t] += shift
        step = _lift(v, potentials[t], potentials[t + 1])
        potentials[t] += step
        shift += step
    return potentials


@kernel
def _lift(v: Floats, tails: Floats, heads: Floats) -> float:
    """What to add to the potentials of tails for a flow of 1 in total, by Newton's method."""
    lift = -np.inf
    for j in range(v.shape[0]):
        for k in range(v.shape[1]):
            lift = max(lift, v[j, k] + tails[j] - heads[k])
    lift = 1.0 - lift  # enough, because one edge carries 1; Newton's method only goes down from it
    for _ in range(MAX_STEPS):
        excess, slope = -1.0, 0.0
        for j in range(v.shape[0]):
            for k in range(v.shape[1]):
                x = v[j, k] + tails[j] - heads[k] + lift
                excess += max(x, 0.0)
                slope += x > 0.0
        if excess <= EPSILON or slope == 0.0:
            break
        lift -= excess / slope
    return lift


@kernel
def _iterate(trellis: _Trellis, potentials: Floats) -> None:
    """Improve potentials until inflow equals outflow at each node."""
    before = potentials.copy()
    excess, step = np.zeros_like(potentials), np.zeros_like(potentials)
    last_violation = np.inf
    for _ in range(MAX_ITERATIONS):
        violation = _excess(trellis, potentials, excess)
        limit = TOLERANCE * max(1.0, np.abs(potentials).max())
        if violation > limit and violation > SLOW * last_violation:
            step[:] = REACH * (potentials - before)
            _search(trellis, potentials, excess, step)
            violation = _excess(trellis, potentials, excess)
        if violation <= limit:
            break
        before[:] = potentials
        last_violation = violation
        _newton_step(
            trellis, potentials, excess, 1e-2 * min(violation, 1.0), MARGIN * violation, step
        )
        _search(trellis, potentials, excess, step)


@kernel
def _excess(trellis: _Trellis, potentials: Floats, excess: Floats) -> float:
    """Write inflow less outflow of each node but the sink; return the largest in size."""
    excess[:] = 0.0
    excess[0, 0] = 1.0
    for t in range(len(potentials) - 1):
        v = _edges(trellis, t)
        heads, into = potentials[t + 1], excess[t + 1]
        for j in range(v.shape[0]):
            values, tail = v[j], potentials[t, j]
            outflow = 0.0
            for k in range(v.shape[1]):
                x = max(values[k] + tail - heads[k], 0.0)
                into[k] += x
                outflow += x
            excess[t, j] -= outflow
    excess[len(potentials) - 1] = 0.0
    return float(np.abs(excess).max())


@kernel
def _newton_step(
    trellis: _Trellis,
    potentials: Floats,
    excess: Floats,
    damping: float,
    margin: float,
    step: Floats,
) -> None:
    """Solve (H + damping I) step = excess over the nodes that carry flow.

    H counts edges that lack no more than the margin of carrying flow, too.
    """
    layers, K = potentials.shape
    carries = np.zeros((layers, K), dtype=np.int64)
    carries[0, 0] = 1
    for t in range(layers - 1):
        v = _edges(trellis, t)
        heads = potentials[t + 1]
        for j in range(v.shape[0]):
            values, tail = v[j], potentials[t, j]
            for k in range(v.shape[1]):
                if values[k] + tail > heads[k] - margin:
                    carries[t, j] = 1
                    carries[t + 1, k] = 1
    carries[layers - 1] = 0
    nodes = np.cumsum(carries.ravel()).reshape(layers, K) - 1
    size = nodes[layers - 1, K - 1] + 1
    right = np.empty(size, dtype=np.int64)  # behind the last node of the next layer
    x = np.empty(size)
    for t in range(layers):
        for k in range(K):
            if carries[t, k]:
                node = nodes[t, k]
                right[node] = nodes[t + 1, K - 1] + 1
                x[node] = excess[t, k]
    starts = np.zeros(size + 1, dtype=np.int64)  # of rows of A, which begin with the diagonal
    starts[1:] = np.cumsum(right - np.arange(size))
    A = np.zeros(starts[size])
    A[starts[:size]] = damping
    for t in range(layers - 1):
        v = _edges(trellis, t)
        for j in range(v.shape[0]):
            for k in range(v.shape[1]):
                if v[j, k] + potentials[t, j] > potentials[t + 1, k] - margin:
                    tail, head = nodes[t, j], nodes[t + 1, k]
                    A[starts[tail]] += 1.0
                    if carries[t + 1, k]:
                        A[starts[head]] += 1.0
                        A[starts[tail] + head - tail] = -1.0
    _solve(A, starts, x, 0.5 * damping)
    for t in range(layers):
        for k in range(K):
            step[t, k] = x[nodes[t, k]] if carries[t, k] else 0.0


@kernel
def _solve(A: Floats, starts: Ints, x: Floats, least: float) -> None:
    """Replace x by A^-1 x, A positive definite, by elimination inside the profile of A.

    Row i of the upper triangle is A[starts[i] : starts[i + 1]], the diagonal first; no row ends
    left of the one before. A is overwritten. No pivot is below the least.
    """
    for i in range(len(x)):
        row = A[starts[i] : starts[i + 1]]
        pivot = max(row[0], least)
        row[0] = pivot
        for j in range(1, len(row)):
            if row[j] != 0.0:
                factor = row[j] / pivot
                below = A[starts[i + j] : starts[i + j] + len(row) - j]
                for k in range(len(below)):
                    below[k] -= factor * row[j + k]
                x[i + j] -= factor * x[i]
    for i in range(len(x) - 1, -1, -1):
        row = A[starts[i] : starts[i + 1]]
        for j in range(1, len(row)):
            x[i] -= row[j] * x[i + j]
        x[i] /= row[0]


@kernel
def _search(trellis: _Trellis, potentials: Floats, excess: Floats, step: Floats) -> None:
    """Go along a step, as far as the dual falls."""
    fall = np.sum(excess * step)
    low, high, point = 0.0, 1.0, 1.0
    for _ in range(MAX_STEPS):
        rise, curvature = _slope_along(trellis, potentials, step, point)
        if rise <= 0.0:
            low = point
        else:
            high = point
        following = next_point(low, high, point, rise, curvature)
        if abs(rise) <= FLATNESS * fall or low == 1.0 or not low < following < high:
            break
        point = following
    potentials += point * step


@kernel
def _slope_along(
    trellis: _Trellis, potentials: Floats, step: Floats, point: float
) -> tuple[float, float]:
    """The first and second derivatives of the dual at a point of a step."""
    rise, curvature = -step[0, 0], 0.0
    at = potentials + point * step
    for t in range(len(potentials) - 1):
        v = _edges(trellis, t)
        heads, head_steps = at[t + 1], step[t + 1]
        for j in range(v.shape[0]):
            values, tail, tail_step = v[j], at[t, j], step[t, j]
            for k in range(v.shape[1]):
                x = values[k] + tail - heads[k]
                if x > 0.0:
                    rate = tail_step - head_steps[k]
                    rise += x * rate
                    curvature += rate * rate
    return rise, curvature


@kernel
def _write_flow(trellis: _Trellis, potentials: Floats, suffixes: Floats) -> None:
    """Replace values by a flow, which leaves each node in the proportions of its edges.

    Where the potentials are optimal these are the edges' flows, up to rounding; a node where some
    flow arrives and none leaves sends it along the best suffix.
    """
    layers, K = potentials.shape
    inflow, outflow = np.ones(K), np.empty(K)
    for t in range(layers - 1):
        v = _edges(trellis, t)
        outflow[:] = 0.0
        for j in range(v.shape[0]):
            total, best = 0.0, 0
            for k in range(v.shape[1]):
                if v[j, k] + suffixes[t + 1, k] > v[j, best] + suffixes[t + 1, best]:
                    best = k
                total += max(v[j, k] + potentials[t, j] - potentials[t + 1, k], 0.0)
            for k in range(v.shape[1]):
                x = max(v[j, k] + potentials[t, j] - potentials[t + 1, k], 0.0)
                if total == 0.0:
                    x = 1.0 if k == best else 0.0
                v[j, k] = x * (inflow[j] / total if total > 0.0 else inflow[j])
                outflow[k] += v[j, k]
        inflow[:] = outflow
