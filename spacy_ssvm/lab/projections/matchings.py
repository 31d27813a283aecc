"""The convex hulls of matchings, and the oracle that projects onto them."""

from typing import NamedTuple

import numpy as np

from spacy_ssvm.align.matchings.layout import MatchingExamples
from spacy_ssvm.align.matchings.oracle import (
    complete_example,
    gold_table,
    is_annotated,
    score_example,
)
from spacy_ssvm.align.matchings.scores import add_costs, count_steps, expected_cost
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Flags, Floats, Ints, Rows
from spacy_ssvm.lab.projections.matching_points import project_matching
from spacy_ssvm.weights.sparse import add_entry, drop_zeros, scratch_table


class Parts(NamedTuple):
    """The parts of matchings, as views of one array; a point of their convex hull.

    An extra is a further link of a word, beside its first.
    """

    links: Floats  #: float64 [m, n]
    source_extras: Floats  #: float64 [m, f - 1]
    target_extras: Floats  #: float64 [n, g - 1]


@kernel
def parts_of(parts: Floats, shape: tuple[int, int], fertilities: Ints) -> Parts:
    """The parts of an example as ``Parts``: float64 [m n + m (f - 1) + n (g - 1)]."""
    m, n = shape
    extras = m * (fertilities[0] - 1)
    return Parts(
        parts[: m * n].reshape(m, n),
        parts[m * n : m * n + extras].reshape(m, fertilities[0] - 1),
        parts[m * n + extras :].reshape(n, fertilities[1] - 1),
    )


@kernel
def fill_parts(links: Flags, parts: Parts) -> None:
    """Write the indicator vector of a matching (bool [m, n])."""
    m, n = links.shape
    for j in range(m):
        degree = links[j].sum()
        for c in range(parts.source_extras.shape[1]):
            parts.source_extras[j, c] = 1.0 if degree > c + 1 else 0.0
    for k in range(n):
        degree = links[:, k].sum()
        for c in range(parts.target_extras.shape[1]):
            parts.target_extras[k, c] = 1.0 if degree > c + 1 else 0.0
    for j in range(m):
        for k in range(n):
            parts.links[j, k] = 1.0 if links[j, k] else 0.0


def part_starts(examples: MatchingExamples) -> Ints:
    """See ``ProjectedProblem``; for the parts, see ``Parts``."""
    links, m = np.diff(examples.link_starts), examples.source_words
    n = np.where(m > 0, links // np.maximum(m, 1), 0)
    f, g = examples.fertilities
    sizes = np.where(links > 0, links + m * (f - 1) + n * (g - 1), 0)
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


@kernel
def expected_difference(
    examples: MatchingExamples,
    i: int,
    z: Floats,
    indices: Rows,
    values: Floats,
) -> int:
    """See ``Structure.expected_difference``: z has the parts."""
    gold = gold_table(examples, i)
    parts = parts_of(z, gold.shape, examples.fertilities)
    first, last = examples.link_starts[i], examples.link_starts[i + 1]
    features, n = examples.features, gold.shape[1]
    f, g = examples.fertilities[0], examples.fertilities[1]
    scratch = scratch_table(features.starts[last] - features.starts[first] + f + g - 1)
    counts = np.empty(f + g - 2)
    count_steps(gold, examples.fertilities, counts)
    size = 0
    for c in range(f + g - 2):  # an extra pays for itself and those before it
        extras = parts.source_extras[:, c:] if c < f - 1 else parts.target_extras[:, c - f + 1 :]
        size = add_entry(indices, values, scratch, size, c, -extras.sum() - counts[c])
    for j in range(gold.shape[0]):
        for k in range(n):
            change = parts.links[j, k] - (1.0 if gold[j, k] else 0.0)
            if change != 0.0:
                link = first + j * n + k
                for e in range(features.starts[link], features.starts[link + 1]):
                    index = f + g - 2 + features.rows[e]
                    value = change * features.values[e]
                    size = add_entry(indices, values, scratch, size, index, value)
    return drop_zeros(indices, values, size)


@kernel
def project(
    examples: MatchingExamples,
    i: int,
    w: Floats,
    step: float,
    complete: bool,
    parts: Floats,
    direction: Floats,
) -> tuple[Floats, float, bool]:
    """See ``Structure.project``; for the parts, see ``Parts``."""
    gold = examples.gold[examples.link_starts[i] : examples.link_starts[i + 1]]
    if not is_annotated(gold):
        return np.empty(0), 0.0, False
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
    return parts, expected_cost(gold, examples.costs, point.links), changed
