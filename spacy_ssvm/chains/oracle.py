"""The oracles of chains: what solvers ask about example i (see ``structure.py``)."""

import numpy as np

from spacy_ssvm._jit import Flags, Floats, Ints, Rows, Weights, kernel
from spacy_ssvm.chains.layout import Examples, ExamplesType
from spacy_ssvm.chains.scores import (
    add_costs,
    cost,
    difference,
    difference_size,
    emission_scores,
    expected_difference,
    is_annotated,
    is_partial,
    path_score,
    restrict_to_gold,
    transition_scores,
)
from spacy_ssvm.decoders.chain import k_best, viterbi
from spacy_ssvm.decoders.chain_marginals import marginals
from spacy_ssvm.structure import UNANNOTATED, Structure
from spacy_ssvm.weights.sparse import scratch_table


@kernel
def _score(
    examples: Examples, i: int, w: Floats, complete: bool, outcome: Floats
) -> tuple[Floats, Floats]:
    """The score tables of an example under w; completes partial gold, see ``structure.py``."""
    first, last = examples.token_starts[i], examples.token_starts[i + 1]
    K = examples.legality.shape[1]
    transitions = np.empty((K + 2, K))
    emissions = np.empty((last - first, K))
    transition_scores(w, examples.legality, transitions)
    emission_scores(examples, i, w, emissions)
    outcome[1] = complete_one(examples, i, complete, emissions, transitions)
    return emissions, transitions


@kernel
def complete_one(
    examples: Examples, i: int, complete: bool, emissions: Floats, transitions: Floats
) -> bool:
    """Complete the gold of example i under its scores; return whether that changed it."""
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
def loss_augmented_decode(
    examples: Examples,
    i: int,
    w: Floats,
    gamma: float,
    complete: bool,
    indices: Rows,
    values: Weights,
    outcome: Floats,
) -> int:
    """See ``Structure.loss_augmented_decode``."""
    if not is_annotated(examples, i):
        return UNANNOTATED
    emissions, transitions = _score(examples, i, w, complete, outcome)
    gold = examples.completions[examples.token_starts[i] : examples.token_starts[i + 1]]
    add_costs(examples, i, gamma, emissions)
    y = np.empty(len(gold), dtype=np.int64)
    viterbi(emissions, transitions, y)
    outcome[0] = cost(examples, i, y)
    places = scratch_table(difference_size(examples, i))
    return difference(examples, i, gold, y, indices, values, places)


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
    outcome: Floats,
) -> int:
    """See ``Structure.k_best_decode``."""
    if not is_annotated(examples, i):
        return UNANNOTATED
    emissions, transitions = _score(examples, i, w, complete, outcome)
    gold = examples.completions[examples.token_starts[i] : examples.token_starts[i + 1]]
    add_costs(examples, i, gamma, emissions)
    sequences, _ = k_best(emissions, transitions, k)
    places = scratch_table(difference_size(examples, i))
    starts[0] = 0
    for m in range(len(sequences)):
        start = starts[m]
        costs[m] = cost(examples, i, sequences[m])
        starts[m + 1] = start + difference(
            examples, i, gold, sequences[m], indices[start:], values[start:], places
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
    outcome: Floats,
) -> int:
    """See ``Structure.expected_gradient``: forward-backward."""
    if not is_annotated(examples, i):
        return UNANNOTATED
    emissions, transitions = _score(examples, i, w, complete, outcome)
    gold = examples.completions[examples.token_starts[i] : examples.token_starts[i + 1]]
    right = path_score(emissions, transitions, gold)
    add_costs(examples, i, gamma, emissions)
    labels = np.empty(emissions.shape)
    pairs = np.empty((emissions.shape[1], emissions.shape[1]))
    outcome[0] = marginals(beta * emissions, beta * transitions, labels, pairs) / beta - right
    return expected_difference(examples, i, gold, labels, pairs, indices, values)


@kernel
def complete_gold(examples: Examples, w: Floats, changed: Flags) -> None:
    """See ``Structure.complete_gold``."""
    outcome = np.empty(2)
    for i in range(len(changed)):
        if is_annotated(examples, i) and is_partial(examples, i):
            _score(examples, i, w, True, outcome)
            changed[i] = outcome[1] > 0


#: Chains, as solvers see them.
CHAINS = Structure(
    ExamplesType, loss_augmented_decode, complete_gold, expected_gradient, k_best_decode
)
