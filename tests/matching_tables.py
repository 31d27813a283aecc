"""Tables of matchings that are small enough to enumerate, and the enumeration."""

import functools
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tree_tables import with_infinities


class Tables(NamedTuple):
    """The arguments of the decoders of matchings."""

    scores: np.ndarray
    source_steps: np.ndarray
    target_steps: np.ndarray


def one_link_each(scores):
    """Tables where each word has at most one link."""
    return Tables(scores, np.zeros((scores.shape[0], 1)), np.zeros((scores.shape[1], 1)))


def falling(steps):
    """Rows in descending order."""
    return -np.sort(-steps, axis=1)


def steps_of(words, links):
    return arrays(float, (words, links), elements=with_infinities).map(falling)


@st.composite
def matching_tables(draw, longest=4, links=3):
    """Whole scores; up to some number of words and links of a word, or none."""
    m, n = draw(st.integers(0, longest)), draw(st.integers(0, longest))
    f, g = draw(st.integers(0, links)), draw(st.integers(0, links))
    return Tables(
        draw(arrays(float, (m, n), elements=with_infinities)),
        draw(steps_of(m, f)),
        draw(steps_of(n, g)),
    )


@functools.cache
def all_links(m, n):
    """All sets of links: bool [2 ** (m n), m, n]."""
    numbers = np.arange(2 ** (m * n))[:, None]
    return (numbers >> np.arange(m * n) & 1).astype(bool).reshape(2 ** (m * n), m, n)


def step_scores(steps, counts):
    """What words add with their links: float [..., words]. counts: int [..., words]."""
    words, most = steps.shape
    totals = np.full((words, max(most, counts.max(initial=0)) + 1), -np.inf)
    totals[:, 0] = 0.0
    totals[:, 1 : most + 1] = np.cumsum(steps, axis=1)
    return totals[np.arange(words), counts]


def scores_of(tables, links):
    """The scores of sets of links, bool [..., m, n]: minus infinity for those not allowed."""
    return (
        np.where(links, tables.scores, 0.0).sum(axis=(-1, -2))
        + step_scores(tables.source_steps, links.sum(axis=-1)).sum(axis=-1)
        + step_scores(tables.target_steps, links.sum(axis=-2)).sum(axis=-1)
    )


def allowed_matchings(tables):
    """All matchings with a score above minus infinity, and their scores."""
    links = all_links(*tables.scores.shape)
    scores = scores_of(tables, links)
    return links[scores > -np.inf], scores[scores > -np.inf]


def best_margins(tables):
    """The best score with each link minus the best one without it: [m, n]."""
    links, scores = allowed_matchings(tables)
    values = scores[:, None, None]
    best_with = np.where(links, values, -np.inf).max(axis=0)
    return best_with - np.where(links, -np.inf, values).max(axis=0)
