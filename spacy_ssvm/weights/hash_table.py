"""One open-addressing hash table, from 64-bit keys to 64-bit payloads.

A table is uint64 [capacity, 2] of (key, payload) with linear probing; key 0 marks an
empty slot and means "no feature". The first slot of a key is monotone in the key: the
high bits decide, which hashing mixes best.
"""

import numpy as np

from spacy_ssvm.kernels.compile import inner_kernel
from spacy_ssvm.kernels.types import Ints, Keys
from spacy_ssvm.weights.growing import zeros
from spacy_ssvm.weights.narrow import Bytes, narrow, numbers_of, steps_of, widen

_MIN_CAPACITY = 16
MAX_LOAD = 2 / 3  # the load above which a table grows
_MOST_STEPS = 64  # to the slot of a key, on average; of hashes there is one


def _capacity(size: int) -> int:
    """The number of slots for ``size`` keys."""
    return max(_MIN_CAPACITY, int(size / MAX_LOAD) + 1)


def empty_slots(size: int) -> Keys:
    """Slots with room for ``size`` keys."""
    return zeros((_capacity(size), 2), np.dtype(np.uint64))


def slots_of(keys: Keys, payloads: Keys) -> Keys:
    """Slots with payloads for keys: uint64 [n] each, keys all different and not 0."""
    slots = empty_slots(len(keys))
    insert_all(slots, keys, payloads)
    return slots


def number_keys(keys: Keys) -> Keys:
    """Slots with the payloads 1, 2, ... for keys: uint64 [n], all different and not 0."""
    return slots_of(keys, np.arange(1, len(keys) + 1, dtype=np.uint64))


def numbered_keys(slots: Keys) -> Keys:
    """The keys by their payloads, the inverse of ``number_keys``: uint64 [n]."""
    used = slots[slots[:, 0] != 0]
    keys = np.empty(len(used), dtype=np.uint64)
    keys[used[:, 1].astype(np.int64) - 1] = used[:, 0]
    return keys


def read_keys(keys: Keys, what: str) -> Keys:
    """Slots for keys from a file, see ``number_keys``. Raises ValueError as ``read_slots`` does."""
    return _checked_slots(keys, np.arange(1, len(keys) + 1, dtype=np.uint64), what)


def saved_slots(slots: Keys) -> tuple[Bytes, Bytes]:
    """The keys of a table and their payloads, as they are saved: in the order of the keys."""
    used = slots[slots[:, 0] != 0]
    used = used[np.argsort(used[:, 0])]
    return narrow(steps_of(used[:, 0])), narrow(used[:, 1])


def read_slots(keys: Bytes, payloads: Bytes, what: str) -> Keys:
    """The inverse, for what is from a file.

    Raises ValueError, naming what the keys are of, where they repeat, have other payloads, or so
    many would have the same slot that a search would take long: they are no hashes.
    """
    return _checked_slots(numbers_of(widen(keys, what)), widen(payloads, what), what)


def _checked_slots(keys: Keys, payloads: Keys, what: str) -> Keys:
    if keys.ndim != 1 or keys.shape != payloads.shape:
        raise ValueError(f"the {what} do not fit their numbers")
    slots = empty_slots(len(keys))
    if not _insert_within(slots, keys, payloads, _MOST_STEPS * len(keys)):
        raise ValueError(f"the {what} are no hashes: most of them are nearly the same")
    if not keys.all() or np.count_nonzero(slots[:, 0]) != len(keys):
        raise ValueError(f"the {what} are not different")
    return slots


def grown_slots(slots: Keys, size: int) -> Keys:
    """Slots with the same keys and payloads, and room for ``size`` keys."""
    grown = empty_slots(size)
    _insert_slots(grown, slots)
    return grown


@inner_kernel
def scaled_key(key: int, size: int) -> int:
    """The high half of a key, scaled to 0..size - 1."""
    scaled = ((key >> np.uint64(32)) * np.uint64(size)) >> np.uint64(32)
    return np.int64(scaled)  # type: ignore[no-any-return]


@inner_kernel
def find_slot(slots: Keys, key: int) -> int:
    """The slot that holds the key, or the empty one where it belongs."""
    slot = scaled_key(key, len(slots))
    while slots[slot, 0] != key and slots[slot, 0] != np.uint64(0):
        slot += 1
        if slot == len(slots):
            slot = 0
    return slot


@inner_kernel
def find_payloads(slots: Keys, keys: Keys, payloads: Ints) -> int:
    """Write each key's payload, -1 where the table lacks it; return the number missing."""
    missing = 0
    for i in range(len(keys)):
        slot = find_slot(slots, keys[i])
        if slots[slot, 0] == keys[i]:
            payloads[i] = np.int64(slots[slot, 1])
        else:
            payloads[i] = -1
            missing += 1
    return missing


@inner_kernel
def insert_all(slots: Keys, keys: Keys, payloads: Keys) -> None:
    """Insert keys with their payloads; a key that is there already gets the new one."""
    for i in range(len(keys)):
        slot = find_slot(slots, keys[i])
        slots[slot, 0] = keys[i]
        slots[slot, 1] = payloads[i]


@inner_kernel
def _insert_within(slots: Keys, keys: Keys, payloads: Keys, steps: int) -> bool:
    """Insert keys with their payloads; return whether so many steps were enough."""
    for i in range(len(keys)):
        slot = find_slot(slots, keys[i])
        steps -= (slot - scaled_key(keys[i], len(slots))) % len(slots)
        if steps < 0:
            return False
        slots[slot, 0] = keys[i]
        slots[slot, 1] = payloads[i]
    return True


@inner_kernel
def _insert_slots(slots: Keys, others: Keys) -> None:
    """Insert the keys of other slots, none of which are there, with their payloads."""
    for other in range(len(others)):
        key = others[other, 0]
        if key != np.uint64(0):
            slot = find_slot(slots, key)
            slots[slot, 0] = key
            slots[slot, 1] = others[other, 1]


@inner_kernel
def _reinsert(slots: Keys, slot: int) -> None:
    """Remove the key of a slot, if any, and insert it again."""
    key, payload = slots[slot, 0], slots[slot, 1]
    if key != np.uint64(0):
        slots[slot, 0] = slots[slot, 1] = np.uint64(0)
        slot = find_slot(slots, key)
        slots[slot, 0] = key
        slots[slot, 1] = payload


@inner_kernel
def rehash_in_place(slots: Keys) -> None:
    """Move each key to its slot, after the removal of other keys.

    In ascending order: all slots below the current one are final. Keys that have wrapped around
    to the beginning, up to the first empty slot, come last.
    """
    for slot in range(len(slots)):
        _reinsert(slots, slot)
    slot = 0
    while slots[slot, 0] != np.uint64(0):
        _reinsert(slots, slot)
        slot += 1
