"""The oracles of lattices against enumeration, and what solvers learn from them."""

from dataclasses import replace
from itertools import pairwise

import clarabel
import naive
import numpy as np
import pytest
from conic_reference import solve_cone_program
from hypothesis import given
from hypothesis import strategies as st
from marks import compiled_only
from small_lattices import (
    SmallLattices,
    all_weights,
    checked,
    completion_of,
    difference_of,
    lattices,
    of_chains,
    places,
    problem_with,
    random_lattices,
    seeds,
    whole_weights,
    written,
)

from spacy_ssvm.chains.problem import ChainProblem
from spacy_ssvm.lattices.oracle import LATTICES, SPARSE_LATTICES, decode, expect
from spacy_ssvm.solvers.dual_coordinate_ascent import DualCoordinateAscent
from spacy_ssvm.solvers.dual_coordinate_descent import DualCoordinateDescent
from spacy_ssvm.solvers.frank_wolfe import FrankWolfe
from spacy_ssvm.solvers.lbfgs import LBFGS
from spacy_ssvm.solvers.mira import Mira
from spacy_ssvm.solvers.perceptron import Perceptron
from spacy_ssvm.structure import NEEDS_CAPACITY
from spacy_ssvm.weights.sparse import move

pytestmark = pytest.mark.uncompiled

gammas = st.sampled_from([0.0, 0.5, 1.0, 3.0])  # sums are exact

betas = st.sampled_from([0.25, 1.0, 3.0])


def annotated(small):
    return [i for i in small.examples if small.is_annotated(i)]


def decoded(problem, i, w, gamma=1.0, complete=False):
    return problem.structure.decode(problem.examples(), i, w, gamma, complete)


# --- Decoding ---------------------------------------------------------------------------


@checked
@given(lattices(), seeds, gammas, st.booleans(), st.booleans())
def test_decoding_finds_the_largest_violation(small, seed, gamma, lazily, complete):
    w = whole_weights(small, seed)
    problem, laid_out = problem_with(small, w, lazily=lazily)
    for i in annotated(small):
        y, cost, _ = decoded(problem, i, laid_out, gamma, complete)
        assert y.dtype == np.int64
        found = tuple(y.tolist())
        scores = {y: small.score(i, y, w) + gamma * small.cost(i, y) for y in small.structures(i)}
        assert cost == small.cost(i, found)
        assert scores[found] == max(scores.values())


@checked
@given(lattices(), seeds)
def test_the_violation_is_that_of_the_difference(small, seed):
    """Delta_i(y) - w . Phi_i(y) is never less than that of the completion, which is 0."""
    w = whole_weights(small, seed)
    problem = small.problem()
    for i in annotated(small):
        y, cost, _ = decoded(problem, i, w.astype(float), 1.0, True)
        phi = difference_of(small, problem, i, y)
        violation = cost - sum(w[index] * value for index, value in phi.items())
        right = max(small.score(i, y, w) for y in small.right(i))
        most = max(small.score(i, y, w) + small.cost(i, y) for y in small.structures(i))
        assert violation == most - right
        assert violation >= 0


ORACLES = {
    "decode": lambda problem, i, w, complete: decode(problem.examples(), i, w, 1.0, complete),
    "expect": lambda problem, i, w, complete: expect(problem.examples(), i, w, 1.0, 1.0, complete),
}


@pytest.mark.parametrize("oracle", ORACLES.values(), ids=ORACLES)
@checked
@given(small=lattices(), first=seeds, second=seeds)
def test_partial_gold_is_completed_by_the_best_structure_it_allows(oracle, small, first, second):
    """Where there is no completion yet, and then where that is asked for."""
    problem = small.problem()
    w = [whole_weights(small, seed).astype(float) for seed in (first, second)]

    def is_best(i, w):
        completion = completion_of(small, problem, i)
        assert completion in small.right(i)
        best = max(small.score(i, y, w) for y in small.right(i))
        return small.score(i, completion, w) == best

    for i in annotated(small):
        assert (-1 in completion_of(small, problem, i)) == small.is_partial(i)
        assert oracle(problem, i, w[0], False)[2] == small.is_partial(i)
        assert is_best(i, w[0])
        before = completion_of(small, problem, i)
        assert not oracle(problem, i, w[1], False)[2]
        assert completion_of(small, problem, i) == before
        recompleted = oracle(problem, i, w[1], True)[2]
        assert recompleted == (completion_of(small, problem, i) != before)
        assert is_best(i, w[1])
        assert not oracle(problem, i, w[1], True)[2]


