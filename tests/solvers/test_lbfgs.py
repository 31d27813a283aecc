"""Tests of ``spacy_ssvm/solvers/lbfgs.py``."""

import tempfile

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from marks import compiled_only
from referee import all_numbers
from small_problems import SMOOTH, checked, regularization, small, started, trained

from spacy_ssvm.solvers.dual_coordinate_ascent import DualCoordinateAscent
from spacy_ssvm.solvers.lbfgs import LBFGS

pytestmark = pytest.mark.uncompiled


@checked
@given(small, regularization, st.integers(0, 99))
def test_the_gradient_of_lbfgs_is_that_of_finite_differences(chains, C, seed):
    random = np.random.default_rng(seed)
    size = (chains.K + 2 + chains.rows) * chains.K
    run = started(LBFGS(C=C), chains, random.normal(size=size))
    w, towards = random.normal(size=(2, len(run.w)))
    _, gradient = run.value_and_gradient(w)
    ends = [run.value_and_gradient(w + sign * 1e-5 * towards)[0] for sign in (1, -1)]
    assert gradient @ towards == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-5, abs=1e-6)


@compiled_only
@pytest.mark.parametrize("loss", SMOOTH, ids=str)
def test_lbfgs_ends_where_the_gradient_is_0_and_ascent_comes_close(loss):
    chains = naive.random_chains(2, K=3, rows=8, examples=20, length=3)
    settings = {"C": 0.1, "beta": loss.beta, "gamma": loss.gamma}
    run = trained(LBFGS(**settings), chains, 10)
    value, gradient = run.value_and_gradient(run.w)
    assert np.abs(gradient).max() <= 1e-4
    assert run.objective().primal == pytest.approx(value)
    at_zero = started(LBFGS(**settings), chains).objective().primal
    online = trained(DualCoordinateAscent(**settings), chains, 3).objective().primal
    assert value <= online <= value + 0.5 * (at_zero - value)


@compiled_only
def test_lbfgs_remembers_the_curvature_between_epochs():
    chains = naive.random_chains(2, K=3, rows=100, examples=100, length=5)
    short, long = LBFGS(C=0.5, iterations=5), LBFGS(C=0.5, iterations=40)
    assert trained(short, chains, 8).w.tobytes() == trained(long, chains, 1).w.tobytes()


@compiled_only
def test_lbfgs_follows_a_problem_that_changes():
    """What it knows of the curvature is that of the examples that it was made from."""
    chains = naive.random_chains(2, K=3, rows=8, examples=20, length=3)
    run = trained(LBFGS(C=0.5), chains.part(0, 10), 2)
    run.problem.append(*chains.part(10, 20).arrays())
    run.grow(chains.rows)
    for _ in range(10):
        run.epoch(all_numbers(run))
    whole = trained(LBFGS(C=0.5), chains, 10)
    assert run.objective().primal == pytest.approx(whole.objective().primal, rel=1e-9)


def test_lbfgs_minimizes_what_crfsuite_minimizes():
    """c2 |w|^2 + losses, with c2 = 1 / 2C; without ends, and with what gold has alone."""
    crfsuite = pytest.importorskip("pycrfsuite")
    random = np.random.default_rng(0)
    features = [[[int(random.integers(4))] for _ in range(4)] for _ in range(6)]
    gold = [[(row[0] + (row[0] == 3)) % 2 for row in tokens] for tokens in features]
    chains = naive.Chains(2, 4, features, gold)
    trainer = crfsuite.Trainer(verbose=False)
    for tokens, labels in zip(features, gold, strict=True):
        trainer.append([[f"f{row[0]}"] for row in tokens], [str(k) for k in labels])
    trainer.set_params(
        {"c1": 0, "c2": 1.0, "feature.possible_states": 1, "feature.possible_transitions": 1}
    )
    with tempfile.TemporaryDirectory() as folder:
        trainer.train(f"{folder}/model")
        tagger = crfsuite.Tagger()
        tagger.open(f"{folder}/model")
        info = tagger.info()
        tagger.close()
    run = trained(LBFGS(C=0.5, tolerance=1e-9), chains, 20)
    w = np.zeros(len(run.w))
    for (previous, label), weight in info.transitions.items():
        w[int(previous) * 2 + int(label)] = weight
    for (name, label), weight in info.state_features.items():
        w[(2 + 2 + int(name[1:])) * 2 + int(label)] = weight
    theirs, gradient = run.value_and_gradient(w)
    inner = np.r_[0:4, 8 : 8 + 8]  # crfsuite has no weights for starts and ends
    assert np.abs(gradient[inner]).max() < 1e-2
    assert run.objective().primal <= theirs
