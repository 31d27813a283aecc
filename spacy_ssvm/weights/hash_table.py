"""One open-addressing hash table, from 64-bit keys to 64-bit payloads.

A table is uint64 [capacity, 2] of (key, payload) with linear probing; key 0 marks an
empty slot and stands for "no feature". A key's first slot grows with the key, so that
the high bits, which hashing mixes best, decide.
"""

import numpy as np

from spacy_ssvm._jit import Ints, Keys, kernel

_MIN_CAPACITY = 16
MAX_LOAD = 2 / 3  # the load above which a table grows


def _capacity(size: int) -> int:
    """How many slots there are to be for ``size`` keys."""
    return max(_MIN_CAPACITY, int(size / MAX_LOAD) + 1)


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
    """Grow slots in place, to the capacity for ``size`` keys, more than before."""
    before = len(slots)
    slots.resize((_capacity(size), 2), refcheck=False)
    _spread(slots, before)
    rehash_in_place(slots)


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
def rehash_in_place(slots: Keys) -> None:
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
