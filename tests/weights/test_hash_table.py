"""Tests of ``spacy_ssvm/weights/hash_table.py``."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.weights.hash_table import (
    empty_slots,
    find_payloads,
    grown_slots,
    insert_all,
    number_keys,
    numbered_keys,
    read_keys,
    read_slots,
    rehash_in_place,
    saved_slots,
    slots_of,
)
from spacy_ssvm.weights.narrow import narrow, steps_of

pytestmark = pytest.mark.uncompiled


@given(st.data(), st.sampled_from([8, 62]))
def test_keys_are_found_after_others_are_taken_out_and_where_slots_grow(data, bits):
    """With keys of few bits, all start at the first slot; the highest ones go round the end."""
    low = 1 if data.draw(st.booleans()) else 2**64 - 2**bits
    keys = data.draw(st.lists(st.integers(low, low + 2**bits - 1), min_size=1, unique=True))
    stay = {key for key in keys if data.draw(st.booleans())}
    slots = empty_slots(len(keys))
    payloads = np.arange(1, len(keys) + 1, dtype=np.uint64)
    insert_all(slots, np.array(keys, dtype=np.uint64), payloads)
    for slot in slots:
        if int(slot[0]) not in stay:
            slot[:] = 0
    expected = [number if key in stay else -1 for number, key in enumerate(keys, start=1)]
    found = np.empty(len(keys), dtype=np.int64)
    for grows in (False, True):
        if grows:
            slots = grown_slots(slots, 2 * len(keys) + 9)
        else:
            rehash_in_place(slots)
        find_payloads(slots, np.array(keys, dtype=np.uint64), found)
        assert found.tolist() == expected
        assert not slots[slots[:, 0] == 0].any()
        assert np.count_nonzero(slots[:, 0]) == len(stay)


@given(st.lists(st.integers(1, 2**64 - 1), unique=True))
def test_numbered_keys_are_found_by_their_numbers(keys):
    keys = np.array(keys, dtype=np.uint64)
    slots = number_keys(keys)
    assert numbered_keys(slots).tolist() == keys.tolist()
    found = np.empty(len(keys), dtype=np.int64)
    assert find_payloads(slots, keys, found) == 0
    assert found.tolist() == list(range(1, len(keys) + 1))
    assert read_keys(keys, "names").tolist() == slots.tolist()


@pytest.mark.parametrize("keys", [[5, 5], [0], [2**63, 0, 7], [0, 0], [1, 2**64 - 1, 3, 1]])
def test_keys_that_repeat_or_are_none_are_refused(keys):
    with pytest.raises(ValueError, match="the names are not different"):
        read_keys(np.array(keys, dtype=np.uint64), "names")


@pytest.mark.parametrize("number", [100, 1000, 10_000])
def test_keys_that_would_take_long_to_find_are_refused(number):
    """Those of a forged file, which all have the same slot."""
    keys = np.arange(1, number + 1, dtype=np.uint64)
    if number == 100:
        assert len(read_keys(keys, "names")) > number
    else:
        with pytest.raises(ValueError, match="the names are no hashes"):
            read_keys(keys, "names")


@given(st.dictionaries(st.integers(1, 2**64 - 1), st.integers(0, 2**64 - 1)), st.randoms())
def test_saved_slots_are_those_that_were_there(numbers, random):
    pairs = random.sample([*numbers.items()], len(numbers))
    keys, payloads = np.array(pairs, dtype=np.uint64).reshape(-1, 2).T.copy()
    slots = slots_of(keys, payloads)
    saved = saved_slots(slots)
    assert saved[0].tolist() == narrow(steps_of(np.sort(keys))).tolist(), "in few bytes"
    again = read_slots(*saved, "keys")
    found = np.empty(len(keys), dtype=np.int64)
    assert find_payloads(again, keys, found) == 0
    assert found.view(np.uint64).tolist() == payloads.tolist()
    assert len(again) == len(slots)
    for before, after in zip(saved, saved_slots(again), strict=True):
        assert after.tolist() == before.tolist()


FORGED = {
    "repeated": ([7, 2**40, 2**40], [1, 2, 3], "the names are not different"),
    "zero": ([0, 2**40], [1, 2], "the names are not different"),
    "no hashes": (range(1, 1001), range(1000), "the names are no hashes"),
    "too few numbers": ([7, 2**40], [1], "the names do not fit their numbers"),
}


@pytest.mark.parametrize(("keys", "payloads", "message"), FORGED.values(), ids=FORGED)
def test_saved_slots_in_which_a_search_would_fail_are_refused(keys, payloads, message):
    steps = steps_of(np.array(keys, dtype=np.uint64))
    with pytest.raises(ValueError, match=message):
        read_slots(narrow(steps), narrow(np.array(payloads, dtype=np.uint64)), "names")
