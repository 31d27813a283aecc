"""Euclidean projection onto the polytope of cuts [TLJ05 section 4].

The nodes z and the disagreements t of edges (a, b) are the closest to given ones, v and u, of

    0 <= z <= 1,  t_e >= |z_a - z_b|.

The dual has one variable of each edge, a flow y_e from a to b:

    z_a = clip(v_a - (flow out of a) + (flow into a), 0, 1),  t_e = max(u_e, |z_a - z_b|),

and y_e = 0 where |z_a - z_b| < u_e. It is convex and piecewise quadratic, and smooth but for
y_e = 0 where u_e > 0. Each iteration minimizes it exactly in one flow after another, and then takes
a semismooth Newton step in all flows that are free to move, by conjugate gradients, with an exact
line search.

All is linear in the numbers of nodes and edges: a sweep, a point of the line search, and an
iteration of conjugate gradients, of which there are more where large connected sets of nodes come
to have the same value.
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

#: Iterations at the full scale of the values, and at each smaller one.
MAX_ITERATIONS = 300
MAX_SCALED_ITERATIONS = 20
SWEEPS = 5  #: of each iteration
MAX_GRADIENTS = 50

#: What part of the slopes a Newton step may leave.
ACCURACY = 0.1

#: How far from bearing on the Hessian nodes and edges may be to count in it, in violations.
MARGIN = 1.0

#: The largest slope of the dual at which iterations end, by the scale of the flows.
TOLERANCE = 1e-10
SCALED_TOLERANCE = 1e-2

#: The largest value, as a power of two, that is solved for without a smaller scale before.
START_SCALE = 4.0


class _Graph(NamedTuple):
    """Nodes and edges with their values."""

    v: Floats  # [n]
    edges: Ints  # [E, 2]
    u: Floats  # [E]


@kernel
def project_cut(nodes: Floats, edges: Ints, disagreements: Floats) -> None:
    """Replace nodes and disagreements by the closest point of the cut polytope.

    nodes: float64 [n]. edges: int64 [E, 2], pairs of different nodes. disagreements: float64 [E].
    All C-contiguous.
    """
    graph = _Graph(nodes, edges, disagreements)
    loads = _loads(graph, _flows(graph))
    for node in range(len(nodes)):
        nodes[node] = min(max(nodes[node] - loads[node], 0.0), 1.0)
    for e in range(len(edges)):
        difference = abs(nodes[edges[e, 0]] - nodes[edges[e, 1]])
        disagreements[e] = max(disagreements[e], difference)


@kernel
def _flows(graph: _Graph) -> Floats:
    """The optimal flows.

    Large values make the problem all but a linear program, in which steps are many and short.
    So it is solved with values divided by powers of two first, each solution the start of the
    next.
    """
    flows = np.zeros(len(graph.edges))
    largest = 0.0
    for value in graph.v:
        largest = max(largest, abs(value))
    for value in graph.u:
        largest = max(largest, abs(value))
    divisor = 1.0
    while largest > START_SCALE * divisor:
        divisor *= 2.0
    while divisor > 1.0:
        scaled = _Graph(graph.v / divisor, graph.edges, graph.u / divisor)
        _iterate(scaled, flows, MAX_SCALED_ITERATIONS, SCALED_TOLERANCE)
        flows *= 2.0
        divisor *= 0.5
    _iterate(graph, flows, MAX_ITERATIONS, TOLERANCE)
    return flows


@kernel
def _loads(graph: _Graph, flows: Floats) -> Floats:
    """The flow out of each node less the flow into it."""
    loads = np.zeros(len(graph.v))
    for e in range(len(flows)):
        loads[graph.edges[e, 0]] += flows[e]
        loads[graph.edges[e, 1]] -= flows[e]
    return loads


@kernel
def _iterate(graph: _Graph, flows: Floats, iterations: int, tolerance: float) -> None:
    """Improve flows until the dual is flat.

    Where the dual has kinks at its minimum, Newton steps approach it by a constant factor, in a
    constant direction: so a slow iteration is followed by a search in its direction.
    """
    before = flows.copy()
    slopes, step = np.empty_like(flows), np.empty_like(flows)
    last_violation = np.inf
    for _ in range(iterations):
        for _ in range(SWEEPS):
            _balance(graph, flows)
        violation = _slopes(graph, flows, slopes)
        limit = tolerance
        for flow in flows:
            limit = max(limit, EPSILON * abs(flow))
        if violation > limit and violation > SLOW * last_violation:
            step[:] = REACH * (flows - before)
            _search(graph, flows, slopes, step)
            violation = _slopes(graph, flows, slopes)
        if violation <= limit:
            break
        before[:] = flows
        last_violation = violation
        _newton_step(graph, flows, slopes, violation, step)
        _search(graph, flows, slopes, step)


@kernel
def _balance(graph: _Graph, flows: Floats) -> None:
    """Minimize the dual in one flow after another."""
    rest = graph.v - _loads(graph, flows)
    for e in range(len(flows)):
        a, b = graph.edges[e, 0], graph.edges[e, 1]
        flow = _flow(rest[a] + flows[e], rest[b] - flows[e], graph.u[e], flows[e])
        rest[a] += flows[e] - flow
        rest[b] -= flows[e] - flow
        flows[e] = flow


@kernel
def _flow(v_a: float, v_b: float, u: float, start: float) -> float:
    """The flow of an edge, given the values of its ends without it; by Newton's method."""
    difference = min(max(v_a, 0.0), 1.0) - min(max(v_b, 0.0), 1.0)
    if abs(difference) <= u:
        return 0.0
    reach = 1.0 + max(-u, 0.0)
    low = 0.0 if difference > 0.0 else -reach
    high = reach if difference > 0.0 else 0.0
    point = start if low <= start <= high else 0.0
    sign = 1.0 if difference > 0.0 else -1.0
    rounding = EPSILON * max(1.0, abs(v_a), abs(v_b))
    for _ in range(MAX_STEPS):
        z_a, z_b = v_a - point, v_b + point
        excess = min(max(z_a, 0.0), 1.0) - min(max(z_b, 0.0), 1.0)
        excess -= sign * max(sign * point + u, 0.0)
        if abs(excess) <= rounding:
            break
        slope = 0.0 - (0.0 < z_a < 1.0) - (0.0 < z_b < 1.0) - (sign * point + u > 0.0)
        if excess > 0.0:
            low = point
        else:
            high = point
        following = next_point(low, high, point, excess, slope)
        if not low < following < high:
            break
        point = following
    return point


