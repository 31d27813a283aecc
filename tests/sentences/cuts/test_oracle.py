"""The oracle against enumeration, and learning from it."""

from dataclasses import replace

import clarabel
import numpy as np
import pytest
from conic_reference import solve_cone_program
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from marks import PLAIN, compiled_only
from oracles import dense, difference_of, gradient_of
from scipy import sparse
from small_cuts import Cuts, cuts, planted_cuts

from spacy_ssvm.lab.extragradient import Extragradient
from spacy_ssvm.lab.projections import with_projection
from spacy_ssvm.lab.projections.cut_points import project_cut
from spacy_ssvm.solvers.dual_coordinate_descent import DualCoordinateDescent
from spacy_ssvm.solvers.perceptron import Perceptron

pytestmark = pytest.mark.uncompiled

checked = settings(deadline=None, max_examples=30 if PLAIN else 200)

whole = st.integers(-3, 3).map(float)
gammas = st.sampled_from([0.0, 1.0, 2.0])


def weights(data, drawn):
    w = data.draw(arrays(float, drawn.size, elements=whole))
    w[: drawn.E] = abs(w[: drawn.E])
    return w


def ask(drawn, problem, i, w, gamma, complete=True):
    """Phi_i(y) as a dense vector, None without annotation; Delta_i(y); whether gold changed."""
    y, cost, recompleted = problem.structure.decode(problem.examples(), i, w, gamma, complete)
    if len(y) == 0:
        return None, cost, recompleted
    return dense(*difference_of(problem, i, y), drawn.size), cost, recompleted


def cost_of(problem, i, y):
    nodes = problem.examples().nodes
    gold = nodes.gold[nodes.token_starts[i] : nodes.token_starts[i + 1]]
    return nodes.costs[gold, list(y)].sum()


def completion(problem, i):
    nodes = problem.examples().nodes
    return nodes.completions[nodes.token_starts[i] : nodes.token_starts[i + 1]].tolist()


def allowed(problem, i, y):
    nodes = problem.examples().nodes
    gold = nodes.gold[nodes.token_starts[i] : nodes.token_starts[i + 1]]
    return bool(nodes.label_sets[gold, list(y)].all())


@checked
@given(st.data(), cuts(), gammas)
def test_the_violation_is_that_of_a_labeling_and_the_largest_of_two_labels(data, drawn, gamma):
    K = drawn.K
    costs = data.draw(arrays(float, (K, K), elements=st.sampled_from([0.0, 1.0, 3.0])))
    problem = drawn.problem(costs * (1 - np.eye(K)))
    w = weights(data, drawn)
    for i, gold in enumerate(drawn.gold):
        phi, cost, recompleted = ask(drawn, problem, i, w, gamma)
        assert not recompleted
        if not gold:
            assert phi is None
            continue
        candidates = [
            (drawn.vector(i, gold) - drawn.vector(i, y), cost_of(problem, i, y))
            for y in drawn.labelings(i)
        ]
        assert any(cost == delta and (phi == other).all() for other, delta in candidates)
        violation = gamma * cost - w @ phi
        best = max(gamma * delta - w @ other for other, delta in candidates)
        assert 0 <= violation <= best
        if K <= 2:
            assert violation == best


@checked
@given(st.data(), cuts(labels=(2, 2), sets=1))
def test_partial_gold_of_two_labels_is_completed_in_the_best_way(data, drawn):
    problem = drawn.problem()
    for _ in range(2):
        w = weights(data, drawn)
        for i, gold in enumerate(drawn.gold):
            before = completion(problem, i)
            phi, cost, recompleted = ask(drawn, problem, i, w, 1.0)
            if phi is None:
                assert set(gold) <= {problem.any_label}
                continue
            after = completion(problem, i)
            assert recompleted == (before != after)
            right = [y for y in drawn.labelings(i) if allowed(problem, i, y)]
            assert tuple(after) in right
            assert w @ drawn.vector(i, after) == max(w @ drawn.vector(i, y) for y in right)
            worst = max(w @ drawn.vector(i, y) + cost_of(problem, i, y) for y in drawn.labelings(i))
            assert cost - w @ phi == worst - w @ drawn.vector(i, after)


@checked
@given(st.data(), cuts(labels=(3, 3), sets=3))
def test_completions_of_more_labels_get_no_worse(data, drawn):
    problem = drawn.problem(sets=[[0, 1], [1, 2]])
    for _ in range(3):
        w = weights(data, drawn)
        for i in range(len(drawn.gold)):
            before = completion(problem, i)
            phi, cost, _ = ask(drawn, problem, i, w, 1.0)
            if phi is None:
                continue
            after = completion(problem, i)
            assert allowed(problem, i, after)
            assert cost - w @ phi >= 0
            if -1 not in before:
                assert w @ drawn.vector(i, after) >= w @ drawn.vector(i, before)
            kept = ask(drawn, problem, i, -w, 1.0, complete=False)
            assert not kept[2]
            assert completion(problem, i) == after


