"""A Bloom filter with one hash in front of a table of keys: most keys of new text have no row.

A bit says whether any key of the table begins with its bits. The bits of a model fit into the
cache of a processor core, where its table does not, and those of all keys of a word are looked at
without a branch, which a processor would often predict wrongly.
"""

from typing import NamedTuple

import numpy as np

from spacy_ssvm.kernels.compile import inlined_kernel, inner_kernel
from spacy_ssvm.kernels.types import Keys
from spacy_ssvm.weights.feature_index import Table

_BITS = 8  # at least, for each key of a table


class KeyFilter(NamedTuple):
    """The keys of a table, and some others."""

    bits: Keys  #: uint64 [2^b / 64]
    shift: int  #: 64 - b: a key has the bit whose number are its first b bits


def key_filter(table: Table) -> KeyFilter:
    """The filter for a table; of a hashed one, whose keys all have rows, it knows every key."""
    if table.rows_per_template:
        return KeyFilter(np.full(1, ~np.uint64(0)), 58)
    size = int(np.count_nonzero(table.slots[:, 0]))
    b = max(6, (_BITS * size - 1).bit_length())
    known = KeyFilter(np.zeros(2**b // 64, dtype=np.uint64), 64 - b)
    _set_bits(known, table.slots)
    return known


@inner_kernel
def _set_bits(known: KeyFilter, slots: Keys) -> None:
    """Set the bits of the keys of a table."""
    for slot in range(len(slots)):
        key = slots[slot, 0]
        if key != np.uint64(0):
            number = key >> np.uint64(known.shift)
            known.bits[number >> np.uint64(6)] |= np.uint64(1) << (number & np.uint64(63))


@inlined_kernel
def keep_known(known: KeyFilter, keys: Keys) -> int:
    """Move the keys that may have a row to the front, in their order; return their number.

    keys: uint64 [T], 0 for no key, which may be kept too.
    """
    size = 0
    for m in range(len(keys)):
        key = keys[m]
        number = key >> np.uint64(known.shift)
        bit = known.bits[number >> np.uint64(6)] >> (number & np.uint64(63))
        keys[size] = key
        size += np.int64(bit & np.uint64(1))
    return size
