"""Tests of ``spacy_ssvm/decoders/hill_climbing.py``."""

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

from spacy_ssvm.decoders.hill_climbing import (
    _best_root,
    arc_value,
    best_other_head,
    best_projective,
    climb_trees,
    is_below,
    look_up,
    root_of,
)
from spacy_ssvm.decoders.parts import number_parts, tree_score

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
    tree, score = look_up(heads), score_of_parts(*drawn, heads)
    for m in range(1, 5):
        for h in range(1, 5):
            changed = heads.copy()
            if 0 < heads[m] != h and not is_below(tree, h, m):
                changed[m] = h
                gain = arc_value(parts, tree, h, m) - arc_value(parts, tree, heads[m], m)
                assert gain == score_of_parts(*drawn, changed) - score


@checked
@given(triple_tables(few_arcs, whole, shortest=2, longest=4), st.integers(0, 99))
def test_the_best_other_head_of_a_word(drawn, seed):
    parts, every = part_table(*drawn), brute.trees(len(drawn[0]) - 1)
    heads = every[seed % len(every)].copy()
    score = score_of_parts(*drawn, heads)
    if score == -np.inf:
        return
    for m in np.flatnonzero(heads > 0).tolist():
        others = [y for y in every if y[m] > 0 and np.flatnonzero(y != heads).tolist() == [m]]
        gains = [score_of_parts(*drawn, y) - score for y in others]
        gain, h = best_other_head(parts, look_up(heads), m)
        assert gain == max(gains, default=-np.inf)
        assert (h == 0) == (gain == -np.inf)
        assert h == 0 or h in [y[m] for y, x in zip(others, gains, strict=True) if x == gain]


@checked
@given(triple_tables(whole, whole, shortest=2, longest=4), st.integers(0, 99))
def test_the_best_new_root_is_that_of_the_enumeration(drawn, seed):
    every = brute.trees(len(drawn[0]) - 1)
    heads = every[seed % len(every)].copy()
    score, old = score_of_parts(*drawn, heads), root_of(heads)
    gains = []
    for tree in every:
        changed = np.flatnonzero(tree != heads)
        if len(changed) == 2 and old in changed:
            gains.append(score_of_parts(*drawn, tree) - score)
    before = heads.copy()
    m, h = _best_root(part_table(*drawn), look_up(heads), 0.0)
    assert heads.tolist() == before.tolist()
    if m == 0:
        assert max(gains, default=0.0) <= 0
        return
    heads[old], heads[m] = h, 0
    assert is_tree(heads, projective=False)
    assert score_of_parts(*drawn, heads) - score == max(gains) > 0


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_what_is_looked_up_in_a_tree(n):
    for heads in brute.trees(n):
        tree = look_up(heads.copy())
        for m in range(1, n + 1):
            above = [m]
            while above[-1] > 0:
                above.append(heads[above[-1]])
            assert [top for top in range(n + 1) if is_below(tree, m, top)] == sorted(above)
            for h in range(1, n + 1):
                if h != m:
                    with_arc = heads.copy()
                    with_arc[m] = h
                    assert tree.inner[h, m] == brute.inner_sibling(with_arc, m)
                    beyond = range(m + 1, n + 1) if m > h else range(m - 1, 0, -1)
                    outer = [s for s in beyond if heads[s] == h]
                    assert tree.outer[h, m] == (outer[0] if outer else n + 1)


@compiled_only
def test_a_long_sentence():
    random = np.random.default_rng(0)
    parts = number_parts(random.normal(size=(61, 61)), True, True)
    parts.pairs[:] = random.normal(size=len(parts.pairs))
    parts.grandparents[:] = random.normal(size=len(parts.grandparents)) * 0.3
    heads, projective = np.empty((2, 61), dtype=np.int64)
    score = climb_trees(parts, heads)
    assert score == pytest.approx(tree_score(parts, heads))
    assert all(is_below(look_up(heads), m, 0) for m in range(1, 61))
    assert score > best_projective(parts, projective)


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
