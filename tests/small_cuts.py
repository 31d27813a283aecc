"""Small problems of labelings of graphs, written out as lists, and their scores by definition.

features[i][t] are the rows that fire at node t of example i, gold[i][t] is its label set,
edges[i] are the pairs of its nodes, and edge_features[i] the features of each of them.
"""

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from hypothesis import strategies as st

from spacy_ssvm.sentences.cuts.problem import CutProblem


def starts_of(lists: Any) -> np.ndarray:
    return np.array([0, *np.cumsum([len(items) for items in lists])], dtype=np.int64)


def flat(lists: Any) -> list[Any]:
    return [item for items in lists for item in items]


@dataclass
class Cuts:
    """A problem over K labels, E edge features and a number of feature rows, written out."""

    K: int
    E: int
    rows: int
    features: list[list[list[int]]]
    edges: list[list[tuple[int, int]]]
    edge_features: list[list[list[float]]]
    gold: list[list[int]]

    def part(self, first: int, last: int) -> "Cuts":
        """The examples from first to last - 1."""
        parts = self.features, self.edges, self.edge_features, self.gold
        return Cuts(self.K, self.E, self.rows, *(part[first:last] for part in parts))

    def arrays(self) -> dict[str, np.ndarray]:
        """The arguments of ``CutProblem.append``."""
        nodes, edges = flat(self.features), flat(self.edges)
        edge_features = np.array(flat(self.edge_features), dtype=float)
        return {
            "feature_starts": starts_of(nodes),
            "rows": np.array(flat(nodes), dtype=np.int32),
            "node_starts": starts_of(self.features),
            "edge_starts": starts_of(self.edges),
            "edges": np.array(edges, dtype=np.int64).reshape(-1, 2),
            "edge_features": edge_features.reshape(len(edges), self.E),
            "gold": np.array(flat(self.gold), dtype=np.int64),
        }

    def problem(self, costs: np.ndarray | None = None, sets: Any = ()) -> CutProblem:
        problem = CutProblem(self.K, self.E, costs=costs)
        for labels in sets:
            problem.label_set(labels)
        problem.append(**self.arrays())
        return problem

    @property
    def size(self) -> int:
        """The number of weights."""
        return self.E + self.rows * self.K

    def vector(self, i: int, y: Any) -> np.ndarray:
        """phi(x_i, y)"""
        phi = np.zeros(self.size)
        for (a, b), values in zip(self.edges[i], self.edge_features[i], strict=True):
            if y[a] != y[b]:
                phi[: self.E] -= values
        for rows, label in zip(self.features[i], y, strict=True):
            for row in rows:
                phi[self.E + row * self.K + label] += 1
        return phi

    def labelings(self, i: int) -> list[tuple[int, ...]]:
        return list(product(range(self.K), repeat=len(self.gold[i])))


@st.composite
def cuts(
    draw: Any, *, labels: tuple[int, int] = (1, 3), examples: int = 3, sets: int = 0, nodes: int = 4
) -> Cuts:
    """Small problems; gold may be drawn from so many label sets beyond single labels."""
    K, width = draw(st.integers(*labels)), draw(st.integers(0, 2))
    rows = draw(st.integers(1, 3))
    node = st.tuples(st.lists(st.integers(0, rows - 1), max_size=3), st.integers(0, K - 1 + sets))
    features, edges, edge_features, gold = [], [], [], []
    for _ in range(draw(st.integers(1, examples))):
        drawn = draw(st.lists(node, max_size=nodes))
        pairs = [(a, b) for a in range(len(drawn)) for b in range(len(drawn)) if a != b]
        edges.append(draw(st.lists(st.sampled_from(pairs), max_size=6)) if pairs else [])
        numbers = st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=width, max_size=width)
        edge_features.append([draw(numbers) for _ in edges[-1]])
        features.append([fired for fired, _ in drawn])
        gold.append([label for _, label in drawn])
    return Cuts(K, width, rows, features, edges, edge_features, gold)


def planted_cuts(*, K: int = 2, examples: int = 6, seed: int = 0) -> Cuts:
    """Graphs of one label each, of which some nodes show it and the others are joined to them.

    Row k stands for label k. The first edge feature is 1, the second one is noise.
    """
    random = np.random.default_rng(seed)
    features, edges, edge_features, gold = [], [], [], []
    for i in range(examples):
        k = i % K
        features.append([[k], [], [], [k]])
        edges.append([(0, 1), (2, 1), (3, 2)])
        edge_features.append([[1.0, float(random.integers(0, 2))] for _ in edges[-1]])
        gold.append([k] * 4)
    return Cuts(K, 2, K, features, edges, edge_features, gold)
