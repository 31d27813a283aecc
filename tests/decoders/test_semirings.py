"""Tests of ``spacy_ssvm/decoders/semirings.py``."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from spacy_ssvm.decoders.semirings import LOG_SUM, MAX, add, add_splits

pytestmark = pytest.mark.uncompiled

scores = st.one_of(st.floats(-1e3, 1e3), st.just(-np.inf))


@given(scores, scores)
def test_two_scores(a, b):
    assert add(MAX, a, b) == max(a, b)
    assert add(LOG_SUM, a, b) == pytest.approx(np.logaddexp(a, b))


@given(st.integers(0, 5).flatmap(lambda n: arrays(float, (2, n), elements=scores)))
def test_all_splits(table):
    left, right = table
    assert add_splits(MAX, left, right) == (left + right).max(initial=-np.inf)
    expected = np.logaddexp.reduce(left + right, initial=-np.inf)
    assert add_splits(LOG_SUM, left, right) == pytest.approx(expected)
