"""Tests of ``spacy_ssvm/weights/compact.py``."""

import numpy as np
import pytest
from chain_scores import checked
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from spacy_ssvm.weights.compact import (
    CompactWeights,
    add_rows,
    add_to_some,
    fill_rows,
    row_sizes,
)
from spacy_ssvm.weights.rows import dense_table

pytestmark = pytest.mark.uncompiled


@checked
@given(st.data(), st.integers(1, 9), st.integers(1, 4))
def test_compact_rows_add_up_to_what_the_full_rows_add_up_to(data, K, rows):
    emissions = data.draw(
        arrays(float, (rows, K), elements=st.sampled_from([0.0, 0.0, 0.0, 1.0, -0.1, 1e-60]))
    )
    kept = np.array(data.draw(st.permutations(range(rows))), dtype=np.int64)
    sizes = np.full(rows, -1, dtype=np.int64)
    row_sizes(dense_table(K), emissions.ravel(), sizes)
    starts = np.concatenate([[0], np.cumsum(sizes[kept])]).astype(np.int64)
    labels = np.full(starts[-1], 999, dtype=np.uint16)
    weights = np.full(starts[-1], np.nan, dtype=np.float32)
    fill_rows(dense_table(K), emissions.ravel(), kept, starts, labels, weights)
    compact = CompactWeights(starts, labels, weights)

    fired = np.array(data.draw(st.lists(st.integers(0, rows - 1), max_size=6)), dtype=np.int64)
    scores = np.zeros(K)
    add_rows(compact, fired, len(fired), scores)
    expected = emissions[kept].astype(np.float32).astype(float)[fired].sum(axis=0)
    np.testing.assert_allclose(scores, expected, atol=1e-12)
    wanted = np.array(sorted(data.draw(st.sets(st.integers(0, K - 1)))), dtype=np.int64)
    some = np.zeros(K)
    add_to_some(compact, fired, len(fired), wanted, some)
    np.testing.assert_array_equal(some[wanted], scores[wanted])
    empty = ~(emissions.astype(np.float32) != 0).any(axis=1)
    np.testing.assert_array_equal(sizes == 0, empty)


@pytest.mark.parametrize("size", range(12))
def test_sparse_rows_of_any_length(size):
    random = np.random.default_rng(size)
    labels = [np.sort(random.choice(50, size, replace=False)) for _ in range(3)]
    weights = [random.normal(size=size).astype(np.float32) for _ in labels]
    starts = size * np.arange(4, dtype=np.int64)
    compact = CompactWeights(
        starts, np.concatenate(labels).astype(np.uint16), np.concatenate(weights)
    )
    expected, rows = np.zeros(50), np.array([2, 0, 2], dtype=np.int64)
    for row in rows:
        expected[labels[row]] += weights[row]
    everything, wanted = np.zeros(50), np.zeros(50)
    add_rows(compact, rows, len(rows), everything)
    np.testing.assert_array_equal(everything, expected)
    add_to_some(compact, rows, len(rows), np.arange(50), wanted)
    np.testing.assert_array_equal(wanted, expected)
