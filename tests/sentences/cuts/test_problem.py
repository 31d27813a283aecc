"""What a problem accepts, what it refuses and says, and the arrays it makes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_cuts import Cuts, cuts

from spacy_ssvm.chains.problem import hamming_costs
from spacy_ssvm.sentences.cuts.problem import CutProblem

pytestmark = pytest.mark.uncompiled

checked = settings(deadline=None, max_examples=100)

# Two graphs: three nodes with a triangle, and two nodes with an edge.
TWO = Cuts(
    3,
    2,
    6,
    [[[5, 0], [], [1]], [[1], [2]]],
    [[(0, 1), (2, 1), (0, 2)], [(1, 0)]],
    [[[0.5, 0], [0, 1], [2, 2]], [[1, 1]]],
    [[0, 1, 2], [0, 3]],
)


def arrays_of(problem):
    """The arrays that kernels read."""
    nodes, features, *edges = problem.examples()
    *of_features, table = features
    assert not any(map(len, table[:2]))  # rows have weights for all labels
    return [*nodes[:-1], *of_features, *edges]


def equal(problem, expected):
    for one, other in zip(arrays_of(problem), arrays_of(expected), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def changed(name, place, value):
    """The arguments of ``append`` with another value at one place of an array."""
    arrays = TWO.arrays()
    arrays[name][place] = value
    return arrays


def check_refused(arrays, message):
    problem = TWO.problem()
    with pytest.raises(ValueError, match=message):
        problem.append(**arrays)
    equal(problem, TWO.problem())  # what was refused leaves no trace


@pytest.mark.parametrize(
    ("name", "starts"),
    [
        ("node_starts", [1, 3, 5]),
        ("node_starts", [0, 3, 4]),
        ("node_starts", [0, 6, 5]),
        ("node_starts", []),
        ("edge_starts", [1, 3, 4]),
        ("edge_starts", [0, 3, 5]),
        ("edge_starts", [0, 5, 4]),
        ("edge_starts", []),
        ("feature_starts", [0, 2, 2, 3, 4, 6]),
    ],
)
def test_bad_starts_are_refused_by_name(name, starts):
    check_refused({**TWO.arrays(), name: np.array(starts, dtype=np.int64)}, name)


def test_examples_have_nodes_and_edges():
    arrays = {**TWO.arrays(), "edge_starts": np.array([0, 3, 3, 4])}
    check_refused(arrays, "2 examples with nodes, 3 with edges")


@pytest.mark.parametrize("end", [-1, 2, 4])
def test_an_edge_joins_nodes_of_its_example(end):
    check_refused(changed("edges", (3, 1), end), r"edge 0 of example 1: .*nodes.* not \[1, ")


def test_an_edge_joins_two_nodes():
    check_refused(changed("edges", (1, 0), 1), r"edge 1 of example 0: .*different.* not \[1, 1\]")


@pytest.mark.parametrize("value", [-0.5, np.nan, np.inf, 1e31])
def test_edge_features_are_neither_negative_nor_too_large(value):
    check_refused(changed("edge_features", (2, 1), value), r"edge 2 of example 0: .* not \[2.0, ")


@pytest.mark.parametrize(("name", "columns"), [("edges", 3), ("edge_features", 1)])
def test_edges_have_two_nodes_and_all_features(name, columns):
    arrays = TWO.arrays()
    arrays[name] = np.ones((4, columns), dtype=arrays[name].dtype)
    check_refused(arrays, rf"{name}: shape \(4, {columns}\), expected \(4, 2\)")


def test_as_many_edges_have_nodes_as_features():
    arrays = TWO.arrays()
    arrays["edge_features"] = arrays["edge_features"][:3]
    check_refused(arrays, "edge_features: shape")


@pytest.mark.parametrize("wrong", [-1, 4])
def test_gold_has_to_be_a_label_set_that_exists(wrong):
    check_refused(changed("gold", 1, wrong), "gold")


def test_rows_must_not_be_negative():
    check_refused(changed("rows", 1, -1), "rows")


def test_bad_settings_are_refused():
    with pytest.raises(ValueError, match="label"):
        CutProblem(0, 1)
    with pytest.raises(ValueError, match="edge_features"):
        CutProblem(2, -1)
    with pytest.raises(ValueError, match="costs"):
        CutProblem(2, 1, costs=np.ones((2, 2)))


def test_costs_are_hamming_by_default_and_kept_as_given():
    np.testing.assert_array_equal(CutProblem(3, 1).examples().nodes.costs[:3], hamming_costs(3))
    costs = np.array([[0, 2.0], [0.5, 0]])
    np.testing.assert_array_equal(CutProblem(2, 1, costs=costs).examples().nodes.costs[:2], costs)


def test_gold_may_be_a_set_of_labels():
    problem = CutProblem(3, 2)
    assert problem.any_label == problem.label_set([0, 1, 2]) == 3
    number = problem.label_set([0, 2])
    problem.append(**changed("gold", 1, number))
    nodes = problem.examples().nodes
    assert nodes.gold.tolist() == [0, number, 2, 0, 3]
    assert nodes.completions.tolist() == [0, -1, 2, 0, -1]
    nodes.completions[:] = 1
    problem.forget_completions()
    assert problem.examples().nodes.completions.tolist() == [0, -1, 2, 0, -1]


def test_the_arrays_are_as_kernels_expect_them():
    problem = TWO.problem()
    assert problem.append(**TWO.arrays()) == range(2, 4)
    _, features, edge_starts, edges, edge_features = problem.examples()
    assert all(array.flags.c_contiguous for array in arrays_of(problem))
    assert features.rows.tolist() == [5, 0, 1, 1, 2] * 2
    assert edge_starts.tolist() == [0, 3, 4, 7, 8]
    assert edges.tolist() == [[0, 1], [2, 1], [0, 2], [1, 0]] * 2
    assert edge_features.tolist() == [[0.5, 0], [0, 1], [2, 2], [1, 1]] * 2
    assert (edges.dtype, edge_features.dtype) == (np.int64, np.float64)


def test_forgetting_examples_takes_their_gold_away():
    problem = TWO.problem()
    problem.forget(range(1, 2))
    assert problem.examples().nodes.gold.tolist() == [0, 1, 2, 3, 3]


@checked
@given(st.data(), cuts())
def test_keeping_some_examples_equals_never_having_had_the_others(data, drawn):
    problem, expected = drawn.problem(), CutProblem(drawn.K, drawn.E)
    numbers = data.draw(st.lists(st.integers(0, len(drawn.gold) - 1), unique=True))
    problem.keep(np.array(numbers, dtype=np.int64))
    for i in numbers:
        expected.append(**drawn.part(i, i + 1).arrays())
    for times in (1, 2):
        assert problem.number_of_examples == len(numbers) * times
        equal(problem, expected)
        for i in numbers:
            for one in (problem, expected):
                one.append(**drawn.part(i, i + 1).arrays())


def test_the_number_of_weights_and_entries():
    problem = TWO.problem()
    assert problem.nonnegative == 2
    assert problem.number_of_weights(0) == 2
    assert problem.number_of_weights(7) == 2 + 21
    assert problem.max_entries == 2 + 2 * 3
    assert problem.max_expected_entries == problem.max_entries
    assert CutProblem(3, 2).max_entries == 2