@kernel
def _slopes(graph: _Graph, flows: Floats, slopes: Floats) -> float:
    """Write how fast the dual falls along each flow; return the largest such slope."""
    z = np.clip(graph.v - _loads(graph, flows), 0.0, 1.0)
    violation = 0.0
    for e in range(len(flows)):
        slope, u = z[graph.edges[e, 0]] - z[graph.edges[e, 1]], graph.u[e]
        if flows[e] == 0.0:
            pull = min(max(slope, -u), u) if u > 0.0 else 0.0
        else:
            pull = np.sign(flows[e]) * max(abs(flows[e]) + u, 0.0)
        slopes[e] = slope - pull
        violation = max(violation, abs(slopes[e]))
    return violation


@kernel
def _newton_step(
    graph: _Graph, flows: Floats, slopes: Floats, violation: float, step: Floats
) -> None:
    """Solve (H + damping I) step = slopes in the flows that are free, by conjugate gradients.

    H counts nodes and edges on which flows come to bear within the margin, too.
    """
    damping, margin = 1e-2 * min(violation, 1.0), MARGIN * violation
    values = graph.v - _loads(graph, flows)
    inside = ((values > -margin) & (values < 1.0 + margin)).astype(np.float64)
    free = (graph.u <= 0.0) | (flows != 0.0) | (slopes != 0.0)
    diagonal = damping + (np.abs(flows) + graph.u > -margin).astype(np.float64)
    inverse = np.empty_like(step)
    residual, direction, image = slopes * free, np.zeros_like(step), np.empty_like(step)
    size, product, momentum = 0.0, 0.0, 0.0
    for e in range(len(step)):
        step[e] = 0.0
        a, b = graph.edges[e, 0], graph.edges[e, 1]
        inverse[e] = free[e] / (inside[a] + inside[b] + diagonal[e])
        size += residual[e] * residual[e]
        product += residual[e] * residual[e] * inverse[e]
    target = ACCURACY * ACCURACY * size
    for _ in range(MAX_GRADIENTS):
        if size <= target:
            break
        for e in range(len(step)):
            direction[e] = inverse[e] * residual[e] + momentum * direction[e]
        length = product / _hessian_times(graph, inside, diagonal, direction, image)
        last, size, product = product, 0.0, 0.0
        for e in range(len(step)):
            step[e] += length * direction[e]
            residual[e] -= length * image[e] if free[e] else 0.0
            square = residual[e] * residual[e]
            size += square
            product += square * inverse[e]
        momentum = product / last


