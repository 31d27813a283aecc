"""Weights of features that come when a learner first touches them, and go with their template.

A row is the weight of a feature for a label; the rows of a feature are a chain. A row belongs to
a template. The weights of a template are stored divided by its scale, so that
to shrink a template is one multiplication, and to remove it is to note that its rows, all those
so far, are void: ``first_rows`` [MSAF11, section 4, "Space and Time Efficiency"]. Void rows are
swept out when they are the larger part.
"""

from typing import NamedTuple

import numpy as np

from spacy_ssvm._jit import (
    Floats,
    Floats1,
    Ints,
    Ints1,
    Keys,
    Keys1,
    Keys2,
    Rows,
    Rows1,
    kernel,
    named_tuple,
)
from spacy_ssvm.features.index import empty_slots, find_slot, move, scaled_key

_LEAST_SCALE = 1e-6  # below it, weights are multiplied out


class LazyTable(NamedTuple):
    """What kernels read and change."""

    slots: Keys  #: uint64 [capacity, 2]: keys with their newest row + 1, see ``index.py``
    row_keys: Keys  #: uint64 [room]
    row_templates: Rows  #: int32 [room]
    row_labels: Rows  #: int32 [room]
    older: Rows  #: int32 [room]: the row before this one of the same feature, -1 for none
    first_rows: Ints  #: int64 [T]: rows of the template before this one are void
    live: Ints  #: int64 [T]: how many rows are not
    counts: Ints  #: int64 [2]: keys in the slots, rows
    asked: Ints  #: int64 [2]: for how many more keys and rows there was no room
    scales: Floats  #: float64 [T]


LazyTableType = named_tuple(
    LazyTable, Keys2, Keys1, Rows1, Rows1, Rows1, Ints1, Ints1, Ints1, Ints1, Floats1
)


@kernel
def find_live_rows(table: LazyTable, keys: Keys, rows: Ints) -> None:
    """Write the newest row of each template's key (uint64 [T]) for one token, -1 for none."""
    slots, capacity = table.slots, len(table.slots)
    for m in range(len(keys)):  # all first slots are asked for before any is looked at
        rows[m] = -1
        if table.live[m] > 0 and keys[m] != np.uint64(0):
            rows[m] = scaled_key(keys[m], capacity)
    for m in range(len(keys)):
        slot = rows[m]
        if slot < 0:
            continue
        rows[m] = -1
        if slots[slot, 0] == np.uint64(0):
            continue
        if slots[slot, 0] != keys[m]:
            slot = find_slot(slots, keys[m])
            if slots[slot, 0] != keys[m]:
                continue
        row = np.int64(slots[slot, 1]) - 1
        if row >= table.first_rows[m]:
            rows[m] = row


@kernel
def find_live_row(table: LazyTable, m: int, key: int) -> int:
    """The newest row of a key of template m, -1 for none."""
    slot = find_slot(table.slots, key)
    if table.slots[slot, 0] == np.uint64(0):
        return -1
    row = np.int64(table.slots[slot, 1]) - 1
    return row if row >= table.first_rows[m] else -1


@kernel
def has_room(table: LazyTable, features: int, labels: int) -> bool:
    """Whether so many features can get rows for so many labels; if not, that is noted."""
    keys, rows = table.counts[0] + features, table.counts[1] + features * labels
    if 3 * keys <= 2 * len(table.slots) and rows <= len(table.row_keys):
        return True
    table.asked[0] = features
    table.asked[1] = features * labels
    return False


@kernel
def _add_row(table: LazyTable, slot: int, m: int, key: int, label: int, older: int) -> int:
    """A new row, the newest of the key in this slot."""
    row = table.counts[1]
    table.row_keys[row] = key
    table.row_templates[row] = m
    table.row_labels[row] = label
    table.older[row] = older
    table.counts[1] += 1
    table.live[m] += 1
    table.slots[slot, 1] = np.uint64(row + 1)
    return row  # type: ignore[no-any-return]


@kernel
def _claim_slot(table: LazyTable, key: int) -> int:
    """The slot of a key, which gets one where it has none."""
    slot = find_slot(table.slots, key)
    if table.slots[slot, 0] == np.uint64(0):
        table.slots[slot, 0] = key
        table.counts[0] += 1
    return slot


@kernel
def admit(table: LazyTable, m: int, key: int, label: int) -> int:
    """The row of a key of template m for a label, a new one where it has none."""
    slot = _claim_slot(table, key)
    newest = np.int64(table.slots[slot, 1]) - 1
    if newest < table.first_rows[m]:
        newest = -1
    row = newest
    while row >= 0:
        if table.row_labels[row] == label:
            return row  # type: ignore[no-any-return]
        row = np.int64(table.older[row])
    return _add_row(table, slot, m, key, label, newest)


