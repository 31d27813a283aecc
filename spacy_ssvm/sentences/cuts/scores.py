"""Scores and differences of labelings of graphs; for costs, see ``chains/scores.py``."""

import numpy as np

from spacy_ssvm.chains import layout
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Floats, Ints, Rows, Weights
from spacy_ssvm.sentences.cuts.layout import Examples
from spacy_ssvm.weights.sparse import add_entry, drop_zeros, scratch_table


@kernel
def node_scores(examples: Examples, i: int, w: Floats, scores: Floats) -> None:
    """Write the scores [n, K] of the labels of the nodes of example i under w."""
    n, K = scores.shape
    first, features = examples.nodes.token_starts[i], examples.features
    first_weight = examples.edge_features.shape[1]
    scores[:] = 0.0
    for t in range(n):
        for f in range(features.starts[first + t], features.starts[first + t + 1]):
            offset = first_weight + np.int64(features.rows[f]) * K
            row = w[offset : offset + K]
            for k in range(K):
                scores[t, k] += row[k]


@kernel
def edge_penalties(examples: Examples, i: int, w: Floats, penalties: Floats) -> None:
    """Write the penalties [edges of example i] under w, with 0 for each negative weight."""
    first = examples.edge_starts[i]
    for edge in range(len(penalties)):
        features = examples.edge_features[first + edge]
        penalties[edge] = 0.0
        for e in range(len(features)):
            penalties[edge] += max(w[e], 0.0) * features[e]


@kernel
def _edge_difference(
    edges: Ints, features: Floats, gold: Ints, y: Ints, indices: Rows, values: Weights
) -> int:
    """Write an entry of Phi_i(y) for each edge feature; return their number."""
    totals = np.zeros(features.shape[1])
    for edge in range(len(edges)):
        a, b = edges[edge]
        totals += (int(y[a] != y[b]) - int(gold[a] != gold[b])) * features[edge]
    for e in range(len(totals)):
        indices[e] = e
        values[e] = totals[e]
    return len(totals)


@kernel
def labeling_difference(examples: Examples, i: int, y: Ints, indices: Rows, values: Weights) -> int:
    """Write Phi_i(y), each index once; return its size."""
    nodes = examples.nodes
    first, last = nodes.token_starts[i], nodes.token_starts[i + 1]
    first_edge, last_edge = examples.edge_starts[i], examples.edge_starts[i + 1]
    gold, features, K = nodes.completions[first:last], examples.features, nodes.costs.shape[1]
    edges = examples.edges[first_edge:last_edge]
    edge_features = examples.edge_features[first_edge:last_edge]
    size = _edge_difference(edges, edge_features, gold, y, indices, values)
    first_weight = size
    scratch = scratch_table(2 * (features.starts[last] - features.starts[first]) + 1)
    for t in range(len(y)):
        if gold[t] != y[t]:
            for f in range(features.starts[first + t], features.starts[first + t + 1]):
                offset = first_weight + np.int64(features.rows[f]) * K
                size = add_entry(indices, values, scratch, size, offset + gold[t], 1.0)
                size = add_entry(indices, values, scratch, size, offset + y[t], -1.0)
    return drop_zeros(indices, values, size)


@kernel
def fill_parts(y: Ints, edges: Ints, parts: Floats) -> None:
    """Write the indicator vector of a labeling with two labels, see ``oracle.project``."""
    n = len(y)
    for i in range(n):
        parts[i] = float(y[i])
    for e in range(len(edges)):
        parts[n + e] = 1.0 if y[edges[e, 0]] != y[edges[e, 1]] else 0.0


@kernel
def expected_cost(nodes: layout.Examples, i: int, parts: Floats) -> float:
    """Delta_i at a point of the convex hull of labelings with two labels."""
    first, last = nodes.token_starts[i], nodes.token_starts[i + 1]
    total = 0.0
    for t in range(last - first):
        costs = nodes.costs[nodes.gold[first + t]]
        total += (1.0 - parts[t]) * costs[0] + parts[t] * costs[1]
    return total


@kernel
def point_difference(
    examples: Examples, i: int, parts: Floats, indices: Rows, values: Floats
) -> int:
    """Write phi at a point of the convex hull minus phi(gold); return the number of entries."""
    nodes, features = examples.nodes, examples.features
    first, last = nodes.token_starts[i], nodes.token_starts[i + 1]
    gold, n = nodes.completions[first:last], last - first
    first_edge, last_edge = examples.edge_starts[i], examples.edge_starts[i + 1]
    first_weight = examples.edge_features.shape[1]
    rows = features.starts[first + n] - features.starts[first]
    scratch = scratch_table(first_weight + 2 * rows + 1)
    size = 0
    for edge in range(first_edge, last_edge):
        a, b = examples.edges[edge]
        change = (1.0 if gold[a] != gold[b] else 0.0) - parts[n + edge - first_edge]
        for e in range(first_weight):
            value = change * examples.edge_features[edge, e]
            size = add_entry(indices, values, scratch, size, e, value)
    for t in range(n):
        change = parts[t] - gold[t]
        if change == 0.0:
            continue
        for f in range(features.starts[first + t], features.starts[first + t + 1]):
            index = first_weight + 2 * np.int64(features.rows[f])
            size = add_entry(indices, values, scratch, size, index, -change)
            size = add_entry(indices, values, scratch, size, index + 1, change)
    return drop_zeros(indices, values, size)
