"""Stochastic subgradient descent on the L1-loss structural SVM.

    P(w) = 1/2 |w - w_0|^2 + C sum_i max_y H_i(y; w)

Step T takes an example i and its most violating y. With l examples,

    w -= eta_T ((w - w_0) / (C l) - Phi_i(y))

    'decay'      eta_T = eta_0 / (1 + eta_0 T / (C l))^0.75 [CY13, section 4.3, after Bottou 2004]
    'pegasos'    eta_T = C l / (T + 1) [Shalev-Shwartz et al. 2007], without the projection

[CY13] prints T / C, for an objective that is not divided by l; here steps would shrink too soon.
A step ends with the projection onto the weights that may not be negative. The model gets the
last w. Within a pass w = s u, so that a shrinking step costs as much as the
example has entries: argmax_y w . phi + Delta is argmax_y u . phi + Delta / s.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from spacy_ssvm._jit import (
    Float,
    Floats,
    Floats1,
    Int,
    Ints,
    Ints1,
    kernel,
    named_tuple,
    oracle_kernel,
)
from spacy_ssvm.objective import HINGE, Loss, losses
from spacy_ssvm.solvers.run import PrimalRun, check_C, check_choice, check_positive, check_whole
from spacy_ssvm.structure import ExampleArrays, LossAugmentedDecode, Problem
from spacy_ssvm.weights.sparse import add_scaled, dot

_FIRST_STEPS = (0.5, 0.25, 0.125, 0.0625, 0.03125)
_SAMPLE = 1000
_MIN_SCALE = 0.5
_MIN_SCALE_WITH_PRIOR = 0.99  # decoding sees w_0 multiplied by the scale, too


@dataclass(frozen=True, kw_only=True)
class StochasticGradient:
    """Settings of the solver.

    C: the weight of the losses against the squared norm of the weights, per example.
    steps: how long they are, 'decay' or 'pegasos'.
    eta0: of 'decay', the first step; None takes the one of 2^-1..2^-5 that makes the lowest
        primal on a sample of 1000 of the first examples [CY13, section 4.3].
    seed: of the order of examples, and of the sample.
    Raises ConfigValidationError, a ValueError, for an invalid value, naming the setting.
    """

    C: float = 0.1
    steps: str = "decay"
    eta0: float | None = None
    seed: int = 0
    loss_function: ClassVar[Loss] = HINGE
    oracles: ClassVar[tuple[str, ...]] = ("loss_augmented_decode",)
    keeps_signs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_C(self)
        check_choice(self, "steps", ("decay", "pegasos"))
        if self.eta0 is not None:
            check_positive(self, "eta0")
        check_whole(self, "seed")

    def start(self, problem: Problem, prior: Floats | None = None) -> "StochasticGradientRun":
        """A run on a problem, which may grow, from the weights ``prior`` or from zero."""
        return StochasticGradientRun(self, problem, prior)


class Schedule(NamedTuple):
    """What the lengths of the steps of a pass depend on."""

    weight: float  #: C l
    eta0: float  #: of 'decay'; 0 for 'pegasos'
    steps: int  #: the number of steps before


ScheduleType = named_tuple(Schedule, Float, Float, Int)


class StochasticGradientRun(PrimalRun):
    """The weights, and the passes that change them."""

    settings: StochasticGradient

    def __init__(
        self, settings: StochasticGradient, problem: Problem, prior: Floats | None
    ) -> None:
        super().__init__(settings, problem, prior)
        self._steps = 0
        self._eta0 = 0.0 if settings.steps == "pegasos" else settings.eta0

    def epoch(self, numbers: Ints) -> float:
        """See ``Run``."""
        if self._eta0 is None and len(numbers):
            self._eta0 = self._best_first_step(numbers)
        total = self.problem.number_of_examples
        loss = self._pass(self._w, self._shuffled(numbers), self._eta0 or 0.0, self._steps, total)
        self._steps += len(numbers)
        return loss

    def _pass(self, w: Floats, order: Ints, eta0: float, steps: int, total: int) -> float:
        """Steps from w, as on a problem of ``total`` examples; return the sum of violations."""
        prior = np.zeros(len(w))
        prior[: len(self._prior)] = self._prior
        problem = self.problem
        arrays = problem.structure, problem.examples(), order, problem.max_entries
        schedule = Schedule(float(self.settings.C) * total, float(eta0), steps)
        return float(_pass(*arrays, schedule, problem.nonnegative, prior, w))

    def _best_first_step(self, numbers: Ints) -> float:
        """The first step that makes the lowest primal after one pass over a sample."""
        sample = self._shuffled(numbers)[:_SAMPLE]
        primals = []
        for eta0 in _FIRST_STEPS:
            w = self._w.copy()
            self._pass(w, sample, eta0, 0, len(sample))
            loss = losses(self.problem, w, sample, self.settings.loss_function).sum()
            w[: len(self._prior)] -= self._prior
            primals.append(w @ w / 2 + self.settings.C * loss)
        return _FIRST_STEPS[int(np.argmin(primals))]


@kernel
def _fold(scale: float, prior: Floats, w: Floats) -> None:
    """Make s u the weights; what has shrunk goes towards w_0, not 0."""
    for index in range(len(w)):
        w[index] = scale * w[index] + (1 - scale) * prior[index]


@oracle_kernel(
    lambda oracle, examples: Float(
        oracle, examples, Ints1, Int, ScheduleType, Int, Floats1, Floats1
    )
)
def _pass(
    loss_augmented_decode: LossAugmentedDecode,
    examples: ExampleArrays,
    order: Ints,
    max_entries: int,
    schedule: Schedule,
    nonnegative: int,
    prior: Floats,
    w: Floats,
) -> float:
    """One step for each example; return the sum of violations."""
    weight, eta0, steps = schedule
    indices = np.empty(max_entries, dtype=np.int32)
    values = np.empty(max_entries, dtype=np.float32)
    scale, met = 1.0, 0.0
    min_scale = _MIN_SCALE_WITH_PRIOR if prior.any() else _MIN_SCALE
    for i in order:
        eta = eta0 / (1 + eta0 * steps / weight) ** 0.75 if eta0 > 0 else weight / (steps + 1)
        steps += 1
        size, cost, _ = loss_augmented_decode(examples, i, w, 1 / scale, True, indices, values)
        if size < 0:
            continue
        violation = cost - scale * dot(w, indices, values, 0, size)
        met += max(violation, 0.0)
        scale *= max(1 - eta / weight, 0.0)
        if scale < min_scale:
            _fold(scale, prior, w)
            scale = 1.0
        if violation > 0:
            add_scaled(w, indices, values, 0, size, eta / scale)
        for index in range(nonnegative):
            w[index] = max(w[index], 0.0)
    _fold(scale, prior, w)
    return met
