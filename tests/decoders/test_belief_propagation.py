"""Tests of ``spacy_ssvm/decoders/belief_propagation.py``."""

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
    pair_tables,
    part_table,
    probabilities_of_parts,
    tables,
    triple_tables,
    whole,
)

from spacy_ssvm.decoders.belief_propagation import (
    MAX_ITERATIONS,
    TOLERANCE,
    Grandparents,
    _messages_of_automaton,
    _messages_of_tree,
    _update_grandparents,
    propagate_beliefs,
)
from spacy_ssvm.decoders.parts import number_parts, scaled_parts
from spacy_ssvm.decoders.tree_marginals import nonprojective_marginals

pytestmark = pytest.mark.uncompiled

numbers = st.one_of(st.floats(-20, 20), whole, st.just(-np.inf))
mild = st.floats(-1, 1)


def propagate(parts):
    found = scaled_parts(parts, np.nan)
    return propagate_beliefs(parts, found), found


def random_parts(random, n, spread, spread_of_grandparents):
    """Normal scores of parts, as tables and as ``part_table``."""
    tables = (
        random.normal(size=(n + 1, n + 1)),
        random.normal(size=(n + 1, n + 2, n + 1)) * spread,
        random.normal(size=(n + 1, n + 1, n + 1)) * spread_of_grandparents,
    )
    return tables, part_table(*tables)


@checked
@given(tables(numbers), st.booleans())
def test_without_scores_of_pairs_the_sums_are_those_of_the_matrix_tree_theorem(
    scores, has_grandparents
):
    parts = number_parts(scores, True, has_grandparents)
    ended, found = propagate(parts)
    expected = np.empty(scores.shape)
    log_partition = nonprojective_marginals(scores, expected)
    assert ended.log_partition == pytest.approx(log_partition, abs=1e-9)
    assert ended.iterations == 1
    if log_partition > -np.inf:
        np.testing.assert_allclose(found.arcs, expected, atol=1e-9)
        for h, m in product(range(len(scores)), range(1, len(scores))):
            if h != m and scores[h, m] > -np.inf:
                siblings = [s for s in range(min(h, m) + 1, max(h, m)) if scores[h, s] > -np.inf]
                of_arc = found.pairs[parts.starts[h, m] :][: 1 + len(siblings) * (h > 0)]
                assert of_arc.sum() == pytest.approx(expected[h, m], abs=1e-6)


@checked
@given(pair_tables(numbers, st.floats(-20, 20), shortest=1))
def test_pairs_that_do_not_know_the_sibling_are_exact(drawn):
    scores, pairs = drawn
    pairs[:] = pairs[:, :1]
    ended, found = propagate(part_table(scores, pairs))
    together = scores + pairs[:, 0]
    expected = np.empty(scores.shape)
    log_partition = nonprojective_marginals(together, expected)
    assert ended.log_partition == pytest.approx(log_partition, abs=1e-9)
    if log_partition > -np.inf:
        assert ended.distance < 1e-6
        np.testing.assert_allclose(found.arcs, expected, atol=1e-9)


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


@checked
@given(st.floats(-20, 20), st.floats(-20, 20), st.floats(-20, 20))
def test_messages_of_a_grandparent_are_the_odds_of_the_enumeration(upper, lower, score):
    """The root above the first of two words, and the first above the second."""
    arcs_of_a_chain = np.full((3, 3), -np.inf)
    arcs_of_a_chain[0, 1] = arcs_of_a_chain[1, 2] = 0.0
    parts = number_parts(arcs_of_a_chain, True, True)
    assert len(parts.grandparents) == 1
    parts.grandparents[0] = score
    others = np.zeros((3, 3))
    others[0, 1], others[1, 2] = upper, lower
    messages, found = Grandparents(np.zeros(1), np.zeros(1), np.zeros((3, 3))), np.zeros(1)
    total, distance = _update_grandparents(parts, others, 0.0, messages, found)
    both = np.array([0.0, upper, lower, upper + lower + score])
    log_partition = np.logaddexp.reduce(both)
    independent = np.logaddexp(0, upper) + np.logaddexp(0, lower)
    assert total == pytest.approx(log_partition - independent, abs=1e-9)
    assert found[0] == pytest.approx(np.exp(both[3] - log_partition), abs=1e-9)
    on = np.logaddexp(both[1], both[3]) - np.logaddexp(both[0], both[2])
    assert upper + messages.to_upper[0] == pytest.approx(on, abs=1e-9)
    assert distance >= abs(1 / (1 + np.exp(-on)) - 1 / (1 + np.exp(-upper))) - 1e-9
    on = np.logaddexp(both[2], both[3]) - np.logaddexp(both[0], both[1])
    assert lower + messages.to_lower[0] == pytest.approx(on, abs=1e-9)
    assert messages.sums[0, 1] == messages.to_upper[0]
    assert messages.sums[1, 2] == messages.to_lower[0]
    _, distance = _update_grandparents(parts, others, 0.0, messages, found)
    assert distance == pytest.approx(0.0, abs=1e-9)
    damped = Grandparents(np.zeros(1), np.zeros(1), np.zeros((3, 3)))
    _update_grandparents(parts, others, 0.25, damped, found)
    for sums, all_of_it in zip(damped, messages, strict=True):
        np.testing.assert_allclose(sums, 0.75 * all_of_it, atol=1e-9)


