"""Tests of ``spacy_ssvm/trees/inference.py``."""

import brute
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from marks import compiled_only
from written_trees import (
    BEHIND,
    KINDS,
    ROOT,
    SIZE,
    Trees,
    checked,
    has,
    kinds,
    seeds,
    sentences,
    violator,
    whole_weights,
)

from spacy_ssvm.trees.inference import (
    LONGEST_SEARCH,
    arc_margins,
    best_with_other_head,
    parse_sentence,
)
from spacy_ssvm.weights.quantized import quantize

pytestmark = pytest.mark.uncompiled


@checked
@given(
    st.sampled_from(list(KINDS)),
    sentences(shortest=2),
    seeds,
    st.sampled_from([np.nan, np.inf, -np.inf]),
)
def test_weights_that_are_no_numbers_leave_heads_in_range(kind, sentence, seed, flaw):
    trees, w = Trees(kind, [sentence]), whole_weights(seed)
    scorer = trees.scorer(w)
    w[np.random.default_rng(seed).random(SIZE + 1) < 0.1] = flaw
    w[SIZE] = 0.0
    problem = trees.problem()
    with np.errstate(invalid="ignore"):
        phi, delta, _ = violator(problem, 0, w)
        assert all(0 <= row < SIZE for row in phi)
        assert 0 <= delta <= len(sentence[1]) - 1
        heads, given_heads = (np.full(len(sentence[1]), -1, dtype=np.int64) for _ in range(2))
        scorer = scorer._replace(weights=quantize(w))
        parse_sentence(scorer, trees.nodes[0], given_heads, heads)
        assert heads[0] == -1
        assert all(0 <= h < len(heads) for h in heads[1:])
        arc_margins(scorer, trees.nodes[0], np.empty(len(heads)))


def parse(trees, w, given=None):
    n = len(trees.gold[0]) - 1
    given = np.full(n + 1, -1) if given is None else np.array(given)
    heads = np.full(n + 1, 99, dtype=np.int64)
    score = parse_sentence(trees.scorer(w), trees.nodes[0], given, heads)
    return score, heads


@checked
@given(kinds, sentences(projective=False, partial=True), seeds)
def test_the_best_tree_with_the_heads_that_are_given(kind, sentence, seed):
    """Among projective trees, else among all."""
    trees, w = Trees(kind, [sentence]), whole_weights(seed)
    given = trees.gold[0]
    score, heads = parse(trees, w, given)
    fits = [y for y in trees.trees(0).tolist() if has(y, given)]
    assert heads.tolist() in brute.trees(len(given) - 1).tolist()
    assert has(heads, given)
    assert score == trees.score(0, heads, w)
    if fits:
        assert heads.tolist() in fits
        assert score == max(trees.score(0, y, w) for y in fits)


@checked
@given(kinds, sentences(shortest=2), seeds, st.sampled_from(["cycle", "roots"]))
def test_heads_that_no_tree_has_are_left_out(kind, sentence, seed, flaw):
    trees, w = Trees(kind, [sentence]), whole_weights(seed)
    given = [-1] * len(sentence[1])
    given[1:3] = [2, 1] if flaw == "cycle" else [0, 0]
    score, heads = parse(trees, w, given)
    assert (score, heads.tolist()) == (parse(trees, w)[0], parse(trees, w)[1].tolist())


@checked
@given(kinds, sentences(), seeds)
def test_margins_are_the_distance_to_the_best_tree_with_another_head(kind, sentence, seed):
    trees, w = Trees(kind, [sentence]), whole_weights(seed)
    best, heads = parse(trees, w)
    margins = np.zeros(len(heads))
    arc_margins(trees.scorer(w), trees.nodes[0], margins)
    scored = [(y, trees.score(0, y, w)) for y in trees.trees(0).tolist()]
    assert best == max(score for _, score in scored)
    for m in range(1, len(heads)):
        others = [score for y, score in scored if y[m] != heads[m]]
        assert margins[m] == best - max(others, default=-np.inf)


@compiled_only
@pytest.mark.parametrize("kind", ["second crossing", "grandparents crossing"])
def test_margins_of_long_sentences_whose_trees_are_searched_for(kind):
    """Of trees that differ in one head; the root is another one in a second search."""
    n = LONGEST_SEARCH + 1
    words = np.random.default_rng(0).integers(1, 4, (n, 2))
    nodes = np.array([[ROOT] * 2, *words.tolist(), [BEHIND] * 2], dtype=np.uint64)
    trees, w = Trees(kind, [(nodes, [-1] * (n + 1))]), whole_weights(1)
    best, heads = parse(trees, w)
    margins = np.empty(n + 1)
    arc_margins(trees.scorer(w), nodes, margins)
    root = int(np.flatnonzero(heads == 0)[0])
    others = np.empty(n + 1, dtype=np.int64)
    second = best_with_other_head(trees.scorer(w), nodes, root, -1, heads, others)[1]
    assert margins[root] == max(best - second, 0)
    for m in [m for m in (1, n // 2, n) if m != root]:
        scores = []
        for h in set(range(1, n + 1)) - {m, int(heads[m])}:
            changed = heads.copy()
            changed[m] = h
            if brute.reaches_root(tuple(changed.tolist()), m):
                scores.append(trees.score(0, changed, w))
        assert margins[m] == best - max(scores) >= 0


@checked
@given(kinds, sentences(shortest=2), seeds)
def test_the_best_tree_in_which_a_word_has_another_head(kind, sentence, seed):
    """Any other one (-1), or a certain one."""
    trees, w = Trees(kind, [sentence]), whole_weights(seed)
    best, heads = parse(trees, w)
    scored = [(y, trees.score(0, y, w)) for y in trees.trees(0).tolist()]
    for m in range(1, len(heads)):
        for h in {-1, *range(len(heads))} - {m, int(heads[m])}:
            others = np.empty(len(heads), dtype=np.int64)
            found = best_with_other_head(trees.scorer(w), trees.nodes[0], m, h, heads, others)
            fits = [(y, x) for y, x in scored if y[m] != heads[m] and h in (-1, y[m])]
            assert found == (best, max((score for _, score in fits), default=-np.inf))
            if fits:
                assert (others.tolist(), found[1]) in fits
