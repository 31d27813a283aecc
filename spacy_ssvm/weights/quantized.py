"""Weights quantized to eight bits, for large tables that are read at random.

    weight  =  scale q |q|,   q in -127..127

The steps between codes grow with the weights: small ones, which are many, are as exact as large
ones need to be. The table takes a quarter of the memory, so that more of it stays in the caches,
where most of the time goes into waiting for memory. Sums of q |q| are integers: those of a thousand
weights are exact in single precision, in any order.

Kernels read weights by the functions below, be they quantized or an array of floats.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from spacy_ssvm.kernels.compile import by_type, inner_kernel
from spacy_ssvm.kernels.types import AnyWeights, Codes, Codes1, Float, Weights, named_tuple

_LARGEST = 127


class QuantizedWeights(NamedTuple):
    """Weights in eight bits."""

    codes: Codes  #: int8 [rows]: the q of each weight
    scale: float


QuantizedWeightsType = named_tuple(QuantizedWeights, Codes1, Float)


@inner_kernel
def _fill_codes(weights: Weights, largest: float, codes: Codes) -> None:
    """Write the q of weights up to ``largest``."""
    for row in range(len(weights)):
        weight = np.float64(weights[row])
        step = np.rint(_LARGEST * np.sqrt(abs(weight) / largest))
        codes[row] = np.int8(step if weight > 0 else -step)


def quantize(weights: Weights) -> QuantizedWeights:
    """Weights (float32 [rows]) in eight bits; all are zeros where one is not finite."""
    codes = np.zeros(len(weights), dtype=np.int8)
    largest = float(np.maximum(weights.max(initial=0.0), -weights.min(initial=0.0)))
    if not 0.0 < largest < np.inf:
        return QuantizedWeights(codes, 0.0)
    _fill_codes(weights, largest, codes)
    return QuantizedWeights(codes, largest / _LARGEST**2)


def exact(weights: QuantizedWeights) -> npt.NDArray[np.float64]:
    """What quantized weights stand for: float64 [rows]."""
    codes = weights.codes.astype(np.float64)
    return weights.scale * codes * np.abs(codes)


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
