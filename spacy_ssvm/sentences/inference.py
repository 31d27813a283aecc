"""Kernels that label units: their features and weights to scores, and scores to labels."""

from typing import NamedTuple

import numpy as np

from spacy_ssvm.decoders.chain import fill_margins, max_marginals, viterbi
from spacy_ssvm.decoders.chain_marginals import marginals
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Floats, Ints
from spacy_ssvm.sentences.unit_keys import (
    CompiledUnitTemplates,
    fill_unit_keys,
    keep_distinct,
    max_unit_keys,
)
from spacy_ssvm.sentences.units import UnitTable
from spacy_ssvm.weights.compact import CompactWeights, add_rows
from spacy_ssvm.weights.key_table import KeyTable, find_row


class UnitScorer(NamedTuple):
    """Everything that kernels need to score the labels of units."""

    templates: CompiledUnitTemplates
    table: KeyTable
    weights: CompactWeights


@kernel
def score_units(scorer: UnitScorer, units: UnitTable, emissions: Floats) -> None:
    """Add to emissions (float64 [units, K]) the score of each label at each unit."""
    size = max_unit_keys(scorer.templates, units)
    keys = np.empty(size, dtype=np.uint64)
    owners = np.empty(size, dtype=np.int32)
    rows = np.empty(size, dtype=np.int64)
    for d in range(len(units.doc_units) - 1):
        doc = units.doc_units[d], units.doc_units[d + 1]
        for u in range(doc[0], doc[1]):
            found = fill_unit_keys(scorer.templates, units, doc, u, keys, owners)
            found = keep_distinct(keys, owners, found)
            known = 0
            for i in range(found):
                row = find_row(scorer.table, keys[i], owners[i])
                if row >= 0:
                    rows[known] = row
                    known += 1
            add_rows(scorer.weights, rows, known, emissions[u])


@kernel
def label_sequences(emissions: Floats, transitions: Floats, starts: Ints, y: Ints) -> None:
    """Fill y (int64 [units]) with the best label sequence of each Doc.

    starts: int64 [docs + 1], the first unit of each Doc. transitions: see ``decoders.chain``.
    """
    for d in range(len(starts) - 1):
        start, end = starts[d], starts[d + 1]
        if end > start:
            viterbi(emissions[start:end], transitions, y[start:end])


@kernel
def measure_margins(
    emissions: Floats, transitions: Floats, starts: Ints, y: Ints, margins: Floats
) -> None:
    """Write how much lower the best score is with another label than y at each unit."""
    for d in range(len(starts) - 1):
        start, end = starts[d], starts[d + 1]
        if end == start:
            continue
        best = max_marginals(emissions[start:end], transitions)
        fill_margins(best, y[start:end], margins[start:end])


@kernel
def measure_probabilities(
    emissions: Floats, transitions: Floats, starts: Ints, beta: float, probabilities: Floats
) -> None:
    """Write P(y_u = k) (float64 [units, K]) under p(y) ~ exp(beta score(y))."""
    scaled = beta * transitions
    K = transitions.shape[1]
    pairs = np.empty((K, K))
    for d in range(len(starts) - 1):
        start, end = starts[d], starts[d + 1]
        if end > start:
            marginals(beta * emissions[start:end], scaled, probabilities[start:end], pairs)
