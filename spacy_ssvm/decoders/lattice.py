"""First-order lattices: each of n positions has candidates, which are some of K labels.

A structure y has one candidate of each position. With their scores e and the labels l(c),

    score(y) = sum_t e[y_t] + start(l(y_0)) + sum_t step(l(y_t-1), l(y_t)) + end(l(y_n-1)).

A step is a sum over levels. At each level a label belongs to one of C classes, and steps lead from
class to class, by a table as those of ``decoders.chain``: rows 0..C-1 are the previous class, row
C holds the starts, row C + 1 the ends. Without levels, each position is decided by itself; with
one level whose classes are the labels, and all labels as candidates, a lattice is a chain.

Minus infinity forbids a candidate. Ties go to the earlier candidate. Where every structure is
forbidden, the score is minus infinity and the structure is arbitrary.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from spacy_ssvm.decoders.semirings import MAX, add
from spacy_ssvm.kernels.compile import inlined_kernel, inner_kernel, kernel
from spacy_ssvm.kernels.types import Floats, Ints, Ints1, Ints2, Rows, named_tuple


class Levels(NamedTuple):
    """The classes of labels, between which steps are scored."""

    classes: Ints  #: int64 [K, levels]: the class of each label
    sizes: Ints  #: int64 [levels]: the number of classes C
    starts: Ints  #: int64 [levels + 1]: where the table of each level begins in their weights


LevelsType = named_tuple(Levels, Ints2, Ints1, Ints1)


def make_levels(labels: int, classes: Sequence[Ints]) -> Levels:
    """The levels with these classes: int64 [labels] each, numbered from 0."""
    sizes = np.array([int(of_labels.max(initial=-1)) + 1 for of_labels in classes], dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum((sizes + 2) * sizes)]).astype(np.int64)
    table = np.empty((labels, len(classes)), dtype=np.int64)
    for level, of_labels in enumerate(classes):
        table[:, level] = of_labels
    return Levels(table, sizes, starts)


class Candidates(NamedTuple):
    """The candidates of the positions of a lattice, one position after another."""

    starts: Ints  #: int64 [n + 1]: the first candidate of each position, the first of all is 0
    labels: Rows  #: int32 [candidates]


@inlined_kernel
def start_score(levels: Levels, weights: Floats, label: int) -> float:
    """The score of a label at the first position."""
    total = 0.0
    for level in range(len(levels.sizes)):
        C = levels.sizes[level]
        total += weights[levels.starts[level] + C * C + levels.classes[label, level]]
    return total


@inlined_kernel
def end_score(levels: Levels, weights: Floats, label: int) -> float:
    """The score of a label at the last position."""
    total = 0.0
    for level in range(len(levels.sizes)):
        C = levels.sizes[level]
        total += weights[levels.starts[level] + (C + 1) * C + levels.classes[label, level]]
    return total


@inlined_kernel
def step_score(levels: Levels, weights: Floats, before: int, label: int) -> float:
    """The score of a label after another one."""
    total = 0.0
    for level in range(len(levels.sizes)):
        row = levels.starts[level] + levels.classes[before, level] * levels.sizes[level]
        total += weights[row + levels.classes[label, level]]
    return total


@kernel
def _fill_table(levels: Levels, weights: Floats, table: Floats) -> None:
    """Write the scores of starts, steps and ends of all labels: float64 [K + 2, K]."""
    K = table.shape[1]
    for label in range(K):
        for before in range(K):
            table[before, label] = step_score(levels, weights, before, label)
        table[K, label] = start_score(levels, weights, label)
        table[K + 1, label] = end_score(levels, weights, label)


def join_levels(levels: Levels, weights: Floats) -> tuple[Levels, Floats]:
    """One level whose classes are the labels, and its weights, with the same scores of steps.

    Each step is then read, not added up.
    """
    K = len(levels.classes)
    table = np.empty((K + 2, K))
    _fill_table(levels, weights, table)
    return make_levels(K, [np.arange(K)]), table.ravel()


@kernel
def prefix_scores(
    semiring: int, candidates: Candidates, emissions: Floats, levels: Levels, weights: Floats
) -> Floats:
    """The sum of the scores of all prefixes that end with a candidate: float64 [candidates]."""
    starts, labels = candidates.starts, candidates.labels
    found = np.empty(len(emissions))
    for c in range(starts[1]):
        found[c] = emissions[c] + start_score(levels, weights, labels[c])
    for t in range(1, len(starts) - 1):
        for c in range(starts[t], starts[t + 1]):
            total = -np.inf
            for b in range(starts[t - 1], starts[t]):
                score = found[b] + step_score(levels, weights, labels[b], labels[c])
                total = add(semiring, total, score)
            found[c] = total + emissions[c]
    return found


class StepBounds(NamedTuple):
    """Bounds on the scores of steps: float64 [K], or of no length for none."""

    most_before: Floats  #: the highest score of a step to each label, perhaps of no two labels
    most_after: Floats  #: of a step from each label
    least_after: Floats  #: the lowest score of a step from each label


@kernel
def no_bounds() -> StepBounds:
    """Bounds for steps whose weights change."""
    return StepBounds(np.empty(0), np.empty(0), np.empty(0))


@kernel
def bound_steps(levels: Levels, weights: Floats) -> StepBounds:
    """The bounds on the scores of steps under some weights."""
    K = len(levels.classes)
    bounds = StepBounds(np.zeros(K), np.zeros(K), np.zeros(K))
    for level in range(len(levels.sizes)):
        C = levels.sizes[level]
        before, after, least = np.full(C, -np.inf), np.full(C, -np.inf), np.full(C, np.inf)
        for a in range(C):
            row = levels.starts[level] + a * C
            for b in range(C):
                before[b] = max(before[b], weights[row + b])
                after[a] = max(after[a], weights[row + b])
                least[a] = min(least[a], weights[row + b])
        for label in range(K):
            of_label = levels.classes[label, level]
            bounds.most_before[label] += before[of_label]
            bounds.most_after[label] += after[of_label]
            bounds.least_after[label] += least[of_label]
    return bounds


@inner_kernel
def _keep_best(
    labels: Rows, found: Floats, first: int, last: int, bounds: StepBounds, kept: Ints
) -> int:
    """Write the candidates of [first, last) that can come before a best one, the best first.

    Returns their number. found: of ``prefix_scores``. kept: int64, with room for all.
    Another one is better before any label than those that are left out.
    """
    least = -np.inf
    for b in range(first, last):
        least = max(least, found[b] + bounds.least_after[labels[b]])
    number = 0
    for b in range(first, last):
        if found[b] + bounds.most_after[labels[b]] >= least:
            place = number
            while place > 0 and found[kept[place - 1]] < found[b]:
                kept[place] = kept[place - 1]
                place -= 1
            kept[place] = b
            number += 1
    return number


@kernel
def _prefix_maxima(
    candidates: Candidates, emissions: Floats, levels: Levels, weights: Floats, bounds: StepBounds
) -> Floats:
    """``prefix_scores`` for ``MAX``.

    Predecessors are tried from the best one on, until none can be better.
    """
    starts, labels = candidates.starts, candidates.labels
    found = np.empty(len(emissions))
    for c in range(starts[1]):
        found[c] = emissions[c] + start_score(levels, weights, labels[c])
    kept = np.empty(np.max(starts[1:] - starts[:-1]), dtype=np.int64)
    for t in range(1, len(starts) - 1):
        number = _keep_best(labels, found, starts[t - 1], starts[t], bounds, kept)
        for c in range(starts[t], starts[t + 1]):
            total, limit = -np.inf, bounds.most_before[labels[c]]
            for b in kept[:number]:
                if found[b] + limit <= total:
                    break
                total = max(total, found[b] + step_score(levels, weights, labels[b], labels[c]))
            found[c] = total + emissions[c]
    return found


@kernel
def suffix_scores(
    semiring: int, candidates: Candidates, emissions: Floats, levels: Levels, weights: Floats
) -> Floats:
    """The sum of the scores of all suffixes after a candidate: float64 [candidates]."""
    starts, labels = candidates.starts, candidates.labels
    n = len(starts) - 1
    found = np.empty(len(emissions))
    for c in range(starts[n - 1], starts[n]):
        found[c] = end_score(levels, weights, labels[c])
    for t in range(n - 2, -1, -1):
        for c in range(starts[t], starts[t + 1]):
            total = -np.inf
            for d in range(starts[t + 1], starts[t + 2]):
                step = step_score(levels, weights, labels[c], labels[d])
                total = add(semiring, total, found[d] + emissions[d] + step)
            found[c] = total
    return found


@kernel
def best_path(
    candidates: Candidates,
    emissions: Floats,
    levels: Levels,
    weights: Floats,
    bounds: StepBounds,
    y: Ints,
) -> float:
    """Fill y (int64 [n]: candidates, counted at each position) with the best; return its score.

    bounds: of ``bound_steps``, which saves time, or ``no_bounds``.
    """
    starts, labels = candidates.starts, candidates.labels
    n = len(starts) - 1
    if n == 0:
        return 0.0
    is_bounded = len(bounds.most_before) > 0
    if is_bounded:
        best = _prefix_maxima(candidates, emissions, levels, weights, bounds)
    else:
        best = prefix_scores(MAX, candidates, emissions, levels, weights)
    score, chosen = -np.inf, starts[n - 1]
    for c in range(starts[n - 1], starts[n]):
        total = best[c] + end_score(levels, weights, labels[c])
        if total > score:
            score, chosen = total, c
    y[n - 1] = chosen - starts[n - 1]
    for t in range(n - 1, 0, -1):  # without back pointers: the predecessor is found again
        top, before, label = -np.inf, starts[t - 1], labels[chosen]
        most = bounds.most_before[label] if is_bounded else np.inf
        for b in range(starts[t - 1], starts[t]):
            if best[b] + most > top:
                total = best[b] + step_score(levels, weights, labels[b], label)
                if total > top:
                    top, before = total, b
        chosen = before
        y[t - 1] = chosen - starts[t - 1]
    return score


@inner_kernel
def path_score(
    candidates: Candidates, emissions: Floats, levels: Levels, weights: Floats, y: Ints
) -> float:
    """The score of a structure."""
    starts, labels = candidates.starts, candidates.labels
    total, before = 0.0, -1
    for t in range(len(y)):
        chosen = starts[t] + y[t]
        label = np.int64(labels[chosen])
        total += emissions[chosen]
        if t == 0:
            total += start_score(levels, weights, label)
        else:
            total += step_score(levels, weights, before, label)
        before = label
    return total + end_score(levels, weights, before) if len(y) > 0 else 0.0


@kernel
def number_of_pairs(starts: Ints) -> int:
    """How many pairs of candidates are neighbours."""
    pairs = 0
    for t in range(1, len(starts) - 1):
        pairs += (starts[t] - starts[t - 1]) * (starts[t + 1] - starts[t])
    return pairs


@kernel
def node_scores(
    semiring: int, candidates: Candidates, emissions: Floats, levels: Levels, weights: Floats
) -> Floats:
    """The sum of the scores of all structures with a candidate: float64 [candidates]."""
    if len(candidates.starts) < 2:
        return np.empty(0)
    before = prefix_scores(semiring, candidates, emissions, levels, weights)
    return before + suffix_scores(semiring, candidates, emissions, levels, weights)
