"""The weights of features that have rows.

Either all of them exist, K for each row, or a row has weights for the labels that its feature has
been updated with, in the blocks of ``lazy.py``. The latter take less memory and are faster to read
where there are many labels, as most features meet few of them.
"""

from copy import copy, deepcopy
from typing import NamedTuple, TypeVar

import numpy as np

from spacy_ssvm.kernels.compile import inlined_kernel, inner_kernel, kernel
from spacy_ssvm.kernels.types import (
    Bool,
    Flags,
    Floats,
    Int,
    Ints,
    Ints1,
    Keys,
    Keys1,
    Labels,
    Rows,
    Rows1,
    named_tuple,
)
from spacy_ssvm.weights.groups import GroupedStore, GroupedWeights
from spacy_ssvm.weights.growing import longer, resized, zeros
from spacy_ssvm.weights.lazy import (
    block_before,
    find_labels,
    insert_labels,
    max_entries,
    pack,
    unpack,
)

RowWeightsT = TypeVar("RowWeightsT", bound="RowWeights")

_GROWTH = 1.125  # the factor by which a full table grows
_SHARE = 4  # a row has all labels where those that it needs are more than one in so many
_UNTIDY = 0.05  # the share of entries between blocks that continue others, above which they move


class RowTable(NamedTuple):
    """Where the weights of rows are; see ``BlockTable``.

    Without ``blocks``, row r has the entries r K to r K + K - 1, by label.
    """

    blocks: Keys  #: uint64 [rows]: the last block of each row, see ``lazy.pack``; or empty
    entry_labels: Rows  #: int32 [room]
    counts: Ints  #: int64 [4]
    requested: Ints  #: int64 [1]: further entries that capacity is needed for
    labels: int  #: K
    grows: bool  #: whether entries that are missing are inserted


RowTableType = named_tuple(RowTable, Keys1, Rows1, Ints1, Ints1, Int, Bool)


def dense_table(K: int) -> RowTable:
    """A table of rows that have weights for all K labels."""
    none = np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int32)
    return RowTable(*none, np.zeros(4, dtype=np.int64), np.zeros(1, dtype=np.int64), K, False)


@inlined_kernel
def last_block(table: RowTable, row: int) -> tuple[int, int]:
    """The first entry of the last block of a row, and the number of its entries.

    The number is K for a block with all labels, and K + 1 where it continues others.
    """
    K = table.labels
    if len(table.blocks) == 0:
        return row * K, K
    start, room, count = unpack(table.blocks[row])
    return start, max(count, room) if count == K else count


@inlined_kernel
def add_row(table: RowTable, weights: Floats, scale: float, row: int, scores: Floats) -> None:
    """Add the weights of a row, times a scale, to the scores of labels [K]."""
    K = table.labels
    start, count = last_block(table, row)
    if count >= K:
        block = weights[start : start + K]
        for k in range(K):
            scores[k] += scale * block[k]
        if count == K:
            return
        start, count = block_before(table, start)
    while count > 0:
        for entry in range(start, start + count):
            scores[table.entry_labels[entry]] += scale * weights[entry]
        start, count = block_before(table, start)


@inner_kernel
def has_row_capacity(table: RowTable, features: int) -> bool:
    """Whether that many features can get entries; if not, the capacity is requested."""
    if len(table.blocks) == 0 or not table.grows:
        return True
    entries = features * max_entries(table)
    if table.counts[1] + entries <= len(table.entry_labels):
        return True
    table.requested[0] = entries
    return False


@inner_kernel
def find_entries(table: RowTable, row: int, labels: Ints, entries: Ints) -> None:
    """Write the entries of a row for some labels, which are inserted where they are missing.

    labels: int64, all different. entries: int64; -1 where the label is missing and the table
    does not grow.
    """
    if len(table.blocks) == 0:
        for j in range(len(labels)):
            entries[j] = row * table.labels + labels[j]
    elif table.grows:
        most = table.labels // _SHARE
        table.blocks[row] = insert_labels(table, table.blocks[row], most, labels, entries)
    else:
        start, _, count = unpack(table.blocks[row])
        find_labels(table, start, count, labels, entries)


@kernel
def _insert_rows(table: RowTable, starts: Ints, labels: Labels, most: int, entries: Ints) -> None:
    """Insert labels of rows 0, 1, ..., for which there is room; see ``SparseRows.insert``.

    most: the labels of a row that does not have all of them.
    """
    for row in range(len(starts) - 1):
        first, last = starts[row], starts[row + 1]
        own = labels[first:last].astype(np.int64)
        table.blocks[row] = insert_labels(table, table.blocks[row], most, own, entries[first:last])


