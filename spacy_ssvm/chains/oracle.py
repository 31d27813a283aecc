"""The oracles of chains: what solvers ask about example i (see ``structure.py``).

y has the labels of tokens (int64 [n]). z has their probabilities and the expected number of each
transition, as ``label_probabilities`` and ``transition_counts`` see them.
"""

import numpy as np

from spacy_ssvm.chains.layout import Examples, ExamplesType, LazyExamplesType
from spacy_ssvm.chains.scores import (
    add_costs,
    cost,
    emission_scores,
    expected_cost,
    expected_feature_difference,
    expected_transition_difference,
    feature_difference,
    gold_of,
    is_annotated,
    is_partial,
    path_score,
    restrict_to_gold,
    transition_difference,
    transition_scores,
)
from spacy_ssvm.decoders.chain import viterbi
from spacy_ssvm.decoders.chain_marginals import marginals
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Floats, Ints, Rows, Weights
from spacy_ssvm.labelings.word_features import count_features, has_room
from spacy_ssvm.structure import NEEDS_CAPACITY, Structure


@kernel
def score_example(examples: Examples, i: int, w: Floats) -> tuple[Floats, Floats]:
    """The emissions [n, K] of an example under w, and ``transition_scores``."""
    first, last = examples.token_starts[i], examples.token_starts[i + 1]
    K = examples.legality.shape[1]
    transitions = transition_scores(w, examples.legality)
    emissions = np.empty((last - first, K))
    emission_scores(examples.features, first, w, emissions)
    return emissions, transitions


@kernel
def complete_example(
    examples: Examples, i: int, complete: bool, emissions: Floats, transitions: Floats
) -> bool:
    """Complete the gold of example i under its scores; return whether it changed."""
    gold = gold_of(examples, i)
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
def decode(
    examples: Examples, i: int, w: Floats, gamma: float, complete: bool
) -> tuple[Ints, float, bool]:
    """See ``Structure.decode``: Viterbi."""
    if not is_annotated(examples, i):
        return np.empty(0, dtype=np.int64), 0.0, False
    emissions, transitions = score_example(examples, i, w)
    recompleted = complete_example(examples, i, complete, emissions, transitions)
    add_costs(examples, i, gamma, emissions)
    y = np.empty(len(emissions), dtype=np.int64)
    viterbi(emissions, transitions, y)
    return y, cost(examples, i, y), recompleted


@kernel
def difference(examples: Examples, i: int, y: Ints, indices: Rows, values: Weights) -> int:
    """See ``Structure.difference``."""
    gold, K = gold_of(examples, i), examples.legality.shape[1]
    features, first = examples.features, examples.token_starts[i]
    if not has_room(features, count_features(features, first, y != gold)):
        return NEEDS_CAPACITY
    size = transition_difference(gold, y, K, indices, values)
    size += feature_difference(features, first, K, gold, y, indices[size:], values[size:])
    return size


@kernel
def label_probabilities(z: Floats, n: int, K: int) -> Floats:
    """P(y_t = k) in z: float64 [n, K]."""
    return z[: n * K].reshape(n, K)


@kernel
def transition_counts(z: Floats, K: int) -> Floats:
    """The expected number of each transition in z: float64 [K, K]."""
    return z[len(z) - K * K :].reshape(K, K)


@kernel
def expect(
    examples: Examples, i: int, w: Floats, beta: float, gamma: float, complete: bool
) -> tuple[Floats, float, bool, float]:
    """See ``Structure.expect``: forward-backward."""
    if not is_annotated(examples, i):
        return np.empty(0), 0.0, False, 0.0
    emissions, transitions = score_example(examples, i, w)
    recompleted = complete_example(examples, i, complete, emissions, transitions)
    gold_score = path_score(emissions, transitions, gold_of(examples, i))
    add_costs(examples, i, gamma, emissions)
    n, K = emissions.shape
    z = np.empty((n + K) * K)
    labels, pairs = label_probabilities(z, n, K), transition_counts(z, K)
    loss = marginals(beta * emissions, beta * transitions, labels, pairs) / beta - gold_score
    return z, loss, recompleted, expected_cost(examples, i, labels)


@kernel
def expected_difference(
    examples: Examples, i: int, z: Floats, indices: Rows, values: Floats
) -> int:
    """See ``Structure.expected_difference``."""
    gold, K = gold_of(examples, i), examples.legality.shape[1]
    n = len(gold)
    is_used = np.ones(n, dtype=np.bool_)
    features, first = examples.features, examples.token_starts[i]
    if not has_room(features, count_features(features, first, is_used)):
        return NEEDS_CAPACITY
    labels = label_probabilities(z, n, K)
    size = expected_transition_difference(gold, labels, transition_counts(z, K), indices, values)
    size += expected_feature_difference(
        features, first, gold, labels, indices[size:], values[size:]
    )
    return size


#: Chains whose features have rows of their own.
CHAINS = Structure(ExamplesType, decode, difference, expect, expected_difference)

#: The same, with weights for the labels that a feature has been updated with.
SPARSE_CHAINS = CHAINS._replace(is_lazy=True)

#: Chains with lazily allocated weights of features without rows.
LAZY_CHAINS = Structure(
    LazyExamplesType, decode, difference, expect, expected_difference, is_lazy=True
)
