"""Dual coordinate descent by its optimality: a quadratic program on the full enumeration.

The referee writes every structure of every example as a constraint and solves

    min 1/2 |w - w_0|^2 + C sum_i xi_i^2    with    w . Phi_i(y) + xi_i >= Delta_i(y)

It stands on ``naive.py`` and scipy alone.
"""

from itertools import permutations

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from marks import compiled_only
from referee import (
    ANY,
    HIGH,
    LOW,
    Referee,
    all_numbers,
    alpha_sums,
    check_expansion,
    checked,
    constraints,
    converge,
    partial_problem,
    regularization,
    start,
    trained,
    weights,
)

from spacy_ssvm.chains.problem import ChainProblem
from spacy_ssvm.objective import evaluate
from spacy_ssvm.solvers.dual_coordinate_descent import DualCoordinateDescent, inner_pass

pytestmark = pytest.mark.uncompiled


def whole_numbers(shape):
    return arrays(float, shape, elements=st.integers(-2, 2).map(float))


@checked
@given(naive.chains(), regularization, st.sampled_from(["ssvm", "light", "cpd"]))
def test_the_optimum_is_that_of_the_quadratic_program(chains, C, variant):
    referee = Referee(chains, C=C)
    value, w = referee.solve()
    run = converge(start(referee.problem(), chains.rows, C=C, variant=variant))
    assert run.objective().primal == pytest.approx(value, rel=1e-6, abs=1e-9)
    assert run.dual == pytest.approx(value, rel=1e-6, abs=1e-9)
    np.testing.assert_allclose(weights(run, referee), w, atol=1e-3)


@checked
@given(st.data(), naive.chains(), regularization)
def test_configured_costs_change_the_optimum_as_the_program_says(data, chains, C):
    K = chains.K
    costs = data.draw(arrays(float, (K, K), elements=st.sampled_from([0.0, 0.5, 1.0, 4.0])))
    referee = Referee(chains, costs=costs * (1 - np.eye(K)), C=C)
    run = converge(start(referee.problem(), chains.rows, C=C))
    check_expansion(run)
    assert run.objective().primal == pytest.approx(referee.solve()[0], rel=1e-6, abs=1e-9)


@checked
@given(st.data(), naive.chains(), regularization)
def test_training_goes_on_from_a_prior(data, chains, C):
    size = (chains.K + 2 + chains.rows) * chains.K
    prior = data.draw(whole_numbers(size)) / 2
    before = prior.copy()
    referee = Referee(chains, prior=prior, C=C)
    run = start(referee.problem(), chains.rows, C=C, prior=prior)
    np.testing.assert_array_equal(weights(run, referee), prior)
    for _ in range(3):
        run.epoch(all_numbers(run))
        check_expansion(run, prior)
    value, w = referee.solve()
    converge(run)
    check_expansion(run, prior)
    assert run.objective().primal == pytest.approx(value, rel=1e-6, abs=1e-9)
    np.testing.assert_allclose(weights(run, referee), w, atol=1e-3)
    np.testing.assert_array_equal(prior, before)


@checked
@given(st.data(), naive.chains(examples=3), st.integers(1, 3))
def test_a_prior_is_0_for_features_that_come_later(data, chains, new_rows):
    known = (chains.K + 2 + chains.rows) * chains.K
    prior = data.draw(whole_numbers(known)) / 2
    later = chains.rows + new_rows
    features = [[[*token, later - 1] for token in tokens] for tokens in chains.features]
    chains = naive.Chains(chains.K, later, features, chains.gold)
    longer = np.concatenate([prior, np.zeros(new_rows * chains.K)])
    referee = Referee(chains, prior=longer, C=0.5)
    run = converge(start(referee.problem(), later, C=0.5, prior=prior))
    check_expansion(run, prior)
    assert run.objective().primal == pytest.approx(referee.solve()[0], rel=1e-6, abs=1e-9)


