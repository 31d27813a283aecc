"""The oracles of matchings: what solvers ask about example i (see ``structure.py``)."""

import numpy as np

from spacy_ssvm.decoders.matching import best_matching, k_best_matchings
from spacy_ssvm.decoders.matching_projection import project_matching
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Flags, Floats, Ints, Rows, Weights
from spacy_ssvm.matchings.layout import SURE, MatchingExamples, MatchingExamplesType
from spacy_ssvm.matchings.scores import (
    add_costs,
    difference,
    expected_cost,
    expected_difference,
    fill_parts,
    link_scores,
    link_steps,
    parts_of,
    restrict_to_gold,
)
from spacy_ssvm.structure import UNANNOTATED, Structure


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
def complete_example(
    examples: MatchingExamples,
    i: int,
    complete: bool,
    scores: Floats,
    source_steps: Floats,
    target_steps: Floats,
) -> tuple[Flags, bool]:
    """The completed gold matching (bool [m, n]) under these scores, and whether it changed."""
    first, last = examples.link_starts[i], examples.link_starts[i + 1]
    completion = examples.completions[first:last].reshape(scores.shape)
    gold = examples.gold[first:last]
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
def loss_augmented_decode(
    examples: MatchingExamples,
    i: int,
    w: Floats,
    gamma: float,
    complete: bool,
    indices: Rows,
    values: Weights,
) -> tuple[int, float, bool]:
    """See ``Structure.loss_augmented_decode``: a matching of maximum weight."""
    gold = examples.gold[examples.link_starts[i] : examples.link_starts[i + 1]]
    if not is_annotated(gold):
        return UNANNOTATED, 0.0, False
    scores, source_steps, target_steps = score_example(examples, i, w)
    completion, changed = complete_example(
        examples, i, complete, scores, source_steps, target_steps
    )
    add_costs(gold, examples.costs, gamma, scores)
    links = np.empty(scores.shape, dtype=np.bool_)
    best_matching(scores, source_steps, target_steps, links)
    size = difference(examples, i, completion, links, indices, values)
    return size, expected_cost(gold, examples.costs, links), changed


@kernel
def k_best_decode(
    examples: MatchingExamples,
    i: int,
    w: Floats,
    gamma: float,
    k: int,
    complete: bool,
    starts: Ints,
    costs: Floats,
    indices: Rows,
    values: Weights,
) -> int:
    """See ``Structure.k_best_decode``."""
    gold = examples.gold[examples.link_starts[i] : examples.link_starts[i + 1]]
    if not is_annotated(gold):
        return UNANNOTATED
    scores, source_steps, target_steps = score_example(examples, i, w)
    completion, _ = complete_example(examples, i, complete, scores, source_steps, target_steps)
    add_costs(gold, examples.costs, gamma, scores)
    best, _ = k_best_matchings(scores, source_steps, target_steps, k)
    starts[0] = 0
    for b in range(len(best)):
        start = starts[b]
        costs[b] = expected_cost(gold, examples.costs, best[b])
        starts[b + 1] = start + difference(
            examples, i, completion, best[b], indices[start:], values[start:]
        )
    return len(best)


@kernel
def project(
    examples: MatchingExamples,
    i: int,
    w: Floats,
    step: float,
    complete: bool,
    parts: Floats,
    direction: Floats,
    indices: Rows,
    values: Floats,
) -> tuple[int, float, bool]:
    """See ``Structure.project``; for the parts, see ``Parts``."""
    gold = examples.gold[examples.link_starts[i] : examples.link_starts[i + 1]]
    if not is_annotated(gold):
        return UNANNOTATED, 0.0, False
    scores, source_steps, target_steps = score_example(examples, i, w)
    completion, changed = complete_example(
        examples, i, complete, scores, source_steps, target_steps
    )
    point = parts_of(parts, scores.shape, examples.fertilities)
    if complete:
        fill_parts(completion, point)
    add_costs(gold, examples.costs, 1.0, scores)
    gradient = parts_of(direction, scores.shape, examples.fertilities)
    gradient.links[:] = scores
    gradient.source_extras[:] = source_steps[:, 1:]
    gradient.target_extras[:] = target_steps[:, 1:]
    if step > 0:
        parts += step * direction
        project_matching(point.links, point.source_extras, point.target_extras)
    size = expected_difference(examples, i, completion, point, indices, values)
    return size, expected_cost(gold, examples.costs, point.links), changed


MATCHINGS = Structure(MatchingExamplesType, loss_augmented_decode, None, k_best_decode, project)
