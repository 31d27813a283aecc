"""Stochastic gradient descent on the structural SVM, and on the other losses L_{beta,gamma}.

    P(w) = 1/2 |w - w_0|^2 + C sum_i loss_i(w)

Step T takes an example i. With l examples,

    w -= eta_T ((w - w_0) / (C l) + grad loss_i(w))

where the hinge has the subgradient -Phi_i(y) of its most violating y, and the losses with a finite
beta, such as that of a CRF, have the expectation of -Phi_i.

    'decay'      eta_T = eta_0 / (1 + eta_0 T / (C l))^0.75 [CY13, section 4.3, after Bottou 2004]
    'printed'    eta_T = eta_0 / (1 + eta_0 T / C)^0.75, as [CY13] prints it: for an objective that
                 is not divided by l, so that here steps shrink soon
    'inverse'    eta_T = eta_0 / (1 + T / l) [MGS10, section 5]
    'pegasos'    eta_T = C l / (T + 1) [Shalev-Shwartz et al. 2007], without the projection

A step ends with the projection onto the weights that may not be negative. The model gets the
last w. Within a pass w = s u, so that a shrinking step costs as much as the example has entries:
w . phi + gamma Delta is s (u . phi + gamma / s Delta).
"""

from copy import copy
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from spacy_ssvm.kernels.compile import kernel, oracle_kernel
from spacy_ssvm.kernels.types import (
    AnyWeights,
    Float,
    Floats,
    Floats1,
    Int,
    Ints,
    Ints1,
    Rows,
    named_tuple,
)
from spacy_ssvm.objective import losses
from spacy_ssvm.solvers.run import (
    LossSettings,
    PrimalRun,
    check_choice,
    check_positive,
    check_whole,
    with_own_weights,
)
from spacy_ssvm.structure import (
    EXPECTED_ORACLES,
    HINGE_ORACLES,
    NEEDS_CAPACITY,
    Decode,
    Difference,
    ExampleArrays,
    Expect,
    ExpectedDifference,
    Problem,
)
from spacy_ssvm.weights.sparse import add_scaled, dot

_STEPS = ("decay", "printed", "inverse", "pegasos")
_PRINTED, _INVERSE, _PEGASOS = map(_STEPS.index, ("printed", "inverse", "pegasos"))
_FIRST_STEPS = (0.5, 0.25, 0.125, 0.0625, 0.03125)
_SAMPLE = 1000
_MIN_SCALE = 0.5
_MIN_SCALE_WITH_PRIOR = 0.99  # decoding sees w_0 multiplied by the scale, too


@dataclass(frozen=True, kw_only=True)
class StochasticGradient(LossSettings):
    """Settings of the solver.

    C, beta, gamma: see ``LossSettings``.
    steps: how long they are, 'decay', 'printed', 'inverse' or 'pegasos'.
    eta0: the first step, but for 'pegasos'; None takes the one of 2^-1..2^-5 that makes the
        lowest primal on a sample of 1000 of the first examples [CY13, section 4.3].
    seed: of the order of examples, and of the sample.
    Raises ConfigValidationError, a ValueError, for an invalid value, naming the setting.

    >>> import spacy
    >>> solver = {"@misc": "spacy_ssvm.StochasticGradient.v1", "C": 0.3}
    >>> tagger = spacy.blank("en").add_pipe("ssvm_tagger", config={"solver": solver})
    >>> tagger.solver.C
    0.3
    """

    steps: str = "decay"
    eta0: float | None = None
    seed: int = 0
    keeps_signs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self, "steps", _STEPS)
        if self.eta0 is not None:
            check_positive(self, "eta0")
        check_whole(self, "seed")

    def start(self, problem: Problem, prior: Floats | None = None) -> "StochasticGradientRun":
        """A run on a problem, which may grow, from the weights ``prior`` or from zero."""
        return StochasticGradientRun(self, problem, prior)


class Schedule(NamedTuple):
    """What the lengths of the steps of a pass depend on."""

    kind: int  #: the place of ``steps`` in _STEPS
    C: float
    examples: float  #: l
    eta0: float
    steps: int  #: the number of steps before
    min_scale: float  #: of s


ScheduleType = named_tuple(Schedule, Int, Float, Float, Float, Int, Float)


