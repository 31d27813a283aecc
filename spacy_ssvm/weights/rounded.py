"""Weights rounded to eight bits, for large tables that are read at random.

    weight  =  scale q |q|,   q in -127..127

Steps grow with the weights: small ones, which are many, are as exact as large ones need to be. The
table takes a quarter of the memory, so that more of it stays in the caches, where most of the time
goes into waiting for memory. Sums of q |q| are integers: those of a thousand weights are exact in
single precision, in any order.

Kernels read weights by the functions below, be they rounded or an array of floats.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from spacy_ssvm.kernels.compile import by_type, inner_kernel
from spacy_ssvm.kernels.types import AnyWeights, Float, Steps1, Weights, named_tuple

Steps = npt.NDArray[np.int8]

_LARGEST = 127


class RoundedWeights(NamedTuple):
    """Weights in eight bits."""

    steps: Steps  #: int8 [rows]: the q of each weight
    scale: float


RoundedWeightsType = named_tuple(RoundedWeights, Steps1, Float)


@inner_kernel
def _fill_steps(weights: Weights, largest: float, steps: Steps) -> None:
    """Write the q of weights up to ``largest``."""
    for row in range(len(weights)):
        weight = np.float64(weights[row])
        step = np.rint(_LARGEST * np.sqrt(abs(weight) / largest))
        steps[row] = np.int8(step if weight > 0 else -step)


def rounded(weights: Weights) -> RoundedWeights:
    """Weights (float32 [rows]) in eight bits; all are zeros where one is not finite."""
    steps = np.zeros(len(weights), dtype=np.int8)
    largest = float(np.maximum(weights.max(initial=0.0), -weights.min(initial=0.0)))
    if not 0.0 < largest < np.inf:
        return RoundedWeights(steps, 0.0)
    _fill_steps(weights, largest, steps)
    return RoundedWeights(steps, largest / _LARGEST**2)


def exact(weights: RoundedWeights) -> npt.NDArray[np.float64]:
    """What rounded weights stand for: float64 [rows]."""
    steps = weights.steps.astype(np.float64)
    return weights.scale * steps * np.abs(steps)


#: What is kept of each weight, as an array: see ``in_sum``.
values_of = by_type(
    {
        np.ndarray: lambda weights: weights,
        RoundedWeights: lambda weights: weights.steps,
    }
)

#: What a sum of ``in_sum`` is to be multiplied by.
scale_of = by_type(
    {
        np.ndarray: lambda weights: 1.0,  # noqa: ARG005
        RoundedWeights: lambda weights: weights.scale,
    }
)

#: What one of ``values_of`` adds to a sum of weights.
in_sum = by_type(
    {
        np.float64: lambda value: value,
        np.float32: lambda value: value,
        np.int8: lambda value: np.float32(value) * abs(np.float32(value)),
    }
)

#: What the functions above take.
TableWeights = AnyWeights | RoundedWeights
#: What ``values_of`` returns.
Values = AnyWeights | Steps
