"""Tests of ``spacy_ssvm/solvers/frank_wolfe.py``."""

import brute
import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from referee import Referee, all_numbers, phi_of
from scipy.optimize import minimize, nnls
from scipy.special import entr, softmax
from small_problems import (
    SMOOTH,
    averaged_frank_wolfe,
    checked,
    hinge_optimum,
    naive_loss,
    programmed,
    regularization,
    small,
    started,
    trained,
    tree_problem,
)

from spacy_ssvm.lab.pairwise_frank_wolfe import PairwiseFrankWolfe
from spacy_ssvm.objective import HINGE, LOG_LOSS
from spacy_ssvm.solvers.frank_wolfe import Draws, FrankWolfe
from spacy_ssvm.solvers.lbfgs import LBFGS

pytestmark = pytest.mark.uncompiled

LOSSES = [HINGE, *SMOOTH]


def drawn_prior(chains):
    return np.random.default_rng(0).integers(-2, 3, (chains.K + 2) * chains.K) / 2


def block_of(run, i):
    """v_i, dense."""
    blocks, block = run.blocks, np.zeros(len(run.w))
    entries = slice(blocks.starts[i], blocks.starts[i] + blocks.sizes[i])
    block[blocks.indices[entries]] = blocks.values[entries]
    return block


def differences(chains, i, gold, size):
    """All label sequences of example i, and Phi_i of each with this gold."""
    sequences = [list(y) for y in brute.label_sequences(len(gold), chains.K)]
    phi = np.zeros((len(sequences), size))
    for row, y in zip(phi, sequences, strict=True):
        for index, value in naive.difference(chains.K, chains.features[i], gold, y).items():
            row[index] = value
    return sequences, phi


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


@programmed
@given(small, regularization, st.sampled_from(SMOOTH), st.booleans())
def test_a_smooth_loss_reaches_the_optimum_of_its_enumeration(chains, C, loss, with_prior):
    """In 200 epochs, to the last digits: its rate is linear."""
    prior = drawn_prior(chains) if with_prior else None
    solver = FrankWolfe(C=C, beta=loss.beta, gamma=loss.gamma, tolerance=0.0)
    run = trained(solver, chains, 200, prior)
    start = np.zeros(len(run.w))
    if with_prior:
        start[: len(prior)] = prior

    def primal(w):
        gold = [i for i in range(len(chains.gold)) if chains.gold[i]]
        found = sum(naive_loss(chains, i, w, loss) for i in gold)
        return (w - start) @ (w - start) / 2 + C * found

    theirs = minimize(primal, start, method="BFGS", options={"gtol": 1e-6})
    objective = run.objective()
    assert objective.primal == pytest.approx(primal(run.w), rel=1e-9, abs=1e-9)
    assert objective.primal == pytest.approx(theirs.fun, rel=1e-6, abs=1e-6)
    assert objective.primal - objective.dual <= 1e-6 * (1 + objective.primal)


@pytest.mark.parametrize("gamma", [0.0, 1.0])
@pytest.mark.parametrize("projective", [True, False])
def test_a_smooth_loss_of_trees_reaches_the_optimum_of_another_solver(projective, gamma):
    primals = []
    for solver in (
        FrankWolfe(C=0.5, beta=1.0, gamma=gamma, sampling="gap", tolerance=1e-9),
        LBFGS(C=0.5, beta=1.0, gamma=gamma),
    ):
        problem = tree_problem(projective=projective)
        run = solver.start(problem)
        run.grow(2**10 + 1)
        for _ in range(100):
            run.epoch(np.arange(problem.number_of_examples))
        primals.append(run.objective().primal)
        if run.dual is not None:
            assert run.objective().gap <= 1e-9
    assert primals[0] == pytest.approx(primals[1], rel=1e-6)


