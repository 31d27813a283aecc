"""Weights allocated on first update and freed when their template is pruned.

A row is the weight of a feature for a label, and belongs to a template. The rows of a feature are
contiguous, in a block that moves to the end, with twice the capacity, when it is full. A loose
block has a few labels in order of insertion, a dense block has all labels in their order. The
weights of a template are stored divided by its scale: shrinking a template is one multiplication,
and removing it marks all its current rows as stale by ``first_rows`` [MSAF11, section 4, "Space and
Time Efficiency"]. Stale rows and those that blocks have left are removed once they are many. All
arrays grow and shrink in place.
"""

from typing import NamedTuple

import numpy as np

from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import (
    Floats,
    Floats1,
    Int,
    Ints,
    Ints1,
    Keys,
    Keys2,
    Rows,
    Rows1,
    named_tuple,
)
from spacy_ssvm.weights.groups import GroupedWeights
from spacy_ssvm.weights.hash_table import (
    empty_slots,
    find_slot,
    grow_slots,
    rehash_in_place,
    scaled_key,
)

_MIN_SCALE = 1e-50  # below it, weights are multiplied out
_MAX_LOOSE_BLOCK = 16  # rows
_GROWTH = 1.25  # the factor by which a full table grows
_IN_USE = 0.75  # the share of rows in use below which the others are removed
_COUNT_BITS = np.uint64(16)  # of a slot's payload: first row, room, rows in use
_COUNT = np.uint64(0xFFFF)


class LazyTable(NamedTuple):
    """The arrays that kernels read and write."""

    slots: Keys  #: uint64 [capacity, 2]: keys with their block, see ``_pack``
    row_templates: Rows  #: int32 [room]
    row_labels: Rows  #: int32 [room]; -1 for rows out of use
    first_rows: Ints  #: int64 [T]: rows of the template before this one are stale
    active: Ints  #: int64 [T]: the number of rows in use
    counts: Ints  #: int64 [3]: keys in the slots, rows, moves of blocks in use
    requested: Ints  #: int64 [2]: further keys and rows that capacity is needed for
    scales: Floats  #: float64 [T]
    labels: int  #: the number of labels of a feature


LazyTableType = named_tuple(
    LazyTable, Keys2, Rows1, Rows1, Ints1, Ints1, Ints1, Ints1, Floats1, Int
)


@kernel
def _pack(start: int, room: int, count: int) -> int:
    """A block as the payload of a slot."""
    block = (np.uint64(start) << _COUNT_BITS) | np.uint64(room)
    return (block << _COUNT_BITS) | np.uint64(count)  # type: ignore[no-any-return]


@kernel
def _unpack(payload: int) -> tuple[int, int, int]:
    """The first row of a block, its capacity, and the number of rows in use."""
    room = (payload >> _COUNT_BITS) & _COUNT
    start = payload >> (_COUNT_BITS + _COUNT_BITS)
    return np.int64(start), np.int64(room), np.int64(payload & _COUNT)


@kernel
def find_blocks(table: LazyTable, keys: Keys, starts: Ints, counts: Ints) -> None:
    """Write the rows of each template's key (uint64 [T]) for one token: the first, their number."""
    slots, capacity = table.slots, len(table.slots)
    for m in range(len(keys)):  # loads all first slots at once: memory access overlaps
        counts[m] = 0
        starts[m] = -1
        if table.active[m] > 0 and keys[m] != np.uint64(0):
            starts[m] = scaled_key(keys[m], capacity)
    for m in range(len(keys)):
        slot = starts[m]
        if slot < 0 or slots[slot, 0] == np.uint64(0):
            continue
        if slots[slot, 0] != keys[m]:
            slot = find_slot(slots, keys[m])
            if slots[slot, 0] != keys[m]:
                continue
        start, _, count = _unpack(slots[slot, 1])
        if start >= table.first_rows[m]:
            starts[m] = start
            counts[m] = count


@kernel
def find_block(table: LazyTable, m: int, key: int) -> tuple[int, int]:
    """The first row of a key of template m, and the number of its rows."""
    slot = find_slot(table.slots, key)
    if table.slots[slot, 0] == np.uint64(0):
        return 0, 0
    start, _, count = _unpack(table.slots[slot, 1])
    return start, count if start >= table.first_rows[m] else 0


