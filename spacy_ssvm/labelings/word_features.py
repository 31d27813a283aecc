"""Features of words in training, for each way to store their weights.

A weight belongs to a feature and a column, such as a label or a part of labels. Functions take the
features first, and have an implementation for each class of them. ``weights`` are those of
features, and ``offset`` is where these begin in w.
"""

from typing import Any, NamedTuple, cast

import numpy as np

from spacy_ssvm.features.extraction import CompiledTemplates, CompiledTemplatesType, fill_keys
from spacy_ssvm.kernels.compile import dispatch, inlined_kernel, inner_kernel, kernel
from spacy_ssvm.kernels.types import (
    Flags,
    Floats,
    Ints,
    Ints1,
    Keys,
    Keys1,
    Keys2,
    Rows,
    Rows1,
    Weights,
    Weights2,
    named_tuple,
)
from spacy_ssvm.weights.growing import GrowingArray, check_starts, drop_negative, gather_ranges
from spacy_ssvm.weights.lazy import (
    LazyTable,
    LazyTableType,
    block_before,
    find_block,
    find_blocks,
    frozen,
    get_or_insert,
    has_capacity,
)
from spacy_ssvm.weights.rows import (
    RowTable,
    RowTableType,
    RowWeights,
    add_row,
    find_entries,
    has_row_capacity,
)
from spacy_ssvm.weights.sparse import add_entry, find_index

_ALWAYS = 2**40  # how often real-valued features occur: more than any ``min_count``


class RowFeatures(NamedTuple):
    """Features that were extracted in advance; w[offset + entry] is a weight of the table.

    Those of ``rows`` have the value 1; F others have real values, see ``features/reals.py``.
    """

    starts: Ints  #: int64 [tokens + 1]: the first feature of each token
    rows: Rows  #: int32 [features]
    reals: Weights  #: float32 [tokens, F]
    real_rows: Rows  #: int32 [F]
    table: RowTable  #: has all rows above


class LazyFeatures(NamedTuple):
    """Features that are hashed on each use; w[offset + row] is a weight of the table.

    A feature without a row for a column has weight 0. Oracles insert rows for the entries that
    they write: loss-augmented decoding for the features of wrong tokens, with the columns of the
    predicted and the gold label; expectations for all features of an example, with all columns.
    """

    attributes: Keys  #: uint64 [tokens, columns]
    templates: CompiledTemplates
    table: LazyTable
    reals: Weights  #: float32 [tokens, F]: the values of real-valued features
    real_keys: Keys  #: uint64 [F]
    real_templates: Rows  #: int32 [F]


RowFeaturesType = named_tuple(RowFeatures, Ints1, Rows1, Weights2, Rows1, RowTableType)
LazyFeaturesType = named_tuple(
    LazyFeatures, Keys2, CompiledTemplatesType, LazyTableType, Weights2, Keys1, Rows1
)


def without_growth(features: RowFeatures | LazyFeatures) -> RowFeatures | LazyFeatures:
    """The same, for kernels that allocate nothing."""
    if isinstance(features, LazyFeatures):
        return features._replace(table=frozen(features.table))
    return features._replace(table=features.table._replace(grows=False))


@inlined_kernel
def _row_scores(
    features: RowFeatures,
    first: int,  # noqa: ARG001
    last: int,  # noqa: ARG001
    t: int,
    weights: Floats,
    scores: Floats,
) -> None:
    """Write the scores of columns at word t of the example [first, last): float64 [columns]."""
    table = features.table
    for k in range(len(scores)):
        scores[k] = 0.0
    for f in range(features.starts[t], features.starts[t + 1]):
        add_row(table, weights, 1.0, np.int64(features.rows[f]), scores)
    for d in range(len(features.real_rows)):
        value = np.float64(features.reals[t, d])
        add_row(table, weights, value, np.int64(features.real_rows[d]), scores)


@inner_kernel
def _add_rows(
    table: LazyTable, weights: Floats, scale: float, start: int, count: int, scores: Floats
) -> None:
    """Add the weights of a key, whose last block is given, to the scores of columns."""
    while count > 0:
        for row in range(start, start + count):
            scores[table.entry_labels[row]] += scale * weights[row]
        start, count = block_before(table, start)


