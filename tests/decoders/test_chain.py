"""Chain decoders against enumeration, on drawn score tables full of ties and infinities."""

import brute
import numpy as np
import pytest
from chain_tables import checked, tables, whole
from hypothesis import given
from hypothesis import strategies as st
from marks import compiled_only

from spacy_ssvm.decoders.chain import (
    _forward,
    _forward_by_nonzero,
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


def sparse_scores(seed, n, K, *, column=False):
    """Small whole numbers, so that many are equal; few transitions are not 0.

    column: whether nearly all transitions to one label are not 0.
    """
    random = np.random.default_rng(seed)
    emissions = random.integers(-4, 5, size=(n, K)).astype(float)
    emissions[random.random((n, K)) < 0.05] = -np.inf
    emissions[random.random((n, K)) < 0.05] = np.nan
    transitions = np.zeros((K + 2, K))
    cells = random.integers(K, size=(K if column else 2 * K, 2))
    transitions[tuple(cells.T)] = random.choice([-3, -1, 1, 2, 6, -np.inf, np.nan], len(cells))
    if column:
        transitions[:K, 1] = random.integers(-9, -4, size=K)
        transitions[random.integers(K, size=5), 1] = 0
    transitions[K:] = random.integers(-2, 3, size=(2, K))
    return emissions, transitions


@pytest.mark.parametrize("column", [False, True], ids=["scattered", "column"])
@pytest.mark.parametrize("seed", range(20))
def test_prefixes_by_transitions_that_are_not_0_have_the_same_scores(seed, column):
    emissions, transitions = sparse_scores(seed, 6, 50, column=column)
    best, expected = np.empty(emissions.shape), np.empty(emissions.shape)
    assert _forward_by_nonzero(emissions, transitions, best)
    _forward(emissions, transitions, expected)
    np.testing.assert_array_equal(best, expected)


@pytest.mark.parametrize("t", [0, 2])
@pytest.mark.parametrize("value", [-np.inf, np.nan])
def test_prefixes_where_all_are_forbidden(t, value):
    emissions, transitions = sparse_scores(0, 5, 50)
    emissions[t] = value
    best, expected = np.empty(emissions.shape), np.empty(emissions.shape)
    assert _forward_by_nonzero(emissions, transitions, best)
    _forward(emissions, transitions, expected)
    np.testing.assert_array_equal(best, expected)
    assert not (best[t:] > -np.inf).any()


def test_too_many_transitions_that_are_not_0():
    K = 32
    transitions = np.zeros((K + 2, K))
    transitions[:4, :16] = 1.0  # a sixteenth
    best = np.empty((2, K))
    assert _forward_by_nonzero(np.zeros((2, K)), transitions, best)
    transitions[K - 1, K - 1] = 1.0
    assert not _forward_by_nonzero(np.zeros((2, K)), transitions, best)


@compiled_only
@pytest.mark.parametrize("n", [1, 7, 8, 30])
@pytest.mark.parametrize("K", [199, 200, 333])
@pytest.mark.parametrize("dense", [False, True], ids=["sparse", "dense"])
def test_viterbi_with_many_labels(n, K, dense):
    emissions, transitions = sparse_scores(n + K, n, K)
    emissions = np.nan_to_num(emissions, nan=-np.inf, neginf=-np.inf)
    transitions = np.nan_to_num(transitions, nan=-np.inf, neginf=-np.inf)
    if dense:
        transitions += np.random.default_rng(0).integers(-2, 3, size=transitions.shape)
    best = [transitions[K] + emissions[0]]
    for emission in emissions[1:]:
        best.append((best[-1][:, None] + transitions[:K]).max(axis=0) + emission)
    y = [int(np.argmax(best[-1] + transitions[K + 1]))]
    for prefix in reversed(best[:-1]):
        y.insert(0, int(np.argmax(prefix + transitions[:K, y[0]])))
    assert decode(emissions, transitions) == ((best[-1] + transitions[K + 1]).max(), tuple(y))


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
