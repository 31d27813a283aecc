"""Sparse vectors that kernels build entry by entry, each index once.

A vector consists of indices (int32) and values, in buffers with room for all entries. A scratch
table (``scratch_table``) finds the entry of an index.
"""

import numpy as np

from spacy_ssvm.kernels.compile import inner_kernel, kernel
from spacy_ssvm.kernels.types import AnyWeights, Floats, Rows


@kernel
def scratch_table(entries: int) -> Rows:
    """An empty table for up to ``entries`` indices: a power of two, at least twice as long."""
    return np.full(2 ** int(np.ceil(np.log2(2 * entries))), -1, dtype=np.int32)


@inner_kernel
def find_index(indices: Rows, scratch: Rows, index: int) -> int:
    """The slot of the scratch table that holds the index, or the empty slot where it belongs."""
    mask = len(scratch) - 1
    slot = (np.int64(index) * 0x9E3779B1 >> 8) & mask
    while scratch[slot] >= 0 and indices[scratch[slot]] != index:
        slot = (slot + 1) & mask
    return int(slot)


@inner_kernel
def add_entry(
    indices: Rows, values: AnyWeights, scratch: Rows, size: int, index: int, value: float
) -> int:
    """Add a value at an index of a vector of this size; return its new size."""
    slot = find_index(indices, scratch, index)
    if scratch[slot] >= 0:
        values[scratch[slot]] += value
        return size
    scratch[slot] = size
    indices[size] = index
    values[size] = value
    return size + 1


@kernel
def move(weights: Floats, numbers: Rows) -> Floats:
    """Weights at other indices, with zeros elsewhere.

    numbers: int32 [weights or more], the new indices; -1 for those that are left out.
    """
    numbers = numbers[: len(weights)]
    found = np.zeros(max(numbers.max() + 1, 0) if len(numbers) > 0 else 0)
    for index in range(len(numbers)):
        if numbers[index] >= 0:
            found[numbers[index]] = weights[index]
    return found


@inner_kernel
def renumber(indices: Rows, size: int, numbers: Rows) -> None:
    """Replace the first indices by the new ones, see ``move``."""
    for entry in range(size):
        indices[entry] = numbers[indices[entry]]


@inner_kernel
def dot(w: Floats, indices: Rows, values: AnyWeights, start: int, end: int) -> float:
    """w . v of the sparse vector v in entries start to end."""
    total = 0.0
    for entry in range(start, end):
        total += w[indices[entry]] * values[entry]
    return total


@inner_kernel
def violation_of(
    cost: float, w: Floats, indices: Rows, values: AnyWeights, start: int, end: int
) -> float:
    """cost - w . Phi, where Phi is the sparse vector in entries start to end."""
    total = cost
    for entry in range(start, end):
        total -= w[indices[entry]] * values[entry]
    return total


@inner_kernel
def add_scaled(
    w: Floats, indices: Rows, values: AnyWeights, start: int, end: int, scale: float
) -> None:
    """w += scale v, where v is the sparse vector in entries start to end."""
    for entry in range(start, end):
        w[indices[entry]] += scale * np.float64(values[entry])


@inner_kernel
def squared_norm(values: AnyWeights, size: int) -> float:
    """The sum of the squares of the first values, in four parallel sums."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    whole = size - size % 4
    for entry in range(0, whole, 4):
        a += np.float64(values[entry]) ** 2
        b += np.float64(values[entry + 1]) ** 2
        c += np.float64(values[entry + 2]) ** 2
        d += np.float64(values[entry + 3]) ** 2
    for entry in range(whole, size):
        a += np.float64(values[entry]) ** 2
    return (a + b) + (c + d)


@inner_kernel
def drop_zeros(indices: Rows, values: AnyWeights, size: int) -> int:
    """Drop entries whose values cancelled out; return the number left."""
    zeros = 0
    for entry in range(size):  # most vectors have none, and counting uses vector instructions
        zeros += values[entry] == 0
    if zeros == 0:
        return size
    kept = 0
    for entry in range(size):
        if values[entry] != 0:
            indices[kept] = indices[entry]
            values[kept] = values[entry]
            kept += 1
    return kept
