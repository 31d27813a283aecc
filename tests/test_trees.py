"""Tree decoders against enumeration, on drawn score tables full of ties and infinities."""

import brute
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from marks import PLAIN, compiled_only

from spacy_ssvm.decoders.siblings import eisner_siblings, number_pairs, sibling_max_marginals
from spacy_ssvm.decoders.tree import chu_liu_edmonds, eisner
from spacy_ssvm.decoders.tree_marginals import (
    _eliminate,
    _eliminate_by_logarithms,
    _find_root,
    max_marginals,
    nonprojective_marginals,
    projective_marginals,
)

pytestmark = pytest.mark.uncompiled

checked = settings(deadline=None, max_examples=30 if PLAIN else 100)

# Whole numbers add up exactly, whatever the order, so that ties are ties.
whole = st.integers(-3, 3).map(float)
with_infinities = st.one_of(whole, whole, st.just(-np.inf))
few_arcs = st.one_of(whole, st.just(-np.inf))
rounded = st.floats(-1e3, 1e3)
not_numbers = st.one_of(whole, whole, st.just(-np.inf), st.just(np.nan))


@st.composite
def tables(draw, scores=with_infinities, shortest=0, longest=6):
    """Scores [n + 1, n + 1]; what must not be looked at is no number."""
    n = draw(st.integers(shortest, longest))
    table = draw(arrays(float, (n + 1, n + 1), elements=scores))
    table[:, 0] = np.nan
    np.fill_diagonal(table, np.nan)
    return table


@st.composite
def pair_tables(draw, scores=with_infinities, pairs=whole, shortest=0, longest=5):
    """Scores of arcs, and of pairs of arcs [n + 1, n + 2, n + 1] by head, sibling, dependent."""
    table = draw(tables(scores, shortest, longest))
    n = len(table) - 1
    return table, draw(arrays(float, (n + 1, n + 2, n + 1), elements=pairs))


def arcs_alone(scores, heads):
    """The decoder of pairs of arcs, where no pair has a score."""
    starts = np.full(scores.shape, -1, dtype=np.int64)
    return eisner_siblings(scores, starts, np.zeros(number_pairs(scores, starts)), heads)


PROJECTIVE = {"eisner": eisner, "siblings": arcs_alone}
DECODERS = {**PROJECTIVE, "chu_liu_edmonds": chu_liu_edmonds}
decoders = pytest.mark.parametrize("decoder", DECODERS)


def decode(decoder, scores):
    heads = np.full(len(scores), 99, dtype=np.int64)
    score = DECODERS[decoder](scores, heads)
    return score, heads


def is_tree(heads, projective):
    return (brute.trees(len(heads) - 1, projective) == heads).all(axis=1).any()


def score_of(scores, heads):
    return sum(scores[heads[m], m] for m in range(1, len(heads)))


def best_score(scores, decoder):
    return brute.tree_scores(scores, decoder in PROJECTIVE).max()


def check_range(heads):
    """Where there is no tree, heads are of no meaning, but safe to look up."""
    assert heads[0] == -1
    assert all(0 <= h < len(heads) for h in heads[1:])


# --- What is enumerated -----------------------------------------------------------------


def test_the_number_of_trees_is_that_of_the_field():
    """Cayley's n^(n - 1) trees with a root, and the projective ones of Wolfram's A006013."""
    assert [len(brute.trees(n)) for n in range(1, 7)] == [n ** (n - 1) for n in range(1, 7)]
    assert [len(brute.trees(n, True)) for n in range(1, 7)] == [1, 2, 7, 30, 143, 728]
    assert brute.trees(0).tolist() == [[-1]]


# --- Arcs -------------------------------------------------------------------------------


@decoders
@checked
@given(scores=tables())
def test_decoders_find_the_best_tree(decoder, scores):
    score, heads = decode(decoder, scores)
    assert score == best_score(scores, decoder)
    if score > -np.inf:
        assert is_tree(heads, decoder in PROJECTIVE)
        assert score_of(scores, heads) == score
    else:
        check_range(heads)


@decoders
@checked
@given(scores=tables(few_arcs, shortest=3))
def test_decoders_find_the_best_tree_of_few_arcs(decoder, scores):
    score, heads = decode(decoder, scores)
    assert score == best_score(scores, decoder)
    check_range(heads)
    if score > -np.inf:
        assert score_of(scores, heads) == score


@decoders
@checked
@given(scores=tables(rounded))
def test_decoders_find_the_best_tree_of_rounded_numbers(decoder, scores):
    score, heads = decode(decoder, scores)
    assert score == pytest.approx(best_score(scores, decoder), abs=1e-8)
    assert is_tree(heads, decoder in PROJECTIVE)
    assert score_of(scores, heads) == pytest.approx(score, abs=1e-8)


