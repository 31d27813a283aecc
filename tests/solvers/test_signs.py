"""Weights that are kept >= 0: by the conic solver's optimum, and by a look at each epoch."""

import numpy as np
import pytest
from finite import optimum, random_problem
from hypothesis import given
from hypothesis import strategies as st
from referee import all_numbers, converge, start
from small_problems import programmed

from spacy_ssvm.lab.cutting_plane import CuttingPlane
from spacy_ssvm.lab.extragradient import Extragradient
from spacy_ssvm.lab.k_best_mira import KBestMira
from spacy_ssvm.lab.pairwise_frank_wolfe import PairwiseFrankWolfe
from spacy_ssvm.solvers import run as run_module
from spacy_ssvm.solvers.dual_coordinate_ascent import DualCoordinateAscent
from spacy_ssvm.solvers.dual_coordinate_descent import DualCoordinateDescent
from spacy_ssvm.solvers.frank_wolfe import FrankWolfe
from spacy_ssvm.solvers.lbfgs import LBFGS
from spacy_ssvm.solvers.mira import Mira
from spacy_ssvm.solvers.perceptron import Perceptron
from spacy_ssvm.solvers.prox_gradient import ProxGradient
from spacy_ssvm.solvers.stochastic_gradient import StochasticGradient

pytestmark = pytest.mark.uncompiled

seeds = st.integers(0, 10_000)


def prior_of(seed):
    """Weights to go on from, with values that the problem allows."""
    prior = np.random.default_rng(seed).normal(size=6)
    prior[:3] = np.abs(prior[:3])
    return prior


@pytest.mark.parametrize("variant", ["ssvm", "light", "cpd"])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("goes_on", [False, True])
def test_dual_coordinate_descent_ends_at_the_optimum_over_the_allowed_weights(
    seed, variant, goes_on
):
    problem, C = random_problem(seed), 0.2
    prior = prior_of(seed) if goes_on else None
    value, w = optimum(problem, C, prior=prior, squared=True)
    run = converge(start(problem, 0, C=C, variant=variant, prior=prior), gap=1e-6)
    assert run.objective().primal == pytest.approx(value, rel=1e-5)
    assert run.dual == pytest.approx(value, rel=1e-5)
    np.testing.assert_allclose(run.w, w, atol=1e-2)
    assert (run.w[:3] >= 0).all()


def test_the_signs_decide_in_these_problems():
    without = [optimum(random_problem(seed), 0.5, squared=True, signs=False) for seed in range(8)]
    assert sum((w[:3] < -0.01).any() for _, w in without) >= 6


@programmed
@given(seeds, st.sampled_from([0.05, 0.5]), st.booleans())
def test_the_dual_is_that_of_alpha_and_the_multipliers(seed, C, goes_on):
    """It rises, and bounds the optimum from below; so does the tracked regularizer."""
    problem = random_problem(seed)
    prior = prior_of(seed) if goes_on else np.zeros(6)
    value, _ = optimum(problem, C, prior=prior, squared=True)
    run = start(problem, 0, C=C, prior=prior if goes_on else None)
    before = 0.0
    for _ in range(5):
        run.epoch(all_numbers(run))
        assert before - 1e-9 <= run.dual <= value + 1e-7
        change = run.w - prior
        assert run.regularizer == pytest.approx(change @ change / 2, abs=1e-9)
        assert run.objective().gap >= -1e-9
        before = run.dual


@programmed
@given(seeds, st.sampled_from([0.05, 0.5]), st.booleans())
def test_forgotten_examples_take_their_multipliers_along(seed, C, goes_on):
    problem = random_problem(seed)
    prior = prior_of(seed) if goes_on else None
    run = start(problem, 0, C=C, prior=prior)
    for _ in range(3):
        run.epoch(all_numbers(run))
    run.forget(np.arange(2))
    problem.forget(np.arange(2))
    change = run.w - (0.0 if prior is None else prior)
    assert run.regularizer == pytest.approx(change @ change / 2, abs=1e-9)
    rest = random_problem(seed)
    rest.phi, rest.costs = rest.phi[2:], rest.costs[2:]
    value, _ = optimum(rest, C, prior=prior, squared=True)
    assert run.dual <= value + 1e-7
    converge(run, gap=1e-5)
    assert run.objective().primal == pytest.approx(value, rel=1e-4, abs=1e-7)


