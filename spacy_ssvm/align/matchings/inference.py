"""Features and scores of the links of pairs, under the weights of a model."""

from typing import NamedTuple

import numpy as np

from spacy_ssvm.align.matchings.decoder import best_matching
from spacy_ssvm.align.matchings.keys import fill_columns, fill_template_keys, hash_sides
from spacy_ssvm.align.matchings.pairs import Pairs
from spacy_ssvm.align.matchings.scores import link_steps
from spacy_ssvm.align.matchings.templates import LinkTemplates
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Flags, Floats, Keys, Weights
from spacy_ssvm.weights.key_table import KeyTable, find_row


class LinkScorer(NamedTuple):
    """A model, as kernels that score links read it."""

    templates: LinkTemplates
    table: KeyTable
    weights: Weights  #: float32 [rows]
    source_penalties: Floats  #: float64 [f - 1]
    target_penalties: Floats  #: float64 [g - 1]


@kernel
def extract_link_keys(
    templates: LinkTemplates,
    source: Keys,
    target: Keys,
    evidence: Weights,
    keys: Keys,
    values: Weights,
) -> None:
    """Write the keys (uint64 [m n, T]) and values (float32 [m n, T]) of all links of a pair.

    source, target: uint64 [m, attributes], [n, attributes]; evidence: float32 [m, n, numbers].
    """
    m, n, T = len(source), len(target), len(templates.numbers)
    sources, targets = hash_sides(templates, source, target)
    columns = fill_columns(templates, source, target, evidence)
    by_template = np.empty((T, m, n), dtype=np.uint64)
    values_by_template = np.empty((T, m, n), dtype=np.float32)
    for t in range(T):
        fill_template_keys(
            templates,
            t,
            sources,
            targets,
            columns,
            evidence,
            by_template[t],
            values_by_template[t],
        )
    for j in range(m):
        for k in range(n):
            for t in range(T):
                keys[j * n + k, t] = by_template[t, j, k]
                values[j * n + k, t] = values_by_template[t, j, k]


@kernel
def score_pair(
    scorer: LinkScorer, source: Keys, target: Keys, evidence: Weights, scores: Floats
) -> None:
    """Write the scores of the links of a pair: float64 [m, n].

    Template after template, so that the keys of a row of links are looked up together.
    """
    m, n = scores.shape
    templates = scorer.templates
    sources, targets = hash_sides(templates, source, target)
    columns = fill_columns(templates, source, target, evidence)
    keys, values = np.empty((m, n), dtype=np.uint64), np.empty((m, n), dtype=np.float32)
    scores[:] = 0.0
    for t in range(len(templates.numbers)):
        fill_template_keys(templates, t, sources, targets, columns, evidence, keys, values)
        _add_scores(scorer.table, t, scorer.weights, keys, values, scores)


@kernel
def _add_scores(
    table: KeyTable, t: int, weights: Weights, keys: Keys, values: Weights, scores: Floats
) -> None:
    """Add the weights times the values of the features of template t, all [m, n], to scores."""
    m, n = scores.shape
    found = np.zeros(n, dtype=np.float32)
    for j in range(m):
        for k in range(n):
            if j == 0 or keys[j, k] != keys[j - 1, k]:  # else the weight is that of the row above
                row = find_row(table, keys[j, k], t)
                found[k] = weights[row] if row >= 0 else 0.0
            scores[j, k] += found[k] * values[j, k]


@kernel
def align_pairs(scorer: LinkScorer, pairs: Pairs, kept: Flags, links: Flags) -> None:
    """Write the best matchings of pairs.

    kept: bool [links], links that are part of the result in any case.
    links: bool [links of all pairs].
    """
    for i in range(len(pairs.link_starts) - 1):
        a, b, end = pairs.starts[2 * i], pairs.starts[2 * i + 1], pairs.starts[2 * i + 2]
        first, last = pairs.link_starts[i], pairs.link_starts[i + 1]
        m, n = b - a, end - b
        if m == 0 or n == 0:
            continue
        scores = np.empty((m, n))
        evidence = pairs.evidence[first:last].reshape(m, n, pairs.evidence.shape[1])
        score_pair(scorer, pairs.attributes[a:b], pairs.attributes[b:end], evidence, scores)
        found = links[first:last].reshape(m, n)
        fixed = kept[first:last].reshape(m, n)
        source_steps = link_steps(m, scorer.source_penalties)
        target_steps = link_steps(n, scorer.target_penalties)
        keep_links(fixed, scores, source_steps, target_steps)
        best_matching(scores, source_steps, target_steps, found)
        for j in range(m):
            for k in range(n):
                found[j, k] |= fixed[j, k]


@kernel
def keep_links(kept: Flags, scores: Floats, source_steps: Floats, target_steps: Floats) -> None:
    """Leave to each word the links that it may have beside those that are kept.

    kept: bool [m, n]. The others are decided as if a word began with its kept links.
    """
    m, n = kept.shape
    for j in range(m):
        for k in range(n):
            if kept[j, k]:
                scores[j, k] = -np.inf
                _take_step(source_steps[j])
                _take_step(target_steps[k])


@kernel
def _take_step(steps: Floats) -> None:
    for c in range(len(steps) - 1):
        steps[c] = steps[c + 1]
    steps[len(steps) - 1] = -np.inf
