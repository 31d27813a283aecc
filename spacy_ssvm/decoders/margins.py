"""Margins of labels, from the best score with each label at each position."""

import numpy as np

from spacy_ssvm.kernels.compile import inner_kernel
from spacy_ssvm.kernels.types import Floats, Ints


@inner_kernel
def fill_margins(best: Floats, y: Ints, margins: Floats) -> None:
    """Write best[t, y_t] minus the best score with another label, at each position.

    best: float64 [n, K]. y: int64 [n]. margins: float64 [n], infinite where no other is possible.
    """
    for t in range(len(y)):
        other = -np.inf
        for k in range(best.shape[1]):
            if k != y[t]:
                other = max(other, best[t, k])
        margins[t] = best[t, y[t]] - other
