"""Tests of ``spacy_ssvm/trees/problem.py``."""

import brute
import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import compiled_only
from referee import Referee, all_numbers, check_expansion, constraints, converge, start, weights
from written_trees import (
    BEHIND,
    COLUMNS,
    KINDS,
    ROOT,
    SIZE,
    Trees,
    checked,
    kinds,
    seeds,
    sentences,
    whole_weights,
)

from spacy_ssvm.trees.problem import TreeProblem

pytestmark = pytest.mark.uncompiled


class TreeReferee(Referee):
    """The objective by definition, over all trees of all sentences."""

    def __init__(self, trees, *, C, prior=None):
        self.C = C
        self.size = SIZE + 1
        self.prior = np.zeros(self.size) if prior is None else prior
        self.structures = []
        for i, gold in enumerate(trees.gold):
            ys = trees.trees(i).tolist()
            phi = [naive.dense(trees.difference(i, gold, y), self.size) for y in ys]
            self.structures.append((np.array(phi), np.array([trees.cost(i, y) for y in ys], float)))


corpora = st.lists(sentences(longest=3), min_size=1, max_size=3)


@compiled_only
@settings(checked, max_examples=30)
@given(kinds, corpora, st.sampled_from([0.05, 0.5]), st.sampled_from(["ssvm", "light"]))
def test_the_optimum_is_that_of_the_quadratic_program(kind, drawn, C, variant):
    trees = Trees(kind, drawn)
    referee = TreeReferee(trees, C=C)
    value, w = referee.solve()
    run = converge(start(trees.problem(), SIZE, C=C, variant=variant))
    check_expansion(run)
    objective = run.objective()
    assert objective.primal == pytest.approx(value, rel=1e-6, abs=1e-9)
    assert objective.primal == pytest.approx(referee.primal(weights(run, referee)), abs=1e-9)
    assert run.dual == pytest.approx(value, rel=1e-6, abs=1e-9)
    np.testing.assert_allclose(weights(run, referee), w, atol=1e-3)
    assert run.w[SIZE] == 0, "the row of no feature has no weight"


@checked
@given(kinds, corpora, seeds)
def test_each_pass_keeps_the_books_and_never_lowers_the_dual(kind, drawn, seed):
    trees = Trees(kind, drawn)
    prior = whole_weights(seed)
    referee = TreeReferee(trees, C=0.5, prior=prior)
    run = start(trees.problem(), SIZE, C=0.5, prior=prior, inner_passes=2)
    dual = run.dual
    for _ in range(4):
        run.epoch(all_numbers(run))
        check_expansion(run, prior)
        assert run.dual >= dual - 1e-12
        assert run.objective().primal == pytest.approx(referee.primal(run.w[: SIZE + 1]))
        assert run.objective().primal >= run.dual - 1e-9
        dual = run.dual


def corpus(seed, kind="second", size=6, longest=5):
    """A corpus of random sentences."""
    random = np.random.default_rng(seed)
    drawn = []
    for _ in range(size):
        n = int(random.integers(2, longest + 1))
        nodes = np.vstack([[[ROOT] * 2], random.integers(0, 4, size=(n, 2)), [[BEHIND] * 2]])
        drawn.append((nodes.astype(np.uint64), random.choice(brute.trees(n, True)).tolist()))
    return Trees(kind, drawn)


def trained(trees, epochs=3, **options):
    run = start(trees.problem(), SIZE, C=0.5, **options)
    for _ in range(epochs):
        run.epoch(all_numbers(run))
    return run


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_gives_the_same_bytes_and_another_seed_another_order(kind):
    trees = corpus(1, kind)
    assert trained(trees, seed=7).w.tobytes() == trained(trees, seed=7).w.tobytes()
    assert trained(trees, seed=7).w.tobytes() != trained(trees, seed=8).w.tobytes()


@compiled_only
def test_forgetting_examples_equals_training_without_them():
    trees = corpus(2)
    run = trained(trees)
    run.forget(np.arange(1, 3))
    run.problem.forget(range(1, 3))
    check_expansion(run)
    assert constraints(run, 1) == constraints(run, 2) == []
    converge(run)
    others = corpus(2)
    for kept in (others.nodes, others.gold):
        del kept[1:3]
    fresh = converge(trained(others))
    assert run.objective().primal == pytest.approx(fresh.objective().primal, rel=1e-6)
    np.testing.assert_allclose(run.w, fresh.w, atol=1e-3)


@compiled_only
def test_what_was_forgotten_can_be_dropped():
    trees = corpus(3)
    run = trained(trees)
    kept, dropped = np.array([1, 2, 5]), np.array([0, 3, 4])
    run.forget(dropped)
    before = [constraints(run, i) for i in kept]
    run.problem.keep(kept)
    run.keep(kept)
    assert run.problem.number_of_examples == 3
    attributes, starts, heads = trees.arrays(kept)
    np.testing.assert_array_equal(run.problem.examples().attributes, attributes)
    np.testing.assert_array_equal(run.problem.examples().node_starts, starts)
    np.testing.assert_array_equal(run.problem.examples().heads, heads)
    assert [constraints(run, i) for i in all_numbers(run)] == before
    check_expansion(run)
    run.problem.append(*trees.arrays([0]))
    run.grow(SIZE)
    converge(run)
    others = Trees("second", [(trees.nodes[i], trees.gold[i]) for i in (1, 2, 5, 0)])
    fresh = converge(trained(others))
    assert run.objective().primal == pytest.approx(fresh.objective().primal, rel=1e-6)


def test_a_problem_that_grows_sentence_by_sentence():
    trees = corpus(4)
    problem = TreeProblem(trees.features(), trees.pruner(), len(COLUMNS))
    for i in range(6):
        assert problem.append(*trees.arrays([i])) == range(i, i + 1)
    for grown, whole in zip(problem.examples()[:4], trees.problem().examples()[:4], strict=True):
        np.testing.assert_array_equal(grown, whole)
