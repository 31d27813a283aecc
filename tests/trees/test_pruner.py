"""Tests of ``spacy_ssvm/trees/pruner.py``."""

import brute
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernels import scores_of_arcs
from marks import PLAIN, compiled_only
from written_trees import (
    BEHIND,
    COLUMNS,
    PRUNER,
    ROOT,
    SIZE,
    Trees,
    checked,
    completion,
    has,
    kinds,
    seeds,
    sentences,
    violation_of,
    violator,
    whole_weights,
)

from spacy_ssvm.decoders.tree import eisner
from spacy_ssvm.solvers.dual_coordinate_ascent import DualCoordinateAscent
from spacy_ssvm.solvers.lbfgs import LBFGS
from spacy_ssvm.trees.inference import parse_sentence
from spacy_ssvm.trees.keys import fill_arc_rows, hash_endpoints
from spacy_ssvm.trees.layout import ArcFeatures, Pruner
from spacy_ssvm.trees.problem import TreeProblem
from spacy_ssvm.trees.pruner import score_arcs
from spacy_ssvm.trees.templates import ArcTemplate, compile_arc_templates

pytestmark = pytest.mark.uncompiled


@checked
@given(kinds, sentences(projective=False, partial=True), seeds, seeds)
def test_completions_have_the_gold_heads_whatever_is_pruned(kind, sentence, seed, other):
    trees = Trees(kind, [sentence], whole_weights(other), threshold=0.0)
    problem, gold = trees.problem(), trees.gold[0]
    if violator(problem, 0, whole_weights(seed), True) is None:
        return
    y = completion(problem, 0)
    assert y in brute.trees(len(gold) - 1).tolist()
    assert has(y, gold)


@checked
@given(sentences(longest=5), seeds, st.sampled_from([1e6, np.inf]))
def test_a_huge_threshold_prunes_nothing(sentence, seed, threshold):
    trees = Trees("first", [sentence], whole_weights(seed), threshold)
    n = len(sentence[1]) - 1
    assert all(trees.allowed(0)[h, m] for h in range(n + 1) for m in range(1, n + 1) if h != m)


@settings(checked, max_examples=10 if PLAIN else 300)
@given(
    st.sampled_from(["first", "crossing"]),
    sentences(longest=6),
    seeds,
    st.sampled_from([0.0, 1e-3, 1.0, 4.0]),
)
def test_the_best_tree_of_the_pruner_always_remains(kind, sentence, seed, threshold):
    random = np.random.default_rng(seed)
    weights = random.normal(size=SIZE + 1)  # rounded, unlike the others
    weights[SIZE] = 0.0
    trees = Trees(kind, [sentence], weights, threshold)
    n = len(sentence[1]) - 1
    every = brute.trees(n, True).tolist()
    everything = np.ones((n + 1, n + 1), dtype=bool)
    scores = scores_of_arcs(PRUNER, COLUMNS, trees.nodes[0], SIZE, weights, everything)
    heads = np.empty(n + 1, dtype=np.int64)
    best = eisner(scores, heads)
    assert best == pytest.approx(max(sum(scores[y[m], m] for m in range(1, n + 1)) for y in every))
    for max_heads in (None, 1, 2):
        allowed = trees.allowed(0, max_heads)
        assert not allowed[:, 0].any()
        assert not allowed.diagonal().any()
        for m in range(1, n + 1):
            of_word = sorted((scores[h, m] for h in range(n + 1) if h != m), reverse=True)
            likely = [s for s in of_word[:max_heads] if s >= of_word[0] - threshold]
            kept = sorted(scores[allowed[:, m], m], reverse=True)  # equal words score the same
            of_tree = scores[heads[m], m]
            assert allowed[heads[m], m]
            assert kept in (likely, sorted([*likely, of_tree], reverse=True))


@compiled_only
@pytest.mark.parametrize(
    ("kind", "max_heads"),
    [("second", 300), ("second", 100), ("second crossing", 20), ("grandparents", 20)],
)
def test_equal_words_have_no_more_heads_than_the_pruner_may_leave(kind, max_heads):
    """All arcs are equally likely, so that it would keep them all."""
    nodes = np.array([[ROOT] * 2, *[[1, 1]] * 300, [BEHIND] * 2], dtype=np.uint64)
    fixed = np.full(301, -1, dtype=np.int64)
    trees = Trees(kind, [(nodes, [-1, *range(300)])], threshold=1.0, max_heads=max_heads)
    scores = score_arcs(trees.scorer(np.zeros(SIZE + 1)), nodes, 0, 302, fixed)
    counts = set((scores > -np.inf).sum(axis=0)[1:].tolist())
    assert counts == ({300} if max_heads == 300 else {max_heads, max_heads + 1})
    heads = np.empty(301, dtype=np.int64)
    assert parse_sentence(trees.scorer(whole_weights(0)), nodes, fixed, heads) > -np.inf


@checked
@given(kinds, sentences(), seeds, seeds, st.sampled_from([0.0, 1.0]))
def test_gold_arcs_are_always_scored_in_training(kind, sentence, seed, other, threshold):
    trees = Trees(kind, [sentence], whole_weights(other), threshold)
    w, gold = whole_weights(seed), trees.gold[0]
    allowed = trees.allowed(0)
    for m in range(1, len(gold)):
        allowed[gold[m], m] = True
    phi, delta, _ = violator(trees.problem(), 0, w)
    best = max(
        trees.cost(0, y) + trees.score(0, y, w)
        for y in trees.trees(0).tolist()
        if all(allowed[y[m], m] for m in range(1, len(y)))
    )
    assert violation_of(phi, delta, w) == best - trees.score(0, gold, w) >= 0


@pytest.mark.slow
@compiled_only
@pytest.mark.parametrize("solver", [LBFGS(C=1.0), DualCoordinateAscent(C=1.0)], ids=repr)
def test_a_completion_may_need_an_arc_that_the_pruner_discards(solver):
    """Gold says that word 2 is the head of word 1; the pruner prefers word 1 as the root."""
    templates = [ArcTemplate.parse("head.word+dependent.word")]
    arcs, pairs = (compile_arc_templates(chosen, ["word"]) for chosen in (templates, []))
    nodes, size = np.array([[11], [12], [13], [14]], dtype=np.uint64), 2**10
    weights, rows = np.zeros(size + 1), np.empty(8, dtype=np.int32)
    endpoints = hash_endpoints(arcs, nodes, 0, 4)
    for h, m in ((0, 1), (1, 2)):
        count = fill_arc_rows(arcs, endpoints, size, h, m, rows)
        weights[rows[:count]] = 5.0
    features = ArcFeatures(arcs, pairs, pairs, size, True)
    problem = TreeProblem(features, Pruner(arcs, size, weights, 2.0, 3), 1)
    problem.append(nodes, np.array([0, 4]), np.array([-1, 2, -1, -1]))
    run = solver.start(problem)
    run.grow(size)
    for _ in range(5):
        loss = run.epoch(np.arange(1))
    assert problem.examples().completions.tolist() == [-1, 2, 0, -1]
    assert 0 <= loss < 10
    assert np.isfinite(run.objective().primal)
    assert np.isfinite(run.w).all()
