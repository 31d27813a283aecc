"""Matchings: the decoders against enumeration and a solver of assignment problems."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from marks import compiled_only
from matching_tables import (
    Tables,
    allowed_matchings,
    best_margins,
    falling,
    matching_tables,
    one_link_each,
    scores_of,
)
from scipy.optimize import linear_sum_assignment
from tree_tables import checked

from spacy_ssvm.align.matchings.decoder import best_matching, k_best_matchings, matching_margins

pytestmark = pytest.mark.uncompiled


def decode(tables):
    links = np.ones(tables.scores.shape, dtype=bool)
    return best_matching(*tables, links), links


def margins_of(tables):
    _, links = decode(tables)
    margins = np.full(tables.scores.shape, np.nan)
    matching_margins(*tables, links, margins)
    return margins, links


def assignment_score(scores):
    """The best score where words have at most one link: each has a partner for staying alone."""
    m, n = scores.shape
    padded = np.zeros((m + n, m + n))
    padded[:m, :n] = scores
    return padded[linear_sum_assignment(padded, maximize=True)].sum()


def random_tables(seed, m, n, f, g, scale=1.0):
    random = np.random.default_rng(seed)
    return Tables(
        scale * random.normal(size=(m, n)),
        falling(scale * random.normal(size=(m, f))),
        falling(scale * random.normal(size=(n, g))),
    )


@checked
@given(matching_tables())
def test_the_best_matching_is_found(tables):
    score, links = decode(tables)
    assert score == allowed_matchings(tables)[1].max()
    assert score == scores_of(tables, links)


@checked
@given(matching_tables())
def test_margins_are_differences_of_the_best_scores(tables):
    np.testing.assert_array_equal(margins_of(tables)[0], best_margins(tables))


@checked
@given(matching_tables(longest=3), st.integers(1, 40))
def test_k_best_matchings_are_the_best_ones_in_order(tables, k):
    links, scores = k_best_matchings(*tables, k)
    assert scores.tolist() == sorted(allowed_matchings(tables)[1], reverse=True)[:k]
    assert scores.tolist() == scores_of(tables, links).tolist()
    assert len(np.unique(links.reshape(len(links), -1), axis=0)) == len(links)


def test_without_words_there_is_one_matching():
    for shape in ((0, 0), (0, 3), (2, 0)):
        links, scores = k_best_matchings(*one_link_each(np.zeros(shape)), 5)
        assert links.shape == (1, *shape)
        assert scores.tolist() == [0.0]


def test_more_matchings_than_there_are_cost_no_memory():
    links, scores = k_best_matchings(*one_link_each(np.array([[1.0]])), 10**12)
    assert links.tolist() == [[[True]], [[False]]]
    assert scores.tolist() == [1.0, 0.0]


def test_k_is_at_least_one():
    with pytest.raises(ValueError, match="k must be at least 1"):
        k_best_matchings(*one_link_each(np.zeros((2, 2))), 0)


def test_links_that_gain_nothing_are_left_out():
    score, links = decode(one_link_each(np.array([[0.0, -1.0], [0.0, 2.0]])))
    assert score == 2.0
    assert links.tolist() == [[False, False], [False, True]]


def test_a_link_is_used_once_where_both_words_may_have_more():
    tables = Tables(np.array([[3.0]]), np.zeros((1, 2)), np.zeros((1, 2)))
    assert decode(tables)[0] == 3.0


def test_a_better_word_takes_the_place_of_another():
    """The first word loses its only partner to the second one, and stays alone."""
    score, links = decode(one_link_each(np.array([[1.0], [2.0]])))
    assert score == 2.0
    assert links.tolist() == [[False], [True]]


@pytest.mark.parametrize("shape", [(1, 9), (9, 1), (7, 12), (12, 7), (15, 15)])
@pytest.mark.parametrize("mean", [-1.0, 0.0, 2.0])
def test_single_links_agree_with_assignments(shape, mean):
    scores = np.random.default_rng(3).normal(mean, size=shape)
    score, links = decode(one_link_each(scores))
    assert score == pytest.approx(assignment_score(scores), abs=1e-9)
    assert score == pytest.approx(scores[links].sum())
    assert links.sum(axis=0).max() <= 1
    assert links.sum(axis=1).max() <= 1


@compiled_only
def test_long_sentences_agree_with_assignments():
    scores = np.random.default_rng(4).normal(size=(150, 110))
    assert decode(one_link_each(scores))[0] == pytest.approx(assignment_score(scores))


def test_margins_of_long_sentences_agree_with_assignments():
    """Margins of real numbers, from the best scores with a link forbidden or taken."""
    scores = np.random.default_rng(5).normal(size=(9, 11))
    margins, links = margins_of(one_link_each(scores))
    best = assignment_score(scores)
    for j, k in np.ndindex(scores.shape):
        without = scores.copy()
        without[j, k] = -1e3
        rest = np.delete(np.delete(scores, j, axis=0), k, axis=1)
        taken = scores[j, k] + assignment_score(rest)
        expected = best - assignment_score(without) if links[j, k] else taken - best
        assert margins[j, k] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize(("f", "g"), [(1, 1), (2, 3)])
def test_results_do_not_depend_on_the_scale(scale, f, g):
    tables = random_tables(6, 8, 7, f, g)
    scaled = random_tables(6, 8, 7, f, g, scale)
    np.testing.assert_array_equal(decode(tables)[1], decode(scaled)[1])
    np.testing.assert_allclose(margins_of(scaled)[0], scale * margins_of(tables)[0], rtol=1e-9)
    expected = k_best_matchings(*tables, 6)
    found = k_best_matchings(*scaled, 6)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[1], scale * expected[1])


@checked
@given(st.integers(0, 2**32), st.integers(1, 3), st.integers(1, 3))
def test_mixed_magnitudes_and_ties_come_to_an_end(seed, f, g):
    """Rounding hides small scores behind large ones: the result is the best up to rounding."""
    random = np.random.default_rng(seed)

    def numbers(*shape):
        values = random.choice([-1.0, 0.1, 0.3, 1.0, 3.0], shape)
        return values * random.choice([1e-12, 1.0, 1e12], shape)

    tables = Tables(numbers(4, 3), falling(numbers(4, f)), falling(numbers(3, g)))
    best = allowed_matchings(tables)[1].max()
    score, links = decode(tables)
    assert score == pytest.approx(best, rel=1e-12, abs=1e-2)
    assert score == pytest.approx(scores_of(tables, links), rel=1e-12, abs=1e-2)
    margins, _ = margins_of(tables)
    assert (margins[links] >= 0.0).all()
    assert (margins[~links] <= 0.0).all()
    found, scores = k_best_matchings(*tables, 10)
    assert len(np.unique(found.reshape(len(found), -1), axis=0)) == len(found)
    assert (np.diff(scores) <= 0.0).all()


def test_arrays_may_have_any_memory_layout():
    tables = random_tables(7, 6, 5, 2, 2)
    scattered = Tables(*(np.repeat(table, 2, axis=1)[:, ::2] for table in tables))
    links = np.ones((5, 6), dtype=bool).T
    assert best_matching(*scattered, links) == decode(tables)[0]
    np.testing.assert_array_equal(links, decode(tables)[1])
