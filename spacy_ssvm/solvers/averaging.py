"""The average of the weights over all steps, at the cost of the entries changed.

Each example is one step, whether the weights change or not. With w_t the weights after step t,

    1/T sum_t w_t = w_T - 1/T sum_t (t - 1) (w_t - w_t-1),

so the second sum is all that has to be kept beside w. A step ends with the projection onto the
weights that may not be negative, which enters the average like any other change.
"""

from typing import NamedTuple

import numpy as np

from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import (
    AnyWeights,
    Floats,
    Floats1,
    Int,
    Ints,
    Ints1,
    Rows,
    named_tuple,
)
from spacy_ssvm.solvers.run import PrimalRun, Solver
from spacy_ssvm.structure import Problem
from spacy_ssvm.weights.growing import longer
from spacy_ssvm.weights.sparse import move


class Averaged(NamedTuple):
    """The state of online solvers."""

    w: Floats  #: float64 [weights], the current ones
    sums: Floats  #: float64 [weights], sum_t (t - 1) (w_t - w_t-1)
    steps: Ints  #: int64 [1]
    nonnegative: int  #: the first this many weights are kept >= 0


AveragedType = named_tuple(Averaged, Floats1, Floats1, Ints1, Int)


@kernel
def add_to_average(
    averaged: Averaged, indices: Rows, values: AnyWeights, size: int, rate: float
) -> None:
    """Add a multiple of a sparse vector to the weights, within a step."""
    w, sums, steps = averaged.w, averaged.sums, float(averaged.steps[0])
    for entry in range(size):
        change = rate * np.float64(values[entry])
        w[indices[entry]] += change
        sums[indices[entry]] += steps * change


@kernel
def end_step(averaged: Averaged) -> None:
    """Set negative ones of the weights that are kept >= 0 to 0, and count the step."""
    w, sums, steps = averaged.w, averaged.sums, float(averaged.steps[0])
    for index in range(averaged.nonnegative):
        if w[index] < 0:
            sums[index] -= steps * w[index]
            w[index] = 0.0
    averaged.steps[0] += 1


class AveragedRun(PrimalRun):
    """A run whose result is the average of its weights over all steps."""

    def __init__(self, settings: Solver, problem: Problem, prior: Floats | None) -> None:
        super().__init__(settings, problem, prior)
        self._averaged = Averaged(
            self._w,
            np.zeros(len(self._w)),
            np.zeros(1, dtype=np.int64),
            problem.nonnegative,
        )

    @property
    def w(self) -> Floats:
        """The average of the weights over all steps, computed at each call; at first the prior."""
        average = self._averaged.w - self._averaged.sums / max(int(self._averaged.steps[0]), 1)
        self._allow(average)  # against rounding
        return average

    def renumber(self, numbers: Rows) -> None:
        super().renumber(numbers)
        sums = move(self._averaged.sums, numbers)
        self._averaged = self._averaged._replace(w=self._w, sums=sums)

    def _lengthen(self, size: int) -> None:
        super()._lengthen(size)
        if len(self._w) > len(self._averaged.sums):
            sums = longer(self._averaged.sums, len(self._w))
            self._averaged = self._averaged._replace(w=self._w, sums=sums)