@checked
@given(small, regularization, st.sampled_from(SMOOTH))
def test_blocks_are_those_of_distributions_and_their_entropy_at_most(chains, C, loss):
    """Each step mixes a distribution with that of the model, found by enumeration."""
    solver = FrankWolfe(C=C, beta=loss.beta, gamma=loss.gamma, tolerance=0.0)
    run = started(solver, chains)
    annotated = [i for i in all_numbers(run) if chains.gold[i]]
    structures, p = {}, {}
    for i in annotated:
        gold = chains.gold[i]
        sequences, phi = differences(chains, i, gold, len(run.w))
        costs = [naive.cost(1 - np.eye(chains.K), gold, y) for y in sequences]
        structures[i] = phi, loss.gamma * np.array(costs)
        p[i] = np.array([float(y == list(gold)) for y in sequences])
    for _ in range(4):
        for i in annotated:
            phi, costs = structures[i]
            q = softmax(loss.beta * (costs - phi @ run.w))
            before = run.blocks.costs[i]
            run.epoch(np.array([i]))
            f = q @ costs + entr(q).sum() / loss.beta
            rate = (run.blocks.costs[i] - before) / (C * f - before) if f else 0.0
            p[i] = (1 - rate) * p[i] + rate * q
            np.testing.assert_allclose(block_of(run, i), C * p[i] @ phi, atol=1e-7)
            value = C * (p[i] @ costs + entr(p[i]).sum() / loss.beta)
            assert run.blocks.costs[i] <= value + 1e-7


@pytest.mark.parametrize("loss", [HINGE, LOG_LOSS], ids=str)
def test_a_block_starts_again_where_its_completion_changes(loss):
    """Where it did not, it would mix differences from two completions."""
    random = np.random.default_rng(1)
    K, changes = 2, 0
    features = [[[int(row)] for row in random.integers(0, 3, 3)] for _ in range(12)]
    gold = [[int(label) for label in random.integers(0, K + 1, 3)] for _ in features]
    chains = naive.Chains(K, 3, features, gold)
    run = started(FrankWolfe(C=2.0, beta=loss.beta, gamma=loss.gamma, tolerance=0.0), chains)
    examples = run.problem.examples()
    for _ in range(8):
        for i in all_numbers(run):
            tokens = slice(examples.token_starts[i], examples.token_starts[i + 1])
            before = examples.completions[tokens].tolist()
            run.epoch(np.array([i]))
            completion = examples.completions[tokens].tolist()
            changes += min(before) >= 0 and completion != before
            if min(completion) < 0:
                continue  # no label is known
            _, phi = differences(chains, i, completion, len(run.w))
            equations = np.vstack([phi.T, np.ones(len(phi))])
            sums = np.append(block_of(run, i), run.settings.C)
            _, distance = nnls(equations, sums)
            assert distance == pytest.approx(0.0, abs=1e-6)
    assert changes > 0


@pytest.mark.parametrize("gamma", [0.5, 3.0])
def test_the_scale_of_the_cost_of_the_hinge_scales_weights(gamma):
    """max gamma Delta - w . Phi with C is gamma times the hinge with C / gamma at w / gamma."""
    chains = naive.random_chains(6, K=3, rows=5, examples=8, length=3)
    run = trained(FrankWolfe(C=1.0, gamma=gamma, tolerance=0.0), chains, 50)
    plain = trained(FrankWolfe(C=1.0 / gamma, tolerance=0.0), chains, 50)
    np.testing.assert_allclose(run.w, gamma * plain.w, rtol=1e-6, atol=1e-9)
    assert run.objective().dual == pytest.approx(gamma**2 * plain.objective().dual)


