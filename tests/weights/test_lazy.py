"""Tests of ``spacy_ssvm/weights/lazy.py``."""

import numpy as np
import pytest
from planted_chains import Corpus, passes

from spacy_ssvm.solvers.prox_gradient import ProxGradient


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
