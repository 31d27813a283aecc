"""Tests of ``spacy_ssvm/decoders/parts.py``."""

import brute
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tree_tables import (
    checked,
    few_arcs,
    part_table,
    score_of,
    score_of_pairs,
    score_of_parts,
    triple_tables,
    whole,
)

from spacy_ssvm.decoders.parts import (
    add_tree,
    fill_tree,
    join_parts,
    number_parts,
    rank_heads,
    scaled_parts,
    split_parts,
    tree_score,
)

pytestmark = pytest.mark.uncompiled


@checked
@given(triple_tables(few_arcs, whole))
def test_scores_of_all_trees(drawn):
    scores, pairs, grandparents = drawn
    first_order = number_parts(scores, False, False)
    for tree in brute.trees(len(scores) - 1):
        assert tree_score(first_order, tree) == score_of(scores, tree)
        found = tree_score(part_table(scores, pairs), tree)
        assert found == score_of_pairs(scores, pairs, tree)
        found = tree_score(part_table(scores, pairs, grandparents), tree)
        assert found == score_of_parts(scores, pairs, grandparents, tree)


@checked
@given(triple_tables(whole, whole, shortest=1, longest=4))
def test_a_tree_subtracted_changes_its_score_by_the_number_of_its_parts(drawn):
    parts = part_table(*drawn)
    n = len(parts.arcs) - 1
    for tree in brute.trees(n):
        found = scaled_parts(parts, 1.0)
        add_tree(found, tree, -1.0)
        with_grandparent = (tree[1:] > 0).sum()
        assert tree_score(found, tree) == tree_score(parts, tree) - 2 * n - with_grandparent
        changed = [np.nansum(a != b) for a, b in zip(found, parts, strict=True)]
        not_a_number = np.isnan(parts.arcs).sum()
        assert changed == [n + not_a_number, n, 0, 0, with_grandparent, 0, 0]


@checked
@given(triple_tables(few_arcs, whole, shortest=1, longest=4), st.integers(1, 3))
def test_a_table_is_joined_and_split_again(drawn, order):
    scores, pairs, grandparents = drawn
    parts = (
        number_parts(np.where(np.isnan(scores), -np.inf, scores), False, False)
        if order == 1
        else part_table(scores, pairs, grandparents if order == 3 else None)
    )
    joined = join_parts(parts.arcs, parts)
    assert len(joined) == parts.arcs.size + len(parts.pairs) + len(parts.grandparents)
    found = split_parts(joined, len(scores), order > 1, order > 2)
    arcs = np.where(parts.arcs > -np.inf, parts.arcs, 0.0)
    for array, other in zip(found, parts._replace(arcs=arcs), strict=True):
        np.testing.assert_array_equal(array, other)


def test_numbers_that_are_none_do_not_change_the_numbering():
    scores = np.zeros((4, 4))
    np.fill_diagonal(scores, -np.inf)
    scores[:, 0] = -np.inf
    parts = number_parts(scores, True, True)
    parts.pairs[:] = np.arange(len(parts.pairs))
    found = parts._replace(arcs=np.full((4, 4), np.nan))
    again = split_parts(join_parts(scores, found), 4, True, True)
    np.testing.assert_array_equal(again.pairs, parts.pairs)
    np.testing.assert_array_equal(again.starts, parts.starts)
    assert np.isnan(again.arcs[scores == 0]).all()
    assert (again.arcs[scores != 0] == 0).all()


@checked
@given(triple_tables(whole, whole, shortest=1, longest=4))
def test_a_table_is_filled_with_one_tree(drawn):
    parts = part_table(*drawn)
    for tree in brute.trees(len(parts.arcs) - 1):
        expected = scaled_parts(parts, 1.0)
        for array in (expected.arcs, expected.pairs, expected.grandparents):
            array[:] = 0.0
        add_tree(expected, tree, 1.0)
        fill_tree(parts, tree)
        for array, other in zip(parts, expected, strict=True):
            np.testing.assert_array_equal(array, other)


def test_heads_are_ranked_from_the_root():
    scores = np.full((4, 4), -np.inf)
    scores[0, 2] = scores[1, 2] = scores[3, 2] = scores[2, 3] = 0.0
    np.fill_diagonal(scores, np.nan)
    ranks = rank_heads(scores)
    assert ranks[:, 2].tolist() == [0, 1, 2, 2, 3]
    assert ranks[:, 3].tolist() == [0, 0, 0, 1, 1]


@checked
@given(triple_tables(whole, whole))
def test_scales_leave_the_table_as_it_was(drawn):
    parts = part_table(*drawn)
    kept = [array.copy() for array in parts]
    found = scaled_parts(parts, 3.0)
    for array, other, name in zip(found, kept, parts._fields, strict=True):
        scale = 3.0 if name in ("arcs", "pairs", "grandparents") else 1
        np.testing.assert_array_equal(array, scale * other)
    for array, other in zip(parts, kept, strict=True):
        np.testing.assert_array_equal(array, other)
