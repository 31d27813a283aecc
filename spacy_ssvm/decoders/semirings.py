"""How to add up the scores of alternatives: the best of them, or the sum of their exponentials.

    MAX       the greatest score
    LOG_SUM   the logarithm of the sum of the exponentials

Minus infinity is the score of what is impossible; adding it changes nothing.
"""

import numpy as np

from spacy_ssvm.kernels.compile import inlined_kernel
from spacy_ssvm.kernels.types import Floats

MAX = 0
LOG_SUM = 1


@inlined_kernel
def add(semiring: int, a: float, b: float) -> float:
    """The sum of two scores in a semiring."""
    high, low = max(a, b), min(a, b)
    if semiring == MAX or low == -np.inf:
        return high
    return float(high + np.log1p(np.exp(low - high)))


@inlined_kernel
def add_splits(semiring: int, left: Floats, right: Floats) -> float:
    """The sum of all left + right in a semiring."""
    high = -np.inf
    for k in range(len(left)):
        high = max(high, left[k] + right[k])
    if semiring == MAX or high == -np.inf:
        return high
    total = 0.0
    for k in range(len(left)):
        total += np.exp(left[k] + right[k] - high)
    return float(high + np.log(total))
