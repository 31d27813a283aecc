"""Tests of ``spacy_ssvm/decoders/sibling_propagation.py``."""

from itertools import pairwise, product

import brute
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from marks import compiled_only
from tree_tables import (
    checked,
    few_arcs,
    not_numbers,
    packed,
    pair_tables,
    probabilities,
    tables,
    whole,
)

from spacy_ssvm.decoders.sibling_propagation import (
    MAX_ITERATIONS,
    TOLERANCE,
    _messages_of_automaton,
    _messages_of_tree,
    propagate_siblings,
)
from spacy_ssvm.decoders.siblings import number_pairs
from spacy_ssvm.decoders.tree_marginals import nonprojective_marginals

pytestmark = pytest.mark.uncompiled

numbers = st.one_of(st.floats(-20, 20), whole, st.just(-np.inf))
mild = st.floats(-1, 1)


def propagate(scores, starts, values):
    found, of_pairs = np.full(scores.shape, 99.0), np.full(len(values), 99.0)
    return propagate_siblings(scores, starts, values, found, of_pairs), found, of_pairs


def random_tables(random, n, spread):
    scores = random.normal(size=(n + 1, n + 1))
    return scores, random.normal(size=(n + 1, n + 2, n + 1)) * spread


@checked
@given(tables(numbers))
def test_without_scores_of_pairs_the_sums_are_those_of_the_matrix_tree_theorem(scores):
    starts = np.full(scores.shape, -1, dtype=np.int64)
    values = np.zeros(number_pairs(scores, starts))
    ended, found, of_pairs = propagate(scores, starts, values)
    expected = np.empty(scores.shape)
    log_partition = nonprojective_marginals(scores, expected)
    assert ended.log_partition == pytest.approx(log_partition, abs=1e-9)
    assert ended.iterations == 1
    if log_partition > -np.inf:
        np.testing.assert_allclose(found, expected, atol=1e-9)
        for h, m in product(range(len(scores)), range(1, len(scores))):
            if h != m and scores[h, m] > -np.inf:
                siblings = [s for s in range(min(h, m) + 1, max(h, m)) if scores[h, s] > -np.inf]
                of_arc = of_pairs[starts[h, m] :][: 1 + len(siblings) * (h > 0)]
                assert of_arc.sum() == pytest.approx(expected[h, m], abs=1e-6)


@checked
@given(pair_tables(numbers, st.floats(-20, 20), shortest=1))
def test_pairs_that_do_not_know_the_sibling_are_exact(drawn):
    scores, pairs = drawn
    pairs[:] = pairs[:, :1]
    ended, found, _ = propagate(scores, *packed(scores, pairs))
    together = scores + pairs[:, 0]
    expected = np.empty(scores.shape)
    log_partition = nonprojective_marginals(together, expected)
    assert ended.log_partition == pytest.approx(log_partition, abs=1e-9)
    if log_partition > -np.inf:
        assert ended.distance < 1e-6
        np.testing.assert_allclose(found, expected, atol=1e-9)


@checked
@given(tables(st.one_of(st.floats(-50, 50), st.just(-np.inf)), shortest=1, longest=5))
def test_messages_of_the_tree_are_the_odds_of_the_enumeration(scores):
    messages, marginals = np.full(scores.shape, 99.0), np.empty(scores.shape)
    total = _messages_of_tree(np.where(np.isnan(scores), -np.inf, scores), marginals, messages)
    totals = brute.tree_scores(scores)
    assert total == pytest.approx(np.logaddexp.reduce(totals), abs=1e-9)
    if total == -np.inf:
        return
    trees = brute.trees(len(scores) - 1)
    for h, m in product(range(len(scores)), range(1, len(scores))):
        if h == m or scores[h, m] == -np.inf:
            continue
        on, off = (np.logaddexp.reduce(totals[has]) for has in (trees[:, m] == h, trees[:, m] != h))
        probability = np.exp(on - total)
        found = 1 / (1 + np.exp(-messages[h, m] - scores[h, m]))
        assert found == pytest.approx(probability, abs=1e-15, rel=1e-9)
        if min(on, off) > total - 20:
            assert messages[h, m] == pytest.approx(on - off - scores[h, m], abs=1e-5)


