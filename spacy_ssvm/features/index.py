"""From 64-bit keys to numbers: one open-addressing table, and the rows of features.

A table is uint64 [capacity, 2] of (key, payload) with linear probing; key 0 marks an
empty slot and stands for "no feature". A key's first slot grows with the key, so that
the high bits, which hashing mixes best, decide.

Rows come from the table (exact: every key its own row), or, where ``width`` is above 0,
from the key itself (hashed: each template owns ``width`` rows, and keys may share one).
"""

from typing import NamedTuple

import numpy as np

from spacy_ssvm._jit import Ints, Keys, Keys2, Rows, kernel, named_tuple, types

_SMALLEST_TABLE = 16
_FULL = 2 / 3  # the load above which a table grows


class Table(NamedTuple):
    """What kernels need to find a row."""

    slots: Keys  #: uint64 [capacity, 2]
    width: int  #: rows of each template in a hashed space, 0 for an exact one


TableType = named_tuple(Table, Keys2, types.int64)


def empty_slots(size: int) -> Keys:
    """Slots with room for ``size`` keys."""
    return np.zeros((max(_SMALLEST_TABLE, int(size / _FULL) + 1), 2), dtype=np.uint64)


@kernel
def find_slot(slots: Keys, key: int) -> int:
    """The slot that holds the key, or the empty one where it belongs."""
    capacity = np.uint64(len(slots))
    slot = np.int64(((key >> np.uint64(32)) * capacity) >> np.uint64(32))
    while slots[slot, 0] != key and slots[slot, 0] != np.uint64(0):
        slot += 1
        if slot == len(slots):
            slot = 0
    return slot


@kernel
def find_row(table: Table, key: int, template: int) -> int:
    """The row of a key of a template, or -1 where it has none."""
    if key == np.uint64(0):
        return -1
    if table.width > 0:
        width = np.uint64(table.width)
        return template * table.width + np.int64(
            ((key >> np.uint64(32)) * width) >> np.uint64(32)
        )
    slot = find_slot(table.slots, key)
    if table.slots[slot, 0] != key:
        return -1
    return np.int64(table.slots[slot, 1]) - 1


@kernel
def find_payloads(slots: Keys, keys: Keys, payloads: Ints) -> int:
    """Write each key's payload, -1 where the table lacks it; return the number of those."""
    missing = 0
    for i in range(len(keys)):
        slot = find_slot(slots, keys[i])
        if slots[slot, 0] == keys[i]:
            payloads[i] = np.int64(slots[slot, 1])
        else:
            payloads[i] = -1
            missing += 1
    return missing


@kernel
def insert_all(slots: Keys, keys: Keys, payloads: Keys) -> None:
    """Insert keys with their payloads; a key that is there already gets the new one."""
    for i in range(len(keys)):
        slot = find_slot(slots, keys[i])
        slots[slot, 0] = keys[i]
        slots[slot, 1] = payloads[i]


@kernel
def _count(slots: Keys, counts: Rows, keys: Keys, templates: Rows, state: Ints) -> None:
    """Count keys [tokens, T]; a key whose count reaches the minimum gets the next row.

    A payload is row + 1, or 0 for a key still below the minimum. counts int32 [capacity]
    belong to the slots; templates int32 [rows] gets the template of each new row.
    state: keys in the table, rows, minimum count.
    """
    tokens, T = keys.shape
    for t in range(tokens):
        for m in range(T):
            key = keys[t, m]
            if key == np.uint64(0):
                continue
            slot = find_slot(slots, key)
            if slots[slot, 0] == np.uint64(0):
                slots[slot, 0] = key
                state[0] += 1
            if slots[slot, 1] == np.uint64(0):
                counts[slot] += 1
                if counts[slot] >= state[2]:
                    templates[state[1]] = m
                    state[1] += 1
                    slots[slot, 1] = np.uint64(state[1])


@kernel
def _move(slots: Keys, counts: Rows, new_slots: Keys, new_counts: Rows) -> None:
    for i in range(len(slots)):
        if slots[i, 0] != np.uint64(0):
            slot = find_slot(new_slots, slots[i, 0])
            new_slots[slot, 0] = slots[i, 0]
            new_slots[slot, 1] = slots[i, 1]
            new_counts[slot] = counts[i]


class FeatureIndex:
    """Gives each feature key its row while a model learns, and knows the template of a row.

    min_count: a key gets a row when it is met for the min_count-th time. Counting is over
        the batches given to ``admit``; occurrences in earlier batches have no feature.
    hash_bits: None for an exact dictionary; else the row space has at most 2**hash_bits
        rows, split evenly over the templates.
    """

    def __init__(self, templates: int, *, min_count: int = 1, hash_bits: int | None = None) -> None:
        self.number_of_templates = templates
        self._slots = empty_slots(0)
        self._counts = np.zeros(len(self._slots), dtype=np.int32)
        self._state = np.array([0, 0, min_count], dtype=np.int64)
        self._width = 0
        self._templates = np.zeros(0, dtype=np.int32)
        if hash_bits is not None:
            self._width = max(1, 2**hash_bits // templates)
            self._templates = np.repeat(np.arange(templates, dtype=np.int32), self._width)
            self._state[1] = len(self._templates)

    @property
    def number_of_rows(self) -> int:
        return int(self._state[1])

    @property
    def row_templates(self) -> Rows:
        """The template of each row: int32 [rows]."""
        return self._templates[: self.number_of_rows]

    @property
    def table(self) -> Table:
        return Table(self._slots, self._width)

    def admit(self, keys: Keys) -> None:
        """Give rows to the keys (uint64 [tokens, T], 0 for none) that earn one."""
        if self._width:
            return
        # A batch brings at most as many new keys as it has cells; tables double, so that
        # moving costs a constant per key.
        needed = int(self._state[0]) + int(np.count_nonzero(keys))
        if needed > _FULL * len(self._slots):
            self._reserve(max(needed, 2 * int(self._state[0])))
        if len(self._templates) < self.number_of_rows + keys.size:
            grown = np.zeros(2 * self.number_of_rows + keys.size, dtype=np.int32)
            grown[: self.number_of_rows] = self.row_templates
            self._templates = grown
        _count(self._slots, self._counts, keys, self._templates, self._state)

    def load(self, keys: Keys, templates: Rows) -> None:
        """Start an empty exact index with rows 0..n-1 for these keys."""
        self._slots = empty_slots(len(keys))
        self._counts = np.zeros(len(self._slots), dtype=np.int32)
        insert_all(self._slots, keys, np.arange(1, len(keys) + 1, dtype=np.uint64))
        self._templates = templates.astype(np.int32)
        self._state[:2] = len(keys)

    def keys(self) -> Keys:
        """The key of each row: uint64 [rows] (of an exact index)."""
        used = self._slots[self._slots[:, 1] > 0]
        keys = np.empty(self.number_of_rows, dtype=np.uint64)
        keys[used[:, 1].astype(np.int64) - 1] = used[:, 0]
        return keys

    def _reserve(self, size: int) -> None:
        slots = empty_slots(size)
        counts = np.zeros(len(slots), dtype=np.int32)
        _move(self._slots, self._counts, slots, counts)
        self._slots, self._counts = slots, counts
