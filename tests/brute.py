"""Chains and trees by enumeration: every one after the other, with its score.

Nothing here is clever, and nothing is shared with the package. Score tables are laid out as
``spacy_ssvm.decoders.chain`` says: emissions [n, K], transitions [K + 2, K] with the start
scores in row K and the end scores in row K + 1. Trees are the heads of the words 1 to n, and of
the root 0, which has -1: rows of one array, all trees in it.
"""

from functools import cache
from itertools import pairwise, product

import numpy as np


def label_sequences(n: int, K: int) -> list[tuple[int, ...]]:
    """All label sequences of n positions, in lexicographic order."""
    return list(product(range(K), repeat=n))


def score(emissions: np.ndarray, transitions: np.ndarray, y: tuple[int, ...]) -> float:
    """The score of one label sequence; 0 for the empty one."""
    if len(y) == 0:
        return 0.0
    K = emissions.shape[1]
    total = transitions[K, y[0]] + transitions[K + 1, y[-1]]
    for t, label in enumerate(y):
        total += emissions[t, label]
    for label, following in pairwise(y):
        total += transitions[label, following]
    return float(total)


def scored_sequences(
    emissions: np.ndarray, transitions: np.ndarray
) -> dict[tuple[int, ...], float]:
    """Every label sequence with its score."""
    n, K = emissions.shape
    return {y: score(emissions, transitions, y) for y in label_sequences(n, K)}


def best_score(emissions: np.ndarray, transitions: np.ndarray) -> float:
    """The score of the best label sequence, minus infinity where all are forbidden."""
    return max(scored_sequences(emissions, transitions).values())


def max_marginals(emissions: np.ndarray, transitions: np.ndarray) -> np.ndarray:
    """The best score of a label sequence with label k at t: [n, K]."""
    best = np.full(emissions.shape, -np.inf)
    for y, value in scored_sequences(emissions, transitions).items():
        for t, label in enumerate(y):
            best[t, label] = max(best[t, label], value)
    return best


def legal_sequences(n: int, legality: np.ndarray) -> list[tuple[int, ...]]:
    """The label sequences that use no start, transition or end of minus infinity."""
    K = legality.shape[1]
    nothing = np.zeros((n, K))
    return [y for y in label_sequences(n, K) if score(nothing, legality, y) == 0]


# --- Trees ------------------------------------------------------------------------------


def reaches_root(heads: tuple[int, ...], m: int) -> bool:
    """Whether the heads above a word end at the root."""
    for _ in heads:
        m = heads[m] if m > 0 else 0
    return m == 0


def has_crossing_arcs(heads: tuple[int, ...]) -> bool:
    """Whether two arcs cross, that of the root included."""
    spans = [(min(h, m), max(h, m)) for m, h in enumerate(heads) if m > 0]
    return any(a < c < b < d for a, b in spans for c, d in spans)


@cache
def trees(n: int, projective: bool = False) -> np.ndarray:
    """The trees of n words, of which one depends on the root: int64 [trees, n + 1]."""
    found = []
    for y in product(range(n + 1), repeat=n):
        heads = (-1, *y)
        if (
            y.count(0) == min(n, 1)
            and all(reaches_root(heads, m) for m in range(1, n + 1))
            and not (projective and has_crossing_arcs(heads))
        ):
            found.append(heads)
    return np.array(found, dtype=np.int64)


def inner_sibling(heads: np.ndarray, m: int) -> int:
    """The dependent of the same head next to m on the way to the head; n + 1 for none."""
    h = heads[m]
    between = [s for s in range(min(h, m) + 1, max(h, m)) if heads[s] == h]
    if not between:
        return len(heads)
    return max(between) if h < m else min(between)


@cache
def inner_siblings(n: int, projective: bool = False) -> np.ndarray:
    """``inner_sibling`` of the words of the ``trees``: int64 [trees, n]."""
    rows = [[inner_sibling(y, m) for m in range(1, n + 1)] for y in trees(n, projective)]
    return np.array(rows, dtype=np.int64).reshape(len(rows), n)


def tree_scores(
    scores: np.ndarray, projective: bool = False, siblings: np.ndarray | None = None
) -> np.ndarray:
    """The score of each of the ``trees``.

    scores: [n + 1, n + 1], by head and dependent.
    siblings: [n + 1, n + 2, n + 1], of pairs of arcs, by head, sibling (n + 1 for none) and
        dependent.
    """
    n = len(scores) - 1
    words = np.arange(1, n + 1)
    heads = trees(n, projective)[:, 1:]
    totals = scores[heads, words].sum(axis=1)
    if siblings is not None:
        totals = totals + siblings[heads, inner_siblings(n, projective), words].sum(axis=1)
    return totals


def arc_marginals(scores: np.ndarray) -> np.ndarray:
    """The best score of a projective tree with each arc: [n + 1, n + 1]."""
    best = np.full(scores.shape, -np.inf)
    for y, value in zip(trees(len(scores) - 1, True), tree_scores(scores, True), strict=True):
        for m in range(1, len(y)):
            best[y[m], m] = max(best[y[m], m], value)
    return best
