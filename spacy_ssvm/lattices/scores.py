"""Scores, costs and differences of lattices."""

import numpy as np

from spacy_ssvm.decoders.lattice import Candidates, Levels
from spacy_ssvm.kernels.compile import inlined_kernel, inner_kernel, kernel
from spacy_ssvm.kernels.types import AnyWeights, Floats, Ints, Rows, Weights
from spacy_ssvm.labelings.word_features import (
    LazyFeatures,
    RowFeatures,
    add_difference,
    add_expectations,
    count_features,
    word_scores,
)
from spacy_ssvm.lattices.layout import LabelParts, Lattices
from spacy_ssvm.weights.sparse import add_entry, drop_zeros, scratch_table


@inlined_kernel
def first_feature_weight(examples: Lattices) -> int:
    """Where the weights of features begin in w."""
    return int(examples.levels.starts[-1])


@kernel
def candidates_of(examples: Lattices, i: int) -> Candidates:
    """The candidates of example i."""
    first, last = examples.token_starts[i], examples.token_starts[i + 1]
    starts = examples.candidate_starts[first : last + 1]
    labels = examples.candidates[starts[0] : starts[last - first]]
    return Candidates(starts - starts[0], labels)


@inlined_kernel
def sum_parts(labels: LabelParts, label: int, scores: Floats) -> float:
    """The score of a label, from those of parts [P]."""
    total = 0.0
    for p in range(labels.starts[label], labels.starts[label + 1]):
        total += scores[labels.parts[p]]
    return total


@inlined_kernel
def parts_of_labels(labels: LabelParts, chosen: Rows, owner: int, owners: Ints, parts: Ints) -> int:
    """Write the parts of the chosen labels, each once; return their number.

    owners: int64 [P], scratch: those of parts that are written become the owner, which none is
        before. parts: int64 [P].
    """
    size = 0
    for label in chosen:
        for p in range(labels.starts[label], labels.starts[label + 1]):
            part = labels.parts[p]
            if owners[part] != owner:
                owners[part] = owner
                parts[size] = part
                size += 1
    return size


@kernel
def emission_scores(examples: Lattices, i: int, w: Floats) -> Floats:
    """The scores of the candidates of example i under w: float64 [candidates].

    That of a token's only candidate is 0: it would add the same to all structures.
    """
    first, last = examples.token_starts[i], examples.token_starts[i + 1]
    features, starts = examples.features, examples.candidate_starts
    weights = w[first_feature_weight(examples) :]
    base = starts[first]
    emissions = np.zeros(starts[last] - base)
    scores = np.empty(examples.labels.number)
    for t in range(first, last):
        if starts[t + 1] - starts[t] == 1:
            continue
        word_scores(features, first, last, t, weights, scores)
        for c in range(starts[t], starts[t + 1]):
            emissions[c - base] = sum_parts(examples.labels, examples.candidates[c], scores)
    return emissions


@kernel
def add_costs(examples: Lattices, i: int, gamma: float, emissions: Floats) -> None:
    """Add gamma to the scores of candidates that the gold annotation does not allow."""
    base = examples.candidate_starts[examples.token_starts[i]]
    for c in range(len(emissions)):
        if not examples.allowed[base + c]:
            emissions[c] += gamma


@kernel
def forbid_wrong(examples: Lattices, i: int, emissions: Floats) -> None:
    """Forbid the candidates that the gold annotation does not allow."""
    base = examples.candidate_starts[examples.token_starts[i]]
    for c in range(len(emissions)):
        if not examples.allowed[base + c]:
            emissions[c] = -np.inf


@kernel
def gold_of(examples: Lattices, i: int) -> Ints:
    """The completed gold candidates of example i, in place."""
    return examples.completions[examples.token_starts[i] : examples.token_starts[i + 1]]