def parts_of(drawn, i, y):
    """The indicator vector of a labeling with two labels: nodes, then edges."""
    cut = [float(y[a] != y[b]) for a, b in drawn.edges[i]]
    return np.array([*map(float, y), *cut])


def move(drawn, problem, i, w, step, parts, complete=False):
    """The result of ``project``: a dense vector or None, the cost, and the direction."""
    problem = with_projection(problem)
    direction = np.full(len(parts), np.nan)
    arrays = problem.examples(), i, w, step, complete, parts, direction
    z, cost, _ = problem.structure.project(*arrays)
    if len(z) == 0:
        return None, cost, direction
    return dense(*gradient_of(problem, i, z), drawn.size), cost, direction


@checked
@given(st.data(), cuts(labels=(2, 2)))
def test_a_point_of_the_hull_has_the_features_cost_and_slopes_of_its_labelings(data, drawn):
    costs = data.draw(arrays(float, (2, 2), elements=st.sampled_from([0.0, 1.0, 3.0])))
    problem = drawn.problem(costs * (1 - np.eye(2)))
    w = weights(data, drawn)
    share = data.draw(st.sampled_from([0.0, 0.25, 1.0]))
    for i, gold in enumerate(drawn.gold):
        number = np.diff(with_projection(problem).part_starts)[i]
        right = np.full(number, 0.5)
        phi, cost, _ = move(drawn, problem, i, w, 0.0, right, complete=True)
        if not gold:
            assert phi is None
            continue
        assert not phi.any()
        assert cost == 0
        assert right.tolist() == parts_of(drawn, i, gold).tolist()
        for y in drawn.labelings(i):
            point = share * parts_of(drawn, i, y) + (1 - share) * right
            before = point.copy()
            phi, cost, direction = move(drawn, problem, i, w, 0.0, point)
            assert (point == before).all()
            difference = share * (drawn.vector(i, y) - drawn.vector(i, gold))
            assert (phi == difference).all()
            assert cost == share * cost_of(problem, i, y)
            assert direction @ (point - right) == pytest.approx(w @ difference + cost)
        assert (direction[len(gold) :] <= 0).all()


@checked
@given(st.data(), cuts(labels=(2, 2)), st.sampled_from([0.25, 2.0]))
def test_a_step_ends_at_the_closest_point_of_the_hull(data, drawn, step):
    problem = drawn.problem()
    w = weights(data, drawn)
    for i, gold in enumerate(drawn.gold):
        if not gold:
            continue
        before = parts_of(drawn, i, data.draw(st.sampled_from(drawn.labelings(i))))
        after = before.copy()
        phi, cost, direction = move(drawn, problem, i, w, step, after)
        for y in drawn.labelings(i):
            other = parts_of(drawn, i, y)
            assert (before + step * direction - after) @ (other - after) <= 1e-6
        again = after.copy()
        at, at_cost, _ = move(drawn, problem, i, w, 0.0, again)
        np.testing.assert_array_equal(phi, at)
        assert cost == at_cost
        expected = before + step * direction
        edges = np.array(drawn.edges[i], dtype=np.int64).reshape(-1, 2)
        project_cut(expected[: len(gold)], edges, expected[len(gold) :])
        np.testing.assert_array_equal(after, expected)


def test_a_completion_is_where_points_start():
    partial = replace(planted_cuts(), gold=[[2, 2, 2, k] for k in (0, 1, 0, 1, 0, 1)])
    problem = partial.problem()
    w = np.array([1.0, 0, 0, 0, 0, 0])
    parts = np.full(7, 0.5)
    phi, cost, _ = move(partial, problem, 1, w, 0.0, parts, complete=True)
    assert not phi.any()
    assert cost == 0
    assert parts.tolist() == [1, 1, 1, 1, 0, 0, 0]
    assert completion(problem, 1) == [1, 1, 1, 1]


def test_only_two_labels_have_a_projection():
    assert with_projection(planted_cuts(K=2).problem()).structure.project is not None
    assert with_projection(planted_cuts(K=3).problem()).structure.project is None


#: A triangle whose best labels are 1, 2, 1, with weights under which expansions of the best
#: labels of its nodes end at 0, 0, 0.
STUCK = Cuts(
    3, 1, 3, [[[0], [1], [2]]], [[(1, 0), (2, 0), (2, 1)]], [[[2.0], [4.0], [1.0]]], [[1, 2, 1]]
)
STUCK_WEIGHTS = np.array([1.0, 2, 5, 1, 3, 0, 4, 5, 5, 2])


