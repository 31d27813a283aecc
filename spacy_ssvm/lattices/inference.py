"""Kernels that label sentences: candidates, features and weights to the best labels."""

from typing import NamedTuple

import numpy as np

from spacy_ssvm.decoders.lattice import (
    Candidates,
    Levels,
    StepBounds,
    best_path,
    node_scores,
)
from spacy_ssvm.features.attributes import ByWord
from spacy_ssvm.kernels.compile import inner_kernel, kernel
from spacy_ssvm.kernels.types import Floats, Ints, Keys, Weights
from spacy_ssvm.labelings.cached_sums import (
    Features,
    Sums,
    SumSlots,
    add_cached,
    add_reals,
    find_word_rows,
)
from spacy_ssvm.lattices.cached_scores import WordScores
from spacy_ssvm.lattices.layout import LabelParts
from spacy_ssvm.lattices.scores import parts_of_labels, sum_parts
from spacy_ssvm.weights.compact import add_rows, add_to_some

#: Full rows of weights are added for all parts where there are few, or candidates for one in so
#: many.
_FEW, _MANY = 2**7, 8


class Scorer(NamedTuple):
    """Everything that kernels need to score candidates, given the attributes of words."""

    features: Features  #: those that are not cached
    cached: Sums
    sum_slots: SumSlots
    own: WordScores
    reals: Weights  #: float32 [words, F]: the values of real-valued features
    real_weights: Floats  #: float64 [F, P]: their weights
    parts: LabelParts
    levels: Levels
    steps: Floats  #: float64: the weights of steps
    bounds: StepBounds  #: of ``bound_steps``


@inner_kernel
def _add_some_reals(values: Weights, weights: Floats, t: int, wanted: Ints, scores: Floats) -> None:
    """The same as ``add_reals``, for some columns."""
    for d in range(len(weights)):
        value, of_feature = np.float64(values[t, d]), weights[d]
        for column in wanted:
            scores[column] += value * of_feature[column]


@kernel
def score_sentence(
    scorer: Scorer, attributes: Keys, candidates: Candidates, start: int, end: int
) -> tuple[Candidates, Floats]:
    """The candidates of the sentence [start, end), and their scores (float64 [candidates]).

    candidates: of all words. The score of a word's only candidate is 0.
    """
    starts = candidates.starts[start : end + 1]
    labels = candidates.labels[starts[0] : starts[end - start]]
    own = Candidates(starts - starts[0], labels)
    emissions = np.zeros(len(labels))
    scores = np.empty(scorer.parts.number)
    keys = np.empty(len(scorer.features.templates.seeds), dtype=np.uint64)
    rows = np.empty(len(keys), dtype=np.int64)
    wanted, owners = np.empty(len(scores), dtype=np.int64), np.full(len(scores), -1)
    for t in range(start, end):
        first, last = own.starts[t - start], own.starts[t - start + 1]
        if last - first == 1:
            continue
        scores[:] = 0.0
        size = find_word_rows(scorer.features, attributes, start, end, t, keys, rows)
        if len(scores) <= _FEW or _MANY * (last - first) > len(scores):
            add_rows(scorer.features.weights, rows, size, scores)
            add_reals(scorer.reals, scorer.real_weights, t, scores)
        else:
            number = parts_of_labels(scorer.parts, labels[first:last], t, owners, wanted)
            add_to_some(scorer.features.weights, rows, size, wanted[:number], scores)
            _add_some_reals(scorer.reals, scorer.real_weights, t, wanted[:number], scores)
        add_cached(scorer.cached, scorer.sum_slots, t, scores)
        for c in range(first, last):
            emissions[c] = sum_parts(scorer.parts, labels[c], scores)
        if len(scorer.own.starts) > 0:
            of_word = scorer.own.starts[t] - first
            for c in range(first, last):
                emissions[c] += scorer.own.scores[of_word + c]
    return own, emissions


@kernel
def predict_sentences(
    scorer: Scorer,
    attributes: Keys,
    sentence_starts: Ints,
    candidates: Candidates,
    y: ByWord,
) -> None:
    """Fill y with the best labels of all sentences."""
    for s in range(len(sentence_starts) - 1):
        start, end = sentence_starts[s], sentence_starts[s + 1]
        own, emissions = score_sentence(scorer, attributes, candidates, start, end)
        chosen = y[start:end]
        best_path(own, emissions, scorer.levels, scorer.steps, scorer.bounds, chosen)
        for t in range(end - start):
            chosen[t] = own.labels[own.starts[t] + chosen[t]]


@kernel
def sum_structures(
    semiring: int,
    beta: float,
    scorer: Scorer,
    attributes: Keys,
    sentence_starts: Ints,
    candidates: Candidates,
) -> Floats:
    """The sum of the scores, times beta, of the structures with each candidate.

    Returns float64 [candidates], see ``node_scores``.
    """
    found = np.empty(len(candidates.labels))
    steps = beta * scorer.steps
    for s in range(len(sentence_starts) - 1):
        start, end = sentence_starts[s], sentence_starts[s + 1]
        own, emissions = score_sentence(scorer, attributes, candidates, start, end)
        first, last = candidates.starts[start], candidates.starts[end]
        emissions *= beta
        found[first:last] = node_scores(semiring, own, emissions, scorer.levels, steps)
    return found
