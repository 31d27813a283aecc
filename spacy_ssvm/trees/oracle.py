"""The oracles of trees: what solvers ask about example i (see ``structure.py``).

y has the heads of nodes (int64 [n + 1]); that of the root, y[0], has no meaning.
"""

import numpy as np

from spacy_ssvm.decoders.parts import add_tree, fill_tree, join_parts, split_parts, tree_score
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Floats, Ints, Rows, Weights
from spacy_ssvm.structure import Structure
from spacy_ssvm.trees.keys import EndpointHashes, PairHashes, hash_endpoints, hash_pairs
from spacy_ssvm.trees.layout import LazyTreeExamplesType, TreeExamples, TreeExamplesType
from spacy_ssvm.trees.scores import (
    add_head_costs,
    best_tree,
    complete_one,
    count_wrong_heads,
    expected_wrong_heads,
    gold_heads,
    has_grandparents,
    is_second_order,
    marginals,
    score_parts,
)
from spacy_ssvm.trees.stores import arc_table, combine_parts, tree_difference


@kernel
def _gold(examples: TreeExamples, i: int) -> Ints:
    """The completed gold heads of example i, in place."""
    return examples.completions[examples.node_starts[i] : examples.node_starts[i + 1] - 1]


@kernel
def _arc_hashes(examples: TreeExamples, i: int) -> EndpointHashes:
    """The hashes of the nodes of example i, for arcs."""
    start, end = examples.node_starts[i], examples.node_starts[i + 1]
    return hash_endpoints(examples.features.arcs, examples.attributes, start, end)


@kernel
def pair_hashes(examples: TreeExamples, i: int) -> PairHashes:
    """The hashes of the nodes of example i, for pairs of arcs."""
    start, end = examples.node_starts[i], examples.node_starts[i + 1]
    return hash_pairs(examples.features, examples.attributes, start, end)


@kernel
def _arc_scores(examples: TreeExamples, i: int, w: Floats, heads: Ints) -> Floats:
    """The scores of the arcs of example i, those of the heads among them."""
    start, end = examples.node_starts[i], examples.node_starts[i + 1]
    return arc_table(  # type: ignore[no-any-return]
        examples.store, examples.features, examples.attributes, start, end, i, w, heads
    )


@kernel
def score_example(examples: TreeExamples, i: int, w: Floats, complete: bool) -> tuple[Floats, bool]:
    """The scores of the arcs of example i, and whether its completion changed."""
    start, end = examples.node_starts[i], examples.node_starts[i + 1]
    scores = _arc_scores(examples, i, w, examples.heads[start : end - 1])
    return scores, complete_one(examples, i, complete, scores)


@kernel
def decode(
    examples: TreeExamples, i: int, w: Floats, gamma: float, complete: bool
) -> tuple[Ints, float, bool]:
    """See ``Structure.decode``, and ``best_tree``."""
    heads = gold_heads(examples, i)
    y = np.empty(len(heads), dtype=np.int64)
    if len(y) == 0:
        return y, 0.0, False
    features = examples.features
    scores, recompleted = score_example(examples, i, w, complete)
    add_head_costs(heads, gamma, scores)
    best_tree(features.projective, features, pair_hashes(examples, i), w, scores, y)
    return y, count_wrong_heads(heads, y), recompleted


@kernel
def difference(examples: TreeExamples, i: int, y: Ints, indices: Rows, values: Weights) -> int:
    """See ``Structure.difference``."""
    return tree_difference(  # type: ignore[no-any-return]
        examples.store,
        examples.features,
        _arc_hashes(examples, i),
        pair_hashes(examples, i),
        _gold(examples, i),
        y,
        indices,
        values,
    )


@kernel
def expect(
    examples: TreeExamples, i: int, w: Floats, beta: float, gamma: float, complete: bool
) -> tuple[Floats, float, bool, float]:
    """See ``Structure.expect``, and ``marginals``; z is laid out by ``join_parts``.

    An approximate loss may be less than 0, which no loss is: it counts as 0, at the gold tree.
    """
    features = examples.features
    heads = gold_heads(examples, i)
    if len(heads) == 0:
        return np.empty(0), 0.0, False, 0.0
    scores, recompleted = score_example(examples, i, w, complete)
    gold, pair_endpoints = _gold(examples, i), pair_hashes(examples, i)
    parts = score_parts(features, pair_endpoints, w, scores)
    gold_score = tree_score(parts, gold)
    if gold_score == -np.inf:  # the completion has arcs that the pruner has discarded
        parts = score_parts(features, pair_endpoints, w, _arc_scores(examples, i, w, gold))
        gold_score = tree_score(parts, gold)
        if gold_score == -np.inf:
            return np.empty(0), 0.0, recompleted, 0.0
    add_head_costs(heads, gamma, parts.arcs)
    total, probabilities = marginals(features.projective, beta, parts)
    cost = expected_wrong_heads(heads, probabilities.arcs)
    loss = total / beta - gold_score
    if loss <= 0.0:
        loss = 0.0
        fill_tree(probabilities, gold)
    return join_parts(parts.arcs, probabilities), loss, recompleted, cost


@kernel
def expected_difference(
    examples: TreeExamples, i: int, z: Floats, indices: Rows, values: Floats
) -> int:
    """See ``Structure.expected_difference``."""
    features, gold = examples.features, _gold(examples, i)
    N = len(gold)
    coefficients = split_parts(z, N, is_second_order(features), has_grandparents(features))
    add_tree(coefficients, gold, -1.0)
    return combine_parts(  # type: ignore[no-any-return]
        examples.store,
        features,
        _arc_hashes(examples, i),
        pair_hashes(examples, i),
        coefficients,
        indices,
        values,
    )


#: Trees with weights in hashed rows.
TREES = Structure(
    TreeExamplesType,
    decode,
    difference,
    expect,
    expected_difference,
    decodes_new_ahead=True,
)

#: Trees with lazily allocated weights.
LAZY_TREES = TREES._replace(examples_type=LazyTreeExamplesType, is_lazy=True)