def test_decoding_starts_from_gold_where_that_is_better():
    phi, _, _ = ask(STUCK, STUCK.problem(), 0, STUCK_WEIGHTS, 0.0)
    assert not phi.any()
    elsewhere = replace(STUCK, gold=[[2, 2, 2]])
    phi, cost, _ = ask(elsewhere, elsewhere.problem(), 0, STUCK_WEIGHTS, 0.0)
    assert (STUCK_WEIGHTS @ phi, cost) == (7 - 10, 3)


def test_a_completion_is_replaced_by_a_better_one_alone():
    partial = replace(STUCK, gold=[[3, 3, 4]])
    problem = partial.problem(sets=[[0, 1]])
    assert ask(partial, problem, 0, STUCK_WEIGHTS, 0.0)[2]
    assert completion(problem, 0) == [0, 0, 0]
    problem.examples().nodes.completions[:] = [1, 2, 1]
    assert not ask(partial, problem, 0, STUCK_WEIGHTS, 0.0)[2]
    assert completion(problem, 0) == [1, 2, 1]
    problem.examples().nodes.completions[:] = [2, 2, 1]
    assert ask(partial, problem, 0, STUCK_WEIGHTS, 0.0)[2]
    assert completion(problem, 0) == [0, 0, 0]


def test_negative_weights_of_edges_decode_as_0():
    drawn = planted_cuts(examples=1)
    problem = drawn.problem()
    w = np.array([-3.0, 2, 1, 0, 0, 1])
    clipped = np.maximum(w, [0, 0, -9, -9, -9, -9])
    one, other = ask(drawn, problem, 0, w, 1.0), ask(drawn, problem, 0, clipped, 1.0)
    np.testing.assert_array_equal(one[0], other[0])
    assert one[1] == other[1]


def mistakes(drawn, w):
    """How many examples are labeled otherwise than gold under w."""
    problem = drawn.problem()
    return sum(bool(ask(drawn, problem, i, w, 0.0)[0].any()) for i in range(len(drawn.gold)))


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize(
    "solver", [Perceptron(), DualCoordinateDescent(C=10.0)], ids=["perceptron", "descent"]
)
def test_what_edges_are_worth_is_learned(solver, K):
    """Nodes without features get the label of those that they are joined to."""
    drawn = planted_cuts(K=K)
    run = solver.start(drawn.problem())
    run.grow(drawn.rows)
    for _ in range(20):
        run.epoch(np.arange(len(drawn.gold)))
    assert run.w[0] > 0
    assert mistakes(drawn, run.w) == 0
    assert mistakes(drawn, np.where(np.arange(len(run.w)) < 2, 0, run.w)) > 0


@pytest.mark.parametrize(
    "solver",
    [
        DualCoordinateDescent(C=0.5, delta=1e-10, tolerance=0.0),
        pytest.param(
            Extragradient(C=0.5, projection="euclidean", tolerance=0.0), marks=compiled_only
        ),
        pytest.param(
            Extragradient(C=0.5, projection="euclidean", variant="dual", tolerance=0.0),
            marks=compiled_only,
        ),
    ],
    ids=["descent", "extragradient", "dual extragradient"],
)
def test_the_optimum_is_that_of_the_quadratic_program(solver):
    drawn = planted_cuts(examples=4)  # no gold edge is cut: the weights of edges stay positive
    C = solver.C
    run = solver.start(drawn.problem())
    run.grow(drawn.rows)
    for _ in range(300):
        run.epoch(np.arange(4))
    phi, delta, owners = [], [], []
    for i, gold in enumerate(drawn.gold):
        for y in drawn.labelings(i):
            phi.append(drawn.vector(i, gold) - drawn.vector(i, y))
            delta.append(float(np.not_equal(y, gold).sum()))
            owners.append(i)
    slack = np.equal.outer(owners, np.arange(4)).astype(float)
    is_squared = np.repeat(float(solver.loss_function.squared), 4)
    _, optimum = solve_cone_program(
        np.append(np.ones(drawn.size), 2 * C * is_squared),
        np.append(np.zeros(drawn.size), C * (1 - is_squared)),
        sparse.csc_array(-np.hstack([np.array(phi), slack])),
        -np.array(delta),
        [clarabel.NonnegativeConeT(len(delta))],
    )
    objective = run.objective()
    assert objective.primal == pytest.approx(optimum, rel=1e-6)
    assert objective.gap == pytest.approx(0, abs=1e-6)
