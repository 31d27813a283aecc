"""Tests of ``spacy_ssvm/lab/k_best_mira.py``."""

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from referee import Referee, all_numbers
from small_problems import (
    hinge_optimum,
    naive_loss,
    programmed,
    regularization,
    small,
    started,
    trained,
)

from spacy_ssvm.lab.k_best_mira import KBestMira
from spacy_ssvm.objective import HINGE
from spacy_ssvm.solvers.mira import Mira

pytestmark = pytest.mark.uncompiled


@programmed
@given(small, regularization, st.integers(2, 9))
def test_k_best_mira_minimizes_what_it_should(chains, C, k):
    """No w is better than w_t, on the k structures, by a quadratic program."""
    run = started(KBestMira(C=C, k=k), chains)
    for i in [*all_numbers(run), *all_numbers(run)]:
        w, gold = run._averaged.w.copy(), chains.gold[i]
        run.epoch(np.array([i]))
        if len(gold) == 0 or chains.K ** len(gold) > k:
            continue  # with all structures among the k best, the hinge loss of i is minimized
        part = naive.Chains(chains.K, chains.rows, [chains.features[i]], [gold])
        value, _ = hinge_optimum(
            Referee(part, prior=w[: (chains.K + 2 + chains.rows) * chains.K], C=C)
        )
        change = run._averaged.w - w
        found = change @ change / 2 + C * naive_loss(chains, i, run._averaged.w, HINGE)
        assert found == pytest.approx(value, rel=1e-4, abs=1e-6)


@programmed
@given(
    naive.chains(examples=2, length=2, shortest=2, fewest_labels=3),
    regularization,
    st.sampled_from([1, 3]),
    st.booleans(),
)
def test_mira_compares_the_structures_that_violate_or_score_most(chains, C, k, loss_augmented):
    """Of nine structures those."""
    size = (chains.K + 2 + chains.rows) * chains.K
    prior = np.random.default_rng(0).normal(size=size)  # without it, structures tie
    run = started(KBestMira(C=C, k=k, loss_augmented=loss_augmented), chains, prior)
    for i in all_numbers(run):
        w = run._averaged.w.copy()
        part = naive.Chains(chains.K, chains.rows, [chains.features[i]], [chains.gold[i]])
        referee = Referee(part, prior=w[:size], C=C)
        ((phi, delta),) = referee.structures
        violations = delta - phi @ w[:size]
        worst = np.argsort(-violations if loss_augmented else phi @ w[:size])[:k]
        found = run.epoch(np.array([i]))
        assert found == pytest.approx(max(violations[worst].max(), 0.0), abs=1e-6)
        gold = np.flatnonzero(delta == 0)
        chosen = np.union1d(worst, gold)
        referee.structures = [(phi[chosen], delta[chosen])]
        _, best = hinge_optimum(referee)
        np.testing.assert_allclose(run._averaged.w[:size], best, atol=1e-3)


@pytest.mark.parametrize("loss_augmented", [True, False])
def test_with_k_of_1_it_is_mira(loss_augmented):
    chains = naive.random_chains(4, K=3, rows=6, examples=10, length=4)
    settings = {"seed": 1, "loss_augmented": loss_augmented}
    one = trained(Mira(**settings), chains, 4)
    same, other = (trained(KBestMira(k=k, **settings), chains, 4) for k in (1, 2))
    np.testing.assert_allclose(same.w, one.w)
    assert not np.allclose(one.w, other.w)