@kernel
def _lazy_scores(
    features: LazyFeatures, first: int, last: int, t: int, weights: Floats, scores: Floats
) -> None:
    """The same: sum_m scale_m w[row of m and column]."""
    width, table, scales = len(scores), features.table, features.table.scales
    for k in range(width):
        scores[k] = 0.0
    for d in range(len(features.real_keys)):
        m = features.real_templates[d]
        start, count = find_block(table, m, features.real_keys[d])
        _add_rows(
            table, weights, scales[m] * np.float64(features.reals[t, d]), start, count, scores
        )
    keys = np.empty(len(features.templates.seeds), dtype=np.uint64)
    starts, counts = np.empty(len(keys), dtype=np.int64), np.empty(len(keys), dtype=np.int64)
    fill_keys(features.templates, features.attributes, first, last, t, keys)
    find_blocks(table, keys, starts, counts)
    for m in range(len(keys)):
        start, count = starts[m], counts[m]
        if count >= width:
            block = weights[start : start + width]
            for k in range(width):
                scores[k] += scales[m] * block[k]
            if count > width:
                start, count = block_before(table, start)
                _add_rows(table, weights, scales[m], start, count, scores)
        else:
            _add_rows(table, weights, scales[m], start, count, scores)


@inner_kernel
def _count_rows(features: RowFeatures, first: int, is_wrong: Flags) -> int:
    """The number of features of wrong words, counted from the first word of an example."""
    number = 0
    for t in range(len(is_wrong)):
        if is_wrong[t]:
            number += features.starts[first + t + 1] - features.starts[first + t]
            number += len(features.real_rows)
    return number


@inner_kernel
def _count_lazy(features: LazyFeatures, first: int, is_wrong: Flags) -> int:  # noqa: ARG001
    """The same, or more."""
    number = 0
    for t in range(len(is_wrong)):
        if is_wrong[t]:
            number += len(features.templates.seeds) + len(features.real_keys)
    return number


@inner_kernel
def _row_capacity(features: RowFeatures, number: int) -> bool:
    """Whether there is room for the weights of so many features; if not, it is requested."""
    return has_row_capacity(features.table, number)


@inner_kernel
def _lazy_capacity(features: LazyFeatures, number: int) -> bool:
    """The same."""
    return has_capacity(features.table, number)


@inner_kernel
def _add_found(
    found: Ints,
    signs: Floats,
    value: float,
    offset: int,
    indices: Rows,
    values: Weights,
    scratch: Rows,
    size: int,
) -> int:
    """Add the value of a feature, times signs, at the entries that were found."""
    for j in range(len(found)):
        if found[j] >= 0:
            index = offset + found[j]
            size = add_entry(indices, values, scratch, size, index, value * signs[j])
    return size


@inner_kernel
def _add_row_difference(
    features: RowFeatures,
    first: int,  # noqa: ARG001
    last: int,  # noqa: ARG001
    t: int,
    columns: Ints,
    signs: Floats,
    found: Ints,
    offset: int,
    indices: Rows,
    values: Weights,
    scratch: Rows,
    size: int,
) -> int:
    """Add the features of word t of the example [first, last) to Phi_i(y); return its new size.

    columns, signs: int64 and float64 [n], those whose weights the word adds to the difference, and
        1 or -1. found: int64 [n], scratch.
    A weight that is missing is allocated. Where the table does not grow it is left out: it is 0.
    """
    start, end = features.starts[t], features.starts[t + 1]
    for f in range(start, end):
        find_entries(features.table, np.int64(features.rows[f]), columns, found)
        size = _add_found(found, signs, 1.0, offset, indices, values, scratch, size)
    for d in range(len(features.real_rows)):
        value = np.float64(features.reals[t, d])
        find_entries(features.table, np.int64(features.real_rows[d]), columns, found)
        size = _add_found(found, signs, value, offset, indices, values, scratch, size)
    return size


@kernel
def _add_lazy_difference(
    features: LazyFeatures,
    first: int,
    last: int,
    t: int,
    columns: Ints,
    signs: Floats,
    found: Ints,
    offset: int,
    indices: Rows,
    values: Weights,
    scratch: Rows,
    size: int,
) -> int:
    """The same, for features without rows."""
    table = features.table
    keys = np.empty(len(features.templates.seeds), dtype=np.uint64)
    fill_keys(features.templates, features.attributes, first, last, t, keys)
    for m in range(len(keys)):
        if keys[m] != np.uint64(0):
            get_or_insert(table, m, keys[m], columns, found)
            size = _add_found(found, signs, 1.0, offset, indices, values, scratch, size)
    for d in range(len(features.real_keys)):
        m, value = np.int64(features.real_templates[d]), np.float64(features.reals[t, d])
        get_or_insert(table, m, features.real_keys[d], columns, found)
        size = _add_found(found, signs, value, offset, indices, values, scratch, size)
    return size


