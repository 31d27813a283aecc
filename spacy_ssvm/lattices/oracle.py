"""The oracles of lattices: what solvers ask about example i (see ``structure.py``).

y has the candidates of tokens, counted at each token (int64 [n]). z has the probabilities of
candidates, and then those of pairs of neighbours, in the order of both.
"""

import numpy as np

from spacy_ssvm.decoders.lattice import (
    Candidates,
    best_path,
    end_score,
    no_bounds,
    number_of_pairs,
    path_score,
    prefix_scores,
    step_score,
    suffix_scores,
)
from spacy_ssvm.decoders.semirings import LOG_SUM, add
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Floats, Ints, Rows, Weights
from spacy_ssvm.labelings.word_features import count_features, has_room
from spacy_ssvm.lattices.layout import Lattices, LatticesType, LazyLatticesType
from spacy_ssvm.lattices.scores import (
    add_costs,
    candidates_of,
    cost,
    emission_scores,
    expected_feature_difference,
    expected_step_difference,
    feature_difference,
    first_feature_weight,
    forbid_wrong,
    gold_of,
    is_annotated,
    is_partial,
    step_difference,
)
from spacy_ssvm.structure import NEEDS_CAPACITY, Structure


@kernel
def complete_example(
    examples: Lattices,
    i: int,
    complete: bool,
    candidates: Candidates,
    emissions: Floats,
    w: Floats,
) -> bool:
    """Complete the gold of example i under its scores; return whether it changed."""
    gold = gold_of(examples, i)
    if not is_partial(examples, i) or not (complete or gold.min() < 0):
        return False
    restricted = emissions.copy()
    forbid_wrong(examples, i, restricted)
    y = np.empty(len(gold), dtype=np.int64)
    best_path(candidates, restricted, examples.levels, w, no_bounds(), y)
    changed = not np.array_equal(y, gold)
    gold[:] = y
    return changed


@kernel
def decode(
    examples: Lattices, i: int, w: Floats, gamma: float, complete: bool
) -> tuple[Ints, float, bool]:
    """See ``Structure.decode``: Viterbi over the candidates."""
    if not is_annotated(examples, i):
        return np.empty(0, dtype=np.int64), 0.0, False
    candidates = candidates_of(examples, i)
    emissions = emission_scores(examples, i, w)
    recompleted = complete_example(examples, i, complete, candidates, emissions, w)
    add_costs(examples, i, gamma, emissions)
    y = np.empty(len(candidates.starts) - 1, dtype=np.int64)
    best_path(candidates, emissions, examples.levels, w, no_bounds(), y)
    return y, cost(examples, i, y), recompleted


@kernel
def difference(examples: Lattices, i: int, y: Ints, indices: Rows, values: Weights) -> int:
    """See ``Structure.difference``."""
    gold, first = gold_of(examples, i), examples.token_starts[i]
    features, candidates = examples.features, candidates_of(examples, i)
    if not has_room(features, count_features(features, first, y != gold)):
        return NEEDS_CAPACITY
    size = step_difference(candidates, examples.levels, gold, y, indices, values)
    size += feature_difference(
        features,
        first,
        candidates,
        examples.labels,
        first_feature_weight(examples),
        gold,
        y,
        indices[size:],
        values[size:],
    )
    return size


@kernel
def expect(
    examples: Lattices, i: int, w: Floats, beta: float, gamma: float, complete: bool
) -> tuple[Floats, float, bool, float]:
    """See ``Structure.expect``: forward-backward over the candidates."""
    if not is_annotated(examples, i):
        return np.empty(0), 0.0, False, 0.0
    candidates, levels = candidates_of(examples, i), examples.levels
    starts, labels = candidates.starts, candidates.labels
    emissions = emission_scores(examples, i, w)
    recompleted = complete_example(examples, i, complete, candidates, emissions, w)
    gold_score = path_score(candidates, emissions, levels, w, gold_of(examples, i))
    add_costs(examples, i, gamma, emissions)
    emissions *= beta
    steps = beta * w[: first_feature_weight(examples)]
    before = prefix_scores(LOG_SUM, candidates, emissions, levels, steps)
    after = suffix_scores(LOG_SUM, candidates, emissions, levels, steps)
    n, total = len(starts) - 1, -np.inf
    for c in range(starts[n - 1], starts[n]):
        total = add(LOG_SUM, total, before[c] + end_score(levels, steps, labels[c]))
    size = len(emissions)
    z = np.empty(size + number_of_pairs(starts))
    mean_cost, base = 0.0, examples.candidate_starts[examples.token_starts[i]]
    for c in range(size):
        z[c] = np.exp(before[c] + after[c] - total)
        if not examples.allowed[base + c]:
            mean_cost += z[c]
    for t in range(1, n):
        for b in range(starts[t - 1], starts[t]):
            for c in range(starts[t], starts[t + 1]):
                step = step_score(levels, steps, labels[b], labels[c])
                z[size] = np.exp(before[b] + step + emissions[c] + after[c] - total)
                size += 1
    return z, total / beta - gold_score, recompleted, mean_cost


@kernel
def expected_difference(
    examples: Lattices, i: int, z: Floats, indices: Rows, values: Floats
) -> int:
    """See ``Structure.expected_difference``."""
    gold, first = gold_of(examples, i), examples.token_starts[i]
    features, candidates = examples.features, candidates_of(examples, i)
    is_open = candidates.starts[1:] - candidates.starts[:-1] > 1
    if not has_room(features, count_features(features, first, is_open)):
        return NEEDS_CAPACITY
    size = expected_step_difference(candidates, examples.levels, gold, z, indices, values)
    size += expected_feature_difference(
        features,
        first,
        candidates,
        examples.labels,
        first_feature_weight(examples),
        gold,
        z,
        indices[size:],
        values[size:],
    )
    return size


#: Lattices whose features have weights for all parts.
LATTICES = Structure(LatticesType, decode, difference, expect, expected_difference)

#: The same, with weights for the parts that a feature has been updated with.
SPARSE_LATTICES = LATTICES._replace(is_lazy=True)

#: Lattices with lazily allocated weights of features without rows.
LAZY_LATTICES = Structure(
    LazyLatticesType, decode, difference, expect, expected_difference, is_lazy=True
)
