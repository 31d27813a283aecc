"""Tests of ``spacy_ssvm/solvers/averaging.py``."""

import naive
import numpy as np
import pytest
from small_problems import started

from spacy_ssvm.lab.k_best_mira import KBestMira
from spacy_ssvm.solvers.averaging import Averaged, add_to_average
from spacy_ssvm.solvers.dual_coordinate_ascent import DualCoordinateAscent
from spacy_ssvm.solvers.mira import Mira
from spacy_ssvm.solvers.perceptron import Perceptron

pytestmark = pytest.mark.uncompiled

ONLINE = [
    DualCoordinateAscent(C=0.3, seed=3),
    Perceptron(seed=3),
    Mira(C=0.3, seed=3),
    KBestMira(C=0.3, k=3, seed=3),
]


@pytest.mark.parametrize("solver", ONLINE, ids=str)
def test_averaged_weights_equal_the_naive_average(solver):
    """Examples are visited one by one, and the weights that learn are added up after each."""
    chains = naive.random_chains(4, K=3, rows=6, examples=10, length=4)
    prior = np.random.default_rng(0).normal(size=(5 + 6) * 3)
    run = started(solver, chains, prior)
    total = np.zeros(len(run.w))
    np.testing.assert_array_equal(run.w, prior)
    for step in range(1, 31):
        run.epoch(np.array([step % 10]))
        total += run._averaged.w
        np.testing.assert_allclose(run.w, total / step, atol=1e-12)


@pytest.mark.parametrize("value", [1.0, 3.0, 1 / 3])
def test_steps_are_taken_in_float64(value):
    """Also where the rate is a Python float, without compilation."""
    averaged = Averaged(np.zeros(2), np.zeros(2), np.array([3]), 0)
    add_to_average(averaged, np.array([1], np.int32), np.array([value], np.float32), 1, 0.1)
    expected = 0.1 * float(np.float32(value))
    assert averaged.w.tolist() == [0.0, expected]
    assert averaged.sums.tolist() == [0.0, 3 * expected]
