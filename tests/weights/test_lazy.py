"""Tests of ``spacy_ssvm/weights/lazy.py``."""

import numpy as np
import pytest
from planted_chains import Corpus, passes

from spacy_ssvm.solvers.prox_gradient import ProxGradient
from spacy_ssvm.weights.lazy import LazyWeights, find_block, get_or_insert, has_capacity


@pytest.mark.uncompiled
def test_small_scales_are_multiplied_out():
    corpus = Corpus()
    lazy = corpus.lazy()
    run = passes(ProxGradient(budget=30, prox_period=60), lazy, 0, epochs=1)
    before = run.w
    lazy.store.table.scales[:] *= 1e-40
    lazy.store.rescale(np.full(len(corpus.templates), 1e-30))
    assert (lazy.store.table.scales == 1).all()
    first = (corpus.K + 2) * corpus.K
    np.testing.assert_allclose(run.w[first:], 1e-70 * before[first:])
    np.testing.assert_array_equal(run.w[:first], before[:first])


@pytest.mark.uncompiled
def test_features_of_a_removed_template_start_from_zero():
    """Its rows are stale at once, whether or not they have been swept, and no weight comes back."""
    store = LazyWeights(2, first=1, labels=3)
    keys = np.array([7, 8], dtype=np.uint64)
    has_capacity(store.table, 9)
    store.reserve()
    labels, rows = np.array([0, 2]), np.empty(2, dtype=np.int64)
    for m in range(2):
        get_or_insert(store.table, store.w[1:], m, keys[m], labels, rows)
        store.w[1 + rows] = 5.0
    store.rescale(np.array([0.0, 1.0]))
    assert store.allocated == 2
    assert find_block(store.table, 0, keys[0])[1] == 0
    assert find_block(store.table, 1, keys[1])[1] == 2
    get_or_insert(store.table, store.w[1:], 0, keys[0], labels, rows)
    assert (store.w[1 + rows] == 0).all()
    assert store.allocated == 4
