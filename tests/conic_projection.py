"""Projections onto polytopes by a general convex solver, and how ours are held against them."""

import clarabel
import numpy as np
from conic_reference import solve_cone_program


def project(v, equal, equal_to, below, bound):
    """The closest point to v of {x: equal x = equal_to, below x <= bound}."""
    A = np.vstack([equal, below])
    cones = [clarabel.ZeroConeT(len(equal)), clarabel.NonnegativeConeT(len(below))]
    x, _ = solve_cone_program(
        np.ones(len(v)), -v, A, np.concatenate([equal_to, bound]), [c for c in cones if c.dim]
    )
    return x


def check_projection(v, x, expected):
    """Whether x, of the polytope, is as close to v as what the general solver found.

    Points that are as close as the closest to within d^2 / 2 are within d of it. The general
    solver stops at a relative gap of 1e-10, which leaves it some 1e-5 away where |v| is moderate,
    and much further where it is large.
    """
    assert np.sum((x - v) ** 2) <= np.sum((expected - v) ** 2) + 1e-9 * (1 + np.sum(v**2))
    if np.abs(v).max(initial=0) < 100:
        np.testing.assert_allclose(x, expected, atol=1e-5 * (1 + np.linalg.norm(v)))


def drawn_values(random, kind, shape):
    """Values of one of six kinds: moderate, full of ties, large, tiny, or of vertices."""
    if kind == 0:
        return random.normal(size=shape)
    if kind == 1:
        return random.integers(-3, 4, shape).astype(float)
    if kind == 2:
        return 1e3 * random.normal(size=shape)
    if kind == 3:
        return 1e-3 * random.normal(size=shape)
    if kind == 4:
        return random.integers(0, 2, shape).astype(float)
    return random.integers(-1000, 1001, shape).astype(float)