@kernel
def _add_row_expectations(
    features: RowFeatures,
    first: int,  # noqa: ARG001
    last: int,  # noqa: ARG001
    t: int,
    expected: Floats,
    offset: int,
    indices: Rows,
    values: Floats,
    scratch: Rows,
    size: int,
) -> int:
    """Add the features of word t of the example [first, last) to E[phi(x_i, Y)] - phi(x_i, gold).

    expected: float64 [columns], how often each is expected at the word, less how often gold has it.
    Returns the new size. Entries are blocks of all columns, which ``scratch`` finds.
    Raises ValueError where weights are allocated on first use: all columns have expectations.
    """
    if len(features.table.blocks) > 0:
        raise ValueError("expectations need the weights of all labels")
    width, end = len(expected), features.starts[t + 1]
    for f in range(features.starts[t], end + len(features.real_rows)):
        is_real = f >= end
        row = features.real_rows[f - end] if is_real else features.rows[f]
        value = np.float64(features.reals[t, f - end]) if is_real else 1.0
        index = offset + np.int64(row) * width
        slot = find_index(indices, scratch, index)
        if scratch[slot] < 0:
            scratch[slot] = size
            for k in range(width):
                indices[size + k] = index + k
                values[size + k] = 0.0
            size += width
        _add_scaled(values, scratch[slot], value, expected)
    return size


@kernel
def _add_lazy_expectations(
    features: LazyFeatures,
    first: int,
    last: int,
    t: int,
    expected: Floats,
    offset: int,
    indices: Rows,
    values: Floats,
    scratch: Rows,
    size: int,
) -> int:
    """The same; the features get rows for all columns."""
    if not features.table.grows:
        raise ValueError("expectations need the weights of all labels")
    width, T = len(expected), len(features.templates.seeds)
    all_columns, found = np.arange(width), np.empty(width, dtype=np.int64)
    keys = np.empty(T, dtype=np.uint64)
    fill_keys(features.templates, features.attributes, first, last, t, keys)
    for f in range(T + len(features.real_keys)):
        is_real = f >= T
        m = np.int64(features.real_templates[f - T]) if is_real else f
        key = features.real_keys[f - T] if is_real else keys[f]
        value = np.float64(features.reals[t, f - T]) if is_real else 1.0
        if key == np.uint64(0):
            continue
        get_or_insert(features.table, m, key, all_columns, found)
        slot = find_index(indices, scratch, offset + found[0])
        if scratch[slot] < 0:
            scratch[slot] = size
            for k in range(width):
                indices[size + k] = offset + found[k]
                values[size + k] = 0.0
            size += width
        _add_scaled(values, scratch[slot], value, expected)
    return size


@inlined_kernel
def _add_scaled(values: Floats, start: int, value: float, expected: Floats) -> None:
    """Add expectations, times a value, to the entries from ``start`` on."""
    block = values[start : start + len(expected)]
    for k in range(len(expected)):
        block[k] += value * expected[k]


word_scores = dispatch({RowFeatures: _row_scores, LazyFeatures: _lazy_scores})
count_features = dispatch({RowFeatures: _count_rows, LazyFeatures: _count_lazy})
has_room = dispatch({RowFeatures: _row_capacity, LazyFeatures: _lazy_capacity})
add_difference = dispatch({RowFeatures: _add_row_difference, LazyFeatures: _add_lazy_difference})
add_expectations = dispatch(
    {RowFeatures: _add_row_expectations, LazyFeatures: _add_lazy_expectations}
)


