"""Emissions and feature differences, for each way to store the weights of features.

Each function takes ``Examples.features`` first, and has an implementation for each class of it.
"""

import numpy as np

from spacy_ssvm.chains.layout import LazyFeatures, RowFeatures
from spacy_ssvm.features.extraction import fill_keys
from spacy_ssvm.kernels.compile import dispatch, inner_kernel, kernel
from spacy_ssvm.kernels.types import Flags, Floats, Ints, Rows, Weights
from spacy_ssvm.weights.lazy import (
    LazyTable,
    block_before,
    find_block,
    find_blocks,
    get_or_insert,
    has_capacity,
)
from spacy_ssvm.weights.rows import add_row, find_entries, has_row_capacity
from spacy_ssvm.weights.sparse import add_entry, drop_zeros, find_index, scratch_table


@kernel
def _row_emissions(features: RowFeatures, first: int, w: Floats, emissions: Floats) -> None:
    """Write the emission table [n, K] of the tokens from ``first`` on, under w."""
    n, K = emissions.shape
    table, weights = features.table, w[(K + 2) * K :]
    for t in range(n):
        scores = emissions[t]
        for k in range(K):
            scores[k] = 0.0
        for f in range(features.starts[first + t], features.starts[first + t + 1]):
            add_row(table, weights, 1.0, np.int64(features.rows[f]), scores)
        for d in range(len(features.real_rows)):
            value = np.float64(features.reals[first + t, d])
            add_row(table, weights, value, np.int64(features.real_rows[d]), scores)


@inner_kernel
def _add_rows(
    table: LazyTable, weights: Floats, scale: float, start: int, count: int, scores: Floats
) -> None:
    """Add the weights of a key, whose last block is given, to the scores of labels [K]."""
    while count > 0:
        for row in range(start, start + count):
            scores[table.entry_labels[row]] += scale * weights[row]
        start, count = block_before(table, start)


@kernel
def _lazy_emissions(features: LazyFeatures, first: int, w: Floats, emissions: Floats) -> None:
    """The same: sum_m scale_m w[row of m and k]."""
    n, K = emissions.shape
    last = first + n
    T = len(features.templates.seeds)
    keys = np.empty(T, dtype=np.uint64)
    starts = np.empty(T, dtype=np.int64)
    counts = np.empty(T, dtype=np.int64)
    table, scales = features.table, features.table.scales
    weights = w[(K + 2) * K :]
    emissions[:] = 0.0
    for d in range(len(features.real_keys)):
        m = features.real_templates[d]
        start, count = find_block(table, m, features.real_keys[d])
        for t in range(n):
            value = scales[m] * np.float64(features.reals[first + t, d])
            _add_rows(table, weights, value, start, count, emissions[t])
    for t in range(first, last):
        fill_keys(features.templates, features.attributes, first, last, t, keys)
        find_blocks(table, keys, starts, counts)
        scores = emissions[t - first]
        for m in range(T):
            start, count = starts[m], counts[m]
            if count >= K:
                block = weights[start : start + K]
                for k in range(K):
                    scores[k] += scales[m] * block[k]
                if count > K:
                    start, count = block_before(table, start)
                    _add_rows(table, weights, scales[m], start, count, scores)
            else:
                _add_rows(table, weights, scales[m], start, count, scores)


@kernel
def _row_capacity(features: RowFeatures, first: int, is_wrong: Flags) -> bool:
    """Whether there is room for the weights of all features of wrong tokens, counted from first.

    If not, it is requested.
    """
    number = 0
    for t in range(len(is_wrong)):
        if is_wrong[t]:
            number += features.starts[first + t + 1] - features.starts[first + t]
            number += len(features.real_rows)
    return has_row_capacity(features.table, number)


@kernel
def _lazy_capacity(features: LazyFeatures, first: int, is_wrong: Flags) -> bool:
    """The same."""
    number = is_wrong.sum() * (len(features.templates.seeds) + len(features.real_keys))
    return has_capacity(features.table, number)


@inner_kernel
def _add_labels(
    indices: Rows,
    values: Weights,
    scratch: Rows,
    size: int,
    offset: int,
    found: Ints,
    value: float,
) -> int:
    """Add a value at the weight of the gold label, and take it from that of the other one.

    found: int64 [2], their entries, -1 for none. See ``sparse.py``.
    """
    if found[0] >= 0:
        size = add_entry(indices, values, scratch, size, offset + found[0], value)
    if found[1] >= 0:
        size = add_entry(indices, values, scratch, size, offset + found[1], -value)
    return size


@kernel
def _row_difference(
    features: RowFeatures,
    first: int,
    K: int,
    gold: Ints,
    y: Ints,
    indices: Rows,
    values: Weights,
) -> int:
    """Write the feature entries of Phi_i(y), each index once; return their number.

    A weight that is missing is allocated. Where the table does not grow it is left out: it is 0.
    """
    n, table, offset = len(y), features.table, (K + 2) * K
    labels, found = np.empty(2, dtype=np.int64), np.empty(2, dtype=np.int64)
    scratch = scratch_table(
        2 * (features.starts[first + n] - features.starts[first])
        + min(2 * n, K) * len(features.real_rows)
        + 1
    )
    size = 0
    width = len(features.real_rows)
    for t in range(n):
        if gold[t] == y[t]:
            continue
        labels[0], labels[1] = gold[t], y[t]
        start, end = features.starts[first + t], features.starts[first + t + 1]
        for f in range(start, end + width):
            is_real = f >= end
            row = features.real_rows[f - end] if is_real else features.rows[f]
            value = np.float64(features.reals[first + t, f - end]) if is_real else 1.0
            find_entries(table, np.int64(row), labels, found)
            size = _add_labels(indices, values, scratch, size, offset, found, value)
    return drop_zeros(indices, values, size)


