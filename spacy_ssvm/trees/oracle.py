"""The oracles of trees: what solvers ask about example i (see ``structure.py``)."""

import numpy as np

from spacy_ssvm.decoders.parts import subtract_tree, tree_score
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Floats, Ints, Rows, Weights
from spacy_ssvm.structure import UNANNOTATED, Structure
from spacy_ssvm.trees.keys import EndpointHashes, hash_pairs
from spacy_ssvm.trees.layout import LazyTreeExamplesType, TreeExamples, TreeExamplesType
from spacy_ssvm.trees.scores import (
    add_head_costs,
    complete_one,
    count_wrong_heads,
    decode,
    expected_wrong_heads,
    gold_heads,
    k_best,
    marginals,
    score_parts,
)
from spacy_ssvm.trees.stores import arc_table, combine_parts, tree_difference


@kernel
def _score(
    examples: TreeExamples, i: int, w: Floats, complete: bool
) -> tuple[EndpointHashes, Floats, bool]:
    """The endpoints of example i, the scores of its arcs, and whether its completion changed."""
    start, end = examples.node_starts[i], examples.node_starts[i + 1]
    endpoints, scores = arc_table(
        examples.store,
        examples.features,
        examples.attributes,
        start,
        end,
        i,
        w,
        examples.heads[start : end - 1],
    )
    return endpoints, scores, complete_one(examples, i, complete, scores)


@kernel
def loss_augmented_decode(
    examples: TreeExamples,
    i: int,
    w: Floats,
    gamma: float,
    complete: bool,
    indices: Rows,
    values: Weights,
) -> tuple[int, float, bool]:
    """See ``Structure.loss_augmented_decode``, and ``decode``."""
    heads = gold_heads(examples, i)
    N = len(heads)
    if N == 0:
        return UNANNOTATED, 0.0, False
    features = examples.features
    endpoints, scores, recompleted = _score(examples, i, w, complete)
    start, end = examples.node_starts[i], examples.node_starts[i + 1]
    pair_endpoints = hash_pairs(features, examples.attributes, start, end)
    add_head_costs(heads, gamma, scores)
    y = np.empty(N, dtype=np.int64)
    decode(features.projective, features, pair_endpoints, w, scores, y)
    gold = examples.completions[start : end - 1]
    size = tree_difference(
        examples.store, features, endpoints, pair_endpoints, w, gold, y, indices, values
    )
    return size, count_wrong_heads(heads, y), recompleted


@kernel
def expected_gradient(
    examples: TreeExamples,
    i: int,
    w: Floats,
    beta: float,
    gamma: float,
    complete: bool,
    indices: Rows,
    values: Floats,
) -> tuple[int, float, bool, float]:
    """See ``Structure.expected_gradient``, and ``marginals``.

    An approximate loss may be less than 0, which no loss is: it counts as 0, without a gradient.
    """
    features = examples.features
    heads = gold_heads(examples, i)
    if len(heads) == 0:
        return UNANNOTATED, 0.0, False, 0.0
    endpoints, scores, recompleted = _score(examples, i, w, complete)
    start, end = examples.node_starts[i], examples.node_starts[i + 1]
    pair_endpoints = hash_pairs(features, examples.attributes, start, end)
    gold = examples.completions[start : end - 1]
    parts = score_parts(features, pair_endpoints, w, scores)
    gold_score = tree_score(parts, gold)
    if gold_score == -np.inf:  # the completion has arcs that the pruner has discarded
        endpoints, scores = arc_table(
            examples.store, features, examples.attributes, start, end, i, w, gold
        )
        parts = score_parts(features, pair_endpoints, w, scores)
        gold_score = tree_score(parts, gold)
        if gold_score == -np.inf:
            return UNANNOTATED, 0.0, recompleted, 0.0
    add_head_costs(heads, gamma, parts.arcs)
    total, probabilities = marginals(features.projective, beta, parts)
    cost = expected_wrong_heads(heads, probabilities.arcs)
    loss = total / beta - gold_score
    if loss <= 0.0:
        return 0, 0.0, recompleted, cost
    subtract_tree(probabilities, gold)
    size = combine_parts(
        examples.store,
        features,
        endpoints,
        pair_endpoints,
        w,
        probabilities,
        indices,
        values,
    )
    return size, loss, recompleted, cost


@kernel
def k_best_decode(
    examples: TreeExamples,
    i: int,
    w: Floats,
    gamma: float,
    k: int,
    complete: bool,
    starts: Ints,
    costs: Floats,
    indices: Rows,
    values: Weights,
) -> int:
    """See ``Structure.k_best_decode``: for projective trees without grandparents."""
    heads = gold_heads(examples, i)
    N = len(heads)
    if N == 0:
        return UNANNOTATED
    features = examples.features
    endpoints, scores, _ = _score(examples, i, w, complete)
    start, end = examples.node_starts[i], examples.node_starts[i + 1]
    pair_endpoints = hash_pairs(features, examples.attributes, start, end)
    add_head_costs(heads, gamma, scores)
    trees = np.empty((k, N), dtype=np.int64)
    count = k_best(score_parts(features, pair_endpoints, w, scores), trees)
    if count == 0:
        return UNANNOTATED
    gold = examples.completions[start : end - 1]
    starts[0] = 0
    for b in range(count):
        first = starts[b]
        starts[b + 1] = first + tree_difference(
            examples.store,
            features,
            endpoints,
            pair_endpoints,
            w,
            gold,
            trees[b],
            indices[first:],
            values[first:],
        )
        costs[b] = count_wrong_heads(heads, trees[b])
    return count


#: Projective trees with weights in hashed rows.
TREES = Structure(TreeExamplesType, loss_augmented_decode, expected_gradient, k_best_decode)

#: Trees whose arcs may cross, or with grandparents: the k best are not known.
TREES_WITHOUT_K_BEST = TREES._replace(k_best_decode=None)

#: Trees with lazily allocated weights.
LAZY_TREES = Structure(LazyTreeExamplesType, loss_augmented_decode, expected_gradient, is_lazy=True)
