"""Tests of ``spacy_ssvm/weights/feature_index.py``."""

from unittest.mock import patch

import numpy as np
import pytest
from feature_strategies import checked, rows_of
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from marks import PLAIN

from spacy_ssvm.labelings.training import split_rows
from spacy_ssvm.weights import feature_index
from spacy_ssvm.weights.feature_index import FeatureIndex

pytestmark = pytest.mark.uncompiled


class NaiveIndex:
    """A dictionary of keys, by the bits that tell features apart, and how often each was met."""

    def __init__(self, min_count):
        self.min_count = min_count
        self.counts = {}
        self.rows = {}
        self.templates = []

    def insert(self, keys):
        for token in keys:
            for m, key in enumerate(map(feature, token)):
                if key != 0:
                    self.counts[key] = self.counts.get(key, 0) + 1
                    if self.counts[key] == self.min_count:
                        self.rows[key] = len(self.rows)
                        self.templates.append(m)

    def keep(self, rows):
        """Only these rows; what is rare counts anew."""
        keys = list(self.rows)
        self.templates = [self.templates[row] for row in rows]
        self.rows = {keys[row]: number for number, row in enumerate(rows)}
        self.counts = dict.fromkeys(self.rows, self.min_count)


def test_an_index_of_fixed_keys_has_no_others() -> None:
    """Keys are whole ones; real-valued features, which ``insert_sparse`` adds, still get rows."""
    index = FeatureIndex(3, min_count=2)
    index.fix(keys_of([5, 7]) + np.uint64(3), np.array([2, 0], dtype=np.int32))
    for _ in range(2):
        index.insert(keys_of([[7, 5, 9]]))
    assert rows_of(index, keys_of([[7, 5, 9]])) == [[1, 0]]
    assert index.row_templates.tolist() == [2, 0]
    for _ in range(2):
        index.insert_sparse(keys_of([9]), np.array([1], dtype=np.int32))
    assert rows_of(index, keys_of([[7, 5, 9]])) == [[1, 0, 2]]


def feature(key):
    """A key without the bits that are ignored."""
    return key >> 24 << 24


def keys_of(rows):
    """Keys of small numbers, which differ in bits that tell features apart."""
    return np.array(rows, dtype=np.uint64) << np.uint64(24)


# Keys that meet in the table: their high halves, which decide, are nearly all alike.
# The last ones begin at the last slot and go on at the first.
crowded = st.builds(
    lambda high, low, ignored: (high << 32) + (low << 24) + ignored,
    st.sampled_from([0, 1, 2**32 - 1]),
    st.integers(0, 6),
    st.sampled_from([0, 1, 2**24 - 1]),
)


anywhere = st.integers(0, 2**64 - 1)


@checked
@given(st.data(), st.integers(1, 3), st.integers(1, 3))
def test_an_exact_index_gives_each_key_its_row(data, T, min_count):
    index, expected = FeatureIndex(T, min_count=min_count), NaiveIndex(min_count)
    batches = data.draw(st.lists(st.integers(0, 8).map(lambda n: (n, T)), min_size=1, max_size=4))
    for shape in batches:
        keys = data.draw(arrays(np.uint64, shape, elements=st.one_of(crowded, anywhere)))
        at_a_time = data.draw(st.sampled_from([1, 5, 100_000]))
        with patch.object(feature_index, "_MORE", at_a_time):
            if data.draw(st.booleans()):
                index.insert(keys)
            else:
                templates = np.tile(np.arange(T, dtype=np.int32), len(keys))
                index.insert_sparse(keys[keys != 0], templates[keys.ravel() != 0])
        expected.insert(keys.tolist())
        if data.draw(st.booleans()):
            kept = [row for row in range(index.number_of_rows) if data.draw(st.booleans())]
            index.keep(np.array(kept, dtype=np.int64))
            expected.keep(kept)
        assert index.number_of_rows == len(expected.rows)
        assert index.row_keys.tolist() == list(expected.rows)
        assert index.row_templates.tolist() == expected.templates
        assert rows_of(index, keys) == [
            [expected.rows[feature(key)] for key in token if feature(key) in expected.rows]
            for token in keys.tolist()
        ]


