"""What a problem accepts, what it refuses and says, and the arrays it makes."""

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_ssvm.chains.problem import ChainProblem, hamming_costs

pytestmark = pytest.mark.uncompiled

checked = settings(deadline=None, max_examples=100)


# Two examples: three tokens with 2, 0 and 1 features, and one token with 1 feature.
FEATURE_STARTS = [0, 2, 2, 3, 4]


ROWS = [5, 0, 1, 1]


TOKEN_STARTS = [0, 3, 4]


GOLD = [0, 1, 2, 0]


def arrays_of(problem):
    """The arrays that kernels read, those of features last."""
    *arrays, features = problem.examples()
    *of_features, table = features
    assert not any(map(len, table[:2]))  # rows have weights for all labels
    return [*arrays, *of_features]


def append(problem, feature_starts=FEATURE_STARTS, rows=ROWS, token_starts=TOKEN_STARTS, gold=GOLD):
    return problem.append(
        np.array(feature_starts, dtype=np.int64),
        np.array(rows, dtype=np.int32),
        np.array(token_starts, dtype=np.int64),
        np.array(gold, dtype=np.int64),
    )


def changed(values, place, value):
    values = values.copy()
    values[place] = value
    return values


@pytest.mark.parametrize(
    "costs",
    [
        changed(hamming_costs(3), (0, 1), np.nan),
        changed(hamming_costs(3), (0, 1), np.inf),
        changed(hamming_costs(3), (2, 0), -0.5),
        changed(hamming_costs(3), (1, 1), 1.0),
        hamming_costs(2),
        np.zeros(3),
    ],
    ids=["nan", "infinite", "negative", "diagonal", "too few labels", "one axis"],
)
def test_bad_costs_are_refused(costs):
    with pytest.raises(ValueError, match=r"^costs"):
        ChainProblem(3, costs=costs)


@pytest.mark.parametrize(
    "legality",
    [
        changed(np.zeros((5, 3)), (0, 1), np.nan),
        changed(np.zeros((5, 3)), (0, 1), np.inf),
        changed(np.zeros((5, 3)), (4, 2), -1.0),
        changed(np.zeros((5, 3)), (4, 2), 0.5),
        np.zeros((3, 3)),
        np.zeros((5, 2)),
    ],
    ids=["nan", "infinite", "negative", "positive", "without start and end", "too few labels"],
)
def test_bad_legality_is_refused(legality):
    with pytest.raises(ValueError, match=r"^legality"):
        ChainProblem(3, legality=legality)


def test_a_problem_needs_labels():
    with pytest.raises(ValueError, match="label"):
        ChainProblem(0)


def test_costs_are_hamming_and_everything_is_legal_by_default():
    examples = ChainProblem(3).examples()
    assert examples.costs[:3].tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    assert not examples.legality.any()


def test_legality_and_costs_are_kept_as_given():
    costs = np.array([[0, 2, 1], [3, 0, 0], [0.5, 1, 0]])
    legality = changed(np.zeros((5, 3)), (3, 1), -np.inf)
    examples = ChainProblem(3, costs=costs, legality=legality).examples()
    np.testing.assert_array_equal(examples.costs[:3], costs)
    np.testing.assert_array_equal(examples.legality, legality)


@pytest.mark.parametrize(
    ("name", "starts"),
    [
        ("feature_starts", [1, 2, 2, 3, 4]),
        ("feature_starts", [0, 2, 2, 3, 5]),
        ("feature_starts", [0, 2, 2, 3, 3]),
        ("feature_starts", [0, 3, 2, 3, 4]),
        ("feature_starts", []),
        ("token_starts", [1, 3, 4]),
        ("token_starts", [0, 3, 5]),
        ("token_starts", [0, 3]),
        ("token_starts", [0, 5, 4]),
        ("token_starts", []),
    ],
)
def test_bad_starts_are_refused_by_name(name, starts):
    problem = ChainProblem(3)
    with pytest.raises(ValueError, match=name):
        append(problem, **{name: starts})
    assert problem.number_of_examples == 0


def test_as_many_tokens_need_features_as_gold():
    with pytest.raises(ValueError, match=r"3 tokens with features, 4 in all"):
        append(ChainProblem(3), feature_starts=[0, 2, 2, 4])


@pytest.mark.parametrize("wrong", [-1, 4, 100])
def test_gold_has_to_be_a_label_set_that_exists(wrong):
    with pytest.raises(ValueError, match="gold"):
        append(ChainProblem(3), gold=[0, wrong, 2, 0])


def test_a_label_set_may_be_gold_once_it_exists():
    problem = ChainProblem(3)
    number = problem.label_set([0, 2])
    append(problem, gold=[0, number, 2, 0])
    assert problem.examples().gold.tolist() == [0, number, 2, 0]


def test_rows_must_not_be_negative():
    with pytest.raises(ValueError, match="rows"):
        append(ChainProblem(3), rows=[5, 0, -1, 1])


@pytest.mark.parametrize(
    ("reals", "message"),
    [
        (np.zeros((4, 1), dtype=np.float32), r"shape \(4, 1\), expected \(4, 2\)"),
        (np.zeros((3, 2), dtype=np.float32), r"shape \(3, 2\), expected \(4, 2\)"),
        (None, r"shape \(4, 0\), expected \(4, 2\)"),
        (np.full((4, 2), np.nan, dtype=np.float32), "must be finite"),
    ],
)
def test_bad_real_values_are_refused(reals, message):
    problem = ChainProblem(3)
    problem.real_rows = np.array([7, 8], dtype=np.int32)
    arrays = [np.array(a) for a in (FEATURE_STARTS, ROWS, TOKEN_STARTS, GOLD)]
    with pytest.raises(ValueError, match=f"^reals: {message}"):
        problem.append(*arrays, reals)
    assert problem.number_of_examples == 0


