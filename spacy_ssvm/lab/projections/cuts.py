"""The polytopes of minimum cuts, and the oracle that projects onto them [TLJ05, section 2].

The parts are the nodes, 1 for label 1, and then the edges, 1 for different labels. The polytope is
that of the linear program: it has all labelings with two labels among its corners, and corners
where an edge counts between equal labels, which are never better than without.
"""

import numpy as np

from spacy_ssvm.chains import layout
from spacy_ssvm.chains.scores import add_costs, gold_of, is_annotated
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Floats, Ints, Rows
from spacy_ssvm.lab.projections.cut_points import project_cut
from spacy_ssvm.sentences.cuts.layout import Examples
from spacy_ssvm.sentences.cuts.oracle import complete_example, score_example
from spacy_ssvm.weights.sparse import add_entry, drop_zeros, scratch_table


def part_starts(examples: Examples) -> Ints:
    """See ``ProjectedProblem``."""
    starts: Ints = examples.nodes.token_starts + examples.edge_starts
    return starts


@kernel
def fill_parts(y: Ints, edges: Ints, parts: Floats) -> None:
    """Write the indicator vector of a labeling with two labels."""
    n = len(y)
    for i in range(n):
        parts[i] = float(y[i])
    for e in range(len(edges)):
        parts[n + e] = 1.0 if y[edges[e, 0]] != y[edges[e, 1]] else 0.0


@kernel
def expected_cost(nodes: layout.Examples, i: int, parts: Floats) -> float:
    """Delta_i at a point of the polytope of labelings with two labels."""
    first, last = nodes.token_starts[i], nodes.token_starts[i + 1]
    total = 0.0
    for t in range(last - first):
        costs = nodes.costs[nodes.gold[first + t]]
        total += (1.0 - parts[t]) * costs[0] + parts[t] * costs[1]
    return total


@kernel
def expected_difference(
    examples: Examples,
    i: int,
    z: Floats,
    indices: Rows,
    values: Floats,
) -> int:
    """See ``Structure.expected_difference``: z has the parts."""
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
        change = (1.0 if gold[a] != gold[b] else 0.0) - z[n + edge - first_edge]
        for e in range(first_weight):
            value = change * examples.edge_features[edge, e]
            size = add_entry(indices, values, scratch, size, e, value)
    for t in range(n):
        change = z[t] - gold[t]
        if change == 0.0:
            continue
        for f in range(features.starts[first + t], features.starts[first + t + 1]):
            index = first_weight + 2 * np.int64(features.rows[f])
            size = add_entry(indices, values, scratch, size, index, -change)
            size = add_entry(indices, values, scratch, size, index + 1, change)
    return drop_zeros(indices, values, size)


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
    """See ``Structure.project``."""
    nodes = examples.nodes
    if not is_annotated(nodes, i):
        return np.empty(0), 0.0, False
    scores, edges, penalties = score_example(examples, i, w)
    n = len(scores)
    recompleted = complete_example(examples, i, complete, scores, edges, penalties)
    if complete:
        fill_parts(gold_of(nodes, i), edges, parts)
    add_costs(nodes, i, 1.0, scores)
    direction[:n] = scores[:, 1] - scores[:, 0]
    direction[n:] = -penalties
    if step > 0:
        parts += step * direction
        project_cut(parts[:n], edges, parts[n:])
    return parts, expected_cost(nodes, i, parts), recompleted
