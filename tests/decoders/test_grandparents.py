"""Tests of ``spacy_ssvm/decoders/grandparents.py``."""

import brute
import numpy as np
import pytest
from hypothesis import given, settings
from marks import compiled_only
from tree_tables import (
    check_range,
    checked,
    few_arcs,
    is_tree,
    not_numbers,
    packed,
    pair_tables,
    part_table,
    rounded,
    score_of_parts,
    scores_of_trees,
    triple_tables,
    with_infinities,
)

from spacy_ssvm.decoders.grandparents import eisner_grandparents
from spacy_ssvm.decoders.siblings import eisner_siblings

pytestmark = pytest.mark.uncompiled


def decode(*tables):
    heads = np.full(len(tables[0]), 99, dtype=np.int64)
    return eisner_grandparents(part_table(*tables), heads), heads


def check_best(drawn):
    """Check that the tree is the best one, where nan forbids what has it."""
    score, heads = decode(*drawn)
    without = [np.where(np.isnan(table), -np.inf, table) for table in drawn]
    assert score == scores_of_trees(*without, projective=True).max()
    check_range(heads)
    if score > -np.inf:
        assert is_tree(heads, projective=True)
        assert score_of_parts(*drawn, heads) == score


@checked
@given(triple_tables())
def test_the_best_tree_is_found(drawn):
    check_best(drawn)


@checked
@given(triple_tables(few_arcs, with_infinities, shortest=3))
def test_the_best_tree_of_few_arcs_and_parts_is_found(drawn):
    check_best(drawn)


@checked
@given(triple_tables(not_numbers, not_numbers))
def test_nan_forbids_a_part(drawn):
    check_best(drawn)


@settings(checked, max_examples=50)
@given(triple_tables(rounded, rounded, shortest=6, longest=6))
def test_the_best_tree_of_rounded_numbers_is_found(drawn):
    score, heads = decode(*drawn)
    assert score == pytest.approx(scores_of_trees(*drawn, projective=True).max(), abs=1e-8)
    assert is_tree(heads, projective=True)
    assert score_of_parts(*drawn, heads) == pytest.approx(score, abs=1e-8)


@checked
@given(pair_tables())
def test_without_scores_of_grandparents_it_is_the_best_tree_of_siblings(drawn):
    scores, pairs = drawn
    N = len(scores)
    other = np.empty(N, dtype=np.int64)
    expected = eisner_siblings(scores, *packed(scores, pairs), other)
    assert decode(scores, pairs, np.zeros((N, N, N)))[0] == expected


def test_nan_without_a_sibling_leaves_those_with_one():
    scores = np.full((4, 4), -np.inf)
    scores[0, 1] = scores[1, 2] = scores[1, 3] = 0.0
    tables = scores, np.zeros((4, 5, 4)), np.zeros((4, 4, 4))
    tables[1][1, 4, 3] = np.nan
    assert decode(*tables)[0] == 0.0


def test_grandparents_change_the_best_tree():
    """A chain of three words is the best, but not with its first word above the third."""
    scores = np.zeros((4, 4))
    scores[0, 1], scores[1, 2], scores[2, 3], scores[1, 3] = 5.0, 3.0, 2.0, 1.0
    tables = scores, np.zeros((4, 5, 4)), np.zeros((4, 4, 4))
    assert decode(*tables)[1].tolist() == [-1, 0, 1, 2]
    tables[2][1, 2, 3] = -2.0
    assert decode(*tables)[1].tolist() == [-1, 0, 1, 1]


@compiled_only
def test_a_long_sentence():
    random = np.random.default_rng(2)
    shapes = (61, 61), (61, 62, 61), (61, 61, 61)
    scores, pairs, grandparents = (random.normal(size=shape) for shape in shapes)
    scores[random.random(scores.shape) < 0.5] = -np.inf
    score, heads = decode(scores, pairs, grandparents)
    assert score == pytest.approx(score_of_parts(scores, pairs, grandparents, heads))
    assert not brute.has_crossing_arcs(tuple(heads.tolist()))
    of_siblings = np.empty(61, dtype=np.int64)
    eisner_siblings(scores, *packed(scores, pairs), of_siblings)
    assert score > score_of_parts(scores, pairs, grandparents, of_siblings)