@programmed
@given(seeds, st.sampled_from([0.05, 0.5]), st.booleans())
def test_absorbed_examples_leave_the_multipliers_of_the_others(seed, C, goes_on):
    problem = random_problem(seed)
    run = start(problem, 0, C=C, prior=prior_of(seed) if goes_on else None)
    for _ in range(3):
        run.epoch(all_numbers(run))
    before = run.w.copy()
    run.absorb(np.arange(2))
    problem.forget(np.arange(2))
    np.testing.assert_allclose(run.w, before, atol=1e-12)
    change = run.w - run._prior
    assert run.regularizer == pytest.approx(change @ change / 2, abs=1e-9)
    rest = random_problem(seed)
    rest.phi, rest.costs = rest.phi[2:], rest.costs[2:]
    value, _ = optimum(rest, C, prior=run._prior, squared=True)
    assert run.dual <= value + 1e-7
    converge(run, gap=1e-5)
    assert run.objective().primal == pytest.approx(value, rel=1e-4, abs=1e-7)


KEEPING = [
    DualCoordinateDescent(),
    DualCoordinateDescent(variant="light"),
    DualCoordinateDescent(variant="cpd"),
    Extragradient(projection="euclidean"),
    Extragradient(projection="euclidean", variant="dual"),
    Extragradient(average=True),
    Mira(),
    KBestMira(k=3),
    Perceptron(),
    StochasticGradient(eta0=0.5),
    StochasticGradient(steps="pegasos"),
]

REFUSING = [
    CuttingPlane(),
    DualCoordinateAscent(),
    DualCoordinateAscent(beta=None),
    FrankWolfe(),
    PairwiseFrankWolfe(),
    LBFGS(),
    ProxGradient(strength=0.1),
]


@pytest.mark.parametrize("solver", KEEPING, ids=str)
@pytest.mark.parametrize("seed", range(2))
def test_weights_are_kept_from_being_negative(solver, seed):
    """Also those of a prior. Without signs, the same solver makes some negative."""
    for nonnegative in (3, 0):
        problem = random_problem(seed, nonnegative=nonnegative)
        run = solver.start(problem, -np.ones(6) / 8)
        run.grow(0)
        met = []
        for _ in range(6):
            met.append(run.w[:3].min())
            run.epoch(all_numbers(run))
        assert (min(met) >= 0) == (nonnegative > 0)
        assert run.w[3:].min() < 0


@pytest.mark.parametrize("solver", [Mira(C=0.5), KBestMira(C=0.5, k=3), Perceptron()], ids=str)
def test_averages_are_those_of_the_allowed_weights(solver):
    run = solver.start(random_problem(1))
    run.grow(0)
    total, clipped = np.zeros(6), 0
    for step in range(1, 31):
        run.epoch(np.array([step % 6]))
        assert (run._averaged.w[:3] >= 0).all()
        clipped += (run._averaged.w[:3] == 0).any()
        total += run._averaged.w
        np.testing.assert_allclose(run.w, total / step, atol=1e-12)
    assert clipped > 0


def test_stochastic_gradient_approaches_the_optimum_over_the_allowed_weights():
    problem = random_problem(1)
    value, _ = optimum(problem, 0.5)
    run = StochasticGradient(C=0.5, steps="pegasos").start(problem)
    run.grow(0)
    for _ in range(500):
        run.epoch(all_numbers(run))
    assert value - 1e-7 <= run.objective().primal <= value * 1.02


@pytest.mark.parametrize("solver", REFUSING, ids=str)
def test_other_solvers_refuse_and_name_those_that_can(solver):
    problem = random_problem(0)
    problem.store = None  # which the proximal solver reads
    with pytest.raises(ValueError, match=r" does not keep weights from being negative") as error:
        solver.start(problem)
    named = str(error.value).partition("choose ")[2].replace(" or ", ", ").split(", ")
    assert named == sorted({type(other).__name__ for other in KEEPING})
    assert tuple(named) == run_module._KEEP_SIGNS