@kernel
def _hessian_times(
    graph: _Graph, inside: Floats, diagonal: Floats, direction: Floats, image: Floats
) -> float:
    """Write (H + damping I) direction and return its product with the direction.

    inside: which nodes count. diagonal: what edges and the damping add to the diagonal.
    """
    loads = _loads(graph, direction) * inside
    product = 0.0
    for e in range(len(direction)):
        pull = loads[graph.edges[e, 0]] - loads[graph.edges[e, 1]]
        image[e] = pull + diagonal[e] * direction[e]
        product += image[e] * direction[e]
    return product


@kernel
def _search(graph: _Graph, flows: Floats, slopes: Floats, step: Floats) -> None:
    """Go along a step, as far as the dual falls; flows with u > 0 stop at 0.

    The step is bent to stop there where it leads downwards even so, and else cut short.
    """
    descent, longest = 0.0, 1.0
    for e in range(len(flows)):
        bent = _bent(flows[e], graph.u[e], step[e], slopes[e])
        descent += slopes[e] * bent
        if bent != step[e]:
            longest = min(longest, abs(bent / step[e]))
    for e in range(len(flows)):
        if descent > 0.0:
            step[e] = _bent(flows[e], graph.u[e], step[e], slopes[e])
        else:
            step[e] *= longest
    fall = np.sum(slopes * step)
    values, rates = graph.v - _loads(graph, flows), _loads(graph, step)
    low, high, point = 0.0, 1.0, 1.0
    for _ in range(MAX_STEPS):
        rise, curvature = _slope_along(graph, values, rates, flows, step, point)
        if rise <= 0.0:
            low = point
        else:
            high = point
        following = next_point(low, high, point, rise, curvature)
        if abs(rise) <= FLATNESS * fall or low == 1.0 or not low < following < high:
            break
        point = following
    flows += point * step


@kernel
def _bent(flow: float, u: float, step: float, slope: float) -> float:
    """The part of a step of a flow until it changes its sign, if it may not."""
    if u <= 0.0:
        return step
    if flow == 0.0:
        return step if step * slope > 0.0 else 0.0
    if flow > 0.0:
        return max(step, -flow)
    return min(step, -flow)


@kernel
def _slope_along(
    graph: _Graph, values: Floats, rates: Floats, flows: Floats, step: Floats, point: float
) -> tuple[float, float]:
    """The first and second derivatives of the dual at a point of a step.

    values and rates: v_a - load of each node, and what the step adds to its load.
    """
    rise, curvature = 0.0, 0.0
    for node in range(len(values)):
        z = values[node] - point * rates[node]
        rise -= min(max(z, 0.0), 1.0) * rates[node]
        curvature += rates[node] * rates[node] * (0.0 < z < 1.0)
    for e in range(len(flows)):
        flow = flows[e] + point * step[e]
        sign = np.sign(flow)
        if graph.u[e] > 0.0:
            sign = np.sign(flows[e]) if flows[e] != 0.0 else np.sign(step[e])
        pull = max(sign * flow + graph.u[e], 0.0)
        rise += sign * pull * step[e]
        curvature += step[e] * step[e] * (pull > 0.0)
    return rise, curvature
