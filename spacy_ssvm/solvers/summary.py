"""The saved summary of a training run, from which its objective can be measured again."""

from typing import Any, NamedTuple

import numpy as np

from spacy_ssvm.kernels.types import Floats
from spacy_ssvm.objective import SQUARED_HINGE, Loss, Objective, evaluate
from spacy_ssvm.solvers.run import Run
from spacy_ssvm.structure import Problem


class TrainingSummary(NamedTuple):
    """The summary of a training run, from which the duality gap can be measured again."""

    C: float
    dual: float | None  #: D(alpha) at the end; None for a solver without a dual
    regularizer: float  #: 1/2 |w - w_0|^2, of the weights that the model has
    epochs: int
    #: The loss, see ``objective.Loss``.
    beta: float | None = SQUARED_HINGE.beta
    gamma: float = SQUARED_HINGE.gamma
    squared: bool = SQUARED_HINGE.squared

    @property
    def loss(self) -> Loss:
        """The loss that was minimized over the examples."""
        return Loss(self.beta, self.gamma, self.squared)

    def objective(self, problem: Problem, w: Floats) -> Objective:
        """Primal, dual and gap at the final weights, by inference on all examples."""
        return evaluate(
            problem,
            w,
            C=self.C,
            regularizer=self.regularizer,
            dual=self.dual,
            loss=self.loss,
        )


def read_summary(fields: dict[str, Any] | None) -> TrainingSummary | None:
    """The saved summary of a training run. Raises ValueError or TypeError for anything else."""
    if fields is None:
        return None
    summary = TrainingSummary(**fields)
    numbers = [summary.C, summary.regularizer, summary.epochs, summary.gamma]
    numbers += [value for value in (summary.dual, summary.beta) if value is not None]
    if not (
        all(type(value) in (int, float) and np.isfinite(value) for value in numbers)
        and summary.C > 0
        and (summary.beta is None or summary.beta > 0)
        and min(summary.regularizer, summary.epochs, summary.gamma) >= 0
        and isinstance(summary.squared, bool)
    ):
        raise ValueError("the summary of its training is invalid")
    return summary


def summarize_run(run: Run, epochs: int, regularizer: float | None = None) -> TrainingSummary:
    """The summary of a run after a number of epochs.

    regularizer: that of the model's weights, where they are rounded.
    """
    if regularizer is None:
        regularizer = run.regularizer
    return TrainingSummary(
        run.settings.C, run.dual, regularizer, epochs, *run.settings.loss_function
    )