def test_a_new_completion_is_taken_and_reported_where_it_is_asked_for():
    """The first two of three labels are right; which of them is better depends on w."""
    small = SmallLattices(
        [[0], [1], [2]], 3, [], 1, [[[0]]], [[[0, 1, 2]]], [[[True, True, False]]]
    )
    problem = small.problem()
    w = np.array([1.0, 2.0, 0.0])
    assert decoded(problem, 0, w)[1:] == (0.0, True)
    assert completion_of(small, problem, 0) == (1,)
    w[0] = 3.0
    assert decoded(problem, 0, w)[1:] == (0.0, False)
    assert difference_of(small, problem, 0, [0]) == {0: -1, 1: 1}
    assert decoded(problem, 0, w, complete=True)[1:] == (0.0, True)
    assert completion_of(small, problem, 0) == (0,)
    assert difference_of(small, problem, 0, [0]) == {}


@checked
@given(lattices(), seeds, st.booleans())
def test_an_example_without_annotation_has_no_structure(small, seed, complete):
    problem, w = small.problem(), whole_weights(small, seed).astype(float)
    for i in set(small.examples) - set(annotated(small)):
        y, *others = decoded(problem, i, w, 1.0, complete)
        assert (y.dtype, len(y), *others) == (np.int64, 0, 0.0, False)
        z, *others = expect(problem.examples(), i, w, 1.0, 1.0, complete)
        assert (z.dtype, len(z), *others) == (np.float64, 0, 0.0, False, 0.0)


def test_annotation_that_rules_out_one_candidate_of_one_token_is_annotation():
    small = SmallLattices(
        [[0], [1]],
        2,
        [[0, 1]],
        1,
        [[[0], [0]]] * 2,
        [[[0, 1], [1, 0]]] * 2,
        [[[True, True], [True, False]], [[True, True], [True, True]]],
    )
    problem = small.problem()
    w = np.zeros(small.size)
    assert decoded(problem, 0, w)[0].tolist() == [0, 1]  # costs 1
    assert decoded(problem, 0, w)[1] == 1.0
    assert len(decoded(problem, 1, w)[0]) == 0


def test_features_of_tokens_with_one_candidate_change_nothing():
    """They may be left out, or be there."""
    small = SmallLattices(
        [[0, 2], [1, 2]],
        3,
        [[0, 1]],
        2,
        [[[0, 1, 1], [0, 1]]],
        [[[1], [0, 1]]],
        [[[True], [False, True]]],
    )
    bare = SmallLattices(**{**vars(small), "features": [[[], [0, 1]]]})
    w = np.random.default_rng(0).normal(size=small.size)
    problems = small.problem(), bare.problem()
    expected, found = (expect(p.examples(), 0, w, 1.0, 1.0, False) for p in problems)
    np.testing.assert_array_equal(found[0], expected[0])
    assert found[1:] == expected[1:]
    gradients = [gradient_of(p, 0, found[0]) for p in problems]
    np.testing.assert_array_equal(*gradients)
    phi = [difference_of(small, p, 0, [0, 0]) for p in problems]
    assert phi[0] == phi[1] == small.difference(0, (0, 1), (0, 0))


# --- Real values ------------------------------------------------------------------------


def with_reals(small, reals, scales):
    """The same problem, whose first rows are real-valued features: how often they fire, scaled."""
    tokens = [token for example in small.features for token in example]
    counts = [[token.count(row) * scales[row] for row in range(reals)] for token in tokens]
    others = [[[row for row in token if row >= reals] for token in e] for e in small.features]
    problem = small.empty_problem()
    problem.real_rows = np.arange(reals, dtype=np.int32)
    values = np.array(counts, dtype=np.float32).reshape(len(tokens), reals)
    problem.append(*replace(small, features=others).arrays(), values)
    return problem