@kernel
def admit_all(table: LazyTable, m: int, key: int, rows: Ints) -> None:
    """Write the rows of a key of template m for all labels, new ones where it has none."""
    slot = _claim_slot(table, key)
    newest = np.int64(table.slots[slot, 1]) - 1
    if newest < table.first_rows[m]:
        newest = -1
    rows[:] = -1
    row = newest
    while row >= 0:
        rows[table.row_labels[row]] = row
        row = np.int64(table.older[row])
    for label in range(len(rows)):
        if rows[label] < 0:
            newest = _add_row(table, slot, m, key, label, newest)
            rows[label] = newest


@kernel
def _link(slots: Keys, keys: Keys, older: Rows) -> int:
    """Chain rows (with keys uint64 [rows]) in empty slots; return the number of chains."""
    chains = 0
    for row in range(len(keys)):
        slot = find_slot(slots, keys[row])
        chains += slots[slot, 0] == np.uint64(0)
        slots[slot, 0] = keys[row]
        older[row] = np.int64(slots[slot, 1]) - 1
        slots[slot, 1] = np.uint64(row + 1)
    return chains


@kernel
def _multiply_out(table: LazyTable, m: int, w: Floats) -> None:
    """Give template m the scale 1; w: float64 [room]."""
    for row in range(table.first_rows[m], table.counts[1]):
        if table.row_templates[row] == m:
            w[row] *= table.scales[m]
    table.scales[m] = 1.0


class LazyIndex:
    """The rows of T templates. Their weights are kept by others: float64 [first + room]."""

    def __init__(self, T: int, *, first: int) -> None:
        self.first = first
        self.table = LazyTable(
            empty_slots(0),
            np.zeros(0, dtype=np.uint64),
            np.zeros(0, dtype=np.int32),
            np.zeros(0, dtype=np.int32),
            np.zeros(0, dtype=np.int32),
            np.zeros(T, dtype=np.int64),
            np.zeros(T, dtype=np.int64),
            np.zeros(2, dtype=np.int64),
            np.zeros(2, dtype=np.int64),
            np.ones(T),
        )
        self.peak_bytes = self.bytes

    @property
    def number_of_rows(self) -> int:
        """Those that are not void."""
        return int(self.table.live.sum())

    @property
    def bytes(self) -> int:
        """What the table and the weights take."""
        weights = 8 * (self.first + len(self.table.row_keys))
        return weights + sum(array.nbytes for array in self.table)

    def make_room(self, w: Floats) -> Floats:
        """Make room for what was asked; return the weights with those of the new rows."""
        table = self.table
        keys, rows = (int(number) for number in table.counts + table.asked)
        replaced = 0
        if rows > len(table.row_keys):
            room = max(rows, 3 * int(table.counts[1]) // 2)
            replaced += w.nbytes
            w = np.append(w, np.zeros(self.first + room - len(w)))
            self._move_rows(np.arange(table.counts[1]), room)
        if 3 * keys > 2 * len(table.slots):
            slots = empty_slots(max(keys, 3 * int(table.counts[0]) // 2) + 1)
            replaced += table.slots.nbytes
            move(table.slots, slots)
            self.table = self.table._replace(slots=slots)
        self.peak_bytes = max(self.peak_bytes, self.bytes + replaced)
        return w

    def rescale(self, w: Floats, factors: Floats) -> None:
        """Multiply the weights of each template; those with a factor of 0 lose their rows."""
        table = self.table
        dead = factors == 0
        table.first_rows[dead] = table.counts[1]
        table.live[dead] = 0
        table.scales[:] = np.where(dead, 1.0, table.scales * factors)
        for m in np.flatnonzero(table.scales < _LEAST_SCALE):
            _multiply_out(table, int(m), w[self.first :])

    def sweep(self, w: Floats) -> Floats:
        """Free the memory of void rows, once they are the larger part; return the weights."""
        table = self.table
        if 2 * self.number_of_rows > table.counts[1]:
            return w
        rows = np.arange(table.counts[1])
        weights = w[self.first : self.first + len(rows)]
        kept = rows[(rows >= table.first_rows[table.row_templates[: len(rows)]]) & (weights != 0)]
        replaced = w.nbytes
        w = np.concatenate([w[: self.first], weights[kept]])
        self._move_rows(kept, len(kept))
        slots = empty_slots(len(kept) + 1)
        chains = _link(slots, self.table.row_keys, self.table.older)
        self.table = self.table._replace(slots=slots)
        table.first_rows[:] = 0
        table.live[:] = np.bincount(self.table.row_templates, minlength=len(table.live))
        table.counts[:] = chains, len(kept)
        self.peak_bytes = max(self.peak_bytes, self.bytes + replaced)
        return w

    def _move_rows(self, kept: Ints, room: int) -> None:
        """Keep these rows in arrays with so much room."""
        moved = {}
        for name in ("row_keys", "row_templates", "row_labels", "older"):
            array = getattr(self.table, name)
            moved[name] = np.full(room, -1 if name == "older" else 0, dtype=array.dtype)
            moved[name][: len(kept)] = array[kept]
        self.table = self.table._replace(**moved)
