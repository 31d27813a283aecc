"""Tests of ``spacy_ssvm/lab/k_best/chains.py``: enumeration of sequences."""

import brute
import numpy as np
import pytest
from chain_tables import checked, tables, whole
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.decoders.chain import viterbi
from spacy_ssvm.lab.k_best.chains import k_best

pytestmark = pytest.mark.uncompiled

rounded = st.floats(-1e3, 1e3)
not_numbers = st.one_of(whole, whole, st.just(-np.inf), st.just(np.nan))


def test_an_empty_sequence_is_the_only_one():
    sequences, scores = k_best(np.zeros((0, 2)), np.ones((4, 2)), 3)
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
    without = [np.where(np.isnan(table), -np.inf, table) for table in drawn]
    for found, expected in zip(k_best(*drawn, k), k_best(*without, k), strict=True):
        np.testing.assert_array_equal(found, expected)


@checked
@given(tables())
def test_the_score_tables_stay_as_they_are(drawn):
    before = [table.copy() for table in drawn]
    k_best(*drawn, 2)
    for table, other in zip(drawn, before, strict=True):
        np.testing.assert_array_equal(table, other)


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
    score = viterbi(emissions, transitions, np.empty(len(emissions), dtype=np.int64))
    _, scores = k_best(emissions, transitions, 1)
    assert scores.tolist() == ([score] if score > -np.inf else [])