@checked
@given(lattices(), seeds, st.integers(1, 4), betas)
def test_real_values_scale_weights_and_differences(small, seed, reals, beta):
    """A value v with the weight w is a feature of weight v w, and its entries are v times those."""
    random, reals = np.random.default_rng(seed), min(reals, small.rows)
    scales = random.choice([-2.0, -0.5, 1.0, 4.0], size=reals)  # exact in binary
    w, by_weight = random.normal(size=small.size), np.ones(small.size)
    first = small.level_starts[-1]
    by_weight[first : first + reals * small.P] = np.repeat(scales, small.P)
    plain, scaled = small.problem(), with_reals(small, reals, scales)
    for i in annotated(small):
        (y, *numbers), (same, *others) = decoded(plain, i, w), decoded(scaled, i, w / by_weight)
        assert others == pytest.approx(numbers)
        np.testing.assert_array_equal(same, y)
        found = difference_of(small, scaled, i, y)
        expected = difference_of(small, plain, i, y)
        assert {k: v for k, v in found.items() if v} == pytest.approx(
            {k: v * by_weight[k] for k, v in expected.items()}
        )
        z, *numbers = expect(plain.examples(), i, w, beta, 1.0, False)
        same, *others = expect(scaled.examples(), i, w / by_weight, beta, 1.0, False)
        assert others == pytest.approx(numbers)
        np.testing.assert_allclose(same, z, rtol=0, atol=1e-9)
        gradients = np.zeros((2, small.size))
        for gradient, problem in zip(gradients, (plain, scaled), strict=True):
            own = gradient_of(problem, i, z)
            gradient[: len(own)] = own
        np.testing.assert_allclose(gradients[1], gradients[0] * by_weight, rtol=0, atol=1e-9)


@pytest.mark.parametrize("n", [1, 3])
def test_differences_of_real_values_have_room(n):
    """There are no other weights: one of each value and part."""
    small = SmallLattices(
        [[0, 1, 2], [3, 4, 5]],
        6,
        [],
        4,
        [[[0, 1, 2, 3]] * n],
        [[[0, 1]] * n],
        [[[True, False]] * n],
    )
    problem = with_reals(small, 4, np.ones(4))
    found = difference_of(small, problem, 0, [1] * n)
    assert len(found) == 4 * 6 == problem.max_entries


@pytest.mark.parametrize(
    ("reals", "message"),
    [
        (np.zeros((4, 1), dtype=np.float32), r"shape \(4, 1\), expected \(4, 2\)"),
        (np.full((4, 2), np.nan, dtype=np.float32), "must be finite"),
    ],
)
def test_bad_real_values_are_refused(reals, message):
    small = random_lattices(0, examples=1, length=4)
    problem = small.empty_problem()
    problem.real_rows = np.array([7, 8], dtype=np.int32)
    starts, *arrays = small.arrays()
    reals = reals[: len(starts) - 1]
    with pytest.raises(ValueError, match=f"^reals: {message}"):
        problem.append(starts, *arrays, reals)


# --- Differences ------------------------------------------------------------------------


def difference_sizes(small, problem):
    """Check all differences of a problem; return how many were not empty."""
    number = 0
    for i in annotated(small):
        decoded(problem, i, np.zeros(problem.number_of_weights(small.rows)))
        gold = completion_of(small, problem, i)
        for y in small.structures(i):
            phi = difference_of(small, problem, i, y)
            assert phi == small.difference(i, gold, y)
            number += len(phi) > 0
    return number


@checked
@given(lattices(), st.booleans())
def test_a_difference_is_that_of_two_feature_vectors(small, lazily):
    difference_sizes(small, small.problem(lazily=lazily))


