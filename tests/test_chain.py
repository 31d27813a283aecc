"""Chain decoders against enumeration, on drawn score tables full of ties and infinities."""

import brute
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from marks import PLAIN

from spacy_ssvm.chains.schemes import Scheme
from spacy_ssvm.decoders.chain import k_best, max_marginals, viterbi
from spacy_ssvm.decoders.chain_marginals import (
    _log_marginals,
    exponentials,
    log_partition,
    marginals,
)

pytestmark = pytest.mark.uncompiled

checked = settings(deadline=None, max_examples=50 if PLAIN else 300)

# Whole numbers add up exactly, whatever the order, so that ties are ties.
whole = st.integers(-3, 3).map(float)
with_infinities = st.one_of(whole, whole, st.just(-np.inf))
rounded = st.floats(-1e3, 1e3)
not_numbers = st.one_of(whole, whole, st.just(-np.inf), st.just(np.nan))


@st.composite
def tables(draw, scores=with_infinities, shortest=0):
    """Emissions [n, K] and transitions [K + 2, K]."""
    n = draw(st.integers(shortest, 4))
    K = draw(st.integers(1, 3))
    return draw(arrays(float, (n, K), elements=scores)), draw(
        arrays(float, (K + 2, K), elements=scores)
    )


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
    sequences, scores = k_best(emissions, transitions, 3)
    assert sequences.shape == (1, 0)
    assert scores.tolist() == [0.0]


@pytest.mark.parametrize("n", [0, 2])
@pytest.mark.parametrize("k", [0, -1])
def test_fewer_than_one_of_the_best_is_refused(n, k):
    with pytest.raises(ValueError, match="k must be at least 1"):
        k_best(np.zeros((n, 2)), np.zeros((4, 2)), k)


@checked
@given(tables(scores=not_numbers), st.integers(1, 5))
def test_nan_forbids_a_label_or_a_transition(drawn, k):
    emissions, transitions = drawn
    without = [np.where(np.isnan(table), -np.inf, table) for table in drawn]
    score, y = decode(emissions, transitions)
    assert (score, y) == decode(*without)
    assert all(0 <= label < emissions.shape[1] for label in y)
    for found, expected in zip(k_best(emissions, transitions, k), k_best(*without, k), strict=True):
        np.testing.assert_array_equal(found, expected)


@checked
@given(tables())
def test_decoders_leave_the_score_tables_alone(drawn):
    emissions, transitions = drawn
    before = emissions.copy(), transitions.copy()
    decode(emissions, transitions)
    max_marginals(emissions, transitions)
    k_best(emissions, transitions, 2)
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


far_apart = st.sampled_from([0.0, 1.0, -300.0, 300.0, -900.0, 900.0, -np.inf])


@checked
@given(st.one_of(tables(scores=with_infinities, shortest=1), tables(scores=far_apart, shortest=1)))
def test_marginals_are_sums_over_the_enumeration(drawn):
    """However far apart scores are, and whatever is forbidden."""
    emissions, transitions = drawn
    n, K = emissions.shape
    labels, pairs = np.full((n, K), np.nan), np.full((K, K), np.nan)
    total = marginals(emissions, transitions, labels, pairs)
    scored = brute.scored_sequences(emissions, transitions)
    expected = np.logaddexp.reduce(list(scored.values()))
    assert total == pytest.approx(expected, abs=1e-9)
    assert log_partition(emissions, transitions) == pytest.approx(expected, abs=1e-9)
    if total == -np.inf:
        return
    expected_labels, expected_pairs = np.zeros((n, K)), np.zeros((K, K))
    for y, score in scored.items():
        probability = np.exp(score - expected)
        for t, label in enumerate(y):
            expected_labels[t, label] += probability
            if t > 0:
                expected_pairs[y[t - 1], label] += probability
    np.testing.assert_allclose(labels, expected_labels, atol=1e-12)
    np.testing.assert_allclose(pairs, expected_pairs, atol=1e-12)


