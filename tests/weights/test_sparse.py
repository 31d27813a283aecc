"""Tests of ``spacy_ssvm/weights/sparse.py``."""

import naive
import pytest
from chain_scores import difference_of, problem_of

pytestmark = pytest.mark.uncompiled


def test_coefficients_of_a_feature_that_fires_several_times_are_summed():
    """Row 2 fires three times at the wrong token, so |Phi|^2 has 9 + 9, not 3 * (1 + 1)."""
    chains = naive.Chains(2, 3, [[[2, 0, 2, 2]]], [[0]])
    phi = difference_of(problem_of(chains), 0, [0], [1])
    start, end, row_0, row_2 = 2 * 2, 3 * 2, 4 * 2 + 0, 4 * 2 + 2 * 2
    positive = {start: 1, end: 1, row_0: 1, row_2: 3}
    assert phi == positive | {index + 1: -value for index, value in positive.items()}
    assert sum(value**2 for value in phi.values()) == 24


def test_what_gold_and_structure_share_cancels_out():
    """The labels of two tokens with the same feature are swapped: the emissions agree."""
    chains = naive.Chains(2, 1, [[[0], [0]]], [[0, 1]])
    phi = difference_of(problem_of(chains), 0, [0, 1], [1, 0])
    assert phi == {4: 1, 5: -1, 7: 1, 6: -1, 1: 1, 2: -1}
    assert difference_of(problem_of(chains), 0, [0, 1], [0, 1]) == {}
