"""Chain decoders against enumeration, on drawn score tables full of ties and infinities."""

import brute
import numpy as np
import pytest
from chain_tables import checked, tables, whole
from hypothesis import given
from hypothesis import strategies as st
from marks import compiled_only

from spacy_ssvm.chains.schemes import Scheme
from spacy_ssvm.decoders.chain import (
    _backward,
    _backward_by_exceptions,
    _forward,
    _forward_by_exceptions,
    find_exceptions,
    max_marginals,
    max_marginals_by,
    prune,
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
    score = viterbi_of_some(emissions, transitions, prune(transitions), y)
    assert (score, tuple(y.tolist())) == decode(emissions, transitions)


@checked
@given(tables())
def test_gains_are_those_of_the_best_next_label(drawn):
    np.testing.assert_array_equal(prune(drawn[1]).gains, naive_gains(drawn[1]))


def naive_gains(transitions):
    transitions = np.nan_to_num(transitions, nan=-np.inf, neginf=-np.inf)
    K = transitions.shape[1]
    following = np.vstack([transitions[:K].T, transitions[K + 1 :]])
    expected = np.full((K, K), -np.inf)
    for a in range(K):
        for b in range(K):
            for of_a, of_b in zip(following[:, a], following[:, b], strict=True):
                if of_b > -np.inf:
                    gain = of_b - of_a if of_a > -np.inf else np.inf
                    expected[a, b] = max(expected[a, b], gain)
    return expected


@compiled_only
@pytest.mark.parametrize("K", [30, 700])
def test_gains_of_many_labels(K):
    """Where most scores are 0, the others decide; where none is, gains would take too long."""
    random = np.random.default_rng(K)
    transitions = random.normal(size=(K + 2, K))
    transitions[:K][random.random((K, K)) < 0.97] = 0.0
    transitions[3, 5] = -np.inf
    pruning = prune(transitions)
    following = np.hstack([transitions[:K], transitions[K + 1 :].T])
    for a in (0, 3, K - 1):
        with np.errstate(invalid="ignore"):
            differences = following - following[a]
        differences[following == -np.inf] = -np.inf
        np.testing.assert_array_equal(pruning.gains[a], differences.max(axis=1))
    dense = random.normal(size=(900, 898))
    assert (prune(dense).gains == np.inf).all()
    emissions, y = random.normal(size=(6, K)) * 3, np.empty(6, dtype=np.int64)
    score = viterbi_of_some(emissions, transitions, pruning, y)
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


def check_prefixes_and_suffixes(emissions, transitions):
    """Those by exceptions are the same as the others. Returns the best scores of prefixes."""
    exceptions = find_exceptions(transitions, transitions.size)
    assert len(exceptions.starts) > 0
    best, expected = np.empty(emissions.shape), np.empty(emissions.shape)
    _forward_by_exceptions(emissions, transitions, exceptions, best)
    _forward(emissions, transitions, expected)
    np.testing.assert_array_equal(best, expected)
    rest = np.empty(emissions.shape)
    _backward_by_exceptions(emissions, transitions, exceptions, rest)
    _backward(emissions, transitions[: len(exceptions.middles)].T.copy(), transitions[-1], expected)
    np.testing.assert_array_equal(rest, expected)
    return best


@pytest.mark.parametrize("column", [False, True], ids=["scattered", "column"])
@pytest.mark.parametrize("seed", range(20))
def test_prefixes_by_exceptions_have_the_same_scores(seed, column):
    emissions, transitions = sparse_scores(seed, 6, 50, column=column)
    check_prefixes_and_suffixes(emissions, transitions)


def scores_of_spans(seed, n, scheme, types, *, entries=1):
    """The same for labels of spans, where most transitions are illegal."""
    random, legality = np.random.default_rng(seed), Scheme(scheme, list(map(str, range(types))))
    transitions = legality.legality()
    K = transitions.shape[1]
    emissions = random.integers(-4, 5, size=(n, K)).astype(float)
    emissions[random.random((n, K)) < 0.1] = -np.inf
    cells = tuple(random.integers(K, size=(entries * K, 2)).T)
    transitions[cells] += random.choice([-3, -1, 1, 2, 6, -np.inf, np.nan], entries * K)
    return emissions, transitions


SCHEMES = pytest.mark.parametrize("scheme", ["biluo", "iob2", "io"])


@SCHEMES
@pytest.mark.parametrize("seed", range(15))
def test_prefixes_of_spans_by_exceptions_have_the_same_scores(scheme, seed):
    emissions, transitions = scores_of_spans(seed, 6, scheme, 20)
    if seed % 3 == 1:
        emissions[:, ::4] = np.nan  # other tags than B, say, or all but one: spans stay open
    if seed % 3 == 2:
        emissions[:, 0] = emissions[:, 3::4] = emissions[:, 4::4] = -np.inf
    check_prefixes_and_suffixes(emissions, transitions)


@SCHEMES
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("scale", [1, 30])
def test_spans_without_prefixes_that_are_ruled_out_are_the_same(scheme, seed, scale):
    emissions, transitions = scores_of_spans(seed, 6, scheme, 6)
    y = np.full(len(emissions), -1, dtype=np.int64)
    score = viterbi_of_some(scale * emissions, transitions, prune(transitions), y)
    assert (score, tuple(y.tolist())) == decode(scale * emissions, transitions)


@SCHEMES
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("entries", [0, 1, 4])
def test_gains_of_spans_are_those_of_the_best_next_label(scheme, seed, entries):
    transitions = scores_of_spans(seed, 0, scheme, 3, entries=entries)[1]
    np.testing.assert_array_equal(prune(transitions).gains, naive_gains(transitions))


@SCHEMES
@pytest.mark.parametrize("entries", [0, 1])
def test_exceptions_and_what_is_usual_are_the_transitions(scheme, entries):
    transitions = scores_of_spans(3, 0, scheme, 20, entries=entries)[1]
    K = transitions.shape[1]
    found = find_exceptions(transitions, K * K)
    usual = np.where(found.is_common[:, None], found.common, -np.inf)
    for j in range(K):
        labels = found.labels[found.starts[j] : found.starts[j + 1]]
        parts = np.split(labels, [found.middles[j] - found.starts[j]])
        assert not any((np.diff(part) <= 0).any() for part in parts), "in order"
        assert np.isneginf(found.common[parts[0]]).all()
        assert (found.common[parts[1]] == 0).all()
        assert (usual[j, labels] != transitions[j, labels]).all()
        usual[j, labels] = transitions[j, labels]
    np.testing.assert_array_equal(usual, transitions[:K])
    if entries == 0:
        is_open = np.isin(np.arange(K) % 4, [1, 2]) & (scheme == "biluo")
        assert found.is_common.tolist() == (~is_open).tolist()
        assert len(found.labels) == {"biluo": 2, "iob2": 1, "io": 0}[scheme] * 40
        assert len(find_exceptions(transitions, len(found.labels)).starts) == K + 1


@pytest.mark.parametrize("t", [0, 2])
@pytest.mark.parametrize("value", [-np.inf, np.nan])
def test_prefixes_where_all_are_forbidden(t, value):
    emissions, transitions = sparse_scores(0, 5, 50)
    emissions[t] = value
    best = check_prefixes_and_suffixes(emissions, transitions)
    assert not (best[t:] > -np.inf).any()


def test_exceptions_of_labels_that_have_nothing_in_common():
    """What is usual is still that of which there are more."""
    transitions = np.zeros((12, 10))
    transitions[1, :6] = 1.0
    transitions[2, :6] = -np.inf
    transitions[3, 1:9] = -np.inf
    transitions[3, 0] = 5.0
    found = find_exceptions(transitions, 100)
    assert found.is_common.tolist() == [True, True, False, False] + 6 * [True]
    assert found.starts.tolist() == [0, 0, 6, 10] + 7 * [12]
    assert found.labels.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 9]