@inner_kernel
def find_addresses(
    table: RowTable, first: int, addresses: Rows, scratch: Ints, found: Ints
) -> None:
    """Write the indices of weights, inserting those that are missing.

    addresses: int32, see ``RowWeights``, all different; the best is row by row.
    first: the number of weights before those of rows. scratch: int64 [2, K]. found: int64.
    """
    K, start = table.labels, 0
    while start < len(addresses):
        if addresses[start] < first:
            found[start] = addresses[start]
            start += 1
            continue
        row, end = (addresses[start] - first) // K, start
        while end < len(addresses) and (addresses[end] - first) // K == row:
            scratch[0, end - start] = addresses[end] - first - row * K
            end += 1
        size = end - start
        find_entries(table, row, scratch[0, :size], scratch[1, :size])
        for j in range(size):
            found[start + j] = first + scratch[1, j]
        start = end


@kernel
def _find_all(table: RowTable, first: int, addresses: Rows, found: Ints) -> None:
    """``find_addresses`` of rows for which there is room."""
    find_addresses(table, first, addresses, np.empty((2, table.labels), dtype=np.int64), found)


@kernel
def _join_blocks(table: RowTable, first_weight: int, numbers: Rows, new_labels: Rows) -> int:
    """Let each row be one block, as ``blocks`` say then; return the number of entries.

    first_weight: the number of weights before those of rows, which stay.
    numbers: int32 [first_weight + entries], gets the new index of each weight, -1 for none.
    new_labels: int32 [entries or more], gets the label of each new entry.
    """
    K, size = table.labels, 0
    numbers[:] = -1
    numbers[:first_weight] = np.arange(first_weight)
    new_entries = numbers[first_weight:]
    for row in range(len(table.blocks)):
        start, _, count = unpack(table.blocks[row])
        if count == 0:
            continue
        first, end = size, size
        is_dense = count == K
        if is_dense:
            for k in range(K):
                new_entries[start + k] = first_weight + first + k
            end = first + K
            dense = start
            start, count = block_before(table, start)
        while count > 0:
            for entry in range(start, start + count):
                if is_dense:
                    new_entries[dense + table.entry_labels[entry]] = -1
                    new_entries[entry] = first_weight + first + table.entry_labels[entry]
                else:
                    new_entries[entry] = first_weight + end
                    new_labels[end] = table.entry_labels[entry]
                    end += 1
            start, count = block_before(table, start)
        if is_dense:
            for k in range(K):
                new_labels[first + k] = k
        size = end
        table.blocks[row] = pack(first, end - first, end - first)
    return size


def measure_rows(table: RowTable, weights: Floats, rows: int) -> tuple[Floats, Ints]:
    """The largest absolute value of the weights of each row, and the number of its entries.

    weights: those of rows. Returns float64 [rows] and int64 [rows].
    """
    largest, sizes = np.empty(rows), np.empty(rows, dtype=np.int64)
    _measure_rows(table, weights, largest, sizes)
    return largest, sizes


@kernel
def _measure_rows(table: RowTable, weights: Floats, largest: Floats, sizes: Ints) -> None:
    """Write what ``measure_rows`` returns."""
    for row in range(len(largest)):
        start, count = last_block(table, row)
        most, size = 0.0, 0
        while count > 0:
            entries = min(count, table.labels)
            for entry in range(start, start + entries):
                most = max(most, abs(weights[entry]))
            size += entries
            if count == table.labels:
                break
            start, count = block_before(table, start)
        largest[row] = most
        sizes[row] = size


def kept_weights(kept: Flags, first: int, width: int) -> Rows:
    """Where the weights of rows, each with so many, move to if only some are kept.

    first: the number of weights before those of rows, which stay.
    Returns int32 [first + rows * width], -1 for weights that are not kept.
    """
    numbers = np.full((len(kept), width), -1, dtype=np.int32)
    numbers[kept] = np.arange(first, first + kept.sum() * width).reshape(-1, width)
    return np.append(np.arange(first, dtype=np.int32), numbers)


