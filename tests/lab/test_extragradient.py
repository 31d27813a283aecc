"""The extragradient method by its saddle point, the conic solver's, and by its own bounds."""

from itertools import pairwise

import naive
import numpy as np
import pytest
from finite import optimum, random_problem
from hypothesis import given
from hypothesis import strategies as st
from marks import compiled_only
from referee import LOW, Referee, all_numbers, partial_problem
from small_problems import hinge_optimum, programmed, started, tree_problem

from spacy_ssvm.lab.extragradient import Extragradient
from spacy_ssvm.lab.pairwise_frank_wolfe import PairwiseFrankWolfe

pytestmark = pytest.mark.uncompiled

WAYS = {
    "euclidean": {"projection": "euclidean"},
    "entropic": {"projection": "entropic"},
    "dual": {"projection": "euclidean", "variant": "dual"},
}
#: The distance from the start to any z: |y - gold|^2 / 2 or |y|^2 / 2 of indicators, log 4 of 4.
REACHES = {("euclidean", None): 1.0, ("euclidean", "dual"): 0.5, ("entropic", None): np.log(4)}
each_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
seeds = st.integers(0, 10_000)


def run_on(problem, prior=None, **options):
    options = {"C": 0.5, "tolerance": 0.0, "iterations": 1, **options}
    run = Extragradient(**options).start(problem, prior)
    run.grow(0)
    return run


def prior_of(seed):
    prior = np.random.default_rng(seed).normal(size=6) / 2
    prior[:3] = np.abs(prior[:3])
    return prior


@each_way
@compiled_only
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("goes_on", [False, True])
def test_it_ends_at_the_optimum_over_the_allowed_weights(seed, way, goes_on):
    prior = prior_of(seed) if goes_on else None
    run = run_on(random_problem(seed), prior, **way, tolerance=1e-5)
    for _ in range(2000):
        run.epoch(all_numbers(run))
    objective = run.objective()
    assert objective.gap <= 1e-5
    value, w = optimum(run.problem, 0.5, prior=prior)
    assert objective.primal == pytest.approx(value, rel=2e-5)
    assert objective.dual == pytest.approx(value, rel=2e-5)
    np.testing.assert_allclose(run.w, w, atol=0.02)
    assert (run.w[:3] >= 0).all()


@programmed
@given(
    seeds,
    st.sampled_from(list(WAYS.values())),
    st.sampled_from([0.05, 0.5, 2.0]),
    st.booleans(),
    st.booleans(),
)
def test_primal_and_dual_enclose_the_optimum_at_each_epoch(seed, way, C, average, goes_on):
    prior = prior_of(seed) if goes_on else None
    problem = random_problem(seed)
    value, _ = optimum(problem, C, prior=prior)
    run = run_on(problem, prior, **way, C=C, average=average, iterations=3)
    for _ in range(6):
        run.epoch(all_numbers(run))
        objective = run.objective()
        assert objective.dual <= value + 1e-6 <= objective.primal + 2e-6
        assert run.gap == pytest.approx(objective.gap)


@compiled_only
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_convergence_with_euclidean_projections_is_linear(seed):
    run = run_on(random_problem(seed), projection="euclidean", iterations=50)
    gaps = []
    for _ in range(3):
        run.epoch(all_numbers(run))
        gaps.append(run.objective().gap)
    assert gaps[2] < gaps[1] / 5 < gaps[0] / 25


@each_way
@programmed
@given(seeds, st.sampled_from([0.05, 2.0]), st.sampled_from([0.5, 0.9]))
def test_the_gap_of_averages_is_below_the_distance_by_the_sum_of_steps(way, seed, C, nu):
    """As the proof says: over all saddle points (w, z), from the start to the best answers."""
    problem = random_problem(seed)
    run = run_on(problem, **way, C=C, nu=nu, average=True, beta=10.0)
    for _ in range(8):
        run.epoch(all_numbers(run))
        objective = run.objective()
        best = np.maximum(-C * run._point()[1], [0, 0, 0, *[-np.inf] * 3])
        reach = REACHES[way["projection"], way.get("variant")] * len(problem.phi)
        limit = (best @ best / 2 + reach) / run._total_beta
        assert (objective.primal - objective.dual) / C <= limit * (1 + 1e-9)


@each_way
def test_averages_are_those_of_the_first_steps(way):
    run = run_on(random_problem(1), **way, average=True)
    total, weight = np.zeros(6), 0.0
    trials = recorded(run)
    for _ in range(10):
        run.epoch(all_numbers(run))
        trial = trials[-1][0]
        total, weight = total + trial.beta * trial.predicted_w, weight + trial.beta
        np.testing.assert_allclose(run.w, total / weight, atol=1e-12)


