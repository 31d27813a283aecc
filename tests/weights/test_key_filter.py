"""Tests of ``spacy_ssvm/weights/key_filter.py``."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.weights.feature_index import Table
from spacy_ssvm.weights.hash_table import empty_slots, number_keys
from spacy_ssvm.weights.key_filter import keep_known, key_filter

pytestmark = pytest.mark.uncompiled

some_keys = st.integers(0, 2**64 - 1)


def kept(table, keys):
    keys = np.array(keys, dtype=np.uint64)
    return keys[: keep_known(key_filter(table), keys)].tolist()


@given(st.lists(st.integers(1, 2**64 - 1), unique=True), st.lists(some_keys), st.randoms())
def test_keys_of_the_table_are_kept_in_their_order(keys, others, random):
    table = Table(number_keys(np.array(keys, dtype=np.uint64)), 0)
    asked = [*keys, *keys[::2], *others]
    random.shuffle(asked)
    found = iter(kept(table, asked))
    for key in asked:
        if key in keys:
            assert key in found, "in the same order"


@pytest.mark.parametrize("size", [1, 100, 10_000])
def test_few_other_keys_are_kept(size):
    keys = np.random.default_rng(0).integers(1, 2**64, (2, size), dtype=np.uint64)
    table = Table(number_keys(keys[0]), 0)
    assert kept(table, keys[0]) == keys[0].tolist()
    assert len(kept(table, keys[1])) <= size * 0.13


def test_a_table_without_keys_has_none_to_keep():
    assert kept(Table(empty_slots(0), 0), [0, 1, 2**63, 2**64 - 1]) == []


def test_all_keys_have_rows_in_a_hashed_table():
    keys = [0, 1, 0, 2**63, 2**64 - 1]
    assert kept(Table(empty_slots(0), 32), keys) == keys
