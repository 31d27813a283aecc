"""Tests of ``spacy_ssvm/decoders/siblings.py``."""

import brute
import numpy as np
import pytest
from hypothesis import given, settings
from marks import compiled_only
from tree_tables import (
    check_range,
    checked,
    decode,
    few_arcs,
    is_tree,
    not_numbers,
    packed,
    pair_tables,
    rounded,
    score_of_pairs,
    with_infinities,
)

from spacy_ssvm.decoders.siblings import eisner_siblings

pytestmark = pytest.mark.uncompiled


def decode_pairs(scores, pairs):
    heads = np.full(len(scores), 99, dtype=np.int64)
    score = eisner_siblings(scores, *packed(scores, pairs), heads)
    return score, heads


@checked
@given(pair_tables())
def test_siblings_find_the_best_tree(drawn):
    scores, pairs = drawn
    score, heads = decode_pairs(scores, pairs)
    assert score == brute.tree_scores(scores, True, pairs).max()
    if score > -np.inf:
        assert is_tree(heads, projective=True)
        assert score_of_pairs(scores, pairs, heads) == score
    else:
        check_range(heads)


@checked
@given(pair_tables(few_arcs, with_infinities, shortest=3))
def test_siblings_find_the_best_tree_of_few_arcs_and_pairs(drawn):
    scores, pairs = drawn
    score, heads = decode_pairs(scores, pairs)
    assert score == brute.tree_scores(scores, True, pairs).max()
    check_range(heads)
    if score > -np.inf:
        assert score_of_pairs(scores, pairs, heads) == score


@checked
@given(pair_tables(not_numbers, not_numbers))
def test_nan_forbids_a_pair_of_arcs(drawn):
    scores, pairs = drawn
    without = [np.where(np.isnan(table), -np.inf, table) for table in drawn]
    score, heads = decode_pairs(scores, pairs)
    assert score == brute.tree_scores(without[0], True, without[1]).max()
    check_range(heads)
    if score > -np.inf:
        assert is_tree(heads, projective=True)
        assert score_of_pairs(scores, pairs, heads) == score


@settings(checked, max_examples=50)
@given(pair_tables(rounded, rounded, shortest=6, longest=6))
def test_siblings_find_the_best_tree_of_rounded_numbers(drawn):
    scores, pairs = drawn
    score, heads = decode_pairs(scores, pairs)
    assert score == pytest.approx(brute.tree_scores(scores, True, pairs).max(), abs=1e-8)
    assert is_tree(heads, projective=True)
    assert score_of_pairs(scores, pairs, heads) == pytest.approx(score, abs=1e-8)


def test_siblings_change_the_best_tree():
    """Two words want the same head, but not beside each other."""
    scores = np.zeros((4, 4))
    scores[0, 1] = 5.0
    scores[1, 2] = scores[1, 3] = 2.0
    scores[2, 3] = 1.0
    pairs = np.zeros((4, 5, 4))
    assert decode_pairs(scores, pairs)[1].tolist() == [-1, 0, 1, 1]
    pairs[1, 2, 3] = -2.0
    assert decode_pairs(scores, pairs)[1].tolist() == [-1, 0, 1, 2]


@compiled_only
def test_a_long_sentence_with_scores_of_pairs():
    random = np.random.default_rng(2)
    scores, pairs = random.normal(size=(61, 61)), random.normal(size=(61, 62, 61))
    score, heads = decode_pairs(scores, pairs)
    assert score == pytest.approx(score_of_pairs(scores, pairs, heads))
    assert not brute.has_crossing_arcs(tuple(heads.tolist()))
    _, of_arcs = decode("eisner", scores)
    assert score > score_of_pairs(scores, pairs, of_arcs)
