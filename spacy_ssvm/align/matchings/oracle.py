"""The oracles of matchings: what solvers ask about example i (see ``structure.py``).

y has 1 for the links of a matching (int64 [links]).
"""

import numpy as np

from spacy_ssvm.align.matchings.decoder import best_matching
from spacy_ssvm.align.matchings.layout import SURE, MatchingExamples, MatchingExamplesType
from spacy_ssvm.align.matchings.scores import (
    add_costs,
    expected_cost,
    link_scores,
    link_steps,
    matching_difference,
    restrict_to_gold,
)
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Flags, Floats, Ints, Rows, Weights
from spacy_ssvm.structure import Structure


@kernel
def is_annotated(gold: Rows) -> bool:
    """Whether anything is known about the links of an example."""
    return bool(np.any(gold <= SURE))


@kernel
def score_example(examples: MatchingExamples, i: int, w: Floats) -> tuple[Floats, Floats, Floats]:
    """The scores of links (float64 [m, n]) and of steps on both sides, under w."""
    first, last = examples.link_starts[i], examples.link_starts[i + 1]
    m = examples.source_words[i]
    n = (last - first) // m
    f, g = examples.fertilities[0], examples.fertilities[1]
    scores = np.empty((m, n))
    link_scores(examples.features, first, w, f + g - 2, scores)
    return scores, link_steps(m, w[: f - 1]), link_steps(n, w[f - 1 : f + g - 2])


@kernel
def gold_table(examples: MatchingExamples, i: int) -> Flags:
    """The completed gold matching of example i (bool [m, n]), in place."""
    first, last = examples.link_starts[i], examples.link_starts[i + 1]
    m = examples.source_words[i]
    return examples.completions[first:last].reshape(m, (last - first) // m)


@kernel
def complete_example(
    examples: MatchingExamples,
    i: int,
    complete: bool,
    scores: Floats,
    source_steps: Floats,
    target_steps: Floats,
) -> tuple[Flags, bool]:
    """The completed gold matching (bool [m, n]) under these scores, and whether it changed."""
    completion = gold_table(examples, i)
    gold = examples.gold[examples.link_starts[i] : examples.link_starts[i + 1]]
    if examples.is_complete[i] and not (complete and gold.max() > SURE):
        return completion, False
    restricted = scores.copy()
    restrict_to_gold(gold, restricted, source_steps, target_steps)
    links = np.empty(scores.shape, dtype=np.bool_)
    best_matching(restricted, source_steps, target_steps, links)
    changed = not examples.is_complete[i] or not np.array_equal(links, completion)
    completion[:] = links
    examples.is_complete[i] = True
    return completion, changed


@kernel
def decode(
    examples: MatchingExamples, i: int, w: Floats, gamma: float, complete: bool
) -> tuple[Ints, float, bool]:
    """See ``Structure.decode``: a matching of maximum weight."""
    gold = examples.gold[examples.link_starts[i] : examples.link_starts[i + 1]]
    if not is_annotated(gold):
        return np.empty(0, dtype=np.int64), 0.0, False
    scores, source_steps, target_steps = score_example(examples, i, w)
    _, changed = complete_example(examples, i, complete, scores, source_steps, target_steps)
    add_costs(gold, examples.costs, gamma, scores)
    links = np.empty(scores.shape, dtype=np.bool_)
    best_matching(scores, source_steps, target_steps, links)
    return links.ravel().astype(np.int64), expected_cost(gold, examples.costs, links), changed


@kernel
def difference(
    examples: MatchingExamples,
    i: int,
    y: Ints,
    indices: Rows,
    values: Weights,
) -> int:
    """See ``Structure.difference``."""
    gold = gold_table(examples, i)
    return matching_difference(examples, i, gold, (y != 0).reshape(gold.shape), indices, values)


MATCHINGS = Structure(MatchingExamplesType, decode, difference)
