"""Scores, costs and feature differences of matchings."""

import numpy as np

from spacy_ssvm.align.matchings.layout import (
    ALTERNATIVE,
    SURE,
    WRONG,
    LinkFeatures,
    MatchingExamples,
)
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import AnyWeights, Flags, Floats, Ints, Rows, Weights
from spacy_ssvm.weights.sparse import add_entry, drop_zeros, scratch_table


@kernel
def link_scores(features: LinkFeatures, first: int, w: Floats, offset: int, scores: Floats) -> None:
    """Write the scores of links (float64 [m, n]); ``first`` is the number of the first link."""
    link = first
    for j in range(scores.shape[0]):
        for k in range(scores.shape[1]):
            total = 0.0
            for f in range(features.starts[link], features.starts[link + 1]):
                total += w[offset + features.rows[f]] * features.values[f]
            scores[j, k] = total
            link += 1


@kernel
def link_steps(words: int, penalties: Floats) -> Floats:
    """The scores of the first, second, ... link of words: float64 [words, f].

    penalties: float64 [f - 1], see ``layout.py``; those below 0 count as 0.
    """
    steps = np.zeros((words, len(penalties) + 1))
    for c in range(len(penalties)):
        steps[:, c + 1] = steps[:, c] - max(penalties[c], 0.0)
    return steps


@kernel
def expected_cost(gold: Rows, costs: Floats, links: Flags | Floats) -> float:
    """Delta_i of a matching (bool [m, n]), or at a point of the convex hull (float64 [m, n])."""
    n = links.shape[1]
    total = 0.0
    for j in range(links.shape[0]):
        for k in range(n):
            if gold[j * n + k] == WRONG:
                total += costs[1] * links[j, k]
            elif gold[j * n + k] == SURE:
                total += costs[0] * (1.0 - links[j, k])
    return total


@kernel
def add_costs(gold: Rows, costs: Floats, gamma: float, scores: Floats) -> None:
    """Add gamma times the cost of each link: the loss-augmented scores, up to a constant."""
    n = scores.shape[1]
    for j in range(scores.shape[0]):
        for k in range(n):
            if gold[j * n + k] == WRONG:
                scores[j, k] += gamma * costs[1]
            elif gold[j * n + k] == SURE:
                scores[j, k] -= gamma * costs[0]


@kernel
def restrict_to_gold(
    gold: Rows, scores: Floats, source_steps: Floats, target_steps: Floats
) -> None:
    """Forbid wrong links, and prefer sure ones to any possible ones, whatever others cost.

    All sure links fit into one matching, with any alternatives; as many of these are taken as fit.
    """
    m, n = scores.shape
    largest = 1.0 + 2 * (np.abs(source_steps).sum() + np.abs(target_steps).sum())
    for j in range(m):
        for k in range(n):
            if gold[j * n + k] != WRONG:
                largest += 2 * abs(scores[j, k])
    for j in range(m):
        for k in range(n):
            kind = gold[j * n + k]
            if kind == WRONG:
                scores[j, k] = -np.inf
            elif kind in (SURE, ALTERNATIVE):
                scores[j, k] += largest


@kernel
def count_steps(links: Flags, fertilities: Ints, counts: Floats) -> None:
    """Write the features of further links: float64 [f + g - 2], see ``layout.py``."""
    counts[:] = 0.0
    m, n = links.shape
    for j in range(m):
        degree = 0
        for k in range(n):
            degree += links[j, k]
        for c in range(fertilities[0] - 1):
            counts[c] -= max(degree - 1 - c, 0)
    for k in range(n):
        degree = 0
        for j in range(m):
            degree += links[j, k]
        for c in range(fertilities[1] - 1):
            counts[fertilities[0] - 1 + c] -= max(degree - 1 - c, 0)


@kernel
def matching_difference(
    examples: MatchingExamples, i: int, gold: Flags, links: Flags, indices: Rows, values: Weights
) -> int:
    """Write phi(gold) - phi(links), each index once; return the number of entries."""
    first, n = examples.link_starts[i], links.shape[1]
    features = examples.features
    entries = 1
    for j in range(links.shape[0]):
        for k in range(n):
            if gold[j, k] != links[j, k]:
                link = first + j * n + k
                entries += features.starts[link + 1] - features.starts[link]
    steps = examples.fertilities.sum() - 2
    scratch = scratch_table(entries + steps)
    size = _add_steps(examples, gold, links, indices, values, scratch)
    for j in range(links.shape[0]):
        for k in range(n):
            if gold[j, k] == links[j, k]:
                continue
            sign = 1.0 if gold[j, k] else -1.0
            link = first + j * n + k
            for f in range(features.starts[link], features.starts[link + 1]):
                index = steps + features.rows[f]
                size = add_entry(indices, values, scratch, size, index, sign * features.values[f])
    return drop_zeros(indices, values, size)


@kernel
def _add_steps(
    examples: MatchingExamples,
    gold: Flags,
    links: Flags,
    indices: Rows,
    values: AnyWeights,
    scratch: Rows,
) -> int:
    steps = examples.fertilities.sum() - 2
    counts, others = np.empty(steps), np.empty(steps)
    count_steps(gold, examples.fertilities, counts)
    count_steps(links, examples.fertilities, others)
    size = 0
    for c in range(steps):
        if counts[c] != others[c]:
            size = add_entry(indices, values, scratch, size, c, counts[c] - others[c])
    return size
