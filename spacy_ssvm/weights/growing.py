"""Arrays to which is appended: of tokens, features and examples of a problem."""

from collections.abc import Sequence

import numpy as np

from spacy_ssvm._jit import Flags, Ints


class GrowingArray:
    """An array with room behind it, so that appending costs a constant per entry."""

    def __init__(self, dtype: type, values: Sequence[int] | np.ndarray = ()) -> None:
        self._room: np.ndarray = np.array(values, dtype=dtype)
        self.size = len(values)

    @property
    def array(self) -> np.ndarray:
        """What has been appended, without the room."""
        return self._room[: self.size]

    def extend(self, values: np.ndarray) -> None:
        """Append values, of the same shape but for the first axis."""
        size = self.size + len(values)
        if size > len(self._room):
            shape = max(size, 3 * len(self._room) // 2), *self._room.shape[1:]
            room = np.empty(shape, dtype=self._room.dtype)
            room[: self.size] = self.array
            self._room = room
        self._room[self.size : size] = values
        self.size = size


def gather_ranges(starts: GrowingArray, numbers: Ints) -> tuple[Ints, GrowingArray]:
    """The places of what lies in these intervals, and where the intervals start then."""
    firsts, sizes = starts.array[numbers], np.diff(starts.array)[numbers]
    new_starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    places = np.repeat(firsts - new_starts[:-1], sizes) + np.arange(new_starts[-1])
    return places, GrowingArray(np.int64, new_starts)


def surviving(examples: int, removed: Sequence[range]) -> Flags | None:
    """The examples that have not been removed (bool [examples]), once they are the smaller part."""
    if 2 * sum(map(len, removed)) <= examples:
        return None
    kept = np.ones(examples, dtype=bool)
    for numbers in removed:
        kept[numbers.start : numbers.stop] = False
    return kept