@checked
@given(st.data(), naive.chains(shortest=1), regularization)
def test_illegal_transitions_are_in_no_structure(data, chains, C):
    K = chains.K
    legality = data.draw(arrays(float, (K + 2, K), elements=st.sampled_from([0.0, 0.0, -np.inf])))
    for gold in chains.gold:  # what gold uses is legal
        for index in naive.feature_vector(K, [[]] * len(gold), gold):
            legality.flat[index] = 0.0
    referee = Referee(chains, legality=legality, C=C)
    run = converge(start(referee.problem(), chains.rows, C=C))
    assert run.objective().primal == pytest.approx(referee.solve()[0], rel=1e-6, abs=1e-9)
    np.testing.assert_allclose(
        np.maximum(referee.violations(weights(run, referee)), 0) ** 2
        @ np.full(len(chains.gold), C),
        run.objective().primal - run.regularizer,
        rtol=1e-6,
        atol=1e-9,
    )
    forbidden = set(np.flatnonzero(np.isneginf(legality)).tolist())
    assert not run.w[sorted(forbidden)].any()
    for i in all_numbers(run):
        for _, _, phi in constraints(run, i):
            assert not forbidden & set(phi)


@checked
@given(naive.chains(), regularization)
def test_the_gap_goes_to_0(chains, C):
    run = converge(start(Referee(chains, C=C).problem(), chains.rows, C=C))
    objective = run.objective()
    assert objective.primal >= objective.dual - 1e-12
    assert objective.gap == pytest.approx(0, abs=1e-6)
    assert objective.gap * objective.primal == pytest.approx(objective.primal - objective.dual)
    assert run.gap == pytest.approx(0, abs=1e-3)  # an estimate, of weights that moved


@checked
@given(naive.chains(), regularization)
def test_at_the_optimum_violations_are_dual_sums_by_2C(chains, C):
    referee = Referee(chains, C=C)
    run = converge(start(referee.problem(), chains.rows, C=C), gap=1e-11)
    np.testing.assert_allclose(
        referee.violations(weights(run, referee)), alpha_sums(run) / (2 * C), atol=1e-4
    )


@checked
@given(naive.chains(), st.integers(1, 5), regularization)
def test_mini_batches_that_grow_the_problem_reach_the_same_optimum(chains, batch, C):
    """New examples bring new rows: those of a batch exist only once it is appended."""
    value, _ = Referee(chains, C=C).solve()
    problem = ChainProblem(chains.K)
    run = start(problem, 0, C=C)
    rows = 0
    for first in range(0, len(chains.features), batch):
        part = chains.part(first, first + batch)
        used = [row for tokens in part.features for token in tokens for row in token]
        rows = max([rows, *(row + 1 for row in used)])
        numbers = problem.append(*part.arrays())
        run.grow(rows)
        run.epoch(np.array(numbers))
        check_expansion(run)
    converge(run)
    check_expansion(run)
    assert run.objective().primal == pytest.approx(value, rel=1e-6, abs=1e-9)


@checked
@given(st.data(), naive.chains(), regularization, st.sampled_from(["ssvm", "light", "cpd"]))
def test_each_pass_keeps_the_books_and_never_lowers_the_dual(data, chains, C, variant):
    referee = Referee(chains, C=C)
    run = start(referee.problem(), chains.rows, C=C, variant=variant, inner_passes=2)
    subsets = st.lists(st.sampled_from(all_numbers(run).tolist()), unique=True)
    dual = run.dual
    assert dual == 0
    for _ in range(6):
        if data.draw(st.booleans()):
            run.epoch(np.array(data.draw(subsets), dtype=np.int64))
        else:
            inner_pass(np.array(data.draw(subsets), dtype=np.int64), run.sets, run._state)
        check_expansion(run)
        assert run.dual >= dual - 1e-12
        assert referee.primal(weights(run, referee)) >= run.dual - 1e-12
        dual = run.dual


@checked
@given(naive.chains(), regularization)
def test_one_step_goes_to_the_maximum_of_the_dual_along_its_variable(chains, C):
    """An example's first constraint is its worst structure; alpha is in closed form."""
    referee = Referee(chains, C=C)
    for i, (phi, delta) in enumerate(referee.structures):
        run = start(referee.problem(), chains.rows, C=C, variant="light")
        assert run.epoch(np.array([i])) == pytest.approx(delta.max())
        worst = [m for m in range(len(delta)) if delta[m] == delta.max() > 0]
        alphas = [delta[m] / ((phi[m] ** 2).sum() + 1 / (2 * C)) for m in worst]
        assert [alpha for alpha, _, _ in constraints(run, i)] in [[]] * (not worst) + [
            [pytest.approx(alpha)] for alpha in alphas
        ]