def test_too_many_exceptions():
    transitions = np.zeros((34, 32))
    transitions[:4, :16] = 1.0
    assert len(find_exceptions(transitions, 64).starts) == 33
    for none in (find_exceptions(transitions, 63), find_exceptions(transitions, 0)):
        assert len(none.starts) == len(none.labels) == 0


@pytest.mark.parametrize("K", [5, 40, 210])
@pytest.mark.parametrize("entries", [0, 1, 20])
def test_max_marginals_given_exceptions_are_the_same(K, entries):
    """Whether they are few or many, or none were found."""
    emissions, transitions = scores_of_spans(K, 9, "biluo", K // 4, entries=entries)
    transitions = np.nan_to_num(transitions, nan=-np.inf, neginf=-np.inf)
    forward, backward = transitions[-2] + emissions[0], [transitions[-1]]
    expected = [forward]
    for emission in emissions[1:]:
        forward = (forward[:, None] + transitions[:-2]).max(axis=0) + emission
        expected.append(forward)
    for emission in emissions[:0:-1]:
        backward.insert(0, (transitions[:-2] + (emission + backward[0])).max(axis=1))
    expected = np.add(expected, backward)
    np.testing.assert_array_equal(max_marginals(emissions, transitions), expected)
    for most in (0, transitions.size):
        exceptions = find_exceptions(transitions, most)
        found = max_marginals_by(emissions, transitions, exceptions)
        np.testing.assert_array_equal(found, expected)


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