@kernel
def is_annotated(examples: Lattices, i: int) -> bool:
    """Whether the gold annotation of example i rules out any candidate."""
    first, last = examples.token_starts[i], examples.token_starts[i + 1]
    for c in range(examples.candidate_starts[first], examples.candidate_starts[last]):
        if not examples.allowed[c]:
            return True
    return False


@kernel
def is_partial(examples: Lattices, i: int) -> bool:
    """Whether several candidates of a token of example i agree with the gold annotation."""
    for t in range(examples.token_starts[i], examples.token_starts[i + 1]):
        allowed = 0
        for c in range(examples.candidate_starts[t], examples.candidate_starts[t + 1]):
            allowed += examples.allowed[c]
        if allowed > 1:
            return True
    return False


@kernel
def cost(examples: Lattices, i: int, y: Ints) -> float:
    """Delta_i(y): the number of tokens whose candidate the gold annotation does not allow."""
    first, total = examples.token_starts[i], 0.0
    for t in range(len(y)):
        if not examples.allowed[examples.candidate_starts[first + t] + y[t]]:
            total += 1.0
    return total


@inner_kernel
def _add_step(
    levels: Levels,
    before: int,
    label: int,
    value: float,
    indices: Rows,
    values: AnyWeights,
    scratch: Rows,
    size: int,
) -> int:
    """Add a step to a sparse vector, times a value; return its size.

    before: -1 for the start of a sequence; label: -1 for its end.
    """
    for level in range(len(levels.sizes)):
        C = levels.sizes[level]
        row = C if before < 0 else levels.classes[before, level]
        column = row if label < 0 else levels.classes[label, level]
        if label < 0:
            row = C + 1
        index = levels.starts[level] + row * C + column
        size = add_entry(indices, values, scratch, size, index, value)
    return size


@kernel
def step_difference(
    candidates: Candidates, levels: Levels, gold: Ints, y: Ints, indices: Rows, values: Weights
) -> int:
    """Write the entries of steps of Phi_i(y), each index once; return their number."""
    n = len(y)
    if len(levels.sizes) == 0:
        return 0
    scratch = scratch_table(2 * (n + 1) * len(levels.sizes))
    size = 0
    of_gold, of_y = -1, -1
    was_right = True
    for t in range(n + 1):
        is_right = t == n or gold[t] == y[t]
        next_gold, next_y = -1, -1
        if t < n:
            next_gold = np.int64(candidates.labels[candidates.starts[t] + gold[t]])
            next_y = np.int64(candidates.labels[candidates.starts[t] + y[t]])
        if not (was_right and is_right):
            size = _add_step(levels, of_gold, next_gold, 1.0, indices, values, scratch, size)
            size = _add_step(levels, of_y, next_y, -1.0, indices, values, scratch, size)
        of_gold, of_y, was_right = next_gold, next_y, is_right
    return drop_zeros(indices, values, size)


@inner_kernel
def changed_parts(labels: LabelParts, gold: int, label: int, parts: Ints, signs: Floats) -> int:
    """Write the parts that only one of two labels has, and 1 or -1: those of the gold label first.

    Returns their number. parts, signs: int64 and float64, with room for all.
    """
    size = 0
    for p in range(labels.starts[gold], labels.starts[gold + 1]):
        if not _has_part(labels, label, labels.parts[p]):
            parts[size] = labels.parts[p]
            signs[size] = 1.0
            size += 1
    for p in range(labels.starts[label], labels.starts[label + 1]):
        if not _has_part(labels, gold, labels.parts[p]):
            parts[size] = labels.parts[p]
            signs[size] = -1.0
            size += 1
    return size


@inlined_kernel
def _has_part(labels: LabelParts, label: int, part: int) -> bool:
    for p in range(labels.starts[label], labels.starts[label + 1]):
        if labels.parts[p] == part:
            return True
    return False


