"""Projections onto cuts, against a general convex solver and the conditions of optimality."""

import numpy as np
import pytest
from conic_projection import check_projection, drawn_values, project
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import PLAIN, compiled_only

from spacy_ssvm.lab.projections.cut_points import project_cut

pytestmark = pytest.mark.uncompiled

checked = settings(deadline=None, max_examples=20 if PLAIN else 150)


def draw(random, kind, n, size):
    """Nodes, edges (some of them more than once) and disagreements."""
    first = random.integers(0, n, size)
    edges = np.stack([first, (first + random.integers(1, max(n, 2), size)) % n], axis=1)
    shift = random.choice([0.0, 0.5])
    u = drawn_values(random, kind, size)
    return drawn_values(random, kind, n) + shift, edges, u - shift * np.abs(u).max(initial=0)


def projected(nodes, edges, disagreements):
    nodes, disagreements = nodes.copy(), disagreements.copy()
    project_cut(nodes, edges, disagreements)
    return nodes, disagreements


def check_feasible(z, edges, t):
    assert (z >= 0).all()
    assert (z <= 1).all()
    assert (t >= np.abs(z[edges[:, 0]] - z[edges[:, 1]])).all()


def closest(v, edges, u):
    """The nodes and disagreements by a general solver."""
    n, size = len(v), len(edges)
    differences = np.eye(n)[edges[:, 0]] - np.eye(n)[edges[:, 1]]
    below = np.block(
        [
            [differences, -np.eye(size)],
            [-differences, -np.eye(size)],
            [np.eye(n), np.zeros((n, size))],
            [-np.eye(n), np.zeros((n, size))],
        ]
    )
    bound = np.concatenate([np.zeros(2 * size), np.ones(n), np.zeros(n)])
    return project(np.concatenate([v, u]), np.zeros((0, n + size)), np.zeros(0), below, bound)


@checked
@given(st.integers(0, 2**32), st.integers(0, 5), st.integers(2, 7), st.integers(0, 12))
def test_a_projection_is_the_closest_point(seed, kind, n, size):
    v, edges, u = draw(np.random.default_rng(seed), kind, n, size)
    z, t = projected(v, edges, u)
    check_feasible(z, edges, t)
    check_projection(np.concatenate([v, u]), np.concatenate([z, t]), closest(v, edges, u))


@checked
@given(st.integers(0, 2**32), st.integers(0, 5))
def test_a_projection_stays_where_it_is_when_projected(seed, kind):
    v, edges, u = draw(np.random.default_rng(seed), kind, 6, 9)
    z, t = projected(v, edges, u)
    for again, found in zip(projected(z, edges, t), (z, t), strict=True):
        np.testing.assert_allclose(again, found, atol=1e-8)


def grid(*shape):
    """The edges of a grid."""
    at = np.arange(np.prod(shape)).reshape(shape)
    pairs = [
        np.stack([np.delete(at, -1, axis).ravel(), np.delete(at, 0, axis).ravel()], axis=1)
        for axis in range(len(shape))
    ]
    return np.concatenate(pairs)


@compiled_only
@pytest.mark.parametrize("strength", [0.0, 0.1, 0.5])
def test_no_cut_lies_in_the_direction_of_what_was_projected(strength):
    """(v - z, u - t).(y - (z, t)) <= 0 for cuts y, drawn or at levels of z."""
    random = np.random.default_rng(0)
    edges = grid(10, 9, 5)
    v, u = random.normal(0.5, 0.4, 450), random.normal(-strength, 0.1, len(edges))
    z, t = projected(v, edges, u)
    check_feasible(z, edges, t)
    own = np.sum((v - z) * z) + np.sum((u - t) * t)
    for level in [*random.random((50, 450)), *np.linspace(0, 1, 50)[:, None]]:
        y = (z >= level).astype(float)
        cut = np.abs(y[edges[:, 0]] - y[edges[:, 1]])
        assert np.sum((v - z) * y) + np.sum((u - t) * cut) <= own + 1e-8


def test_an_edge_draws_its_ends_together():
    edges = np.array([[0, 1]])
    z, t = projected(np.array([0.0, 1.0]), edges, np.array([0.5]))
    np.testing.assert_allclose(z, [1 / 6, 5 / 6])  # a third of the surplus of 0.5 to each
    np.testing.assert_allclose(t, [2 / 3])
    z, t = projected(np.array([0.0, 1.0]), edges, np.array([-1.0]))
    np.testing.assert_allclose(z, [0.5, 0.5])
    np.testing.assert_allclose(t, [0.0], atol=1e-12)


def test_nodes_without_edges_are_clipped():
    z, _ = projected(np.array([-1.0, 0.3, 7.0]), np.zeros((0, 2), dtype=np.int64), np.zeros(0))
    assert z.tolist() == [0, 0.3, 1]
