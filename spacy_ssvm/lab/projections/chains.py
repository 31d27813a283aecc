"""Label sequences as unit flows: the parts of chains, for projections [TLJ05, section 4].

A sequence of n tokens goes from a source through one label at each token to a sink. Its parts
are the edges of this trellis, in one array:

    [0, K)                              the start with each label
    [K, K + (n - 1) K^2)                from label j at token t to k at t + 1, by t, j, k
    the last K                          the end with each label

The score of an edge is that of its transition and of the label that it leads to.
"""

import numpy as np

from spacy_ssvm.chains.layout import Examples
from spacy_ssvm.chains.oracle import (
    complete_example,
    label_probabilities,
    score_example,
    transition_counts,
)
from spacy_ssvm.chains.scores import add_costs, expected_cost, gold_of, is_annotated
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Floats, Ints
from spacy_ssvm.lab.projections.chain_points import project_chain


def part_starts(examples: Examples) -> Ints:
    """See ``ProjectedProblem``: the edges of trellises."""
    lengths, K = np.diff(examples.token_starts), examples.legality.shape[1]
    edges = np.where(lengths > 0, 2 * K + (lengths - 1) * K * K, 0)
    return np.append(0, np.cumsum(edges))


@kernel
def edge_scores(emissions: Floats, transitions: Floats, edges: Floats) -> None:
    """Write the scores of edges, from score tables as in ``decoders.chain``."""
    n, K = emissions.shape
    edges[:K] = transitions[K] + emissions[0]
    for t in range(1, n):
        for j in range(K):
            start = K + ((t - 1) * K + j) * K
            for k in range(K):
                edges[start + k] = transitions[j, k] + emissions[t, k]
    edges[len(edges) - K :] = transitions[K + 1]


@kernel
def path(y: Ints, K: int, edges: Floats) -> None:
    """Write the flow of one label sequence: 1 on its edges, else 0."""
    n = len(y)
    edges[:] = 0.0
    edges[y[0]] = 1.0
    for t in range(1, n):
        edges[K + ((t - 1) * K + y[t - 1]) * K + y[t]] = 1.0
    edges[len(edges) - K + y[n - 1]] = 1.0


@kernel
def move(edges: Floats, step: float, direction: Floats, K: int) -> None:
    """Replace a flow by the one closest to edges + step direction.

    Minus infinity in the direction forbids an edge; it becomes 0 there.
    """
    end = len(edges) - K
    for edge in range(len(edges)):
        if direction[edge] == -np.inf:
            direction[edge] = 0.0
            edges[edge] = -np.inf
        else:
            edges[edge] += step * direction[edge]
    project_chain(edges[:K], edges[K:end].reshape((end - K) // (K * K), K, K), edges[end:])


@kernel
def flow_sums(edges: Floats, labels: Floats, pairs: Floats) -> None:
    """Write the flows through labels and the sums of those of transitions.

    labels: float64 [n, K]; pairs: float64 [K, K], as ``decoders.chain_marginals`` has them.
    """
    n, K = labels.shape
    labels[:] = 0.0
    labels[0] = edges[:K]
    pairs[:] = 0.0
    for t in range(1, n):
        for j in range(K):
            start = K + ((t - 1) * K + j) * K
            for k in range(K):
                labels[t, k] += edges[start + k]
                pairs[j, k] += edges[start + k]


@kernel
def project(
    examples: Examples,
    i: int,
    w: Floats,
    step: float,
    complete: bool,
    parts: Floats,
    direction: Floats,
) -> tuple[Floats, float, bool]:
    """See ``Structure.project``: the closest unit flow."""
    if not is_annotated(examples, i):
        return np.empty(0), 0.0, False
    emissions, transitions = score_example(examples, i, w)
    recompleted = complete_example(examples, i, complete, emissions, transitions)
    n, K = emissions.shape
    if complete:
        path(gold_of(examples, i), K, parts)
    add_costs(examples, i, 1.0, emissions)
    edge_scores(emissions, transitions, direction)
    move(parts, step, direction, K)
    z = np.empty((n + K) * K)
    labels = label_probabilities(z, n, K)
    flow_sums(parts, labels, transition_counts(z, K))
    return z, expected_cost(examples, i, labels), recompleted
