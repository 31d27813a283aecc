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

With blocks of more than one example (``decoding.py``), threads share in the passes, but for the
first one over labels. An example that violates no new constraint is then left to the inner passes;
and these are divided: each half of the examples changes a copy of w, and the changes are added up.
If they are d and d', D has risen by what both halves have gained, less d . d' (Jacobi's method,
where an undivided pass is Gauss and Seidel's). Once that takes half of what they have gained, an
undivided pass, which never lowers D, is the last one of the epoch.

Where other processes decode, the passes without inference are not made before the one with it: of
each, a part as long as a block follows every block, while the next one is being decoded.
"""

import functools
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, cast

import numpy as np

from spacy_ssvm.kernels.compile import kernel, oracle_kernel
from spacy_ssvm.kernels.threads import map_by_all_threads
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
from spacy_ssvm.solvers.decoding import block_size
from spacy_ssvm.solvers.dual_run import WorkingSetRun, are_due, is_due
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
    Decoded,
    DecodedType,
    Difference,
    ExampleArrays,
    Problem,
    RemoteProblem,
)
from spacy_ssvm.weights.sparse import violation_of

_MIN_RISE = 1e-5  # of D, relative, by a pass of CPD that is worth another one
_MAX_PASSES = 1000  # of CPD, in an epoch
_CPD_BLOCK = 200  # of CPD, whose pass with inference leaves w as it is


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
    block: how many examples are decoded before weights change, for threads to share in; 1 for the
        algorithms as published. The result depends on it, and not on the number of threads.
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
    block: int = 1
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
        check_whole(self, "block", least=1)
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
        self._copies = np.zeros(0), np.zeros(0)  # of w, for halves of the inner passes
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
        visits = self._state.visits[numbers]
        block = block_size(self.settings.block, visits, self.problem.structure)
        inner = self.settings.inner_passes if self.settings.variant == "ssvm" else 0
        is_remote = self.problem.structure.is_remote
        if inner and not is_remote:
            self._inner_passes(numbers, divided=block > 1)
        self._outer_pass(self._shuffled(numbers), block, inner if is_remote else 0)
        if self.settings.variant == "cpd":
            self._touch(numbers)
            self._solve(numbers)

    def _remove(self, numbers: Ints) -> None:
        self._touch(numbers)
        remove_examples(numbers, self.sets, self._state)

    def absorb(self, numbers: Ints) -> None:
        """See ``Run``. Both totals are measured anew, as the prior is another one."""
        super().absorb(numbers)
        sets, nu, totals = self.sets, self._state.multipliers, self._state.totals
        used = int(sets.used[0])
        change = self._w - self._prior
        totals[1] = change @ change / 2
        totals[0] = sets.alphas[:used] @ (sets.costs[:used] - sets.prior_scores[:used])
        totals[0] -= totals[1] + self._prior[: len(nu)] @ nu
        totals[0] -= sets.alpha_sums @ sets.alpha_sums / (4 * self.settings.C)

    def _solve(self, numbers: Ints) -> None:
        """Solve the dual over the stored constraints of these examples, by passes."""
        for _ in range(_MAX_PASSES):
            before = self.dual
            inner_pass(self._shuffled(numbers), self.sets, self._state)
            if self.dual - before <= _MIN_RISE * self.dual:
                break

    def _inner_passes(self, numbers: Ints, *, divided: bool) -> None:
        """The passes without inference before one with it."""
        entries = int(self.sets.used[1]) * len(numbers) // max(len(self.sets.newest), 1)
        # Joining copies of w takes as long as a third as many entries.
        divided &= self.problem.nonnegative == 0 and 2 * entries >= len(self._w)
        if divided:
            self._copy_weights()
        for _ in range(self.settings.inner_passes):
            order = self._shuffled(numbers)
            if not divided:
                inner_pass(order, self.sets, self._state)
            elif not self._divided_pass(order):
                inner_pass(self._shuffled(numbers), self.sets, self._state)
                break

    def _copy_weights(self) -> None:
        """Let the copies be the weights as they are now."""
        if len(self._copies[0]) != len(self._w):
            self._copies = np.empty_like(self._w), np.empty_like(self._w)
        for copy in self._copies:
            np.copyto(copy, self._w)

    def _divided_pass(self, order: Ints) -> bool:
        """A pass over halves of the examples, by two threads; return whether another is worth it.

        The copies are the weights, now and afterwards.
        """
        before, other = self._copies
        sets, state, halves = self.sets, self._state, np.array_split(order, 2)
        random = self._order.integers(2**63, size=1).view(np.uint64)
        of_others = (
            sets._replace(used=sets.used.copy()),
            state._replace(w=other, totals=state.totals.copy(), random=random),
        )
        used, totals = sets.used.copy(), state.totals.copy()
        arguments = [(halves[0], sets, state), (halves[1], *of_others)]
        map_by_all_threads(lambda half: inner_pass(*half), arguments)
        bounds = np.linspace(0, len(other), 3).astype(np.int64)
        parts = [slice(*bounds[:2]), slice(*bounds[1:])]
        loss = sum(map_by_all_threads(lambda p: _join(state.w[p], other[p], before[p]), parts))
        sets.used[:] += of_others[0].used - used
        gains = state.totals - totals + of_others[1].totals - totals
        state.totals[:] = totals + gains + (-loss, loss)
        return bool(loss < gains[0] / 2)

    def _outer_pass(self, order: Ints, block: int, inner: int) -> None:
        """The pass with inference. A share of ``inner`` passes without it follows each block."""
        most = self.problem.max_entries
        updates = self.settings.variant != "cpd"
        if not updates:
            block = max(block, _CPD_BLOCK)
        parts = self._parts(order, block if block > 1 else None)
        inner_orders, end = [self._shuffled(order) for _ in range(inner)], 0
        visits = self._state.visits
        blocks = self._decoded(parts, block, 1.0, lambda part: are_due(visits[part] + 1))
        for part, decoded in blocks:
            start, end = end, end + len(part)
            inner_parts = [others[start:end] for others in inner_orders]
            self._touch(part, *inner_parts)
            self._repeat(functools.partial(self._visit, part, decoded, most, updates), len(part))
            for others in inner_parts:
                inner_pass(others, self.sets, self._state)

    def _touch(self, *parts: Ints) -> None:
        """Note that weights of the constraints of these examples may change."""
        if self.problem.structure.is_remote:
            for numbers in parts:
                cast(RemoteProblem, self.problem).touch(numbers, self.sets)

    def _visit(self, part: Ints, decoded: Decoded, most: int, updates: bool, done: int) -> int:
        arrays = self.problem.structure, self.problem.examples(), part, done, most
        return int(outer_pass(*arrays, decoded, updates, self.sets, self._state))


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
def _join(w: Floats, other: Floats, before: Floats) -> float:
    """Add the changes of two copies of w, d and d', in all of them; return d . d'."""
    total = 0.0
    for index in range(len(w)):
        old = before[index]
        if w[index] != old or other[index] != old:  # most weights have not changed
            other_change = other[index] - old
            total += (w[index] - old) * other_change
            w[index] += other_change
            other[index] = before[index] = w[index]
    return total


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


@oracle_kernel(HINGE_ORACLES, Int, Ints1, Int, Int, DecodedType, Bool, WorkingSetsType, StateType)
def outer_pass(
    decode: Decode,
    difference: Difference,
    examples: ExampleArrays,
    order: Ints,
    done: int,
    max_entries: int,
    decoded: Decoded,
    updates: bool,
    sets: WorkingSets,
    state: State,
) -> int:
    """DCD-Light over order[done:] [CY13 Alg. 2]; return how far the memory sufficed.

    decoded: what has been found for the order, or ``NOTHING``.
    Without ``updates``, violated constraints are stored and nothing else changes.
    """
    ahead = len(decoded.starts) > 0
    indices = np.empty(max_entries, dtype=np.int32)
    values = np.empty(max_entries, dtype=np.float32)
    scratch = np.empty(16, dtype=np.int64)
    for position in range(done, len(order)):
        i = order[position]
        if not has_capacity(sets, max_entries):
            return position
        visits = state.visits[i] + 1
        if ahead:
            y = decoded.ys[decoded.starts[position] : decoded.starts[position + 1]]
            cost, recompleted = decoded.costs[position], decoded.recompleted[position]
        else:
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
        is_violated = violation - sets.alpha_sums[i] / (2 * state.C) >= state.delta
        if is_violated:
            append(sets, i, indices, values, size, cost, state.prior)
        if updates and (is_violated or not ahead) and sets.newest[i] >= 0:
            scratch = _update_weight(i, sets, state, scratch)
    return len(order)
