"""Tests of ``spacy_ssvm/solvers/dual_coordinate_ascent.py``."""

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_problems import SMOOTH, checked, regularization, small, trained

from spacy_ssvm.solvers.dual_coordinate_ascent import DualCoordinateAscent
from spacy_ssvm.solvers.mira import Mira

pytestmark = pytest.mark.uncompiled


@checked
@given(small, regularization, st.sampled_from(SMOOTH), st.sampled_from([0.5, 4.0]))
def test_beta_gamma_and_C_are_two_degrees_of_freedom(chains, C, loss, a):
    """(C a, beta / a, a gamma) has the solution a w [MGS10, note 18], step by step."""
    run = trained(DualCoordinateAscent(C=C, beta=loss.beta, gamma=loss.gamma), chains, 3)
    scaled = DualCoordinateAscent(C=C * a, beta=loss.beta / a, gamma=loss.gamma * a)
    np.testing.assert_allclose(trained(scaled, chains, 3).w, a * run.w, atol=1e-9)


def test_ascent_with_infinite_beta_is_mira():
    chains = naive.random_chains(2, K=3, rows=8, examples=8, length=3)
    ascent = trained(DualCoordinateAscent(C=0.3, beta=None, gamma=1.0, seed=2), chains, 3)
    assert ascent.w.tobytes() == trained(Mira(C=0.3, seed=2), chains, 3).w.tobytes()
    prior = np.random.default_rng(0).normal(size=(5 + 8) * 3)  # without it, structures tie
    almost = DualCoordinateAscent(C=0.3, beta=1e6, gamma=1.0, seed=2)
    exact = trained(Mira(C=0.3, seed=2), chains, 3, prior)
    np.testing.assert_allclose(trained(almost, chains, 3, prior).w, exact.w, atol=1e-3)
