"""The average of the weights over all steps, at the cost of the entries changed.

Each example is one step, whether the weights change or not. With w_t the weights after step t,

    1/T sum_t w_t = w_T - 1/T sum_t (t - 1) (w_t - w_t-1),

so the second sum is all that has to be kept beside w. A step ends with the projection onto the
weights that may not be negative, which enters the average like any other change.

With blocks of more than one example (``decoding.py``), a structure has been found under weights
that examples of its block, or of the one before, have changed since. It makes a step where it is
still a mistake: the mistakes of the perceptron have the same bound then, as it holds for any
structure that scores higher than gold ("violation-fixing", Huang, Fayong & Guo 2012).
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import (
    AnyWeights,
    Flags,
    Floats,
    Floats1,
    Int,
    Ints,
    Ints1,
    Rows,
    named_tuple,
)
from spacy_ssvm.solvers.decoding import block_size
from spacy_ssvm.solvers.run import PrimalRun, Solver
from spacy_ssvm.structure import Decoded, Problem
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


def average_of(averaged: Averaged) -> Floats:
    """The average of the weights over all steps; without steps, the weights."""
    average: Floats = averaged.w - averaged.sums / max(int(averaged.steps[0]), 1)
    return average


def _are_due(part: Ints) -> Flags:
    """Partial gold is completed at each visit."""
    return np.ones(len(part), dtype=bool)


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
        self._visits = 0  # of examples, with gold annotation or without

    @property
    def w(self) -> Floats:
        """The average of the weights over all steps, computed at each call; at first the prior."""
        average = average_of(self._averaged)
        self._allow(average)  # against rounding
        return average

    def _steps(
        self, kernel: Callable[..., int], numbers: Ints, block: int, gamma: float, *scales: float
    ) -> float:
        """Make a step for each of these examples, shuffled; return the sum of their losses.

        kernel: see ``mira._pass``, with gamma and the scales after the largest number of entries.
        block: of the settings. gamma: with which structures are found.
        """
        problem, total = self.problem, np.zeros(1)
        passes = self._visits // max(problem.number_of_examples, 1)
        self._visits += len(numbers)
        size = block_size(block, np.full(len(numbers), passes), problem.structure)
        parts = self._parts(self._shuffled(numbers), size if size > 1 else None)

        def one_pass(part: Ints, decoded: Decoded, done: int) -> int:
            arrays = problem.structure, problem.examples(), part, done, problem.max_entries
            return kernel(*arrays, gamma, *scales, decoded, self._averaged, total)

        for part, decoded in self._decoded(parts, size, gamma, _are_due):
            self._repeat(partial(one_pass, part, decoded), len(part))
        return float(total[0])

    def renumber(self, numbers: Rows) -> None:
        super().renumber(numbers)
        sums = move(self._averaged.sums, numbers)
        self._averaged = self._averaged._replace(w=self._w, sums=sums)

    def _lengthen(self, size: int) -> None:
        super()._lengthen(size)
        if len(self._w) > len(self._averaged.sums):
            sums = longer(self._averaged.sums, len(self._w))
            self._averaged = self._averaged._replace(w=self._w, sums=sums)