@kernel
def feature_difference(
    features: RowFeatures | LazyFeatures,
    first: int,
    candidates: Candidates,
    labels: LabelParts,
    offset: int,
    gold: Ints,
    y: Ints,
    indices: Rows,
    values: Weights,
) -> int:
    """Write the entries of features of Phi_i(y), each index once; return their number.

    first: the first token. offset: where the weights of features begin.
    A weight that is missing is allocated. Where the table does not grow it is left out: it is 0.
    """
    n, most, is_wrong = len(y), 0, gold != y
    for t in range(n):
        for chosen in (gold[t], y[t]):
            label = candidates.labels[candidates.starts[t] + chosen]
            most = max(most, labels.starts[label + 1] - labels.starts[label])
    scratch = scratch_table(2 * most * count_features(features, first, is_wrong) + 1)
    parts, signs = np.empty(2 * most, dtype=np.int64), np.empty(2 * most)
    found = np.empty(2 * most, dtype=np.int64)
    size = 0
    for t in range(n):
        if not is_wrong[t]:
            continue
        start = candidates.starts[t]
        pair = candidates.labels[start + gold[t]], candidates.labels[start + y[t]]
        changed = changed_parts(labels, pair[0], pair[1], parts, signs)
        of_word = first + t, parts[:changed], signs[:changed], found[:changed], offset
        size = add_difference(features, first, first + n, *of_word, indices, values, scratch, size)
    return drop_zeros(indices, values, size)


@kernel
def expected_step_difference(
    candidates: Candidates, levels: Levels, gold: Ints, z: Floats, indices: Rows, values: Floats
) -> int:
    """Write the entries of steps of E[phi(x_i, Y)] - phi(x_i, gold); return their number.

    z: see ``oracle.py``.
    """
    starts, labels = candidates.starts, candidates.labels
    n, pair = len(gold), len(labels)
    if len(levels.sizes) == 0:
        return 0
    most = (len(z) + 2 * len(labels)) * len(levels.sizes)
    scratch, size = scratch_table(most), 0
    for c in range(starts[1]):
        value = z[c] - (c == gold[0])
        size = _add_step(levels, -1, labels[c], value, indices, values, scratch, size)
    for t in range(1, n):
        for b in range(starts[t - 1], starts[t]):
            for c in range(starts[t], starts[t + 1]):
                is_gold = b - starts[t - 1] == gold[t - 1] and c - starts[t] == gold[t]
                value = z[pair] - is_gold
                before, label = labels[b], labels[c]
                size = _add_step(levels, before, label, value, indices, values, scratch, size)
                pair += 1
    for c in range(starts[n - 1], starts[n]):
        value = z[c] - (c - starts[n - 1] == gold[n - 1])
        size = _add_step(levels, labels[c], -1, value, indices, values, scratch, size)
    return drop_zeros(indices, values, size)


@kernel
def expected_feature_difference(
    features: RowFeatures | LazyFeatures,
    first: int,
    candidates: Candidates,
    labels: LabelParts,
    offset: int,
    gold: Ints,
    z: Floats,
    indices: Rows,
    values: Floats,
) -> int:
    """Write the entries of features of E[phi(x_i, Y)] - phi(x_i, gold); return their number.

    Arguments are those of ``feature_difference``, and z: see ``oracle.py``.
    """
    n, starts = len(gold), candidates.starts
    is_open = starts[1:] - starts[:-1] > 1
    scratch = scratch_table(count_features(features, first, is_open) + 1)
    expected, size = np.empty(labels.number), 0
    for t in range(n):
        if not is_open[t]:
            continue
        expected[:] = 0.0
        for c in range(starts[t], starts[t + 1]):
            label, value = candidates.labels[c], z[c] - (c - starts[t] == gold[t])
            for p in range(labels.starts[label], labels.starts[label + 1]):
                expected[labels.parts[p]] += value
        of_word = first + t, expected, offset
        size = add_expectations(
            features, first, first + n, *of_word, indices, values, scratch, size
        )
    return drop_zeros(indices, values, size)
