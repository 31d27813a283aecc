"""The stored constraints of each example: its working set W_i.

A constraint is a wrong structure y of example i, kept as the sparse row Phi_i(y), its cost
Delta_i(y), |Phi_i(y)|^2 and its dual variable alpha. The constraints of an example form a
list, newest first. A kernel appends to the arrays while their capacity suffices, and then
returns to Python.
"""

from typing import NamedTuple

import numpy as np

from spacy_ssvm.kernels.compile import kernel
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
from spacy_ssvm.weights.sparse import add_scaled, dot

_NONE = -1
_GROWTH = 1.25  # the factor by which full arrays grow
_MUCH = 0.25  # of the entries: removed ones, above which the others are moved together


class WorkingSets(NamedTuple):
    """Arrays over examples, constraints, and the entries of all Phi."""

    newest: Ints  #: int64 [examples]: the newest constraint, -1 for none
    alpha_sums: Floats  #: float64 [examples]: A_i
    older: Ints  #: int64 [constraints]: the next constraint of the same example
    starts: Ints  #: int64 [constraints]: its first entry
    sizes: Ints  #: int64 [constraints]: its number of entries
    costs: Floats  #: float64 [constraints]: Delta_i(y)
    norms: Floats  #: float64 [constraints]: |Phi_i(y)|^2
    prior_scores: Floats  #: float64 [constraints]: w_0 . Phi_i(y)
    alphas: Floats  #: float64 [constraints]
    indices: Rows  #: int32 [entries]: indices into w
    values: Weights  #: float32 [entries]
    used: Ints  #: int64 [4]: constraints and entries so far, and how many of them were removed


WorkingSetsType = named_tuple(
    WorkingSets,
    *(Ints1, Floats1),
    *(Ints1, Ints1, Ints1, Floats1, Floats1, Floats1, Floats1),
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
        costs=np.empty(constraints),
        norms=np.empty(constraints),
        prior_scores=np.empty(constraints),
        alphas=np.empty(constraints),
        indices=np.empty(entries, dtype=np.int32),
        values=np.empty(entries, dtype=np.float32),
        used=np.zeros(4, dtype=np.int64),
    )


def with_capacity(sets: WorkingSets, examples: int, entries: int) -> WorkingSets:
    """The same working sets, in the same arrays, with capacity for these and some more.

    What is no longer in use is overwritten first, where it is much.
    """
    if sets.used[3] > _MUCH * sets.used[1]:
        pack(sets)
    constraints = int(_GROWTH * sets.used[0]) + examples // 4 + 64
    for array in sets[2:9]:
        _lengthen(array, constraints, constraints)
    needed = int(sets.used[1]) + entries
    for entries_of in (sets.indices, sets.values):
        _lengthen(entries_of, needed, max(needed, int(_GROWTH * sets.used[1])) + 1024)
    more = examples - len(sets.newest)
    newest = np.append(sets.newest, np.full(more, _NONE, dtype=np.int64))
    return sets._replace(newest=newest, alpha_sums=np.append(sets.alpha_sums, np.zeros(more)))


def _lengthen(array: np.ndarray, needed: int, size: int) -> None:
    """Let an array have this size, in place, where it is shorter than needed."""
    if needed > len(array):
        array.resize(size, refcheck=False)


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
    constraints, entries = 0, 0
    for source in range(len(numbers)):
        if numbers[source] < 0:
            continue
        numbers[source] = constraints
        size, start = sets.sizes[source], sets.starts[source]
        for entry in range(size):
            sets.indices[entries + entry] = sets.indices[start + entry]
            sets.values[entries + entry] = sets.values[start + entry]
        sets.older[constraints] = sets.older[source]
        sets.starts[constraints] = entries
        sets.sizes[constraints] = size
        sets.costs[constraints] = sets.costs[source]
        sets.norms[constraints] = sets.norms[source]
        sets.prior_scores[constraints] = sets.prior_scores[source]
        sets.alphas[constraints] = sets.alphas[source]
        constraints += 1
        entries += size
    for i in range(len(sets.newest)):
        if sets.newest[i] >= 0:
            sets.newest[i] = numbers[sets.newest[i]]
    for constraint in range(constraints):
        if sets.older[constraint] >= 0:
            sets.older[constraint] = numbers[sets.older[constraint]]
    sets.used[0] = constraints
    sets.used[1] = entries
    sets.used[2:] = 0


@kernel
def has_capacity(sets: WorkingSets, entries: int) -> bool:
    """Whether one more constraint with this number of entries fits."""
    constraint, entry = sets.used[0], sets.used[1]
    return bool(constraint < len(sets.starts) and entry + entries <= len(sets.indices))


@kernel
def score(sets: WorkingSets, constraint: int, w: Floats) -> float:
    """w . Phi_i(y)"""
    start = sets.starts[constraint]
    return dot(w, sets.indices, sets.values, start, start + sets.sizes[constraint])


@kernel
def add_constraint(sets: WorkingSets, constraint: int, scale: float, w: Floats) -> None:
    """w += scale Phi_i(y)"""
    start = sets.starts[constraint]
    add_scaled(w, sets.indices, sets.values, start, start + sets.sizes[constraint], scale)


@kernel
def append(sets: WorkingSets, i: int, size: int, cost: float, prior: Floats) -> int:
    """Make the first ``size`` entries after those in use a constraint of example i.

    Returns its number, or -1 where the example has the same one already.
    """
    start = sets.used[1]
    other = sets.newest[i]
    while other >= 0:
        if sets.costs[other] == cost and _same_entries(sets, other, start, size):
            return -1
        other = sets.older[other]
    constraint = np.int64(sets.used[0])
    norm = 0.0
    for entry in range(start, start + size):
        norm += np.float64(sets.values[entry]) ** 2
    sets.older[constraint] = sets.newest[i]
    sets.newest[i] = constraint
    sets.starts[constraint] = start
    sets.sizes[constraint] = size
    sets.costs[constraint] = cost
    sets.norms[constraint] = norm
    sets.alphas[constraint] = 0.0
    sets.prior_scores[constraint] = 0.0
    if len(prior) > 0:
        sets.prior_scores[constraint] = score(sets, constraint, prior)
    sets.used[0] += 1
    sets.used[1] += size
    return int(constraint)


@kernel
def _same_entries(sets: WorkingSets, constraint: int, start: int, size: int) -> bool:
    if sets.sizes[constraint] != size:
        return False
    other = sets.starts[constraint]
    for entry in range(size):
        if (
            sets.indices[start + entry] != sets.indices[other + entry]
            or sets.values[start + entry] != sets.values[other + entry]
        ):
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