@kernel
def _lazy_difference(
    features: LazyFeatures,
    first: int,
    K: int,
    gold: Ints,
    y: Ints,
    indices: Rows,
    values: Weights,
) -> int:
    """The same, for features without rows."""
    table, templates = features.table, features.templates
    last = first + len(y)
    offset = (K + 2) * K
    keys = np.empty(len(templates.seeds), dtype=np.uint64)
    labels, found = np.empty(2, dtype=np.int64), np.empty(2, dtype=np.int64)
    wrong = (y != gold).sum()
    scratch = scratch_table(2 * wrong * len(keys) + min(2 * wrong, K) * len(features.real_keys) + 1)
    size = 0
    for t in range(first, last):
        labels[0], labels[1] = gold[t - first], y[t - first]
        if labels[0] == labels[1]:
            continue
        fill_keys(templates, features.attributes, first, last, t, keys)
        for m in range(len(keys)):
            if keys[m] != np.uint64(0):
                get_or_insert(table, m, keys[m], labels, found)
                size = _add_labels(indices, values, scratch, size, offset, found, 1.0)
        for d in range(len(features.real_keys)):
            m, value = features.real_templates[d], np.float64(features.reals[t, d])
            get_or_insert(table, m, features.real_keys[d], labels, found)
            size = _add_labels(indices, values, scratch, size, offset, found, value)
    return drop_zeros(indices, values, size)


@kernel
def _add_expected(block: Floats, value: float, labels: Floats, gold: int) -> None:
    """Add a feature's value times (P(y_t = k) - [gold = k]) to its entries [K]."""
    for k in range(len(block)):
        block[k] += value * labels[k]
    block[gold] -= value


@kernel
def _expected_row_difference(
    features: RowFeatures,
    first: int,
    gold: Ints,
    labels: Floats,
    indices: Rows,
    values: Floats,
) -> int:
    """Write the feature entries of E[phi(x_i, Y)] - phi(x_i, gold); return their number.

    labels: float64 [n, K], P(y_t = k).
    Raises ValueError where weights are allocated on first use: all labels have expectations.
    """
    n, K = labels.shape
    if len(features.table.blocks) > 0:
        raise ValueError("expectations need the weights of all labels")
    # Blocks of K entries, one for each row.
    width = len(features.real_rows)
    scratch = scratch_table(features.starts[first + n] - features.starts[first] + width + 1)
    size = 0
    for t in range(n):
        start, end = features.starts[first + t], features.starts[first + t + 1]
        for f in range(start, end + width):
            is_real = f >= end
            row = features.real_rows[f - end] if is_real else features.rows[f]
            value = np.float64(features.reals[first + t, f - end]) if is_real else 1.0
            offset = (K + 2 + np.int64(row)) * K
            slot = find_index(indices, scratch, offset)
            if scratch[slot] < 0:
                scratch[slot] = size
                for k in range(K):
                    indices[size + k] = offset + k
                    values[size + k] = 0.0
                size += K
            _add_expected(values[scratch[slot] : scratch[slot] + K], value, labels[t], gold[t])
    return drop_zeros(indices, values, size)


@kernel
def _expected_lazy_difference(
    features: LazyFeatures,
    first: int,
    gold: Ints,
    labels: Floats,
    indices: Rows,
    values: Floats,
) -> int:
    """The same; the features get rows for all labels."""
    table, templates = features.table, features.templates
    n, K = labels.shape
    last = first + n
    offset = (K + 2) * K
    keys = np.empty(len(templates.seeds), dtype=np.uint64)
    all_labels, rows = np.arange(K), np.empty(K, dtype=np.int64)
    T, width = len(keys), len(features.real_keys)
    scratch = scratch_table(n * T + width + 1)  # blocks of K entries, one for each feature
    size = 0
    for t in range(first, last):
        fill_keys(templates, features.attributes, first, last, t, keys)
        for f in range(T + width):
            is_real = f >= T
            m = np.int64(features.real_templates[f - T]) if is_real else f
            key = features.real_keys[f - T] if is_real else keys[f]
            value = np.float64(features.reals[t, f - T]) if is_real else 1.0
            if key == np.uint64(0):
                continue
            get_or_insert(table, m, key, all_labels, rows)
            slot = find_index(indices, scratch, offset + rows[0])
            if scratch[slot] < 0:
                scratch[slot] = size
                for k in range(K):
                    indices[size + k] = offset + rows[k]
                    values[size + k] = 0.0
                size += K
            block = values[scratch[slot] : scratch[slot] + K]
            _add_expected(block, value, labels[t - first], gold[t - first])
    return drop_zeros(indices, values, size)


emission_scores = dispatch({RowFeatures: _row_emissions, LazyFeatures: _lazy_emissions})
has_capacity_for = dispatch({RowFeatures: _row_capacity, LazyFeatures: _lazy_capacity})
feature_difference = dispatch({RowFeatures: _row_difference, LazyFeatures: _lazy_difference})
expected_feature_difference = dispatch(
    {RowFeatures: _expected_row_difference, LazyFeatures: _expected_lazy_difference}
)
