"""Tests of ``spacy_ssvm/lab/k_best/trees.py``: enumeration of trees."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import difference_of
from written_trees import Trees, checked, seeds, sentences, violation_of, whole_weights

from spacy_ssvm.lab.k_best.trees import k_best_decode

pytestmark = pytest.mark.uncompiled


@checked
@given(
    st.sampled_from(["first", "second"]),
    sentences(longest=4, projective=False),
    seeds,
    st.integers(1, 9),
    st.sampled_from([0.0, 1.0]),
)
def test_the_k_best(kind, sentence, seed, k, gamma):
    trees, w = Trees(kind, [sentence]), whole_weights(seed)
    problem, gold = trees.problem(), trees.gold[0]
    ys, costs = k_best_decode(problem.examples(), 0, w, gamma, k, False)
    every = trees.trees(0).tolist()
    assert len(ys) == len(costs) == min(k, len(every))
    known = [(trees.cost(0, y), trees.difference(0, gold, y)) for y in every]
    found = []
    for y, cost in zip(ys, costs, strict=True):
        indices, values = difference_of(problem, 0, y)
        phi = dict(zip(indices.tolist(), values.tolist(), strict=True))
        assert (cost, phi) in known
        found.append(violation_of(phi, gamma * cost, w))
    violations = [violation_of(phi, gamma * cost, w) for cost, phi in known]
    assert found == sorted(violations, reverse=True)[:k]
