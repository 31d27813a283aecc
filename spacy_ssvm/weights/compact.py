"""Weights in eight bits: the form in which models of labels are saved and predict.

    weight  =  scale code,   code in -127..127

Each row, the weights of a feature, has one of 256 scales, which fall from the largest that the
model needs in steps of 2^(1/8). A row is a run of bytes. The first is the number of its scale. Two
follow for each label with a weight: how far it is from the label before, or from label 0, and the
code. Entries with the code 0 lie between labels that are more than 255 apart. Where many labels
have a weight, the codes of all labels follow instead, for vector instructions to add. Most rows
are of the first kind, but most of those that fire are of the second.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from spacy_ssvm.kernels.compile import inlined_kernel, kernel
from spacy_ssvm.kernels.types import Codes, Floats, Ints, Labels, Weights
from spacy_ssvm.weights.rows import RowTable, add_row

Starts = npt.NDArray[np.uint32] | npt.NDArray[np.int64]

_LARGEST = 127  # code
_FITTING = 127.49  # weight by scale. Codes of at least 117 follow: weights that are rounded stay
_SCALES = 256
_STEPS = 8  # scales by which they halve
_MANY_BYTES = 2**32
_FARTHEST = 255  # of two labels
_FEW = 4  # a row with weights for more than one label in so many has codes for all


class CompactWeights(NamedTuple):
    """Weights in eight bits, rows one after another."""

    row_starts: Starts  #: uint32 or int64 [rows + 1], see ``starts_of``: the first byte of each row
    bytes: Codes  #: int8
    scales: Weights  #: float32 [256]


class Entries(NamedTuple):
    """The weights of rows, each with its label, in order."""

    row_starts: Ints  #: int64 [rows + 1]: the first entry of each row
    labels: Labels  #: uint16 [entries]
    weights: Floats  #: float64 [entries]


def starts_of(sizes: npt.NDArray[Any]) -> Starts:
    """Where rows of these sizes start: uint32 [rows + 1], or int64 where 4 GB are not enough."""
    starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    return starts.astype(np.uint32) if starts[-1] < _MANY_BYTES else starts


def no_weights() -> CompactWeights:
    """Weights of no rows."""
    return CompactWeights(
        starts_of(np.empty(0, dtype=np.int64)),
        np.zeros(0, dtype=np.int8),
        np.zeros(_SCALES, dtype=np.float32),
    )


def scales_for(weights: Floats) -> Weights:
    """The scales of rows of these weights."""
    largest = np.maximum(weights.max(initial=0.0), -weights.min(initial=0.0))
    scales: Weights = largest / _LARGEST * 2.0 ** (-np.arange(_SCALES) / _STEPS)
    return scales.astype(np.float32)


@inlined_kernel
def _as_code(number: int) -> int:
    """A number in 0..255 as a byte of a row."""
    return np.int8(number - 256 if number > _LARGEST else number)  # type: ignore[no-any-return]


@inlined_kernel
def _as_number(code: int) -> int:
    """A byte of a row as a number in 0..255."""
    return np.int64(code) & 255  # type: ignore[no-any-return]


def with_more_labels(weights: CompactWeights, before: int, after: int) -> CompactWeights:
    """The same weights for more labels than before; the new ones have none."""
    starts, row_bytes, scales = weights
    sizes = np.diff(starts)
    is_full = sizes == before + 1
    added = np.repeat(starts[1:][is_full].astype(np.int64), after - before)
    new_starts = starts_of(sizes + (after - before) * is_full)
    return CompactWeights(new_starts, np.insert(row_bytes, added, 0), scales)


@inlined_kernel
def _round_row(row: Floats, scales: Weights, codes: Codes) -> int:
    """Write the codes of the weights of a row (int8 [K]); return the number of its scale."""
    largest, number = 0.0, 0
    for k in range(len(row)):
        largest = max(largest, abs(row[k]))
    while number + 1 < _SCALES and _FITTING * np.float64(scales[number + 1]) > largest:
        number += 1
    factor = 1 / np.float64(scales[number]) if scales[number] > 0 else 0.0
    for k in range(len(row)):
        codes[k] = np.int8(np.rint(row[k] * factor))
    return number


@inlined_kernel
def _write_row(codes: Codes, number: int, row: Codes) -> int:
    """Write the bytes of a row of codes (int8 [K]); return how many there are.

    number: that of its scale. row: int8 [K + 1], or more.
    """
    K, used = len(codes), 0
    for k in range(K):
        used += codes[k] != 0
    if used == 0:
        return 0
    row[0] = _as_code(number)
    if _FEW * used > K:
        for k in range(K):
            row[1 + k] = codes[k]
        return K + 1
    size, last = 1, 0
    for k in range(K):
        if codes[k] != 0:
            while k - last > _FARTHEST:
                last += _FARTHEST
                row[size], row[size + 1] = _as_code(_FARTHEST), 0
                size += 2
            row[size], row[size + 1] = _as_code(k - last), codes[k]
            last = k
            size += 2
    return size


@kernel
def row_sizes(
    table: RowTable, weights: Floats, scales: Weights, others: Floats, sizes: Ints
) -> float:
    """The number of bytes of each row in compact form (int64 [rows]); 0 for an empty one.

    Returns 1/2 |rounded weights - others|^2. others: float64, in the layout of the weights.
    """
    K, total = table.labels, 0.0
    row, codes, found = np.empty(K), np.empty(K, dtype=np.int8), np.empty(K + 1, dtype=np.int8)
    for r in range(len(sizes)):
        row[:] = 0.0
        add_row(table, weights, 1.0, r, row)
        number = _round_row(row, scales, codes)
        sizes[r] = _write_row(codes, number, found)
        row[:] = 0.0
        add_row(table, others, 1.0, r, row)
        scale = np.float64(scales[number])
        for k in range(K):
            distance = scale * codes[k] - row[k]
            total += distance * distance
    return total / 2


@kernel
def fill_rows(table: RowTable, weights: Floats, rows: Ints, compact: CompactWeights) -> None:
    """Write the bytes of the given rows, whose starts are known."""
    row, codes = np.empty(table.labels), np.empty(table.labels, dtype=np.int8)
    for i in range(len(rows)):
        row[:] = 0.0
        add_row(table, weights, 1.0, rows[i], row)
        number = _round_row(row, compact.scales, codes)
        start, end = _bounds(compact, i)
        _write_row(codes, number, compact.bytes[start:end])


@inlined_kernel
def _bounds(weights: CompactWeights, row: int) -> tuple[int, int]:
    """The first byte of a row, and the end."""
    return np.int64(weights.row_starts[row]), np.int64(weights.row_starts[row + 1])


@inlined_kernel
def _scale_at(weights: CompactWeights, start: int) -> float:
    """The scale of the row that starts at a byte."""
    return np.float64(weights.scales[_as_number(weights.bytes[start])])  # type: ignore[no-any-return]


@inlined_kernel
def _add_pairs(weights: CompactWeights, start: int, end: int, emissions: Floats) -> None:
    """Add the row of these bytes, one of pairs, to emissions [K]."""
    scale = _scale_at(weights, start)
    k = 0
    for i in range(start + 1, end, 2):
        k += _as_number(weights.bytes[i])
        emissions[k] += scale * weights.bytes[i + 1]


@inlined_kernel
def add_to_some(
    weights: CompactWeights, rows: Ints, size: int, labels: Ints, emissions: Floats
) -> None:
    """``add_rows`` for these labels; the emissions of others are of no use afterwards."""
    K = len(emissions)
    for m in range(size):
        start, end = _bounds(weights, rows[m])
        if end - start == K + 1:
            scale, codes = _scale_at(weights, start), weights.bytes[start + 1 : end]
            for k in labels:
                emissions[k] += scale * codes[k]
        elif end > start:
            _add_pairs(weights, start, end, emissions)


@inlined_kernel
def add_rows(weights: CompactWeights, rows: Ints, size: int, emissions: Floats) -> None:
    """Add the first ``size`` rows of compact weights to the emissions [K] of one token.

    The loop over all labels is not that of ``add_to_some``, whose labels the compiler does not
    know: it becomes vector instructions, which take half the time.
    """
    K = len(emissions)
    for m in range(size):
        start, end = _bounds(weights, rows[m])
        if end - start == K + 1:
            scale, codes = _scale_at(weights, start), weights.bytes[start + 1 : end]
            for k in range(K):
                emissions[k] += scale * codes[k]
        elif end > start:
            _add_pairs(weights, start, end, emissions)


@kernel
def _fill_entries(weights: CompactWeights, K: int, entries: Entries) -> None:
    """Write where the entries of rows start, and the entries where there is room for them."""
    row_bytes = weights.bytes
    size, room = 0, len(entries.labels)
    for r in range(len(weights.row_starts) - 1):
        start, end = _bounds(weights, r)
        is_full, k = end - start == K + 1, 0
        step = 1 if is_full else 2
        for i in range(start + 1, end, step):
            k = i - start - 1 if is_full else k + _as_number(row_bytes[i])
            code = row_bytes[i + step - 1]
            if code != 0:
                if size < room:
                    entries.labels[size] = k
                    entries.weights[size] = _scale_at(weights, start) * code
                size += 1
        entries.row_starts[r + 1] = size


def entries_of(weights: CompactWeights, K: int) -> Entries:
    """What compact weights stand for, without zeros. K: the number of labels."""
    starts = np.zeros(len(weights.row_starts), dtype=np.int64)
    entries = Entries(starts, np.empty(0, dtype=np.uint16), np.empty(0))
    _fill_entries(weights, K, entries)
    entries = Entries(starts, np.empty(starts[-1], dtype=np.uint16), np.empty(starts[-1]))
    _fill_entries(weights, K, entries)
    return entries


@kernel
def _labels_rise_below(weights: CompactWeights, K: int) -> bool:
    """Whether the labels of rows, whose sizes are possible, rise and are all below K."""
    for r in range(len(weights.row_starts) - 1):
        start, end = _bounds(weights, r)
        if end - start == K + 1:
            continue
        k = 0
        for i in range(start + 1, end, 2):
            distance = _as_number(weights.bytes[i])
            k += distance
            if k >= K or (distance == 0 and i > start + 1):
                return False
    return True


def check_compact(weights: CompactWeights, K: int) -> None:
    """Raise ValueError for weights of K labels, from a file, that kernels could not read."""
    starts, scales = weights.row_starts, weights.scales
    sizes = np.diff(starts)
    is_pairs = (sizes % 2 == 1) & (sizes <= K)
    if not (
        weights.bytes.ndim == 1
        and starts[-1] == len(weights.bytes)
        and bool(np.all((sizes == 0) | is_pairs | (sizes == K + 1)))
    ):
        raise ValueError("the rows of weights do not fit their number")
    if scales.shape != (_SCALES,) or not bool(np.all(np.isfinite(scales))):
        raise ValueError("weights are not finite")
    if not _labels_rise_below(weights, K):
        raise ValueError("the labels of a row are not in order")