class SparseRows:
    """Rows that have weights for some of K labels each: they are allocated on first use.

    first: the number of weights before those of rows.
    """

    def __init__(self, K: int, *, first: int) -> None:
        self.first = first
        self.table = RowTable(
            np.zeros(0, dtype=np.uint64),
            np.zeros(0, dtype=np.int32),
            np.zeros(4, dtype=np.int64),
            np.zeros(1, dtype=np.int64),
            K,
            True,
        )

    @property
    def number_of_entries(self) -> int:
        """The number of weights that there is room for."""
        return len(self.table.entry_labels)

    def extend(self, rows: int) -> None:
        """Let there be this many rows, or more."""
        if rows > len(self.table.blocks):
            self.table = self.table._replace(blocks=longer(self.table.blocks, rows))

    def keep(self, rows: Ints) -> Rows:
        """Keep only these rows, in this order; see ``IndexedProblem.keep_rows``."""
        self.table = self.table._replace(blocks=self.table.blocks[rows])
        return self._join()

    def _join(self) -> Rows:
        """Let each row be one block; return where weights have moved to."""
        size = int(self.table.counts[1])
        numbers = np.empty(self.first + size, dtype=np.int32)
        labels = zeros((size,), np.dtype(np.int32))
        used = int(_join_blocks(self.table, self.first, numbers, labels))
        self.table.counts[1:3] = used, 0
        labels = resized(labels, min(size, int(_GROWTH * used) + 1))
        self.table = self.table._replace(entry_labels=labels)
        return numbers

    def reserve(self) -> Rows | None:
        """Make the room that ``has_row_capacity`` has asked for, and join the blocks of rows.

        See ``AllocatingProblem.reserve``.
        """
        numbers = None
        if self.table.counts[2] > _UNTIDY * self.table.counts[1]:
            numbers = self._join()
        table = self.table
        needed = int(table.counts[1] + table.requested[0])
        if needed > len(table.entry_labels):
            self.make_room(max(needed, int(_GROWTH * table.counts[1])))
        table.requested[0] = 0
        return numbers

    def make_room(self, entries: int) -> None:
        """Let there be room for this many entries."""
        labels = resized(self.table.entry_labels, entries)
        self.table = self.table._replace(entry_labels=labels)

    def insert(self, starts: Ints, labels: Labels, *, only: bool = False) -> Ints:
        """Insert labels of rows 0, 1, ..., which have none; return the entry of each.

        starts, labels: see ``compact.Entries``. only: whether rows never get others.
        """
        entries = np.empty(len(labels), dtype=np.int64)
        self.extend(len(starts) - 1)
        sizes, K = np.diff(starts), self.table.labels
        most = K if only else K // _SHARE
        self.table.requested[0] = np.where(sizes > most, K, sizes).sum()
        self.reserve()
        _insert_rows(self.table, starts, labels, most, entries)
        self.table = self.table._replace(grows=not only)
        return entries


class DenseWeights:
    """The weights of rows that the caller numbers: float64 [first + rows * width].

    number: the number of templates; by default, that of those with rows.
    templates: int32 [rows], the template of each row; set as rows are added.
    """

    def __init__(self, *, first: int, width: int, number: int = 0) -> None:
        self.first = first
        self.width = width
        self.number = number
        self.templates: Rows = np.zeros(0, dtype=np.int32)
        self.w: Floats = np.zeros(0)

    @property
    def allocated(self) -> int:
        return self.width * len(self.templates)

    @property
    def peak_bytes(self) -> int:
        return self.w.nbytes + self.templates.nbytes

    def weights(self) -> GroupedWeights:
        """See ``GroupedStore``; weights are stored as they are."""
        T = max(self.number, int(self.templates.max(initial=0)) + 1)
        scales = np.ones(T), np.zeros(T, dtype=np.int64)
        return GroupedWeights(self.w, self.first, self.width, self.width, self.templates, *scales)

    def row_features(self) -> Rows:
        """See ``GroupedStore``: each row is a feature."""
        return np.arange(len(self.templates), dtype=np.int32)

    def reserve(self) -> None:
        """Nothing to do: all features have rows."""

    def rescale(self, factors: Floats) -> None:
        rows = self.w[self.first : self.first + self.allocated].reshape(-1, self.width)
        rows *= factors[self.templates, None]

    def sweep(self) -> None:
        """Nothing to do: all features keep their rows."""


class PlainAddresses:
    """The weights of a problem that all exist: the address of each is its index in w.

    See ``structure.AddressedProblem``.
    """

    def request(self, addresses: Rows) -> None:
        """Nothing to ask for."""

    def examples(self) -> tuple[object, ...]:
        raise NotImplementedError

    def find(self, addresses: Rows) -> Ints:
        return addresses.astype(np.int64)

    @property
    def addresses(self) -> tuple[int, RowTable]:
        """The number of weights before those of rows, and where the others are."""
        return 0, dense_table(1)

    def make_room(self, entries: int) -> None:
        """Nothing to do."""

    def completion(self, i: int) -> np.ndarray:
        raise NotImplementedError

    def restore_completion(self, i: int, completion: np.ndarray) -> None:
        self.completion(i)[:] = completion

    def addressed_examples(self) -> tuple[object, ...]:
        return self.examples()


