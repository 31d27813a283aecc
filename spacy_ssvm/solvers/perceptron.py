"""The averaged structured perceptron [Collins 2002].

    y = argmax w . phi(x_i, y);    w += Phi_i(y)

The model gets the average of w over all steps. There is no regularizer, no C, and no cost:
the objective is the sum of the perceptron losses max_y -w . Phi_i(y).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from spacy_ssvm.kernels.compile import oracle_kernel
from spacy_ssvm.kernels.types import Float, Floats, Floats1, Int, Ints, Ints1
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
    Decoded,
    DecodedType,
    Difference,
    ExampleArrays,
    Problem,
)
from spacy_ssvm.weights.sparse import dot


@dataclass(frozen=True, kw_only=True)
class Perceptron:
    """Settings of the solver.

    block: how many examples are decoded before weights change, for threads to share in; 1 for the
        algorithm as published. The result depends on it, and not on the number of threads.
    seed: of the order of examples.
    Raises ConfigValidationError, a ValueError, for an invalid value, naming the setting.

    >>> import spacy
    >>> solver = {"@misc": "spacy_ssvm.Perceptron.v1", "seed": 1}
    >>> tagger = spacy.blank("en").add_pipe("ssvm_tagger", config={"solver": solver})
    >>> tagger.solver.seed
    1
    """

    block: int = 1
    seed: int = 0
    C: ClassVar[float] = 1.0
    loss_function: ClassVar[Loss] = PERCEPTRON_LOSS
    oracles: ClassVar[tuple[str, ...]] = HINGE_ORACLES
    allocates: ClassVar[bool] = True
    keeps_signs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_whole(self, "seed")
        check_whole(self, "block", least=1)

    def start(self, problem: Problem, prior: Floats | None = None) -> "PerceptronRun":
        """A run on a problem, which may grow, from the weights ``prior`` or from zero."""
        return PerceptronRun(self, problem, prior)


class PerceptronRun(AveragedRun):
    """The weights and their average, and the passes that change them."""

    settings: Perceptron

    @property
    def regularizer(self) -> float:
        """0: there is none."""
        return 0.0

    def epoch(self, numbers: Ints) -> float:
        return self._steps(_pass, numbers, self.settings.block, 0.0)


@oracle_kernel(HINGE_ORACLES, Int, Ints1, Int, Int, Float, DecodedType, AveragedType, Floats1)
def _pass(
    decode: Decode,
    difference: Difference,
    examples: ExampleArrays,
    order: Ints,
    done: int,
    max_entries: int,
    gamma: float,
    decoded: Decoded,
    averaged: Averaged,
    total: Floats,
) -> int:
    """One step for each of order[done:]; return how far the memory sufficed.

    decoded: what has been found for the order, or ``NOTHING``.
    Adds the losses to total (float64 [1]).
    """
    ahead = len(decoded.starts) > 0
    indices = np.empty(max_entries, dtype=np.int32)
    values = np.empty(max_entries, dtype=np.float32)
    for position in range(done, len(order)):
        i = order[position]
        if ahead:
            y = decoded.ys[decoded.starts[position] : decoded.starts[position + 1]]
        else:
            y, _, _ = decode(examples, i, averaged.w, gamma, True)
        if len(y) == 0:
            continue
        size = difference(examples, i, y, indices, values)
        if size == NEEDS_CAPACITY:
            return position
        score = dot(averaged.w, indices, values, 0, size)
        if score <= 0 or not ahead:
            total[0] -= score
            add_to_average(averaged, indices, values, size, 1.0)
        end_step(averaged)
    return len(order)
