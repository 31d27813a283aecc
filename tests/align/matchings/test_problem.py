"""Examples of matchings as arrays: what is kept, forgotten and bounded."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_matchings import ALTERNATIVE, POSSIBLE, SURE, WRONG, SmallProblem, drawn, made
from tree_tables import checked

from spacy_ssvm.align.matchings.problem import MatchingProblem, limit_sure_links

pytestmark = pytest.mark.uncompiled


def check_same(problem, small):
    """A problem has the arrays of these pairs, and no others."""
    other = small.problem().examples()
    for name, array in problem.examples()._asdict().items():
        if name == "features":
            for one, two in zip(array, other.features, strict=True):
                np.testing.assert_array_equal(one, two)
        elif name != "completions":
            np.testing.assert_array_equal(array, getattr(other, name), err_msg=name)


def test_arrays():
    small = made([[SURE, WRONG]], [[]], [[WRONG], [POSSIBLE]], fertilities=(2, 3), costs=(2, 1))
    problem = small.problem()
    examples = problem.examples()
    assert examples.link_starts.tolist() == [0, 2, 2, 4]
    assert examples.source_words.tolist() == [1, 1, 2]
    assert examples.gold.tolist() == [SURE, WRONG, WRONG, POSSIBLE]
    assert examples.completions.tolist() == [True, False, False, False]
    assert examples.is_complete.tolist() == [True, True, False]
    assert examples.fertilities.tolist() == [2, 3]
    assert examples.costs.tolist() == [2.0, 1.0]
    assert problem.nonnegative == 3
    assert problem.number_of_examples == 3
    assert problem.number_of_weights(0) == 6
    assert problem.number_of_weights(9) == 12


@checked
@given(drawn(), drawn())
def test_examples_are_appended(first, second):
    pairs = [pair._replace(fertilities=first.fertilities, costs=first.examples[0].costs)
             for pair in second.examples]  # fmt: skip
    second = SmallProblem(pairs)
    problem = MatchingProblem(first.fertilities, costs=first.examples[0].costs)
    one, two = len(first.examples), len(second.examples)
    assert problem.append(*first.arrays()) == range(one)
    assert problem.append(*second.arrays()) == range(one, one + two)
    check_same(problem, SmallProblem([*first.examples, *pairs]))


@checked
@given(drawn(examples=4), st.data())
def test_some_examples_are_kept(small, data):
    problem = small.problem()
    numbers = data.draw(st.permutations(range(len(small.examples))))
    numbers = numbers[: data.draw(st.integers(1, len(numbers)))]
    problem.keep(np.array(numbers))
    check_same(problem, SmallProblem([small.examples[i] for i in numbers]))


def test_nothing_is_kept():
    problem = made([[SURE]], [[WRONG, SURE]]).problem()
    problem.keep(np.zeros(0, dtype=np.int64))
    assert problem.number_of_examples == 0
    assert problem.max_entries == 1
    small = made([[SURE]])
    assert problem.append(*small.arrays()) == range(1)
    check_same(problem, small)


def test_forgotten_examples_are_not_annotated():
    problem = made([[SURE]], [[WRONG, SURE]], [[]], [[WRONG]]).problem()
    problem.forget(range(1, 3))
    assert problem.examples().gold.tolist() == [SURE, POSSIBLE, POSSIBLE, WRONG]


def test_completions_of_partial_gold_are_forgotten():
    problem = made([[SURE]], [[POSSIBLE, SURE]], [[SURE, SURE]]).problem()
    assert problem.examples().is_complete.tolist() == [True, False, False]
    problem.examples().is_complete[:] = True
    problem.forget_completions()
    assert problem.examples().is_complete.tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("fertilities", "expected"),
    [((1, 1), [[3, 0, 3], [0, 2, 3], [0, 0, 3]]), ((2, 1), [[1, 0, 3], [0, 2, 3], [0, 0, 3]]),
     ((1, 3), [[3, 0, 3], [0, 2, 1], [0, 0, 1]]), ((2, 3), [[1, 0, 1], [0, 2, 1], [0, 0, 1]])],
)  # fmt: skip
def test_sure_links_that_do_not_fit_are_alternatives(fertilities, expected):
    gold = np.array([[1, 0, 1], [0, 2, 1], [0, 0, 1]], dtype=np.int32)
    given = gold.copy()
    limit_sure_links(gold, np.array(fertilities))
    assert ALTERNATIVE == 3
    assert gold.tolist() == expected
    small = made(given, fertilities=fertilities)
    flat = given.ravel().astype(np.int32)
    shapes, starts, rows, values, _ = small.arrays()
    problem = MatchingProblem(fertilities)
    problem.append(shapes, starts, rows, values, flat)
    assert problem.examples().gold.reshape(3, 3).tolist() == expected
    assert flat.tolist() == given.ravel().tolist(), "what was given stays as it was"


def test_the_bound_of_entries_is_reached_where_all_features_differ():
    """Two matchings of 2 x 2 words, with four links together; each link has its own features."""
    features = np.eye(4).reshape(2, 2, 4)
    pair = made([[SURE, WRONG], [WRONG, SURE]], rows=4).examples[0]._replace(features=features)
    assert SmallProblem([pair]).problem().max_entries == 4
    wide = SmallProblem([pair._replace(fertilities=(2, 2))]).problem()
    assert wide.max_entries == 2 * 4 + 2


def test_templates_of_rows():
    problem = MatchingProblem(templates=3)
    problem.row_templates = np.array([0, 2, 2], dtype=np.int32)
    assert problem.group_sizes.tolist() == [1, 0, 2]
    assert problem.row_templates.tolist() == [0, 2, 2]
    assert problem.shrink_after == 1
    assert problem.store.weights().templates.tolist() == [0, 2, 2]
    problem.store.w = np.ones(3)
    problem.reset_weights()
    assert len(problem.store.w) == 0