@decoders
@checked
@given(scores=tables())
def test_decoders_leave_the_score_tables_alone_and_repeat_themselves(decoder, scores):
    before = scores.copy()
    score, heads = decode(decoder, scores)
    np.testing.assert_array_equal(scores, before)
    again, heads_again = decode(decoder, scores)
    assert score == again
    np.testing.assert_array_equal(heads, heads_again)


@decoders
@checked
@given(scores=tables(not_numbers))
def test_nan_forbids_an_arc(decoder, scores):
    score, heads = decode(decoder, scores)
    assert score == best_score(np.where(np.isnan(scores), -np.inf, scores), decoder)
    check_range(heads)
    if score > -np.inf:
        assert is_tree(heads, decoder in PROJECTIVE)
        assert score_of(scores, heads) == score


@decoders
@checked
@given(scores=tables(st.sampled_from([0.0, 1.0, np.inf, -np.inf, np.nan])))
def test_infinite_scores_leave_heads_in_range(decoder, scores):
    _, heads = decode(decoder, scores)
    check_range(heads)


@decoders
@pytest.mark.parametrize("n", [1, 2, 4])
def test_no_tree_scores_minus_infinity(decoder, n):
    nothing = np.full((n + 1, n + 1), -np.inf)
    no_root, no_head = np.zeros((n + 1, n + 1)), np.zeros((n + 1, n + 1))
    no_root[0] = -np.inf
    no_head[:, n] = -np.inf
    only_the_root = nothing.copy()
    only_the_root[0] = 0.0
    for scores in [nothing, no_root, no_head, *[only_the_root] * (n > 1)]:
        score, heads = decode(decoder, scores)
        assert score == -np.inf
        check_range(heads)


@decoders
def test_an_empty_sentence_and_a_single_word(decoder):
    score, heads = decode(decoder, np.zeros((1, 1)))
    assert (score, heads.tolist()) == (0.0, [-1])
    score, heads = decode(decoder, np.array([[0.0, -2.5], [0.0, 7.0]]))
    assert (score, heads.tolist()) == (-2.5, [-1, 0])


@decoders
def test_one_root_even_where_several_would_score_more(decoder):
    scores = np.zeros((6, 6))
    scores[0] = 1e6
    score, heads = decode(decoder, scores)
    assert score == 1e6
    assert (heads == 0).sum() == 1
    assert is_tree(heads, decoder in PROJECTIVE)


def test_arcs_cross_where_trees_need_not_be_projective():
    scores = np.full((5, 5), -10.0)
    for m, h in enumerate([2, 0, 1, 2], start=1):
        scores[h, m] = 1.0  # 1 <- 2 -> 4 crosses 1 -> 3
    assert brute.has_crossing_arcs((-1, 2, 0, 1, 2))
    score, heads = decode("chu_liu_edmonds", scores)
    assert (score, heads.tolist()) == (4.0, [-1, 2, 0, 1, 2])
    assert decode("eisner", scores)[0] == best_score(scores, "eisner") < 0


@compiled_only
@decoders
def test_a_long_sentence(decoder):
    """The score is that of the heads, which are a tree, and no change of one head helps."""
    scores = np.random.default_rng(0).normal(size=(301, 301))
    score, heads = decode(decoder, scores)
    assert score == pytest.approx(score_of(scores, heads))
    assert (heads == 0).sum() == 1
    assert all(brute.reaches_root(tuple(heads.tolist()), m) for m in range(1, 301))
    if decoder in PROJECTIVE:
        assert not brute.has_crossing_arcs(tuple(heads.tolist()))
        assert score == pytest.approx(decode("eisner", scores)[0])
    else:
        assert score > decode("eisner", scores)[0]


# --- Max-marginals ----------------------------------------------------------------------


def marginals_of(scores):
    best = np.full(scores.shape, 99.0)
    return max_marginals(scores, best), best


@checked
@given(tables())
def test_max_marginals_are_the_best_scores_with_each_arc(scores):
    score, best = marginals_of(scores)
    assert score == best_score(scores, "eisner")
    np.testing.assert_array_equal(best, brute.arc_marginals(scores))


@checked
@given(tables(rounded))
def test_max_marginals_of_rounded_numbers(scores):
    score, best = marginals_of(scores)
    assert score == pytest.approx(best_score(scores, "eisner"), abs=1e-8)
    np.testing.assert_allclose(best, brute.arc_marginals(scores), atol=1e-8)


@compiled_only
def test_max_marginals_of_a_long_sentence():
    scores = np.random.default_rng(1).normal(size=(301, 301))
    score, heads = decode("eisner", scores)
    total, best = marginals_of(scores)
    assert total == pytest.approx(score)
    words = np.arange(1, 301)
    np.testing.assert_allclose(best[heads[1:], words], score)
    assert best[:, 1:].max() <= score + 1e-9


# --- Probabilities ----------------------------------------------------------------------

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


# --- Pairs of arcs ----------------------------------------------------------------------


