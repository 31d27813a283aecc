"""Weights in eight bits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from spacy_ssvm.weights.quantized import (
    QuantizedWeights,
    dequantize,
    exact,
    half_squared_distance,
    quantize,
    scale_of,
    values_of,
)

pytestmark = pytest.mark.uncompiled
finite = arrays(np.float64, st.integers(1, 20), elements=st.floats(-100, 100, width=32))


@given(finite)
def test_weights_are_rounded_to_the_nearest_step(weights):
    codes, scale = quantize(weights)
    assert codes.dtype == np.int8
    largest = np.abs(weights).max()
    if largest == 0:
        assert not codes.any()
        return
    assert scale == pytest.approx(largest / 127**2)
    wanted = 127 * np.sign(weights) * np.sqrt(np.abs(weights) / largest)
    assert np.abs(codes - wanted).max() <= 0.5 + 1e-4


@given(finite)
def test_rounded_weights_stay_what_they_are(weights):
    rounded = quantize(weights)
    again = quantize(exact(rounded))
    assert again.codes.tolist() == rounded.codes.tolist()
    assert again.scale == pytest.approx(rounded.scale, rel=1e-14)


@given(finite, st.integers(0, 20))
def test_distance_of_rounded_weights(weights, size):
    rounded, others = quantize(weights), np.linspace(-3, 7, 20)[: min(size, len(weights))]
    padded = np.append(others, np.zeros(len(weights) - len(others)))
    wanted = ((exact(rounded) - padded) ** 2).sum() / 2
    assert half_squared_distance(*rounded, others) == pytest.approx(wanted, rel=1e-12)


def test_what_steps_stand_for():
    weights = QuantizedWeights(np.array([-2, 0, 1, 127], dtype=np.int8), 0.5)
    assert exact(weights).tolist() == [-2.0, 0.0, 0.5, 0.5 * 127**2]
    found = [scale_of(weights) * dequantize(value) for value in values_of(weights)]
    assert found == exact(weights).tolist()


@pytest.mark.parametrize("flaw", [np.nan, np.inf, -np.inf])
def test_weights_that_are_not_finite_are_zeros(flaw):
    weights = quantize(np.array([1.0, flaw, -1.0]))
    assert exact(weights).tolist() == [0.0, 0.0, 0.0]


def test_floats_stand_for_themselves():
    for kind in (np.float32, np.float64):
        weights = np.array([0.5, -3.0], dtype=kind)
        assert values_of(weights) is weights
        assert scale_of(weights) == 1.0
        assert [dequantize(value) for value in weights] == [0.5, -3.0]
