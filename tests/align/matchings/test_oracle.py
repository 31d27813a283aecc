"""What solvers ask about examples of matchings, against enumeration."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import dense, violator
from small_matchings import (
    ALTERNATIVE,
    POSSIBLE,
    SURE,
    WRONG,
    completion_of,
    drawn,
    made,
    whole_weights,
)
from tree_tables import checked

from spacy_ssvm.align.matchings.oracle import MATCHINGS

pytestmark = pytest.mark.uncompiled


def decode(problem, i, w, *, gamma=1.0, complete=False):
    """(dense Phi, Delta, whether the completion changed)."""
    indices, values, cost, changed = violator(problem, i, w, gamma, complete=complete)
    return dense(indices, values, len(w)), cost, changed


@checked
@given(drawn(), st.randoms(use_true_random=False), st.sampled_from([0.0, 1.0, 2.0]))
def test_the_largest_violation_is_found(small, random, gamma):
    """Phi and Delta belong to a matching that has it, and to the best gold-consistent one."""
    problem, w = small.problem(), whole_weights(small, random)
    for i, example in enumerate(small.examples):
        if not example.is_annotated:
            continue
        phi, cost, changed = decode(problem, i, w, gamma=gamma)
        completion = completion_of(problem, i)
        assert changed == example.is_partial
        example.check_completion(completion, w)
        candidates = example.matchings
        violations = gamma * example.costs_of(candidates) + example.phi(candidates) @ w
        assert gamma * cost - phi @ w == violations.max() - example.phi(completion[None])[0] @ w
        differences = example.phi(completion[None]) - example.phi(candidates)
        rows = np.column_stack([differences, example.costs_of(candidates)])
        assert np.any(np.all(rows == np.append(phi, cost), axis=1)), "of one and the same matching"


@checked
@given(drawn(), st.randoms(use_true_random=False))
def test_completions_change_when_they_are_asked_for(small, random):
    problem = small.problem()
    first, second = whole_weights(small, random), whole_weights(small, random)
    for i, example in enumerate(small.examples):
        if not example.is_annotated:
            continue
        decode(problem, i, first)
        before = completion_of(problem, i).copy()
        assert not decode(problem, i, second, complete=False)[2]
        np.testing.assert_array_equal(completion_of(problem, i), before)
        _, _, changed = decode(problem, i, second, complete=True)
        after = completion_of(problem, i)
        assert changed == (not np.array_equal(before, after))
        example.check_completion(after, second)


def test_what_is_not_annotated():
    """Possible links alone tell nothing, and neither do sides without words."""
    small = made([[POSSIBLE, POSSIBLE]], [[]], np.zeros((0, 2)), [[WRONG]], fertilities=(2, 1))
    problem, w = small.problem(), np.zeros(small.size)
    for i, length in enumerate((0, 0, 0, 1)):
        y, *rest = MATCHINGS.decode(problem.examples(), i, w, 0.0, True)
        assert (y.tolist(), rest) == ([0] * length, [0.0, False])


def test_sure_links_are_in_the_completion_whatever_further_links_cost():
    """Two links of a word that both are sure, where a second one is very dear."""
    small = made([[SURE, SURE, POSSIBLE]], fertilities=(2, 1))
    problem = small.problem()
    w = np.zeros(small.size)
    w[0] = 1000.0
    decode(problem, 0, w, complete=True)
    assert completion_of(problem, 0).tolist() == [[True, True, False]]


def test_as_many_alternatives_as_fit_are_in_the_completion():
    """Also where further links are dear; a sure link comes first."""
    gold = [[SURE, SURE, WRONG], [SURE, WRONG, SURE]]
    small = made(gold, fertilities=(1, 1))
    (example,) = small.examples
    assert example.gold.tolist() == [
        [ALTERNATIVE, ALTERNATIVE, WRONG],
        [ALTERNATIVE, WRONG, ALTERNATIVE],
    ]
    problem = small.problem()
    decode(problem, 0, -np.ones(small.size), complete=True)
    assert completion_of(problem, 0).sum() == 2
    small = made([[SURE] * 3 + [WRONG], [SURE] * 3 + [WRONG]], fertilities=(2, 2))
    problem = small.problem()
    w = np.zeros(small.size)
    w[:2] = 50.0
    decode(problem, 0, w, complete=True)
    assert completion_of(problem, 0).sum() == 4