def recorded(run):
    """The steps that the run will try, with their ratios."""
    found, ratio = [], run._ratio

    def record(trial):
        found.append((trial, ratio(trial)))
        return found[-1][1]

    run._ratio = record
    return found


@each_way
@pytest.mark.parametrize("nu", [0.3, 0.9])
def test_steps_are_shortened_until_their_ratio_is_small(way, nu):
    run = run_on(random_problem(1), **way, nu=nu, beta=100.0)
    trials = recorded(run)
    for _ in range(20):
        run.epoch(all_numbers(run))
    assert trials[0][0].beta == 100.0
    shortened = lengthened = 0
    for (trial, ratio), (following, _) in pairwise(trials):
        if ratio > nu:
            assert following.beta == pytest.approx(trial.beta * 2 / 3 * min(1, 1 / ratio))
            assert following.w is trial.w
            shortened += 1
        else:
            longer = ratio < nu / 3
            assert following.beta == pytest.approx(trial.beta * (1.5 if longer else 1.0))
            assert following.w is trial.corrected_w
            lengthened += longer
    assert shortened > 0


def test_the_ratio_is_that_of_the_gradients():
    """Of small steps by simplexes, beside the norms of the saddle function's gradients."""
    problem = random_problem(2, nonnegative=0)
    run = run_on(problem, projection="euclidean", beta=0.05)
    trials = recorded(run)
    assert run.dual == 0.0  # z is gold
    for _ in range(3):
        before = run._points.z.copy()
        run.epoch(all_numbers(run))
        trial, ratio = trials[-1]
        phi = [rows - rows[0] for rows in problem.phi]
        w_gradient = trial.start.gradient + trial.w / 0.5
        z = np.concatenate(
            [
                project(before[4 * i : 4 * i + 4] + trial.beta * (problem.phi[i] @ trial.w + cost))
                for i, cost in enumerate(problem.costs)
            ]
        )
        np.testing.assert_allclose(trial.predicted_w, trial.w - trial.beta * w_gradient)
        G = sum(z[4 * i : 4 * i + 4] @ rows for i, rows in enumerate(phi))
        np.testing.assert_allclose(trial.predicted.gradient, G, atol=1e-12)
        change = trial.predicted_w - trial.w
        turns = [G + trial.predicted_w / 0.5 - w_gradient, *(p @ change for p in problem.phi)]
        distance = np.concatenate([change, z - before])
        expected = trial.beta * np.linalg.norm(np.concatenate(turns)) / np.linalg.norm(distance)
        assert ratio == pytest.approx(expected, rel=1e-9)


def test_the_dual_variant_steps_from_the_sums_of_gradients():
    """Of small steps by simplexes, beside the sums of the saddle function's gradients."""
    problem = random_problem(3)
    run = run_on(problem, **WAYS["dual"], beta=0.05)
    trials = recorded(run)
    phi = [rows - rows[0] for rows in problem.phi]

    def z_gradient(w):
        return [rows @ w + cost for rows, cost in zip(problem.phi, problem.costs, strict=True)]

    def mixed(z):
        return sum(weights @ rows for weights, rows in zip(z, phi, strict=True))

    s, t = np.zeros(6), [np.zeros(4) for _ in phi]
    z = [project(1e-6 * cost) for cost in problem.costs]
    for _ in range(25):  # some sums go below 0, where weights stop, and come back
        run.epoch(all_numbers(run))
        trial, ratio = trials[-1]
        w = clipped(s)
        gradients = mixed(z) + w / 0.5, z_gradient(w)
        new_w = clipped(w - trial.beta * gradients[0])
        steps = zip(z, gradients[1], strict=True)
        new_z = [project(weights + trial.beta * of_z) for weights, of_z in steps]
        new_gradients = mixed(new_z) + new_w / 0.5, z_gradient(new_w)
        s = s - trial.beta * new_gradients[0]
        t = [sums + trial.beta * of_z for sums, of_z in zip(t, new_gradients[1], strict=True)]
        np.testing.assert_allclose(trial.predicted_w, new_w, atol=1e-9)
        np.testing.assert_allclose(trial.predicted.gradient, mixed(new_z), atol=1e-9)
        turn = np.concatenate([(a - b).ravel() for a, b in zip_arrays(gradients, new_gradients)])
        way = np.concatenate([(a - b).ravel() for a, b in zip_arrays((w, z), (new_w, new_z))])
        expected = trial.beta * np.linalg.norm(turn) / np.linalg.norm(way)
        assert ratio == pytest.approx(expected, rel=1e-7)
        z = list(map(project, t))
        np.testing.assert_allclose(trial.corrected_w, clipped(s), atol=1e-9)
        np.testing.assert_allclose(trial.corrected.gradient, mixed(z), atol=1e-9)


def clipped(w):
    """The closest weights whose first three are not negative."""
    return np.concatenate([np.maximum(w[:3], 0), w[3:]])


