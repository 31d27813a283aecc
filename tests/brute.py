"""Chains by enumeration: every label sequence, one after the other, with its score.

Nothing here is clever, and nothing is shared with the package. Score tables are laid out as
``spacy_ssvm.decoders.chain`` says: emissions [n, K], transitions [K + 2, K] with the start
scores in row K and the end scores in row K + 1.
"""

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
