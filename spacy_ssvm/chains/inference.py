"""Kernels that label sentences: attributes and weights to the best labels, and their margins."""

from typing import NamedTuple

import numpy as np

from spacy_ssvm.decoders.chain import (
    Pruning,
    fill_margins,
    max_marginals,
    max_marginals_by,
    viterbi_of_some,
)
from spacy_ssvm.features.attributes import ByToken, ByWord
from spacy_ssvm.kernels.compile import inner_kernel, kernel
from spacy_ssvm.kernels.types import Flags, Floats, Ints, Keys, Weights
from spacy_ssvm.labelings.cached_sums import (
    Features,
    Sums,
    SumSlots,
    add_cached,
    add_features,
    add_reals,
)


class Scorer(NamedTuple):
    """Everything that kernels need to score labels, given the attributes of words."""

    uncached: Features  #: of the templates whose sums are not cached
    cached: Sums
    sum_slots: SumSlots
    reals: Weights  #: float32 [words, F]: the values of real-valued features
    real_weights: Floats  #: float64 [F, K]: their weights
    transitions: Floats  #: float64 [K + 2, K], laid out as in decoders.chain, with legality


class LabelConstraints(NamedTuple):
    """The labels that tokens may have: sequences with others are not considered."""

    fixed_labels: ByToken  #: int64 [tokens]: the label set of each token, -1 for all labels
    label_sets: Flags  #: bool [sets, K]: the labels of each set; the first K hold one label each


class WordConstraints(NamedTuple):
    """The same for words."""

    fixed_labels: ByWord  #: int64 [words]
    label_sets: Flags


def fix_labels(labels: ByToken, number_of_labels: int) -> LabelConstraints:
    """Constraints to the given labels: int64 [tokens], -1 for any label."""
    return LabelConstraints(labels, np.eye(number_of_labels, dtype=bool))


@inner_kernel
def apply_constraints(
    constraints: WordConstraints, start: int, end: int, emissions: Floats
) -> None:
    """Forbid the labels that words in [start, end) must not have."""
    for t in range(start, end):
        label_set = constraints.fixed_labels[t]
        if label_set >= 0:
            for k in range(emissions.shape[1]):
                if not constraints.label_sets[label_set, k]:
                    emissions[t - start, k] = -np.inf


@kernel
def score_sentence(
    scorer: Scorer, attributes: Keys, constraints: WordConstraints, start: int, end: int
) -> Floats:
    """The emission table of the sentence [start, end), with the constraints: float64 [n, K]."""
    emissions = np.zeros((end - start, scorer.transitions.shape[1]))
    keys = np.empty(len(scorer.uncached.templates.seeds), dtype=np.uint64)
    rows = np.empty(len(keys), dtype=np.int64)
    for t in range(start, end):
        scores = emissions[t - start]
        add_cached(scorer.cached, scorer.sum_slots, t, scores)
        add_features(scorer.uncached, attributes, start, end, t, keys, rows, scores)
        add_reals(scorer.reals, scorer.real_weights, t, scores)
    apply_constraints(constraints, start, end, emissions)
    return emissions


@kernel
def predict_sentences(
    scorer: Scorer,
    pruning: Pruning,
    attributes: Keys,
    sentence_starts: Ints,
    constraints: WordConstraints,
    y: ByWord,
    margins: Floats,
) -> None:
    """Fill y with the best labels of all sentences that satisfy the constraints on words.

    pruning: of ``prune``, for the transitions of the scorer.
    margins: float64 [words], of which those in sentences are filled where any label is not 0;
        or [0].
    """
    for s in range(len(sentence_starts) - 1):
        start, end = sentence_starts[s], sentence_starts[s + 1]
        emissions = score_sentence(scorer, attributes, constraints, start, end)
        viterbi_of_some(emissions, scorer.transitions, pruning, y[start:end])
        if len(margins) > 0 and np.any(y[start:end] != 0):
            best = max_marginals_by(emissions, scorer.transitions, pruning.exceptions)
            fill_margins(best, y[start:end], margins[start:end])


@kernel
def measure_margins(
    scorer: Scorer,
    attributes: Keys,
    sentence_starts: Ints,
    constraints: WordConstraints,
    sentences: Ints,
    y: ByWord,
    margins: Floats,
) -> None:
    """Fill the margins of y in some sentences."""
    for s in sentences:
        start, end = sentence_starts[s], sentence_starts[s + 1]
        emissions = score_sentence(scorer, attributes, constraints, start, end)
        best = max_marginals(emissions, scorer.transitions)
        fill_margins(best, y[start:end], margins[start:end])
