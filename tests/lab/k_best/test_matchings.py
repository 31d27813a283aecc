"""Tests of ``spacy_ssvm/lab/k_best/matchings.py``: enumeration of matchings."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import dense, difference_of
from small_matchings import completion_of, drawn, whole_weights
from tree_tables import checked

from spacy_ssvm.lab.k_best.matchings import k_best_decode

pytestmark = pytest.mark.uncompiled


@checked
@given(drawn(), st.randoms(use_true_random=False), st.integers(1, 12), st.sampled_from([0.0, 1.0]))
def test_the_k_best(small, random, k, gamma):
    problem, w = small.problem(), whole_weights(small, random)
    for i, example in enumerate(small.examples):
        ys, costs = k_best_decode(problem.examples(), i, w, gamma, k, False)
        assert len(ys) == len(costs)
        if not example.is_annotated:
            assert len(ys) == 0
            continue
        candidates = example.matchings
        completion = completion_of(problem, i)
        example.check_completion(completion, w)
        differences = example.phi(completion[None]) - example.phi(candidates)
        violations = gamma * example.costs_of(candidates) - differences @ w
        assert len(ys) == min(k, len(candidates))
        found = []
        for y, cost in zip(ys, costs, strict=True):
            phi = dense(*difference_of(problem, i, y), len(w))
            found.append(gamma * cost - phi @ w)
            rows = np.column_stack([differences, example.costs_of(candidates)])
            assert np.any(np.all(rows == np.append(phi, cost), axis=1))
        assert found == sorted(violations, reverse=True)[:k]
