"""The stored constraints of each example: its working set W_i.

A constraint is a wrong structure y of example i, kept as the sparse row Phi_i(y), its cost
Delta_i(y), |Phi_i(y)|^2 and its dual variable alpha. The constraints of an example form a
list, newest first. A kernel appends to the arrays while their capacity suffices, and then
returns to Python.

Nearly all entries of Phi_i(y) are 1 or -1. They come first, and have no values: the index of one
that is -1 has all its bits inverted.
"""

from typing import NamedTuple

import numpy as np

from spacy_ssvm.kernels.compile import inlined_kernel, inner_kernel, kernel
from spacy_ssvm.kernels.types import (
    Floats,
    Floats1,
    Ints,
    Ints1,
    Rows,
    Rows1,
    Weights,
    Weights1,
    named_tuple,
)
from spacy_ssvm.weights.growing import resized
from spacy_ssvm.weights.sparse import squared_norm

_NONE = -1
_GROWTH = 1.0625  # the factor by which full arrays grow
_MUCH = 0.0625  # of the entries: removed ones, above which the others are moved together


class WorkingSets(NamedTuple):
    """Arrays over examples, constraints, and the entries of all Phi."""

    newest: Ints  #: int64 [examples]: the newest constraint, -1 for none
    alpha_sums: Floats  #: float64 [examples]: A_i
    older: Ints  #: int64 [constraints]: the next constraint of the same example
    starts: Ints  #: int64 [constraints]: its first entry
    sizes: Ints  #: int64 [constraints]: its number of entries
    units: Ints  #: int64 [constraints]: how many of them are 1 or -1
    value_starts: Ints  #: int64 [constraints]: the first value of the others
    costs: Floats  #: float64 [constraints]: Delta_i(y)
    norms: Floats  #: float64 [constraints]: |Phi_i(y)|^2
    prior_scores: Floats  #: float64 [constraints]: w_0 . Phi_i(y)
    alphas: Floats  #: float64 [constraints]
    indices: Rows  #: int32 [entries]: indices into w, see above
    values: Weights  #: float32: those of entries that are neither 1 nor -1
    used: Ints  #: int64 [5]: constraints and entries so far, how many were removed; values


WorkingSetsType = named_tuple(
    WorkingSets,
    *(Ints1, Floats1),
    *(Ints1, Ints1, Ints1, Ints1, Ints1, Floats1, Floats1, Floats1, Floats1),
    *(Rows1, Weights1, Ints1),
)


def empty_working_sets(examples: int, constraints: int, entries: int) -> WorkingSets:
    """Working sets of some examples, with capacity for constraints and entries."""
    return WorkingSets(
        newest=np.full(examples, _NONE, dtype=np.int64),
        alpha_sums=np.zeros(examples),
        older=np.empty(constraints, dtype=np.int64),
        starts=np.empty(constraints, dtype=np.int64),
        sizes=np.empty(constraints, dtype=np.int64),
        units=np.empty(constraints, dtype=np.int64),
        value_starts=np.empty(constraints, dtype=np.int64),
        costs=np.empty(constraints),
        norms=np.empty(constraints),
        prior_scores=np.empty(constraints),
        alphas=np.empty(constraints),
        indices=np.empty(entries, dtype=np.int32),
        values=np.empty(entries, dtype=np.float32),
        used=np.zeros(5, dtype=np.int64),
    )


def with_capacity(sets: WorkingSets, examples: int, entries: int) -> WorkingSets:
    """The same working sets, with capacity for these and some more; the old ones are used up.

    What is no longer in use is overwritten first, where it is much.
    """
    if sets.used[3] > _MUCH * sets.used[1]:
        pack(sets)
    constraints = int(_GROWTH * sets.used[0]) + examples // 4 + 64
    arrays = [_lengthened(array, constraints, constraints) for array in sets[2:-3]]
    for of_entries, used in ((sets.indices, sets.used[1]), (sets.values, sets.used[4])):
        needed = int(used) + entries
        arrays.append(_lengthened(of_entries, needed, int(_GROWTH * needed) + 1024))
    more = examples - len(sets.newest)
    newest = np.append(sets.newest, np.full(more, _NONE, dtype=np.int64))
    alpha_sums = np.append(sets.alpha_sums, np.zeros(more))
    return WorkingSets._make([newest, alpha_sums, *arrays, sets.used])