@checked
@given(naive.chains(), regularization, st.sampled_from([0.1, 0.5]))
def test_additions_to_working_sets_are_bounded(chains, C, delta):
    """[CY13 Theorem 1]: each raises D by the least that its step can, and D stays below P(0).

    A structure that is stored already is not added: its step may come after others, and raise
    D by less.
    """
    referee = Referee(chains, C=C)
    settings = {"C": C, "variant": "light", "delta": delta, "tolerance": 0.0}
    run = start(referee.problem(), chains.rows, **settings)
    squares = [(phi**2).sum(axis=1).max(initial=0.0) for phi, _ in referee.structures]
    least_rise = delta**2 / (2 * (max(squares, default=0.0) + 1 / (2 * C)))
    additions = 0
    for _ in range(20):
        for i in all_numbers(run):
            phi, costs = referee.structures[i]
            violations = costs - phi @ weights(run, referee)
            worst = phi[violations > violations.max() - 1e-9]
            slack = violations.max() - alpha_sums(run)[i] / (2 * C) - delta
            before, dual = constraints(run, i), run.dual
            stored = [naive.dense(entries, referee.size).tolist() for _, _, entries in before]
            run.epoch(np.array([i]))
            if slack < -1e-9:
                assert len(constraints(run, i)) <= len(before)
            elif slack > 1e-9 and not any(y in stored for y in worst.tolist()):
                additions += 1
                assert run.dual - dual >= least_rise * (1 - 1e-9)
    most = C * sum(costs.max(initial=0.0) ** 2 for _, costs in referee.structures)
    assert additions * least_rise * (1 - 1e-9) <= run.dual <= most + 1e-9


@compiled_only
@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("seed", range(3))
def test_over_fixed_working_sets_each_digit_takes_as_many_passes(seed, C):
    """[CY13 Theorem 2]: convergence is linear."""
    chains = naive.random_chains(seed, K=3, rows=8, examples=12, length=3)
    run = start(Referee(chains, C=C).problem(), chains.rows, C=C, tolerance=0.0)
    for _ in range(3):
        run.epoch(all_numbers(run))
    size = run.number_of_constraints
    duals = []
    for _ in range(2000):
        inner_pass(all_numbers(run), run.sets, run._state)
        duals.append(run.dual)
    assert 0 < run.number_of_constraints <= size
    below = 1 - np.array(duals) / duals[-1]
    passes = [int(np.argmax(below < 10.0**-digits)) for digits in range(6, 11)]
    steps = np.diff(passes)
    assert steps.min() > 0
    assert steps.max() <= 1.5 * steps.min() + 2


@checked
@given(st.data(), naive.chains(), regularization)
def test_an_epoch_returns_the_violations_that_inference_met(data, chains, C):
    """With one example in a light pass, that is max_y H_i(y; w) of the weights before it."""
    referee = Referee(chains, C=C)
    run = start(referee.problem(), chains.rows, C=C, variant="light")
    for _ in range(5):
        i = data.draw(st.sampled_from(all_numbers(run).tolist()))
        expected = referee.violations(weights(run, referee))[i]
        assert run.epoch(np.array([i])) == pytest.approx(expected, abs=1e-9)


@checked
@given(st.data(), naive.chains(), regularization)
def test_primal_is_never_below_dual(data, chains, C):
    referee = Referee(chains, C=C)
    run = start(referee.problem(), chains.rows, C=C)
    for _ in range(3):
        run.epoch(all_numbers(run))
        objective = run.objective()
        assert objective.primal == pytest.approx(
            referee.primal(weights(run, referee)), rel=1e-9, abs=1e-9
        )
        assert objective.dual == run.dual
        assert objective.primal >= objective.dual - 1e-12
        assert -1e-12 <= objective.gap <= 1 + 1e-12
        other = data.draw(whole_numbers(referee.size))
        assert referee.primal(other) >= run.dual - 1e-12


def updated(run, i, order):
    """The weights after UPDATEWEIGHT(i), in the given order of its constraints [CY13 Alg. 1]."""
    w, stored = run.w.copy(), constraints(run, i)
    total, C = sum(alpha for alpha, _, _ in stored), run.settings.C
    for place in order:
        alpha, delta, phi = stored[place]
        phi = naive.dense(phi, len(w))
        slope = delta - w @ phi - total / (2 * C)
        change = max(slope / (phi @ phi + 1 / (2 * C)), -alpha)
        w += change * phi
        total += change
    return w


