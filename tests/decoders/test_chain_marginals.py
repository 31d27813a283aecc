"""Tests of ``spacy_ssvm/decoders/chain_marginals.py``."""

import brute
import numpy as np
import pytest
from chain_tables import checked, tables, with_infinities
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.chains.schemes import Scheme
from spacy_ssvm.decoders.chain_marginals import (
    _log_marginals,
    exponentials,
    log_partition,
    marginals,
)

pytestmark = pytest.mark.uncompiled

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