def _lengthened(array: np.ndarray, needed: int, size: int) -> np.ndarray:
    """The array, with this size where it is shorter than needed."""
    return resized(array, size) if needed > len(array) else array


def shrunk(sets: WorkingSets) -> WorkingSets:
    """The same working sets without what is no longer in use; the old ones are used up."""
    pack(sets)
    constraints, entries, values = (int(_GROWTH * sets.used[part]) for part in (0, 1, 4))
    arrays = [_shortened(array, constraints + 64) for array in sets[2:-3]]
    arrays += [_shortened(sets.indices, entries + 1024), _shortened(sets.values, values + 1024)]
    return WorkingSets._make([*sets[:2], *arrays, sets.used])


def _shortened(array: np.ndarray, size: int) -> np.ndarray:
    """The array, with this size where it is longer."""
    return resized(array, size) if size < len(array) else array


def number_of_constraints(sets: WorkingSets) -> int:
    """The number of constraints of all examples."""
    return int(sets.used[0] - sets.used[2])


def keep_examples(sets: WorkingSets, numbers: Ints) -> WorkingSets:
    """The sets of these examples, in this order; the others must be empty."""
    return sets._replace(newest=sets.newest[numbers], alpha_sums=sets.alpha_sums[numbers])


@kernel
def pack(sets: WorkingSets) -> None:
    """Move what is in use to the beginning of the arrays, in the same order."""
    numbers = np.full(sets.used[0], _NONE)  # the new one of each constraint in use
    for i in range(len(sets.newest)):
        constraint = sets.newest[i]
        while constraint >= 0:
            numbers[constraint] = 0
            constraint = sets.older[constraint]
    constraints, entries, values = 0, 0, 0
    for source in range(len(numbers)):
        if numbers[source] < 0:
            continue
        numbers[source] = constraints
        size, start = sets.sizes[source], sets.starts[source]
        for entry in range(size):
            sets.indices[entries + entry] = sets.indices[start + entry]
        start, rest = sets.value_starts[source], size - sets.units[source]
        for value in range(rest):
            sets.values[values + value] = sets.values[start + value]
        sets.older[constraints] = sets.older[source]
        sets.starts[constraints] = entries
        sets.sizes[constraints] = size
        sets.units[constraints] = sets.units[source]
        sets.value_starts[constraints] = values
        sets.costs[constraints] = sets.costs[source]
        sets.norms[constraints] = sets.norms[source]
        sets.prior_scores[constraints] = sets.prior_scores[source]
        sets.alphas[constraints] = sets.alphas[source]
        constraints += 1
        entries += size
        values += rest
    for i in range(len(sets.newest)):
        if sets.newest[i] >= 0:
            sets.newest[i] = numbers[sets.newest[i]]
    for constraint in range(constraints):
        if sets.older[constraint] >= 0:
            sets.older[constraint] = numbers[sets.older[constraint]]
    sets.used[0] = constraints
    sets.used[1] = entries
    sets.used[2:4] = 0
    sets.used[4] = values


@kernel
def has_capacity(sets: WorkingSets, entries: int) -> bool:
    """Whether one more constraint with this number of entries fits."""
    constraint, entry, value = sets.used[0], sets.used[1], sets.used[4]
    return bool(
        constraint < len(sets.starts)
        and entry + entries <= len(sets.indices)
        and value + entries <= len(sets.values)
    )


@inner_kernel
def score(sets: WorkingSets, constraint: int, w: Floats) -> float:
    """w . Phi_i(y)"""
    start, end = sets.starts[constraint], sets.starts[constraint] + sets.sizes[constraint]
    rest, value = start + sets.units[constraint], sets.value_starts[constraint]
    even, odd = 0.0, 0.0
    for entry in range(start, rest - 1, 2):  # often the same feature, with two labels
        even += _signed(w, sets.indices[entry])
        odd += _signed(w, sets.indices[entry + 1])
    if (rest - start) % 2 == 1:
        even += _signed(w, sets.indices[rest - 1])
    total = even + odd
    for entry in range(rest, end):
        total += w[sets.indices[entry]] * np.float64(sets.values[value + entry - rest])
    return total


@inlined_kernel
def _signed(w: Floats, index: int) -> float:
    """The weight of a unit entry, times its value."""
    inverted = np.int64(index) >> 63
    return w[index ^ inverted] * np.float64(1 | inverted)  # type: ignore[no-any-return]