def test_keys_of_three_templates_get_rows_in_the_order_they_are_met():
    index = FeatureIndex(3)
    index.insert(keys_of([[11, 12, 0], [11, 13, 14]]))
    assert index.row_keys.tolist() == keys_of([11, 12, 13, 14]).tolist()
    assert index.row_templates.tolist() == [0, 1, 1, 2]
    unknown = keys_of([[14, 99, 0], [0, 0, 0], [13, 13, 11]])
    assert rows_of(index, unknown) == [[3], [], [2, 2, 0]]


def test_a_key_below_the_minimum_count_has_no_row_yet():
    index = FeatureIndex(1, min_count=3)
    keys = keys_of([[5], [5], [6]])
    index.insert(keys)
    assert index.number_of_rows == 0
    assert rows_of(index, keys) == [[], [], []]
    index.insert(keys)
    assert rows_of(index, keys) == [[0], [0], []]
    index.insert(keys)
    assert rows_of(index, keys) == [[0], [0], [1]]


@pytest.mark.parametrize("min_count", [1, 2])
def test_an_index_grows_over_many_keys(min_count):
    random = np.random.default_rng(0)
    size = 500 if PLAIN else 20_000
    keys = keys_of(np.unique(random.integers(1, 2**40, size=size, dtype=np.uint64)))
    random.shuffle(keys)
    index = FeatureIndex(1, min_count=min_count)
    for _ in range(min_count):
        for batch in np.array_split(keys, 17):
            index.insert(batch[:, None].copy())
    np.testing.assert_array_equal(index.row_keys, keys)
    assert rows_of(index, keys[:, None].copy()) == [[row] for row in range(len(keys))]


def test_an_index_takes_memory_for_keys_that_are_new():
    keys = keys_of(np.tile(np.arange(1, 101), (5000, 1)))
    index = FeatureIndex(100)
    index.insert(keys)
    assert index.bytes < keys.nbytes
    sparse = FeatureIndex(1)
    sparse.insert_sparse(keys.ravel(), np.zeros(keys.size, dtype=np.int32))
    assert sparse.bytes < keys.nbytes


def test_a_loaded_index_goes_on_from_its_rows():
    index = FeatureIndex(2, min_count=2)
    index.load(keys_of([8, 3, 5]), np.array([0, 1, 1], dtype=np.int32))
    keys = keys_of([[8, 5], [9, 3]])
    assert index.number_of_rows == 3
    assert rows_of(index, keys) == [[0, 2], [1]]
    index.insert(keys)
    assert rows_of(index, keys) == [[0, 2], [1]]
    index.insert(keys)
    assert rows_of(index, keys) == [[0, 2], [3, 1]]
    assert index.row_keys.tolist() == keys_of([8, 3, 5, 9]).tolist()
    assert index.row_templates.tolist() == [0, 1, 1, 0]


@checked
@given(st.data(), st.integers(1, 5), st.integers(3, 12))
def test_a_hashed_index_gives_each_template_its_own_slice(data, T, hash_bits):
    index = FeatureIndex(T, rows_per_template=split_rows(hash_bits, T))
    keys = data.draw(arrays(np.uint64, (6, T), elements=st.one_of(st.just(0), anywhere)))
    rows = index.number_of_rows
    assert 2**hash_bits - T < rows <= 2**hash_bits
    width = rows // T
    assert index.row_templates.tolist() == [m for m in range(T) for _ in range(width)]
    found = rows_of(index, keys)
    for token, token_rows in zip(keys.tolist(), found, strict=True):
        templates = [m for m, key in enumerate(token) if key != 0]
        assert [row // width for row in token_rows] == templates
    index.insert(keys)
    assert index.number_of_rows == rows
    assert rows_of(index, keys) == found


def test_a_hashed_index_uses_its_rows_evenly():
    keys = np.random.default_rng(0).integers(1, 2**64, size=(4000, 2), dtype=np.uint64)
    index = FeatureIndex(2, rows_per_template=8)
    counts = np.bincount(np.concatenate(rows_of(index, keys)), minlength=16)
    assert counts.min() > 400
    assert counts.max() < 600
