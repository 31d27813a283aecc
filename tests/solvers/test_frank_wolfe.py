"""Tests of ``spacy_ssvm/solvers/frank_wolfe.py``."""

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from referee import Referee, all_numbers
from small_problems import (
    checked,
    hinge_optimum,
    programmed,
    regularization,
    small,
    started,
    trained,
)

from spacy_ssvm.solvers.frank_wolfe import FrankWolfe

pytestmark = pytest.mark.uncompiled


@programmed
@given(small, regularization)
def test_frank_wolfe_reaches_the_optimum_of_the_quadratic_program(chains, C):
    """Its bounds close in on it, at the rate 1 / epochs: the last digits would take very long."""
    value, _ = hinge_optimum(Referee(chains, C=C))
    objective = trained(FrankWolfe(C=C, tolerance=1e-4), chains, 2000).objective()
    assert objective.dual >= 0.98 * value - 1e-6
    assert objective.primal <= 1.05 * value + 1e-6
    slack = 1e-4 * value + 1e-6
    assert objective.dual - slack <= value <= objective.primal + slack


@checked
@given(st.data(), small, regularization)
def test_frank_wolfe_keeps_its_books_and_never_lowers_the_dual(data, chains, C):
    prior = None
    if data.draw(st.booleans()):
        prior = np.random.default_rng(0).integers(-2, 3, (chains.K + 2) * chains.K) / 2
    run = started(FrankWolfe(C=C, tolerance=0.0), chains, prior)
    dual = run.dual
    for _ in range(10):
        run.epoch(all_numbers(run))
        expansion = np.zeros(len(run.w))
        if prior is not None:
            expansion[: len(prior)] = prior
        blocks = run.blocks
        for i in all_numbers(run):
            entries = slice(blocks.starts[i], blocks.starts[i] + blocks.sizes[i])
            expansion[blocks.indices[entries]] += blocks.values[entries]
        np.testing.assert_allclose(run.w, expansion, atol=1e-9)
        assert run.dual >= dual - 1e-9
        objective = run.objective()
        assert objective.primal >= run.dual - 1e-9
        dual = run.dual


def test_frank_wolfe_packs_its_blocks():
    chains = naive.random_chains(3, K=4, rows=40, examples=100, length=8)
    run = trained(FrankWolfe(C=0.5, tolerance=0.0), chains, 0)
    packed = 0
    for _ in range(8):
        before = run.blocks.indices
        run.epoch(all_numbers(run))
        packed += before is not run.blocks.indices
    assert packed > 1
    assert run.objective().gap == pytest.approx(run.gap, abs=0.2)


def test_frank_wolfe_forgets_examples():
    chains = naive.random_chains(6, K=3, rows=5, examples=8, length=3)
    run = trained(FrankWolfe(C=0.5, tolerance=0.0), chains, 5)
    run.forget(np.arange(4, 8))
    run.problem.forget(range(4, 8))
    run.problem.keep(np.arange(4))
    run.keep(np.arange(4))
    for _ in range(2000):
        run.epoch(np.arange(4))
    alone = trained(FrankWolfe(C=0.5, tolerance=0.0), chains.part(0, 4), 2000)
    assert run.objective().primal == pytest.approx(alone.objective().primal, rel=1e-3)
    run.forget(np.arange(4))
    np.testing.assert_allclose(run.w, 0, atol=1e-9)
