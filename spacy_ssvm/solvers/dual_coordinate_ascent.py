"""Online dual coordinate ascent for the losses L_{beta,gamma} [MGS10 Algs. 1 and 2].

    w -= eta grad L(w; x_i, y_i),    eta = min(C, L(w; x_i, y_i) / |grad L(w; x_i, y_i)|^2)

Each step raises the dual of the problem that the examples so far make [MGS10 Eq. 15]; there is
no learning rate. For the log loss this trains a CRF, for beta = infinity it is 1-best MIRA.
The algorithm is online: it approaches the regularized optimum but does not converge to it. The
model gets the average of w over all steps. A loss below 0, which occurs only where the gold
structure is impossible, makes no step.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from spacy_ssvm.kernels.compile import oracle_kernel
from spacy_ssvm.kernels.types import Float, Floats, Int, Ints, Ints1
from spacy_ssvm.solvers.averaging import (
    Averaged,
    AveragedRun,
    AveragedType,
    add_to_average,
    end_step,
)
from spacy_ssvm.solvers.mira import MiraRun
from spacy_ssvm.solvers.run import (
    LossSettings,
    Run,
    check_whole,
)
from spacy_ssvm.structure import (
    EXPECTED_ORACLES,
    ExampleArrays,
    Expect,
    ExpectedDifference,
    Problem,
)
from spacy_ssvm.weights.sparse import squared_norm


@dataclass(frozen=True, kw_only=True)
class DualCoordinateAscent(LossSettings):
    """Settings of the solver.

    C: the largest step; 1 / (lambda m) of [MGS10].
    beta, gamma: of the loss: (1, 0) for a CRF, (1, 1) for the softmax margin, (None, 1) for
        the hinge, where None means infinity.
    seed: of the order of examples.
    Raises ConfigValidationError, a ValueError, for an invalid value, naming the setting.

    >>> import spacy
    >>> solver = {"@misc": "spacy_ssvm.DualCoordinateAscent.v1", "C": 0.3}
    >>> tagger = spacy.blank("en").add_pipe("ssvm_tagger", config={"solver": solver})
    >>> tagger.solver.C
    0.3
    """

    beta: float | None = 1.0
    gamma: float = 0.0
    seed: int = 0
    keeps_signs: ClassVar[bool] = False
    loss_augmented: ClassVar[bool] = True  # see ``Mira``, which it is for the hinge
    block: ClassVar[int] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole(self, "seed")

    def start(self, problem: Problem, prior: Floats | None = None) -> Run:
        """A run on a problem, which may grow, from the weights ``prior`` or from zero."""
        run = MiraRun if self.beta is None else DualCoordinateAscentRun
        return run(self, problem, prior)


class DualCoordinateAscentRun(AveragedRun):
    """The weights and their average, and the passes that change them."""

    settings: DualCoordinateAscent

    def epoch(self, numbers: Ints) -> float:
        problem, settings = self.problem, self.settings
        arrays = problem.structure, problem.examples(), self._shuffled(numbers)
        assert settings.beta is not None  # MiraRun is the one for infinity
        scales = float(settings.C), float(settings.beta), float(settings.gamma)
        return float(_pass(*arrays, *scales, problem.max_expected_entries, self._averaged))


@oracle_kernel(EXPECTED_ORACLES, Float, Ints1, Float, Float, Float, Int, AveragedType)
def _pass(
    expect: Expect,
    expected_difference: ExpectedDifference,
    examples: ExampleArrays,
    order: Ints,
    C: float,
    beta: float,
    gamma: float,
    max_entries: int,
    averaged: Averaged,
) -> float:
    """One step for each example; return the sum of their losses."""
    indices = np.empty(max_entries, dtype=np.int32)
    values = np.empty(max_entries)
    total = 0.0
    for i in order:
        z, loss, _, _ = expect(examples, i, averaged.w, beta, gamma, True)
        if len(z) == 0:
            continue
        size = expected_difference(examples, i, z, indices, values)
        norm = squared_norm(values, size)
        if loss > 0 and norm > 0:
            add_to_average(averaged, indices, values, size, -min(C, loss / norm))
        total += loss
        end_step(averaged)
    return total
