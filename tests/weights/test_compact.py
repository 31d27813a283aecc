"""Tests of ``spacy_ssvm/weights/compact.py``."""

import numpy as np
import pytest
from chain_scores import checked
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from spacy_ssvm.weights.compact import CompactWeights, add_rows, fill_rows, row_sizes
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
    empty = ~(emissions.astype(np.float32) != 0).any(axis=1)
    np.testing.assert_array_equal(sizes == 0, empty)
