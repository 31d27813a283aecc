"""Tests of ``spacy_ssvm/chains/oracle.py``."""

import brute
import naive
import numpy as np
import pytest
from hypothesis import given
from referee import (
    ANY,
    HIGH,
    LOW,
    Referee,
    all_numbers,
    check_expansion,
    checked,
    constraints,
    converge,
    partial_problem,
    start,
)

pytestmark = pytest.mark.uncompiled

ALLOWED = [{0}, {1}, {2}, {0, 1, 2}, {0, 1}, {1, 2}]


def partial_violation(chains, costs, i, w):
    """max_y (score + Delta) less the best score of a structure that gold allows."""
    features, gold = chains.features[i], chains.gold[i]
    emissions = naive.emission_scores(w, 3, features)
    transitions = naive.transition_scores(w, 3, np.zeros((5, 3)))
    scored = brute.scored_sequences(emissions, transitions)
    right = max(
        score
        for y, score in scored.items()
        if all(k in ALLOWED[number] for k, number in zip(y, gold, strict=True))
    )
    return max(score + naive.cost(costs, gold, y) for y, score in scored.items()) - right


def completed_violation(chains, costs, i, w, completion):
    """max_y (score + Delta) less the score of one structure that gold allows."""
    if -1 in completion:  # never decoded
        return partial_violation(chains, costs, i, w)
    emissions = naive.emission_scores(w, 3, chains.features[i])
    transitions = naive.transition_scores(w, 3, np.zeros((5, 3)))
    scored = brute.scored_sequences(emissions, transitions)
    worst = max(score + naive.cost(costs, chains.gold[i], y) for y, score in scored.items())
    return worst - scored[tuple(completion)]


@checked
@given(naive.chains(fewest_labels=3, sets=lambda K: K + 3))
def test_partial_gold_is_completed_in_the_best_way(chains):
    problem = partial_problem(chains)
    costs = problem.examples().costs
    run = start(problem, chains.rows, C=0.5, variant="light")
    for _ in range(2):
        for i in all_numbers(run):
            expected = partial_violation(chains, costs, i, run.w)
            assert run.epoch(np.array([i])) == pytest.approx(expected, abs=1e-9)
            check_expansion(run)
    # The objective is that of the completions that were met last.
    examples = problem.examples()
    completions = np.split(examples.completions, examples.token_starts[1:-1])
    losses = sum(
        completed_violation(chains, costs, i, run.w, completions[i].tolist()) ** 2
        for i in all_numbers(run)
    )
    assert run.objective().primal == pytest.approx(run.regularizer + 0.5 * losses, abs=1e-9)


@checked
@given(naive.chains(fewest_labels=3), naive.chains(fewest_labels=3, examples=2))
def test_examples_without_annotation_contribute_nothing(chains, bare):
    problem = partial_problem(chains)
    numbers = problem.append(
        *naive.Chains(3, bare.rows, bare.features, [[ANY] * len(y) for y in bare.gold]).arrays()
    )
    run = converge(start(problem, max(chains.rows, bare.rows), C=0.5))
    assert run.epoch(np.array(numbers)) == pytest.approx(0, abs=1e-9)
    assert all(constraints(run, i) == [] for i in numbers)
    value, _ = Referee(chains, C=0.5).solve()
    assert run.objective().primal == pytest.approx(value, rel=1e-6, abs=1e-9)


def test_gold_that_allows_two_labels_rules_out_the_third():
    """Row 0 may be label 0 or 1, row 1 may be 1 or 2: both learn not to be the other one."""
    chains = naive.Chains(3, 2, [[[0]], [[1]]], [[LOW], [HIGH]])
    problem = partial_problem(chains)
    run = start(problem, 2, C=10.0)
    for _ in range(50):
        run.epoch(all_numbers(run))
    assert run.regularizer > 0
    for i, features in enumerate(chains.features):
        scores = naive.emission_scores(run.w, 3, features)[0] + run.w[9:12] + run.w[12:15]
        assert int(scores.argmax()) in ALLOWED[chains.gold[i][0]]
