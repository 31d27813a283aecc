"""Projections onto matchings, against a general convex solver and the conditions of optimality."""

import numpy as np
import pytest
from conic_projection import check_projection, drawn_values, project
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import PLAIN
from scipy.optimize import linear_sum_assignment

from spacy_ssvm.lab.projections.matching_points import project_matching

pytestmark = pytest.mark.uncompiled

checked = settings(deadline=None, max_examples=20 if PLAIN else 150)


def draw(random, kind, m, n, f, g):
    """Links, some of them forbidden, and extras."""
    links = drawn_values(random, kind, (m, n))
    links[random.random((m, n)) < random.choice([0.0, 0.3])] = -np.inf
    return links, drawn_values(random, kind, (m, f)), drawn_values(random, kind, (n, g))


def projected(tables):
    found = [table.copy() for table in tables]
    project_matching(*found)
    return found


def excess(links, source_extras, target_extras):
    """By how much constraints are violated at the most."""
    rows = links.sum(axis=1) - source_extras.sum(axis=1) - 1
    columns = links.sum(axis=0) - target_extras.sum(axis=1) - 1
    entries = np.concatenate([links.ravel(), source_extras.ravel(), target_extras.ravel()])
    return max([0, *rows, *columns, *-entries, *(entries - 1)])


def closest(links, source_extras, target_extras):
    """The projection by a general solver."""
    (m, n), f, g = links.shape, source_extras.shape[1], target_extras.shape[1]
    rows = np.hstack([np.kron(np.eye(m), np.ones(n)), np.kron(-np.eye(m), np.ones(f))])
    columns = np.tile(np.eye(n), m)
    below = np.block(
        [
            [rows, np.zeros((m, n * g))],
            [columns, np.zeros((n, m * f)), np.kron(-np.eye(n), np.ones(g))],
        ]
    )
    v = np.concatenate([links.ravel(), source_extras.ravel(), target_extras.ravel()])
    allowed = np.isfinite(v)
    x = np.zeros(len(v))
    size = allowed.sum()
    x[allowed] = project(
        v[allowed],
        np.zeros((0, size)),
        np.zeros(0),
        np.vstack([below[:, allowed], -np.eye(size), np.eye(size)]),
        np.concatenate([np.ones(m + n), np.zeros(size), np.ones(size)]),
    )
    return v, x, allowed


@checked
@given(st.integers(0, 2**32), st.integers(0, 5), *[st.integers(1, 5)] * 2, *[st.integers(0, 2)] * 2)
def test_a_projection_is_the_closest_point(seed, kind, m, n, f, g):
    tables = draw(np.random.default_rng(seed), kind, m, n, f, g)
    found = projected(tables)
    assert excess(*found) <= 1e-9
    v, expected, allowed = closest(*tables)
    x = np.concatenate([table.ravel() for table in found])
    assert (x[~allowed] == 0).all()
    check_projection(v[allowed], x[allowed], expected[allowed])


@pytest.mark.parametrize("kind", range(6))
@pytest.mark.parametrize(
    "shape", [(7, 7), (8, 5), (6, 9)] if PLAIN else [(20, 20), (40, 25), (30, 45)]
)
def test_no_matching_lies_in_the_direction_of_what_was_projected(kind, shape):
    """(v - z).(y - z) <= 0 for all y of the polytope, the best of which is a matching."""
    links = drawn_values(np.random.default_rng(kind), kind, shape)
    z, *extras = projected([links, np.zeros((shape[0], 0)), np.zeros((shape[1], 0))])
    assert excess(z, *extras) <= 1e-9
    ahead = np.maximum(links - z, 0)  # a link can be left out
    best = ahead[linear_sum_assignment(ahead, maximize=True)].sum()
    assert best - np.sum((links - z) * z) <= 1e-11 * max(1, np.abs(links).max())


@checked
@given(st.integers(0, 2**32), st.integers(0, 5), st.integers(0, 2), st.integers(0, 2))
def test_a_projection_stays_where_it_is_when_projected(seed, kind, f, g):
    found = projected(draw(np.random.default_rng(seed), kind, 4, 5, f, g))
    for again, table in zip(projected(found), found, strict=True):
        np.testing.assert_allclose(again, table, atol=1e-9)


def test_words_take_more_links_with_extras():
    """A word of two links pays for the second with its extra."""
    links, none = np.array([[1.0, 1.0]]), np.zeros((2, 0))
    found, extras, _ = projected([links, np.array([[1.0]]), none])
    np.testing.assert_allclose(found, [[1.0, 1.0]])
    np.testing.assert_allclose(extras, [[1.0]])
    found, extras, _ = projected([links, np.array([[0.0]]), none])
    np.testing.assert_allclose(found, [[2 / 3, 2 / 3]])  # a third of the surplus to each of three
    np.testing.assert_allclose(extras, [[1 / 3]])


def test_equal_links_share_a_word():
    found, *_ = projected([np.ones((1, 4)), np.zeros((1, 0)), np.zeros((4, 0))])
    np.testing.assert_allclose(found, np.full((1, 4), 0.25))


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
def test_there_may_be_no_words(shape):
    extras = [np.full((size, 2), 0.5) for size in shape]
    found, *left = projected([np.zeros(shape), *extras])
    assert found.shape == shape
    np.testing.assert_array_equal(np.concatenate(left), np.concatenate(extras))
