"""Weights allocated on first update and freed when their template is pruned.

A row is the weight of a feature for a label, and belongs to a template. It stays where it is until
``LazyWeights.sweep``. The rows of a feature are in blocks: a loose block has a few labels in order
of insertion. When it is full, another one continues it at the end of the table, behind a header
that says where the full one is; where there are many, a dense block, which has all labels in their
order, those of the blocks before it with a weight of 0. The weights of a template are stored
divided by its scale: shrinking a template is one multiplication, and removing it marks all its
current rows as stale by ``first_rows`` [MSAF11, section 4, "Space and Time Efficiency"]. Stale rows
are removed once they are many. All arrays grow and shrink in place.
"""

from typing import NamedTuple

import numpy as np

from spacy_ssvm.kernels.compile import inner_kernel, kernel
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
_MAX_LOOSE_ROWS = 16  # of a feature; it gets a dense block for more
_HEADER = 2  # rows before a block that continues another; their labels are its place, below -1
_GROWTH = 1.25  # the factor by which a full table grows
_IN_USE = 0.75  # the share of rows in use below which the others are removed
_COUNT_BITS = np.uint64(16)  # of a slot's payload: first row, room, rows in use
_COUNT = np.uint64(0xFFFF)


class LazyTable(NamedTuple):
    """The arrays that kernels read and write."""

    slots: Keys  #: uint64 [capacity, 2]: keys with their block, see ``_pack``
    row_templates: Rows  #: int32 [room]
    row_labels: Rows  #: int32 [room]; negative for rows without a weight
    first_rows: Ints  #: int64 [T]: rows of the template before this one are stale
    active: Ints  #: int64 [T]: the number of rows in use
    counts: Ints  #: int64 [3]: keys in the slots, rows, rows of headers
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
    """The first row of a block, its room, and the number of rows in use.

    The room of a dense block that continues others is one more than its rows.
    """
    room = (payload >> _COUNT_BITS) & _COUNT
    start = payload >> (_COUNT_BITS + _COUNT_BITS)
    return np.int64(start), np.int64(room), np.int64(payload & _COUNT)


@inner_kernel
def block_before(table: LazyTable, start: int) -> tuple[int, int]:
    """The first row of the block that a block continues, and the number of its rows; 0 for none."""
    labels = table.row_labels
    if start < _HEADER or labels[start - 1] >= -1:
        return 0, 0
    return -2 - np.int64(labels[start - 2]), -2 - np.int64(labels[start - 1])


@kernel
def _write_header(table: LazyTable, start: int, before: int, count: int) -> None:
    """Say which block this one continues."""
    table.row_labels[start - 2] = -2 - before
    table.row_labels[start - 1] = -2 - count


@kernel
def find_blocks(table: LazyTable, keys: Keys, starts: Ints, counts: Ints) -> None:
    """Write the last block of each template's key (uint64 [T]): first row, number of rows.

    The number is one more for a dense block that continues others.
    """
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
        start, room, count = _unpack(slots[slot, 1])
        if start >= table.first_rows[m]:
            starts[m] = start
            counts[m] = max(count, room) if count == table.labels else count


@kernel
def find_block(table: LazyTable, m: int, key: int) -> tuple[int, int]:
    """The first row of the last block of a key of template m, and the number of its rows."""
    slot = find_slot(table.slots, key)
    if table.slots[slot, 0] == np.uint64(0):
        return 0, 0
    start, _, count = _unpack(table.slots[slot, 1])
    return start, count if start >= table.first_rows[m] else 0


@kernel
def has_capacity(table: LazyTable, features: int) -> bool:
    """Whether that many features can get rows; if not, the capacity is requested."""
    rows = features * (table.labels + (_HEADER if table.labels > 1 else 0))
    is_wide = table.counts[1] + rows <= len(table.row_labels)
    if is_wide and 3 * (table.counts[0] + features) <= 2 * len(table.slots):
        return True
    table.requested[0] = features
    table.requested[1] = rows
    return False


@kernel
def _find_labels(table: LazyTable, start: int, count: int, labels: Ints, rows: Ints) -> int:
    """Write the row of each label of a key, -1 for none; return the number of its loose rows.

    start, count: its last block. A label has its first row: what a dense block continues counts.
    """
    is_dense, first = count == table.labels, start
    if is_dense:
        start, count = block_before(table, start)
    total = 0
    for j in range(len(labels)):
        rows[j] = first + labels[j] if is_dense else -1
    while count > 0:
        total += count
        for j in range(len(labels)):
            for row in range(start, start + count):
                if table.row_labels[row] == labels[j]:
                    rows[j] = row
                    break
        start, count = block_before(table, start)
    return total


@kernel
def _append_block(table: LazyTable, m: int, room: int, full: int, count: int) -> int:
    """Append a block of template m, which continues one with ``count`` rows from ``full`` on.

    Returns its first row. A block that continues none, for a count of 0, has no header.
    """
    end = table.counts[1]
    start = end + (_HEADER if count > 0 else 0)
    table.counts[1] = start + room
    table.counts[2] += start - end
    table.row_templates[end : start + room] = m
    for k in range(room):
        table.row_labels[start + k] = k if room == table.labels else -1
    if count > 0:
        _write_header(table, start, full, count)
    return start  # type: ignore[no-any-return]