def test_the_newest_constraint_is_updated_first_and_the_others_at_random():
    chains = naive.random_chains(0, K=4, rows=4, examples=1, length=1)
    met = set()
    for seed in range(12):
        run = start(Referee(chains, C=0.5).problem(), 4, C=0.5, variant="light", seed=seed)
        while len(constraints(run, 0)) < 3:
            run.epoch(np.array([0]))
        expected = {order: updated(run, 0, order) for order in permutations(range(3))}
        inner_pass(np.array([0]), run.sets, run._state)
        distances = {order: np.abs(w - run.w).max() for order, w in expected.items()}
        closest, second = sorted(distances.values())[:2]
        assert closest < 1e-12
        assert second > 1e-6  # each order makes weights of its own
        met.add(min(distances, key=distances.get))
    assert met == {(0, 1, 2), (0, 2, 1)}


@checked
@given(naive.chains(), regularization)
def test_cpd_infers_for_all_examples_with_the_weights_fixed(chains, C):
    referee = Referee(chains, C=C)
    run = start(referee.problem(), chains.rows, C=C, variant="cpd")
    for _ in range(3):
        expected = referee.violations(weights(run, referee))
        assert run.epoch(all_numbers(run)) == pytest.approx(expected.sum(), abs=1e-9)
        found = run._state.violations[: len(expected)]
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_each_pass_with_inference_has_an_order_of_its_own():
    chains = naive.random_chains(1, K=3, rows=8, examples=8, length=3)
    run, twin = trained(chains, 0, seed=5, variant="light"), trained(chains, 0, variant="light")
    twin._state = twin._state._replace(random=run._state.random.copy())
    order = np.random.default_rng(5)
    for _ in range(3):
        run.epoch(all_numbers(run))
        for i in order.permutation(8):
            twin.epoch(np.array([i]))
        assert run.w.tobytes() == twin.w.tobytes()


@pytest.mark.parametrize(("delta", "stored"), [(0.42, 2), (0.44, 1)])
def test_the_least_violation_is_counted_above_what_the_slack_covers(delta, stored):
    """At label 1, alpha = 1 / (6 + 1) with C = 1/2; then H - A / 2C = 1 - 3/7 - 1/7 at label 2."""
    chains = naive.Chains(3, 1, [[[0]]], [[0]])
    run = start(Referee(chains, C=0.5).problem(), 1, C=0.5, delta=delta, variant="light")
    run.epoch(np.array([0]))
    assert [alpha for alpha, _, _ in constraints(run, 0)] == [pytest.approx(1 / 7)]
    assert run.epoch(np.array([0])) == pytest.approx(4 / 7)
    assert len(constraints(run, 0)) == stored


def test_training_stops_when_the_gap_meets_the_tolerance():
    chains = naive.random_chains(0, K=3, rows=5, examples=6, length=3)
    run = start(Referee(chains, C=0.5).problem(), 5, C=0.5, tolerance=0.01)
    for _ in range(100):
        run.epoch(all_numbers(run))
    gap, w = run.objective().gap, run.w.copy()
    assert 0 < gap <= 0.01
    violations = run.epoch(all_numbers(run))
    np.testing.assert_array_equal(run.w, w)
    assert violations > 0


def test_training_that_stopped_goes_on_with_new_examples():
    chains = naive.random_chains(0, K=3, rows=5, examples=6, length=3)
    problem = ChainProblem(3)
    problem.append(*chains.part(0, 3).arrays())
    run = start(problem, 5, C=0.5, tolerance=0.01)
    for _ in range(100):
        run.epoch(all_numbers(run))
    problem.append(*chains.part(3, 6).arrays())
    run.grow(5)
    assert run.objective().gap > 0.01
    for _ in range(100):
        run.epoch(all_numbers(run))
    assert run.objective().gap <= 0.01
    check_expansion(run)


def test_a_seed_gives_the_same_bytes_and_another_seed_another_order():
    chains = naive.random_chains(1, K=3, rows=8, examples=8, length=3)
    assert trained(chains, 3, seed=7).w.tobytes() == trained(chains, 3, seed=7).w.tobytes()
    assert trained(chains, 3, seed=7).w.tobytes() != trained(chains, 3, seed=8).w.tobytes()


