"""Tests of ``spacy_ssvm/lab/cutting_plane.py``."""

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from marks import compiled_only
from referee import Referee, all_numbers
from small_problems import hinge_optimum, programmed, regularization, small, started, trained

from spacy_ssvm.lab.cutting_plane import CuttingPlane

pytestmark = pytest.mark.uncompiled


@programmed
@given(small, regularization, st.booleans())
def test_cutting_planes_reach_the_optimum_of_the_quadratic_program(chains, C, has_prior):
    size = (chains.K + 2 + chains.rows) * chains.K
    prior = np.random.default_rng(0).integers(-2, 3, size) / 2 if has_prior else None
    value, _ = hinge_optimum(Referee(chains, prior=prior, C=C))
    run = trained(CuttingPlane(C=C, tolerance=2e-5), chains, 200, prior)
    objective = run.objective()
    assert objective.primal == pytest.approx(value, rel=1e-4, abs=1e-6)
    assert objective.dual == pytest.approx(value, rel=1e-4, abs=1e-6)


@compiled_only
def test_planes_of_mini_batches_are_planes_of_all():
    chains = naive.random_chains(2, K=3, rows=8, examples=8, length=3)
    best = trained(CuttingPlane(C=0.1, tolerance=1e-5), chains, 200).objective()
    run = started(CuttingPlane(C=0.1, tolerance=1e-5), chains)
    for _ in range(100):
        for half in (np.arange(4), np.arange(4, 8)):
            run.epoch(half)
            assert run.dual <= best.primal + 1e-6
    for _ in range(50):
        run.epoch(all_numbers(run))
    assert run.objective().primal == pytest.approx(best.primal, rel=1e-4)
