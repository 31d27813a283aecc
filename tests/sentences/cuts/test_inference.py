"""Labels of graphs and their margins, against enumeration."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import PLAIN

from spacy_ssvm.sentences.cuts.decoder import labeling_score
from spacy_ssvm.sentences.cuts.inference import MAX_EXACT, Graphs, label_graphs, measure_margins

pytestmark = pytest.mark.uncompiled

checked = settings(deadline=None, max_examples=20 if PLAIN else 100)


def draw(seed: int, K: int, sizes: list[int]) -> tuple[np.ndarray, Graphs]:
    """Graphs of these sizes, with scores of whole numbers and a few forbidden labels."""
    random = np.random.default_rng(seed)
    starts = np.append(0, np.cumsum(sizes)).astype(np.int64)
    scores = random.integers(-4, 5, (starts[-1], K)).astype(float)
    for t in np.flatnonzero(random.random(len(scores)) < 0.2):
        scores[t, random.integers(K)] = -np.inf if K > 1 else 0.0
    numbers = [int(random.integers(0, 5)) if n > 1 else 0 for n in sizes]
    edges = [
        random.choice(n, 2, replace=False)
        for n, m in zip(sizes, numbers, strict=True)
        for _ in range(m)
    ]
    penalties = random.integers(0, 4, len(edges)).astype(float)
    edge_starts = np.append(0, np.cumsum(numbers)).astype(np.int64)
    return scores, Graphs(
        starts, edge_starts, np.array(edges, dtype=np.int64).reshape(-1, 2), penalties
    )


def labeled(scores: np.ndarray, graphs: Graphs) -> tuple[np.ndarray, np.ndarray]:
    y, margins = np.full(len(scores), -1, dtype=np.int64), np.full(len(scores), np.nan)
    label_graphs(scores, graphs, y)
    before = y.copy()
    measure_margins(scores, graphs, y, margins)
    np.testing.assert_array_equal(y, before)
    return y, margins


def parts(scores: np.ndarray, graphs: Graphs, y: np.ndarray):
    """Scores, edges, penalties and labels of each graph, and its first node."""
    for g in range(len(graphs.node_starts) - 1):
        nodes = slice(graphs.node_starts[g], graphs.node_starts[g + 1])
        edges = slice(graphs.edge_starts[g], graphs.edge_starts[g + 1])
        yield nodes.start, scores[nodes], graphs.edges[edges], graphs.penalties[edges], y[nodes]


@checked
@given(st.integers(0, 2**32), st.integers(1, 3), st.lists(st.integers(0, 4), max_size=3))
def test_labels_and_margins_of_each_graph(seed: int, K: int, sizes: list[int]) -> None:
    scores, graphs = draw(seed, K, sizes)
    y, margins = labeled(scores, graphs)
    for first, table, edges, penalties, found in parts(scores, graphs, y):
        score = labeling_score(table, edges, penalties, found)
        every = [np.array(z, dtype=np.int64) for z in product(range(K), repeat=len(table))]
        scored = np.array([labeling_score(table, edges, penalties, z) for z in every])
        if K <= 2:
            assert score == scored.max()
        for t in range(len(table)):
            others = [s for z, s in zip(every, scored, strict=True) if z[t] != found[t]]
            near = [
                labeling_score(
                    table, edges, penalties, np.append(np.append(found[:t], k), found[t + 1 :])
                )
                for k in range(K)
                if k != found[t]
            ]
            considered = others if K == 2 else near
            assert margins[first + t] == score - max(considered, default=-np.inf)
            assert margins[first + t] >= 0


def test_a_margin_of_more_labels_is_that_of_a_node_alone() -> None:
    scores = np.array([[3.0, 0, 0], [1, 0, 0]])
    graph = Graphs(
        *(np.array(a, dtype=np.int64) for a in ([0, 2], [0, 1], [[0, 1]])), np.array([2.0])
    )
    y, margins = labeled(scores, graph)
    assert y.tolist() == [0, 0]
    assert margins.tolist() == [5, 3]
    y, margins = labeled(scores[:, :2].copy(), graph)
    assert y.tolist() == [0, 0]
    assert margins.tolist() == [4, 3]


def test_large_graphs_have_margins_of_nodes_alone() -> None:
    def chain_margins(n: int) -> list[float]:
        """Of n nodes with the label 0, where the first one and its neighbour would change."""
        scores = np.full((n, 2), 0.0)
        scores[:, 0] = 5.0
        scores[1] = 0.5, 0.0
        edges = np.array([[0, 1]], dtype=np.int64)
        starts = np.array([0, n]), np.array([0, 1])
        return labeled(scores, Graphs(*starts, edges, np.array([2.0])))[1][:2].tolist()

    assert chain_margins(MAX_EXACT) == [5.5, 2.5]
    assert chain_margins(MAX_EXACT + 1) == [7.0, 2.5]
