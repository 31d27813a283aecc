"""Tests of ``spacy_ssvm/decoders/sibling_climbing.py``."""

import brute
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from marks import compiled_only
from tree_tables import (
    check_range,
    checked,
    few_arcs,
    is_tree,
    not_numbers,
    packed,
    pair_tables,
    score_of_pairs,
    whole,
)

from spacy_ssvm.decoders.sibling_climbing import _is_below, _value, climb_siblings
from spacy_ssvm.decoders.siblings import PartTable, eisner_siblings, rank_siblings, tree_score

pytestmark = pytest.mark.uncompiled


def climb(scores, pairs):
    heads = np.full(len(scores), 99, dtype=np.int64)
    return climb_siblings(scores, *packed(scores, pairs), heads), heads


def part_table(scores, pairs):
    starts, values = packed(scores, pairs)
    return PartTable(scores, values, starts, rank_siblings(scores))


def projective_score(scores, pairs):
    return eisner_siblings(scores, *packed(scores, pairs), np.empty(len(scores), dtype=np.int64))


def is_one_step(heads, others):
    """Whether trees differ in one head, or in the old and the new root."""
    changed = np.flatnonzero(heads != others)
    return len(changed) == 1 or (len(changed) == 2 and 0 in heads[changed] * others[changed])


@checked
@given(pair_tables(few_arcs, whole))
def test_no_tree_one_step_away_is_better(drawn):
    scores, pairs = drawn
    score, heads = climb(scores, pairs)
    best = projective_score(scores, pairs)
    assert score >= best
    if score == -np.inf:
        check_range(heads)
        return
    assert is_tree(heads, projective=False)
    assert score == score_of_pairs(scores, pairs, heads)
    for tree in brute.trees(len(scores) - 1):
        if is_one_step(heads, tree):
            assert score_of_pairs(scores, pairs, tree) <= score


@checked
@given(pair_tables(few_arcs, whole))
def test_scores_of_all_trees(drawn):
    scores, pairs = drawn
    parts = part_table(scores, pairs)
    for tree in brute.trees(len(scores) - 1):
        assert tree_score(parts, tree) == score_of_pairs(scores, pairs, tree)


@checked
@given(pair_tables(whole, whole, shortest=4, longest=4), st.integers(0, 99))
def test_gains_are_differences_of_scores(drawn, seed):
    scores, pairs = drawn
    parts, every = part_table(scores, pairs), brute.trees(4)
    heads = every[seed % len(every)].copy()
    score = score_of_pairs(scores, pairs, heads)
    for m in range(1, 5):
        for h in range(1, 5):
            if 0 < heads[m] != h and not _is_below(heads, h, m):
                changed = heads.copy()
                changed[m] = h
                gain = _value(parts, heads, h, m) - _value(parts, heads, heads[m], m)
                assert gain == score_of_pairs(scores, pairs, changed) - score


@checked
@given(pair_tables(not_numbers, not_numbers))
def test_what_is_not_a_number_leaves_heads_in_range(drawn):
    check_range(climb(*drawn)[1])


def test_crossing_arcs_are_found():
    scores = np.zeros((5, 5))
    scores[0, 2], scores[2, 4], scores[4, 1], scores[2, 3] = 4.0, 4.0, 4.0, 1.0
    score, heads = climb(scores, np.zeros((5, 6, 5)))
    assert heads.tolist() == [-1, 4, 0, 2, 2]
    assert score == 13.0


def test_arcs_may_allow_crossing_trees_alone():
    scores = np.full((5, 5), -np.inf)
    scores[0, 1], scores[1, 3], scores[4, 2], scores[1, 4] = 1.0, 1.0, 1.0, 1.0
    score, heads = climb(scores, np.zeros((5, 6, 5)))
    assert heads.tolist() == [-1, 0, 4, 1, 1]
    assert score == 4.0


@compiled_only
def test_most_trees_are_the_best_of_all():
    random = np.random.default_rng(0)
    found = []
    for _ in range(300):
        scores, pairs = random.normal(size=(6, 6)), random.normal(size=(6, 7, 6))
        totals = [score_of_pairs(scores, pairs, tree) for tree in brute.trees(5)]
        found.append([climb(scores, pairs)[0], max(totals), projective_score(scores, pairs)])
    climbed, best, projective = np.array(found).T
    assert (climbed <= best + 1e-9).all()
    assert (climbed >= best - 1e-9).mean() > 0.7 > (projective >= best - 1e-9).mean()
