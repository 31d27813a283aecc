"""Tests of ``spacy_ssvm/weights/narrow.py``."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.weights.narrow import narrow, numbers_of, steps_of, widen

pytestmark = pytest.mark.uncompiled


@given(st.lists(st.integers(0, 2**64 - 1)))
def test_numbers_are_saved_in_the_bytes_that_they_need(numbers):
    saved = narrow(np.array(numbers, dtype=np.uint64))
    assert saved.flags.c_contiguous
    assert saved.tolist() == [[*number.to_bytes(saved.shape[1], "little")] for number in numbers]
    assert saved.shape[1] == max(1, *((n.bit_length() + 7) // 8 for n in [0, *numbers]))
    assert widen(saved, "sizes").tolist() == numbers


def test_signed_numbers_are_read_as_well():
    assert narrow(np.array([3, 256, 0])).tolist() == [[3, 0], [0, 1], [0, 0]]


@pytest.mark.parametrize("shape", [(4,), (4, 0), (4, 9), (2, 2, 1)])
def test_other_shapes_are_refused(shape):
    with pytest.raises(ValueError, match="the sizes of rows are no list of numbers"):
        widen(np.zeros(shape, dtype=np.uint8), "sizes of rows")


@given(st.lists(st.integers(0, 2**64 - 1)).map(sorted))
def test_sorted_numbers_are_the_sums_of_their_steps(numbers):
    steps = steps_of(np.array(numbers, dtype=np.uint64))
    assert steps.dtype == np.uint64
    assert steps.tolist() == [b - a for a, b in zip([0, *numbers], numbers, strict=False)]
    assert numbers_of(steps).tolist() == numbers


def test_sums_that_are_too_large_start_again_at_zero():
    assert numbers_of(np.array([1, 2**64 - 1, 7], dtype=np.uint64)).tolist() == [1, 0, 7]
