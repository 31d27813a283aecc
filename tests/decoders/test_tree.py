"""Tree decoders against enumeration, on drawn score tables full of ties and infinities."""

import brute
import numpy as np
import pytest
from growth import growth
from hypothesis import given
from hypothesis import strategies as st
from marks import compiled_only
from tree_tables import (
    DECODERS,
    PROJECTIVE,
    best_score,
    check_range,
    checked,
    decode,
    few_arcs,
    is_tree,
    not_numbers,
    rounded,
    score_of,
    tables,
)

from spacy_ssvm.decoders.tree_marginals import (
    max_marginals,
)

pytestmark = pytest.mark.uncompiled

decoders = pytest.mark.parametrize("decoder", DECODERS)


def test_the_number_of_trees_is_that_of_the_field():
    """Cayley's n^(n - 1) trees with a root, and the projective ones of Wolfram's A006013."""
    assert [len(brute.trees(n)) for n in range(1, 7)] == [n ** (n - 1) for n in range(1, 7)]
    assert [len(brute.trees(n, True)) for n in range(1, 7)] == [1, 2, 7, 30, 143, 728]
    assert brute.trees(0).tolist() == [[-1]]


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


@compiled_only
def test_time_of_many_cycles_within_each_other_is_quadratic():
    """Of equal scores, each cycle that is contracted is part of another one."""

    def run(n):  # small enough for the caches of a processor, often enough to be timed
        for _ in range(20):
            decode("chu_liu_edmonds", np.zeros((n + 1, n + 1)))

    assert growth(run, 50, rounds=20) < 5, "4 for quadratic time, 6 and more for cubic"


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
