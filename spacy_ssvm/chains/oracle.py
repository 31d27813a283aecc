"""The oracles of chains: what solvers ask about example i (see ``structure.py``)."""

import numpy as np

from spacy_ssvm.chains.layout import Examples, ExamplesType, LazyExamplesType
from spacy_ssvm.chains.scores import (
    add_costs,
    cost,
    expected_cost,
    expected_transition_difference,
    is_annotated,
    is_partial,
    path_score,
    restrict_to_gold,
    transition_difference,
    transition_scores,
)
from spacy_ssvm.chains.stores import (
    emission_scores,
    expected_feature_difference,
    feature_difference,
    has_capacity_for,
)
from spacy_ssvm.chains.trellis import edge_scores, flow_sums, move, path
from spacy_ssvm.decoders.chain import k_best, viterbi
from spacy_ssvm.decoders.chain_marginals import marginals
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Floats, Ints, Rows, Weights
from spacy_ssvm.structure import NEEDS_CAPACITY, UNANNOTATED, Structure


@kernel
def _score(examples: Examples, i: int, w: Floats) -> tuple[Floats, Floats]:
    """The emission table [n, K] and the transition table [K + 2, K] of an example under w."""
    first, last = examples.token_starts[i], examples.token_starts[i + 1]
    K = examples.legality.shape[1]
    transitions = np.empty((K + 2, K))
    emissions = np.empty((last - first, K))
    transition_scores(w, examples.legality, transitions)
    emission_scores(examples.features, first, w, emissions)
    return emissions, transitions


@kernel
def _complete(
    examples: Examples, i: int, complete: bool, emissions: Floats, transitions: Floats
) -> bool:
    """Complete the gold of example i under its scores; return whether it changed."""
    gold = examples.completions[examples.token_starts[i] : examples.token_starts[i + 1]]
    if not is_partial(examples, i) or not (complete or gold.min() < 0):
        return False
    restricted = emissions.copy()
    restrict_to_gold(examples, i, restricted)
    y = np.empty(len(gold), dtype=np.int64)
    viterbi(restricted, transitions, y)
    changed = not np.array_equal(y, gold)
    gold[:] = y
    return changed


@kernel
def _difference(
    examples: Examples, i: int, w: Floats, y: Ints, indices: Rows, values: Weights
) -> int:
    """Write Phi_i(y), each index once; return its size."""
    first, last = examples.token_starts[i], examples.token_starts[i + 1]
    K = examples.legality.shape[1]
    gold = examples.completions[first:last]
    size = transition_difference(gold, y, K, indices, values)
    size += feature_difference(
        examples.features, first, w, K, gold, y, indices[size:], values[size:]
    )
    return size  # type: ignore[no-any-return]


@kernel
def loss_augmented_decode(
    examples: Examples,
    i: int,
    w: Floats,
    gamma: float,
    complete: bool,
    indices: Rows,
    values: Weights,
) -> tuple[int, float, bool]:
    """See ``Structure.loss_augmented_decode``: Viterbi."""
    if not is_annotated(examples, i):
        return UNANNOTATED, 0.0, False
    emissions, transitions = _score(examples, i, w)
    recompleted = _complete(examples, i, complete, emissions, transitions)
    gold = examples.completions[examples.token_starts[i] : examples.token_starts[i + 1]]
    add_costs(examples, i, gamma, emissions)
    y = np.empty(len(gold), dtype=np.int64)
    viterbi(emissions, transitions, y)
    cost_of_y = cost(examples, i, y)
    if not has_capacity_for(examples.features, (y != gold).sum()):
        return NEEDS_CAPACITY, cost_of_y, recompleted
    return _difference(examples, i, w, y, indices, values), cost_of_y, recompleted


@kernel
def k_best_decode(
    examples: Examples,
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
    """See ``Structure.k_best_decode``: Viterbi with lists."""
    if not is_annotated(examples, i):
        return UNANNOTATED
    emissions, transitions = _score(examples, i, w)
    _complete(examples, i, complete, emissions, transitions)
    add_costs(examples, i, gamma, emissions)
    sequences, _ = k_best(emissions, transitions, k)
    starts[0] = 0
    for m in range(len(sequences)):
        start = starts[m]
        costs[m] = cost(examples, i, sequences[m])
        starts[m + 1] = start + _difference(
            examples, i, w, sequences[m], indices[start:], values[start:]
        )
    return len(sequences)


@kernel
def expected_gradient(
    examples: Examples,
    i: int,
    w: Floats,
    beta: float,
    gamma: float,
    complete: bool,
    indices: Rows,
    values: Floats,
) -> tuple[int, float, bool, float]:
    """See ``Structure.expected_gradient``: forward-backward."""
    first, last = examples.token_starts[i], examples.token_starts[i + 1]
    if not is_annotated(examples, i):
        return UNANNOTATED, 0.0, False, 0.0
    if not has_capacity_for(examples.features, last - first):
        return NEEDS_CAPACITY, 0.0, False, 0.0
    emissions, transitions = _score(examples, i, w)
    recompleted = _complete(examples, i, complete, emissions, transitions)
    gold = examples.completions[first:last]
    gold_score = path_score(emissions, transitions, gold)
    add_costs(examples, i, gamma, emissions)
    labels = np.empty(emissions.shape)
    pairs = np.empty((emissions.shape[1], emissions.shape[1]))
    loss = marginals(beta * emissions, beta * transitions, labels, pairs) / beta - gold_score
    size = expected_transition_difference(gold, labels, pairs, indices, values)
    size += expected_feature_difference(
        examples.features, first, w, gold, labels, indices[size:], values[size:]
    )
    return size, loss, recompleted, expected_cost(examples, i, labels)


@kernel
def project(
    examples: Examples,
    i: int,
    w: Floats,
    step: float,
    complete: bool,
    parts: Floats,
    direction: Floats,
    indices: Rows,
    values: Floats,
) -> tuple[int, float, bool]:
    """See ``Structure.project``: the closest unit flow. For the parts see ``trellis.py``."""
    first, last = examples.token_starts[i], examples.token_starts[i + 1]
    if not is_annotated(examples, i):
        return UNANNOTATED, 0.0, False
    emissions, transitions = _score(examples, i, w)
    recompleted = _complete(examples, i, complete, emissions, transitions)
    gold = examples.completions[first:last]
    labels = np.empty(emissions.shape)
    pairs = np.empty((emissions.shape[1], emissions.shape[1]))
    if complete:
        path(gold, len(pairs), parts)
    add_costs(examples, i, 1.0, emissions)
    edge_scores(emissions, transitions, direction)
    move(parts, step, direction, len(pairs))
    flow_sums(parts, labels, pairs)
    size = expected_transition_difference(gold, labels, pairs, indices, values)
    size += expected_feature_difference(
        examples.features, first, w, gold, labels, indices[size:], values[size:]
    )
    return size, expected_cost(examples, i, labels), recompleted


#: Chains whose features have rows of their own.
CHAINS = Structure(ExamplesType, loss_augmented_decode, expected_gradient, k_best_decode, project)

#: Chains with lazily allocated weights. They can move on insertion: no k-best decoding.
LAZY_CHAINS = Structure(LazyExamplesType, loss_augmented_decode, expected_gradient, is_lazy=True)
