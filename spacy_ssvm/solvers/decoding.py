"""Blocks of examples that threads share: they are decoded under weights that do not change.

A pass of a solver goes through its examples in order. With blocks of one example, each is decoded
under the weights that the one before it has left, as in the papers. Otherwise all threads decode a
block, and then the weights are updated by its examples in order. What is learned depends on the
size of blocks, but not on how many threads there are.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import cast

import numpy as np

from spacy_ssvm.kernels.compile import kernel, oracle_kernel, take_next
from spacy_ssvm.kernels.threads import map_by_all_threads, number_of_threads
from spacy_ssvm.kernels.types import (
    Flags,
    Flags1,
    Float,
    Floats,
    Floats1,
    Ints,
    Ints1,
    tuple_of,
)
from spacy_ssvm.structure import (
    Decode,
    Decoded,
    ExampleArrays,
    Problem,
    RemoteProblem,
    Structure,
)

_SHORTER = 3  # visits before blocks of other processes are as long as the settings say


def block_size(block: int, visits: Ints, structure: Structure) -> int:
    """The number of examples of a block in a pass.

    It is 1 where most examples are new, as labels then change too much for others to be decoded
    ahead: it takes a pass more. For the arcs of trees it does not. Other processes decode blocks
    of a few examples at first, which become longer.
    block: of the settings. visits: int64 [examples of the pass], how often each was decoded.
    """
    if structure.decodes_new_ahead:
        return block
    if structure.is_remote:
        known = int(np.median(visits)) if len(visits) else _SHORTER
        return max(block >> max(_SHORTER - known, 0), 2)
    return 1 if 2 * np.count_nonzero(visits == 0) > len(visits) else block


#: For kernels that decode each example when its turn comes.
NOTHING = Decoded(
    np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0, dtype=bool)
)


def decode_blocks(
    problem: Problem,
    parts: Iterable[Ints],
    weights: Callable[[], Floats],
    gamma: float,
    due: Callable[[Ints], Flags],
) -> Iterator[tuple[Ints, Decoded]]:
    """Decode blocks, one after another, each under the weights that there are when it is due.

    parts: the examples of each, all different. weights: returns w. due: which examples of a part
    have their partial gold completed again.
    Other processes decode a block while the one before it changes the weights.
    """
    if problem.structure.is_remote:
        yield from cast(RemoteProblem, problem).decode_blocks(parts, weights, gamma, due)
        return
    for part in parts:
        yield part, decode_block(problem, part, weights(), gamma, due(part))


def decode_block(problem: Problem, numbers: Ints, w: Floats, gamma: float, due: Flags) -> Decoded:
    """Decode examples, all different, by all threads.

    due: bool [examples]: whether the partial gold of each is completed again.
    """
    n, taken = len(numbers), np.zeros(1, dtype=np.int64)
    starts = np.zeros(n + 1, dtype=np.int64)
    costs, recompleted = np.zeros(n), np.zeros(n, dtype=bool)
    examples = problem.examples()

    def decode(_: int) -> tuple[Ints, Ints]:
        found = numbers, w, gamma, due, taken, starts, costs, recompleted
        return _decode(problem.structure, examples, *found)  # type: ignore[no-any-return]

    parts = map_by_all_threads(decode, range(min(number_of_threads(), n)))
    np.cumsum(starts, out=starts)
    if len(parts) == 1:
        return Decoded(parts[0][1], starts, costs, recompleted)
    ys = np.empty(starts[-1], dtype=np.int64)
    for positions, found in parts:
        _gather(positions, found, starts, ys)
    return Decoded(ys, starts, costs, recompleted)


@oracle_kernel(
    ("decode",),
    tuple_of(Ints1, Ints1),
    *(Ints1, Floats1, Float, Flags1, Ints1, Ints1, Floats1, Flags1),
)
def _decode(
    decode: Decode,
    examples: ExampleArrays,
    numbers: Ints,
    w: Floats,
    gamma: float,
    due: Flags,
    taken: Ints,
    starts: Ints,
    costs: Floats,
    recompleted: Flags,
) -> tuple[Ints, Ints]:
    """Decode examples until all are taken; return the positions of these, and their structures.

    taken: int64 [1], the number of those that threads have taken. starts (int64 [examples + 1])
    gets the length of the structure of the example before.
    """
    positions, count = np.empty(len(numbers), dtype=np.int64), 0
    ys, end = np.empty(32 * len(numbers), dtype=np.int64), 0
    while True:
        position = take_next(taken)
        if position >= len(numbers):
            return positions[:count].copy(), ys[:end].copy()
        y, cost, changed = decode(examples, numbers[position], w, gamma, due[position])
        starts[position + 1], costs[position], recompleted[position] = len(y), cost, changed
        if end + len(y) > len(ys):
            longer = np.empty(2 * (end + len(y)), dtype=np.int64)
            longer[:end] = ys[:end]
            ys = longer
        ys[end : end + len(y)] = y
        end += len(y)
        positions[count] = position
        count += 1


@kernel
def _gather(positions: Ints, found: Ints, starts: Ints, ys: Ints) -> None:
    """Write the structures at some positions to where they start."""
    end = 0
    for position in positions:
        size = starts[position + 1] - starts[position]
        ys[starts[position] : starts[position + 1]] = found[end : end + size]
        end += size
