"""Whole numbers in as few bytes as they need: how keys, sizes and numbers are saved."""

from typing import Any

import numpy as np
import numpy.typing as npt

from spacy_ssvm.kernels.types import Keys

Bytes = npt.NDArray[np.uint8]


def narrow(numbers: npt.NDArray[Any]) -> Bytes:
    """Whole numbers, none below 0, in as few bytes as the largest of them needs.

    Returns uint8 [n, bytes], the lowest byte of each number first.
    """
    size = max(1, -(-int(numbers.max(initial=0)).bit_length() // 8))
    return np.ascontiguousarray(numbers.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :size])


def widen(numbers: Bytes, what: str) -> Keys:
    """The inverse: uint64 [n]. Raises ValueError for bytes of another shape, naming the numbers."""
    if numbers.ndim != 2 or not 1 <= numbers.shape[1] <= 8:
        raise ValueError(f"the {what} are no list of numbers")
    whole = np.zeros((len(numbers), 8), dtype=np.uint8)
    whole[:, : numbers.shape[1]] = numbers
    return whole.view("<u8")[:, 0].astype(np.uint64)


def steps_of(numbers: Keys) -> Keys:
    """What is to be added to each of some sorted numbers for the next: small ones, to be saved."""
    return np.diff(numbers, prepend=np.uint64(0))


def numbers_of(steps: Keys) -> Keys:
    """The inverse. Of steps from a file, sums can be too large: they are then not sorted."""
    return np.cumsum(steps, dtype=np.uint64)
