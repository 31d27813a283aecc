"""Examples that become part of the prior: see ``Run.absorb``."""

from copy import deepcopy
from dataclasses import replace

import brute
import naive
import numpy as np
import pytest
from allocating_solvers import all_weights, chains_of, every_allocating, start
from marks import compiled_only
from referee import all_numbers
from small_problems import averaged_frank_wolfe, every_solver, started

from spacy_ssvm.lab.pairwise_frank_wolfe import PairwiseFrankWolfe
from spacy_ssvm.solvers.dual_coordinate_descent import DualCoordinateDescent
from spacy_ssvm.solvers.frank_wolfe import FrankWolfe
from spacy_ssvm.solvers.lbfgs import LBFGS
from spacy_ssvm.solvers.working_sets import add_constraint

pytestmark = pytest.mark.uncompiled

DUAL = [
    DualCoordinateDescent(tolerance=0, delta=1e-7),
    DualCoordinateDescent(tolerance=0, delta=1e-7, variant="cpd"),
    FrankWolfe(tolerance=0),
    FrankWolfe(tolerance=0, beta=1.0, gamma=0.0),
    PairwiseFrankWolfe(tolerance=0),
]
PRECISION = 2e-4
GONE, KEPT = np.arange(20), np.arange(20, 40)


def absorb(run, gone=GONE, kept=KEPT):
    """Let examples become part of the prior, and remove them."""
    run.absorb(gone)
    run.problem.keep(kept)
    run.keep(kept)


@every_solver
def test_the_weights_stay(solver):
    run = started(solver(), chains_of(4))
    for _ in range(3):
        run.epoch(all_numbers(run))
    starts_again = solver is averaged_frank_wolfe  # its averages are those of the steps to come
    before = run._w.copy() if starts_again else run.w.copy()
    absorb(run)
    np.testing.assert_allclose(run.w, before, rtol=1e-12, atol=1e-15)
    assert before.any()
    assert run.epoch(all_numbers(run)) >= 0


@compiled_only
@pytest.mark.parametrize("has_prior", [False, True])
@pytest.mark.parametrize("solver", DUAL, ids=str)
def test_the_rest_is_learned_as_from_another_prior(solver, has_prior):
    chains = naive.random_chains(1, K=4, rows=30, examples=40, length=7)
    size = (chains.K + 2 + chains.rows) * chains.K
    prior = 0.3 * np.random.default_rng(0).normal(size=size) if has_prior else np.zeros(size)
    run = started(solver, chains, prior if has_prior else None)
    for _ in range(3):
        run.epoch(all_numbers(run))
    without = deepcopy(run)
    without.forget(GONE)
    share = run.w - without.w
    assert share.any()
    absorb(run)
    change = run.w - (prior + share)
    assert run.regularizer == pytest.approx(change @ change / 2, rel=1e-9)
    fresh = started(solver, chains.part(20, 40), prior + share)
    measured = []
    for other in (run, fresh):
        for epoch in range(2000):
            other.epoch(all_numbers(other))
            if epoch % 10 == 9 and other.objective().gap <= PRECISION:
                break
        measured.append(other.objective())
        assert measured[-1].gap <= PRECISION
    ours, theirs = measured
    assert ours.dual <= theirs.primal
    assert theirs.dual <= ours.primal


def test_the_dual_is_that_of_the_constraints_that_are_left():
    """D(alpha) by definition."""
    chains = naive.random_chains(3, K=3, rows=12, examples=6, length=4)
    solver = DualCoordinateDescent(C=0.5)
    run = started(solver, chains)
    for _ in range(3):
        run.epoch(all_numbers(run))
    gone, kept = np.arange(3), np.arange(3, 6)
    without = deepcopy(run)
    without.forget(gone)
    prior = run.w - without.w
    absorb(run, gone, kept)
    sets, expected, v = run.sets, 0.0, np.zeros(len(run.w))
    for i, (features, gold) in enumerate(zip(chains.features[3:], chains.gold[3:], strict=True)):
        phis = [
            naive.dense(naive.difference(3, features, gold, y), len(v)).tolist()
            for y in brute.label_sequences(len(gold), 3)
        ]
        constraint, total = sets.newest[i], 0.0
        while constraint >= 0:
            phi, alpha = np.zeros(len(v)), sets.alphas[constraint]
            add_constraint(sets, constraint, 1.0, phi)
            assert phi.tolist() in phis
            expected += alpha * (sets.costs[constraint] - prior @ phi)
            v += alpha * phi
            total += alpha
            constraint = sets.older[constraint]
        expected -= total**2 / (4 * solver.C)
    assert v.any()
    assert run.dual == pytest.approx(expected - v @ v / 2, rel=1e-9)
    np.testing.assert_allclose(run.w, prior + v, atol=1e-12)


@every_allocating
@pytest.mark.parametrize("lazily", [True, False])
@pytest.mark.parametrize("K", [2, 9])
def test_features_that_no_example_has_can_be_forgotten(solver, lazily, K):
    """What is learned afterwards is the same, to the last bit."""
    chains = chains_of(K)
    for features in chains.features[:20]:
        for token in features:
            token[:] = [row if row % 3 else (row + 1) % 30 for row in token]
    for features in chains.features[20:]:
        for token in features:
            token[:] = [row if row % 3 != 1 else (row + 1) % 30 for row in token]
    runs = [start(solver, chains, lazily=lazily) for _ in range(2)]
    for run in runs:
        run.epoch(all_numbers(run))
        run.epoch(all_numbers(run))
        absorb(run)
    whole, smaller = runs
    used = smaller.problem.count_rows(chains.rows) > 0
    assert (
        used == [any(row in t for f in chains.features[20:] for t in f) for row in range(30)]
    ).all()
    largest, sizes = smaller.problem.measure_rows(smaller.w, chains.rows)
    dense = np.abs(all_weights(whole, chains)[(K + 2) * K :]).reshape(-1, K)
    assert (largest == dense.max(axis=1)).all()
    assert (sizes >= (dense > 0).sum(axis=1)).all()
    assert lazily or (sizes == K).all()
    kept = used | (np.arange(chains.rows) % 5 == 0)
    assert not kept.all()
    smaller.renumber(smaller.problem.keep_rows(kept))
    smaller.grow(int(kept.sum()))
    fewer = replace(chains, rows=int(kept.sum()))
    for _ in range(3):
        expected = all_weights(whole, chains)
        emissions = expected[(K + 2) * K :].reshape(-1, K)[kept]
        found = all_weights(smaller, fewer)
        assert found[(K + 2) * K :].tobytes() == emissions.tobytes()
        assert found[: (K + 2) * K].tobytes() == expected[: (K + 2) * K].tobytes()
        assert whole.epoch(all_numbers(whole)) == smaller.epoch(all_numbers(smaller))


def test_a_solver_without_duals_forgets_its_curvature():
    run = started(LBFGS(), chains_of(3))
    run.epoch(all_numbers(run))
    assert run._pairs
    absorb(run)
    assert not run._pairs


@pytest.mark.parametrize(
    "solver", [DualCoordinateDescent(), FrankWolfe(), PairwiseFrankWolfe()], ids=str
)
def test_the_memory_of_absorbed_constraints_is_freed(solver):
    run = started(solver, naive.random_chains(1, K=4, rows=3000, examples=400, length=7))
    run.epoch(all_numbers(run))
    before = run.memory()["constraints"]
    absorb(run, np.arange(399), np.arange(399, 400))
    assert run.memory()["constraints"] < before / 4
