"""Projections onto paths, against a general convex solver and the conditions of optimality."""

import numpy as np
import pytest
from conic_projection import check_projection, drawn_values, project
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import PLAIN

from spacy_ssvm.lab.projections.chain_points import project_chain

pytestmark = pytest.mark.uncompiled

checked = settings(deadline=None, max_examples=20 if PLAIN else 150)


def draw(random, kind, n, K):
    """Values of edges, some of them forbidden, but not those of one path."""
    tables = [drawn_values(random, kind, shape) for shape in (K, (n - 1, K, K), K)]
    y, share = random.integers(0, K, n), random.choice([0.0, 0.4])
    first, pairs, last = (random.random(table.shape) < share for table in tables)
    first[y[0]] = pairs[np.arange(n - 1), y[:-1], y[1:]] = last[y[-1]] = False
    for table, forbidden in zip(tables, (first, pairs, last), strict=True):
        table[forbidden] = -np.inf
    return tables


def projected(tables):
    found = [table.copy() for table in tables]
    project_chain(*found)
    return found


def violation(first, pairs, last):
    """By how much a flow violates a constraint at the most."""
    into = np.vstack([first, pairs.sum(axis=1)])
    out = np.vstack([pairs.sum(axis=2), last])
    least = min(first.min(), pairs.min(initial=0), last.min())
    return max(-least, abs(first.sum() - 1), abs(last.sum() - 1), np.abs(into - out).max())


def flat(tables):
    return np.concatenate([table.ravel() for table in tables])


def closest(tables):
    """The values, their projection by a general solver, and which of them are allowed."""
    first, pairs, _ = tables
    K, n = len(first), len(pairs) + 1
    v = flat(tables)
    balance = np.zeros((n * K + 1, len(v)))
    balance[0, :K] = 1
    label = np.eye(K)
    for t in range(n):
        rows = slice(1 + t * K, 1 + (t + 1) * K)
        if t == 0:
            balance[rows, :K] = label
        else:
            start = K + (t - 1) * K * K
            balance[rows, start : start + K * K] = np.tile(label, K)
        start = K + t * K * K
        width = K * K if t < n - 1 else K
        balance[rows, start : start + width] -= np.kron(label, np.ones(width // K))
    allowed = np.isfinite(v)
    balance = balance[:, allowed]
    used = np.abs(balance).sum(axis=1) > 0
    x = np.zeros(len(v))
    size = allowed.sum()
    x[allowed] = project(
        v[allowed], balance[used], np.eye(n * K + 1)[0, used], -np.eye(size), np.zeros(size)
    )
    return v, x, allowed


@checked
@given(st.integers(0, 2**32), st.integers(0, 5), st.integers(1, 4), st.integers(1, 4))
def test_a_projection_is_the_closest_point(seed, kind, n, K):
    tables = draw(np.random.default_rng(seed), kind, n, K)
    found = projected(tables)
    assert violation(*found) <= 1e-12
    v, expected, allowed = closest(tables)
    x = flat(found)
    assert (x[~allowed] == 0).all()
    check_projection(v[allowed], x[allowed], expected[allowed])


@pytest.mark.parametrize("kind", range(6))
@pytest.mark.parametrize(("n", "K"), [(4, 3)] if PLAIN else [(1, 30), (20, 10), (10, 20)])
def test_no_path_lies_in_the_direction_of_what_was_projected(kind, n, K):
    """(v - x).(y - x) <= 0 for all y of the polytope, the best of which is a path."""
    tables = draw(np.random.default_rng(kind), kind, n, K)
    found = projected(tables)
    assert violation(*found) <= 1e-12
    first, pairs, last = (v - x for v, x in zip(tables, found, strict=True))
    best = first
    for table in pairs:
        best = (best[:, None] + table).max(axis=0)
    size = np.abs(best).max(where=np.isfinite(best), initial=1)
    x = flat(found)
    own = np.sum((flat(tables) - x)[x > 0] * x[x > 0])
    assert (best + last).max() - own <= 1e-11 * size


@checked
@given(st.integers(0, 2**32), st.integers(0, 5))
def test_a_projection_stays_where_it_is_when_projected(seed, kind):
    found = projected(draw(np.random.default_rng(seed), kind, 4, 3))
    for again, table in zip(projected(found), found, strict=True):
        np.testing.assert_allclose(again, table, atol=1e-8)


def test_equal_labels_share_the_flow():
    first, pairs, last = projected([np.zeros(2), np.zeros((1, 2, 2)), np.zeros(2)])
    np.testing.assert_allclose(first, [0.5, 0.5])
    np.testing.assert_allclose(pairs, np.full((1, 2, 2), 0.25))
    np.testing.assert_allclose(last, [0.5, 0.5])


def test_labels_without_an_allowed_path_get_no_flow():
    """Label 1 can be reached, but not left; label 2 can be left, but not reached."""
    first = np.array([0.0, 5.0, -np.inf])
    pairs = np.full((1, 3, 3), 1.0)
    pairs[0, 1] = -np.inf
    last = np.array([0.0, 5.0, -np.inf])
    first, pairs, last = projected([first, pairs, last])
    assert first.tolist() == [1, 0, 0]
    np.testing.assert_allclose(last, pairs[0, 0], atol=1e-12)
    assert pairs[0, 1:].tolist() == [[0, 0, 0], [0, 0, 0]]
    assert pairs[0, 0, 2] == 0
