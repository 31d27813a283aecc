"""From 64-bit keys to numbers: one open-addressing table, and the rows of features.

A table is uint64 [capacity, 2] of (key, payload) with linear probing; key 0 marks an
empty slot and stands for "no feature". A key's first slot grows with the key, so that
the high bits, which hashing mixes best, decide.

Rows come from the table (exact: every key its own row), or, where ``width`` is above 0,
from the key itself (hashed: each template owns ``width`` rows, and keys may share one).
"""

from typing import NamedTuple

import numpy as np

from spacy_ssvm._jit import Ints, Keys, Rows, kernel

_SMALLEST_TABLE = 16
_FULL = 2 / 3  # the load above which a table grows


class Table(NamedTuple):
    """What kernels need to find a row."""

    slots: Keys  #: uint64 [capacity, 2]
    width: int  #: rows of each template in a hashed space, 0 for an exact one


def _capacity(size: int) -> int:
    """How many slots there are to be for ``size`` keys."""
    return max(_SMALLEST_TABLE, int(size / _FULL) + 1)


def empty_slots(size: int) -> Keys:
    """Slots with room for ``size`` keys."""
    return np.zeros((_capacity(size), 2), dtype=np.uint64)


def check_slots(slots: Keys) -> None:
    """Raise ValueError where a search in slots from a file might not end."""
    if slots.ndim != 2 or slots.shape[1] != 2:
        raise ValueError(f"a hash table has the shape {slots.shape}, not [capacity, 2]")
    if np.count_nonzero(slots[:, 0]) >= len(slots):
        raise ValueError("a hash table has no empty slot")


def grow_slots(slots: Keys, size: int) -> None:
    """Make room for ``size`` keys, more than before, where the array is."""
    before = len(slots)
    slots.resize((_capacity(size), 2), refcheck=False)
    _spread(slots, before)
    settle(slots)


@kernel
def scaled_key(key: int, size: int) -> int:
    """The high half of a key, scaled to 0..size - 1."""
    scaled = ((key >> np.uint64(32)) * np.uint64(size)) >> np.uint64(32)
    return np.int64(scaled)  # type: ignore[no-any-return]


@kernel
def find_slot(slots: Keys, key: int) -> int:
    """The slot that holds the key, or the empty one where it belongs."""
    slot = scaled_key(key, len(slots))
    while slots[slot, 0] != key and slots[slot, 0] != np.uint64(0):
        slot += 1
        if slot == len(slots):
            slot = 0
    return slot


@kernel
def find_token_rows(table: Table, keys: Keys, rows: Ints) -> int:
    """Write the rows of the keys of one token, leaving out those without; return how many.

    keys: uint64 [T], by template. rows: int64, with room for all.
    """
    T = len(keys)
    if table.width > 0:
        size = 0
        for m in range(T):
            if keys[m] != np.uint64(0):
                rows[size] = m * table.width + scaled_key(keys[m], table.width)
                size += 1
        return size
    # All first slots are asked for before any is looked at: the memory answers in parallel.
    slots = table.slots
    capacity = len(slots)
    for m in range(T):
        slot = scaled_key(keys[m], capacity)
        rows[m] = slot if slots[slot, 0] == keys[m] else -1 - slot
    size = 0
    for m in range(T):
        slot = rows[m]
        if slot < 0 and slots[-1 - slot, 0] != np.uint64(0):
            slot = find_slot(slots, keys[m])
            if slots[slot, 0] != keys[m]:
                slot = -1
        if slot >= 0 and keys[m] != np.uint64(0):
            row = np.int64(slots[slot, 1]) - 1
            if row >= 0:
                rows[size] = row
                size += 1
    return size


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
def move(slots: Keys, new_slots: Keys) -> None:
    """Insert all that one table holds into another."""
    for i in range(len(slots)):
        if slots[i, 0] != np.uint64(0):
            slot = find_slot(new_slots, slots[i, 0])
            new_slots[slot, 0] = slots[i, 0]
            new_slots[slot, 1] = slots[i, 1]


@kernel
def _put_again(slots: Keys, slot: int) -> None:
    """Take a key out, if there is one, and put it into the first slot that is free to it."""
    key, payload = slots[slot, 0], slots[slot, 1]
    if key != np.uint64(0):
        slots[slot, 0] = slots[slot, 1] = np.uint64(0)
        slot = find_slot(slots, key)
        slots[slot, 0] = key
        slots[slot, 1] = payload


