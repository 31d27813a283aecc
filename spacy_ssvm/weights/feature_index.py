"""The rows of features in training, by the first 40 bits of their keys: see ``key_table.py``.

An exact index gives each key a row of its own, by a hash table. A hashed index computes the row
from the key: each template owns ``rows_per_template`` rows, and keys may share one.
"""

from typing import NamedTuple

import numpy as np

from spacy_ssvm.kernels.compile import inlined_kernel, inner_kernel, kernel
from spacy_ssvm.kernels.types import Ints, Keys, Rows
from spacy_ssvm.weights.growing import longer
from spacy_ssvm.weights.hash_table import (
    MAX_LOAD,
    empty_slots,
    find_slot,
    grown_slots,
    insert_all,
    number_keys,
    scaled_key,
)
from spacy_ssvm.weights.key_table import as_feature, short_keys

_GROWTH = 1.25  # the factor by which full slots grow
_MORE = 20_000  # there is room for so many of the next keys, when it has grown


class Table(NamedTuple):
    """The arrays that kernels need to find a row."""

    slots: Keys  #: uint64 [capacity, 2]
    rows_per_template: int  #: rows of each template in a hashed space, 0 for an exact one


@inlined_kernel
def find_token_rows(table: Table, keys: Keys, rows: Ints) -> int:
    """Write the rows of the keys of one token, skipping keys without one; return their number.

    keys: uint64 [T], by template. rows: int64, with room for all.
    """
    T, rows_per_template = len(keys), table.rows_per_template
    if rows_per_template > 0:
        size = 0
        for m in range(T):
            if keys[m] != np.uint64(0):
                rows[size] = m * rows_per_template + scaled_key(keys[m], rows_per_template)
                size += 1
        return size
    # All first slots are loaded before any is used: memory accesses overlap.
    slots = table.slots
    capacity = len(slots)
    for m in range(T):
        slot = scaled_key(keys[m], capacity)
        rows[m] = slot if slots[slot, 0] == as_feature(keys[m]) else -1 - slot
    size = 0
    for m in range(T):
        slot, key = rows[m], as_feature(keys[m])
        if slot < 0 and slots[-1 - slot, 0] != np.uint64(0):
            slot = find_slot(slots, key)
            if slots[slot, 0] != key:
                slot = -1
        if slot >= 0 and key != np.uint64(0):
            row = np.int64(slots[slot, 1]) - 1
            if row >= 0:
                rows[size] = row
                size += 1
    return size


@inner_kernel
def _count_key(
    slots: Keys, key: int, m: int, row_keys: Keys, row_templates: Rows, state: Ints
) -> None:
    """Count a key of template m; see ``_count``."""
    key = as_feature(key)
    if key == np.uint64(0):
        return
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


@inlined_kernel
def _has_room(slots: Keys, row_keys: Keys, state: Ints, keys: int) -> bool:
    """Whether there is room for so many keys, as if all were new."""
    return bool(state[0] + keys <= MAX_LOAD * len(slots) and state[1] + keys <= len(row_keys))


@kernel
def _count(
    slots: Keys, keys: Keys, first: int, row_keys: Keys, row_templates: Rows, state: Ints
) -> int:
    """Count keys [tokens, T]; a key whose count reaches the minimum gets the next row.

    A payload, read as signed, is row + 1, or minus the count of a key still below the minimum.
    first: the token to begin with. Returns the first one that there is no room for.
    row_keys and row_templates get the key and template of new rows.
    state: keys in the table, rows, minimum count.
    """
    tokens: int = len(keys)
    T = keys.shape[1]
    for t in range(first, tokens):
        if not _has_room(slots, row_keys, state, T):
            return t
        for m in range(T):
            _count_key(slots, keys[t, m], m, row_keys, row_templates, state)
    return tokens


@kernel
def _count_sparse(
    slots: Keys,
    keys: Keys,
    templates: Rows,
    first: int,
    row_keys: Keys,
    row_templates: Rows,
    state: Ints,
) -> int:
    """Count keys [features], none of them 0, of these templates; see ``_count``."""
    for i in range(first, len(keys)):
        if not _has_room(slots, row_keys, state, 1):
            return i
        _count_key(slots, keys[i], templates[i], row_keys, row_templates, state)
    return len(keys)


