"""What a problem accepts and refuses, the arrays it makes, and how examples and rows leave it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_lattices import (
    SmallLattices,
    all_weights,
    checked,
    completion_of,
    difference_of,
    lattices,
    places,
    problem_with,
    random_lattices,
    seeds,
    whole_weights,
    written,
)

from spacy_ssvm.decoders.lattice import make_levels
from spacy_ssvm.lattices.layout import LabelParts
from spacy_ssvm.lattices.oracle import LATTICES, SPARSE_LATTICES, decode, expect
from spacy_ssvm.lattices.problem import LatticeProblem
from spacy_ssvm.weights.sparse import move

pytestmark = pytest.mark.uncompiled

# Two examples: three tokens with 2, 0 and 1 features, and one token with 1 feature.
ARRAYS = {
    "feature_starts": [0, 2, 2, 3, 4],
    "rows": [5, 0, 1, 1],
    "token_starts": [0, 3, 4],
    "candidate_starts": [0, 2, 3, 6, 8],
    "candidates": [2, 0, 1, 0, 1, 2, 1, 0],
    "allowed": [True, False, True, False, True, True, False, True],
}

TYPES = {"rows": np.int32, "candidates": np.int32, "allowed": np.bool_}


def empty_problem():
    """Three labels, two of which share a part."""
    parts = np.array([0, 3, 1, 3, 2], dtype=np.int32)
    labels = LabelParts(np.array([0, 2, 4, 5], dtype=np.int64), parts, 4)
    return LatticeProblem(labels, make_levels(3, [np.array([0, 0, 1]), np.array([0, 1, 2])]))


FIRST = (2 + 2) * 2 + (3 + 2) * 3  # the number of weights of steps


def append(problem, **changed):
    return problem.append(
        *(
            np.array(changed.get(name, values), dtype=TYPES.get(name, np.int64))
            for name, values in ARRAYS.items()
        )
    )


def arrays_of(problem):
    """The arrays of examples that kernels read."""
    examples = problem.examples()
    return [*examples[:5], examples.features.starts, examples.features.rows]


def assert_same(problem, expected):
    assert problem.number_of_examples == expected.number_of_examples
    for one, other in zip(arrays_of(problem), arrays_of(expected), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    assert problem.max_entries == expected.max_entries
    assert problem.max_expected_entries == expected.max_expected_entries


# --- What is accepted -------------------------------------------------------------------


def test_a_problem_needs_labels():
    none = np.zeros(0, dtype=np.int32)
    with pytest.raises(ValueError, match="at least one label"):
        LatticeProblem(LabelParts(np.zeros(1, dtype=np.int64), none, 0), make_levels(0, ()))


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
        ("candidate_starts", [1, 2, 3, 6, 8]),
        ("candidate_starts", [0, 2, 3, 6, 7]),
        ("candidate_starts", [0, 2, 3, 6, 9]),
        ("candidate_starts", [0, 3, 2, 6, 8]),
        ("candidate_starts", []),
    ],
)
def test_bad_starts_are_refused_by_name(name, starts):
    problem = empty_problem()
    with pytest.raises(ValueError, match=f"^{name}: must rise from 0 to"):
        append(problem, **{name: starts})
    assert problem.number_of_examples == 0


REFUSED = {
    "tokens": ({"feature_starts": [0, 2, 2, 4]}, "3 tokens with features, 4 in all"),
    "flags": ({"allowed": [True] * 7}, "7 flags for 8 candidates"),
    "label above": ({"candidates": [2, 0, 1, 0, 1, 3, 1, 0]}, "candidates: labels 0 to 2 exist"),
    "label below": ({"candidates": [2, 0, 1, 0, 1, -1, 1, 0]}, "candidates: labels 0 to 2 exist"),
    "row": ({"rows": [5, 0, -1, 1]}, "rows: must not be negative"),
    "twice": ({"candidates": [2, 2, 1, 0, 1, 2, 1, 0]}, "those of a token must be different"),
    "apart": ({"candidates": [2, 0, 1, 2, 1, 2, 1, 0]}, "those of a token must be different"),
    "no candidate": ({"candidate_starts": [0, 3, 3, 6, 8]}, "allowed: each token needs"),
    "none right": ({"allowed": [False, False, *[True] * 6]}, "allowed: each token needs"),
    "last wrong": ({"allowed": [*[True] * 6, False, False]}, "allowed: each token needs"),
}


@pytest.mark.parametrize(("changed", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_wrong_is_refused_and_leaves_no_trace(changed, message):
    problem, expected = empty_problem(), empty_problem()
    with pytest.raises(ValueError, match=message):
        append(problem, **changed)
    assert_same(problem, expected)
    append(problem)
    append(expected)
    with pytest.raises(ValueError, match=message):
        append(problem, **changed)
    assert_same(problem, expected)
    assert problem.number_of_weights(6) == expected.number_of_weights(6)


def test_tokens_may_share_candidates_and_have_them_in_any_order():
    problem = empty_problem()
    assert append(problem) == range(2)
    assert problem.examples().candidates.tolist() == ARRAYS["candidates"]


def test_appending_nothing_is_allowed():
    nothing = {name: [0] for name in ARRAYS} | {"rows": [], "candidates": [], "allowed": []}
    problem = empty_problem()
    assert append(problem, **nothing) == range(0)
    assert append(problem, **nothing | {"token_starts": [0, 0]}) == range(1)  # without tokens
    assert append(problem) == range(1, 3)
    assert problem.number_of_examples == 3
    assert len(decode(problem.examples(), 0, np.zeros(FIRST), 1.0, True)[0]) == 0


@checked
@given(lattices(examples=5), st.lists(st.integers(0, 5), max_size=3))
def test_appending_in_batches_equals_appending_at_once(small, cuts):
    number = len(small.examples)
    in_batches = small.empty_problem()
    cuts = sorted(min(cut, number) for cut in cuts)
    for first, last in zip([0, *cuts], [*cuts, number], strict=True):
        numbers = range(first, last)
        assert in_batches.append(*small.some(numbers).arrays()) == numbers
    assert_same(in_batches, small.problem())


@checked
@given(lattices())
def test_the_arrays_are_as_kernels_expect_them(small):
    problem = small.problem()
    examples = problem.examples()
    types = [np.int64, np.int64, np.int32, np.bool_, np.int64, np.int64, np.int32]
    for array, expected in zip(arrays_of(problem), types, strict=True):
        assert array.dtype == expected
        assert array.flags.c_contiguous
    for i in small.examples:
        first, last = examples.token_starts[i : i + 2]
        assert last - first == len(small.features[i])
        for t in range(last - first):
            start, end = examples.features.starts[first + t : first + t + 2]
            assert examples.features.rows[start:end].tolist() == small.features[i][t]
            start, end = examples.candidate_starts[first + t : first + t + 2]
            assert examples.candidates[start:end].tolist() == small.candidates[i][t]
            flags = small.allowed[i][t]
            assert examples.allowed[start:end].tolist() == flags
            gold = flags.index(True) if sum(flags) == 1 else -1
            assert examples.completions[first + t] == gold
    for label, parts in enumerate(small.parts):
        start, end = examples.labels.starts[label : label + 2]
        assert examples.labels.parts[start:end].tolist() == parts


# --- Sizes ------------------------------------------------------------------------------


def test_the_number_of_weights():
    problem = empty_problem()
    assert problem.number_of_weights(0) == FIRST
    assert problem.number_of_weights(7) == FIRST + 7 * 4
    problem.allocate(lazily=True)
    assert problem.number_of_weights(7) == FIRST


@checked
@given(lattices(), seeds, st.booleans())
def test_no_difference_has_more_entries_than_the_problem_says(small, seed, lazily):
    """Nor does one write more before what cancels out is dropped: see ``written``."""
    w = whole_weights(small, seed)
    problem, laid_out = problem_with(small, w, lazily=lazily)
    for i in small.examples:
        decode(problem.examples(), i, laid_out, 1.0, False)
    for i in small.examples:
        if small.is_annotated(i):
            for y in small.structures(i):
                assert len(difference_of(small, problem, i, y)) <= problem.max_entries


def write_expected(problem, i, w):
    """The number of entries of a gradient."""
    z = expect(problem.examples(), i, w, 1.0, 0.0, False)[0]
    oracle, room = problem.structure.expected_difference, problem.max_expected_entries
    return written(oracle, problem.examples(), i, z, room, np.float64)[0]


@checked
@given(lattices(), seeds)
def test_no_expectation_has_more_entries_than_the_problem_says(small, seed):
    problem, w = small.problem(), whole_weights(small, seed).astype(float)
    for i in small.examples:
        if small.is_annotated(i):
            assert 0 <= write_expected(problem, i, w) <= problem.max_expected_entries


def test_the_largest_sizes_can_be_met():
    """All steps and parts differ, and no two weights are one."""
    small = SmallLattices(
        [[0, 1], [2, 3], [4, 5]],
        6,
        [[0, 1, 2]],
        3,
        [[[0], [1]], [[2]]],
        [[[0, 1], [2, 0]], [[0, 1]]],
        [[[True, False], [True, False]], [[True, False]]],
    )
    problem = small.problem()
    assert len(difference_of(small, problem, 0, [1, 1])) == problem.max_entries == 6 + 2 * 2 * 2
    # Steps: 4 pairs, 2 starts and 2 ends; features: of 2 tokens, but the table has 6 parts.
    assert problem.max_expected_entries == 4 + 2 * 4 + 2 * 6
    w = np.zeros(small.size)
    assert write_expected(problem, 0, w) == 4 + 2 + 2 + 4 + 4


@checked
@given(lattices(examples=5), st.data())
def test_sizes_follow_the_examples_that_are_there(small, data):
    problem = small.problem()
    numbers = data.draw(st.lists(st.sampled_from(small.examples), unique=True))
    problem.keep(np.array(numbers, dtype=np.int64))
    expected = small.some(numbers).problem() if numbers else small.empty_problem()
    assert problem.max_entries == expected.max_entries <= small.problem().max_entries
    assert problem.max_expected_entries == expected.max_expected_entries


# --- Examples that leave ----------------------------------------------------------------


@checked
@given(lattices(examples=5), st.data())
def test_keeping_some_examples_equals_never_having_had_the_others(small, data):
    problem, expected = small.problem(), small.empty_problem()
    numbers = data.draw(st.lists(st.sampled_from(small.examples), unique=True))
    problem.keep(np.array(numbers, dtype=np.int64))
    for times in (1, 2):
        for i in numbers:
            expected.append(*small.some([i]).arrays())
        assert problem.number_of_examples == len(numbers) * times
        assert_same(problem, expected)
        for i in numbers:
            problem.append(*small.some([i]).arrays())


def test_examples_that_are_kept_keep_their_completions():
    small = random_lattices(5, partial=0.6)
    problem, w = small.problem(), whole_weights(small, 1).astype(float)
    for i in small.examples:
        decode(problem.examples(), i, w, 1.0, False)
    numbers = [4, 0, 3]
    expected = [completion_of(small, problem, i) for i in numbers]
    assert any(small.is_partial(i) and small.is_annotated(i) for i in numbers)
    problem.keep(np.array(numbers))
    assert [completion_of(small, problem, i) for i in range(3)] == expected


@checked
@given(lattices(examples=4), st.data())
def test_forgetting_examples_takes_their_annotation_away(small, data):
    problem, w = small.problem(), np.zeros(small.size)
    first = data.draw(st.sampled_from(small.examples))
    last = data.draw(st.integers(first, len(small.examples)))
    problem.forget(range(first, last))
    for i in small.examples:
        gone = first <= i < last
        found = [len(decode(problem.examples(), i, w, 1.0, c)[0]) for c in (False, True)]
        length = len(small.features[i]) if small.is_annotated(i) and not gone else 0
        assert found == [length] * 2
        assert len(expect(problem.examples(), i, w, 1.0, 0.0, True)[0]) == 0 or not gone
    assert problem.number_of_examples == len(small.examples)


def test_a_forgotten_example_allows_all_its_candidates_and_the_others_stay():
    problem = empty_problem()
    append(problem)
    append(problem)
    problem.forget(range(1, 3))
    allowed = ARRAYS["allowed"]
    expected = [*allowed[:6], *[True] * 2, *[True] * 6, *allowed[6:]]
    assert problem.examples().allowed.tolist() == expected
    w = np.zeros(problem.number_of_weights(6))
    lengths = [len(decode(problem.examples(), i, w, 1.0, True)[0]) for i in range(4)]
    assert lengths == [3, 0, 0, 1]


@checked
@given(lattices(), seeds, seeds)
def test_completions_are_made_anew_once_they_are_forgotten(small, first, second):
    problem, expected = small.problem(), small.problem()
    w = [whole_weights(small, seed).astype(float) for seed in (first, second)]
    for i in small.examples:
        decode(problem.examples(), i, w[0], 1.0, True)
    problem.forget_completions()
    assert_same(problem, expected)
    for i in small.examples:
        found = [decode(p.examples(), i, w[1], 1.0, False) for p in (problem, expected)]
        assert found[0][1:] == found[1][1:]
    assert_same(problem, expected)


# --- Rows -------------------------------------------------------------------------------


def test_rows_are_in_use_where_a_token_has_them():
    problem = empty_problem()
    append(problem)
    assert (problem.count_rows(7) > 0).tolist() == [True, True, False, False, False, True, False]


@checked
@given(lattices(), seeds, st.booleans(), st.data())
def test_rows_that_nobody_uses_can_leave(small, seed, lazily, data):
    w = whole_weights(small, seed)
    problem, laid_out = problem_with(small, w, lazily=lazily)
    kept = problem.count_rows(small.rows) > 0
    used = {row for example in small.features for token in example for row in token}
    assert set(np.flatnonzero(kept).tolist()) == used
    kept |= np.array(data.draw(st.lists(st.booleans(), min_size=small.rows, max_size=small.rows)))
    laid_out = move(laid_out, problem.keep_rows(kept))
    new_rows = np.cumsum(kept) - 1
    features = [[[int(new_rows[row]) for row in token] for token in e] for e in small.features]
    left = SmallLattices(**{**vars(small), "rows": int(kept.sum()), "features": features})
    laid_out = np.append(laid_out, np.zeros(problem.number_of_weights(left.rows) - len(laid_out)))
    first = small.level_starts[-1]
    of_rows = w[first:].reshape(small.rows, small.P)[kept]
    expected = np.append(w[:first], of_rows)
    np.testing.assert_array_equal(all_weights(left, problem, laid_out), expected)
    found = [decode(problem.examples(), i, laid_out, 1.0, True) for i in left.examples]
    for i, (y, cost, _) in enumerate(found):
        if left.is_annotated(i):
            scores = {y: left.score(i, y, expected) + left.cost(i, y) for y in left.structures(i)}
            assert scores[tuple(y.tolist())] == max(scores.values())
            assert cost == left.cost(i, y)
            gold = completion_of(left, problem, i)
            assert difference_of(left, problem, i, y) == left.difference(i, gold, y)


@checked
@given(lattices(), seeds, st.booleans())
def test_rows_are_measured_by_their_largest_weight(small, seed, lazily):
    w = whole_weights(small, seed)
    problem, laid_out = problem_with(small, w, lazily=lazily)
    largest, sizes = problem.measure_rows(laid_out, small.rows)
    of_rows = np.abs(w[small.level_starts[-1] :]).reshape(small.rows, small.P)
    np.testing.assert_array_equal(largest, of_rows.max(axis=1))
    there = list(places(small, problem).values())
    first = small.level_starts[-1]
    for row in range(small.rows):
        start = first + row * small.P
        number = sum(start <= place < start + small.P for place in there)
        assert sizes[row] == number
        assert sizes[row] >= (of_rows[row] > 0).sum()


# --- Stores -----------------------------------------------------------------------------


def test_where_weights_are_allocated_decides_on_the_structure_and_the_groups():
    problem = empty_problem()
    append(problem)
    problem.row_templates = np.array([0, 0, 1, 2, 2, 2], dtype=np.int32)
    assert problem.structure is LATTICES
    assert not problem.structure.is_lazy
    assert problem.group_sizes.tolist() == [8, 4, 12]
    assert problem.store.weights().first == FIRST
    assert problem.reserve() is None
    problem.allocate(lazily=True)
    assert problem.structure is SPARSE_LATTICES
    assert problem.structure.is_lazy
    with pytest.raises(ValueError, match="have no groups"):
        problem.store  # noqa: B018
    problem.allocate(lazily=False)
    assert problem.structure is LATTICES
    assert problem.store.row_features().tolist() == list(range(6))


def test_a_copy_allocates_weights_of_its_own():
    small = random_lattices(2)
    problem = small.problem(lazily=True)
    i = next(i for i in small.examples if small.is_annotated(i))
    other = problem.with_own_weights()
    for y in small.structures(i):
        difference_of(small, other, i, y)
    first = small.level_starts[-1]
    assert other.number_of_weights(small.rows) > first
    assert problem.number_of_weights(small.rows) == first
    assert not problem.table.blocks.any()
    assert_same(problem, other)


@pytest.mark.parametrize("lazily", [False, True])
def test_inserted_weights_are_those_that_are_read(lazily):
    small = random_lattices(4, P=16, rows=5)
    problem = small.problem(lazily=lazily)
    parts = [[3, 7], [], [0, 1, 2, 3, 4, 5, 6], [15], [2, 9]]
    starts = np.cumsum([0, *map(len, parts)])
    labels = np.array([part for own in parts for part in own], dtype=np.uint16)
    entries = problem.insert(starts, labels)
    first = small.level_starts[-1]
    w = np.zeros(problem.number_of_weights(small.rows))
    w[first + entries] = np.arange(1, len(labels) + 1)
    expected = np.zeros((5, 16))
    expected[np.repeat(np.arange(5), np.diff(starts)), labels] = np.arange(1, len(labels) + 1)
    np.testing.assert_array_equal(all_weights(small, problem, w)[first:].reshape(5, 16), expected)