@kernel
def _spread(slots: Keys, before: int) -> None:
    """Move the keys of the first ``before`` slots to about where they belong, from the last on.

    Where they go, others have gone from, so that no crowd forms.
    """
    for slot in range(before - 1, -1, -1):
        _put_again(slots, slot)


@kernel
def settle(slots: Keys) -> None:
    """Put each key where it belongs, after others have been taken out.

    In rising order: what is put down again finds all slots below the present one settled. Keys
    from the end that lie at the beginning, as far as the first empty slot, come last.
    """
    for slot in range(len(slots)):
        _put_again(slots, slot)
    slot = 0
    while slots[slot, 0] != np.uint64(0):
        _put_again(slots, slot)
        slot += 1


@kernel
def _count(slots: Keys, keys: Keys, row_keys: Keys, row_templates: Rows, state: Ints) -> None:
    """Count keys [tokens, T]; a key whose count reaches the minimum gets the next row.

    A payload, read as signed, is row + 1, or minus the count of a key still below the minimum.
    row_keys and row_templates get the key and template of new rows.
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
            payload = np.int64(slots[slot, 1])
            if payload <= 0:
                payload -= 1
                if -payload >= state[2]:
                    row_keys[state[1]] = key
                    row_templates[state[1]] = m
                    state[1] += 1
                    payload = state[1]
                slots[slot, 1] = np.uint64(payload)


class FeatureIndex:
    """Gives each feature key its row while a model learns, and knows the template of a row.

    min_count: a key gets a row when it is met for the min_count-th time. Counting is over
        the batches given to ``admit``; occurrences in earlier batches have no feature.
    hash_bits: None for an exact dictionary; else the row space has at most 2**hash_bits
        rows, split evenly over the templates.
    """

    def __init__(self, templates: int, *, min_count: int = 1, hash_bits: int | None = None) -> None:
        self._slots = empty_slots(0)
        self._state = np.array([0, 0, min_count], dtype=np.int64)
        self._row_keys = np.zeros(0, dtype=np.uint64)
        self._row_templates = np.zeros(0, dtype=np.int32)
        self._width = 0
        if hash_bits is not None:
            self._width = max(1, 2**hash_bits // templates)
            self._row_templates = np.repeat(np.arange(templates, dtype=np.int32), self._width)
            self._state[1] = len(self._row_templates)

    @property
    def number_of_rows(self) -> int:
        return int(self._state[1])

    @property
    def row_keys(self) -> Keys:
        """The key of each row: uint64 [rows], empty for a hashed index."""
        return self._row_keys[: self.number_of_rows]

    @property
    def row_templates(self) -> Rows:
        """The template of each row: int32 [rows]."""
        return self._row_templates[: self.number_of_rows]

    @property
    def table(self) -> Table:
        return Table(self._slots, self._width)

    def admit(self, keys: Keys) -> None:
        """Give rows to the keys (uint64 [tokens, T], 0 for none) that earn one."""
        if self._width:
            return
        rows = self.number_of_rows + keys.size
        if rows > len(self._row_keys):
            rows = max(rows, 2 * self.number_of_rows)
            self._row_keys = np.append(self.row_keys, np.zeros(rows, np.uint64))
            self._row_templates = np.append(self.row_templates, np.zeros(rows, np.int32))
        needed = int(self._state[0]) + keys.size
        if needed > _FULL * len(self._slots):
            slots = empty_slots(max(needed, 2 * int(self._state[0])))
            move(self._slots, slots)
            self._slots = slots
        _count(self._slots, keys, self._row_keys, self._row_templates, self._state)

    def load(self, keys: Keys, templates: Rows) -> None:
        """Start an empty exact index with rows 0..n-1 for these keys."""
        self._slots = empty_slots(len(keys))
        self._row_keys = keys.copy()
        self._row_templates = templates.astype(np.int32)
        insert_all(self._slots, keys, np.arange(1, len(keys) + 1, dtype=np.uint64))
        self._state[:2] = len(keys)


@kernel
def find_rows(table: Table, keys: Keys, starts: Ints, rows: Rows) -> int:
    """The rows of keys [tokens, T], token by token, without those that have none.

    Writes starts (int64 [tokens + 1]) and rows (int32, room for all keys); returns how
    many rows there are.
    """
    token_rows = np.empty(keys.shape[1], dtype=np.int64)
    size = 0
    for t in range(keys.shape[0]):
        starts[t] = size
        found = find_token_rows(table, keys[t], token_rows)
        rows[size : size + found] = token_rows[:found]
        size += found
    starts[keys.shape[0]] = size
    return size
