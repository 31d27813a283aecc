"""Obvious twins of the kernels, in plain Python, and small problems to compare them on.

A problem is written out as lists: features[i][t] are the rows that fire at token t of example
i (a row may fire several times), gold[i][t] is its label set. Weights are one vector, laid
out as ``spacy_ssvm.chains.problem`` says.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

import numpy as np
from hypothesis import strategies as st

# --- Problems ---------------------------------------------------------------------------


@dataclass
class Chains:
    """A problem over K labels and a number of feature rows, written out."""

    K: int
    rows: int
    features: list[list[list[int]]]
    gold: list[list[int]]

    def part(self, first: int, last: int) -> "Chains":
        """The examples from first to last - 1."""
        return Chains(self.K, self.rows, self.features[first:last], self.gold[first:last])

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """feature_starts, rows, token_starts, gold, as ``Problem.append`` wants them."""
        tokens = list(chain.from_iterable(self.features))
        return (
            np.array([0, *np.cumsum([len(token) for token in tokens])], dtype=np.int64),
            np.array(list(chain.from_iterable(tokens)), dtype=np.int32),
            np.array([0, *np.cumsum([len(example) for example in self.features])], dtype=np.int64),
            np.array(list(chain.from_iterable(self.gold)), dtype=np.int64),
        )


@st.composite
def chains(
    draw: Any,
    *,
    labels: int = 3,
    examples: int = 4,
    length: int = 3,
    fewest_labels: int = 1,
    shortest: int = 0,
    sets: Callable[[int], int] = lambda K: K,
) -> Chains:
    """Small problems: at most so many labels, examples, and tokens an example.

    sets: how many label sets gold may be drawn from, given the number of labels.
    """
    K = draw(st.integers(fewest_labels, labels))
    rows = draw(st.integers(1, 4))
    token = st.tuples(st.lists(st.integers(0, rows - 1), max_size=4), st.integers(0, sets(K) - 1))
    example = st.lists(token, min_size=shortest, max_size=length)
    drawn = draw(st.lists(example, min_size=1, max_size=examples))
    return Chains(
        K,
        rows,
        [[features for features, _ in tokens] for tokens in drawn],
        [[gold for _, gold in tokens] for tokens in drawn],
    )


def random_chains(seed: int, *, K: int, rows: int, examples: int, length: int) -> Chains:
    """A problem of any size: each token fires three rows, none of them for its label alone."""
    random = np.random.default_rng(seed)
    lengths = random.integers(1, length + 1, size=examples)
    return Chains(
        K,
        rows,
        [random.integers(rows, size=(n, 3)).tolist() for n in lengths],
        [random.integers(K, size=n).tolist() for n in lengths],
    )


# --- Scores -----------------------------------------------------------------------------


def transition_scores(w: np.ndarray, K: int, legality: np.ndarray) -> np.ndarray:
    """The transition table [K + 2, K] under w."""
    table = np.empty((K + 2, K))
    for previous in range(K + 2):
        for label in range(K):
            table[previous, label] = w[previous * K + label] + legality[previous, label]
    return table


def emission_scores(w: np.ndarray, K: int, features: list[list[int]]) -> np.ndarray:
    """The emission table [n, K] of one example under w."""
    table = np.zeros((len(features), K))
    for t, rows in enumerate(features):
        for row in rows:
            for label in range(K):
                table[t, label] += w[(K + 2) * K + row * K + label]
    return table


def feature_vector(K: int, features: list[list[int]], y: Sequence[int]) -> Counter[int]:
    """phi(x, y): how often each index of w fires."""
    fired: Counter[int] = Counter()
    if len(y) == 0:
        return fired
    fired[K * K + y[0]] += 1
    fired[(K + 1) * K + y[-1]] += 1
    for label, following in pairwise(y):
        fired[label * K + following] += 1
    for rows, label in zip(features, y, strict=True):
        for row in rows:
            fired[(K + 2) * K + row * K + label] += 1
    return fired


def difference(
    K: int, features: list[list[int]], gold: Sequence[int], y: Sequence[int]
) -> dict[int, int]:
    """Phi(y) = phi(x, gold) - phi(x, y), without what cancels out."""
    phi = feature_vector(K, features, gold)
    phi.subtract(feature_vector(K, features, y))
    return {index: value for index, value in phi.items() if value != 0}


def cost(costs: np.ndarray, gold: Sequence[int], y: Sequence[int]) -> float:
    """Delta(y): the sum of costs[gold set, label]."""
    return float(sum(costs[wanted, label] for wanted, label in zip(gold, y, strict=True)))


def dense(phi: dict[int, Any], size: int) -> np.ndarray:
    """A sparse vector written out."""
    vector = np.zeros(size)
    for index, value in phi.items():
        vector[index] += value
    return vector


# --- Features ---------------------------------------------------------------------------


def template_value(
    parts: Sequence[tuple[int, int]], attributes: list[list[int]], t: int
) -> tuple[Any, ...] | None:
    """What a template sees at token t of one sentence; None where it does not fire.

    parts: (offset, column) pairs. attributes: of each token, 0 for one that it lacks. A place
    outside the sentence is a value of its own.
    """
    values: list[Any] = []
    for offset, column in parts:
        position = t + offset
        if position < 0:
            values.append(("before", -position))
        elif position >= len(attributes):
            values.append(("behind", position - len(attributes)))
        elif attributes[position][column] == 0:
            return None
        else:
            values.append(attributes[position][column])
    return tuple(values)


def same_classes(left: Sequence[Any], right: Sequence[Any]) -> bool:
    """Whether two lists are equal at the same pairs of places."""
    pairs = set(zip(left, right, strict=True))
    return len(pairs) == len(set(left)) == len(set(right))


def sentences(doc: Any) -> list[list[int]]:
    """The tokens of each sentence of a spaCy Doc, by their place in it, without whitespace."""
    found: list[list[int]] = []
    begins = True
    for token in doc:
        begins = begins or token.is_sent_start is True
        if not token.text.isspace():
            if begins:
                found.append([])
            found[-1].append(token.i)
            begins = False
    return found
