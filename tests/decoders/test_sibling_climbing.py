"""Tests of ``spacy_ssvm/decoders/sibling_climbing.py``."""

import brute
import numpy as np
import pytest
from hypothesis import given
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

from spacy_ssvm.decoders.sibling_climbing import climb_siblings, tree_score
from spacy_ssvm.decoders.siblings import eisner_siblings

pytestmark = pytest.mark.uncompiled


def climb(scores, pairs):
    heads = np.full(len(scores), 99, dtype=np.int64)
    return climb_siblings(scores, *packed(scores, pairs), heads), heads


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
    starts, values = packed(scores, pairs)
    for tree in brute.trees(len(scores) - 1):
        assert tree_score(scores, starts, values, tree) == score_of_pairs(scores, pairs, tree)


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
