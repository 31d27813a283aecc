"""Arrays that grow at the end."""

from collections.abc import Sequence

import numpy as np

from spacy_ssvm.kernels.types import Ints


def longer(array: np.ndarray, size: int) -> np.ndarray:
    """The array, padded with zeros: at least ``size`` long, and at least 9/8 of its length."""
    grown = np.zeros((max(size, 9 * len(array) // 8), *array.shape[1:]), dtype=array.dtype)
    grown[: len(array)] = array
    return grown


def check_starts(name: str, starts: Ints, end: int) -> None:
    """Raise ValueError unless the starts of ranges rise from 0 to the end."""
    if not len(starts) or starts[0] != 0 or starts[-1] != end or (np.diff(starts) < 0).any():
        raise ValueError(f"{name}: must rise from 0 to {end}")


class GrowingArray:
    """An array with spare capacity at its end, so that appending takes amortized constant time."""

    def __init__(self, dtype: type, values: Sequence[int] | np.ndarray = ()) -> None:
        self._buffer: np.ndarray = np.array(values, dtype=dtype)
        self.size = len(values)

    @property
    def array(self) -> np.ndarray:
        """The values, without the spare capacity."""
        return self._buffer[: self.size]

    def extend(self, values: np.ndarray) -> None:
        """Append values, of the same shape except for the first axis."""
        size = self.size + len(values)
        if size > len(self._buffer):
            self._lengthen(max(size, 5 * size // 4))
        self._buffer[self.size : size] = values
        self.size = size

    def _lengthen(self, size: int) -> None:
        """Make the buffer longer: in place, without a copy, unless views of it are in use."""
        try:
            self._buffer.resize((size, *self._buffer.shape[1:]))
        except ValueError:
            self._buffer = longer(self._buffer, size)


def bytes_of(value: object) -> int:
    """The memory of an array, or of those in a tuple, each counted once."""
    arrays: dict[int, np.ndarray] = {}
    pending = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, np.ndarray):
            arrays[id(part)] = part
        elif isinstance(part, tuple):
            pending += part
    return sum(array.nbytes for array in arrays.values())


def drop_negative(starts: GrowingArray, values: np.ndarray) -> tuple[GrowingArray, GrowingArray]:
    """The ranges and their values, without those below 0.

    starts: int64 [ranges + 1].
    """
    kept = values >= 0
    ends = np.concatenate([[0], np.cumsum(kept)])
    new_starts = GrowingArray(np.int64, ends[starts.array])
    return new_starts, GrowingArray(values.dtype.type, values if kept.all() else values[kept])


def gather_ranges(starts: GrowingArray, numbers: Ints) -> tuple[Ints, GrowingArray]:
    """The indices of all entries of these ranges, and where the ranges start among them.

    starts: int64 [ranges + 1]; numbers: int64, the ranges to keep, in this order.
    """
    firsts, sizes = starts.array[numbers], np.diff(starts.array)[numbers]
    new_starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    indices = np.repeat(firsts - new_starts[:-1], sizes) + np.arange(new_starts[-1])
    return indices, GrowingArray(np.int64, new_starts)
