"""Weights in eight bits, for tests."""

import numpy as np

from spacy_ssvm.weights.compact import CompactWeights, fill_rows, row_sizes, scales_for, starts_of
from spacy_ssvm.weights.rows import dense_table


def compact_of(
    weights: np.ndarray, rows: np.ndarray | None = None
) -> tuple[CompactWeights, np.ndarray]:
    """Some rows of weights (float64 [rows, K]) in compact form, and their sizes in bytes."""
    table, w = dense_table(weights.shape[1]), weights.ravel()
    rows = np.arange(len(weights)) if rows is None else rows
    sizes = np.full(len(weights), -1, dtype=np.int64)
    scales = scales_for(w)
    row_sizes(table, w, scales, np.zeros_like(w), sizes)
    starts = starts_of(sizes[rows])
    compact = CompactWeights(starts, np.full(starts[-1], 99, dtype=np.int8), scales)
    fill_rows(table, w, rows, compact)
    return compact, sizes[rows]
