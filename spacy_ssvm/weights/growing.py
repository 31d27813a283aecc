"""Arrays that grow at the end.

Large ones have memory of their own, which goes back to the system as soon as they are replaced by
longer ones. On the heap, it would stay with the process: arrays that grow leave ever larger gaps,
each too small for the next.
"""

import math
import mmap
from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from spacy_ssvm.kernels.types import Ints

_LARGE = 1 << 20  # bytes, from where on an array has memory of its own
_LARGEST = 1 << 25  # bytes, from where on malloc, too, gives it that, and lengthens it in place
_HUGE = 1 << 22  # bytes, from where on huge pages make reads faster


def zeros(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Zeros in memory of their own, if they are many."""
    size = math.prod(shape) * dtype.itemsize
    if _LARGE <= size < _LARGEST:
        return np.frombuffer(_map(size), dtype=dtype).reshape(shape)
    return np.zeros(shape, dtype=dtype)


def _map(size: int) -> mmap.mmap:
    """Zeros from the system, so many bytes, which other processes do not share."""
    try:
        if not hasattr(mmap, "MAP_PRIVATE"):  # Windows
            return mmap.mmap(-1, size)
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError(f"{size:,} bytes for an array") from error
    if size >= _HUGE and hasattr(mmap, "MADV_HUGEPAGE"):  # numpy, too, asks for them
        with suppress(OSError):  # of kernels that have none
            memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


def longer(array: np.ndarray, size: int) -> np.ndarray:
    """The array, padded with zeros: at least ``size`` long, and at least 9/8 of its length."""
    grown = zeros((max(size, 9 * len(array) // 8), *array.shape[1:]), array.dtype)
    grown[: len(array)] = array
    return grown


def resized(array: np.ndarray, size: int) -> np.ndarray:
    """The array with this length, padded with zeros: itself, if it is very large, else a copy.

    Views of an array that is very large must not be read afterwards.
    """
    if array.nbytes >= _LARGEST and array.flags.owndata:
        array.resize((size, *array.shape[1:]), refcheck=False)
        return array
    new = zeros((size, *array.shape[1:]), array.dtype)
    kept = min(size, len(array))
    new[:kept] = array[:kept]
    return new


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
            self._lengthen(size)
        self._buffer[self.size : size] = values
        self.size = size

    def _lengthen(self, size: int) -> None:
        """Make the buffer longer: if it is very large, without a copy, unless views are in use.

        Without a copy, numpy fills what is to spare with zeros, which takes memory at once.
        """
        if self._buffer.nbytes >= _LARGEST:
            with suppress(ValueError):
                self._buffer.resize((17 * size // 16, *self._buffer.shape[1:]))
                return
        self._buffer = longer(self._buffer, 5 * size // 4)


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
