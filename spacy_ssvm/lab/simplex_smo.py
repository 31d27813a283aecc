"""Quadratic programs of a few variables over a simplex, by sequential minimal optimization.

    max_alpha    b . alpha - 1/2 alpha . G alpha,    alpha >= 0,    sum alpha <= C

G holds the inner products of the vectors of some constraints. One pair of variables after the
other goes to its best values with the same sum (Platt 1998): the slack C - sum alpha is one more
variable, of the bound 0 and the vector 0.
"""

import numpy as np

from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Floats

_MAX_SWEEPS = 20_000
_MIN_CHANGE = 1e-10  # of an alpha relative to C: smaller changes in a sweep end the method


@kernel
def solve_on_simplex(products: Floats, bounds: Floats, C: float) -> Floats:
    """The best alpha: float64 [constraints]. products: G; bounds: b."""
    count = len(bounds)
    alphas = np.zeros(count + 1)
    alphas[count] = C
    slopes = np.zeros(count + 1)
    slopes[:count] = bounds
    for _ in range(_MAX_SWEEPS):
        largest = 0.0
        for a in range(count + 1):
            for b in range(a):
                curvature = products[b, b]
                if a < count:
                    curvature += products[a, a] - 2 * products[a, b]
                slope = slopes[b] - slopes[a]
                if curvature > 0:
                    change = min(max(slope / curvature, -alphas[b]), alphas[a])
                elif slope > 0:  # equal vectors: the objective is linear
                    change = alphas[a]
                else:
                    change = -alphas[b] if slope < 0 else 0.0
                if change == 0.0:
                    continue
                alphas[b] += change
                alphas[a] -= change
                for m in range(count):
                    slopes[m] -= change * products[m, b]
                    if a < count:
                        slopes[m] += change * products[m, a]
                largest = max(largest, abs(change))
        if largest <= _MIN_CHANGE * C:
            break
    return alphas[:count]
