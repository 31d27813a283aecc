"""Scores, costs and differences of label sequences."""

import numpy as np

from spacy_ssvm.chains.layout import Examples
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Flags, Floats, Ints, Rows, Weights
from spacy_ssvm.labelings.word_features import (
    LazyFeatures,
    RowFeatures,
    add_difference,
    add_expectations,
    count_features,
    word_scores,
)
from spacy_ssvm.weights.sparse import add_entry, drop_zeros, scratch_table


@kernel
def transition_scores(w: Floats, legality: Floats) -> Floats:
    """The transition table [K + 2, K] under w, to be read: where all are legal, it is w itself."""
    K = legality.shape[1]
    transitions = w[: (K + 2) * K].reshape(K + 2, K)
    return transitions + legality if len(legality) > 0 else transitions


@kernel
def emission_scores(
    features: RowFeatures | LazyFeatures, first: int, w: Floats, emissions: Floats
) -> None:
    """Write the emission table [n, K] of the tokens from ``first`` on, under w."""
    n, K = emissions.shape
    weights = w[(K + 2) * K :]
    for t in range(n):
        word_scores(features, first, first + n, first + t, weights, emissions[t])


@kernel
def add_costs(examples: Examples, i: int, gamma: float, emissions: Floats) -> None:
    """Augment emissions with gamma times the cost of each label: the loss-augmented table."""
    first = examples.token_starts[i]
    for t in range(emissions.shape[0]):
        emissions[t] += gamma * examples.costs[examples.gold[first + t]]


@kernel
def gold_of(examples: Examples, i: int) -> Ints:
    """The completed gold labels of example i, in place."""
    return examples.completions[examples.token_starts[i] : examples.token_starts[i + 1]]


@kernel
def is_annotated(examples: Examples, i: int) -> bool:
    """Whether any token of example i is annotated."""
    K = examples.legality.shape[1]
    for t in range(examples.token_starts[i], examples.token_starts[i + 1]):
        if examples.gold[t] != K:
            return True
    return False


@kernel
def is_partial(examples: Examples, i: int) -> bool:
    """Whether the gold of some token of example i is a set of several labels."""
    K = examples.legality.shape[1]
    for t in range(examples.token_starts[i], examples.token_starts[i + 1]):
        if examples.gold[t] >= K:
            return True
    return False


@kernel
def restrict_to_gold(examples: Examples, i: int, emissions: Floats) -> None:
    """Forbid the labels outside the gold label sets."""
    first = examples.token_starts[i]
    for t in range(emissions.shape[0]):
        label_set = examples.label_sets[examples.gold[first + t]]
        for k in range(emissions.shape[1]):
            if not label_set[k]:
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
def expected_cost(examples: Examples, i: int, labels: Floats) -> float:
    """E[Delta_i(Y)]; labels: float64 [n, K], P(y_t = k)."""
    first = examples.token_starts[i]
    total = 0.0
    for t in range(labels.shape[0]):
        costs = examples.costs[examples.gold[first + t]]
        for k in range(labels.shape[1]):
            total += costs[k] * labels[t, k]
    return total


@kernel
def transition_difference(gold: Ints, y: Ints, K: int, indices: Rows, values: Weights) -> int:
    """Write the transition entries of Phi_i(y), each index once; return their number."""
    n = len(y)
    scratch = scratch_table(2 * (n + 1))
    size = 0
    size = add_entry(indices, values, scratch, size, K * K + gold[0], 1.0)
    size = add_entry(indices, values, scratch, size, K * K + y[0], -1.0)
    size = add_entry(indices, values, scratch, size, (K + 1) * K + gold[n - 1], 1.0)
    size = add_entry(indices, values, scratch, size, (K + 1) * K + y[n - 1], -1.0)
    for t in range(1, n):
        if gold[t - 1] != y[t - 1] or gold[t] != y[t]:
            size = add_entry(indices, values, scratch, size, gold[t - 1] * K + gold[t], 1.0)
            size = add_entry(indices, values, scratch, size, y[t - 1] * K + y[t], -1.0)
    return drop_zeros(indices, values, size)


@kernel
def expected_transition_difference(
    gold: Ints, labels: Floats, pairs: Floats, indices: Rows, values: Floats
) -> int:
    """Write the transition entries of E[phi(x_i, Y)] - phi(x_i, gold); return their number.

    labels: float64 [n, K], P(y_t = k); pairs: float64 [K, K], the expected number of each
        transition.
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
    return drop_zeros(indices, values, size)


@kernel
def feature_difference(
    features: RowFeatures | LazyFeatures,
    first: int,
    K: int,
    gold: Ints,
    y: Ints,
    indices: Rows,
    values: Weights,
) -> int:
    """Write the feature entries of Phi_i(y), each index once; return their number.

    A weight that is missing is allocated. Where the table does not grow it is left out: it is 0.
    """
    is_wrong, last, offset = gold != y, first + len(y), (K + 2) * K
    scratch = scratch_table(2 * count_features(features, first, is_wrong) + 1)
    labels, found = np.empty(2, dtype=np.int64), np.empty(2, dtype=np.int64)
    signs, size = np.array([1.0, -1.0]), 0
    for t in range(len(y)):
        if is_wrong[t]:
            labels[0], labels[1] = gold[t], y[t]
            of_word = first + t, labels, signs, found, offset
            size = add_difference(features, first, last, *of_word, indices, values, scratch, size)
    return drop_zeros(indices, values, size)


@kernel
def expected_feature_difference(
    features: RowFeatures | LazyFeatures,
    first: int,
    gold: Ints,
    labels: Floats,
    indices: Rows,
    values: Floats,
) -> int:
    """Write the feature entries of E[phi(x_i, Y)] - phi(x_i, gold); return their number.

    labels: float64 [n, K], P(y_t = k).
    """
    n, K = labels.shape
    is_used: Flags = np.ones(n, dtype=np.bool_)
    scratch = scratch_table(count_features(features, first, is_used) + 1)
    expected, size = np.empty(K), 0
    for t in range(n):
        expected[:] = labels[t]
        expected[gold[t]] -= 1.0
        of_word = first + t, expected, (K + 2) * K
        size = add_expectations(
            features, first, first + n, *of_word, indices, values, scratch, size
        )
    return drop_zeros(indices, values, size)
