"""Tests of ``spacy_ssvm/decoders/sibling_marginals.py``."""

import brute
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from marks import compiled_only
from tree_tables import (
    checked,
    few_arcs,
    not_numbers,
    packed,
    pair_tables,
    probabilities_of_parts,
    score_of_pairs,
    whole,
    with_infinities,
)

from spacy_ssvm.decoders.parts import number_pairs
from spacy_ssvm.decoders.sibling_marginals import sibling_marginals, sibling_max_marginals
from spacy_ssvm.decoders.siblings import eisner_siblings
from spacy_ssvm.decoders.tree_marginals import projective_marginals

pytestmark = pytest.mark.uncompiled

numbers = st.one_of(st.floats(-20, 20), whole, st.just(-np.inf))


@checked
@given(pair_tables(few_arcs, with_infinities))
def test_sibling_max_marginals_are_the_best_scores_of_trees_with_each_arc(drawn):
    scores, pairs = drawn
    N = len(scores)
    found = np.full((N, N), np.nan)
    best = sibling_max_marginals(scores, *packed(scores, pairs), found)
    expected = np.full((N, N), -np.inf)
    for heads in brute.trees(N - 1, True):
        score = score_of_pairs(scores, pairs, heads)
        for m in range(1, N):
            expected[heads[m], m] = max(expected[heads[m], m], score)
    np.testing.assert_array_equal(found, expected)
    assert best == (0.0 if N == 1 else expected[0].max())


@checked
@given(pair_tables(numbers, numbers))
def test_marginals_are_the_probabilities_of_arcs_and_pairs(drawn):
    scores, pairs = drawn
    no_grandparents = np.zeros((len(scores),) * 3)
    log_partition, expected = probabilities_of_parts(
        scores, pairs, no_grandparents, projective=True
    )
    starts, values = packed(scores, pairs)
    found, found_pairs = np.full(scores.shape, 99.0), np.full(len(values), 99.0)
    total = sibling_marginals(scores, starts, values, found, found_pairs)
    assert total == pytest.approx(log_partition, abs=1e-9)
    if log_partition > -np.inf:
        np.testing.assert_allclose(found, expected.arcs, atol=1e-9)
        np.testing.assert_allclose(found_pairs, expected.pairs, atol=1e-9)


@checked
@given(pair_tables(not_numbers, not_numbers))
def test_what_is_not_a_number_stays_in_its_tables(drawn):
    scores, pairs = drawn
    starts, values = packed(scores, pairs)
    starts[starts < 0] = 2**40
    for marginals in (sibling_max_marginals, sibling_marginals):
        room = (np.empty(len(values)),) if marginals is sibling_marginals else ()
        marginals(scores, starts, values, np.empty(scores.shape), *room)


@compiled_only
def test_marginals_of_a_long_sentence():
    random = np.random.default_rng(2)
    scores = random.normal(size=(121, 121)) * 30
    starts = np.full(scores.shape, -1, dtype=np.int64)
    pairs = np.zeros(number_pairs(scores, starts))
    found, of_pairs, first_order = np.empty(scores.shape), np.empty(len(pairs)), scores.copy()
    total = sibling_marginals(scores, starts, pairs, found, of_pairs)
    assert total == pytest.approx(projective_marginals(scores, first_order), rel=1e-12)
    np.testing.assert_allclose(found, first_order, atol=1e-9)
    pairs = random.normal(size=len(pairs)) * 30
    total = sibling_marginals(scores, starts, pairs, found, of_pairs)
    assert total >= eisner_siblings(scores, starts, pairs, np.empty(121, dtype=np.int64))
    np.testing.assert_allclose(found[:, 1:].sum(axis=0), 1.0)
    assert found[0].sum() == pytest.approx(1.0)
    assert of_pairs.sum() == pytest.approx(120)