class WordProblem(RowWeights):
    """A problem whose features are those of words, of which its examples consist.

    first, width: see ``RowWeights``.
    """

    def __init__(self, *, first: int, width: int) -> None:
        super().__init__(first=first, width=width)
        self._token_starts = GrowingArray(np.int64, [0])  # of examples
        self._feature_starts = GrowingArray(np.int64, [0])  # of tokens
        self._rows = GrowingArray(np.int32)
        self.real_rows = np.zeros(0, dtype=np.int32)

    @property
    def number_of_examples(self) -> int:
        return self._token_starts.size - 1

    @property
    def number_of_tokens(self) -> int:
        """The tokens of all examples."""
        return self._feature_starts.size - 1

    @property
    def real_rows(self) -> Rows:
        """The row of each real-valued feature: int32 [F]; those of earlier examples are 0."""
        return self._real_rows

    @real_rows.setter
    def real_rows(self, rows: Rows) -> None:
        self._real_rows = rows
        self._extend(int(rows.max(initial=-1)) + 1)
        self._reals = GrowingArray(np.float32, np.zeros((self.number_of_tokens, len(rows))))

    def check_words(
        self,
        tokens: int,
        feature_starts: Ints,
        rows: Rows,
        token_starts: Ints,
        reals: Weights | None,
    ) -> Weights:
        """Check the arguments of ``append_words``; return ``reals``, zeros for None.

        tokens: the number of tokens of all examples.
        feature_starts: int64 [tokens + 1]; rows: int32 [features], none negative.
        token_starts: int64 [examples + 1].
        reals: float32 [tokens, F], finite, the values of real-valued features; None for none.
        Raises ValueError where they do not fit each other.
        """
        check_starts("feature_starts", feature_starts, len(rows))
        check_starts("token_starts", token_starts, tokens)
        if len(feature_starts) != tokens + 1:
            raise ValueError(f"{len(feature_starts) - 1} tokens with features, {tokens} in all")
        if len(rows) and rows.min() < 0:
            raise ValueError("rows: must not be negative")
        reals = np.zeros((tokens, 0), dtype=np.float32) if reals is None else reals
        shape = tokens, len(self._real_rows)
        if reals.shape != shape:
            raise ValueError(f"reals: shape {reals.shape}, expected {shape}")
        if not np.isfinite(reals).all():
            raise ValueError("reals: must be finite")
        return reals

    def append_words(
        self, feature_starts: Ints, rows: Rows, token_starts: Ints, reals: Weights
    ) -> None:
        """Append the words of examples, which have been checked."""
        self._token_starts.extend(token_starts[1:] + self.number_of_tokens)
        self._feature_starts.extend(feature_starts[1:] + self._rows.size)
        self._rows.extend(rows)
        self._reals.extend(reals)
        self._extend(int(rows.max(initial=-1)) + 1)

    def keep_words(self, numbers: Ints) -> Ints:
        """Keep only the words of these examples; return their numbers (int64)."""
        tokens, self._token_starts = gather_ranges(self._token_starts, numbers)
        features, self._feature_starts = gather_ranges(self._feature_starts, tokens)
        self._rows = GrowingArray(np.int32, self._rows.array[features])
        self._reals = GrowingArray(np.float32, self._reals.array[tokens])
        return tokens

    def count_rows(self, rows: int) -> Ints:
        """How often examples have each row as a feature, see ``IndexedProblem``."""
        counts = np.bincount(self._rows.array, minlength=rows)
        counts[self._real_rows] = _ALWAYS
        return counts

    def number_rows(self, numbers: Rows, rows: int) -> None:
        """Give features other rows, see ``IndexedProblem``."""
        new_rows = numbers[self._rows.array]
        self._feature_starts, self._rows = drop_negative(self._feature_starts, new_rows)
        self._real_rows = numbers[self._real_rows]
        self._extend(rows)

    def keep_rows(self, kept: Flags) -> Rows:
        """Keep only these of the rows, see ``IndexedProblem``."""
        self.number_rows((np.cumsum(kept) - 1).astype(np.int32), int(kept.sum()))
        return self._keep_weights(kept)

    def _features(self) -> RowFeatures | LazyFeatures:
        starts, rows = self._feature_starts.array, self._rows.array
        return RowFeatures(starts, rows, self._reals.array, self._real_rows, self.table)

    def _arrays(self, features: RowFeatures | LazyFeatures) -> Any:
        """The arrays of the examples, with these of their features."""
        raise NotImplementedError

    def examples(self) -> Any:
        """The arrays, for kernels; valid until the next ``append``, or change of the store."""
        return self._arrays(self._features())

    def frozen_examples(self) -> Any:
        """See ``AllocatingProblem``."""
        return self._arrays(without_growth(self._features()))

    def addressed_examples(self) -> Any:
        """See ``AddressedProblem``."""
        features = cast(RowFeatures, self._features())
        return self._arrays(features._replace(table=self._dense_table))