@kernel
def has_capacity(table: LazyTable, features: int) -> bool:
    """Whether that many features can get rows; if not, the capacity is requested."""
    rows = features * table.labels
    is_wide = table.counts[1] + rows <= len(table.row_labels)
    if is_wide and 3 * (table.counts[0] + features) <= 2 * len(table.slots):
        return True
    table.requested[0] = features
    table.requested[1] = rows
    return False


@kernel
def _find_labels(table: LazyTable, start: int, count: int, labels: Ints, rows: Ints) -> int:
    """Write the row of each label in a block, -1 for none; return the number without a row."""
    missing = len(labels)
    for j in range(len(labels)):
        rows[j] = -1
        for row in range(start, start + count):
            if table.row_labels[row] == labels[j]:
                rows[j] = row
                missing -= 1
                break
    return missing


@kernel
def get_or_insert(
    table: LazyTable, weights: Floats, m: int, key: int, labels: Ints, rows: Ints
) -> None:
    """Write the rows of a key of template m for some labels, inserting those that are missing.

    weights: float64 [room]. labels, rows: int64. The block of the key may move.
    """
    slot = find_slot(table.slots, key)
    if table.slots[slot, 0] == np.uint64(0):
        table.slots[slot, 0] = key
        table.counts[0] += 1
    start, room, count = _unpack(table.slots[slot, 1])
    if start < table.first_rows[m]:
        start, room, count = 0, 0, 0
    if count == table.labels:
        for j in range(len(labels)):
            rows[j] = start + labels[j]
        return
    missing = _find_labels(table, start, count, labels, rows)
    if missing == 0:
        return
    table.active[m] += missing
    if count + missing > room:
        room = max(2 * room, count + missing)
        is_dense = room >= table.labels or room > _MAX_LOOSE_BLOCK
        if is_dense:
            room = table.labels
        new = table.counts[1]
        table.counts[1] += room
        table.counts[2] += count > 0
        table.row_templates[new : new + room] = m
        for j in range(room):
            table.row_labels[new + j] = j if is_dense else -1
        for j in range(count):
            row = new + (table.row_labels[start + j] if is_dense else j)
            table.row_labels[row] = table.row_labels[start + j]
            table.row_labels[start + j] = -1
            weights[row] = weights[start + j]
            weights[start + j] = 0.0
        start = new
        if is_dense:
            table.active[m] += room - count - missing
            count = room
        _find_labels(table, start, count, labels, rows)
    for j in range(len(labels)):
        if rows[j] < 0:
            rows[j] = start + count
            table.row_labels[start + count] = labels[j]
            count += 1
    table.slots[slot, 1] = _pack(start, room, count)


@kernel
def _multiply_out(table: LazyTable, m: int, weights: Floats) -> None:
    """Multiply the weights of template m by its scale, which becomes 1."""
    for row in range(table.first_rows[m], table.counts[1]):
        if table.row_templates[row] == m:
            weights[row] *= table.scales[m]
    table.scales[m] = 1.0


@kernel
def _write_features(table: LazyTable, features: Rows) -> None:
    """Write the first row of the block of each row; for rows out of use, any row."""
    features[:] = 0
    for slot in range(len(table.slots)):
        start, _, count = _unpack(table.slots[slot, 1])
        features[start : start + count] = start


