"""Scores of the links of a sentence pair, from word associations."""

import numpy as np

from spacy_ssvm.align.bitext.association import Association
from spacy_ssvm.align.bitext.kernels import fill_steps, hmm_posteriors, model1_posteriors
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Floats, Ints, Rows, Weights

#: The columns of ``link_scores``.
COLUMNS = ("dice", "model1", "hmm", "model1_back", "hmm_back")

_NOT_IN_TABLE = 1e-9  # the probability of links of a known pair that the table has dropped


@kernel
def link_scores(
    association: Association,
    source_ids: Ints,
    target_ids: Ints,
    leave_one_out: bool,
    scores: Weights,
) -> None:
    """Write the association of each link: float32 [m, n, 5], see ``COLUMNS``.

    dice: 2 c(e, f) / (c(e) + c(f)), c numbers of sentence pairs. The others are posteriors,
    p(f is linked to e | both sentences): model1 and hmm sum to at most 1 over the source words e
    for each target word f, the rest being that of NULL; backward, over target words.

    Probabilities are smoothed, t(f|e) = (c(e, f) + a) / (c(e) + a V), so that words which are
    unknown or rare prefer each other.

    leave_one_out: whether the pair's own contribution to all counts is subtracted first: for
        pairs that were in the bitext (``is_known``), whose scores would be better than those of
        new pairs. The widths of jumps keep it.
    """
    m, n = len(source_ids), len(target_ids)
    if m == 0 or n == 0:
        return
    null_source, null_target = len(association.source_words) + 1, len(association.target_words) + 1
    sources, targets = _with_null(source_ids, null_source), _with_null(target_ids, null_target)
    backward = np.empty((m + 1, n + 1), dtype=np.int64)
    table, starts = association.targets, association.row_starts
    for j in range(m + 1):
        start, end = starts[sources[j]], starts[sources[j] + 1]
        for k in range(n + 1):
            backward[j, k] = _find_entry(table, start, end, targets[k])
    _fill_dice(association, backward, sources, targets, leave_one_out, scores)
    forward = backward.T.copy()
    for model in range(2):
        found = _posteriors(association, forward[1:], sources, targets, 0, model, leave_one_out)
        for j in range(m):
            for k in range(n):
                scores[j, k, 1 + model] = found[k, j + 1]
        found = _posteriors(association, backward[1:], targets, sources, 1, model, leave_one_out)
        for j in range(m):
            for k in range(n):
                scores[j, k, 3 + model] = found[j, k + 1]


@kernel
def _with_null(ids: Ints, null: int) -> Ints:
    found = np.empty(len(ids) + 1, dtype=np.int64)
    found[0] = null
    found[1:] = ids
    return found


@kernel
def _find_entry(table: Rows, start: int, end: int, target: int) -> int:
    """The entry of a target id in a row, -1 where there is none."""
    if start == end:
        return -1
    place, size = start, end - start
    while size > 1:  # halves without a branch, which could not be predicted
        half = size // 2
        place += half * (table[place + half] <= target)
        size -= half
    return place if table[place] == target else -1


@kernel
def _fill_dice(
    association: Association,
    entries: Ints,
    sources: Ints,
    targets: Ints,
    leave_one_out: bool,
    scores: Weights,
) -> None:
    own = 1.0 if leave_one_out else 0.0
    pair_counts = association.pair_counts
    source_totals, target_totals = association.source_totals, association.target_totals
    for j in range(1, len(sources)):
        for k in range(1, len(targets)):
            both, total = 0.0, 0.0
            if entries[j, k] >= 0:
                both = np.float64(pair_counts[entries[j, k]]) - own
                total += np.float64(source_totals[sources[j], 0]) - own
                total += np.float64(target_totals[targets[k], 0]) - own
            scores[j - 1, k - 1, 0] = 2 * both / total if both > 0 and total > 0 else 0.0


@kernel
def _posteriors(
    association: Association,
    entries: Ints,
    generating: Ints,
    generated: Ints,
    direction: int,
    model: int,
    leave_one_out: bool,
) -> Floats:
    """The posteriors of one model in one direction: float64 [rows, columns], column 0 for NULL.

    entries: int64 [rows, columns], without the row of NULL.
    generating, generated: the ids of columns, and of rows, with NULL first.
    direction: 0 forward, 1 backward. model: 0 for Model 1, 1 for the HMM.
    """
    rows, columns = entries.shape
    column = 2 * direction + model
    all_totals = association.target_totals if direction else association.source_totals
    types = len(association.source_words if direction else association.target_words) + 1
    emissions, totals = np.empty((rows, columns)), np.empty(columns)
    found = np.empty((rows, columns))
    if leave_one_out:
        _gather(association.tables, column, entries, _NOT_IN_TABLE, emissions)
        _apply(association, emissions, direction, model, 0, found)
    _gather(association.link_counts, column, entries, 0.0, emissions)
    for j in range(columns):
        totals[j] = all_totals[generating[j], 1 + model]
    if leave_one_out:
        _leave_out(found, generating, generated, emissions, totals)
    smoothing = association.parameters[0]
    for j in range(columns):
        totals[j] = 1.0 / (max(totals[j], 0.0) + smoothing * types)
    for k in range(rows):
        for j in range(columns):
            emissions[k, j] = (max(emissions[k, j], 0.0) + smoothing) * totals[j]
    _apply(association, emissions, direction, model, 1, found)
    return found


@kernel
def _gather(values: Weights, column: int, entries: Ints, least: float, found: Floats) -> None:
    for k in range(entries.shape[0]):
        for j in range(entries.shape[1]):
            entry = entries[k, j]
            found[k, j] = max(np.float64(values[entry, column]), least) if entry >= 0 else least


@kernel
def _apply(
    association: Association,
    emissions: Floats,
    direction: int,
    model: int,
    version: int,
    found: Floats,
) -> None:
    """Write the posteriors under emissions. version: of jumps, before or after the last."""
    if model == 0:
        model1_posteriors(emissions, found)
        return
    columns = emissions.shape[1]
    null_probability = association.parameters[1]
    steps = np.empty((columns, columns - 1))
    fill_steps(association.jumps[direction, version], null_probability, steps)
    hmm_posteriors(emissions, steps, null_probability, found, np.empty((0, 0)))


@kernel
def _leave_out(
    posteriors: Floats, generating: Ints, generated: Ints, counts: Floats, totals: Floats
) -> None:
    """Subtract the pair's own links from counts and totals, those of all tokens of a word."""
    rows, columns = posteriors.shape
    first_column, first_row = _first_places(generating), _first_places(generated)
    own = np.zeros((rows, columns))
    for k in range(rows):
        for j in range(columns):
            own[first_row[k + 1] - 1, first_column[j]] += posteriors[k, j]
    for j in range(columns):
        for k in range(rows):
            totals[j] -= own[k, first_column[j]]
            counts[k, j] -= own[first_row[k + 1] - 1, first_column[j]]


@kernel
def _first_places(ids: Ints) -> Ints:
    """The first place that has the id of each place."""
    found = np.empty(len(ids), dtype=np.int64)
    for i in range(len(ids)):
        found[i] = i
        for earlier in range(i):
            if ids[earlier] == ids[i]:
                found[i] = earlier
                break
    return found
