"""All that knows weights x features: score tables, costs, feature differences.

Weights come in two forms: the dense vector w of ``layout.py`` while a model learns, and
compact rows, float32 without zeros, for tagging. Scores are float64 in both cases.
"""

import numpy as np

from spacy_ssvm._jit import Floats, Ints, Rows, Weights, kernel
from spacy_ssvm.chains.layout import Examples
from spacy_ssvm.weights.sparse import add_entry, drop_zeros, empty_table, find_place, scratch_table


@kernel
def transition_scores(w: Floats, legality: Floats, transitions: Floats) -> None:
    """Write the transition table [K + 2, K] under w."""
    K = legality.shape[1]
    for p in range(K + 2):
        for k in range(K):
            transitions[p, k] = w[p * K + k] + legality[p, k]


@kernel
def emission_scores(examples: Examples, i: int, w: Floats, emissions: Floats) -> None:
    """Write the emission table [n, K] of example i under w."""
    first = examples.token_starts[i]
    K = emissions.shape[1]
    for t in range(emissions.shape[0]):
        for k in range(K):
            emissions[t, k] = 0.0
        features = examples.feature_starts[first + t : first + t + 2]
        for f in range(features[0], features[1]):
            offset = (K + 2 + np.int64(examples.rows[f])) * K
            row = w[offset : offset + K]
            for k in range(K):
                emissions[t, k] += row[k]


@kernel
def add_costs(examples: Examples, i: int, gamma: float, emissions: Floats) -> None:
    """Augment emissions with gamma times the cost of each label: the loss-augmented table."""
    first = examples.token_starts[i]
    for t in range(emissions.shape[0]):
        emissions[t] += gamma * examples.costs[examples.gold[first + t]]


@kernel
def is_annotated(examples: Examples, i: int) -> bool:
    """Whether gold says anything about any token of example i."""
    K = examples.legality.shape[1]
    for t in range(examples.token_starts[i], examples.token_starts[i + 1]):
        if examples.gold[t] != K:
            return True
    return False


@kernel
def is_partial(examples: Examples, i: int) -> bool:
    """Whether gold leaves a choice at some token of example i."""
    K = examples.legality.shape[1]
    for t in range(examples.token_starts[i], examples.token_starts[i + 1]):
        if examples.gold[t] >= K:
            return True
    return False


@kernel
def restrict_to_gold(examples: Examples, i: int, emissions: Floats) -> None:
    """Forbid what the gold label sets do not allow."""
    first = examples.token_starts[i]
    for t in range(emissions.shape[0]):
        allowed = examples.label_sets[examples.gold[first + t]]
        for k in range(emissions.shape[1]):
            if not allowed[k]:
                emissions[t, k] = -np.inf


@kernel
def path_score(emissions: Floats, transitions: Floats, y: Ints) -> float:
    """The score of a label sequence, see ``decoders.chain``."""
    n, K = emissions.shape
    total = transitions[K, y[0]] + transitions[K + 1, y[n - 1]]
    for t in range(n):
        total += emissions[t, y[t]]
        if t > 0:
            total += transitions[y[t - 1], y[t]]
    return total  # type: ignore[no-any-return]


@kernel
def cost(examples: Examples, i: int, y: Ints) -> float:
    """Delta_i(y)."""
    first = examples.token_starts[i]
    total = 0.0
    for t in range(len(y)):
        total += examples.costs[examples.gold[first + t], y[t]]
    return total


@kernel
def difference_size(examples: Examples, i: int) -> int:
    """How many entries Phi_i(y) has at most."""
    first, last = examples.token_starts[i], examples.token_starts[i + 1]
    features = examples.feature_starts[last] - examples.feature_starts[first]
    return 2 * (features + last - first + 1)  # type: ignore[no-any-return]


@kernel
def difference(
    examples: Examples, i: int, gold: Ints, y: Ints, indices: Rows, values: Weights, places: Rows
) -> int:
    """Write Phi_i(y) = phi(x_i, gold) - phi(x_i, y), each index once; return its size.

    indices (into w) and values have room for ``difference_size``; places is a scratch
    table of a power of two entries, at least twice that room, all -1 before and after.
    """
    n = len(y)
    K = examples.legality.shape[1]
    size = 0
    size = add_entry(indices, values, places, size, K * K + gold[0], 1.0)
    size = add_entry(indices, values, places, size, K * K + y[0], -1.0)
    size = add_entry(indices, values, places, size, (K + 1) * K + gold[n - 1], 1.0)
    size = add_entry(indices, values, places, size, (K + 1) * K + y[n - 1], -1.0)
    for t in range(1, n):
        if gold[t - 1] != y[t - 1] or gold[t] != y[t]:
            size = add_entry(indices, values, places, size, gold[t - 1] * K + gold[t], 1.0)
            size = add_entry(indices, values, places, size, y[t - 1] * K + y[t], -1.0)
    first = examples.token_starts[i]
    for t in range(n):
        if gold[t] != y[t]:
            for f in range(
                examples.feature_starts[first + t], examples.feature_starts[first + t + 1]
            ):
                offset = (K + 2 + np.int64(examples.rows[f])) * K
                size = add_entry(indices, values, places, size, offset + gold[t], 1.0)
                size = add_entry(indices, values, places, size, offset + y[t], -1.0)
    empty_table(indices, places, size)
    return drop_zeros(indices, values, size)


@kernel
def expected_size(examples: Examples, i: int) -> int:
    """How many entries E[phi(x_i, Y)] has at most."""
    first, last = examples.token_starts[i], examples.token_starts[i + 1]
    features = examples.feature_starts[last] - examples.feature_starts[first]
    K = examples.legality.shape[1]
    return (K + 2 + features) * K  # type: ignore[no-any-return]


@kernel
def expected_difference(
    examples: Examples,
    i: int,
    gold: Ints,
    labels: Floats,
    pairs: Floats,
    indices: Rows,
    values: Floats,
) -> int:
    """Write E[phi(x_i, Y)] - phi(x_i, gold), each index once; return its size.

    labels: float64 [n, K], P(y_t = k); pairs: float64 [K, K], the expected number of each
        transition. indices (into w) and values have room for ``expected_size``.
    """
    n, K = labels.shape
    for p in range(K):
        for k in range(K):
            values[p * K + k] = pairs[p, k]
    for k in range(K):
        values[K * K + k] = labels[0, k]
        values[(K + 1) * K + k] = labels[n - 1, k]
    values[K * K + gold[0]] -= 1.0
    values[(K + 1) * K + gold[n - 1]] -= 1.0
    for t in range(1, n):
        values[gold[t - 1] * K + gold[t]] -= 1.0
    size = (K + 2) * K
    for entry in range(size):
        indices[entry] = entry
    places = scratch_table(expected_size(examples, i) // K)  # of the blocks of K entries of rows
    first = examples.token_starts[i]
    for t in range(n):
        for f in range(examples.feature_starts[first + t], examples.feature_starts[first + t + 1]):
            offset = (K + 2 + np.int64(examples.rows[f])) * K
            place = find_place(indices, places, offset)
            if places[place] < 0:
                places[place] = size
                for k in range(K):
                    indices[size + k] = offset + k
                    values[size + k] = 0.0
                size += K
            block = values[places[place] : places[place] + K]
            block += labels[t]
            block[gold[t]] -= 1.0
    return drop_zeros(indices, values, size)