def test_the_seed_also_orders_the_constraints_of_an_example():
    chains = naive.random_chains(1, K=4, rows=8, examples=1, length=1)
    assert len({trained(chains, 10, seed=seed).w.tobytes() for seed in range(5)}) > 1


def test_the_order_of_the_numbers_given_does_not_matter():
    chains = naive.random_chains(1, K=3, rows=8, examples=8, length=3)
    run, other = trained(chains, 0, seed=3), trained(chains, 0, seed=3)
    for _ in range(3):
        run.epoch(np.arange(8))
        other.epoch(np.arange(8)[::-1].copy())
    assert run.w.tobytes() == other.w.tobytes()


@compiled_only
def test_every_seed_and_variant_reaches_the_same_optimum():
    chains = naive.random_chains(2, K=3, rows=8, examples=8, length=3)
    referee = Referee(chains, C=0.5)
    value, w = referee.solve()
    for options in (
        {"seed": 0},
        {"seed": 1},
        {"seed": 1, "variant": "light"},
        {"variant": "cpd"},
        {"inner_passes": 0},
        {"inner_passes": 20},
    ):
        run = converge(trained(chains, 1, **options))
        assert run.objective().primal == pytest.approx(value, rel=1e-6)
        np.testing.assert_allclose(weights(run, referee), w, atol=1e-3)


def test_without_inner_passes_ssvm_is_light():
    chains = naive.random_chains(2, K=3, rows=8, examples=8, length=3)
    ssvm = trained(chains, 4, variant="ssvm", inner_passes=0)
    light = trained(chains, 4, variant="light", inner_passes=5)
    assert ssvm.w.tobytes() == light.w.tobytes()


def test_the_dual_of_partial_gold_is_not_above_its_primal():
    """The first example may begin as label 0, until the second one makes both label 1."""
    chains = naive.Chains(3, 1, [[[0]], [[0]]], [[LOW], [1]])
    for seed in range(5):
        run = start(partial_problem(chains), 1, C=0.5, seed=seed)
        for _ in range(20):
            run.epoch(all_numbers(run))
            assert run.objective().gap >= -1e-9


@compiled_only
@pytest.mark.parametrize("seed", range(8))
def test_training_on_partial_gold_settles(seed):
    """The gap meets the tolerance, also with each completion chosen anew under the final w."""
    random = np.random.default_rng(seed)
    chains = naive.random_chains(seed, K=3, rows=12, examples=30, length=4)
    sets = [[0, 0, ANY, LOW], [1, 1, ANY, LOW], [2, 2, ANY, HIGH]]
    chains.gold = [[int(random.choice(sets[label])) for label in gold] for gold in chains.gold]
    run = start(partial_problem(chains), chains.rows, C=0.5, tolerance=1e-3, delta=1e-3)
    for _ in range(3000):
        run.epoch(all_numbers(run))
    settled = run.objective()
    assert -1e-9 <= settled.gap <= 1e-3
    anew = evaluate(
        partial_problem(chains),
        run.w,
        C=0.5,
        regularizer=run.regularizer,
        dual=run.dual,
    )
    assert anew.primal == pytest.approx(settled.primal, rel=1e-2)


@checked
@given(st.data(), naive.chains(), regularization)
def test_forgetting_examples_equals_training_without_them(data, chains, C):
    problem = Referee(chains, C=C).problem()
    run = start(problem, chains.rows, C=C)
    for _ in range(3):
        run.epoch(all_numbers(run))
    first = data.draw(st.integers(0, len(chains.features)))
    last = data.draw(st.integers(first, len(chains.features)))
    kept = [constraints(run, i) for i in all_numbers(run)]
    kept[first:last] = [[] for _ in range(first, last)]
    run.forget(np.arange(first, last))
    problem.forget(range(first, last))
    assert [constraints(run, i) for i in all_numbers(run)] == kept
    check_expansion(run)
    others = naive.Chains(
        chains.K,
        chains.rows,
        chains.features[:first] + chains.features[last:],
        chains.gold[:first] + chains.gold[last:],
    )
    if others.features:
        value, _ = Referee(others, C=C).solve()
        converge(run)
        assert run.objective().primal == pytest.approx(value, rel=1e-6, abs=1e-9)
    else:
        np.testing.assert_allclose(run.w, 0, atol=1e-12)


