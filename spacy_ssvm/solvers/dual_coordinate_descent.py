"""Dual coordinate descent for the L2-loss structural SVM [CY13 Eqs. 2 and 4].

    max_alpha >= 0   D(alpha) = -1/2 |v|^2 - 1/(4C) sum_i A_i^2 + sum alpha_i,y Delta'_i(y)

with v = sum alpha_i,y Phi_i(y), A_i = sum_y alpha_i,y and w = w_0 + v. Where training goes
on from loaded weights w_0, the primal is 1/2 |w - w_0|^2 + C sum_i max_y H_i(y)^2, and
Delta'_i(y) = Delta_i(y) - w_0 . Phi_i(y); else w_0 = 0 and Delta' = Delta.

Weights w_e that are kept >= 0 have multipliers nu_e >= 0, with which w = w_0 + v + nu, and
D(alpha, nu) has -1/2 |v + nu|^2 - w_0 . nu in place of -1/2 |v|^2. After each step on an alpha they
go to their best values together, which sets negative w_e to 0: nu_e = max(0, -(w_0 + v)_e).

Only constraints that were violated are stored (``working_sets.py``). An epoch makes
``inner_passes`` passes over them without inference, and one pass with it: DCD-SSVM
[CY13 Alg. 3]; without the inner passes it is DCD-Light [CY13 Alg. 2]. CPD [CY13, sections 2.2
and 4.4.1, after Chang et al. 2010] adds the violated constraints of all examples with w fixed,
and then makes passes over the stored ones until D stops rising noticeably.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from spacy_ssvm.kernels.compile import kernel, oracle_kernel
from spacy_ssvm.kernels.types import (
    Bool,
    Flags,
    Flags1,
    Float,
    Floats,
    Floats1,
    Int,
    Ints,
    Ints1,
    Keys,
    Keys1,
    named_tuple,
)
from spacy_ssvm.objective import SQUARED_HINGE, Loss
from spacy_ssvm.solvers.dual_run import WorkingSetRun, is_due
from spacy_ssvm.solvers.run import (
    check_C,
    check_choice,
    check_not_negative,
    check_positive,
    check_whole,
)
from spacy_ssvm.solvers.working_sets import (
    WorkingSets,
    WorkingSetsType,
    add_constraint,
    append,
    has_capacity,
    remove_zeros,
    score,
)
from spacy_ssvm.structure import (
    HINGE_ORACLES,
    NEEDS_CAPACITY,
    Decode,
    Difference,
    ExampleArrays,
    Problem,
)
from spacy_ssvm.weights.sparse import violation_of

_MIN_RISE = 1e-5  # of D, relative, by a pass of CPD that is worth another one
_MAX_PASSES = 1000  # of CPD, in an epoch


class State(NamedTuple):
    """The state of the passes."""

    w: Floats  #: float64 [weights]
    prior: Floats  #: float64 [weights], w_0; empty where it is 0
    multipliers: Floats  #: float64 [nonnegative], nu
    totals: Floats  #: float64 [2]: D(alpha, nu), 1/2 |w - w_0|^2
    violations: Floats  #: float64 [examples]: max_y H_i(y) when example i was last decoded
    visits: Ints  #: int64 [examples]: how often example i was decoded
    random: Keys  #: uint64 [1]: the state of the random numbers
    recompleted: Flags  #: bool [1]: of an example that is decoded again when there is memory
    C: float
    delta: float


StateType = named_tuple(
    State, Floats1, Floats1, Floats1, Floats1, Floats1, Ints1, Keys1, Flags1, Float, Float
)


@dataclass(frozen=True, kw_only=True)
class DualCoordinateDescent:
    """Settings of the solver.

    C: the weight of the losses against the squared norm of the weights, per example.
    variant: 'ssvm' with inner passes (Alg. 3), 'light' without (Alg. 2), 'cpd' with passes
        until the stored constraints are solved, after inference with w fixed.
    inner_passes: r, the passes over stored constraints before each pass with inference.
    delta: the least violation that adds a constraint.
    seed: of the order of examples and of updates.
    tolerance: weights no longer change once the relative duality gap, measured
        exactly, is at most this.
    Raises ConfigValidationError, a ValueError, for an invalid value, naming the setting.

    >>> import spacy
    >>> solver = {"@misc": "spacy_ssvm.DualCoordinateDescent.v1", "C": 0.3}
    >>> tagger = spacy.blank("en").add_pipe("ssvm_tagger", config={"solver": solver})
    >>> tagger.solver.C
    0.3
    """

    C: float = 0.1
    variant: str = "ssvm"
    inner_passes: int = 5
    delta: float = 1e-3
    seed: int = 0
    tolerance: float = 1e-3
    loss_function: ClassVar[Loss] = SQUARED_HINGE
    oracles: ClassVar[tuple[str, ...]] = HINGE_ORACLES
    allocates: ClassVar[bool] = True
    keeps_signs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_C(self)
        check_positive(self, "delta")
        check_choice(self, "variant", ("ssvm", "light", "cpd"))
        check_whole(self, "inner_passes", "seed")
        check_not_negative(self, "tolerance")

    def start(self, problem: Problem, prior: Floats | None = None) -> "DualCoordinateDescentRun":
        """A run on a problem, which may grow, from the weights ``prior`` or from zero."""
        return DualCoordinateDescentRun(self, problem, prior)


class DualCoordinateDescentRun(WorkingSetRun):
    """The weights and dual variables of a problem, and the passes that improve them."""

    settings: DualCoordinateDescent

    def __init__(
        self,
        settings: DualCoordinateDescent,
        problem: Problem,
        prior: Floats | None = None,
    ) -> None:
        super().__init__(settings, problem, prior)
        self._state = State(
            w=self._w,
            prior=self._prior,
            multipliers=np.zeros(problem.nonnegative),
            totals=np.zeros(2),
            violations=np.zeros(0),
            visits=np.zeros(0, dtype=np.int64),
            random=np.array([settings.seed], dtype=np.int64).view(np.uint64),
            recompleted=np.zeros(1, dtype=bool),
            C=float(settings.C),
            delta=float(settings.delta),
        )

    @property
    def dual(self) -> float:  # type: ignore[override]
        """D(alpha, nu), kept up to date by each step."""
        return float(self._state.totals[0])

    @property
    def regularizer(self) -> float:
        """1/2 |w - w_0|^2, kept up to date by each step."""
        return float(self._state.totals[1])

    def _pass(self, numbers: Ints) -> None:
        """The inner passes over stored constraints, and one with inference."""
        if self.settings.variant == "ssvm":
            for _ in range(self.settings.inner_passes):
                inner_pass(self._shuffled(numbers), self.sets, self._state)
        self._outer_pass(self._shuffled(numbers))
        if self.settings.variant == "cpd":
            self._solve(numbers)

    def _remove(self, numbers: Ints) -> None:
        remove_examples(numbers, self.sets, self._state)

    def _solve(self, numbers: Ints) -> None:
        """Solve the dual over the stored constraints of these examples, by passes."""
        for _ in range(_MAX_PASSES):
            before = self.dual
            inner_pass(self._shuffled(numbers), self.sets, self._state)
            if self.dual - before <= _MIN_RISE * self.dual:
                break

    def _outer_pass(self, order: Ints) -> None:
        problem, updates = self.problem, self.settings.variant != "cpd"

        def one_pass(done: int) -> int:
            arrays = problem.structure, problem.examples(), order, done, problem.max_entries
            return int(outer_pass(*arrays, updates, self.sets, self._state))

        self._repeat(one_pass, len(order))


@kernel
def _random(state: Keys, n: int) -> int:
    """A number from 0 to n - 1 (SplitMix64, whose state is advanced)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    scaled = ((z >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32)
    return np.int64(scaled)  # type: ignore[no-any-return]


@kernel
def _step(i: int, constraint: int, exact: bool, sets: WorkingSets, state: State) -> None:
    """Move one dual variable to its best value [CY13 Eq. 8]; to 0 if not ``exact``."""
    score_now = score(sets, constraint, state.w)
    slope = sets.costs[constraint] - score_now - sets.alpha_sums[i] / (2 * state.C)
    curvature = sets.norms[constraint] + 1 / (2 * state.C)
    alpha = max(sets.alphas[constraint] + slope / curvature, 0.0) if exact else 0.0
    change = alpha - sets.alphas[constraint]
    if change == 0.0:
        return
    sets.alphas[constraint] = alpha
    sets.alpha_sums[i] += change
    add_constraint(sets, constraint, change, state.w)
    state.totals[0] += change * slope - change * change * curvature / 2
    state.totals[1] += (
        change * (score_now - sets.prior_scores[constraint])
        + change * change * sets.norms[constraint] / 2
    )
    _move_multipliers(state)


@kernel
def _move_multipliers(state: State) -> None:
    """Move the multipliers to their best values: negative weights that are kept >= 0 become 0."""
    for index in range(len(state.multipliers)):
        score_now = state.w[index]
        free = score_now - state.multipliers[index]
        multiplier = max(-free, 0.0)
        change = multiplier - state.multipliers[index]
        state.w[index] = max(free, 0.0)  # exactly 0, also where the change is lost in rounding
        if change == 0.0:
            continue
        prior = state.prior[index] if len(state.prior) > 0 else 0.0
        state.multipliers[index] = multiplier
        state.totals[0] -= change * score_now + change * change / 2
        state.totals[1] += change * (score_now - prior) + change * change / 2


@kernel
def _update_weight(i: int, sets: WorkingSets, state: State, scratch: Ints) -> Ints:
    """UPDATEWEIGHT(i) [CY13 Alg. 1]: the newest constraint first, the others shuffled."""
    count = 0
    constraint = sets.newest[i]
    while constraint >= 0:
        if count == len(scratch):
            more = np.empty(2 * count, dtype=np.int64)
            more[:count] = scratch
            scratch = more
        scratch[count] = constraint
        count += 1
        constraint = sets.older[constraint]
    for last in range(count - 1, 1, -1):
        other = 1 + _random(state.random, last)
        scratch[last], scratch[other] = scratch[other], scratch[last]
    for j in range(count):
        _step(i, scratch[j], True, sets, state)
    remove_zeros(sets, i)
    return scratch


@kernel
def inner_pass(order: Ints, sets: WorkingSets, state: State) -> None:
    """UPDATEWEIGHT over the stored constraints of the examples, without inference."""
    scratch = np.empty(16, dtype=np.int64)
    for i in order:
        if sets.newest[i] >= 0:
            scratch = _update_weight(i, sets, state, scratch)


@kernel
def _remove_example(i: int, sets: WorkingSets, state: State) -> None:
    constraint = sets.newest[i]
    while constraint >= 0:
        _step(i, constraint, False, sets, state)
        constraint = sets.older[constraint]
    remove_zeros(sets, i)
    sets.alpha_sums[i] = 0.0
    state.violations[i] = 0.0


@kernel
def remove_examples(numbers: Ints, sets: WorkingSets, state: State) -> None:
    """Remove examples: set their dual variables to 0, and update w."""
    for i in numbers:
        _remove_example(i, sets, state)


@oracle_kernel(HINGE_ORACLES, Int, Ints1, Int, Int, Bool, WorkingSetsType, StateType)
def outer_pass(
    decode: Decode,
    difference: Difference,
    examples: ExampleArrays,
    order: Ints,
    done: int,
    max_entries: int,
    updates: bool,
    sets: WorkingSets,
    state: State,
) -> int:
    """DCD-Light over order[done:] [CY13 Alg. 2]; return how far the memory sufficed.

    Without ``updates``, violated constraints are stored and nothing else changes.
    """
    indices = np.empty(max_entries, dtype=np.int32)
    values = np.empty(max_entries, dtype=np.float32)
    scratch = np.empty(16, dtype=np.int64)
    for position in range(done, len(order)):
        i = order[position]
        if not has_capacity(sets, max_entries):
            return position
        visits = state.visits[i] + 1
        y, cost, recompleted = decode(examples, i, state.w, 1.0, is_due(visits))
        if len(y) == 0:
            continue
        size = difference(examples, i, y, indices, values)
        recompleted |= state.recompleted[0]
        state.recompleted[0] = recompleted and size == NEEDS_CAPACITY
        if size == NEEDS_CAPACITY:
            return position
        state.visits[i] = visits
        violation = violation_of(cost, state.w, indices, values, 0, size)
        if recompleted and sets.newest[i] >= 0:
            # Another completion is another convex problem, which the old constraints do
            # not bound.
            _remove_example(i, sets, state)
        state.violations[i] = max(violation, 0.0)
        if violation - sets.alpha_sums[i] / (2 * state.C) >= state.delta:
            append(sets, i, indices, values, size, cost, state.prior)
        if updates and sets.newest[i] >= 0:
            scratch = _update_weight(i, sets, state, scratch)
    return len(order)