@pytest.mark.parametrize("n", [3, 4, 6])
def test_beliefs_are_the_gradient_of_the_log_partition(n):
    random = np.random.default_rng(n)
    _, parts = random_parts(random, n, 1.0, 0.5)
    ended, found = propagate(parts)
    assert ended.distance <= TOLERANCE
    step = 1e-4
    for name in ("arcs", "pairs", "grandparents"):
        towards = random.normal(size=getattr(parts, name).shape)
        up, down = (
            propagate(parts._replace(**{name: getattr(parts, name) + sign * step * towards}))
            for sign in (1, -1)
        )
        beliefs = getattr(found, name) * towards
        if name == "arcs":
            np.fill_diagonal(beliefs, 0.0)
            beliefs = beliefs[:, 1:]
        measured = (up[0].log_partition - down[0].log_partition) / (2 * step)
        assert beliefs.sum() == pytest.approx(measured, abs=1e-5)


@compiled_only
@pytest.mark.parametrize(
    ("spread", "spread_of_grandparents", "bound", "bound_of_log_partition"),
    [(0.3, 0.0, 0.01, 0.01), (1.0, 0.0, 0.035, 0.035), (0.3, 0.3, 0.045, 0.07)],
)
def test_beliefs_are_near_the_probabilities(
    spread, spread_of_grandparents, bound, bound_of_log_partition
):
    random = np.random.default_rng(0)
    errors, first_order, log_partitions = [], [], []
    for _ in range(100):
        tables, parts = random_parts(random, 5, spread, spread_of_grandparents)
        ended, found = propagate(parts)
        log_partition, expected = probabilities_of_parts(*tables, projective=False)
        assert ended.distance <= TOLERANCE
        without = np.empty(parts.arcs.shape)
        nonprojective_marginals(parts.arcs, without)
        np.testing.assert_allclose(found.arcs[:, 1:].sum(axis=0), 1.0)
        errors.append(np.abs(found.arcs - expected.arcs)[:, 1:].max())
        first_order.append(np.abs(without - expected.arcs)[:, 1:].max())
        log_partitions.append(ended.log_partition - log_partition)
    assert np.mean(errors) < bound < np.mean(first_order) / 3
    assert np.mean(np.abs(log_partitions)) < bound_of_log_partition


@compiled_only
def test_damping_lets_messages_converge_that_would_swing():
    """Of 24 problems with strong pairs 17 converge, and 5 without damping."""
    ended = [
        propagate(random_parts(np.random.default_rng(seed), 6, 2.0, 2.0)[1])[0]
        for seed in range(24)
    ]
    assert sum(found.distance <= TOLERANCE for found in ended) >= 15


@checked
@given(triple_tables(few_arcs, st.sampled_from([-1e3, 0.0, 1e3])))
def test_any_scores_end(drawn):
    ended, found = propagate(part_table(*drawn))
    assert 1 <= ended.iterations <= MAX_ITERATIONS
    if ended.log_partition > -np.inf:
        assert np.isfinite(ended.log_partition)
        assert 0 <= ended.distance <= 1
        for name in ("arcs", "pairs", "grandparents"):
            assert (getattr(found, name) >= 0).all()
        np.testing.assert_allclose(found.arcs[:, 1:].sum(axis=0), 1.0)


@checked
@given(triple_tables(not_numbers, not_numbers))
def test_what_is_not_a_number_stays_in_its_tables(drawn):
    parts = part_table(*drawn)
    parts.starts[parts.starts < 0] = 2**40
    with np.errstate(invalid="ignore"):
        propagate(parts)
