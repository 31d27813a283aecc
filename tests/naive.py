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
from unicodedata import category, digit

import numpy as np
from hypothesis import strategies as st

# --- Attributes of words, character by character ----------------------------------------


def case_class(text: str) -> str:
    kinds = [
        "l" if c.islower() else "u" if c.isupper() else "t" if c.istitle() else "" for c in text
    ]
    if not any(kinds):
        return "uncased" if any(category(c)[0] == "L" for c in text) else "none"
    cased = {kind for kind in kinds if kind}
    if cased in ({"l"}, {"u"}):
        return "lower" if "l" in cased else "upper"
    begins = all((kind == "l") == bool(before) for before, kind in pairwise(["", *kinds]) if kind)
    return "title" if begins else "mixed"


def digit_class(text: str) -> str:
    digits = [digit(c, None) is not None for c in text]
    return "none" if not any(digits) else "all" if all(digits) else "some"


def punctuation(text: str) -> str:
    return "no" if any(category(c)[0] in "LN" for c in text) else "yes"


def shape_full(text: str) -> str:
    def of_character(c: str) -> str:
        if category(c)[0] == "L":
            return "X" if category(c) == "Lu" else "x"
        return "d" if digit(c, None) is not None else "X" if c.isupper() else c

    return "".join(map(of_character, text))


TYPE_ATTRIBUTES: dict[str, Callable[[str], str]] = {
    "case_class": case_class,
    "digit_class": digit_class,
    "punctuation": punctuation,
    "shape_full": shape_full,
}

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


def geometry_value(geometry: str | None, h: int, m: int) -> tuple[Any, ...]:
    """What direction or distance is, seen from the head; one value for both at the root."""
    if geometry is None or h == 0:
        return () if geometry is None else ("root",)
    if geometry == "direction":
        return ("direction", m > h)
    farthest = [1, 2, 3, 5, 10]
    return ("distance", m > h, sum(abs(m - h) > distance for distance in farthest))


def arc_values(
    templates: Sequence[Any],
    columns: Sequence[str],
    nodes: list[list[int]],
    h: int,
    m: int,
    s: int | None = None,
    g: int | None = None,
) -> list[tuple[Any, ...] | None]:
    """What templates see of an arc, with a sibling s or a grandparent g; None for nothing.

    nodes: the attributes of the root, the words and the node behind them. A part ``between``
    has a value for each that stands between the two, and those templates come last.
    """
    values: list[tuple[Any, ...] | None] = []
    for template in sorted(templates, key=lambda template: template.between is not None):
        endpoints = []
        for role, node in zip(
            ("head", "dependent", "sibling", "grandparent"), (h, m, s, g), strict=True
        ):
            parts = [(p.offset, columns.index(p.attribute)) for r, p in template.parts if r == role]
            endpoints.append(template_value(parts, nodes, node) if node is not None else ())
        geometry = geometry_value(template.geometry, h, m)
        if g is not None and template.geometry is not None:
            geometry = geometry, g > h
        seen = ((template.parts, template.between), *endpoints, geometry)
        if template.between is None:
            values.append(None if None in endpoints else seen)
        elif None not in endpoints:
            column = columns.index(template.between)
            words = nodes[min(h, m) + 1 : max(h, m)]
            found = dict.fromkeys(word[column] for word in words if word[column] != 0)
            values += [(*seen, value) for value in found]
    return values


def label_table(
    names: Sequence[str], columns: Sequence[str], nodes: list[list[int]], heads: Sequence[int]
) -> list[tuple[int, list[Any]]]:
    """The arcs of a tree, head by head and from left to right: (dependent, its row).

    heads: -1 for the root and for words without one.
    """
    N = len(heads)
    rows = []
    for h in range(N):
        dependents = [m for m in range(1, N) if heads[m] == h]
        for j, m in enumerate(dependents):
            below = [d for d in range(1, N) if heads[d] == m]
            tokens = {
                "head": h,
                "dependent": m,
                "sibling": dependents[j - 1] if j > 0 else N,
                "grandparent": heads[h] if heads[h] >= 0 else N,
                "leftmost": below[0] if below else N,
                "rightmost": below[-1] if below else N,
            }
            row: list[Any] = []
            for name in names:
                role, _, part = name.partition(".")
                if not part:
                    row.append(geometry_value(name, h, m))
                    continue
                attribute, _, offset = part.partition("[")
                node = tokens[role] + int(offset.rstrip("]") or 0)
                inside = 0 <= node < len(nodes)
                row.append(nodes[node][columns.index(attribute)] if inside else "outside")
            rows.append((m, row))
    return rows


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


def soft_threshold(w: np.ndarray, tau: float) -> np.ndarray:
    """The proximal operator of the lasso [MSAF11 Eq. 13]."""
    return np.sign(w) * np.maximum(np.abs(w) - tau, 0)