@pytest.mark.parametrize("scale", [1.0, 10.0, 100.0, 1000.0])
@pytest.mark.parametrize("legality", [np.zeros((11, 9)), Scheme("biluo", ["A", "B"]).legality()])
def test_scaled_numbers_and_logarithms_agree(scale, legality):
    """Longer than can be enumerated; from some scale on, the scaled numbers give way."""
    random = np.random.default_rng(0)
    for n in (1, 2, 30):
        emissions = scale * random.normal(size=(n, 9))
        transitions = scale * random.normal(size=(11, 9)) + legality
        found, expected = ((np.empty((n, 9)), np.empty((9, 9))) for _ in range(2))
        total = _log_marginals(emissions, transitions, *expected)
        assert marginals(emissions, transitions, *found) == pytest.approx(total, rel=1e-12)
        assert log_partition(emissions, transitions) == pytest.approx(total, rel=1e-12)
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-10)
        np.testing.assert_allclose(found[0].sum(axis=1), 1.0)


def test_a_path_that_is_far_behind_at_first_can_be_the_best():
    """Labels 1 and 2 go on alone: their prefixes are a thousand worse, and needed in the end."""
    transitions = np.zeros((4, 2))
    transitions[0, 1] = transitions[1, 0] = -np.inf
    emissions = np.array([[0.0, -1000.0], [0.0, 0.0], [0.0, 1001.0]])
    labels, pairs = np.empty((3, 2)), np.empty((2, 2))
    total = marginals(emissions, transitions, labels, pairs)
    assert total == pytest.approx(np.logaddexp(0.0, 1.0))
    np.testing.assert_allclose(labels[:, 1], 1 / (1 + np.exp(-1.0)))


def test_exponentials_are_those_of_numpy():
    scores = np.r_[0.0, -(np.geomspace(1e-12, 708.0, 2000)), -709.0, -np.inf]
    found = np.empty(len(scores))
    exponentials(scores, found)
    np.testing.assert_allclose(found[:-2], np.exp(scores[:-2]), rtol=1e-15)
    assert found[-2:].tolist() == [0.0, 0.0]


def test_log_partition_of_an_empty_sequence():
    assert log_partition(np.zeros((0, 2)), np.ones((4, 2))) == 0.0


def test_marginals_of_scores_far_apart():
    """Logarithms do not overflow; a thousand better is certain."""
    labels, pairs = np.empty((3, 2)), np.empty((2, 2))
    emissions = np.array([[1000.0, 0.0], [0.0, 1000.0], [1000.0, 0.0]])
    assert marginals(emissions, np.zeros((4, 2)), labels, pairs) == pytest.approx(3000)
    assert labels.tolist() == [[1, 0], [0, 1], [1, 0]]
    assert pairs.tolist() == [[0, 1], [1, 0]]


@checked
@given(tables(shortest=1), st.integers(1, 100))
def test_k_best_finds_the_k_best_scores(drawn, k):
    emissions, transitions = drawn
    scored = brute.scored_sequences(emissions, transitions)
    expected = sorted((s for s in scored.values() if s > -np.inf), reverse=True)[:k]
    sequences, scores = k_best(emissions, transitions, k)
    assert scores.tolist() == expected
    found = [tuple(y) for y in sequences.tolist()]
    assert len(set(found)) == len(found)
    assert [scored[y] for y in found] == expected


@checked
@given(tables(scores=rounded, shortest=1), st.integers(1, 10))
def test_k_best_of_rounded_numbers(drawn, k):
    emissions, transitions = drawn
    scored = brute.scored_sequences(emissions, transitions)
    expected = sorted(scored.values(), reverse=True)[:k]
    sequences, scores = k_best(emissions, transitions, k)
    np.testing.assert_allclose(scores, expected, atol=1e-9)
    assert (np.diff(scores) <= 0).all()
    found = [tuple(y) for y in sequences.tolist()]
    assert len(set(found)) == len(found)
    np.testing.assert_allclose([scored[y] for y in found], expected, atol=1e-9)


@checked
@given(tables(shortest=1))
def test_the_first_of_the_k_best_scores_what_viterbi_scores(drawn):
    emissions, transitions = drawn
    score, _ = decode(emissions, transitions)
    _, scores = k_best(emissions, transitions, 1)
    assert scores.tolist() == ([score] if score > -np.inf else [])
