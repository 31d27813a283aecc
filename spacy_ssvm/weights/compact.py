"""Weights without zeros, in float32: the form in which models are saved and predict."""

from typing import NamedTuple

import numpy as np

from spacy_ssvm.kernels.compile import inlined_kernel, kernel
from spacy_ssvm.kernels.types import Floats, Ints, Labels, Weights
from spacy_ssvm.weights.rows import RowTable, add_row


class CompactWeights(NamedTuple):
    """Weights without empty rows.

    A row holds the labels with a nonzero weight or, where these are many, all labels in order:
    vector instructions add a full row. Most rows are sparse, but most rows that fire are full.
    """

    row_starts: Ints  #: int64 [rows + 1]: the first entry of each row
    labels: Labels  #: uint16 [entries]
    weights: Weights  #: float32 [entries]


@kernel
def row_sizes(table: RowTable, weights: Floats, sizes: Ints) -> None:
    """The size of each row in compact form (int64 [rows]); 0 for an empty one."""
    K = table.labels
    row = np.empty(K)
    for r in range(len(sizes)):
        row[:] = 0.0
        add_row(table, weights, 1.0, r, row)
        size = 0
        for k in range(K):
            if np.float32(row[k]) != 0:
                size += 1
        sizes[r] = K if 4 * size > K else size


@kernel
def fill_rows(
    table: RowTable, weights: Floats, rows: Ints, row_starts: Ints, labels: Labels, values: Weights
) -> None:
    """Write the given rows in compact form."""
    K = table.labels
    row = np.empty(K)
    for i in range(len(rows)):
        row[:] = 0.0
        add_row(table, weights, 1.0, rows[i], row)
        entry = row_starts[i]
        full = row_starts[i + 1] - entry == K
        for k in range(K):
            weight = np.float32(row[k])
            if full or weight != 0:
                labels[entry] = k
                values[entry] = weight
                entry += 1


@inlined_kernel
def add_rows(weights: CompactWeights, rows: Ints, size: int, emissions: Floats) -> None:
    """Add the first ``size`` rows of compact weights to the emissions [K] of one token."""
    K = len(emissions)
    for m in range(size):
        start, end = weights.row_starts[rows[m]], weights.row_starts[rows[m] + 1]
        if end - start == K:
            full = weights.weights[start:end]
            for k in range(K):
                emissions[k] += full[k]
        else:
            for entry in range(start, end):
                emissions[weights.labels[entry]] += weights.weights[entry]


@inlined_kernel
def add_to_some(
    weights: CompactWeights, rows: Ints, size: int, labels: Ints, emissions: Floats
) -> None:
    """``add_rows`` for these labels; the emissions of others are of no use afterwards."""
    K = len(emissions)
    for m in range(size):
        start, end = weights.row_starts[rows[m]], weights.row_starts[rows[m] + 1]
        if end - start == K:
            for k in labels:
                emissions[k] += weights.weights[start + k]
        else:
            for entry in range(start, end):
                emissions[weights.labels[entry]] += weights.weights[entry]
