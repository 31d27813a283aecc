"""Tests of ``spacy_ssvm/lab/simplex_smo.py``."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_problems import checked, regularization

from spacy_ssvm.lab.simplex_smo import solve_on_simplex

pytestmark = pytest.mark.uncompiled


def test_vectors_that_do_not_differ():
    """Without curvature, the dual rises as far as the simplex allows, or not at all."""
    assert solve_on_simplex(np.array([[0.0]]), np.array([2.0]), 0.1) == pytest.approx([0.1])
    assert solve_on_simplex(np.array([[0.0]]), np.array([-2.0]), 0.1) == pytest.approx([0.0])
    same = np.array([[4.0, 4.0], [4.0, 4.0]])
    assert solve_on_simplex(same, np.array([1.0, 2.0]), 1.0) == pytest.approx([0.0, 0.5])
    assert solve_on_simplex(same, np.array([2.0, 1.0]), 0.1) == pytest.approx([0.1, 0.0])
    assert solve_on_simplex(np.zeros((2, 2)), np.array([1.0, 2.0]), 0.3) == pytest.approx(
        [0.0, 0.3]
    )


@checked
@given(st.integers(0, 999), st.integers(1, 4), st.integers(1, 3), regularization)
def test_a_solution_is_as_good_as_a_quadratic_program(seed, count, size, C):
    """Of whole vectors, of which some are 0 or equal."""
    random = np.random.default_rng(seed)
    vectors = random.integers(-1, 2, (count, size)).astype(float)
    bounds = random.integers(-2, 3, count).astype(float)
    products = vectors @ vectors.T
    alphas = solve_on_simplex(products, bounds, C)
    assert (alphas >= 0).all()
    assert alphas.sum() <= C * (1 + 1e-9)
    slopes = bounds - products @ alphas  # at the optimum, no weight can go where the dual rises
    best = max(slopes.max(), 0.0)
    gain = C * best - alphas @ slopes  # bounds how far the dual is from its optimum
    assert gain <= 1e-6


def test_the_solution_of_one_vector_is_in_closed_form():
    assert solve_on_simplex(np.array([[4.0]]), np.array([2.0]), 1.0) == pytest.approx([0.5])
    assert solve_on_simplex(np.array([[4.0]]), np.array([2.0]), 0.1) == pytest.approx([0.1])
    assert solve_on_simplex(np.array([[0.0]]), np.array([0.0]), 0.1) == pytest.approx([0.0])
