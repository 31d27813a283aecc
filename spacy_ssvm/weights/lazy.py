"""Weights allocated on first update and freed when their template is pruned.

An entry is the weight of a feature for a label. It stays where it is until ``LazyWeights.sweep``.
The entries of a feature are in blocks: a loose block has a few labels in order of insertion. When
it is full, another one continues it at the end of the table, behind a header that says where the
full one is; where there are many, a dense block, which has all labels in their order, those of the
blocks before it with a weight of 0. ``rows.py`` has the same blocks for features with rows.

The features here are found by their keys, and belong to templates. The weights of a template are
stored divided by its scale: shrinking a template is one multiplication, and removing it marks all
its current entries as stale by ``first_entries`` [MSAF11, section 4, "Space and Time Efficiency"].
Stale entries are removed once they are many. All arrays grow and shrink in place.
"""

from typing import NamedTuple, Protocol

import numpy as np

from spacy_ssvm.kernels.compile import inlined_kernel, inner_kernel, kernel
from spacy_ssvm.kernels.types import (
    Bool,
    Floats,
    Floats1,
    Int,
    Ints,
    Ints1,
    Keys,
    Keys2,
    Labels,
    Rows,
    Rows1,
    named_tuple,
)
from spacy_ssvm.weights.groups import GroupedWeights
from spacy_ssvm.weights.hash_table import (
    empty_slots,
    find_slot,
    grown_slots,
    rehash_in_place,
    scaled_key,
)

_MIN_SCALE = 1e-50  # below it, weights are multiplied out
_MAX_LOOSE = 16  # of a feature; it gets a dense block for more
HEADER = 2  # entries before a block that continues another; their labels are its place, below -1
GROWTH = 1.25  # the factor by which a full table grows
_IN_USE = 0.75  # the share of entries in use below which the others are removed
_COUNT_BITS = np.uint64(16)  # of a slot's payload: first entry, room, entries in use
_COUNT = np.uint64(0xFFFF)


class BlockTable(Protocol):
    """What a table needs for blocks."""

    @property
    def entry_labels(self) -> Rows:
        """int32 [room]; negative for entries without a weight."""

    @property
    def counts(self) -> Ints:
        """int64 [4]: number of keys, entries, entries of headers, insertions so far."""

    @property
    def labels(self) -> int:
        """The number of labels of a feature."""


class LazyTable(NamedTuple):
    """The arrays that kernels read and write."""

    slots: Keys  #: uint64 [capacity, 2]: keys with their block, see ``pack``
    entry_templates: Rows  #: int32 [room]
    entry_labels: Rows  #: int32 [room]
    first_entries: Ints  #: int64 [T]: entries of the template before this one are stale
    active: Ints  #: int64 [T]: the number of entries in use
    counts: Ints  #: int64 [4]: keys in the slots; see ``BlockTable``
    requested: Ints  #: int64 [2]: further keys and entries that capacity is needed for
    scales: Floats  #: float64 [T]
    labels: int  #: the number of labels of a feature
    grows: bool  #: whether entries that are missing are inserted


LazyTableType = named_tuple(
    LazyTable, Keys2, Rows1, Rows1, Ints1, Ints1, Ints1, Ints1, Floats1, Int, Bool
)


class Support(NamedTuple):
    """Which features have weights other than zero, and for which labels."""

    keys: Keys  #: uint64 [features]
    templates: Rows  #: int32 [features]
    starts: Ints  #: int64 [features + 1]: the first label of each
    labels: Labels  #: uint16 [weights]

    def of_templates(self, kept: Ints) -> "Support":
        """The features of some templates (int64 [n], rising), which get the numbers 0, 1, ..."""
        features, sizes = np.isin(self.templates, kept), np.diff(self.starts)
        return Support(
            self.keys[features],
            np.searchsorted(kept, self.templates[features]).astype(np.int32),
            np.concatenate([[0], np.cumsum(sizes[features])]),
            self.labels[np.repeat(features, sizes)],
        )


def frozen(table: LazyTable) -> LazyTable:
    """The table, for kernels that allocate nothing; weights are given as they are, not scaled."""
    return table._replace(grows=False, scales=np.ones_like(table.scales))


@inlined_kernel
def pack(start: int, room: int, count: int) -> int:
    """A block as the payload of a slot."""
    block = (np.uint64(start) << _COUNT_BITS) | np.uint64(room)
    return (block << _COUNT_BITS) | np.uint64(count)  # type: ignore[no-any-return]