def test_what_was_refused_leaves_no_trace():
    problem = ChainProblem(3)
    append(problem)
    before = [array.copy() for array in arrays_of(problem)]
    with pytest.raises(ValueError, match="rows"):
        append(problem, rows=[5, 0, -1, 1])
    for array, kept in zip(arrays_of(problem), before, strict=True):
        np.testing.assert_array_equal(array, kept)


def test_appending_nothing_is_allowed():
    problem = ChainProblem(2)
    assert append(problem, [0], [], [0], []) == range(0)
    assert append(problem, [0], [], [0, 0], []) == range(1)  # an example without tokens
    assert problem.number_of_examples == 1


@checked
@given(naive.chains(), st.lists(st.integers(0, 4), max_size=3))
def test_appending_in_batches_equals_appending_at_once(chains, cuts):
    at_once, in_batches = ChainProblem(chains.K), ChainProblem(chains.K)
    number = len(chains.features)
    assert append(at_once, *chains.arrays()) == range(number)
    cuts = sorted(min(cut, number) for cut in cuts)
    for first, last in zip([0, *cuts], [*cuts, number], strict=True):
        assert append(in_batches, *chains.part(first, last).arrays()) == range(first, last)
    assert in_batches.number_of_examples == at_once.number_of_examples == number
    for one, other in zip(arrays_of(in_batches), arrays_of(at_once), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


@checked
@given(naive.chains())
def test_the_arrays_are_as_kernels_expect_them(chains):
    problem = ChainProblem(chains.K)
    append(problem, *chains.arrays())
    problem.label_set(range(chains.K))
    problem.label_set([0])
    types = [np.int64, np.int64, np.int64, np.bool_, np.float64, np.float64]
    types += [np.int64, np.int32, np.float32, np.int32]  # of features
    for array, expected in zip(arrays_of(problem), types, strict=True):
        assert array.dtype == expected
        assert array.flags.c_contiguous
    examples = problem.examples()
    for i, tokens in enumerate(chains.features):
        first = examples.token_starts[i]
        for t, rows in enumerate(tokens, start=first):
            start, end = examples.features.starts[t : t + 2]
            assert examples.features.rows[start:end].tolist() == rows
            assert examples.gold[t] == chains.gold[i][t - first]


def test_the_first_label_sets_allow_one_label_each_and_the_next_all():
    problem = ChainProblem(3)
    assert [problem.label_set([k]) for k in range(3)] == [0, 1, 2]
    assert problem.label_set([2, 0, 1]) == problem.any_label == 3
    assert problem.examples().label_sets.tolist() == [
        [True, False, False],
        [False, True, False],
        [False, False, True],
        [True, True, True],
    ]


def test_a_label_set_has_one_number():
    problem = ChainProblem(4)
    number = problem.label_set([1, 3])
    assert problem.label_set([3, 1, 1]) == number
    assert problem.label_set([1, 2]) == number + 1
    assert problem.examples().label_sets[number].tolist() == [False, True, False, True]


def test_a_label_set_allows_at_least_one_label():
    with pytest.raises(ValueError, match="at least one label"):
        ChainProblem(3).label_set([])


@pytest.mark.parametrize("label", [3, -1])
def test_a_label_set_holds_labels_that_exist(label):
    with pytest.raises((ValueError, IndexError)):
        ChainProblem(3).label_set([0, label])


@checked
@given(st.data())
def test_a_label_set_costs_the_least_of_its_labels(data):
    K = data.draw(st.integers(1, 4))
    costs = np.array(data.draw(st.lists(st.integers(0, 9), min_size=K * K, max_size=K * K)), float)
    costs = costs.reshape(K, K) * (1 - np.eye(K))
    problem = ChainProblem(K, costs=costs)
    allowed = data.draw(st.sets(st.integers(0, K - 1), min_size=1))
    number = problem.label_set(sorted(allowed))
    for label in range(K):
        cost = 0 if label in allowed else min(costs[wanted, label] for wanted in allowed)
        assert problem.examples().costs[number, label] == cost


def test_no_annotation_costs_nothing():
    problem = ChainProblem(3)
    assert problem.examples().costs[problem.any_label].tolist() == [0, 0, 0]


def test_forgetting_examples_takes_their_gold_away():
    problem = ChainProblem(3)
    append(problem)
    append(problem)
    problem.forget(range(1, 3))
    assert problem.examples().gold.tolist() == [0, 1, 2, 3, 3, 3, 3, 0]


@checked
@given(st.data(), naive.chains())
def test_keeping_some_examples_equals_never_having_had_the_others(data, chains):
    problem, expected = ChainProblem(chains.K), ChainProblem(chains.K)
    append(problem, *chains.arrays())
    numbers = data.draw(st.lists(st.integers(0, len(chains.features) - 1), unique=True))
    problem.keep(np.array(numbers, dtype=np.int64))
    for i in numbers:
        append(expected, *chains.part(i, i + 1).arrays())
    for times in (1, 2):
        assert problem.number_of_examples == len(numbers) * times
        for one, other in zip(arrays_of(problem), arrays_of(expected), strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
        for i in numbers:
            append(problem, *chains.part(i, i + 1).arrays())
            append(expected, *chains.part(i, i + 1).arrays())


def test_the_number_of_weights():
    assert ChainProblem(3).number_of_weights(0) == 15
    assert ChainProblem(3).number_of_weights(7) == 15 + 21
