"""The averaged structured perceptron [Collins 2002].

    y = argmax w . phi(x_i, y);    w += Phi_i(y)

The model gets the average of w over all steps. There is no regularizer, no C, and no cost:
the objective is the sum of the perceptron losses max_y -w . Phi_i(y).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from spacy_ssvm.kernels.compile import oracle_kernel
from spacy_ssvm.kernels.types import Floats, Floats1, Int, Ints, Ints1
from spacy_ssvm.objective import PERCEPTRON_LOSS, Loss
from spacy_ssvm.solvers.averaging import (
    Averaged,
    AveragedRun,
    AveragedType,
    add_to_average,
    end_step,
)
from spacy_ssvm.solvers.run import check_whole
from spacy_ssvm.structure import (
    HINGE_ORACLES,
    NEEDS_CAPACITY,
    Decode,
    Difference,
    ExampleArrays,
    Problem,
)
from spacy_ssvm.weights.sparse import dot


@dataclass(frozen=True, kw_only=True)
class Perceptron:
    """Settings of the solver.

    seed: of the order of examples.
    Raises ConfigValidationError, a ValueError, for an invalid value, naming the setting.

    >>> import spacy
    >>> solver = {"@misc": "spacy_ssvm.Perceptron.v1", "seed": 1}
    >>> tagger = spacy.blank("en").add_pipe("ssvm_tagger", config={"solver": solver})
    >>> tagger.solver.seed
    1
    """

    seed: int = 0
    C: ClassVar[float] = 1.0
    loss_function: ClassVar[Loss] = PERCEPTRON_LOSS
    oracles: ClassVar[tuple[str, ...]] = HINGE_ORACLES
    allocates: ClassVar[bool] = True
    keeps_signs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_whole(self, "seed")

    def start(self, problem: Problem, prior: Floats | None = None) -> "PerceptronRun":
        """A run on a problem, which may grow, from the weights ``prior`` or from zero."""
        return PerceptronRun(self, problem, prior)


class PerceptronRun(AveragedRun):
    """The weights and their average, and the passes that change them."""

    @property
    def regularizer(self) -> float:
        """0: there is none."""
        return 0.0

    def epoch(self, numbers: Ints) -> float:
        problem = self.problem
        entries, total = problem.max_entries, np.zeros(1)

        def one_pass(done: int) -> int:
            arrays = problem.structure, problem.examples(), part, done, entries
            return int(_pass(*arrays, self._averaged, total))

        for part in self._parts(self._shuffled(numbers)):
            self._repeat(one_pass, len(part))
        return float(total[0])


@oracle_kernel(HINGE_ORACLES, Int, Ints1, Int, Int, AveragedType, Floats1)
def _pass(
    decode: Decode,
    difference: Difference,
    examples: ExampleArrays,
    order: Ints,
    done: int,
    max_entries: int,
    averaged: Averaged,
    total: Floats,
) -> int:
    """One step for each of order[done:]; return how far the memory sufficed.

    Adds the losses to total (float64 [1]).
    """
    indices = np.empty(max_entries, dtype=np.int32)
    values = np.empty(max_entries, dtype=np.float32)
    for position in range(done, len(order)):
        i = order[position]
        y, _, _ = decode(examples, i, averaged.w, 0.0, True)
        if len(y) == 0:
            continue
        size = difference(examples, i, y, indices, values)
        if size == NEEDS_CAPACITY:
            return position
        total[0] -= dot(averaged.w, indices, values, 0, size)
        add_to_average(averaged, indices, values, size, 1.0)
        end_step(averaged)
    return len(order)
