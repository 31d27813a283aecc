"""Weights quantized to eight bits, for large tables that are read at random.

    weight  =  scale q |q|,   q in -127..127

Models are saved with weights in this form, and predict by it: what a model predicts in training, it
predicts after loading. The steps between codes grow with the weights: small ones, which are many,
are as exact as large ones need to be. The table takes a quarter of the memory of one in single
precision, so that more of it stays in the caches, where most of the time goes into waiting for
memory. Sums of q |q| are integers: those of a thousand weights are exact in single precision, in
any order.

Kernels read weights by the functions below, be they quantized or an array of floats.
"""

from typing import NamedTuple

import numpy as np

from spacy_ssvm.kernels.compile import by_type, inner_kernel
from spacy_ssvm.kernels.types import AnyWeights, Codes, Codes1, Float, Floats, named_tuple

_LARGEST = 127


class QuantizedWeights(NamedTuple):
    """Weights in eight bits."""

    codes: Codes  #: int8 [rows]: the q of each weight
    scale: float


QuantizedWeightsType = named_tuple(QuantizedWeights, Codes1, Float)


@inner_kernel
def _fill_codes(weights: Floats, largest: float, codes: Codes) -> None:
    """Write the q of weights up to ``largest``."""
    for row in range(len(weights)):
        step = np.rint(_LARGEST * np.sqrt(abs(weights[row]) / largest))
        codes[row] = np.int8(step if weights[row] > 0 else -step)


def no_weights(rows: int) -> QuantizedWeights:
    """Weights that are all 0."""
    return QuantizedWeights(np.zeros(rows, dtype=np.int8), 0.0)


def quantize(weights: Floats) -> QuantizedWeights:
    """Weights (float64 [rows]) in eight bits; all are zeros where one is not finite.

    The result of ``exact`` has the codes that it had.
    """
    found = no_weights(len(weights))
    largest = float(np.maximum(weights.max(initial=0.0), -weights.min(initial=0.0)))
    if not 0.0 < largest < np.inf:
        return found
    _fill_codes(weights, largest, found.codes)
    return found._replace(scale=largest / _LARGEST**2)


def exact(weights: QuantizedWeights) -> Floats:
    """What quantized weights stand for: float64 [rows]."""
    codes = weights.codes.astype(np.float64)
    return weights.scale * codes * np.abs(codes)


@inner_kernel
def half_squared_distance(codes: Codes, scale: float, others: Floats) -> float:
    """1/2 |weights - others|^2, of the weights with these codes.

    others: float64 [rows], or shorter where they are 0.
    """
    total = 0.0
    for row in range(len(codes)):
        code = np.float64(codes[row])
        distance = scale * code * abs(code)
        if row < len(others):
            distance -= others[row]
        total += distance * distance
    return total / 2


#: What is kept of each weight, as an array: see ``dequantize``.
values_of = by_type(
    {
        np.ndarray: lambda weights: weights,
        QuantizedWeights: lambda weights: weights.codes,
    }
)

#: What a sum of ``dequantize`` is to be multiplied by.
scale_of = by_type(
    {
        np.ndarray: lambda weights: 1.0,  # noqa: ARG005
        QuantizedWeights: lambda weights: weights.scale,
    }
)

#: The contribution of one stored value to a score.
dequantize = by_type(
    {
        np.float64: lambda value: value,
        np.float32: lambda value: value,
        np.int8: lambda value: np.float32(value) * abs(np.float32(value)),
    }
)

#: What the functions above take.
TableWeights = AnyWeights | QuantizedWeights
#: What ``values_of`` returns.
Values = AnyWeights | Codes
