"""The oracles of trees: what solvers ask about example i (see ``structure.py``)."""

import numpy as np

from spacy_ssvm._jit import Flags, Floats, Ints, Rows, Weights, kernel
from spacy_ssvm.decoders.tree import chu_liu_edmonds, eisner
from spacy_ssvm.decoders.tree_marginals import nonprojective_marginals, projective_marginals
from spacy_ssvm.structure import UNANNOTATED, Structure
from spacy_ssvm.trees.keys import EndpointHashes, hash_endpoints
from spacy_ssvm.trees.layout import TreeExamples, TreeExamplesType
from spacy_ssvm.trees.pruner import score_arcs
from spacy_ssvm.trees.scores import decode, difference, weighted_features

_PRUNED = -1e6  # the score of an arc that the pruner has left out


@kernel
def gold_heads(examples: TreeExamples, i: int) -> Ints:
    """The gold heads of example i; none where there is nothing to learn from them."""
    start, end = examples.node_starts[i], examples.node_starts[i + 1]
    heads = examples.heads[start : end - 1]
    if len(heads) < 2 or heads[1:].max() < 0:
        return heads[:0]
    return heads


@kernel
def complete_heads(scores: Floats, heads: Ints, projective: bool, completion: Ints) -> bool:
    """Fill completion with the best tree that has the gold heads; return whether it changed.

    projective: whether a projective tree is preferred, where one has them. Arcs that the pruner
    has left out are used where there is no other tree.
    """
    N = len(heads)
    restricted = np.maximum(scores, _PRUNED)
    for m in range(1, N):
        if heads[m] >= 0:
            restricted[:, m] = -np.inf
            restricted[heads[m], m] = 0.0
    y = np.empty(N, dtype=np.int64)
    if not projective or eisner(restricted, y) == -np.inf:
        chu_liu_edmonds(restricted, y)
    changed = not np.array_equal(y, completion)
    completion[:] = y
    return changed


@kernel
def complete_one(examples: TreeExamples, i: int, complete: bool, scores: Floats) -> bool:
    """Complete partial gold, see ``structure.py``; return whether the completion changed."""
    start, end = examples.node_starts[i], examples.node_starts[i + 1]
    heads = examples.heads[start : end - 1]
    completion = examples.completions[start : end - 1]
    if heads[1:].min() < 0 and (complete or completion[1:].min() < 0):
        return bool(complete_heads(scores, heads, examples.features.projective, completion))
    return False


@kernel
def _score(
    examples: TreeExamples, i: int, w: Floats, complete: bool, outcome: Floats
) -> tuple[EndpointHashes, Floats]:
    """The endpoints of example i and the scores of its arcs, gold ones among them.

    Completes partial gold, see ``structure.py``.
    """
    start, end = examples.node_starts[i], examples.node_starts[i + 1]
    heads = examples.heads[start : end - 1]
    endpoints, scores = score_arcs(
        examples.features, examples.pruner, w, examples.attributes, start, end, heads
    )
    outcome[1] = complete_one(examples, i, complete, scores)
    return endpoints, scores


@kernel
def add_head_costs(heads: Ints, gamma: float, scores: Floats) -> None:
    """Augment scores with gamma for each wrong head."""
    for m in range(1, len(heads)):
        if heads[m] >= 0:
            for h in range(len(heads)):
                if h != heads[m]:
                    scores[h, m] += gamma


@kernel
def loss_augmented_decode(
    examples: TreeExamples,
    i: int,
    w: Floats,
    gamma: float,
    complete: bool,
    indices: Rows,
    values: Weights,
    outcome: Floats,
) -> int:
    """See ``Structure.loss_augmented_decode``."""
    heads = gold_heads(examples, i)
    N = len(heads)
    if N == 0:
        return UNANNOTATED
    features = examples.features
    endpoints, scores = _score(examples, i, w, complete, outcome)
    start, end = examples.node_starts[i], examples.node_starts[i + 1]
    pair_endpoints = hash_endpoints(features.pairs, examples.attributes, start, end)
    add_head_costs(heads, gamma, scores)
    y = np.empty(N, dtype=np.int64)
    decode(features, pair_endpoints, w, scores, y)
    outcome[0] = 0.0
    for m in range(1, N):
        if heads[m] >= 0 and y[m] != heads[m]:
            outcome[0] += 1.0
    gold = examples.completions[start : end - 1]
    return difference(features, endpoints, pair_endpoints, gold, y, indices, values)


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
    outcome: Floats,
) -> int:
    """See ``Structure.expected_gradient``: inside-outside or the matrix-tree theorem.

    Raises ValueError where trees are scored by siblings.
    """
    features = examples.features
    if len(features.pairs.head.seeds) > 0:
        raise ValueError("trees with siblings have no probabilities: set order = 1")
    heads = gold_heads(examples, i)
    N = len(heads)
    if N == 0:
        return UNANNOTATED
    endpoints, scores = _score(examples, i, w, complete, outcome)
    start = examples.node_starts[i]
    gold = examples.completions[start : start + N]
    right = 0.0
    for m in range(1, N):
        right += scores[gold[m], m]
    add_head_costs(heads, gamma, scores)
    probabilities = np.empty((N, N))
    if features.projective:
        total = projective_marginals(beta * scores, probabilities)
    else:
        total = nonprojective_marginals(beta * scores, probabilities)
    outcome[0] = total / beta - right
    for m in range(1, N):
        probabilities[gold[m], m] -= 1.0
    return weighted_features(features, endpoints, probabilities, indices, values)


@kernel
def complete_gold(examples: TreeExamples, w: Floats, changed: Flags) -> None:
    """See ``Structure.complete_gold``."""
    outcome = np.empty(2)
    for i in range(len(changed)):
        heads = gold_heads(examples, i)
        if len(heads) and heads[1:].min() < 0:
            _score(examples, i, w, True, outcome)
            changed[i] = outcome[1] > 0


#: Trees, as solvers see them.
TREES = Structure(TreeExamplesType, loss_augmented_decode, complete_gold, expected_gradient, None)