@checked
@given(st.data(), small, regularization, st.sampled_from(LOSSES))
def test_frank_wolfe_keeps_its_books_and_never_lowers_the_dual(data, chains, C, loss):
    prior = drawn_prior(chains) if data.draw(st.booleans()) else None
    solver = FrankWolfe(C=C, beta=loss.beta, gamma=loss.gamma, tolerance=0.0)
    run = started(solver, chains, prior)
    dual = run.dual
    for _ in range(10):
        run.epoch(all_numbers(run))
        expansion = np.zeros(len(run.w))
        if prior is not None:
            expansion[: len(prior)] = prior
        for i in all_numbers(run):
            expansion += block_of(run, i)
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


def test_blocks_without_further_entries_stay_where_they_are():
    """As do those of expectations, which have all entries from the first step on."""
    chains = naive.random_chains(3, K=4, rows=40, examples=20, length=8)
    run = trained(FrankWolfe(C=0.5, beta=1.0, gamma=0.0, tolerance=0.0), chains, 1)
    used, starts, w = int(run.blocks.used[0]), run.blocks.starts.copy(), run.w.copy()
    run.epoch(all_numbers(run))
    assert run.blocks.used[0] == used
    np.testing.assert_array_equal(run.blocks.starts, starts)
    assert not np.allclose(run.w, w)


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


@checked
@given(small, regularization, st.booleans())
def test_the_average_counts_later_dual_points_more(chains, C, with_prior):
    prior = None
    if with_prior:
        prior = np.random.default_rng(0).normal(size=(chains.K + 2) * chains.K)
    run, plain = (
        started(FrankWolfe(C=C, variant=variant, tolerance=0.0), chains, prior)
        for variant in ("averaged", "plain")
    )
    np.testing.assert_array_equal(run.w, plain.w)
    weights, costs = [], []
    for _ in range(3):
        for i in all_numbers(run):
            run.epoch(np.array([i]))
            plain.epoch(np.array([i]))
            if chains.gold[i]:
                weights.append(plain.w.copy())
                costs.append(plain.blocks.costs.sum())
    if weights:
        counts = np.arange(1, len(weights) + 1)
        average = np.average(weights, axis=0, weights=counts)
        np.testing.assert_allclose(run.w, average, atol=1e-9)
        change = average.copy()
        start = np.zeros(len(average))
        if with_prior:
            start[: len(prior)] = prior
        change -= start
        expected = np.average(costs, weights=counts) - start @ change - change @ change / 2
        assert run.dual == pytest.approx(expected, abs=1e-9)
    assert run.objective().gap >= -1e-9


def test_the_weights_of_the_average_are_nearer_to_the_optimum():
    """But not its dual point, to which the first steps belong."""
    chains = naive.random_chains(3, K=3, rows=8, examples=20, length=4)
    averaged, plain = (
        trained(FrankWolfe(C=1.0, variant=variant, tolerance=0.0), chains, 20).objective()
        for variant in ("averaged", "plain")
    )
    assert averaged.primal < plain.primal
    assert averaged.dual < plain.dual


def test_the_average_starts_again_where_an_example_is_forgotten():
    chains = naive.random_chains(6, K=3, rows=5, examples=8, length=3)
    run = trained(averaged_frank_wolfe(C=0.5, tolerance=0.0), chains, 5)
    run.forget(np.arange(4, 8))
    np.testing.assert_array_equal(run.w, run._w)
    run.problem.forget(range(4, 8))
    weights = []
    for i in range(4):
        run.epoch(np.array([i]))
        weights.append(run._w.copy())
    expected = np.average(weights, axis=0, weights=[1, 2, 3, 4])
    np.testing.assert_allclose(run.w, expected, atol=1e-9)
    assert not np.allclose(run.w, run._w)
    assert run.objective().gap >= -1e-9


@checked
@given(small, regularization, st.sampled_from(LOSSES))
def test_gaps_are_those_of_blocks(chains, C, loss):
    """Of one example alone, it is the distance between primal and dual."""
    run = started(FrankWolfe(C=C, beta=loss.beta, gamma=loss.gamma, tolerance=0.0), chains)
    for _ in range(3):
        for i in all_numbers(run):
            along, cost = run.w @ block_of(run, i), run.blocks.costs[i]
            run.epoch(np.array([i]))
            expected = C * run.violations[i] - cost + along if chains.gold[i] else 0.0
            assert run.blocks.gaps[i] == pytest.approx(expected, abs=1e-9)