@kernel
def get_or_insert(table: LazyTable, m: int, key: int, labels: Ints, rows: Ints) -> None:
    """Write the rows of a key of template m for some labels, inserting those that are missing.

    labels: int64, all different. rows: int64. Rows that are inserted have a weight of 0.
    """
    slot = find_slot(table.slots, key)
    if table.slots[slot, 0] == np.uint64(0):
        table.slots[slot, 0] = key
        table.counts[0] += 1
    start, room, count = _unpack(table.slots[slot, 1])
    if start < table.first_rows[m]:
        start, room, count = 0, 0, 0
    if count == table.labels and count == room:
        for j in range(len(labels)):
            rows[j] = start + labels[j]
        return
    total = _find_labels(table, start, count, labels, rows)
    missing = (rows[: len(labels)] < 0).sum()
    for j in range(len(labels)):
        if rows[j] >= 0:
            continue
        if count == room and count < table.labels:
            size = max(total, missing)
            if total + size > min(table.labels - 1, _MAX_LOOSE_ROWS):
                size = table.labels
            start, count = _append_block(table, m, size, start, count), 0
            room = size
            if size == table.labels:
                count, room = size, size + (total > 0)
                table.active[m] += size - total
        if count == table.labels:
            rows[j] = start + labels[j]
        else:
            rows[j] = start + count
            table.row_labels[rows[j]] = labels[j]
            table.active[m] += 1
            count += 1
            total += 1
        missing -= 1
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
    """Write the feature of each row (``row_features``); for rows out of use, any number."""
    features[:] = 0
    for slot in range(len(table.slots)):
        start, _, count = _unpack(table.slots[slot, 1])
        feature = start
        while count > 0:
            features[start : start + count] = feature
            start, count = block_before(table, start)


@kernel
def _fold(table: LazyTable, weights: Floats, dense: int) -> None:
    """Move the weights of all blocks that a dense one continues into it."""
    start, count = block_before(table, dense)
    while count > 0:
        for row in range(start, start + count):
            weights[dense + table.row_labels[row]] += weights[row]
            weights[row] = 0.0
        start, count = block_before(table, start)


@kernel
def _mark_block(table: LazyTable, weights: Floats, start: int, count: int, kept: Rows) -> int:
    """Mark the rows of a block to be kept (int32 [rows]); return their number.

    Zero weights are dropped, except in dense blocks with few of them.
    """
    size = 0
    for row in range(start, start + count):
        size += weights[row] != 0
    is_dense = count == table.labels and size > min(count // 2, _MAX_LOOSE_ROWS)
    for row in range(start, start + count):
        kept[row] = is_dense or weights[row] != 0
    return size


@kernel
def _renumber_rows(table: LazyTable, weights: Floats) -> Rows:
    """The new number of each row: how many rows, none of them stale, are kept before it."""
    new_rows = np.zeros(table.counts[1] + 1, dtype=np.int32)
    kept = new_rows[1:]
    table.counts[2] = 0
    for slot in range(len(table.slots)):
        start, _, count = _unpack(table.slots[slot, 1])
        if count == 0 or start < table.first_rows[table.row_templates[start]]:
            continue
        later = -1  # the last block before this one on the way that is kept
        if count == table.labels:
            _fold(table, weights, start)
        while count > 0:
            if _mark_block(table, weights, start, count, kept) > 0:
                if later >= 0:
                    kept[later - _HEADER : later] = 1
                    table.counts[2] += _HEADER
                later = start
            start, count = block_before(table, start)
    for row in range(len(kept)):
        new_rows[row + 1] += new_rows[row]
    return new_rows


@kernel
def _move_blocks(table: LazyTable, new_rows: Rows) -> None:
    """Write into slots and headers where blocks will be; keys without rows lose their slots."""
    table.active[:] = 0
    table.counts[0] = 0
    for slot in range(len(table.slots)):
        start, _, count = _unpack(table.slots[slot, 1])
        later = -1
        while count > 0:
            full = block_before(table, start)
            new, size = new_rows[start], new_rows[start + count] - new_rows[start]
            if size > 0:
                if later < 0:
                    table.slots[slot, 1] = _pack(new, size, size)
                    table.counts[0] += 1
                else:
                    _write_header(table, later, new, size)
                table.active[table.row_templates[start]] += size
                later = start
            start, count = full
        if later < 0:
            table.slots[slot, 0] = table.slots[slot, 1] = np.uint64(0)
    rehash_in_place(table.slots)


@kernel
def _move_rows(table: LazyTable, weights: Floats, new_rows: Rows) -> None:
    """Move rows to their new numbers."""
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
        return self._peak_bytes

    def weights(self) -> GroupedWeights:
        """See ``GroupedStore``; valid until ``reserve`` or ``sweep``."""
        table = self.table
        scales = table.scales, table.first_rows
        return GroupedWeights(
            self.w, self.first, 1, int(table.labels), table.row_templates, *scales
        )

    def row_features(self) -> Rows:
        """See ``GroupedStore``: a feature has the number of its last block's first row."""
        features = np.empty(len(self.table.row_labels), dtype=np.int32)
        _write_features(self.table, features)
        return features

    def reserve(self) -> None:
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
        if self.allocated + table.counts[2] < _IN_USE * table.counts[1]:
            new_rows = _renumber_rows(table, self.w[self.first :])
            self._peak_bytes = max(self._peak_bytes, self.bytes + new_rows.nbytes)
            _move_blocks(table, new_rows)
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
