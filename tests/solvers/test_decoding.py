"""Tests of ``spacy_ssvm/solvers/decoding.py``, and of solvers whose examples threads share."""

import random
import time
from collections.abc import Iterator
from typing import Any

import naive
import numpy as np
import planted_trees
import pytest
from hypothesis import given
from hypothesis import strategies as st
from marks import compiled_only
from referee import (
    Referee,
    all_numbers,
    check_expansion,
    checked,
    constraints,
    converge,
    partial_problem,
    regularization,
    start,
)
from small_matchings import SURE, WRONG, made
from small_problems import SMOOTH, hinge_optimum, tree_problem

from spacy_ssvm import set_threads
from spacy_ssvm.chains.oracle import CHAINS
from spacy_ssvm.chains.problem import ChainProblem
from spacy_ssvm.objective import HINGE, SQUARED_HINGE, losses
from spacy_ssvm.solvers import decoding, lbfgs
from spacy_ssvm.solvers.decoding import block_size, decode_block
from spacy_ssvm.solvers.dual_coordinate_descent import (
    DualCoordinateDescent,
    DualCoordinateDescentRun,
)
from spacy_ssvm.solvers.frank_wolfe import FrankWolfe
from spacy_ssvm.solvers.mira import Mira
from spacy_ssvm.solvers.perceptron import Perceptron
from spacy_ssvm.trees.oracle import TREES

pytestmark = pytest.mark.uncompiled

WITH_BLOCKS = [DualCoordinateDescent, FrankWolfe, Mira, Perceptron]
BLOCKS = [
    DualCoordinateDescent(block=8),
    DualCoordinateDescent(block=5, variant="light"),
    DualCoordinateDescent(block=5, variant="cpd"),
    FrankWolfe(block=8),
    FrankWolfe(block=8, variant="averaged", sampling="gap"),
    Mira(block=8),
    Perceptron(block=8),
]


@pytest.fixture(autouse=True)
def one_thread_afterwards() -> Iterator[None]:
    yield
    set_threads(1)


def partial_chains(K: int = 6, length: int = 7) -> Any:
    """Sequences of which some labels are not known."""
    chains = naive.random_chains(K, K=K, rows=30, examples=40, length=length)
    numbers = np.random.default_rng(0)
    for gold in chains.gold:
        for t in range(len(gold)):
            gold[t] = K if numbers.random() < 0.1 else gold[t]
    return chains


def problem_with(chains: Any, *, lazily: bool = False) -> ChainProblem:
    problem = ChainProblem(chains.K)
    problem.append(*chains.arrays())
    problem.allocate(lazily=lazily)
    return problem


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("length", [3, 80])
def test_a_block_holds_what_each_example_decodes_to(threads: int, length: int) -> None:
    set_threads(threads)
    chains = partial_chains(length=length)
    problem, alone = problem_with(chains), problem_with(chains)
    w = np.random.default_rng(1).normal(size=problem.number_of_weights(chains.rows))
    numbers = np.random.default_rng(2).permutation(40)[:25]
    due = np.arange(25) % 3 == 0
    found = decode_block(problem, numbers, w, 1.0, due)
    assert len(found.starts) == 26
    for position, i in enumerate(numbers.tolist()):
        y, cost, changed = problem.structure.decode(alone.examples(), i, w, 1.0, due[position])
        start, end = found.starts[position : position + 2]
        np.testing.assert_array_equal(found.ys[start:end], y)
        assert (found.costs[position], found.recompleted[position]) == (cost, changed)
    assert found.recompleted.any()