@kernel
def _renumber_rows(table: LazyTable, weights: Floats) -> Rows:
    """The new number of each row, the number of rows kept before it: int32 [rows + 1].

    Stale rows are dropped, and so are zero weights, except in dense blocks with few of them.
    """
    new_rows = np.zeros(table.counts[1] + 1, dtype=np.int32)
    for slot in range(len(table.slots)):
        start, _, count = _unpack(table.slots[slot, 1])
        if count == 0 or start < table.first_rows[table.row_templates[start]]:
            continue
        size = 0
        for row in range(start, start + count):
            size += weights[row] != 0
        is_dense = count == table.labels and size > min(count // 2, _MAX_LOOSE_BLOCK)
        for row in range(start, start + count):
            new_rows[row + 1] = is_dense or weights[row] != 0
    for row in range(len(new_rows) - 1):
        new_rows[row + 1] += new_rows[row]
    return new_rows


@kernel
def _move_rows(table: LazyTable, weights: Floats, new_rows: Rows) -> None:
    """Move rows to their new numbers; keys without rows lose their slots."""
    table.active[:] = 0
    table.counts[0] = 0
    for slot in range(len(table.slots)):
        start, _, count = _unpack(table.slots[slot, 1])
        size = new_rows[start + count] - new_rows[start]
        if size > 0:
            table.slots[slot, 1] = _pack(new_rows[start], size, size)
            table.active[table.row_templates[start]] += size
            table.counts[0] += 1
        else:
            table.slots[slot, 0] = table.slots[slot, 1] = np.uint64(0)
    rehash_in_place(table.slots)
    for row in range(len(new_rows) - 1):
        new = new_rows[row]
        if new < new_rows[row + 1]:
            table.row_templates[new] = table.row_templates[row]
            table.row_labels[new] = table.row_labels[row]
            weights[new] = weights[row]
    table.counts[1] = new_rows[-1]


class LazyWeights:
    """The weights of the features of T templates, allocated on first update.

    first: the number of weights that belong to no template, before the others.
    labels: the number of weights that a feature can have.
    """

    def __init__(self, T: int, *, first: int, labels: int) -> None:
        self.first = first
        self.w: Floats = np.zeros(first)
        self.table = LazyTable(
            slots=empty_slots(0),
            row_templates=np.zeros(0, dtype=np.int32),
            row_labels=np.zeros(0, dtype=np.int32),
            first_rows=np.zeros(T, dtype=np.int64),
            active=np.zeros(T, dtype=np.int64),
            counts=np.zeros(3, dtype=np.int64),
            requested=np.zeros(2, dtype=np.int64),
            scales=np.ones(T),
            labels=labels,
        )
        self._peak_bytes = self.bytes

    @property
    def allocated(self) -> int:
        """See ``GroupedStore``: the number of rows in use."""
        return int(self.table.active.sum())

    @property
    def bytes(self) -> int:
        """The memory of table and weights."""
        weights = 8 * (self.first + len(self.table.row_labels))
        return weights + sum(array.nbytes for array in self.table[:-1])

    @property
    def peak_bytes(self) -> int:
        """See ``GroupedStore``."""
        return self._peak_bytes

    def weights(self) -> GroupedWeights:
        """See ``GroupedStore``; valid until ``reserve`` or ``sweep``."""
        table = self.table
        scales = table.scales, table.first_rows
        return GroupedWeights(
            self.w, self.first, 1, int(table.labels), table.row_templates, *scales
        )

    def row_features(self) -> Rows:
        """See ``GroupedStore``: a feature is numbered by its first row: int32 [room]."""
        features = np.empty(len(self.table.row_labels), dtype=np.int32)
        _write_features(self.table, features)
        return features

    def reserve(self) -> None:
        """See ``GroupedStore``."""
        table = self.table
        keys, rows = (int(number) for number in table.counts[:2] + table.requested)
        if rows > len(table.row_labels):
            self._resize(max(rows, int(_GROWTH * table.counts[1])))
        if 3 * keys > 2 * len(table.slots):
            grow_slots(table.slots, max(keys, int(_GROWTH * table.counts[0])) + 1)
        self._peak_bytes = max(self._peak_bytes, self.bytes)

    def rescale(self, factors: Floats) -> None:
        """See ``GroupedStore``: rows of templates with a factor of 0 become stale."""
        table = self.table
        removed = factors == 0
        table.first_rows[removed] = table.counts[1]
        table.active[removed] = 0
        table.scales[:] = np.where(removed, 1.0, table.scales * factors)
        for m in np.flatnonzero(table.scales < _MIN_SCALE):
            _multiply_out(table, int(m), self.w[self.first :])

    def sweep(self) -> None:
        """See ``GroupedStore``: stale rows are removed once they are many."""
        table = self.table
        if self.allocated < _IN_USE * table.counts[1]:
            new_rows = _renumber_rows(table, self.w[self.first :])
            self._peak_bytes = max(self._peak_bytes, self.bytes + new_rows.nbytes)
            _move_rows(table, self.w[self.first :], new_rows)
            table.first_rows[:] = 0
            self._resize(int(table.counts[1]))

    def _resize(self, room: int) -> None:
        """Change the number of allocated rows in place, without copies."""
        before = len(self.table.row_labels)
        self.table.row_templates.resize(room, refcheck=False)
        self.table.row_labels.resize(room, refcheck=False)
        self.table.row_labels[before:] = -1
        self.w.resize(self.first + room, refcheck=False)
