"""Tests of ``spacy_ssvm/solvers/stochastic_gradient.py``."""

import naive
import numpy as np
import pytest
from marks import compiled_only
from oracles import gradient_of, violator
from referee import all_numbers
from small_problems import started, trained

from spacy_ssvm.chains.problem import ChainProblem
from spacy_ssvm.objective import HINGE, LOG_LOSS, Loss
from spacy_ssvm.solvers import stochastic_gradient
from spacy_ssvm.solvers.frank_wolfe import FrankWolfe
from spacy_ssvm.solvers.lbfgs import LBFGS
from spacy_ssvm.solvers.stochastic_gradient import StochasticGradient

pytestmark = pytest.mark.uncompiled

LENGTHS = {
    "decay": lambda step, C, examples: 0.5 / (1 + 0.5 * step / (C * examples)) ** 0.75,
    "printed": lambda step, C, examples: 0.5 / (1 + 0.5 * step / C) ** 0.75,
    "inverse": lambda step, C, examples: 0.5 / (1 + step / examples),
    "pegasos": lambda step, C, examples: C * examples / (step + 1),
}


def naive_epochs(run, epochs, prior):
    """The steps of the module's docstring, one by one, with w itself."""
    problem, settings = run.problem, run.settings
    loss, C, examples = settings.loss_function, settings.C, problem.number_of_examples
    w, step = prior.copy(), 0
    for _ in range(epochs):
        for i in run._shuffled(all_numbers(run)):
            eta = LENGTHS[settings.steps](step, C, examples)
            step += 1
            gradient = (w - prior) / (C * examples)
            if loss.beta is None:
                indices, values, cost, _ = violator(problem, i, w, loss.gamma, complete=True)
                values = -values
                met = loss.gamma * cost + w[indices] @ values
            else:
                z, met, _, _ = problem.structure.expect(
                    problem.examples(), i, w, loss.beta, loss.gamma, True
                )
                indices, values = gradient_of(problem, i, z)
            if met > 0:
                gradient[indices] += values
            w -= eta * gradient
    return w


@pytest.mark.parametrize("steps", LENGTHS)
@pytest.mark.parametrize("loss", [HINGE, LOG_LOSS, Loss(2.0, 1.5), Loss(None, 0.0)], ids=str)
@pytest.mark.parametrize("with_prior", [False, True])
def test_steps_are_those_of_the_papers(steps, loss, with_prior):
    chains = naive.random_chains(4, K=3, rows=8, examples=8, length=3)
    size = (5 + 8) * 3
    prior = np.random.default_rng(0).normal(size=size) * with_prior
    settings = StochasticGradient(C=0.7, beta=loss.beta, gamma=loss.gamma, steps=steps, eta0=0.5)
    run = trained(settings, chains, 3, prior if with_prior else None)
    expected = naive_epochs(started(settings, chains), 3, prior)
    np.testing.assert_allclose(run.w, expected, atol=1e-9)


@compiled_only
@pytest.mark.parametrize("steps", ["decay", "inverse", "pegasos"])
def test_the_log_loss_comes_close_to_its_optimum(steps):
    chains = naive.random_chains(2, K=3, rows=8, examples=8, length=3)
    best = trained(LBFGS(C=0.5), chains, 30).objective().primal
    settings = StochasticGradient(C=0.5, beta=1.0, gamma=0.0, steps=steps)
    found = trained(settings, chains, 3000).objective().primal
    assert best - 1e-6 <= found <= 1.02 * best


@compiled_only
@pytest.mark.parametrize("options", [{}, {"eta0": 0.1}, {"steps": "pegasos"}])
def test_stochastic_gradient_comes_close_to_the_optimum(options):
    chains = naive.random_chains(2, K=3, rows=8, examples=8, length=3)
    best = trained(FrankWolfe(C=0.5, tolerance=1e-4), chains, 5000).objective()
    run = trained(StochasticGradient(C=0.5, **options), chains, 3000)
    assert best.dual - 1e-9 <= run.objective().primal <= 1.03 * best.primal


@compiled_only
@pytest.mark.parametrize("steps", ["decay", "pegasos"])
def test_stochastic_gradient_goes_on_from_a_prior(steps):
    chains = naive.random_chains(2, K=3, rows=8, examples=8, length=3)
    prior = np.random.default_rng(0).normal(size=(5 + 8) * 3)
    best = trained(FrankWolfe(C=0.1, tolerance=1e-4), chains, 5000, prior).objective()
    run = trained(StochasticGradient(C=0.1, steps=steps), chains, 5000, prior)
    assert best.dual - 1e-9 <= run.objective().primal <= 1.03 * best.primal


@compiled_only
def test_stochastic_gradient_stays_near_a_prior_that_is_the_optimum():
    """Each example has its gold by a margin of 1.2 at the prior, and the cost is 1."""
    problem = ChainProblem(2)
    tokens = np.arange(51)
    problem.append(tokens, np.zeros(50, dtype=np.int32), tokens, np.zeros(50, dtype=np.int64))
    prior = np.zeros(problem.number_of_weights(1))
    prior[-2] = 1.2
    run = StochasticGradient(C=0.1, eta0=0.5).start(problem, prior)
    run.grow(1)
    for _ in range(5):
        assert run.epoch(np.arange(50)) == 0.0
    np.testing.assert_allclose(run.w, prior, atol=1e-12)


@pytest.mark.parametrize(("C", "chosen"), [(0.02, 0.03125), (0.1, 0.125), (2.0, 0.25)])
def test_the_first_step_is_the_one_that_makes_the_lowest_primal(monkeypatch, C, chosen):
    """Of 2^-1 .. 2^-5, after a pass over a sample, as if the sample were all examples."""
    monkeypatch.setattr(stochastic_gradient, "_SAMPLE", 8)
    chains = naive.random_chains(5, K=3, rows=8, examples=40, length=3)
    primals = {}
    run = started(StochasticGradient(C=C, seed=2), chains)
    sample = np.random.default_rng(2).permutation(40)[:8]
    run.epoch(all_numbers(run))
    part = naive.Chains(
        3, 8, [chains.features[i] for i in sample], [chains.gold[i] for i in sample]
    )
    for eta0 in (0.5, 0.25, 0.125, 0.0625, 0.03125):
        alone = started(StochasticGradient(C=C, eta0=eta0), part)
        alone._shuffled = lambda numbers: numbers  # the sample is in order
        alone.epoch(np.arange(8))
        primals[eta0] = alone.objective().primal
    assert len(set(primals.values())) == 5
    assert run._eta0 == min(primals, key=primals.get) == chosen
