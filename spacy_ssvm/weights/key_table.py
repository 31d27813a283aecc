"""The rows of the features of a trained model, by the first 40 bits of their keys.

Features are told apart by these bits, in training as well: of n features, n^2 / 2^41 pairs are each
taken for one feature, half a pair of a million, and a key that is none of theirs for one of them
with a probability of n / 2^40, one in a million for a million. A table takes 8 bytes for each key.
Keys are in 2^b buckets by their first b >= 16 bits, and there told apart by bits 8 to 39. A filter
of known keys in front of the table was tried, and saved no time.
"""

from typing import NamedTuple

import numpy as np

from spacy_ssvm.kernels.compile import inlined_kernel, inner_kernel
from spacy_ssvm.kernels.types import Keys, ShortKeys
from spacy_ssvm.weights.hash_table import scaled_key
from spacy_ssvm.weights.narrow import Bytes, narrow, widen

_IGNORED = np.uint64(24)  # bits of a key, the last ones
_MIN_BITS = 16  # of buckets: 8 and the other 32 are all bits of a key, 16 are faster
_MEAN, _MOST = 2**3, 2**6  # keys of a bucket. Of hashes, none of a billion buckets has so many


class KeyTable(NamedTuple):
    """The rows of keys, or a hashed space, where each key of a template has one."""

    bucket_starts: ShortKeys  #: uint32 [2^b + 1]: the first key of each bucket
    keys: ShortKeys  #: uint32 [n], bits 8 to 39, bucket after bucket
    rows: ShortKeys  #: uint32 [n]: the row of each
    shift: int  #: 64 - b
    rows_per_template: int  #: rows of each template in a hashed space, 0 for keys


@inlined_kernel
def as_feature(key: int) -> int:
    """The bits of a key that tell features apart, the others 0."""
    return (key >> _IGNORED) << _IGNORED  # type: ignore[no-any-return]


def short_keys(keys: Keys) -> Keys:
    """``as_feature`` of each key."""
    short: Keys = (keys >> _IGNORED) << _IGNORED
    return short


def key_table(keys: Keys, rows_per_template: int = 0) -> KeyTable:
    """The table of keys with the rows 0, 1, ...: uint64 [n], the ignored bits 0."""
    b = max(_MIN_BITS, (len(keys) // _MEAN).bit_length())
    starts = np.zeros(2**b + 1, dtype=np.uint32)
    short, rows = np.empty(len(keys), dtype=np.uint32), np.empty(len(keys), dtype=np.uint32)
    table = KeyTable(starts, short, rows, 64 - b, rows_per_template)
    _fill(table, keys)
    return table


def saved_keys(table: KeyTable) -> Bytes:
    """The keys of rows as they are saved: uint8 [rows, 5]."""
    return narrow(keys_of(table) >> _IGNORED)


def read_keys(saved: Bytes, rows: int, rows_per_template: int = 0) -> KeyTable:
    """The table of saved keys.

    Raises ValueError for keys of another number of rows, for keys that are 0 or repeat, and where
    so many would be in one bucket that a search would take long: they are no hashes.
    """
    keys = widen(saved, "keys of rows") << _IGNORED
    if len(keys) != (0 if rows_per_template else rows):
        raise ValueError("the rows do not fit their keys")
    table = key_table(keys, rows_per_template)
    if np.diff(table.bucket_starts).max(initial=0) > _MOST:
        raise ValueError("the keys of rows are no hashes: most of them are nearly the same")
    if not keys.all() or _has_equals(table):
        raise ValueError("the keys of rows are not different")
    return table


def keys_of(table: KeyTable) -> Keys:
    """The keys by their rows, the inverse of ``key_table``."""
    keys = np.empty(len(table.keys), dtype=np.uint64)
    first_bits = np.arange(len(table.bucket_starts) - 1, dtype=np.uint64) << np.uint64(table.shift)
    of_buckets = np.repeat(first_bits, np.diff(table.bucket_starts))
    keys[table.rows] = of_buckets | (table.keys.astype(np.uint64) << _IGNORED)
    return keys


@inner_kernel
def _fill(table: KeyTable, keys: Keys) -> None:
    """Sort keys into the buckets of an empty table."""
    starts, shift = table.bucket_starts, np.uint64(table.shift)
    for row in range(len(keys)):
        starts[(keys[row] >> shift) + np.uint64(1)] += np.uint32(1)
    for bucket in range(1, len(starts)):
        starts[bucket] += starts[bucket - 1]
    for row in range(len(keys) - 1, -1, -1):
        bucket = keys[row] >> shift
        place = starts[bucket + np.uint64(1)] - np.uint32(1)  # from the end of the bucket down
        starts[bucket + np.uint64(1)] = place
        table.keys[place] = np.uint32((keys[row] >> _IGNORED) & np.uint64(2**32 - 1))
        table.rows[place] = row
    for bucket in range(1, len(starts) - 1):  # what was its end is now its start
        starts[bucket] = starts[bucket + 1]
    starts[len(starts) - 1] = len(keys)


@inner_kernel
def _has_equals(table: KeyTable) -> bool:
    """Whether a key repeats."""
    for bucket in range(len(table.bucket_starts) - 1):
        first, end = table.bucket_starts[bucket], table.bucket_starts[bucket + 1]
        for i in range(np.int64(first), np.int64(end)):
            for j in range(i + 1, np.int64(end)):
                if table.keys[i] == table.keys[j]:
                    return True
    return False


@inlined_kernel
def find_row(table: KeyTable, key: int, template: int) -> int:
    """The row of a key of a template, -1 for none."""
    size = table.rows_per_template
    if size > 0:
        return template * size + scaled_key(key, size) if key != np.uint64(0) else -1
    bucket = key >> np.uint64(table.shift)
    short = np.uint32((key >> _IGNORED) & np.uint64(2**32 - 1))
    first, end = table.bucket_starts[bucket], table.bucket_starts[bucket + np.uint64(1)]
    for i in range(np.int64(first), np.int64(end)):
        if table.keys[i] == short:
            return np.int64(table.rows[i])  # type: ignore[no-any-return]
    return -1
