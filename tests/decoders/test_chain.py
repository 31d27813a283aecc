"""Chain decoders against enumeration, on drawn score tables full of ties and infinities."""

import brute
import numpy as np
import pytest
from chain_tables import checked, tables, whole
from hypothesis import given
from hypothesis import strategies as st
from marks import compiled_only

from spacy_ssvm.decoders.chain import (
    max_marginals,
    swap_gains,
    viterbi,
    viterbi_of_some,
)

pytestmark = pytest.mark.uncompiled

rounded = st.floats(-1e3, 1e3)


not_numbers = st.one_of(whole, whole, st.just(-np.inf), st.just(np.nan))


def decode(emissions, transitions):
    y = np.full(len(emissions), -1, dtype=np.int64)
    score = viterbi(emissions, transitions, y)
    return score, tuple(y.tolist())


@checked
@given(tables())
def test_viterbi_finds_the_best_score(drawn):
    emissions, transitions = drawn
    score, y = decode(emissions, transitions)
    assert score == brute.best_score(emissions, transitions)
    if score > -np.inf:
        assert brute.score(emissions, transitions, y) == score


@checked
@given(tables(scores=rounded))
def test_viterbi_finds_the_best_score_of_rounded_numbers(drawn):
    emissions, transitions = drawn
    score, y = decode(emissions, transitions)
    assert score == pytest.approx(brute.best_score(emissions, transitions), abs=1e-9)
    assert brute.score(emissions, transitions, y) == pytest.approx(score, abs=1e-9)


@checked
@given(tables())
def test_viterbi_breaks_ties_towards_the_smaller_label(drawn):
    """No label of the answer can be replaced by a smaller one at the same score."""
    emissions, transitions = drawn
    score, y = decode(emissions, transitions)
    if score == -np.inf:
        return
    for t in range(len(y)):
        for smaller in range(y[t]):
            other = (*y[:t], smaller, *y[t + 1 :])
            assert brute.score(emissions, transitions, other) < score


@checked
@given(tables(), st.sampled_from([0.25, 1.0, 40.0]))
def test_viterbi_without_prefixes_that_are_ruled_out_finds_the_same(drawn, scale):
    emissions, transitions = drawn
    emissions = scale * emissions
    y = np.full(len(emissions), -1, dtype=np.int64)
    score = viterbi_of_some(emissions, transitions, swap_gains(transitions), y)
    assert (score, tuple(y.tolist())) == decode(emissions, transitions)


@checked
@given(tables())
def test_gains_are_those_of_the_best_next_label(drawn):
    transitions = np.nan_to_num(drawn[1], nan=-np.inf, neginf=-np.inf)
    K = transitions.shape[1]
    following = np.vstack([transitions[:K].T, transitions[K + 1 :]])
    expected = np.full((K, K), -np.inf)
    for a in range(K):
        for b in range(K):
            for of_a, of_b in zip(following[:, a], following[:, b], strict=True):
                if of_b > -np.inf:
                    gain = of_b - of_a if of_a > -np.inf else np.inf
                    expected[a, b] = max(expected[a, b], gain)
    np.testing.assert_array_equal(swap_gains(drawn[1]), expected)


@compiled_only
@pytest.mark.parametrize("K", [30, 700])
def test_gains_of_many_labels(K):
    """Where most scores are 0, the others decide; where none is, gains would take too long."""
    random = np.random.default_rng(K)
    transitions = random.normal(size=(K + 2, K))
    transitions[:K][random.random((K, K)) < 0.97] = 0.0
    transitions[3, 5] = -np.inf
    gains = swap_gains(transitions)
    following = np.hstack([transitions[:K], transitions[K + 1 :].T])
    for a in (0, 3, K - 1):
        with np.errstate(invalid="ignore"):
            differences = following - following[a]
        differences[following == -np.inf] = -np.inf
        np.testing.assert_array_equal(gains[a], differences.max(axis=1))
    dense = random.normal(size=(900, 898))
    assert (swap_gains(dense) == np.inf).all()
    emissions, y = random.normal(size=(6, K)) * 3, np.empty(6, dtype=np.int64)
    score = viterbi_of_some(emissions, transitions, gains, y)
    assert (score, tuple(y.tolist())) == decode(emissions, transitions)


def test_viterbi_takes_label_0_where_all_are_alike():
    assert decode(np.zeros((4, 3)), np.zeros((5, 3))) == (0.0, (0, 0, 0, 0))


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("K", [1, 3])
def test_viterbi_scores_minus_infinity_where_every_sequence_is_forbidden(n, K):
    emissions, transitions = np.zeros((n, K)), np.zeros((K + 2, K))
    emissions[n - 1] = -np.inf
    score, y = decode(emissions, transitions)
    assert score == -np.inf
    assert all(0 <= label < K for label in y)  # of no meaning, but safe to look up


def test_viterbi_adds_start_and_end_scores_of_a_single_token():
    emissions = np.array([[1.0, 2.0]])
    transitions = np.array([[100.0, 100.0], [100.0, 100.0], [10.0, 20.0], [7.0, -30.0]])
    assert decode(emissions, transitions) == (18.0, (0,))


def test_decoders_of_an_empty_sequence():
    emissions, transitions = np.zeros((0, 2)), np.ones((4, 2))
    assert decode(emissions, transitions) == (0.0, ())
    assert max_marginals(emissions, transitions).shape == (0, 2)


@checked
@given(tables(scores=not_numbers))
def test_nan_forbids_a_label_or_a_transition(drawn):
    emissions, transitions = drawn
    without = [np.where(np.isnan(table), -np.inf, table) for table in drawn]
    score, y = decode(emissions, transitions)
    assert (score, y) == decode(*without)
    assert all(0 <= label < emissions.shape[1] for label in y)


@checked
@given(tables())
def test_decoders_leave_the_score_tables_alone(drawn):
    emissions, transitions = drawn
    before = emissions.copy(), transitions.copy()
    decode(emissions, transitions)
    max_marginals(emissions, transitions)
    np.testing.assert_array_equal(emissions, before[0])
    np.testing.assert_array_equal(transitions, before[1])


@checked
@given(tables())
def test_max_marginals_are_the_best_scores_through_each_label(drawn):
    emissions, transitions = drawn
    np.testing.assert_array_equal(
        max_marginals(emissions, transitions), brute.max_marginals(emissions, transitions)
    )


@checked
@given(tables(scores=rounded))
def test_max_marginals_of_rounded_numbers(drawn):
    emissions, transitions = drawn
    np.testing.assert_allclose(
        max_marginals(emissions, transitions),
        brute.max_marginals(emissions, transitions),
        atol=1e-9,
    )
