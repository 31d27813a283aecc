"""Scores and differences of labelings of graphs; for costs, see ``chains/scores.py``."""

import numpy as np

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