def packed(scores, pairs):
    """starts and pairs as ``decoders.siblings`` lays them out, and how many there are."""
    N = len(scores)
    starts = np.full((N, N), -1, dtype=np.int64)
    values = {}
    size = number_pairs(scores, starts)
    for h in range(N):
        for m in range(1, N):
            if h == m or not scores[h, m] > -np.inf:
                continue
            step = 1 if m > h else -1
            inner = [s for s in range(h + step, m, step) if h > 0 and scores[h, s] > -np.inf]
            for j, s in enumerate([N, *inner]):
                slot = int(starts[h, m]) + j
                assert slot not in values
                values[slot] = pairs[h, s, m]
    assert sorted(values) == list(range(size))
    return starts, np.array([values[slot] for slot in range(size)])


def decode_pairs(scores, pairs):
    heads = np.full(len(scores), 99, dtype=np.int64)
    score = eisner_siblings(scores, *packed(scores, pairs), heads)
    return score, heads


def score_of_pairs(scores, pairs, heads):
    return score_of(scores, heads) + sum(
        pairs[heads[m], brute.inner_sibling(heads, m), m] for m in range(1, len(heads))
    )


@checked
@given(pair_tables())
def test_siblings_find_the_best_tree(drawn):
    scores, pairs = drawn
    score, heads = decode_pairs(scores, pairs)
    assert score == brute.tree_scores(scores, True, pairs).max()
    if score > -np.inf:
        assert is_tree(heads, projective=True)
        assert score_of_pairs(scores, pairs, heads) == score
    else:
        check_range(heads)


@checked
@given(pair_tables(few_arcs, with_infinities, shortest=3))
def test_siblings_find_the_best_tree_of_few_arcs_and_pairs(drawn):
    scores, pairs = drawn
    score, heads = decode_pairs(scores, pairs)
    assert score == brute.tree_scores(scores, True, pairs).max()
    check_range(heads)
    if score > -np.inf:
        assert score_of_pairs(scores, pairs, heads) == score


@checked
@given(pair_tables(not_numbers, not_numbers))
def test_nan_forbids_a_pair_of_arcs(drawn):
    scores, pairs = drawn
    without = [np.where(np.isnan(table), -np.inf, table) for table in drawn]
    score, heads = decode_pairs(scores, pairs)
    assert score == brute.tree_scores(without[0], True, without[1]).max()
    check_range(heads)
    if score > -np.inf:
        assert is_tree(heads, projective=True)
        assert score_of_pairs(scores, pairs, heads) == score
    # The others are defined where all scores are numbers; here they only stay in their tables.
    starts, values = packed(scores, pairs)
    starts[starts < 0] = 2**40
    sibling_max_marginals(scores, starts, values, np.empty(scores.shape))


@checked
@given(pair_tables(few_arcs, with_infinities))
def test_sibling_max_marginals_are_the_best_scores_of_trees_with_each_arc(drawn):
    scores, pairs = drawn
    N = len(scores)
    found = np.full((N, N), np.nan)
    best = sibling_max_marginals(scores, *packed(scores, pairs), found)
    expected = np.full((N, N), -np.inf)
    for heads in brute.trees(N - 1, True):
        score = score_of_pairs(scores, pairs, heads)
        for m in range(1, N):
            expected[heads[m], m] = max(expected[heads[m], m], score)
    np.testing.assert_array_equal(found, expected)
    assert best == (0.0 if N == 1 else expected[0].max())


@settings(checked, max_examples=50)
@given(pair_tables(rounded, rounded, shortest=6, longest=6))
def test_siblings_find_the_best_tree_of_rounded_numbers(drawn):
    scores, pairs = drawn
    score, heads = decode_pairs(scores, pairs)
    assert score == pytest.approx(brute.tree_scores(scores, True, pairs).max(), abs=1e-8)
    assert is_tree(heads, projective=True)
    assert score_of_pairs(scores, pairs, heads) == pytest.approx(score, abs=1e-8)


def test_siblings_change_the_best_tree():
    """Two words want the same head, but not beside each other."""
    scores = np.zeros((4, 4))
    scores[0, 1] = 5.0
    scores[1, 2] = scores[1, 3] = 2.0
    scores[2, 3] = 1.0
    pairs = np.zeros((4, 5, 4))
    assert decode_pairs(scores, pairs)[1].tolist() == [-1, 0, 1, 1]
    pairs[1, 2, 3] = -2.0
    assert decode_pairs(scores, pairs)[1].tolist() == [-1, 0, 1, 2]


@compiled_only
def test_a_long_sentence_with_scores_of_pairs():
    random = np.random.default_rng(2)
    scores, pairs = random.normal(size=(61, 61)), random.normal(size=(61, 62, 61))
    score, heads = decode_pairs(scores, pairs)
    assert score == pytest.approx(score_of_pairs(scores, pairs, heads))
    assert not brute.has_crossing_arcs(tuple(heads.tolist()))
    _, of_arcs = decode("eisner", scores)
    assert score > score_of_pairs(scores, pairs, of_arcs)


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
