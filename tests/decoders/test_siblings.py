"""Tests of ``spacy_ssvm/decoders/siblings.py``."""

import brute
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from marks import compiled_only
from tree_tables import (
    check_range,
    checked,
    decode,
    few_arcs,
    is_tree,
    not_numbers,
    rounded,
    score_of,
    tables,
    whole,
    with_infinities,
)

from spacy_ssvm.decoders.siblings import eisner_siblings, number_pairs, sibling_max_marginals

pytestmark = pytest.mark.uncompiled


@st.composite
def pair_tables(draw, scores=with_infinities, pairs=whole, shortest=0, longest=5):
    """Scores of arcs, and of pairs of arcs [n + 1, n + 2, n + 1] by head, sibling, dependent."""
    table = draw(tables(scores, shortest, longest))
    n = len(table) - 1
    return table, draw(arrays(float, (n + 1, n + 2, n + 1), elements=pairs))


def packed(scores, pairs):
    """starts and pairs as ``decoders.siblings`` lays them out, and how many there are."""
    N = len(scores)
    starts = np.full((N, N), -1, dtype=np.int64)
    values = {}
    size = number_pairs(scores, starts)
    for h in range(N):
        for m in range(1, N):
            if h == m or not scores[h, m] > -np.inf:
                continue
            step = 1 if m > h else -1
            inner = [s for s in range(h + step, m, step) if h > 0 and scores[h, s] > -np.inf]
            for j, s in enumerate([N, *inner]):
                slot = int(starts[h, m]) + j
                assert slot not in values
                values[slot] = pairs[h, s, m]
    assert sorted(values) == list(range(size))
    return starts, np.array([values[slot] for slot in range(size)])


def decode_pairs(scores, pairs):
    heads = np.full(len(scores), 99, dtype=np.int64)
    score = eisner_siblings(scores, *packed(scores, pairs), heads)
    return score, heads


def score_of_pairs(scores, pairs, heads):
    return score_of(scores, heads) + sum(
        pairs[heads[m], brute.inner_sibling(heads, m), m] for m in range(1, len(heads))
    )


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
    # The others are defined where all scores are numbers; here they only stay in their tables.
    starts, values = packed(scores, pairs)
    starts[starts < 0] = 2**40
    sibling_max_marginals(scores, starts, values, np.empty(scores.shape))


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
