"""Tests of ``spacy_ssvm/lab/pairwise_frank_wolfe.py``."""

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from marks import compiled_only
from referee import Referee, all_numbers, phi_of
from small_problems import (
    checked,
    hinge_optimum,
    programmed,
    regularization,
    small,
    started,
    trained,
)

from spacy_ssvm.lab.cutting_plane import CuttingPlane
from spacy_ssvm.lab.pairwise_frank_wolfe import PairwiseFrankWolfe

pytestmark = pytest.mark.uncompiled


@programmed
@given(small, regularization, st.booleans())
def test_pairwise_steps_reach_the_optimum_of_the_quadratic_program(chains, C, has_prior):
    """To the last digits, which the plain steps do not."""
    size = (chains.K + 2 + chains.rows) * chains.K
    prior = np.random.default_rng(0).integers(-2, 3, size) / 2 if has_prior else None
    value, _ = hinge_optimum(Referee(chains, prior=prior, C=C))
    run = trained(PairwiseFrankWolfe(C=C, tolerance=1e-6), chains, 300, prior)
    objective = run.objective()
    assert objective.gap <= 1e-5 or objective.primal <= 1e-6
    assert objective.primal == pytest.approx(value, rel=1e-4, abs=1e-6)


@checked
@given(small, regularization, st.booleans())
def test_pairwise_steps_keep_their_books_and_never_lower_the_dual(chains, C, has_prior):
    size = (chains.K + 2) * chains.K
    prior = np.random.default_rng(0).integers(-2, 3, size) / 2 if has_prior else None
    run = started(PairwiseFrankWolfe(C=C, tolerance=0.0), chains, prior)
    dual = run.dual
    for _ in range(10):
        run.epoch(all_numbers(run))
        expansion = np.zeros(len(run.w))
        if prior is not None:
            expansion[: len(prior)] = prior
        sets = run.sets
        for i in all_numbers(run):
            weight, constraint = 0.0, sets.newest[i]
            while constraint >= 0:
                alpha = sets.alphas[constraint]
                assert alpha > 0
                weight += alpha
                indices, values = phi_of(sets, constraint)
                np.add.at(expansion, indices, alpha * values)
                constraint = sets.older[constraint]
            assert weight <= C + 1e-9
            assert sets.alpha_sums[i] == pytest.approx(weight, abs=1e-9)
        np.testing.assert_allclose(run.w, expansion, atol=1e-9)
        assert not run._state.scratch.any()
        assert run.dual >= dual - 1e-9
        assert run.objective().primal >= run.dual - 1e-9
        dual = run.dual


def test_pairwise_steps_forget_examples():
    chains = naive.random_chains(6, K=3, rows=5, examples=8, length=3)
    solver = PairwiseFrankWolfe(C=0.5, tolerance=1e-6)
    run = trained(solver, chains, 5)
    run.forget(np.arange(4, 8))
    run.problem.forget(range(4, 8))
    run.problem.keep(np.arange(4))
    run.keep(np.arange(4))
    for _ in range(100):
        run.epoch(np.arange(4))
    alone = trained(solver, chains.part(0, 4), 100)
    assert run.objective().primal == pytest.approx(alone.objective().primal, rel=1e-5)
    assert run.number_of_constraints > 0
    run.forget(np.arange(4))
    np.testing.assert_allclose(run.w, 0, atol=1e-9)
    assert run.number_of_constraints == 0


@compiled_only
def test_working_sets_of_pairwise_steps_grow():
    chains = naive.random_chains(3, K=4, rows=40, examples=100, length=8)
    run = trained(PairwiseFrankWolfe(C=0.5, tolerance=1e-5), chains, 60)
    assert run.objective().gap <= 1e-4
    plane = trained(CuttingPlane(C=0.5, tolerance=1e-5), chains, 300)
    assert run.objective().primal == pytest.approx(plane.objective().primal, rel=1e-4)