def zip_arrays(*points):
    """Pairs of the arrays of points: of w, and of the z of each example."""
    return zip(*([w, *z] for w, z in points), strict=True)


def test_the_dual_variant_stores_nothing_for_parts():
    problem = random_problem(2)
    run = run_on(problem, **WAYS["dual"])
    run.epoch(all_numbers(run))
    held = [value for value in vars(run).values() if isinstance(value, np.ndarray)]
    assert max(array.size for array in held) == len(problem.phi) == 6  # as many as weights


def project(v):
    """The point of the simplex that is closest, by bisection."""
    low, high = v.min() - 1, v.max()
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(v - middle, 0).sum() > 1 else (low, middle)
    return np.maximum(v - low, 0)


@each_way
@compiled_only
def test_chains_end_at_the_optimum_of_the_quadratic_program(way):
    chains = naive.random_chains(1, K=3, rows=8, examples=8, length=3)
    value, _ = hinge_optimum(Referee(chains, C=0.5))
    run = started(Extragradient(C=0.5, **way, tolerance=1e-4), chains)
    for _ in range(400):
        run.epoch(all_numbers(run))
    assert run.objective().gap <= 1e-4
    assert run.objective().primal == pytest.approx(value, rel=1e-4)


@compiled_only
@pytest.mark.parametrize("projective", [True, False])
def test_trees_end_at_the_optimum(projective):
    primals = []
    for solver in (Extragradient, PairwiseFrankWolfe):
        run = solver(C=0.5, tolerance=2e-5).start(tree_problem(projective=projective))
        run.grow(2**10)
        for _ in range(400):
            run.epoch(np.arange(4))
        assert run.objective().gap <= 2e-5
        primals.append(run.objective().primal)
    assert primals[0] == pytest.approx(primals[1], rel=1e-4)


@each_way
@pytest.mark.parametrize("average", [False, True])
def test_forgotten_examples_count_no_more(way, average):
    problem = random_problem(3)
    run = run_on(problem, **way, average=average, iterations=300)
    run.epoch(all_numbers(run))
    run.forget(np.array([0, 4]))
    problem.forget(np.array([0, 4]))
    rest = random_problem(3)
    rest.phi, rest.costs = ([rows[i] for i in (1, 2, 3, 5)] for rows in (rest.phi, rest.costs))
    value, _ = optimum(rest, 0.5)
    assert run.dual <= value + 1e-6
    rest.gold = problem.gold[[1, 2, 3, 5]]
    run.problem = rest
    run.keep(np.array([1, 2, 3, 5]))
    assert run.dual <= value + 1e-6
    run.epoch(np.arange(4))
    assert run.objective().primal == pytest.approx(value, rel=3e-2)
    assert run.dual <= value + 1e-6


@each_way
def test_a_look_at_the_dual_does_not_change_the_average(way):
    """Also where examples have changed, so that z is measured again."""
    problem = random_problem(3)
    run = run_on(problem, **way, average=True)
    for _ in range(5):
        run.epoch(all_numbers(run))
    run.forget(np.array([0, 4]))
    problem.forget(np.array([0, 4]))
    w = run.w
    assert run.dual <= run.objective().primal
    np.testing.assert_array_equal(run.w, w)
    assert run.regularizer == pytest.approx(w @ w / 2)
    trials = recorded(run)
    run.epoch(all_numbers(run))
    np.testing.assert_allclose(run.w, trials[-1][0].predicted_w)  # it starts again


@each_way
def test_examples_that_come_later_join(way):
    problem = random_problem(3)
    phi, costs = problem.phi, problem.costs
    problem.phi, problem.costs = phi[:2], costs[:2]
    run = run_on(problem, **way, iterations=300)
    run.epoch(np.arange(2))
    problem.phi, problem.costs = phi, costs
    run.grow(0)
    value, _ = optimum(problem, 0.5)
    assert run.dual <= value + 1e-6
    run.epoch(np.arange(6))
    assert run.objective().primal == pytest.approx(value, rel=1e-3)


@each_way
@compiled_only
def test_partial_gold_is_completed_and_converges(way):
    chains = naive.Chains(3, 1, [[[0]], [[0]]], [[LOW], [1]])
    run = Extragradient(C=0.5, **way, tolerance=1e-3).start(partial_problem(chains))
    run.grow(1)
    for _ in range(300):
        run.epoch(np.arange(2))
        assert run.objective().gap >= -1e-9
    assert run.objective().gap <= 1e-3
    assert run.problem._completions.array.tolist() == [1, 1]


def test_structures_without_the_projection_are_refused():
    with pytest.raises(ValueError, match="needs projections onto the convex hull of structures"):
        Extragradient(projection="euclidean").start(tree_problem(projective=True))
