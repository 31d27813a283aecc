"""Weights in one array, a row of ``width`` for each feature; all features have rows."""

import numpy as np

from spacy_ssvm.kernels.types import Floats, Rows
from spacy_ssvm.weights.groups import GroupedWeights


class DenseWeights:
    """The weights of rows that the caller numbers: float64 [first + rows * width].

    number: the number of templates; by default, that of those with rows.
    templates: int32 [rows], the template of each row; set as rows are added.
    """

    def __init__(self, *, first: int, width: int, number: int = 0) -> None:
        self.first = first
        self.width = width
        self.number = number
        self.templates: Rows = np.zeros(0, dtype=np.int32)
        self.w: Floats = np.zeros(0)

    @property
    def allocated(self) -> int:
        return self.width * len(self.templates)

    @property
    def peak_bytes(self) -> int:
        return self.w.nbytes + self.templates.nbytes

    def weights(self) -> GroupedWeights:
        """See ``GroupedStore``; weights are stored as they are."""
        T = max(self.number, int(self.templates.max(initial=0)) + 1)
        scales = np.ones(T), np.zeros(T, dtype=np.int64)
        return GroupedWeights(self.w, self.first, self.width, self.width, self.templates, *scales)

    def row_features(self) -> Rows:
        """See ``GroupedStore``: each row is a feature."""
        return np.arange(len(self.templates), dtype=np.int32)

    def reserve(self) -> None:
        """Nothing to do: all features have rows."""

    def rescale(self, factors: Floats) -> None:
        rows = self.w[self.first : self.first + self.allocated].reshape(-1, self.width)
        rows *= factors[self.templates, None]

    def sweep(self) -> None:
        """Nothing to do: all features keep their rows."""
