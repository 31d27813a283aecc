"""Tests of ``spacy_ssvm/weights/key_table.py``."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.weights import key_table as rooms
from spacy_ssvm.weights.key_table import (
    as_feature,
    find_row,
    key_table,
    keys_of,
    read_keys,
    saved_keys,
)

pytestmark = pytest.mark.uncompiled

BUCKET = 1 << 48
#: Keys in few buckets, the first and the last among them, and anywhere.
crowded = st.builds(
    lambda bucket, short: bucket * BUCKET + (short << 24),
    st.sampled_from([0, 1, 2**15, 2**16 - 1]),
    st.integers(0, 5),
)
some_keys = st.one_of(crowded, st.integers(0, 2**40 - 1).map(lambda key: key << 24))


def array_of(keys):
    return np.array(keys, dtype=np.uint64)


@given(
    st.lists(some_keys.filter(bool), unique=True),
    st.lists(st.tuples(some_keys, st.integers(0, 2**24 - 1))),
    st.sampled_from([1, 8]),
)
def test_each_key_has_its_row_and_others_have_none(keys, others, mean):
    with patch.object(rooms, "_MEAN", mean):
        table = key_table(array_of(keys))
    for row, key in enumerate(keys):
        assert find_row(table, np.uint64(key), 0) == row
    for key, ignored in others:
        row = keys.index(key) if key in keys else -1
        assert find_row(table, np.uint64(key + ignored), 3) == row
    assert keys_of(table).tolist() == keys
    assert keys_of(read_keys(saved_keys(table), len(keys))).tolist() == keys


def test_many_keys_have_more_buckets():
    keys = np.random.default_rng(0).integers(1, 2**40, 600_000, dtype=np.uint64) << np.uint64(24)
    keys = np.unique(keys)[::-1]
    table = key_table(keys)
    assert len(table.bucket_starts) == 2**17 + 1
    assert len(key_table(keys[:1000]).bucket_starts) == 2**16 + 1
    for row in range(0, len(keys), 997):
        assert find_row(table, keys[row], 0) == row
    np.testing.assert_array_equal(keys_of(table), keys)
    saved = saved_keys(table)
    assert saved.shape == (len(keys), 5)
    np.testing.assert_array_equal(keys_of(read_keys(saved, len(keys))), keys)


def test_keys_of_a_hashed_space_have_the_rows_of_their_template():
    table = key_table(array_of([]), 8)
    assert [int(find_row(table, np.uint64(key), 2)) for key in (0, 1, 2**63, 2**64 - 1)] == [
        -1,
        16,
        20,
        23,
    ]
    assert read_keys(saved_keys(table), 24, 8).rows_per_template == 8


def test_a_table_without_keys_has_no_rows():
    table = key_table(array_of([]))
    for key in (0, 1, 2**24, 2**63, 2**64 - 1):
        assert find_row(table, np.uint64(key), 0) == -1


def test_the_last_bits_are_no_part_of_a_feature():
    assert as_feature(np.uint64(2**64 - 1)) == 2**64 - 2**24
    assert as_feature(np.uint64(2**24 - 1)) == 0
    assert as_feature(np.uint64(5 * 2**24)) == 5 * 2**24


FORGED = {
    "no hashes": (np.arange(1, 66), "the keys of rows are no hashes"),
    "repeated": ([7 * 2**32, 1, 7 * 2**32], "the keys of rows are not different"),
    "zero": ([5, 0], "the keys of rows are not different"),
}


@pytest.mark.parametrize(("numbers", "message"), FORGED.values(), ids=FORGED)
def test_keys_that_cannot_be_told_apart_are_refused(numbers, message):
    saved = array_of(numbers).view(np.uint8).reshape(-1, 8)[:, :5]
    with pytest.raises(ValueError, match=message):
        read_keys(saved, len(saved))


def test_keys_of_another_number_of_rows_are_refused():
    saved = saved_keys(key_table(array_of([2**24, 2**50])))
    for rows, rows_per_template in ((1, 0), (3, 0), (2, 4)):
        with pytest.raises(ValueError, match="do not fit their keys"):
            read_keys(saved, rows, rows_per_template)
    with pytest.raises(ValueError, match="keys of rows are no list of numbers"):
        read_keys(saved[:, 0], 2)


def test_sixty_four_keys_of_a_bucket_are_possible():
    assert len(read_keys(array_of(np.arange(1, 65)).view(np.uint8).reshape(-1, 8), 64).keys) == 64