@compiled_only
@pytest.mark.parametrize("threads", [2, 3, 8])
@pytest.mark.parametrize("lazily", [True, False])
@pytest.mark.parametrize("solver", BLOCKS, ids=str)
def test_any_number_of_threads_learns_the_same_bytes(
    solver: Any, lazily: bool, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where threads take their time."""
    decode = decoding._decode

    def late(*arguments: Any) -> Any:
        time.sleep(random.random() * 0.002)
        return decode(*arguments)

    chains, learned = partial_chains(), []
    for number in (1, threads):
        set_threads(number)
        run = solver.start(problem_with(chains, lazily=lazily))
        run.grow(chains.rows)
        for epoch in range(5):
            monkeypatch.setattr(decoding, "_decode", late if number > 1 else decode)
            loss = run.epoch(all_numbers(run))
            measured = losses(run.problem, run.w, all_numbers(run), solver.loss_function)
            learned.append((number, epoch, run.w.tobytes(), run.dual, loss, measured.tobytes()))
    assert [part[1:] for part in learned[:5]] == [part[1:] for part in learned[5:]]


@compiled_only
def test_expectations_are_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """L-BFGS: four parts of the examples, whatever the number of threads."""
    evaluate, learned = lbfgs.add_gradients, []

    def late(*arguments: Any) -> Any:
        time.sleep(random.random() * 0.002)
        return evaluate(*arguments)

    monkeypatch.setattr(lbfgs, "add_gradients", late)
    for threads in (1, 2, 3, 8):
        set_threads(threads)
        chains = partial_chains()
        run = lbfgs.LBFGS(iterations=5).start(problem_with(chains))
        run.grow(chains.rows)
        losses_of = [run.epoch(all_numbers(run)) for _ in range(3)]
        learned.append((run.w.tobytes(), *losses_of))
    assert len(set(learned)) == 1


@compiled_only
@pytest.mark.parametrize("solver", BLOCKS[:1] + BLOCKS[3:4] + BLOCKS[5:], ids=str)
def test_trees_and_matchings_too(solver: Any) -> None:
    numbers = np.random.default_rng(0)
    bitexts = [np.where(numbers.permutation(np.eye(n)) > 0, SURE, WRONG) for n in (2, 3) * 12]
    for make in (
        lambda: (tree_problem(projective=True), 2**10),
        lambda: (planted_trees.Corpus(30).lazy(), 0),
        lambda: (made(*bitexts, rows=6).problem(), 6),
    ):
        learned = []
        for threads in (1, 2):
            set_threads(threads)
            problem, rows = make()
            if problem.nonnegative and not solver.keeps_signs:
                break
            run = solver.start(problem)
            run.grow(rows)
            for _ in range(4):
                run.epoch(all_numbers(run))
            learned.append(run.w.tobytes())
        else:
            assert len(learned) == 2
            assert len(set(learned)) == 1


@pytest.mark.parametrize("solver", [Perceptron(block=4, seed=1), Mira(C=0.3, block=4)], ids=str)
def test_steps_correct_what_is_still_a_mistake(solver: Any) -> None:
    """What a block decodes to depends on the weights before it, steps on those that there are."""
    chains = partial_chains()
    run, twin = solver.start(problem_with(chains)), problem_with(chains)
    run.grow(chains.rows)
    random = np.random.default_rng(solver.seed)
    w, after, made = np.zeros(len(run.w)), [], []
    indices, values = np.empty(twin.max_entries, np.int32), np.empty(twin.max_entries, np.float32)
    decode, difference = CHAINS.decode, CHAINS.difference
    gamma = solver.loss_function.gamma
    for epoch in range(4):
        run.epoch(all_numbers(run))
        order, size = random.permutation(40), 4 if epoch else 1
        for part in np.split(order, range(size, 40, size)):
            before = w.copy()
            found = [decode(twin.examples(), i, before, gamma, True)[:2] for i in part]
            for i, (y, cost) in zip(part, found, strict=True):
                if len(y) == 0:  # nothing is known
                    continue
                n, phi = difference(twin.examples(), i, y, indices, values), np.zeros(len(w))
                phi[indices[:n]] = values[:n]
                violation, step = gamma * cost - w @ phi, 1.0
                if gamma > 0:
                    step = min(solver.C, violation / (phi @ phi)) if n else 0.0
                w = w + (max(step, 0.0) if violation >= 0 or size == 1 else 0.0) * phi
                after.append(w)
                made.append(violation >= 0)
        np.testing.assert_allclose(run.w, np.mean(after, axis=0), atol=1e-12)
    assert 0 < made[40:].count(False) < 60  # some mistakes were corrected by others of their block


@checked
@given(naive.chains(examples=5), regularization, st.integers(2, 6))
def test_blocks_lead_to_the_optimum_of_the_quadratic_program(
    chains: Any, C: float, block: int
) -> None:
    referee = Referee(chains, C=C)
    run = start(referee.problem(), chains.rows, C=C, block=block)
    for _ in range(5):
        run.epoch(all_numbers(run))
        check_expansion(run)
    assert converge(run).objective().primal == pytest.approx(referee.solve()[0], rel=1e-6, abs=1e-9)


@checked
@given(naive.chains(examples=5), regularization, st.sampled_from(["uniform", "gap"]))
def test_blocks_of_frank_wolfe_lead_to_the_optimum(chains: Any, C: float, sampling: str) -> None:
    referee = Referee(chains, C=C)
    run = FrankWolfe(C=C, block=3, sampling=sampling, tolerance=0.0).start(referee.problem())
    run.grow(chains.rows)
    before = 0.0
    for _ in range(60):
        run.epoch(all_numbers(run))
        assert run.dual >= before - 1e-9 * (1 + before)
        before = run.dual
    value = hinge_optimum(referee)[0]
    assert before <= value * (1 + 1e-6) + 1e-6
    assert run.objective().primal >= value * (1 - 1e-6) - 1e-6


@compiled_only
def test_divided_passes_account_for_all_dual_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    divided, pass_of = [], DualCoordinateDescentRun._divided_pass

    def counted(run: Any, order: Any) -> bool:
        worth_it = pass_of(run, order)
        check_expansion(run)
        stored = [constraints(run, i) for i in all_numbers(run)]
        assert run.number_of_constraints == sum(map(len, stored))
        divided.append(worth_it)
        return worth_it

    monkeypatch.setattr(DualCoordinateDescentRun, "_divided_pass", counted)
    chains = naive.random_chains(3, K=4, rows=20, examples=60, length=6)
    run = start(problem_with(chains), chains.rows, C=0.5, block=6)
    converge(run, gap=1e-2)
    assert divided.count(True) > 200


@compiled_only
def test_halves_that_undo_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both copies of each example do what one of them should: passes are left out, and end."""
    passes, pass_of = [], DualCoordinateDescentRun._divided_pass

    def counted(run: Any, order: Any) -> bool:
        passes.append(pass_of(run, order))
        return passes[-1]

    monkeypatch.setattr(DualCoordinateDescentRun, "_divided_pass", counted)
    one = naive.random_chains(5, K=4, rows=6, examples=3, length=5)
    problem = problem_with(one)
    for _ in range(9):
        problem.append(*one.arrays())
    run = start(problem, one.rows, C=2.0, block=4)
    converge(run, gap=1e-6)
    check_expansion(run)
    assert False in passes


@compiled_only
def test_partial_gold_is_completed_in_blocks() -> None:
    chains = naive.random_chains(4, K=3, rows=12, examples=30, length=5)
    numbers = np.random.default_rng(0)
    for gold in chains.gold:
        gold[:] = np.where(numbers.random(len(gold)) < 0.3, numbers.integers(3, 6), gold)
    run = start(partial_problem(chains), chains.rows, C=0.5, block=6)
    for _ in range(10):
        run.epoch(all_numbers(run))
        check_expansion(run)
    converge(run, gap=1e-4)


def test_first_visits_are_decoded_ahead_for_trees_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    chains, sizes = partial_chains(), []
    decode = decoding.decode_block

    def counted(problem: Any, numbers: Any, *others: Any) -> Any:
        sizes.append(len(numbers))
        return decode(problem, numbers, *others)

    monkeypatch.setattr(decoding, "decode_block", counted)
    for solver in (kind(block=15) for kind in WITH_BLOCKS):
        runs = [s.start(problem_with(chains)) for s in (solver, type(solver)(block=1))]
        for run in runs:
            run.grow(chains.rows)
            run.epoch(all_numbers(run))
        assert not sizes
        assert runs[0].w.tobytes() == runs[1].w.tobytes()
        for run in runs:
            run.epoch(all_numbers(run))
        assert sizes == [15, 15, 10]
        sizes.clear()
        for problem, rows in (
            (tree_problem(projective=True), 2**10),
            (planted_trees.Corpus(30).lazy(), 0),
        ):
            trees = solver.start(problem)
            trees.grow(rows)
            trees.epoch(all_numbers(trees))
            assert sum(sizes) == problem.number_of_examples
            sizes.clear()


def test_no_example_is_twice_in_a_block() -> None:
    chains = partial_chains()
    run = FrankWolfe(block=8, sampling="gap").start(problem_with(chains))
    run.grow(chains.rows)
    order = np.random.default_rng(0).integers(10, size=50)
    parts = list(run._distinct_parts(order, 8))
    assert all(len(set(part.tolist())) == len(part) <= 8 for part in parts)
    np.testing.assert_array_equal(np.concatenate(parts), order)


def test_blocks_are_for_passes_that_know_most_examples() -> None:
    remote = CHAINS._replace(is_remote=True)
    assert block_size(7, np.array([1, 0, 2, 0]), CHAINS) == 7
    assert block_size(7, np.array([1, 0, 0]), CHAINS) == 1
    assert block_size(7, np.array([1, 0, 0]), TREES) == 7
    assert block_size(1, np.array([1, 1]), CHAINS) == 1
    sizes = [block_size(64, np.array([v, v, v, 0]), remote) for v in range(5)]
    assert sizes == [8, 16, 32, 64, 64]
    assert block_size(8, np.zeros(3, dtype=np.int64), remote) == 2
    assert block_size(8, np.zeros(0, dtype=np.int64), remote) == 8
    assert block_size(8, np.zeros(3, dtype=np.int64), TREES._replace(is_remote=True)) == 8


@pytest.mark.parametrize("solver", WITH_BLOCKS)
@pytest.mark.parametrize("block", [0, -1, 2.5, "all"])
def test_the_size_is_a_whole_number_from_1(solver: Any, block: Any) -> None:
    with pytest.raises(ValueError, match=r"(?s)block.*block is"):
        solver(block=block)


@compiled_only
def test_progress_is_reported_after_each_part() -> None:
    chains = partial_chains()
    for solver in BLOCKS:
        run = solver.start(problem_with(chains))
        run.grow(chains.rows)
        for _ in range(2):
            seen: list[int] = []
            run.report = seen.append
            run.epoch(all_numbers(run))
            assert sum(seen) == 40
        assert len(seen) > 1 or getattr(solver, "variant", "") == "cpd"


@pytest.mark.parametrize("loss", [HINGE, SQUARED_HINGE, *SMOOTH], ids=str)
def test_losses_are_measured_by_all_threads(loss: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spacy_ssvm.objective._PART", 7)
    chains = naive.random_chains(1, K=4, rows=20, examples=30, length=5)
    problem = problem_with(chains)
    w = np.random.default_rng(1).normal(size=problem.number_of_weights(chains.rows))
    numbers = np.random.default_rng(2).permutation(30)
    found = []
    for threads in (1, 3):
        set_threads(threads)
        found.append(losses(problem, w, numbers, loss))
    np.testing.assert_array_equal(*found)
    assert len(found[0]) == 30
    alone = [losses(problem, w, numbers[i : i + 1], loss)[0] for i in range(30)]
    np.testing.assert_array_equal(found[0], alone)
