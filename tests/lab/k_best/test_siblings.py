"""Tests of ``spacy_ssvm/lab/k_best/siblings.py``."""

import brute
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from marks import compiled_only
from tree_tables import (
    checked,
    few_arcs,
    is_tree,
    not_numbers,
    packed,
    pair_tables,
    score_of_pairs,
    whole,
)

from spacy_ssvm.decoders.siblings import eisner_siblings
from spacy_ssvm.lab.k_best.siblings import k_best_siblings

pytestmark = pytest.mark.uncompiled


def k_best(scores, pairs, k):
    totals, heads = np.full(k, np.nan), np.full((k, len(scores)), 99, dtype=np.int64)
    count = k_best_siblings(scores, *packed(scores, pairs), totals, heads)
    return totals[:count].tolist(), heads[:count]


@checked
@given(pair_tables(few_arcs, whole), st.integers(1, 150))
def test_the_k_best_are_those_of_the_enumeration(drawn, k):
    scores, pairs = drawn
    totals, heads = k_best(scores, pairs, k)
    every = brute.tree_scores(scores, True, pairs)
    expected = sorted(every[every > -np.inf], reverse=True)[:k]
    assert totals == expected
    assert len({tuple(tree) for tree in heads.tolist()}) == len(heads)
    for total, tree in zip(totals, heads, strict=True):
        assert is_tree(tree, True)
        assert score_of_pairs(scores, pairs, tree) == total


@checked
@given(pair_tables(not_numbers, not_numbers), st.integers(1, 4))
def test_what_is_not_a_number_leaves_heads_in_range(drawn, k):
    scores, pairs = drawn
    _, heads = k_best(scores, pairs, k)
    assert (heads[:, 0] == -1).all()
    assert ((heads[:, 1:] >= 0) & (heads[:, 1:] < len(scores))).all()


@compiled_only
def test_the_best_of_a_long_sentence():
    random = np.random.default_rng(0)
    scores = random.normal(size=(61, 61))
    pairs = random.normal(size=(61, 62, 61))
    totals, heads = k_best(scores, pairs, 8)
    best = np.empty(61, dtype=np.int64)
    assert totals[0] == pytest.approx(eisner_siblings(scores, *packed(scores, pairs), best))
    np.testing.assert_array_equal(heads[0], best)
    assert totals == sorted(totals, reverse=True)
    assert len({tuple(tree) for tree in heads.tolist()}) == 8
    for total, tree in zip(totals, heads, strict=True):
        assert score_of_pairs(scores, pairs, tree) == pytest.approx(total)