@pytest.mark.parametrize("lazily", [False, True])
@pytest.mark.parametrize("P", [6, 12, 40])
def test_differences_of_labels_with_many_parts(P, lazily):
    small = random_lattices(P, P=P, rows=3, examples=5, partial=0.3)
    problem = small.problem(lazily=lazily)
    assert difference_sizes(small, problem) > 10
    assert difference_sizes(small, problem) > 10  # with the weights that there are by now


def test_a_difference_asks_for_capacity_before_it_writes():
    small = random_lattices(0, examples=1, length=4)
    problem = small.problem(lazily=True)
    assert (small.problem().structure, problem.structure) == (LATTICES, SPARSE_LATTICES)
    gold = small.gold(0)
    y = next(y for y in small.structures(0) if y != gold)

    def ask(examples):
        structure = np.array(y, dtype=np.int64)
        return written(problem.structure.difference, examples, 0, structure, 100, np.float32)[0]

    first = small.level_starts[-1]
    assert problem.number_of_weights(small.rows) == first
    assert ask(problem.examples()) == NEEDS_CAPACITY
    steps = {k: value for k, value in small.difference(0, gold, y).items() if k < first}
    assert difference_of(small, problem, 0, y, frozen=True) == steps
    problem.reserve()
    assert problem.number_of_weights(small.rows) > first
    size = len(small.difference(0, gold, y))
    assert ask(problem.examples()) == size
    assert ask(problem.frozen_examples()) == size


@checked
@given(st.one_of(lattices(), seeds.map(random_lattices)), seeds)
def test_frozen_examples_leave_out_weights_that_are_missing(small, seed):
    problem, w = problem_with(small, whole_weights(small, seed), lazily=True)
    before = problem.table.counts.copy()
    there = set(places(small, problem).values())
    for i in annotated(small):
        decoded(problem, i, w)
        gold = completion_of(small, problem, i)
        for y in small.structures(i):
            expected = small.difference(i, gold, y)
            expected = {index: value for index, value in expected.items() if index in there}
            assert difference_of(small, problem, i, y, frozen=True) == expected
    np.testing.assert_array_equal(problem.table.counts, before)


@checked
@given(lattices(), seeds)
def test_weights_keep_their_meaning_as_others_are_allocated(small, seed):
    expected = whole_weights(small, seed)
    problem, w = problem_with(small, expected, lazily=True)
    for i in annotated(small):
        decoded(problem, i, w)
        for y in small.structures(i):
            structure = np.array(y, dtype=np.int64)
            room = problem.max_entries
            ask = problem.structure.difference
            if written(ask, problem.examples(), i, structure, room, np.float32)[0] < 0:
                numbers = problem.reserve()
                w = w if numbers is None else move(w, numbers)
                missing = problem.number_of_weights(small.rows) - len(w)
                w = np.append(w, np.zeros(missing))
                assert written(ask, problem.examples(), i, structure, room, np.float32)[0] >= 0
            np.testing.assert_array_equal(all_weights(small, problem, w), expected)


# --- Expectations -----------------------------------------------------------------------


def gradient_of(problem, i, z):
    """E[phi(x_i, Y)] - phi(x_i, y_i) as an array, from the oracle."""
    oracle, room = problem.structure.expected_difference, problem.max_expected_entries
    size, indices, values = written(oracle, problem.examples(), i, z, room, np.float64)
    assert len(np.unique(indices)) == size
    assert (values != 0).all()
    gradient = np.zeros(indices.max(initial=-1) + 1)
    gradient[indices] = values
    return gradient


def log_potentials(small, i, w, beta, gamma):
    """beta (w . phi(x_i, y) + gamma Delta_i(y)) of each structure."""
    return {
        y: beta * (small.score(i, y, w) + gamma * small.cost(i, y)) for y in small.structures(i)
    }


def probabilities(small, i, w, beta, gamma):
    scored = log_potentials(small, i, w, beta, gamma)
    total = np.logaddexp.reduce(list(scored.values()))
    return {y: np.exp(score - total) for y, score in scored.items()}