@inner_kernel
def add_constraint(sets: WorkingSets, constraint: int, scale: float, w: Floats) -> None:
    """w += scale Phi_i(y)"""
    start, end = sets.starts[constraint], sets.starts[constraint] + sets.sizes[constraint]
    rest, value = start + sets.units[constraint], sets.value_starts[constraint]
    for entry in range(start, rest):
        inverted = np.int64(sets.indices[entry]) >> 63
        w[sets.indices[entry] ^ inverted] += scale * np.float64(1 | inverted)
    for entry in range(rest, end):
        w[sets.indices[entry]] += scale * np.float64(sets.values[value + entry - rest])


@kernel
def renumber(sets: WorkingSets, numbers: Rows) -> None:
    """Follow weights that have moved: see ``weights.sparse.move``."""
    for entry in range(sets.used[1]):
        index = sets.indices[entry]
        sets.indices[entry] = numbers[index] if index >= 0 else ~numbers[~index]


@kernel
def measure_prior(sets: WorkingSets, prior: Floats) -> None:
    """Set w_0 . Phi_i(y) of all constraints."""
    for constraint in range(sets.used[0]):
        sets.prior_scores[constraint] = score(sets, constraint, prior)


@kernel
def append(
    sets: WorkingSets,
    i: int,
    indices: Rows,
    values: Weights,
    size: int,
    cost: float,
    prior: Floats,
) -> None:
    """Make the first ``size`` entries of a sparse vector a constraint of example i.

    Does nothing where the example has the same one already.
    """
    constraint = np.int64(sets.used[0])
    _write(sets, constraint, indices, values, size)
    other = sets.newest[i]
    while other >= 0:
        if sets.costs[other] == cost and _are_same(sets, other, constraint):
            return
        other = sets.older[other]
    sets.older[constraint] = sets.newest[i]
    sets.newest[i] = constraint
    sets.costs[constraint] = cost
    sets.norms[constraint] = squared_norm(values, size)
    sets.alphas[constraint] = 0.0
    sets.prior_scores[constraint] = 0.0
    if len(prior) > 0:
        sets.prior_scores[constraint] = score(sets, constraint, prior)
    sets.used[0] += 1
    sets.used[1] += size
    sets.used[4] += size - sets.units[constraint]


@inner_kernel
def _write(sets: WorkingSets, constraint: int, indices: Rows, values: Weights, size: int) -> None:
    """Write the entries of a constraint behind those that there are."""
    unit, value = sets.used[1], sets.used[4]
    rest = unit
    for entry in range(size):
        rest += abs(values[entry]) == 1
    sets.starts[constraint] = unit
    sets.sizes[constraint] = size
    sets.units[constraint] = rest - unit
    sets.value_starts[constraint] = value
    for entry in range(size):
        if abs(values[entry]) == 1:
            sets.indices[unit] = indices[entry] if values[entry] > 0 else ~indices[entry]
            unit += 1
        else:
            sets.indices[rest] = indices[entry]
            sets.values[value] = values[entry]
            rest += 1
            value += 1


@inner_kernel
def _are_same(sets: WorkingSets, one: int, other: int) -> bool:
    """Whether two constraints have the same entries."""
    if sets.sizes[one] != sets.sizes[other] or sets.units[one] != sets.units[other]:
        return False
    start, other_start = sets.starts[one], sets.starts[other]
    for entry in range(sets.sizes[one]):
        if sets.indices[start + entry] != sets.indices[other_start + entry]:
            return False
    start, other_start = sets.value_starts[one], sets.value_starts[other]
    for value in range(sets.sizes[one] - sets.units[one]):
        if sets.values[start + value] != sets.values[other_start + value]:
            return False
    return True


@kernel
def remove_zeros(sets: WorkingSets, i: int) -> None:
    """Remove the constraints whose alpha is 0 from the example's list."""
    newer = -1
    constraint = sets.newest[i]
    while constraint >= 0:
        older = sets.older[constraint]
        if sets.alphas[constraint] > 0:
            newer = constraint
        else:
            sets.used[2] += 1
            sets.used[3] += sets.sizes[constraint]
            if newer < 0:
                sets.newest[i] = older
            else:
                sets.older[newer] = older
        constraint = older
