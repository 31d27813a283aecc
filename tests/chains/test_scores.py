"""The kernels that know weights and features, against their obvious twins."""

import naive
import numpy as np
import pytest
from chain_scores import checked, difference_of, problem_of
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from spacy_ssvm.chains.scores import (
    add_costs,
    cost,
    emission_scores,
    is_partial,
    restrict_to_gold,
    transition_scores,
)

pytestmark = pytest.mark.uncompiled

whole = st.integers(-3, 3).map(float)


@checked
@given(st.data(), st.integers(1, 4))
def test_transition_scores_are_weights_and_legality(data, K):
    w = data.draw(arrays(float, (K + 2) * K + 3, elements=whole))
    legality = data.draw(arrays(float, (K + 2, K), elements=st.sampled_from([0.0, -np.inf])))
    expected = naive.transition_scores(w, K, legality)
    np.testing.assert_array_equal(transition_scores(w, legality), expected)
    expected = naive.transition_scores(w, K, np.zeros_like(legality))
    np.testing.assert_array_equal(transition_scores(w, legality[:0]), expected)


@checked
@given(st.data(), naive.chains())
def test_emission_scores_are_sums_over_the_features_that_fire(data, chains):
    problem = problem_of(chains)
    w = data.draw(arrays(float, problem.number_of_weights(chains.rows), elements=whole))
    for i, features in enumerate(chains.features):
        emissions = np.full((len(features), chains.K), np.nan)
        examples = problem.examples()
        emission_scores(examples.features, examples.token_starts[i], w, emissions)
        np.testing.assert_array_equal(emissions, naive.emission_scores(w, chains.K, features))


@st.composite
def annotated(draw):
    """Chains over three labels with whole, partial and missing gold, and their problem."""
    costs = draw(arrays(float, (3, 3), elements=st.integers(0, 5).map(float)))
    chains = draw(naive.chains(fewest_labels=3, sets=lambda K: K + 3))
    return chains, problem_of(chains, costs * (1 - np.eye(3)), sets=[[0, 1], [1, 2]])


@checked
@given(st.data(), annotated())
def test_costs_are_added_by_the_gold_of_each_token(data, drawn):
    chains, problem = drawn
    costs = problem.examples().costs
    for i, gold in enumerate(chains.gold):
        emissions = data.draw(arrays(float, (len(gold), 3), elements=whole))
        expected = emissions + 2 * costs[gold] if gold else emissions.copy()
        add_costs(problem.examples(), i, 2.0, emissions)
        np.testing.assert_array_equal(emissions, expected)


@checked
@given(st.data(), annotated())
def test_gold_restricts_to_the_labels_that_its_sets_allow(data, drawn):
    chains, problem = drawn
    allowed = [{0}, {1}, {2}, {0, 1, 2}, {0, 1}, {1, 2}]
    for i, gold in enumerate(chains.gold):
        emissions = data.draw(arrays(float, (len(gold), 3), elements=whole))
        before = emissions.copy()
        restrict_to_gold(problem.examples(), i, emissions)
        assert is_partial(problem.examples(), i) == any(len(allowed[number]) > 1 for number in gold)
        for t, number in enumerate(gold):
            for label in range(3):
                kept = before[t, label] if label in allowed[number] else -np.inf
                assert emissions[t, label] == kept


@checked
@given(st.data(), annotated())
def test_the_cost_of_a_structure_is_the_sum_over_its_tokens(data, drawn):
    chains, problem = drawn
    examples = problem.examples()
    for i, gold in enumerate(chains.gold):
        y = data.draw(st.lists(st.integers(0, 2), min_size=len(gold), max_size=len(gold)))
        expected = naive.cost(examples.costs, gold, y)
        assert cost(examples, i, np.array(y, np.int64)) == expected


@checked
@given(st.data(), naive.chains(shortest=1, length=5))
def test_differences_equal_the_difference_of_feature_vectors(data, chains):
    problem = problem_of(chains)
    labels = st.integers(0, chains.K - 1)
    for i, features in enumerate(chains.features):
        sequences = st.lists(labels, min_size=len(features), max_size=len(features))
        gold, y = data.draw(sequences), data.draw(sequences)
        found = difference_of(problem, i, gold, y)
        assert found == naive.difference(chains.K, features, gold, y)


def test_differences_of_many_features_that_collide():
    """Many features, all different, so that chains of collisions meet and wrap around."""
    random = np.random.default_rng(0)
    features = random.permutation(1000).reshape(4, 250).tolist()
    chains = naive.Chains(3, 1000, [features], [[0, 1, 2, 0]])
    y = [1, 2, 0, 1]
    found = difference_of(problem_of(chains), 0, chains.gold[0], y)
    assert found == naive.difference(3, features, chains.gold[0], y)
