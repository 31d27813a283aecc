"""Labelings of graphs against enumeration, and large cuts against the maximum flow of scipy."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from marks import PLAIN, compiled_only
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from spacy_ssvm.sentences.cuts.decoder import (
    best_labels,
    cut_margins,
    expand_labels,
    labeling_score,
)

pytestmark = pytest.mark.uncompiled

checked = settings(deadline=None, max_examples=50 if PLAIN else 300)

# Whole numbers add up exactly, whatever the order, so that ties are ties.
whole = st.integers(-4, 4).map(float)
fractions = st.floats(-4, 4, allow_subnormal=False)


@st.composite
def graphs(draw, elements=whole, labels=(1, 4), nodes=5):
    """Scores, edges and penalties, with some labels forbidden, parallel edges and penalties 0."""
    K = draw(st.integers(*labels))
    n = draw(st.integers(0, nodes))
    scores = draw(arrays(float, (n, K), elements=elements))
    forbidden = draw(arrays(bool, (n, K), elements=st.sampled_from([False, False, True])))
    forbidden[np.arange(n), draw(arrays(int, n, elements=st.integers(0, K - 1)))] = False
    scores[forbidden] = -np.inf
    pairs = [(a, b) for a in range(n) for b in range(n) if a != b]
    edges = draw(st.lists(st.sampled_from(pairs), max_size=8)) if pairs else []
    penalties = draw(arrays(float, len(edges), elements=elements.map(abs)))
    return scores, np.array(edges, dtype=np.int64).reshape(-1, 2), penalties


def score_of(scores, edges, penalties, y):
    y = np.asarray(y, dtype=np.int64)
    cut = y[edges[:, 0]] != y[edges[:, 1]]
    return float(scores[np.arange(len(y)), y].sum() - penalties[cut].sum())


def all_scores(scores, edges, penalties):
    """The score of each labeling, by the labeling."""
    n, K = scores.shape
    return {y: score_of(scores, edges, penalties, y) for y in product(range(K), repeat=n)}


def decode(graph):
    y = np.full(len(graph[0]), -7, dtype=np.int64)
    return best_labels(*graph, y), y


def margins_of(graph):
    y, margins = np.full(len(graph[0]), -7, dtype=np.int64), np.full(len(graph[0]), np.nan)
    cut_margins(*graph, y, margins)
    return y, margins


def best_margins(graph, y):
    scored = all_scores(*graph)
    best = max(scored.values())
    others = [max(v for z, v in scored.items() if z[i] != y[i]) for i in range(len(y))]
    return best - np.array(others)


def random_graph(n, K, seed, edges_each=3):
    """Scores, penalties and edges in whole numbers."""
    random = np.random.default_rng(seed)
    scores = random.integers(-20, 21, size=(n, K)).astype(float)
    tails = np.repeat(np.arange(n), edges_each)
    heads = (tails + random.integers(1, 1 + n // 4, size=len(tails))) % n
    edges = np.stack([tails, heads], axis=1)
    return scores, edges, random.integers(0, 9, size=len(edges)).astype(float)


def minimum_cut(scores, edges, penalties):
    """The value of the minimum cut that belongs to two labels, by scipy."""
    n = len(scores)
    difference = (scores[:, 0] - scores[:, 1]).astype(np.int32)
    nodes, capacity = np.arange(n), penalties.astype(np.int32)
    tails = np.concatenate([np.full(n, n), nodes, edges[:, 0], edges[:, 1]])
    heads = np.concatenate([nodes, np.full(n, n + 1), edges[:, 1], edges[:, 0]])
    capacities = [np.maximum(difference, 0), np.maximum(-difference, 0), capacity, capacity]
    matrix = csr_array((np.concatenate(capacities), (tails, heads)), shape=(n + 2, n + 2))
    return maximum_flow(matrix, n, n + 1).flow_value


@checked
@given(graphs(labels=(1, 2), nodes=6))
def test_two_labels_are_decoded_exactly(graph):
    score, y = decode(graph)
    assert score == max(all_scores(*graph).values())
    assert score == score_of(*graph, y)


@checked
@given(graphs(fractions, labels=(2, 2)))
def test_two_labels_of_fractional_scores(graph):
    score, y = decode(graph)
    assert score == pytest.approx(max(all_scores(*graph).values()), abs=1e-9)
    assert score == pytest.approx(score_of(*graph, y), abs=1e-9)


def test_the_margins_of_nodes_without_edges_are_those_of_their_scores():
    scores = np.array([[1.0, 4.0], [2.0, 2.0], [0.0, -np.inf], [-np.inf, 0.0], [5.0, 0.5]])
    graph = scores, np.zeros((0, 2), dtype=np.int64), np.zeros(0)
    assert decode(graph)[1].tolist() == [1, 0, 0, 1, 0]
    y, margins = margins_of(graph)
    assert y.tolist() == [1, 0, 0, 1, 0]
    assert margins.tolist() == [3, 0, np.inf, np.inf, 4.5]


@checked
@given(graphs(labels=(2, 2), nodes=6))
def test_margins_are_what_the_other_label_costs(graph):
    y, margins = margins_of(graph)
    assert y.tolist() == decode(graph)[1].tolist()
    np.testing.assert_array_equal(margins, best_margins(graph, y))


@checked
@given(graphs(fractions, labels=(2, 2)))
def test_margins_of_fractional_scores(graph):
    y, margins = margins_of(graph)
    np.testing.assert_allclose(margins, best_margins(graph, y), atol=1e-9)


@pytest.mark.parametrize("K", [1, 3])
def test_margins_are_those_of_two_labels(K):
    graph = np.zeros((2, K)), np.array([[0, 1]]), np.ones(1)
    with pytest.raises(ValueError, match="two labels"):
        margins_of(graph)


@checked
@given(graphs(labels=(3, 4)))
def test_no_expansion_improves_labels(graph):
    score, y = decode(graph)
    assert score == score_of(*graph, y)
    assert score >= score_of(*graph, graph[0].argmax(axis=1))
    check_expansions(graph, score, y)


@checked
@given(graphs(labels=(3, 4)))
def test_labels_fall_short_by_at_most_the_penalties_of_the_best_ones(graph):
    scored = all_scores(*graph)
    y = max(scored, key=scored.get)
    penalties = graph[0][np.arange(len(y)), list(y)].sum() - scored[y]
    assert decode(graph)[0] >= scored[y] - penalties


def check_expansions(graph, score, y):
    """No move of any of the nodes to one label raises the score."""
    n, K = graph[0].shape
    for alpha in range(K):
        for moves in product([False, True], repeat=n):
            assert score_of(*graph, np.where(moves, alpha, y)) <= score


@checked
@given(st.data(), graphs())
def test_expansion_goes_on_from_labels(data, graph):
    K = graph[0].shape[1]
    allowed = [np.flatnonzero(row > -np.inf).tolist() for row in graph[0]]
    start = np.array([data.draw(st.sampled_from(labels)) for labels in allowed], dtype=np.int64)
    y = start.copy()
    score = expand_labels(*graph, y)
    assert score == score_of(*graph, y) == labeling_score(*graph, y)
    assert score >= score_of(*graph, start)
    check_expansions(graph, score, y)
    if K <= 2:
        assert score == max(all_scores(*graph).values())


def test_an_expansion_moves_nodes_that_no_change_of_one_node_moves():
    """Three nodes of labels 0, 0, 1 that would rather all have label 2."""
    scores = np.array([[2.0, 0, 1], [2, 0, 1], [0, 2, 1]])
    graph = scores, np.array([[0, 1], [1, 2], [0, 2]]), np.array([3.0, 3, 3])
    y = np.array([0, 0, 1])
    assert expand_labels(*graph, y) == 4
    assert y.tolist() == [0, 0, 0]
    scores[2, 0] = -np.inf
    y = np.array([0, 0, 1])
    assert expand_labels(*graph, y) == 3
    assert y.tolist() == [2, 2, 2]


def test_an_expansion_moves_no_more_nodes_than_it_should():
    """The third node gains 1 by label 2, but the first two would lose 6 and save only 4."""
    scores = np.array([[0.0, -9, -3], [-9, 0, -3], [0, -9, 1]])
    y = np.array([0, 1, 0])
    assert expand_labels(scores, np.array([[0, 1]]), np.array([4.0]), y) == -3
    assert y.tolist() == [0, 1, 2]


@checked
@given(graphs())
def test_tables_are_left_alone_and_results_repeat_themselves(graph):
    before = [array.copy() for array in graph]
    score, y = decode(graph)
    for array, kept in zip(graph, before, strict=True):
        np.testing.assert_array_equal(array, kept)
    again, y_again = decode(graph)
    assert score == again
    np.testing.assert_array_equal(y, y_again)


@pytest.mark.parametrize("n", [12, pytest.param(3000, marks=compiled_only)])
@pytest.mark.parametrize("seed", range(4))
def test_large_cuts_are_minimal(n, seed):
    graph = random_graph(n, 2, seed)
    score, y = decode(graph)
    assert score == graph[0].max(axis=1).sum() - minimum_cut(*graph)
    assert score == score_of(*graph, y)


@pytest.mark.parametrize("n", [12, pytest.param(300, marks=compiled_only)])
def test_margins_of_large_graphs_are_those_of_cuts_with_the_other_label(n):
    graph = random_graph(n, 2, seed=4)
    y, margins = margins_of(graph)
    best = graph[0].max(axis=1).sum() - minimum_cut(*graph)
    for i in range(0, n, 7):
        other = graph[0].copy()
        other[i, y[i]] -= 1000
        assert margins[i] == best - (other.max(axis=1).sum() - minimum_cut(other, *graph[1:]))


@compiled_only
def test_tiny_and_huge_numbers_come_to_an_end():
    random = np.random.default_rng(0)
    scores, edges, _ = random_graph(500, 4, seed=5)
    scores *= 10.0 ** random.integers(-300, 100, size=scores.shape)
    penalties = 10.0 ** random.uniform(-300, 100, size=len(edges))
    for K in (2, 4):
        graph = np.ascontiguousarray(scores[:, :K]), edges, penalties
        score, y = decode(graph)
        assert score == pytest.approx(score_of(*graph, y))
        assert score >= score_of(*graph, graph[0].argmax(axis=1))
    margins_of((np.ascontiguousarray(scores[:, :2]), edges, penalties))
