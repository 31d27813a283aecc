"""Tests of ``spacy_ssvm/decoders/tree_marginals.py``."""

import brute
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from marks import compiled_only
from tree_tables import best_score, checked, decode, not_numbers, tables, whole

from spacy_ssvm.decoders.tree_marginals import (
    _eliminate,
    _eliminate_by_logarithms,
    _find_root,
    nonprojective_marginals,
    projective_marginals,
)

pytestmark = pytest.mark.uncompiled

MARGINALS = {True: projective_marginals, False: nonprojective_marginals}


kinds = pytest.mark.parametrize("projective", [True, False])


def probabilities(scores, projective):
    """The log-partition and the probability of each arc, by enumeration."""
    totals = brute.tree_scores(scores, projective)
    log_partition = np.logaddexp.reduce(totals)
    marginals = np.zeros(scores.shape)
    if log_partition > -np.inf:
        weights = np.exp(totals - log_partition)
        for m in range(1, len(scores)):
            heads = brute.trees(len(scores) - 1, projective)[:, m]
            marginals[:, m] = np.bincount(heads, weights, len(scores))
    return log_partition, marginals


@kinds
@checked
@given(scores=tables(st.one_of(st.floats(-20, 20), whole, st.just(-np.inf)), longest=5))
def test_marginals_are_the_probabilities_of_arcs(projective, scores):
    log_partition, expected = probabilities(scores, projective)
    marginals = np.full(scores.shape, 99.0)
    assert MARGINALS[projective](scores, marginals) == pytest.approx(log_partition, abs=1e-9)
    if log_partition > -np.inf:
        np.testing.assert_allclose(marginals, expected, atol=1e-9)


@compiled_only
@kinds
def test_marginals_of_a_long_sentence(projective):
    scores = np.random.default_rng(3).normal(size=(301, 301)) * 3
    marginals = np.empty(scores.shape)
    log_partition = MARGINALS[projective](scores, marginals)
    assert log_partition > decode("eisner" if projective else "chu_liu_edmonds", scores)[0]
    np.testing.assert_allclose(marginals[:, 1:].sum(axis=0), 1.0)
    assert marginals[0].sum() == pytest.approx(1.0)
    assert marginals.min() >= 0


def test_a_weak_link_between_strong_arcs_still_makes_a_tree():
    """Each of two words has the other as a head that is much better than the root."""
    scores = np.zeros((3, 3))
    for best in (200.0, 2000.0):
        scores[1, 2] = scores[2, 1] = best
        marginals = np.empty((3, 3))
        assert nonprojective_marginals(scores, marginals) == pytest.approx(best + np.log(2))
        assert marginals[0, 1:] == pytest.approx([0.5, 0.5])


def check_exactly(scores, rtol=1e-13):
    """Probabilities to the last digits, and 0 exactly for what is forbidden.

    Scores are whole numbers; the best total is taken from all totals, so that the exponentials
    are those of small numbers.
    """
    totals = brute.tree_scores(scores)
    best = totals.max()
    marginals = np.full(scores.shape, 99.0)
    log_partition = nonprojective_marginals(scores, marginals)
    if best == -np.inf:
        assert log_partition == -np.inf
        return
    weights = np.exp(totals - best)
    assert log_partition == pytest.approx(best + np.log(weights.sum()), rel=rtol, abs=rtol)
    for m in range(1, len(scores)):
        heads = brute.trees(len(scores) - 1)[:, m]
        expected = np.bincount(heads, weights, len(scores)) / weights.sum()
        np.testing.assert_allclose(marginals[:, m], expected, rtol=0, atol=rtol)
        assert not marginals[np.isneginf(scores[:, m]), m].any()


far_apart = st.one_of(st.integers(-100, 100).map(float), st.just(-np.inf), st.just(100.0))


@checked
@given(tables(far_apart, shortest=1, longest=5))
def test_forbidden_arcs_weigh_nothing_and_others_lose_no_digits(scores):
    check_exactly(scores)


def test_a_tree_of_many_weak_links():
    """Of six words in a row, each prefers the one behind it to the next, by 200."""
    scores = np.full((7, 7), -np.inf)
    for m in range(1, 6):
        scores[m + 1, m], scores[m, m + 1] = -100.0, 100.0
    scores[2, 1] = 100.0
    scores[0, 6] = -100.0  # only the last one may depend on the root
    check_exactly(scores)
    scores[0, 1:6] = -1000.0
    check_exactly(scores)


@checked
@given(tables(not_numbers, shortest=1, longest=4))
def test_nan_forbids_an_arc_among_all_trees(scores):
    found, expected = np.empty(scores.shape), np.empty(scores.shape)
    without = np.where(np.isnan(scores), -np.inf, scores)
    total = nonprojective_marginals(scores, found)
    assert total == nonprojective_marginals(without, expected)
    if total > -np.inf:
        np.testing.assert_array_equal(found, expected)


@checked
@given(tables(st.one_of(whole, st.just(-np.inf)), shortest=1, longest=5))
def test_both_ways_of_elimination_agree(scores):
    n = len(scores) - 1
    root = _find_root(scores)
    assert (root > 0) == (best_score(scores, "chu_liu_edmonds") > -np.inf)
    if root == 0:
        return
    words = np.array([root, *(m for m in range(1, n + 1) if m != root)])
    potentials = scores[np.ix_(words, words)].T.copy()
    np.fill_diagonal(potentials, -np.inf)
    found, expected = ((np.zeros(n), np.zeros((n, n))) for _ in range(2))
    total = _eliminate(potentials, scores[0, words], *found)
    assert _eliminate_by_logarithms(potentials, scores[0, words], *expected) == pytest.approx(total)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)