def test_what_was_forgotten_can_be_dropped():
    """The examples that are kept get new numbers, and training goes on with them."""
    chains = naive.random_chains(6, K=3, rows=5, examples=8, length=3)
    kept = np.array([1, 2, 5, 7])
    dropped = np.array([0, 3, 4, 6])
    problem = ChainProblem(3)
    problem.append(*chains.arrays())
    run = start(problem, 5, C=0.5)
    for _ in range(3):
        run.epoch(all_numbers(run))
    run.forget(dropped)
    before, w = [constraints(run, i) for i in kept], run.w.copy()
    problem.keep(kept)
    run.keep(kept)
    assert problem.number_of_examples == 4
    assert [constraints(run, i) for i in all_numbers(run)] == before
    np.testing.assert_array_equal(run.w, w)
    check_expansion(run)
    others = naive.Chains(3, 5, [chains.features[i] for i in kept], [chains.gold[i] for i in kept])
    problem.append(*chains.part(0, 1).arrays())
    others.features.append(chains.features[0])
    others.gold.append(chains.gold[0])
    run.grow(5)
    converge(run)
    check_expansion(run)
    value, _ = Referee(others, C=0.5).solve()
    assert run.objective().primal == pytest.approx(value, rel=1e-6)


def test_training_that_stopped_goes_on_when_examples_are_forgotten():
    chains = naive.random_chains(0, K=3, rows=5, examples=6, length=3)
    problem = ChainProblem(3)
    problem.append(*chains.arrays())
    run = start(problem, 5, C=0.5, tolerance=0.01)
    for _ in range(100):
        run.epoch(all_numbers(run))
    run.forget(np.arange(3))
    problem.forget(range(3))
    assert run.objective().gap > 0.01
    for _ in range(100):
        run.epoch(np.arange(3, 6))  # the estimate of the gap knows what was forgotten
    assert run.gap <= 0.01
    assert run.objective().gap <= 0.01


def test_forgetting_everything_leaves_the_prior():
    chains = naive.random_chains(5, K=3, rows=4, examples=10, length=3)
    prior = np.linspace(-1, 1, 27)
    run = start(Referee(chains, C=0.5).problem(), 4, C=0.5, prior=prior)
    for _ in range(5):
        run.epoch(all_numbers(run))
    assert np.abs(run.w - prior).max() > 0.01
    run.forget(all_numbers(run))
    np.testing.assert_allclose(run.w, prior, atol=1e-12)
    assert run.dual == pytest.approx(0, abs=1e-12)
    assert run.regularizer == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("C", value) for value in (0, -1.0, float("nan"), float("inf"))),
        *(("variant", value) for value in ("", "SSVM", "fast")),
        ("inner_passes", -1),
        *(("delta", value) for value in (0.0, -1e-3, float("nan"), float("inf"))),
        *(("tolerance", value) for value in (-1e-3, float("nan"), float("inf"))),
    ],
)
def test_invalid_settings_are_named(name, value):
    with pytest.raises(ValueError, match=f"\n{name}\t{name} is "):
        DualCoordinateDescent(**{name: value})


def test_settings_may_be_whole_numbers():
    chains = naive.random_chains(0, K=3, rows=5, examples=6, length=3)
    problem = Referee(chains, C=1.0).problem()
    runs = [
        start(problem, 5, C=1, delta=1, tolerance=0),
        start(problem, 5, C=1.0, delta=1.0, tolerance=0.0),
    ]
    for run in runs:
        run.epoch(all_numbers(run))
    assert runs[0].w.tobytes() == runs[1].w.tobytes()


def test_more_weights_than_can_be_indexed_are_refused():
    run = DualCoordinateDescent().start(ChainProblem(1000))
    with pytest.raises(ValueError, match="min_count"):
        run.grow(2**22)


def test_examples_without_tokens_are_passed_over():
    chains = naive.Chains(2, 1, [[], [[0]], []], [[], [1], []])
    run = converge(start(Referee(chains, C=0.5).problem(), 1, C=0.5))
    value, _ = Referee(chains.part(1, 2), C=0.5).solve()
    assert run.objective().primal == pytest.approx(value, rel=1e-6)
    assert constraints(run, 0) == constraints(run, 2) == []


def test_a_problem_without_examples_has_no_gap():
    run = start(ChainProblem(2), 1)
    assert run.epoch(np.arange(0)) == 0
    assert run.objective() == (0.0, 0.0, 0.0)
    assert not run.w.any()