def naive_z(small, i, probable):
    """The probabilities of candidates, and then those of pairs of neighbours."""
    sizes = [len(own) for own in small.candidates[i]]
    single = [
        sum(p for y, p in probable.items() if y[t] == c)
        for t, size in enumerate(sizes)
        for c in range(size)
    ]
    pairs = [
        sum(p for y, p in probable.items() if (y[t], y[t + 1]) == (b, c))
        for t, (size, following) in enumerate(pairwise(sizes))
        for b in range(size)
        for c in range(following)
    ]
    return single + pairs


@checked
@given(lattices(), seeds, betas, gammas)
def test_expectations_are_those_of_all_structures(small, seed, beta, gamma):
    w = np.random.default_rng(seed).normal(size=small.size)
    problem = small.problem()
    for i in annotated(small):
        z, loss, _, cost = expect(problem.examples(), i, w, beta, gamma, False)
        probable = probabilities(small, i, w, beta, gamma)
        np.testing.assert_allclose(z, naive_z(small, i, probable), rtol=0, atol=1e-9)
        mean = sum(p * small.cost(i, y) for y, p in probable.items())
        assert cost == pytest.approx(mean, abs=1e-9)
        scored = log_potentials(small, i, w, beta, gamma)
        gold_score = small.score(i, completion_of(small, problem, i), w)
        expected = np.logaddexp.reduce(list(scored.values())) / beta - gold_score
        assert loss == pytest.approx(expected, abs=1e-9)


@checked
@given(lattices(), seeds, betas, gammas)
def test_the_gradient_is_that_of_all_structures(small, seed, beta, gamma):
    w = np.random.default_rng(seed).normal(size=small.size)
    problem = small.problem()
    for i in annotated(small):
        z = expect(problem.examples(), i, w, beta, gamma, False)[0]
        expected = np.zeros(small.size)
        for y, p in probabilities(small, i, w, beta, gamma).items():
            expected += p * naive.dense(small.phi(i, y), small.size)
        expected -= naive.dense(small.phi(i, completion_of(small, problem, i)), small.size)
        found = gradient_of(problem, i, z)
        found = np.append(found, np.zeros(small.size - len(found)))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("beta", "gamma"), [(1.0, 0.0), (1.0, 1.0), (2.5, 0.5)])
def test_the_gradient_is_the_slope_of_the_loss(beta, gamma):
    small = random_lattices(3, examples=4, partial=0.3)
    problem, h = small.problem(), 1e-5
    w = np.random.default_rng(4).normal(size=small.size)

    def loss(i, moved):
        return expect(problem.examples(), i, moved, beta, gamma, False)[1]

    assert any(small.is_partial(i) for i in annotated(small))
    for i in annotated(small):
        z = expect(problem.examples(), i, w, beta, gamma, False)[0]
        steps = h * np.eye(small.size)
        slopes = [(loss(i, w + step) - loss(i, w - step)) / (2 * h) for step in steps]
        found = gradient_of(problem, i, z)
        found = np.append(found, np.zeros(small.size - len(found)))
        np.testing.assert_allclose(found, slopes, rtol=0, atol=1e-8)


def test_large_scores_leave_expectations_finite():
    small = random_lattices(1, examples=3)
    problem, w = small.problem(), whole_weights(small, 0) * 1e3
    for i in annotated(small):
        z, loss, _, cost = expect(problem.examples(), i, w, 1.0, 1.0, False)
        probable = probabilities(small, i, w, 1.0, 1.0)
        np.testing.assert_allclose(z, naive_z(small, i, probable), rtol=0, atol=1e-9)
        assert np.isfinite([loss, cost]).all()


def test_expectations_need_the_weights_of_all_parts():
    small = random_lattices(0, examples=1)
    problem = small.problem(lazily=True)
    w = np.zeros(problem.number_of_weights(small.rows))
    z = expect(problem.examples(), 0, w, 1.0, 0.0, False)[0]
    room = problem.max_expected_entries
    buffers = np.empty(room, dtype=np.int32), np.empty(room)
    oracle = problem.structure.expected_difference
    assert oracle(problem.examples(), 0, z, *buffers) == NEEDS_CAPACITY
    problem.reserve()
    with pytest.raises(ValueError, match="expectations need the weights of all labels"):
        oracle(problem.examples(), 0, z, *buffers)


