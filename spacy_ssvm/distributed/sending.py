"""What workers know of the learner's weights, and what they are sent.

Processes have layouts of w of their own. When a weight is sent for the first time, so is its
address, and it gets the next number; from then on, all know it by this number.
"""

from typing import NamedTuple

import numpy as np

from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Flags, Floats, Ints, Rows
from spacy_ssvm.solvers.working_sets import WorkingSets
from spacy_ssvm.weights.growing import longer
from spacy_ssvm.weights.sparse import move

PAGE = 16  # weights that are compared at a time


class Update(NamedTuple):
    """Weights that have changed."""

    new: Rows  #: int32: the addresses of those that get the next numbers
    numbers: Rows  #: int32: of all that have changed
    values: Floats  #: float64: what they are now


class _Request(NamedTuple):
    """What undoes the update of a request that has no answer yet."""

    known: int  #: how many weights had numbers before it
    numbers: Rows
    values: Floats  #: what they were


class SentWeights:
    """The weights of a problem as workers have them."""

    def __init__(self) -> None:
        #: int32 [weights]: the address of each that differences have had
        self.addresses: Rows = np.zeros(0, dtype=np.int32)
        self._numbers: Rows = np.zeros(0, dtype=np.int32)  # one more than the number; 0: none
        self._sent: Floats = np.zeros(0)
        #: bool [pages]: which may have changed since they were sent
        self.touched: Flags = np.zeros(0, dtype=bool)
        self._all_touched = True
        self._is_told = False  # what has been touched
        self._known = 0
        self._requests: list[_Request] = []

    def make_room(self, weights: int) -> None:
        """Let there be so many weights."""
        if weights > len(self._sent):
            self._sent = longer(self._sent, weights)
            self.addresses = longer(self.addresses, len(self._sent))
            self._numbers = longer(self._numbers, len(self._sent))
        pages = len(self._sent) // PAGE + 1
        if pages > len(self.touched):
            self.touched = longer(self.touched, pages)

    def touch(self, numbers: Ints, sets: WorkingSets) -> None:
        """Note that the weights of stored constraints of these examples may change.

        From then on, all others have not.
        """
        self._is_told = True
        _touch_pages(numbers, sets, self.touched)

    def touch_all(self) -> None:
        """Note that any weight may have changed."""
        self._all_touched = True

    def renumber(self, moved: Rows) -> None:
        """Follow weights that have moved: see ``weights.sparse.move``."""
        self._sent = move(self._sent, moved)
        addresses, numbers = self.addresses, self._numbers
        self.addresses, self._numbers = (np.zeros(len(self._sent), np.int32) for _ in range(2))
        moved = moved[: len(addresses)]
        kept = np.flatnonzero(moved >= 0)
        self.make_room(len(self._sent))
        self.touch_all()
        self.addresses[moved[kept]] = addresses[kept]
        self._numbers[moved[kept]] = numbers[kept]

    def changes(self, w: Floats) -> Update:
        """What a request sends: the weights that have changed since the last one."""
        self.make_room(len(w))
        room = np.empty(len(w), dtype=np.int32)
        if self._all_touched:
            self.touched[:] = True
        changed = room[: _find_changes(w, self._sent, self.touched, room)]
        self._all_touched = not self._is_told
        n, known = len(changed), self._known
        update = Update(np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n))
        before = np.empty(n)
        arrays = self.addresses, self._numbers, self._sent
        self._known = int(_note_changes(w, changed, known, *arrays, *update, before))
        self._requests.append(_Request(known, update.numbers, before))
        return update._replace(new=update.new[: self._known - known].copy())

    def answered(self) -> None:
        """Note that all workers have answered the oldest request."""
        self._requests.pop(0)

    def all_answered(self) -> None:
        """Note that no request is without an answer."""
        self._requests.clear()

    def restored(self) -> list[Update]:
        """What a worker is sent that starts anew, before the requests without an answer.

        They send their own updates again: what is undone are those after the oldest request.
        """
        known = self._requests[0].known if self._requests else self._known
        indices = np.empty(known, dtype=np.int64)
        numbered = np.flatnonzero(self._numbers)
        numbered = numbered[self._numbers[numbered] <= known]
        indices[self._numbers[numbered] - 1] = numbered
        numbers, none = np.arange(known, dtype=np.int32), np.zeros(0, dtype=np.int32)
        updates = [Update(self.addresses[indices], numbers, self._sent[indices])]
        for request in reversed(self._requests[1:]):
            undone = request.numbers < known
            updates.append(Update(none, request.numbers[undone], request.values[undone]))
        return updates


@kernel
def _touch_pages(numbers: Ints, sets: WorkingSets, touched: Flags) -> None:
    """Mark the pages of weights of all stored constraints of examples."""
    for i in numbers:
        constraint = sets.newest[i]
        while constraint >= 0:
            start = sets.starts[constraint]
            for entry in range(start, start + sets.sizes[constraint]):
                index = sets.indices[entry]
                touched[(index if index >= 0 else ~index) // PAGE] = True
            constraint = sets.older[constraint]


@kernel
def _find_changes(w: Floats, sent: Floats, touched: Flags, changed: Rows) -> int:
    """Write the indices of weights that are not what was sent; return their number.

    touched: of pages; they are no longer.
    """
    count = 0
    for page in range((len(w) + PAGE - 1) // PAGE):
        if not touched[page]:
            continue
        touched[page] = False
        start = page * PAGE
        end = min(start + PAGE, len(w))
        different = 0
        for index in range(start, end):
            different += w[index] != sent[index]
        if different == 0:
            continue
        for index in range(start, end):
            if w[index] != sent[index]:
                changed[count] = index
                count += 1
    return count


@kernel
def _note_changes(
    w: Floats,
    changed: Rows,
    known: int,
    addresses: Rows,
    numbers: Rows,
    sent: Floats,
    new: Rows,
    sent_numbers: Rows,
    values: Floats,
    before: Floats,
) -> int:
    """Write an update, and what weights were before; return how many have numbers then."""
    first = known
    for position in range(len(changed)):
        index = changed[position]
        if numbers[index] == 0:
            new[known - first] = addresses[index]
            known += 1
            numbers[index] = known
        sent_numbers[position] = numbers[index] - 1
        values[position] = w[index]
        before[position] = sent[index]
        sent[index] = w[index]
    return known