class RowWeights(PlainAddresses):
    """The weights of a problem whose features have rows: for all columns, or on first use.

    Other processes know a weight by its address: the index that it would have if all rows had
    weights for all columns.

    first: the number of weights before those of rows. width: the number of columns, K in the terms
        of ``RowTable``, such as labels or parts of labels.
    """

    def __init__(self, *, first: int, width: int) -> None:
        self._first, self._width = first, width
        self._dense = DenseWeights(first=first, width=width)
        self._dense_table = dense_table(width)
        self._sparse: SparseRows | None = None
        self._number_of_rows = 0

    @property
    def store(self) -> GroupedStore:
        """See ``GroupedProblem``. Raises ValueError where rows do not have all columns."""
        if self._sparse is not None:
            raise ValueError("weights that are allocated on first use have no groups")
        return self._dense

    def allocate(self, *, lazily: bool) -> None:
        """Give rows weights for all columns, or else for those that differences ask for.

        A run that is under way must not go on: its weights are forgotten.
        """
        self._sparse = SparseRows(self._width, first=self._first) if lazily else None
        self._extend(self._number_of_rows)

    @property
    def table(self) -> RowTable:
        """Where the weights of rows are, behind those before them."""
        return self._dense_table if self._sparse is None else self._sparse.table

    def insert(self, starts: Ints, labels: Labels, *, only: bool = False) -> Ints:
        """Allocate weights of rows 0, 1, ...; return their entries.

        starts, labels: see ``compact.Entries``. only: whether those that are allocated on first
        use never get others.
        """
        if self._sparse is not None:
            return self._sparse.insert(starts, labels, only=only)
        return np.repeat(np.arange(len(starts) - 1), np.diff(starts)) * self._width + labels

    def reserve(self) -> Rows | None:
        """See ``AllocatingProblem``."""
        return None if self._sparse is None else self._sparse.reserve()

    def with_own_weights(self: RowWeightsT) -> RowWeightsT:
        """See ``AllocatingProblem``."""
        problem = copy(self)
        problem._sparse = deepcopy(self._sparse)
        return problem

    def request(self, addresses: Rows) -> None:
        if self._sparse is not None:
            runs = 1 + np.count_nonzero(np.diff((addresses - self._first) // self._width))
            self.table.requested[0] = runs * max_entries(self.table)

    def find(self, addresses: Rows) -> Ints:
        found = super().find(addresses)
        if self._sparse is not None:
            _find_all(self.table, self._first, addresses, found)
        return found

    @property
    def addresses(self) -> tuple[int, RowTable]:
        return self._first, self.table

    def make_room(self, entries: int) -> None:
        if self._sparse is not None:
            self._sparse.make_room(entries)

    def _extend(self, rows: int) -> None:
        """Let there be this many rows, or more."""
        self._number_of_rows = max(self._number_of_rows, rows)
        if self._sparse is not None:
            self._sparse.extend(self._number_of_rows)

    def measure_rows(self, w: Floats, rows: int) -> tuple[Floats, Ints]:
        """The largest weight and the number of weights of each row, see ``IndexedProblem``."""
        return measure_rows(self.table, w[self._first :], rows)

    def _keep_weights(self, kept: Flags) -> Rows:
        """Keep the weights of only these rows, see ``IndexedProblem.keep_rows``."""
        self._number_of_rows = int(kept.sum())
        if self._sparse is not None:
            return self._sparse.keep(np.flatnonzero(kept))
        return kept_weights(kept, self._first, self._width)

    def number_of_weights(self, rows: int) -> int:
        """The length of w for a number of feature rows, or else of those that are allocated."""
        entries = rows * self._width if self._sparse is None else self._sparse.number_of_entries
        return self._first + entries

    @property
    def row_templates(self) -> Rows:
        """The template of each row: int32 [rows], set by the caller, which numbers the rows."""
        return self._dense.templates

    @row_templates.setter
    def row_templates(self, templates: Rows) -> None:
        self._dense.templates = templates
        self._extend(len(templates))

    @property
    def group_sizes(self) -> Ints:
        """See ``GroupedProblem``."""
        return self._width * np.bincount(self.row_templates, minlength=1)