# --- Solvers ----------------------------------------------------------------------------


def trained(solver, problem, rows, epochs):
    run = solver.start(problem, None)
    run.grow(rows)
    for _ in range(epochs):
        run.epoch(np.arange(problem.number_of_examples))
    return run


@pytest.mark.parametrize(
    "solver",
    [
        DualCoordinateDescent(C=0.5),
        Perceptron(),
        Mira(C=0.5),
        FrankWolfe(C=0.5),
        FrankWolfe(C=0.5, beta=1.0, gamma=0.0),
        DualCoordinateAscent(C=0.5),
        LBFGS(C=0.5, iterations=5),
    ],
    ids=repr,
)
@pytest.mark.parametrize("unknown", [0.0, 0.2])
def test_labels_that_are_their_only_part_are_learned_as_chains(solver, unknown):
    chains = naive.random_chains(1, K=4, rows=10, examples=15, length=5)
    random = np.random.default_rng(2)
    for gold in chains.gold:
        gold[:] = [chains.K if random.random() < unknown else label for label in gold]
    chain_problem = ChainProblem(chains.K)
    chain_problem.append(*chains.arrays())
    small = of_chains(chains)
    runs = [
        trained(solver, problem, chains.rows, epochs=4)
        for problem in (chain_problem, small.problem())
    ]
    expected, found = (run.w for run in runs)
    assert expected.any()
    assert not expected[small.size :].any()
    assert not found[small.size :].any()
    np.testing.assert_allclose(found[: small.size], expected[: small.size], rtol=0, atol=1e-12)
    assert runs[1].objective().primal == pytest.approx(runs[0].objective().primal, rel=1e-12)


@pytest.mark.parametrize(
    "solver", [DualCoordinateDescent(C=0.5), Perceptron(), Mira(C=0.5), FrankWolfe(C=0.5)], ids=repr
)
@pytest.mark.parametrize("P", [7, 30])
def test_weights_that_are_allocated_on_first_use_are_the_same_to_the_last_bit(solver, P):
    small = random_lattices(P, P=P, rows=10, examples=20, partial=0.2)
    full, lazy = (
        trained(solver, small.problem(lazily=lazily), small.rows, epochs=4)
        for lazily in (False, True)
    )
    expected = full.w[: small.size]
    assert expected.any()
    assert all_weights(small, lazy.problem, lazy.w).tobytes() == expected.tobytes()
    assert lazy.objective().primal == pytest.approx(full.objective().primal, rel=1e-12)


def conic_optimum(small, C):
    """min 1/2 |w|^2 + C sum_i max_y H_i(y)^2, by a conic solver over all structures."""
    phi, delta, owners = [], [], []
    for i in small.examples:
        for y in small.structures(i):
            phi.append(naive.dense(small.difference(i, small.gold(i), y), small.size))
            delta.append(float(small.cost(i, y)))
            owners.append(i)
    n = len(small.examples)
    slack = np.equal.outer(owners, np.arange(n))
    return solve_cone_program(
        np.repeat([1.0, 2 * C], [small.size, n]),
        np.zeros(small.size + n),
        -np.hstack([np.array(phi), slack]),
        -np.array(delta),
        [clarabel.NonnegativeConeT(len(delta))],
    )


@compiled_only
@pytest.mark.parametrize("lazily", [False, True])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_optimum_is_that_of_the_quadratic_program(seed, lazily):
    C, small = 1.0, random_lattices(seed)
    x, expected = conic_optimum(small, C)
    solver = DualCoordinateDescent(C=C, tolerance=0.0, delta=1e-10)
    run = trained(solver, small.problem(lazily=lazily), small.rows, epochs=1000)
    objective = run.objective()
    assert expected > 0.1
    assert abs(objective.gap) < 1e-6
    assert objective.primal == pytest.approx(expected, rel=1e-6)
    w = all_weights(small, run.problem, run.w)
    np.testing.assert_allclose(w, x[: small.size], rtol=0, atol=1e-3)
