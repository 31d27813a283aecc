"""Trees as a problem: oracle, pruner and solver against the enumeration of all trees."""

import brute
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernels import scores_of_arcs
from referee import all_numbers, start
from written_trees import (
    ARCS,
    COLUMNS,
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

pytestmark = pytest.mark.uncompiled


@checked
@given(kinds, sentences(), seeds)
def test_the_violator_is_the_worst_tree(kind, sentence, seed):
    trees, w = Trees(kind, [sentence]), whole_weights(seed)
    phi, delta, changed = violator(trees.problem(), 0, w)
    gold = trees.gold[0]
    worst = trees.trees(0).tolist()
    values = [trees.cost(0, y) + trees.score(0, y, w) for y in worst]
    right = trees.score(0, gold, w)
    assert violation_of(phi, delta, w) == max(values) - right
    found = [(trees.cost(0, y), trees.difference(0, gold, y)) for y in worst]
    assert (delta, phi) in [found[j] for j, value in enumerate(values) if value == max(values)]
    assert changed == 0


@checked
@given(sentences(projective=False), seeds)
def test_the_violator_with_siblings_and_crossing_arcs_is_at_least_the_projective_one(
    sentence, seed
):
    trees, w = Trees("second crossing", [sentence]), whole_weights(seed)
    phi, delta, _ = violator(trees.problem(), 0, w)
    gold = trees.gold[0]
    found = [(trees.cost(0, y), trees.difference(0, gold, y)) for y in trees.trees(0).tolist()]
    assert (delta, phi) in found
    projective = brute.trees(len(gold) - 1, True).tolist()
    worst = max(trees.cost(0, y) + trees.score(0, y, w) for y in projective)
    assert violation_of(phi, delta, w) >= worst - trees.score(0, gold, w)


@checked
@given(kinds, sentences(longest=5, projective=False), seeds)
def test_gold_trees_may_cross_even_where_trees_do_not(kind, sentence, seed):
    trees, w = Trees(kind, [sentence]), whole_weights(seed)
    phi, delta, _ = violator(trees.problem(), 0, w)
    best = max(trees.cost(0, y) + trees.score(0, y, w) for y in trees.trees(0).tolist())
    assert violation_of(phi, delta, w) == best - trees.score(0, trees.gold[0], w)


@checked
@given(kinds, sentences(projective=False, partial=True), seeds, seeds)
def test_partial_gold_is_completed_in_the_best_way(kind, sentence, seed, other):
    trees, w = Trees(kind, [sentence]), whole_weights(seed)
    problem, gold = trees.problem(), trees.gold[0]
    n = len(gold) - 1
    if max(gold) < 0:
        assert violator(problem, 0, w) is None
        return
    for weights_now in (w, whole_weights(other)):  # under others, the completion stays
        found = violator(problem, 0, weights_now)
        y = completion(problem, 0)
        scores = scores_of_arcs(
            ARCS, COLUMNS, trees.nodes[0], SIZE, w, np.ones((n + 1, n + 1), dtype=bool)
        )
        everything = brute.trees(n)
        fits = np.array([has(t, gold) for t in everything.tolist()])
        if trees.features().projective:
            alike = np.array([(t == brute.trees(n, True)).all(axis=1).any() for t in everything])
            fits = fits & alike if (fits & alike).any() else fits
        totals = brute.tree_scores(scores)
        assert totals[(everything == y).all(axis=1)].tolist() == [totals[fits].max()]
        assert fits[(everything == y).all(axis=1)].all()
        worst = max(
            trees.cost(0, t) + trees.score(0, t, weights_now) for t in trees.trees(0).tolist()
        )
        phi, delta, _ = found
        assert violation_of(phi, delta, weights_now) == worst - trees.score(0, y, weights_now)
    assert violator(problem, 0, w, True)[2] == 0


@checked
@given(st.lists(sentences(partial=True), min_size=1, max_size=3), kinds)
def test_sentences_without_gold_teach_nothing(drawn, kind):
    trees = Trees(kind, [(nodes, [-1] * len(gold)) for nodes, gold in drawn])
    run = start(trees.problem(), SIZE, C=0.5)
    assert run.epoch(all_numbers(run)) == 0
    assert not run.w.any()
