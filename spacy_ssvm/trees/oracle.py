"""The oracles of trees: what solvers ask about example i (see ``structure.py``)."""

import numpy as np

from spacy_ssvm._jit import Flags, Floats, Ints, Rows, Weights, kernel
from spacy_ssvm.decoders.tree import chu_liu_edmonds
from spacy_ssvm.decoders.tree_marginals import nonprojective_marginals, projective_marginals
from spacy_ssvm.features.arcs import make_sides
from spacy_ssvm.structure import NOTHING_TO_LEARN, Structure
from spacy_ssvm.trees.examples import TreeExamples, TreeExamplesType
from spacy_ssvm.trees.scores import (
    arc_scores,
    decode,
    difference,
    likely_arcs,
    weighted_features,
)

_PRUNED = -1e6  # the score of an arc that the pruner has left out


@kernel
def is_annotated(heads: Ints) -> bool:
    """Whether any word has a gold head."""
    return bool(heads[1:].max() >= 0)


@kernel
def complete_heads(scores: Floats, heads: Ints, completion: Ints) -> bool:
    """Fill completion with the best tree that has the gold heads; return whether it changed.

    Arcs that the pruner has left out are used where there is no other tree.
    """
    N = len(heads)
    restricted = np.maximum(scores, _PRUNED)
    for m in range(1, N):
        if heads[m] >= 0:
            restricted[:, m] = -np.inf
            restricted[heads[m], m] = 0.0
    y = np.empty(N, dtype=np.int64)
    chu_liu_edmonds(restricted, y)
    changed = not np.array_equal(y, completion)
    completion[:] = y
    return changed


@kernel
def _arcs_to_score(examples: TreeExamples, start: int, end: int, heads: Ints) -> Flags:
    """The arcs that the pruner allows, and those that are gold."""
    N = len(heads)
    allowed = np.empty((N, N), dtype=np.bool_)
    likely_arcs(examples.pruner, examples.attributes, start, end, allowed)
    for m in range(1, N):
        if heads[m] >= 0:
            allowed[heads[m], m] = True
    return allowed


@kernel
def _add_costs(heads: Ints, gamma: float, scores: Floats) -> None:
    """Augment scores with gamma for each wrong head."""
    for m in range(1, len(heads)):
        if heads[m] >= 0:
            for h in range(len(heads)):
                if h != heads[m]:
                    scores[h, m] += gamma


@kernel
def find_violator(
    examples: TreeExamples,
    i: int,
    w: Floats,
    gamma: float,
    complete: bool,
    indices: Rows,
    values: Weights,
    outcome: Floats,
) -> int:
    """See ``Structure.find_violator``."""
    start, end = examples.node_starts[i], examples.node_starts[i + 1]
    N = end - start - 1
    heads = examples.heads[start : start + N]
    if N < 2 or not is_annotated(heads):
        return NOTHING_TO_LEARN
    features = examples.features
    gold = examples.completions[start : start + N]
    partial = heads[1:].min() < 0
    allowed = _arcs_to_score(examples, start, end, heads)
    sides = make_sides(features.arcs, examples.attributes, start, end)
    pair_sides = make_sides(features.pairs, examples.attributes, start, end)
    scores = np.empty((N, N))
    arc_scores(features.arcs, sides, features.size, w, allowed, scores)
    outcome[1] = 0.0
    if partial and (complete or gold[1:].min() < 0):
        outcome[1] = complete_heads(scores, heads, gold)
    _add_costs(heads, gamma, scores)
    y = np.empty(N, dtype=np.int64)
    decode(features, pair_sides, w, scores, y)
    outcome[0] = 0.0
    for m in range(1, N):
        if heads[m] >= 0 and y[m] != heads[m]:
            outcome[0] += 1.0
    return difference(features, sides, pair_sides, gold, y, indices, values)


@kernel
def expect(
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
    """See ``Structure.expect``: inside-outside or the matrix-tree theorem.

    Raises ValueError where trees are scored by siblings.
    """
    features = examples.features
    if len(features.pairs.head.seeds) > 0:
        raise ValueError("trees with siblings have no probabilities: set order = 1")
    start, end = examples.node_starts[i], examples.node_starts[i + 1]
    N = end - start - 1
    heads = examples.heads[start : start + N]
    if N < 2 or not is_annotated(heads):
        return NOTHING_TO_LEARN
    gold = examples.completions[start : start + N]
    allowed = _arcs_to_score(examples, start, end, heads)
    sides = make_sides(features.arcs, examples.attributes, start, end)
    scores = np.empty((N, N))
    arc_scores(features.arcs, sides, features.size, w, allowed, scores)
    outcome[1] = 0.0
    if heads[1:].min() < 0 and (complete or gold[1:].min() < 0):
        outcome[1] = complete_heads(scores, heads, gold)
    right = 0.0
    for m in range(1, N):
        right += scores[gold[m], m]
    _add_costs(heads, gamma, scores)
    probabilities = np.empty((N, N))
    if features.projective:
        total = projective_marginals(beta * scores, probabilities)
    else:
        total = nonprojective_marginals(beta * scores, probabilities)
    outcome[0] = total / beta - right
    for m in range(1, N):
        probabilities[gold[m], m] -= 1.0
    return weighted_features(features, sides, probabilities, indices, values)


@kernel
def complete_gold(examples: TreeExamples, w: Floats, changed: Flags) -> None:
    """See ``Structure.complete_gold``."""
    features = examples.features
    for i in range(len(changed)):
        start, end = examples.node_starts[i], examples.node_starts[i + 1]
        N = end - start - 1
        heads = examples.heads[start : start + N]
        if N < 2 or not is_annotated(heads) or heads[1:].min() >= 0:
            continue
        allowed = np.empty((N, N), dtype=np.bool_)
        likely_arcs(examples.pruner, examples.attributes, start, end, allowed)
        sides = make_sides(features.arcs, examples.attributes, start, end)
        scores = np.empty((N, N))
        arc_scores(features.arcs, sides, features.size, w, allowed, scores)
        changed[i] = complete_heads(scores, heads, examples.completions[start : start + N])


#: Trees, as solvers see them.
TREES = Structure(TreeExamplesType, find_violator, complete_gold, expect, None)
