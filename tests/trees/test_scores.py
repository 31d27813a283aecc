"""Tests of ``spacy_ssvm/trees/scores.py``."""

import numpy as np
import pytest
from arc_strategies import COLUMNS, arc_texts, arcs_of, checked, sentences, templates_of
from hypothesis import given
from hypothesis import strategies as st
from kernels import arc_rows, scores_of_arcs

from spacy_ssvm.trees.scores import _NO_DEPENDENT, _NO_HEAD, _NO_THIRD, short_sides

pytestmark = pytest.mark.uncompiled


@checked
@given(st.data(), sentences(), st.lists(arc_texts, min_size=1, max_size=6))
def test_scores_of_arcs_are_the_sums_of_the_weights_of_their_rows(data, nodes, texts):
    templates = templates_of(texts)
    size = 64  # few enough that features share rows
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    weights = random.normal(size=size + 1).astype(data.draw(st.sampled_from([float, np.float32])))
    weights[size] = 0.0
    N = len(nodes) - 1
    allowed = random.random((N, N)) < 0.8
    scores = scores_of_arcs(templates, COLUMNS, nodes, size, weights, allowed)
    for h, m in arcs_of(nodes):
        rows = arc_rows(templates, COLUMNS, nodes, size, h, m)
        expected = weights[rows].astype(float).sum() if allowed[h, m] else -np.inf
        assert scores[h, m] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("size", [2**8, 2**20, 2**28])
@given(
    st.lists(st.one_of(st.just(0), st.integers(1, 2**64 - 1)), min_size=3, max_size=3),
    st.integers(0, 15),
)
def test_rows_of_features_without_a_side_are_above_all_others(size, sides, code):
    """Up to the largest space of rows that a config can ask for."""
    row = code
    for side, missing in zip(sides, (_NO_HEAD, _NO_DEPENDENT, _NO_THIRD), strict=True):
        hashes = np.array([[7, side]], dtype=np.uint64)
        row ^= int(short_sides(hashes, 2, size, missing)[0, 1])
    if 0 in sides:
        assert size < row < 2**32
    else:
        assert row == ((sides[0] ^ sides[1] ^ sides[2]) & (size - 1)) ^ code
