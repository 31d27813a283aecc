"""Tests of ``fill_margins`` in ``spacy_ssvm/decoders/chain.py``."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from spacy_ssvm.decoders.chain import fill_margins

pytestmark = pytest.mark.uncompiled

scores = st.sampled_from([-np.inf, -1.5, 0.0, 2.0])


@given(st.data(), st.integers(0, 4), st.integers(1, 4))
def test_margins_are_differences_to_the_best_other_label(data, n, K):
    best = data.draw(arrays(float, (n, K), elements=scores))
    y = data.draw(arrays(np.int64, n, elements=st.integers(0, K - 1)))
    best[np.arange(n), y] = data.draw(arrays(float, n, elements=st.integers(-3, 3).map(float)))
    margins = np.full(n, np.nan)
    fill_margins(best, y, margins)
    for t in range(n):
        others = np.delete(best[t], y[t])
        assert margins[t] == best[t, y[t]] - others.max(initial=-np.inf)