@inlined_kernel
def unpack(payload: int) -> tuple[int, int, int]:
    """The first entry of a block, its room, and the number of entries in use.

    The room of a dense block that continues others is one more than its entries.
    """
    room = (payload >> _COUNT_BITS) & _COUNT
    start = payload >> (_COUNT_BITS + _COUNT_BITS)
    return np.int64(start), np.int64(room), np.int64(payload & _COUNT)


@inner_kernel
def block_before(table: BlockTable, start: int) -> tuple[int, int]:
    """The first entry of the block that a block continues, and their number; 0 for none."""
    labels = table.entry_labels
    if start < HEADER or labels[start - 1] >= -1:
        return 0, 0
    return -2 - np.int64(labels[start - 2]), -2 - np.int64(labels[start - 1])


@inner_kernel
def _write_header(table: BlockTable, start: int, before: int, count: int) -> None:
    """Say which block this one continues."""
    table.entry_labels[start - 2] = -2 - before
    table.entry_labels[start - 1] = -2 - count


@kernel
def find_blocks(table: LazyTable, keys: Keys, starts: Ints, counts: Ints) -> None:
    """Write the last block of each template's key (uint64 [T]): first entry, number of entries.

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
        start, room, count = unpack(slots[slot, 1])
        if start >= table.first_entries[m]:
            starts[m] = start
            counts[m] = max(count, room) if count == table.labels else count


@kernel
def find_block(table: LazyTable, m: int, key: int) -> tuple[int, int]:
    """The first entry of the last block of a key of template m, and the number of its entries."""
    slot = find_slot(table.slots, key)
    if table.slots[slot, 0] == np.uint64(0):
        return 0, 0
    start, _, count = unpack(table.slots[slot, 1])
    return start, count if start >= table.first_entries[m] else 0


@inlined_kernel
def max_entries(table: BlockTable) -> int:
    """The largest number of entries that inserting labels of a feature can add."""
    return table.labels + (HEADER if table.labels > 1 else 0)


@inner_kernel
def has_capacity(table: LazyTable, features: int) -> bool:
    """Whether that many features can get entries; if not, the capacity is requested."""
    entries = features * max_entries(table)
    if not table.grows:
        return True
    is_wide = table.counts[1] + entries <= len(table.entry_labels)
    if is_wide and 3 * (table.counts[0] + features) <= 2 * len(table.slots):
        return True
    table.requested[0] = features
    table.requested[1] = entries
    return False


@inner_kernel
def find_labels(table: BlockTable, start: int, count: int, labels: Ints, entries: Ints) -> int:
    """Write the entry of each label of a key, -1 for none; return the number of its loose entries.

    start, count: its last block. A label has its first entry: what a dense block continues counts.
    """
    is_dense, first = count == table.labels, start
    if is_dense:
        start, count = block_before(table, start)
    total = 0
    for j in range(len(labels)):
        entries[j] = first + labels[j] if is_dense else -1
    while count > 0:
        total += count
        for j in range(len(labels)):
            for entry in range(start, start + count):
                if table.entry_labels[entry] == labels[j]:
                    entries[j] = entry
                    break
        start, count = block_before(table, start)
    return total


@inner_kernel
def _append_block(table: BlockTable, room: int, full: int, count: int) -> int:
    """Append a block, which continues one with ``count`` entries from ``full`` on.

    Returns its first entry. A block that continues none, for a count of 0, has no header.
    """
    end = table.counts[1]
    start = end + (HEADER if count > 0 else 0)
    table.counts[1] = start + room
    table.counts[2] += start - end
    for k in range(room):
        table.entry_labels[start + k] = k if room == table.labels else -1
    if count > 0:
        _write_header(table, start, full, count)
    return start  # type: ignore[no-any-return]


@inner_kernel
def insert_labels(
    table: BlockTable, payload: int, max_loose: int, labels: Ints, entries: Ints
) -> int:
    """Write the entries of a feature for some labels, inserting those that are missing.

    payload: the feature's last block, see ``pack``; 0 for none. Returns the new one.
    max_loose: the number of labels above which it gets a dense block.
    labels: int64, all different. entries: int64. Weights that are inserted are 0.
    """
    start, room, count = unpack(payload)
    if count == table.labels and count == room:
        for j in range(len(labels)):
            entries[j] = start + labels[j]
        return payload
    total = find_labels(table, start, count, labels, entries)
    missing = 0
    for j in range(len(labels)):
        missing += entries[j] < 0
    for j in range(len(labels)):
        if entries[j] >= 0:
            continue
        if count == room and count < table.labels:
            size = max(total, missing)
            if total + size > min(table.labels - 1, max_loose):
                size = table.labels
            start, count = _append_block(table, size, start, count), 0
            room = size
            if size == table.labels:
                count, room = size, size + (total > 0)
                table.counts[3] += size - total
        if count == table.labels:
            entries[j] = start + labels[j]
        else:
            entries[j] = start + count
            table.entry_labels[entries[j]] = labels[j]
            table.counts[3] += 1
            count += 1
            total += 1
        missing -= 1
    return pack(start, room, count)


@kernel
def get_or_insert(table: LazyTable, m: int, key: int, labels: Ints, entries: Ints) -> None:
    """``insert_labels`` for a key of template m; entries are -1 if the table does not grow."""
    slot = find_slot(table.slots, key)
    if not table.grows:
        start, count = find_block(table, m, key)
        find_labels(table, start, count, labels, entries)
        return
    if table.slots[slot, 0] == np.uint64(0):
        table.slots[slot, 0] = key
        table.counts[0] += 1
    payload = table.slots[slot, 1]
    if unpack(payload)[0] < table.first_entries[m]:
        payload = np.uint64(0)
    end, used = table.counts[1], table.counts[3]
    table.slots[slot, 1] = insert_labels(table, payload, _MAX_LOOSE, labels, entries)
    table.entry_templates[end : table.counts[1]] = m
    table.active[m] += table.counts[3] - used


@kernel
def _multiply_out(table: LazyTable, m: int, weights: Floats) -> None:
    """Multiply the weights of template m by its scale, which becomes 1."""
    for entry in range(table.first_entries[m], table.counts[1]):
        if table.entry_templates[entry] == m:
            weights[entry] *= table.scales[m]
    table.scales[m] = 1.0


@kernel
def _write_features(table: LazyTable, features: Rows) -> None:
    """Write the feature of each entry (``row_features``); for entries out of use, any number."""
    features[:] = 0
    for slot in range(len(table.slots)):
        start, _, count = unpack(table.slots[slot, 1])
        feature = start
        while count > 0:
            features[start : start + count] = feature
            start, count = block_before(table, start)


@kernel
def _fold(table: LazyTable, weights: Floats, dense: int) -> None:
    """Move the weights of all blocks that a dense one continues into it."""
    start, count = block_before(table, dense)
    while count > 0:
        for entry in range(start, start + count):
            weights[dense + table.entry_labels[entry]] += weights[entry]
            weights[entry] = 0.0
        start, count = block_before(table, start)


@kernel
def _mark_block(table: LazyTable, weights: Floats, start: int, count: int, kept: Rows) -> int:
    """Mark the entries of a block to be kept (int32 [entries]); return their number.

    Zero weights are dropped, except in dense blocks with few of them.
    """
    size = 0
    for entry in range(start, start + count):
        size += weights[entry] != 0
    is_dense = count == table.labels and size > min(count // 2, _MAX_LOOSE)
    for entry in range(start, start + count):
        kept[entry] = is_dense or weights[entry] != 0
    return size


@kernel
def _renumber(table: LazyTable, weights: Floats) -> Rows:
    """The new number of each entry: how many entries, none of them stale, are kept before it."""
    new_entries = np.zeros(table.counts[1] + 1, dtype=np.int32)
    kept = new_entries[1:]
    table.counts[2] = 0
    for slot in range(len(table.slots)):
        start, _, count = unpack(table.slots[slot, 1])
        if count == 0 or start < table.first_entries[table.entry_templates[start]]:
            continue
        later = -1  # the last block before this one on the way that is kept
        if count == table.labels:
            _fold(table, weights, start)
        while count > 0:
            if _mark_block(table, weights, start, count, kept) > 0:
                if later >= 0:
                    kept[later - HEADER : later] = 1
                    table.counts[2] += HEADER
                later = start
            start, count = block_before(table, start)
    for entry in range(len(kept)):
        new_entries[entry + 1] += new_entries[entry]
    return new_entries


@kernel
def _move_blocks(table: LazyTable, new_entries: Rows) -> None:
    """Write into slots and headers where blocks will be; keys without entries lose their slots."""
    table.active[:] = 0
    table.counts[0] = 0
    for slot in range(len(table.slots)):
        start, _, count = unpack(table.slots[slot, 1])
        later = -1
        while count > 0:
            full = block_before(table, start)
            new, size = new_entries[start], new_entries[start + count] - new_entries[start]
            if size > 0:
                if later < 0:
                    table.slots[slot, 1] = pack(new, size, size)
                    table.counts[0] += 1
                else:
                    _write_header(table, later, new, size)
                table.active[table.entry_templates[start]] += size
                later = start
            start, count = full
        if later < 0:
            table.slots[slot, 0] = table.slots[slot, 1] = np.uint64(0)
    rehash_in_place(table.slots)


@kernel
def _move_entries(table: LazyTable, weights: Floats, new_entries: Rows) -> None:
    """Move entries to their new numbers."""
    for entry in range(len(new_entries) - 1):
        new = new_entries[entry]
        if new < new_entries[entry + 1]:
            table.entry_templates[new] = table.entry_templates[entry]
            table.entry_labels[new] = table.entry_labels[entry]
            weights[new] = weights[entry]
    table.counts[1] = new_entries[-1]


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
            entry_templates=np.zeros(0, dtype=np.int32),
            entry_labels=np.zeros(0, dtype=np.int32),
            first_entries=np.zeros(T, dtype=np.int64),
            active=np.zeros(T, dtype=np.int64),
            counts=np.zeros(4, dtype=np.int64),
            requested=np.zeros(2, dtype=np.int64),
            scales=np.ones(T),
            labels=labels,
            grows=True,
        )
        self._peak_bytes = self.bytes

    @property
    def allocated(self) -> int:
        """See ``GroupedStore``: the number of entries in use."""
        return int(self.table.active.sum())

    @property
    def bytes(self) -> int:
        """The memory of table and weights."""
        weights = 8 * (self.first + len(self.table.entry_labels))
        return weights + sum(array.nbytes for array in self.table[:-2])

    @property
    def peak_bytes(self) -> int:
        return self._peak_bytes

    def weights(self) -> GroupedWeights:
        """See ``GroupedStore``; valid until ``reserve`` or ``sweep``."""
        table = self.table
        scales = table.scales, table.first_entries
        return GroupedWeights(
            self.w, self.first, 1, int(table.labels), table.entry_templates, *scales
        )

    def row_features(self) -> Rows:
        """See ``GroupedStore``: a feature has the number of its last block's first entry."""
        features = np.empty(len(self.table.entry_labels), dtype=np.int32)
        _write_features(self.table, features)
        return features

    def support(self) -> Support:
        """The features of templates that have not been removed, where weights are not zero."""
        table, end = self.table, int(self.table.counts[1])
        labels, templates = table.entry_labels[:end], table.entry_templates[:end]
        entries = np.flatnonzero(self.w[self.first : self.first + end])  # no headers, none to spare
        entries = entries[entries >= table.first_entries[templates[entries]]]
        features = self.row_features()[entries]
        entries = entries[np.lexsort((labels[entries], features))]
        features, counts = np.unique(features, return_counts=True)
        keys = np.zeros(end, dtype=np.uint64)
        starts = table.slots[:, 1] >> (_COUNT_BITS + _COUNT_BITS)
        is_key = table.slots[:, 0] != 0
        keys[starts[is_key].astype(np.int64)] = table.slots[is_key, 0]
        return Support(
            keys[features],
            templates[features],
            np.concatenate([[0], np.cumsum(counts)]),
            labels[entries].astype(np.uint16),
        )

    def reserve(self) -> None:
        table = self.table
        keys, entries = (int(number) for number in table.counts[:2] + table.requested)
        if entries > len(table.entry_labels):
            self._resize(max(entries, int(GROWTH * table.counts[1])))
        if 3 * keys > 2 * len(table.slots):
            size = max(keys, int(GROWTH * table.counts[0])) + 1
            self.table = table._replace(slots=grown_slots(table.slots, size))
        self._peak_bytes = max(self._peak_bytes, self.bytes)

    def rescale(self, factors: Floats) -> None:
        """See ``GroupedStore``: entries of templates with a factor of 0 become stale."""
        table = self.table
        removed = factors == 0
        table.first_entries[removed] = table.counts[1]
        table.active[removed] = 0
        table.scales[:] = np.where(removed, 1.0, table.scales * factors)
        for m in np.flatnonzero(table.scales < _MIN_SCALE):
            _multiply_out(table, int(m), self.w[self.first :])

    def sweep(self) -> None:
        """See ``GroupedStore``: stale entries are removed once they are many."""
        table = self.table
        if self.allocated + table.counts[2] < _IN_USE * table.counts[1]:
            new_entries = _renumber(table, self.w[self.first :])
            self._peak_bytes = max(self._peak_bytes, self.bytes + new_entries.nbytes)
            _move_blocks(table, new_entries)
            _move_entries(table, self.w[self.first :], new_entries)
            table.first_entries[:] = 0
            self._resize(int(table.counts[1]))

    def _resize(self, room: int) -> None:
        """Change the number of allocated entries in place, without copies."""
        before = len(self.table.entry_labels)
        self.table.entry_templates.resize(room, refcheck=False)
        self.table.entry_labels.resize(room, refcheck=False)
        self.table.entry_labels[before:] = -1
        self.w.resize(self.first + room, refcheck=False)