@checked
@given(st.data(), st.integers(0, 4))
def test_messages_of_an_automaton_are_the_odds_of_the_enumeration(data, K):
    scores = np.array(data.draw(st.lists(st.floats(-20, 20), min_size=K, max_size=K)))
    size = K * (K + 1) // 2
    pairs = np.array(data.draw(st.lists(st.floats(-20, 20), min_size=size, max_size=size)))
    order = np.array(data.draw(st.permutations(range(K))), dtype=np.int64)
    starts = np.zeros(K, dtype=np.int64)
    starts[order] = np.cumsum([0, *range(1, K)])[:K]
    messages, of_pairs = np.full(K, 99.0), np.full(size, 99.0)
    total = _messages_of_automaton(scores, np.exp(pairs), starts, order, messages, of_pairs)

    totals, fired = [], []
    for taken in product([False, True], repeat=K):
        places = [-1, *np.flatnonzero(taken)]  # counted from the head; -1 for none
        slots = [starts[order[j]] + i + 1 for i, j in pairwise(places)]
        fired.append((set(order[places[1:]]), set(slots)))
        totals.append(sum(scores[order[places[1:]]]) + sum(pairs[slots]))
    expected = np.logaddexp.reduce(totals)
    assert total + np.logaddexp(0, scores).sum() == pytest.approx(expected, abs=1e-9)
    for m in range(K):
        on = np.array([m in dependents for dependents, _ in fired])
        taken, left = (np.logaddexp.reduce(np.array(totals)[has]) for has in (on, ~on))
        assert messages[m] == pytest.approx(taken - left - scores[m], abs=1e-9)
    for slot in range(size):
        probability = sum(
            np.exp(score - expected)
            for score, (_, slots) in zip(totals, fired, strict=True)
            if slot in slots
        )
        assert of_pairs[slot] == pytest.approx(probability, abs=1e-9)


@pytest.mark.parametrize("n", [3, 4, 6])
def test_beliefs_are_the_gradient_of_the_log_partition(n):
    random = np.random.default_rng(n)
    scores, pairs = random_tables(random, n, 1.0)
    starts, values = packed(scores, pairs)
    ended, found, of_pairs = propagate(scores, starts, values)
    assert ended.distance <= TOLERANCE
    step = 1e-4
    for of_arcs, of_values in ((1.0, 0.0), (0.0, 1.0)):
        towards = random.normal(size=scores.shape) * of_arcs
        towards_pairs = random.normal(size=len(values)) * of_values
        up, down = (
            propagate(scores + sign * step * towards, starts, values + sign * step * towards_pairs)
            for sign in (1, -1)
        )
        np.fill_diagonal(found, 0.0)
        slope = (found * towards)[:, 1:].sum() + of_pairs @ towards_pairs
        measured = (up[0].log_partition - down[0].log_partition) / (2 * step)
        assert slope == pytest.approx(measured, abs=1e-5)


@compiled_only
@pytest.mark.parametrize(("spread", "bound"), [(0.3, 0.01), (1.0, 0.035)])
def test_beliefs_are_near_the_probabilities(spread, bound):
    random = np.random.default_rng(0)
    errors, first_order, log_partitions = [], [], []
    for _ in range(100):
        scores, pairs = random_tables(random, 5, spread)
        ended, found, _ = propagate(scores, *packed(scores, pairs))
        log_partition, of_arcs, _ = probabilities(scores, pairs, projective=False)
        assert ended.distance <= TOLERANCE
        without = np.empty(scores.shape)
        nonprojective_marginals(scores, without)
        np.testing.assert_allclose(found[:, 1:].sum(axis=0), 1.0)
        errors.append(np.abs(found - of_arcs)[:, 1:].max())
        first_order.append(np.abs(without - of_arcs)[:, 1:].max())
        log_partitions.append(ended.log_partition - log_partition)
    assert np.mean(errors) < bound < np.mean(first_order) / 3
    assert np.mean(np.abs(log_partitions)) < bound


@checked
@given(pair_tables(few_arcs, st.sampled_from([-1e3, 0.0, 1e3])))
def test_any_scores_end(drawn):
    scores, pairs = drawn
    ended, found, of_pairs = propagate(scores, *packed(scores, pairs))
    assert 1 <= ended.iterations <= MAX_ITERATIONS
    if ended.log_partition > -np.inf:
        assert np.isfinite(ended.log_partition)
        assert 0 <= ended.distance <= 1
        assert (found >= 0).all()
        assert (of_pairs >= 0).all()
        np.testing.assert_allclose(found[:, 1:].sum(axis=0), 1.0)


@checked
@given(pair_tables(not_numbers, not_numbers))
def test_what_is_not_a_number_stays_in_its_tables(drawn):
    scores, pairs = drawn
    starts, values = packed(scores, pairs)
    starts[starts < 0] = 2**40
    with np.errstate(invalid="ignore"):
        propagate(scores, starts, values)
