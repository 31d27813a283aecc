"""Pairwise steps of block-coordinate Frank-Wolfe, over stored structures [Osokin et al. 2016].

    max_alpha >= 0, sum_y alpha_i,y = C    D(alpha) = -1/2 |v|^2 + sum alpha_i,y Delta'_i(y)

as in ``frank_wolfe.py``, where the gold structure, with Phi_i = 0 and Delta_i = 0, has the rest of
each example's C. A step takes weight from the stored structure a of an example that violates
least, and gives it to the one b that violates most, as far as D rises:

    (H_i(b) - H_i(a)) / |Phi_i(b) - Phi_i(a)|^2, at most alpha_i,a

so that the optimum is reached in the end at a linear rate [Lacoste-Julien & Jaggi 2015], where
steps towards b alone zigzag. Passes over what is stored need no inference.
"""

from typing import NamedTuple

import numpy as np

from spacy_ssvm.kernels.compile import kernel, oracle_kernel
from spacy_ssvm.kernels.types import Float, Floats, Floats1, Int, Ints, Ints1, named_tuple
from spacy_ssvm.solvers.dual_run import is_due
from spacy_ssvm.solvers.working_sets import (
    WorkingSets,
    WorkingSetsType,
    add_constraint,
    append,
    has_capacity,
    remove_zeros,
    score,
)
from spacy_ssvm.structure import HINGE_ORACLES, Decode, Difference, ExampleArrays
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
    C: float


PairwiseStateType = named_tuple(
    PairwiseState, Floats1, Floats1, Floats1, Floats1, Ints1, Floats1, Float
)


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
    start = sets.starts[one]
    for entry in range(start, start + sets.sizes[one]):
        scratch[sets.indices[entry]] = sets.values[entry]
    product = score(sets, other, scratch)
    for entry in range(start, start + sets.sizes[one]):
        scratch[sets.indices[entry]] = 0.0
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
def pass_over_stored(order: Ints, sets: WorkingSets, state: PairwiseState) -> None:
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
def sum_of_costs(sets: WorkingSets) -> float:
    """sum alpha_i,y Delta_i(y)"""
    total = 0.0
    for i in range(len(sets.newest)):
        constraint = sets.newest[i]
        while constraint >= 0:
            total += sets.alphas[constraint] * sets.costs[constraint]
            constraint = sets.older[constraint]
    return total


@kernel
def remove_examples(numbers: Ints, sets: WorkingSets, state: PairwiseState) -> None:
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
def pass_with_inference(
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

    Returns how far the capacity sufficed.
    """
    for position in range(done, len(order)):
        i = order[position]
        if not has_capacity(sets, max_entries):
            return position
        visits = state.visits[i] + 1
        y, cost, recompleted = decode(examples, i, state.w, 1.0, is_due(visits))
        if len(y) == 0:
            continue
        start = sets.used[1]
        indices, values = sets.indices[start:], sets.values[start:]
        size = difference(examples, i, y, indices, values)
        state.visits[i] = visits
        violation = violation_of(cost, state.w, indices, values, 0, size)
        if recompleted and sets.newest[i] >= 0:
            remove_examples(order[position : position + 1], sets, state)
        state.violations[i] = max(violation, 0.0)
        state.gaps[i] = _gap(i, state.violations[i], sets, state)
        if violation > 0:
            append(sets, i, size, cost, state.prior)
        if sets.newest[i] >= 0:
            _steps(i, sets, state)
    return len(order)