def test_examples_are_drawn_by_their_gaps():
    draws, everything, gaps = Draws("gap"), np.arange(8), np.zeros(8)
    random = np.random.default_rng(0)
    gaps[[2, 5]] = 1.0, 3.0
    assert sorted(draws.order(everything, gaps, random)) == everything.tolist(), "at first, all"
    drawn = np.concatenate([draws.order(everything, gaps, random) for _ in range(8)])
    assert len(drawn) == 64
    assert set(drawn) == {2, 5}
    assert 38 <= (drawn == 5).sum() <= 58
    assert draws.order(np.array([5, 7]), gaps, random).tolist() == [5, 5]
    assert sorted(draws.order(everything, gaps, random)) == everything.tolist(), "now and then, all"
    assert sorted(draws.order(everything, np.zeros(8), random)) == everything.tolist()
    uniform = Draws("uniform")
    for _ in range(3):
        assert sorted(uniform.order(everything, gaps, random)) == everything.tolist()


@pytest.mark.parametrize("solver", [FrankWolfe, PairwiseFrankWolfe])
def test_gap_sampling_visits_examples_by_their_gaps(solver):
    chains = naive.random_chains(6, K=3, rows=5, examples=8, length=3)
    run = started(solver(C=0.5, sampling="gap", tolerance=0.0), chains)
    run.epoch(all_numbers(run))
    state = run._state if solver is PairwiseFrankWolfe else run.blocks
    state.gaps[:] = 0.0
    state.gaps[3] = 1.0
    before = state.visits.copy()
    run.epoch(all_numbers(run))
    assert (state.visits - before)[:8].tolist() == [0, 0, 0, 8, 0, 0, 0, 0]


@checked
@given(small, regularization)
def test_gaps_of_stored_structures_are_those_of_blocks(chains, C):
    run = started(PairwiseFrankWolfe(C=C, inner_passes=0, tolerance=0.0), chains)
    for _ in range(3):
        for i in all_numbers(run):
            sets, w = run.sets, run.w.copy()
            expected, constraint = 0.0, sets.newest[i]
            while constraint >= 0:
                indices, values = phi_of(sets, constraint)
                along = w[indices] @ values
                expected -= sets.alphas[constraint] * (sets.costs[constraint] - along)
                constraint = sets.older[constraint]
            if run.objective().gap <= 0:  # an epoch does nothing at the optimum
                return
            run.epoch(np.array([i]))
            expected += C * run.violations[i]
            assert run._state.gaps[i] == pytest.approx(max(expected, 0.0), abs=1e-6)


@pytest.mark.parametrize("solver", [FrankWolfe, PairwiseFrankWolfe])
def test_gaps_are_kept_and_forgotten_with_their_examples(solver):
    chains = naive.random_chains(6, K=3, rows=5, examples=8, length=3)
    run = started(solver(C=0.5, tolerance=0.0), chains)
    run.epoch(all_numbers(run))

    def gaps() -> np.ndarray:
        return run._state.gaps if solver is PairwiseFrankWolfe else run.blocks.gaps

    before = gaps().copy()
    run._remove(np.array([2]))
    assert gaps()[2] == 0.0
    kept = np.array([7, 0, 2])
    run.keep(kept)
    assert gaps().tolist() == [before[7], before[0], 0.0]


def test_gap_sampling_reaches_the_optimum_with_pairwise_steps():
    chains = naive.random_chains(6, K=3, rows=5, examples=8, length=3)
    solver = PairwiseFrankWolfe(C=0.5, sampling="gap", tolerance=1e-6)
    assert trained(solver, chains, 200).objective().gap < 1e-5