class StochasticGradientRun(PrimalRun):
    """The weights, and the passes that change them."""

    settings: StochasticGradient

    def __init__(
        self, settings: StochasticGradient, problem: Problem, prior: Floats | None
    ) -> None:
        super().__init__(settings, problem, prior)
        self._steps = 0
        self._kind = _STEPS.index(settings.steps)
        self._eta0 = 0.0 if self._kind == _PEGASOS else settings.eta0

    def epoch(self, numbers: Ints) -> float:
        if self._eta0 is None and len(numbers):
            self._eta0 = self._best_first_step(numbers)
        total = self.problem.number_of_examples
        loss = self._pass(self._shuffled(numbers), self._eta0 or 0.0, self._steps, total)
        self._steps += len(numbers)
        return loss

    def _pass(self, order: Ints, eta0: float, steps: int, total: int) -> float:
        """Steps, as on a problem of ``total`` examples; return the sum of losses."""
        problem, settings = self.problem, self.settings
        min_scale = _MIN_SCALE_WITH_PRIOR if self._prior.any() else _MIN_SCALE
        schedule = Schedule(
            self._kind, float(settings.C), float(total), float(eta0), steps, min_scale
        )
        kernel, scales, entries = _pass, [float(settings.gamma)], problem.max_entries
        if settings.beta is not None:
            kernel, entries = _expected_pass, problem.max_expected_entries
            scales.insert(0, float(settings.beta))
        so_far = np.array([1.0, 0.0])

        def one_pass(done: int) -> int:
            prior = np.zeros(len(self._w))
            prior[: len(self._prior)] = self._prior
            arrays = problem.structure, problem.examples(), order, done, *scales, entries
            return int(kernel(*arrays, schedule, problem.nonnegative, prior, self._w, so_far))

        self._repeat(one_pass, len(order))
        return float(so_far[1])

    def _best_first_step(self, numbers: Ints) -> float:
        """The first step that makes the lowest primal after one pass over a sample."""
        sample = self._shuffled(numbers)[:_SAMPLE]
        primals = []
        for eta0 in _FIRST_STEPS:
            trial = copy(self)
            trial._w = self._w.copy()
            trial.problem = with_own_weights(self.problem)
            trial._pass(sample, eta0, 0, len(sample))
            loss = losses(trial.problem, trial.w, sample, self.settings.loss_function).sum()
            primals.append(trial.regularizer + self.settings.C * loss)
        return _FIRST_STEPS[int(np.argmin(primals))]


@kernel
def _fold(scale: float, prior: Floats, w: Floats) -> None:
    """Make s u the weights; what has shrunk goes towards w_0, not 0."""
    for index in range(len(w)):
        w[index] = scale * w[index] + (1 - scale) * prior[index]


@kernel
def _length(schedule: Schedule, steps: int) -> float:
    """eta_T, of the step after ``steps`` others."""
    kind, C, examples, eta0, _, _ = schedule
    if kind == _PEGASOS:
        return C * examples / (steps + 1)
    if kind == _INVERSE:
        return eta0 / (1 + steps / examples)
    weight = C if kind == _PRINTED else C * examples
    return float(eta0 / (1 + eta0 * steps / weight) ** 0.75)


@kernel
def _step(
    schedule: Schedule,
    eta: float,
    sign: float,
    indices: Rows,
    values: AnyWeights,
    size: int,
    scale: float,
    nonnegative: int,
    prior: Floats,
    w: Floats,
) -> float:
    """Shrink s u, and add eta x sign x a sparse vector; return the new s."""
    scale *= max(1 - eta / (schedule.C * schedule.examples), 0.0)
    if scale < schedule.min_scale:
        _fold(scale, prior, w)
        scale = 1.0
    add_scaled(w, indices, values, 0, size, sign * eta / scale)
    for index in range(nonnegative):
        w[index] = max(w[index], 0.0)
    return scale


@oracle_kernel(
    HINGE_ORACLES, Int, Ints1, Int, Float, Int, ScheduleType, Int, Floats1, Floats1, Floats1
)
def _pass(
    decode: Decode,
    difference: Difference,
    examples: ExampleArrays,
    order: Ints,
    done: int,
    gamma: float,
    max_entries: int,
    schedule: Schedule,
    nonnegative: int,
    prior: Floats,
    w: Floats,
    so_far: Floats,
) -> int:
    """One step for each of order[done:]; return how far the memory sufficed.

    so_far: float64 [2], s and the sum of violations.
    """
    indices = np.empty(max_entries, dtype=np.int32)
    values = np.empty(max_entries, dtype=np.float32)
    scale = so_far[0]
    for position in range(done, len(order)):
        i = order[position]
        eta = _length(schedule, schedule.steps + position)
        y, cost, _ = decode(examples, i, w, gamma / scale, True)
        if len(y) == 0:
            continue
        size = difference(examples, i, y, indices, values)
        if size == NEEDS_CAPACITY:
            so_far[0] = scale
            return position
        violation = gamma * cost - scale * dot(w, indices, values, 0, size)
        so_far[1] += max(violation, 0.0)
        if violation <= 0:
            size = 0
        state = scale, nonnegative, prior, w
        scale = _step(schedule, eta, 1.0, indices, values, size, *state)
    _fold(scale, prior, w)
    return len(order)


@oracle_kernel(
    EXPECTED_ORACLES,
    Int,
    *(Ints1, Int, Float, Float, Int, ScheduleType, Int, Floats1, Floats1, Floats1),
)
def _expected_pass(
    expect: Expect,
    expected_difference: ExpectedDifference,
    examples: ExampleArrays,
    order: Ints,
    done: int,
    beta: float,
    gamma: float,
    max_entries: int,
    schedule: Schedule,
    nonnegative: int,
    prior: Floats,
    w: Floats,
    so_far: Floats,
) -> int:
    """The same for a finite beta; memory suffices."""
    indices = np.empty(max_entries, dtype=np.int32)
    values = np.empty(max_entries)
    scale = so_far[0]
    for position in range(done, len(order)):
        i = order[position]
        eta = _length(schedule, schedule.steps + position)
        z, loss, _, _ = expect(examples, i, w, beta * scale, gamma / scale, True)
        if len(z) == 0:
            continue
        size = expected_difference(examples, i, z, indices, values)
        so_far[1] += scale * loss
        state = scale, nonnegative, prior, w
        scale = _step(schedule, eta, -1.0, indices, values, size, *state)
    _fold(scale, prior, w)
    return len(order)
