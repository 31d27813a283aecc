"""Probabilities of labels and of spans, under p(y) ~ exp(beta score(y)).

beta is the inverse temperature of the loss that the model was trained with [MGS10 Eq. 3]; it is
finite for conditional random fields and their relatives. Sums over all sequences are exact.
"""

import numpy as np

from spacy_ssvm.chains.inference import LabelConstraints, Scorer, WordConstraints, score_sentence
from spacy_ssvm.chains.model import ChainModel
from spacy_ssvm.chains.schemes import Scheme, SpanTable
from spacy_ssvm.decoders.chain_marginals import log_partition, marginals
from spacy_ssvm.features.attributes import ByWord, TokenTable
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Floats, Ints, Keys


def label_probabilities(
    model: ChainModel,
    tokens: TokenTable,
    beta: float,
    label_constraints: LabelConstraints | None = None,
) -> Floats:
    """P(y_t = k) of each word: float64 [words, K].

    label_constraints: as in ``ChainModel.predict``; other sequences have probability 0.
    """
    found = np.zeros((len(tokens.positions), len(model.labels)))
    fill_label_probabilities(
        model.scorer(tokens),
        tokens.attributes,
        tokens.sentence_starts,
        model.constrain_words(tokens, label_constraints),
        beta,
        found,
    )
    return found


def span_probabilities(
    model: ChainModel,
    tokens: TokenTable,
    beta: float,
    scheme: Scheme,
    spans: SpanTable,
    y: ByWord,
    label_constraints: LabelConstraints | None = None,
) -> Floats:
    """The probability of each span, of exactly its words and its type: float64 [spans].

    It is the sum over the sequences that have the span's labels at its words, and next to them no
    label that would extend it.
    spans: in words and text order, none across sentences.
    y: int64 [words], the labels that encode the spans.
    label_constraints: as in ``ChainModel.predict``.
    """
    found = np.zeros(len(spans.starts))
    fill_span_probabilities(
        model.scorer(tokens),
        tokens.attributes,
        tokens.sentence_starts,
        model.constrain_words(tokens, label_constraints),
        spans,
        scheme.neighbours(spans.types),
        y,
        beta,
        found,
    )
    return found


@kernel
def fill_label_probabilities(
    scorer: Scorer,
    attributes: Keys,
    sentence_starts: Ints,
    constraints: WordConstraints,
    beta: float,
    probabilities: Floats,
) -> None:
    """Write the marginals of all sentences; 0 where every sequence is forbidden."""
    transitions = beta * scorer.transitions
    K = transitions.shape[1]
    pairs = np.empty((K, K))
    for s in range(len(sentence_starts) - 1):
        start, end = sentence_starts[s], sentence_starts[s + 1]
        emissions = beta * score_sentence(scorer, attributes, constraints, start, end)
        sentence_marginals = probabilities[start:end]
        if marginals(emissions, transitions, sentence_marginals, pairs) == -np.inf:
            sentence_marginals[:] = 0.0


@kernel
def fill_span_probabilities(
    scorer: Scorer,
    attributes: Keys,
    sentence_starts: Ints,
    constraints: WordConstraints,
    spans: SpanTable,
    neighbours: tuple[Ints, Ints],
    y: ByWord,
    beta: float,
    probabilities: Floats,
) -> None:
    """Write the probabilities of spans: ratios of constrained and unconstrained partitions.

    neighbours: int64 [spans] each, the labels that words before and after a span must not have,
    -1 for none.
    """
    transitions = beta * scorer.transitions
    before, after = neighbours
    span = 0
    for s in range(len(sentence_starts) - 1):
        start, end = sentence_starts[s], sentence_starts[s + 1]
        if span == len(spans.starts) or spans.starts[span] >= end:
            continue
        emissions = beta * score_sentence(scorer, attributes, constraints, start, end)
        total = log_partition(emissions, transitions)
        while span < len(spans.starts) and spans.starts[span] < end:
            first, last = spans.starts[span], spans.ends[span]
            within = emissions.copy()
            for t in range(first, last):
                score = within[t - start, y[t]]
                within[t - start] = -np.inf
                within[t - start, y[t]] = score
            if first > start and before[span] >= 0:
                within[first - 1 - start, before[span]] = -np.inf
            if last < end and after[span] >= 0:
                within[last - start, after[span]] = -np.inf
            # Rounding can raise a certain span slightly above 1.
            probabilities[span] = min(np.exp(log_partition(within, transitions) - total), 1.0)
            span += 1
