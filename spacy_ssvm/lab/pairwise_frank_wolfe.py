"""Block-coordinate Frank-Wolfe with pairwise steps over stored structures [Osokin et al. 2016].

    max_alpha >= 0, sum_y alpha_i,y = C    D(alpha) = -1/2 |v|^2 + sum alpha_i,y Delta'_i(y)

as in ``solvers/frank_wolfe.py``, where the gold structure, with Phi_i = 0 and Delta_i = 0, has the
rest of each example's C. A step takes weight from the stored structure a of an example that
violates least, and gives it to the one b that violates most, as far as D rises:

    (H_i(b) - H_i(a)) / |Phi_i(b) - Phi_i(a)|^2, at most alpha_i,a

so that the optimum is reached in the end at a linear rate [Lacoste-Julien & Jaggi 2015], where
steps towards b alone zigzag. Passes over what is stored need no inference.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from spacy_ssvm.kernels.compile import kernel, oracle_kernel
from spacy_ssvm.kernels.types import (
    Flags,
    Flags1,
    Float,
    Floats,
    Floats1,
    Int,
    Ints,
    Ints1,
    named_tuple,
)
from spacy_ssvm.objective import HINGE, Loss
from spacy_ssvm.solvers.dual_run import WorkingSetRun, is_due
from spacy_ssvm.solvers.frank_wolfe import SAMPLINGS, Draws, dual_value
from spacy_ssvm.solvers.run import check_C, check_choice, check_not_negative, check_whole
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
from spacy_ssvm.weights.growing import longer
from spacy_ssvm.weights.sparse import violation_of

_GOLD = -1


class PairwiseState(NamedTuple):
    """The state of the passes."""

    w: Floats  #: float64 [weights]
    prior: Floats  #: float64 [weights], w_0; empty where it is 0
    scratch: Floats  #: float64 [weights]: zeros, before and after
    violations: Floats  #: float64 [examples]: max_y H_i(y) when example i was last decoded
    visits: Ints  #: int64 [examples]: how often example i was decoded
    gaps: Floats  #: float64 [examples]: of the block of example i when it was last decoded
    recompleted: Flags  #: bool [1]: of an example that is decoded again when there is memory
    C: float


PairwiseStateType = named_tuple(
    PairwiseState, Floats1, Floats1, Floats1, Floats1, Ints1, Floats1, Flags1, Float
)


@dataclass(frozen=True, kw_only=True)
class PairwiseFrankWolfe:
    """Settings of the solver.

    C: the weight of the losses against the squared norm of the weights, per example.
    sampling: of examples, 'uniform' or 'gap', see ``FrankWolfe``.
    inner_passes: over what is stored, before each pass with inference.
    seed: of the order of examples.
    tolerance: weights no longer change once the relative duality gap, measured exactly, is at
        most this.
    Raises ConfigValidationError, a ValueError, for an invalid value, naming the setting.

    >>> import spacy
    >>> solver = {"@misc": "spacy_ssvm.PairwiseFrankWolfe.v1", "C": 0.3}
    >>> tagger = spacy.blank("en").add_pipe("ssvm_tagger", config={"solver": solver})
    >>> tagger.solver.C
    0.3
    """

    C: float = 0.1
    sampling: str = "uniform"
    inner_passes: int = 5
    seed: int = 0
    tolerance: float = 1e-3
    loss_function: ClassVar[Loss] = HINGE
    oracles: ClassVar[tuple[str, ...]] = HINGE_ORACLES
    allocates: ClassVar[bool] = True
    keeps_signs: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_C(self)
        check_choice(self, "sampling", SAMPLINGS)
        check_whole(self, "inner_passes", "seed")
        check_not_negative(self, "tolerance")

    def start(self, problem: Problem, prior: Floats | None = None) -> "PairwiseRun":
        """A run on a problem, which may grow, from the weights ``prior`` or from zero."""
        return PairwiseRun(self, problem, prior)


class PairwiseRun(WorkingSetRun):
    """The stored structures of a problem, and the passes that improve them."""

    settings: PairwiseFrankWolfe

    def __init__(
        self, settings: PairwiseFrankWolfe, problem: Problem, prior: Floats | None
    ) -> None:
        super().__init__(settings, problem, prior)
        self._state = PairwiseState(
            w=self._w,
            prior=self._prior,
            scratch=np.zeros(len(self._w)),
            violations=np.zeros(0),
            visits=np.zeros(0, dtype=np.int64),
            gaps=np.zeros(0),
            recompleted=np.zeros(1, dtype=bool),
            C=float(self.settings.C),
        )
        self._draws = Draws(settings.sampling)

    @property
    def dual(self) -> float:  # type: ignore[override]
        """D(alpha)."""
        return dual_value(self, self._prior, float(_sum_of_costs(self.sets)))

    def grow(self, rows: int) -> None:
        super().grow(rows)
        gaps, examples = self._state.gaps, len(self._state.violations)
        if examples > len(gaps):
            self._state = self._state._replace(gaps=longer(gaps, examples))

    def _follow_weights(self) -> None:
        super()._follow_weights()
        self._state = self._state._replace(scratch=np.zeros(len(self._w)))

    def keep(self, numbers: Ints) -> None:
        super().keep(numbers)
        self._state = self._state._replace(gaps=self._state.gaps[numbers])

    def _remove(self, numbers: Ints) -> None:
        _remove_examples(numbers, self.sets, self._state)

    def _pass(self, numbers: Ints) -> None:
        for _ in range(self.settings.inner_passes):
            _pass_over_stored(self._shuffled(numbers), self.sets, self._state)
        problem, most = self.problem, self.problem.max_entries
        order = self._draws.order(numbers, self._state.gaps, self._order)

        def one_pass(done: int) -> int:
            arrays = problem.structure, problem.examples(), part, done, most
            return int(_pass_with_inference(*arrays, self.sets, self._state))

        for part in self._parts(order):
            self._repeat(one_pass, len(part))


@kernel
def _choose(i: int, sets: WorkingSets, state: PairwiseState) -> tuple[int, int, float]:
    """The structures b and a of a step, and H_i(b) - H_i(a)."""
    best, least = _GOLD, _GOLD
    high = 0.0
    low = 0.0 if sets.alpha_sums[i] < state.C else np.inf
    constraint = sets.newest[i]
    while constraint >= 0:
        violation = sets.costs[constraint] - score(sets, constraint, state.w)
        if violation > high:
            best, high = constraint, violation
        if violation < low and sets.alphas[constraint] > 0:
            least, low = constraint, violation
        constraint = sets.older[constraint]
    return best, least, high - low


@kernel
def _add(constraint: int, amount: float, sets: WorkingSets, i: int, w: Floats) -> None:
    """Add to one dual variable, and update w."""
    if constraint == _GOLD:
        return
    sets.alphas[constraint] += amount
    sets.alpha_sums[i] += amount
    add_constraint(sets, constraint, amount, w)


@kernel
def _product(one: int, other: int, sets: WorkingSets, scratch: Floats) -> float:
    """Phi_i(y) . Phi_i(y') of two structures; 0 where one of them is gold."""
    if one == _GOLD or other == _GOLD:
        return 0.0
    add_constraint(sets, one, 1.0, scratch)
    product = score(sets, other, scratch)
    add_constraint(sets, one, -1.0, scratch)
    return product


@kernel
def _step(i: int, sets: WorkingSets, state: PairwiseState) -> bool:
    """One pairwise step for example i; return whether it moved."""
    best, least, slope = _choose(i, sets, state)
    if best == least or not slope > 0:
        return False
    room = state.C - sets.alpha_sums[i] if least == _GOLD else sets.alphas[least]
    curvature = -2 * _product(best, least, sets, state.scratch)
    if best != _GOLD:
        curvature += sets.norms[best]
    if least != _GOLD:
        curvature += sets.norms[least]
    amount = min(slope / curvature, room) if curvature > 0 else room
    if amount == room and least != _GOLD:  # exactly 0 is left, whatever the rounding
        _add(least, -amount, sets, i, state.w)
        sets.alphas[least] = 0.0
    else:
        _add(least, -amount, sets, i, state.w)
    _add(best, amount, sets, i, state.w)
    if amount == room and least == _GOLD:
        sets.alpha_sums[i] = state.C
    return True


@kernel
def _steps(i: int, sets: WorkingSets, state: PairwiseState) -> None:
    """As many steps as example i has structures; structures without weight are removed."""
    count = 0
    constraint = sets.newest[i]
    while constraint >= 0:
        count += 1
        constraint = sets.older[constraint]
    for _ in range(count):
        if not _step(i, sets, state):
            break
    remove_zeros(sets, i)


@kernel
def _pass_over_stored(order: Ints, sets: WorkingSets, state: PairwiseState) -> None:
    """Steps for each of these examples, without inference."""
    for i in order:
        if sets.newest[i] >= 0:
            _steps(i, sets, state)


@kernel
def _gap(i: int, violation: float, sets: WorkingSets, state: PairwiseState) -> float:
    """C max_y H_i(y) - sum alpha_i,y H_i(y): by how much the block of example i may raise D."""
    total = state.C * violation
    constraint = sets.newest[i]
    while constraint >= 0:
        alpha = sets.alphas[constraint]
        total -= alpha * (sets.costs[constraint] - score(sets, constraint, state.w))
        constraint = sets.older[constraint]
    return max(total, 0.0)


@kernel
def _sum_of_costs(sets: WorkingSets) -> float:
    """sum alpha_i,y Delta_i(y)"""
    total = 0.0
    for i in range(len(sets.newest)):
        constraint = sets.newest[i]
        while constraint >= 0:
            total += sets.alphas[constraint] * sets.costs[constraint]
            constraint = sets.older[constraint]
    return total


@kernel
def _remove_examples(numbers: Ints, sets: WorkingSets, state: PairwiseState) -> None:
    """Remove examples: move all of their weight to gold, and update w."""
    for i in numbers:
        constraint = sets.newest[i]
        while constraint >= 0:
            _add(constraint, -sets.alphas[constraint], sets, i, state.w)
            sets.alphas[constraint] = 0.0
            constraint = sets.older[constraint]
        remove_zeros(sets, i)
        sets.alpha_sums[i] = 0.0
        state.violations[i] = 0.0
        state.gaps[i] = 0.0


@oracle_kernel(HINGE_ORACLES, Int, Ints1, Int, Int, WorkingSetsType, PairwiseStateType)
def _pass_with_inference(
    decode: Decode,
    difference: Difference,
    examples: ExampleArrays,
    order: Ints,
    done: int,
    max_entries: int,
    sets: WorkingSets,
    state: PairwiseState,
) -> int:
    """Store the most violating structures of order[done:], and make steps.

    Returns how far the memory sufficed.
    """
    indices = np.empty(max_entries, dtype=np.int32)
    values = np.empty(max_entries, dtype=np.float32)
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
            _remove_examples(order[position : position + 1], sets, state)
        state.violations[i] = max(violation, 0.0)
        state.gaps[i] = _gap(i, state.violations[i], sets, state)
        if violation > 0:
            append(sets, i, indices, values, size, cost, state.prior)
        if sets.newest[i] >= 0:
            _steps(i, sets, state)
    return len(order)
