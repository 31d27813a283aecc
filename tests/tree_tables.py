"""What the tests of tree tables share."""

import brute
import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from marks import PLAIN

from spacy_ssvm.decoders.parts import number_pairs, number_parts
from spacy_ssvm.decoders.siblings import eisner_siblings
from spacy_ssvm.decoders.tree import chu_liu_edmonds, eisner

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


def arcs_alone(scores, heads):
    """The decoder of pairs of arcs, where no pair has a score."""
    starts = np.full(scores.shape, -1, dtype=np.int64)
    return eisner_siblings(scores, starts, np.zeros(number_pairs(scores, starts)), heads)


PROJECTIVE = {"eisner": eisner, "siblings": arcs_alone}


DECODERS = {**PROJECTIVE, "chu_liu_edmonds": chu_liu_edmonds}


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


@st.composite
def pair_tables(draw, scores=with_infinities, pairs=whole, shortest=0, longest=5):
    """Scores of arcs, and of pairs of arcs [n + 1, n + 2, n + 1] by head, sibling, dependent."""
    table = draw(tables(scores, shortest, longest))
    n = len(table) - 1
    return table, draw(arrays(float, (n + 1, n + 2, n + 1), elements=pairs))


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


@st.composite
def triple_tables(draw, scores=with_infinities, others=whole, shortest=0, longest=5):
    """``pair_tables``, and scores of grandparents [n + 1, n + 1, n + 1].

    By grandparent, head and dependent.
    """
    table, pairs = draw(pair_tables(scores, others, shortest, longest))
    N = len(table)
    return table, pairs, draw(arrays(float, (N, N, N), elements=others))


def part_table(scores, pairs, grandparents=None):
    """The parts of trees, as ``decoders.parts`` lays them out; see ``triple_tables``."""
    N = len(scores)
    parts = number_parts(scores, True, grandparents is not None)
    starts, values = packed(scores, pairs)
    np.testing.assert_array_equal(parts.starts, starts)
    parts.pairs[:] = values
    slots = []
    for h in range(1, N if grandparents is not None else 1):
        for m in range(1, N):
            if h == m or not scores[h, m] > -np.inf:
                continue
            heads = [g for g in range(N) if g != h and scores[g, h] > -np.inf]
            for j, g in enumerate(heads):
                slots.append(int(parts.triple_starts[h, m]) + j)
                parts.grandparents[slots[-1]] = grandparents[g, h, m]
    assert sorted(slots) == list(range(len(parts.grandparents)))
    return parts


def score_of_parts(scores, pairs, grandparents, heads):
    return score_of_pairs(scores, pairs, heads) + sum(
        grandparents[heads[heads[m]], heads[m], m] for m in range(1, len(heads)) if heads[m] > 0
    )


def scores_of_trees(scores, pairs, grandparents, *, projective):
    """The score of each tree of ``brute.trees``."""
    trees = brute.trees(len(scores) - 1, projective)
    found = brute.tree_scores(scores, projective, pairs)
    for m in range(1, len(scores)):
        h = trees[:, m]
        g = trees[np.arange(len(trees)), h]
        found = found + np.where(h > 0, grandparents[g, h, m], 0.0)
    return found


def probabilities_of_parts(scores, pairs, grandparents, *, projective):
    """The log-partition, and the probability of each part, by enumeration."""
    totals = scores_of_trees(scores, pairs, grandparents, projective=projective)
    log_partition = np.logaddexp.reduce(totals)
    found = [np.zeros(table.shape) for table in (scores, pairs, grandparents)]
    if log_partition > -np.inf:
        trees = brute.trees(len(scores) - 1, projective)
        for heads, weight in zip(trees, np.exp(totals - log_partition), strict=True):
            for m in range(1, len(scores)):
                h = heads[m]
                found[0][h, m] += weight
                found[1][h, brute.inner_sibling(heads, m), m] += weight
                if h > 0:
                    found[2][heads[h], h, m] += weight
    return log_partition, part_table(scores, *found[1:])._replace(arcs=found[0])


def score_of_pairs(scores, pairs, heads):
    return score_of(scores, heads) + sum(
        pairs[heads[m], brute.inner_sibling(heads, m), m] for m in range(1, len(heads))
    )
