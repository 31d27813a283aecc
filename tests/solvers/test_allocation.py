"""Weights that are allocated on first use are those of rows that have all of them.

See ``spacy_ssvm/weights/rows.py`` and ``PrimalRun._repeat``.
"""

import numpy as np
import planted_chains
import pytest
from allocating_solvers import ALLOCATING, all_weights, chains_of, every_allocating, start
from referee import all_numbers

from spacy_ssvm.chains.problem import ChainProblem
from spacy_ssvm.lab.k_best_mira import KBestMira
from spacy_ssvm.objective import losses
from spacy_ssvm.solvers.dual_coordinate_descent import DualCoordinateDescent
from spacy_ssvm.solvers.dual_run import WorkingSetRun
from spacy_ssvm.solvers.prox_gradient import ProxGradient


@every_allocating
@pytest.mark.parametrize("K", [1, 2, 5, 13])
def test_lazily_allocated_weights_are_the_same_to_the_last_bit(solver, K):
    chains = chains_of(K)
    lazy, full = (start(solver, chains, lazily=lazily) for lazily in (True, False))
    for _ in range(4):
        assert lazy.epoch(all_numbers(lazy)) == full.epoch(all_numbers(full))
        assert all_weights(lazy, chains).tobytes() == all_weights(full, chains).tobytes()
        if full.dual is not None:
            assert lazy.dual == pytest.approx(full.dual, rel=1e-12)
        loss = solver.loss_function
        measured = [losses(run.problem, run.w, all_numbers(run), loss) for run in (lazy, full)]
        np.testing.assert_array_equal(*measured)
    assert all_weights(full, chains).any() or K == 1


@every_allocating
def test_training_goes_on_from_lazily_allocated_weights(solver):
    chains = chains_of(9)
    random = np.random.default_rng(0)
    prior = random.normal(size=(chains.K + 2 + chains.rows) * chains.K)
    prior[random.random(len(prior)) < 0.7] = 0.0
    lazy, full = (start(solver, chains, lazily=lazily, prior=prior) for lazily in (True, False))
    assert all_weights(lazy, chains).tobytes() == prior.tobytes()
    for _ in range(3):
        lazy.epoch(all_numbers(lazy))
        full.epoch(all_numbers(full))
        assert all_weights(lazy, chains).tobytes() == all_weights(full, chains).tobytes()
        assert lazy.regularizer == pytest.approx(full.regularizer, rel=1e-12)


@every_allocating
def test_examples_come_and_go(solver):
    """The weights that removed examples have allocated stay, at 0 or not."""
    chains = chains_of(6)
    lazy, full = (start(solver, chains, lazily=lazily) for lazily in (True, False))
    for run in (lazy, full):
        run.epoch(all_numbers(run))
        gone, kept = np.arange(25), np.arange(25, 40)
        run.forget(gone)
        run.problem.forget(range(25))
        run.problem.keep(kept)
        run.keep(kept)
        run.problem.append(*chains.part(0, 5).arrays())
        run.grow(chains.rows)
        run.epoch(all_numbers(run))
        run.epoch(all_numbers(run))
    assert all_weights(lazy, chains).tobytes() == all_weights(full, chains).tobytes()


def test_copies_allocate_their_own():
    chains = chains_of(12)
    run = start(DualCoordinateDescent(), chains, lazily=True)
    run.epoch(all_numbers(run))
    assert isinstance(run, WorkingSetRun)
    before, size = all_weights(run, chains), run.problem.number_of_weights(0)
    rest = run.without(np.arange(10))
    for _ in range(4):
        rest.epoch(np.arange(10, 40))
    assert run.problem.number_of_weights(0) == size
    assert all_weights(run, chains).tobytes() == before.tobytes()
    full = start(DualCoordinateDescent(), chains, lazily=False)
    full.epoch(all_numbers(full))
    expected = full.without(np.arange(10))
    for _ in range(4):
        expected.epoch(np.arange(10, 40))
    assert all_weights(rest, chains).tobytes() == all_weights(expected, chains).tobytes()


def test_what_is_allocated_is_what_was_touched():
    """Of rows that meet few labels, few weights exist; measuring allocates none."""
    chains = chains_of(40, rows=2000)
    run = start(DualCoordinateDescent(), chains, lazily=True)
    for _ in range(5):
        run.epoch(all_numbers(run))
    counts = run.problem.table.counts.copy()
    run.objective()
    assert (run.problem.table.counts == counts).all()
    w = all_weights(run, chains)[(chains.K + 2) * chains.K :]
    assert np.count_nonzero(w) <= counts[1] < len(w) / 4


@pytest.mark.parametrize(
    "solver",
    [s() for s in ALLOCATING if s is not KBestMira],
    ids=lambda solver: type(solver).__name__,
)
def test_hashed_features_are_allocated_too(solver):
    """Features that have keys in place of rows lead to the same objective."""
    corpus = planted_chains.Corpus(60, reals=1)
    lazy = corpus.lazy()
    eager, index = corpus.eager()
    runs = solver.start(lazy), solver.start(eager)
    for run in runs:
        run.grow(index.number_of_rows)
    for _ in range(3):
        first, second = (run.epoch(all_numbers(run)) for run in runs)
        assert first == pytest.approx(second, rel=1e-9)
        first, second = (
            losses(run.problem, run.w, all_numbers(run), solver.loss_function).sum() for run in runs
        )
        assert first == pytest.approx(second, rel=1e-9)


def test_groups_need_all_weights():
    problem = ChainProblem(5)
    problem.allocate(lazily=True)
    with pytest.raises(ValueError, match="have no groups"):
        ProxGradient(budget=1).start(problem)