class FeatureIndex:
    """Assigns rows to feature keys during training, and records the template of each row.

    The keys of rows are given as ``as_feature`` makes them.

    min_count: a key gets a row at its min_count-th occurrence. Occurrences are counted over the
        batches given to ``insert``; those in earlier batches have no feature.
    rows_per_template: the number of hashed rows of each template; 0 for an exact index.
    """

    def __init__(self, templates: int, *, min_count: int = 1, rows_per_template: int = 0) -> None:
        self._slots = empty_slots(0)
        self._state = np.array([0, 0, min_count], dtype=np.int64)
        self._row_keys = np.zeros(0, dtype=np.uint64)
        self._row_templates = np.zeros(0, dtype=np.int32)
        self._rows_per_template = rows_per_template
        self._is_fixed = False  # whether insert has no effect
        if rows_per_template:
            self._row_templates = np.repeat(np.arange(templates, dtype=np.int32), rows_per_template)
            self._state[1] = len(self._row_templates)

    @property
    def is_hashed(self) -> bool:
        return self._rows_per_template > 0

    @property
    def min_count(self) -> int:
        return int(self._state[2])

    @property
    def number_of_rows(self) -> int:
        return int(self._state[1])

    @property
    def bytes(self) -> int:
        """The memory of the index."""
        return self._slots.nbytes + self._row_keys.nbytes + self._row_templates.nbytes

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
        return Table(self._slots, self._rows_per_template)

    def insert(self, keys: Keys) -> None:
        """Count keys (uint64 [tokens, T], 0 for none); those that reach min_count get rows."""
        if not self._rows_per_template and not self._is_fixed:
            done = 0
            while done < len(keys):
                self._make_room(keys.shape[1], keys[done:].size)
                done = _count(self._slots, keys, done, *self._new)

    def insert_sparse(self, keys: Keys, templates: Rows) -> None:
        """The same for keys of any templates: uint64 [features], none of them 0.

        templates: int32 [features], the template of each key.
        """
        if not self._rows_per_template:
            done = 0
            while done < len(keys):
                self._make_room(1, len(keys) - done)
                done = _count_sparse(self._slots, keys, templates, done, *self._new)

    @property
    def _new(self) -> tuple[Keys, Rows, Ints]:
        """What keys that are new change besides the slots."""
        return self._row_keys, self._row_templates, self._state

    def _make_room(self, keys: int, remaining: int) -> None:
        """Make room for so many keys, as if all were new, and for some of those that remain."""
        found, rows = int(self._state[0]), self.number_of_rows
        more = max(keys, min(remaining, _MORE))
        if rows + keys > len(self._row_keys):
            self._row_keys = longer(self._row_keys, rows + more)
            self._row_templates = longer(self._row_templates, rows + more)
        if found + keys > MAX_LOAD * len(self._slots):
            self._slots = grown_slots(self._slots, max(found + more, int(_GROWTH * found)))

    def keep(self, rows: Ints) -> None:
        """Keep only these rows of an exact index, in this order; keys without rows count anew."""
        self._row_keys, self._row_templates = self._row_keys[rows], self._row_templates[rows]
        self._slots = empty_slots(int(_GROWTH * len(rows)))
        payloads = np.arange(1, len(rows) + 1, dtype=np.uint64)
        insert_all(self._slots, self._row_keys, payloads)
        self._state[:2] = len(rows)

    def load(self, keys: Keys, templates: Rows) -> None:
        """Initialize an empty exact index with rows 0..n-1 for these keys."""
        self._slots = number_keys(keys)
        self._row_keys = keys.copy()
        self._row_templates = templates.astype(np.int32)
        self._state[:2] = len(keys)

    def fix(self, keys: Keys, templates: Rows) -> None:
        """The same; ``insert`` then gives rows to no others. The keys are whole ones."""
        self.load(short_keys(keys), templates)
        self._is_fixed = True


@inner_kernel
def find_sparse_rows(table: Table, keys: Keys, templates: Rows, size: int, rows: Ints) -> int:
    """Write the rows of the first ``size`` keys, skipping keys without one; return their number.

    keys: uint64, none of them 0; templates: int32, the template of each key.
    rows: int64, with room for all. Hashed keys of one template can share a row, which then
    repeats.
    """
    rows_per_template, found = table.rows_per_template, 0
    for i in range(size):
        if rows_per_template > 0:
            row = templates[i] * rows_per_template + scaled_key(keys[i], rows_per_template)
        else:
            key = as_feature(keys[i])
            slot = find_slot(table.slots, key)
            row = np.int64(table.slots[slot, 1]) - 1 if table.slots[slot, 0] == key else -1
        if row >= 0:
            rows[found] = row
            found += 1
    return found


@kernel
def find_unit_rows(
    table: Table, starts: Ints, keys: Keys, templates: Rows, row_starts: Ints, rows: Rows
) -> int:
    """The rows of sparse keys, unit by unit, skipping keys without one; return their number.

    starts: int64 [units + 1]: the first key of each unit.
    Writes row_starts (int64 [units + 1]) and rows (int32, room for all keys).
    """
    unit_rows = np.empty(len(keys), dtype=np.int64)
    size = 0
    for u in range(len(starts) - 1):
        first, last = starts[u], starts[u + 1]
        row_starts[u] = size
        found = find_sparse_rows(
            table, keys[first:last], templates[first:last], last - first, unit_rows
        )
        rows[size : size + found] = unit_rows[:found]
        size += found
    row_starts[len(starts) - 1] = size
    return size


@kernel
def find_rows(table: Table, keys: Keys, starts: Ints, rows: Rows) -> int:
    """The rows of keys [tokens, T], token by token, skipping keys without one.

    Writes starts (int64 [tokens + 1]) and rows (int32, room for all keys); returns
    the number of rows.
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
