"""The oracle of chains: what solvers ask about example i (see ``structure.py``)."""

import numpy as np

from spacy_ssvm._jit import Flags, Floats, Rows, Weights, kernel
from spacy_ssvm.chains.examples import Examples, ExamplesType
from spacy_ssvm.chains.scores import (
    add_costs,
    cost,
    difference,
    difference_size,
    emission_scores,
    is_annotated,
    restrict_to_gold,
    transition_scores,
)
from spacy_ssvm.decoders.chain import viterbi
from spacy_ssvm.structure import NOTHING_TO_LEARN, Structure


@kernel
def find_violator(
    examples: Examples,
    i: int,
    w: Floats,
    complete: bool,
    indices: Rows,
    values: Weights,
    outcome: Floats,
) -> int:
    """See ``Structure.find_violator``."""
    if not is_annotated(examples, i):
        return NOTHING_TO_LEARN
    first, last = examples.token_starts[i], examples.token_starts[i + 1]
    K = examples.legality.shape[1]
    transitions = np.empty((K + 2, K))
    transition_scores(w, examples.legality, transitions)
    emissions = np.empty((last - first, K))
    emission_scores(examples, i, w, emissions)
    y = np.empty(last - first, dtype=np.int64)
    gold = examples.completions[first:last]
    outcome[1] = 0.0
    if complete or gold.min() < 0:
        restricted = emissions.copy()
        if restrict_to_gold(examples, i, restricted):
            viterbi(restricted, transitions, y)
            outcome[1] = not np.array_equal(y, gold)
            gold[:] = y
    add_costs(examples, i, emissions)
    viterbi(emissions, transitions, y)
    outcome[0] = cost(examples, i, y)
    room = 2 ** int(np.ceil(np.log2(2 * difference_size(examples, i))))
    places = np.full(room, -1, dtype=np.int32)
    return difference(examples, i, gold, y, indices, values, places)


@kernel
def complete_gold(examples: Examples, w: Floats, changed: Flags) -> None:
    """See ``Structure.complete_gold``."""
    K = examples.legality.shape[1]
    transitions = np.empty((K + 2, K))
    transition_scores(w, examples.legality, transitions)
    for i in range(len(changed)):
        first, last = examples.token_starts[i], examples.token_starts[i + 1]
        emissions = np.zeros((last - first, K))
        if not is_annotated(examples, i) or not restrict_to_gold(examples, i, emissions):
            continue
        emission_scores(examples, i, w, emissions)
        restrict_to_gold(examples, i, emissions)
        y = np.empty(last - first, dtype=np.int64)
        viterbi(emissions, transitions, y)
        changed[i] = not np.array_equal(y, examples.completions[first:last])
        examples.completions[first:last] = y


#: Chains, as solvers see them.
CHAINS = Structure(ExamplesType, find_violator, complete_gold)
