"""Tests of ``spacy_ssvm/decoders/tree_climbing.py``."""

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
    part_table,
    score_of_parts,
    scores_of_trees,
    triple_tables,
    whole,
)

from spacy_ssvm.decoders.tree_climbing import _is_below, _value, best_projective, climb_trees

pytestmark = pytest.mark.uncompiled


def climb(scores, *tables):
    heads = np.full(len(scores), 99, dtype=np.int64)
    return climb_trees(part_table(scores, *tables), heads), heads


def projective_score(scores, *tables):
    heads = np.empty(len(scores), dtype=np.int64)
    return best_projective(part_table(scores, *tables), heads)


def is_one_step(heads, others):
    """Whether trees differ in one head, or in the old and the new root."""
    changed = np.flatnonzero(heads != others)
    return len(changed) == 1 or (len(changed) == 2 and 0 in heads[changed] * others[changed])


@checked
@given(triple_tables(few_arcs, whole))
def test_no_tree_one_step_away_is_better(drawn):
    score, heads = climb(*drawn)
    assert score >= projective_score(*drawn)
    if score == -np.inf:
        check_range(heads)
        return
    assert is_tree(heads, projective=False)
    assert score == score_of_parts(*drawn, heads)
    for tree in brute.trees(len(heads) - 1):
        if is_one_step(heads, tree):
            assert score_of_parts(*drawn, tree) <= score


@checked
@given(triple_tables(whole, whole, shortest=4, longest=4), st.integers(0, 99))
def test_gains_are_differences_of_scores(drawn, seed):
    parts, every = part_table(*drawn), brute.trees(4)
    heads = every[seed % len(every)].copy()
    score = score_of_parts(*drawn, heads)
    for m in range(1, 5):
        for h in range(1, 5):
            if 0 < heads[m] != h and not _is_below(heads, h, m):
                changed = heads.copy()
                changed[m] = h
                gain = _value(parts, heads, h, m) - _value(parts, heads, heads[m], m)
                assert gain == score_of_parts(*drawn, changed) - score


@checked
@given(triple_tables(not_numbers, not_numbers))
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


def normal_tables(random, n, *, grandparents):
    shapes = [(n + 1, n + 1), (n + 1, n + 2, n + 1), (n + 1, n + 1, n + 1)]
    scale = (1.0, 1.0, float(grandparents))
    return [random.normal(size=shape) * by for shape, by in zip(shapes, scale, strict=True)]


@compiled_only
@pytest.mark.parametrize(("grandparents", "share"), [(False, 0.7), (True, 0.6)])
def test_most_trees_are_the_best_of_all(grandparents, share):
    random = np.random.default_rng(0)
    found = []
    for _ in range(300):
        tables = normal_tables(random, 5, grandparents=grandparents)
        totals = scores_of_trees(*tables, projective=False)
        found.append([climb(*tables)[0], totals.max(), projective_score(*tables)])
    climbed, best, projective = np.array(found).T
    assert (climbed <= best + 1e-9).all()
    assert (climbed >= best - 1e-9).mean() > share > (projective >= best - 1e-9).mean()
