"""A problem whose examples workers have: what the learner sees of it.

The learner has the weights and the dual variables. It asks the workers to decode a block, each its
own examples of it, and gets the costs of the structures that they find, and the differences of
their features, by the addresses of weights. While it learns from a block, the workers decode the
next one, under the weights that the block before has left. Nothing depends on how many they are.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from typing import Any, NamedTuple, Protocol, cast

import numpy as np

from spacy_ssvm.distributed.sending import PAGE, SentWeights
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import (
    Flags,
    Flags1,
    Floats,
    Int,
    Ints,
    Ints1,
    Rows,
    Rows1,
    Weights,
    Weights1,
    named_tuple,
)
from spacy_ssvm.solvers.working_sets import WorkingSets
from spacy_ssvm.structure import NEEDS_CAPACITY, AddressedProblem, Decoded, Gradient, Structure
from spacy_ssvm.weights.rows import RowTable, RowTableType, find_addresses, has_row_capacity


class Found(NamedTuple):
    """What a worker has found for examples of a block."""

    has_gold: Flags  #: bool [examples]
    costs: Floats  #: float64 [examples]: Delta_i(y)
    recompleted: Flags  #: bool [examples]: whether the completion of partial gold has changed
    starts: Ints  #: int64 [examples + 1]: where the entries of each begin
    addresses: Rows  #: int32 [entries], of Phi_i(y)
    values: Any  #: [entries], float32, or int8 where none has a fraction
    completions: list[np.ndarray]  #: of those that have changed


class Summed(NamedTuple):
    """What a worker has found for the gradient of all of its examples."""

    losses: Floats  #: float64 [examples]
    recompleted: Flags  #: see ``Found``
    addresses: Rows  #: int32, of the entries of the gradient
    sums: Ints  #: int64, in units of ``UNIT``: their sum does not depend on its order
    completions: list[np.ndarray]  #: see ``Found``


#: Of entries of gradients, which workers round to multiples of it. Sums may be up to 2^31, which is
#: enough for two thousand million words.
UNIT = 2.0**-32


class Description(NamedTuple):
    """What a worker has of a problem."""

    examples: int
    max_entries: int  #: see ``Problem``
    words: int  #: of its Docs


class Workers(Protocol):
    """The processes that have the examples."""

    @property
    def number(self) -> int:
        """How many they are."""

    def share(self, value: Any) -> Any:
        """What to give to several calls, so that it is sent once to each machine."""

    def call(self, worker: int, method: str, *arguments: Any) -> Any:
        """Call a method of a ``Worker``; return a handle for its result.

        The calls of a worker are made one after another, in their order.
        """

    def result(self, handle: Any) -> Any:
        """Wait for the result of a call."""

    def tell(self, worker: int, method: str, *arguments: Any) -> None:
        """Call a method whose result nobody waits for."""

    def watch(self, problem: "SharedProblem") -> None:
        """Ask a problem for its weights where a worker starts anew."""

    def unwatch(self, problem: "SharedProblem") -> None:
        """No longer do so."""


def call_all(workers: Workers, method: str, arguments: Iterable[Sequence[Any]]) -> list[Any]:
    """Call a method of all workers, each with its arguments; return the results."""
    handles = [workers.call(k, method, *own) for k, own in enumerate(arguments)]
    return [workers.result(handle) for handle in handles]


class Block(NamedTuple):
    """The differences of a block, for kernels; example arrays of the structure."""

    starts: Ints  #: int64 [examples]: the first entry of each
    ends: Ints  #: int64 [examples]
    addresses: Rows  #: int32 [entries]
    values: Weights  #: float32 [entries]
    first: int  #: the number of weights before those of rows
    table: RowTable
    of_weights: Rows  #: int32 [weights]: the address of each that differences have had
    touched: Flags  #: bool [pages of weights]: see ``SentWeights``


BlockType = named_tuple(Block, Ints1, Ints1, Rows1, Weights1, Int, RowTableType, Rows1, Flags1)


@kernel
def decode(
    block: Block,  # noqa: ARG001
    i: int,
    w: Floats,  # noqa: ARG001
    gamma: float,  # noqa: ARG001
    complete: bool,  # noqa: ARG001
) -> tuple[Ints, float, bool]:
    """Raise ValueError: the examples are elsewhere."""
    if i >= 0:
        raise ValueError("other processes decode these examples")
    return np.empty(0, dtype=np.int64), 0.0, False


@kernel
def difference(
    block: Block,
    i: int,  # noqa: ARG001
    y: Ints,
    indices: Rows,
    values: Weights,
) -> int:
    """See ``Structure.difference``: what a worker has found for example y[0] of the block."""
    start, end = block.starts[y[0]], block.ends[y[0]]
    if start == end:
        return 0
    addresses, first, K = block.addresses[start:end], block.first, block.table.labels
    rows, last = 0, -1
    for address in addresses:
        row = (address - first) // K
        rows += address >= first and row != last
        last = row
    if not has_row_capacity(block.table, rows):
        return NEEDS_CAPACITY
    size = int(end - start)
    found = np.empty(size, dtype=np.int64)
    find_addresses(block.table, first, addresses, np.empty((2, K), dtype=np.int64), found)
    for j in range(size):
        indices[j] = found[j]
        values[j] = block.values[start + j]
        block.of_weights[found[j]] = addresses[j]
        block.touched[found[j] // PAGE] = True
    return size


#: Examples of other processes.
REMOTE = Structure(BlockType, decode, difference, is_remote=True)


class SharedProblem:
    """The examples of all workers, numbered through; see ``structure.RemoteProblem``.

    problem: has no examples, and the layout of the weights, which are 0. name: by which workers
        know it.
    """

    def __init__(self, problem: AddressedProblem, name: str, workers: Workers) -> None:
        self.problem, self.name, self._workers = problem, name, workers
        self.nonnegative = problem.nonnegative
        kind = problem.structure
        self.structure = REMOTE._replace(
            is_lazy=kind.is_lazy,
            decodes_new_ahead=kind.decodes_new_ahead,
            expect=kind.expect,
            expected_difference=kind.expected_difference,
        )
        parts: list[Description] = call_all(workers, "describe", [(name,)] * workers.number)
        sizes = [part.examples for part in parts]
        self._starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.max_entries = max(part.max_entries for part in parts)
        self.words = sum(part.words for part in parts)
        self.sent = SentWeights()  #: what workers know of the weights
        #: by example, the completions of partial gold that have changed
        self.completions: dict[int, np.ndarray] = {}
        self._show([])
        self.traffic = Traffic()
        self._forked_from: str | None = None
        workers.watch(self)

    # The learner's side: see ``Problem``

    max_expected_entries = 0

    @property
    def number_of_examples(self) -> int:
        return int(self._starts[-1])

    def number_of_weights(self, rows: int) -> int:
        return self.problem.number_of_weights(rows)

    def examples(self) -> Block:
        sent = self.sent
        return self._block._replace(
            table=self.problem.addresses[1], of_weights=sent.addresses, touched=sent.touched
        )

    def reserve(self) -> Rows | None:
        """See ``AllocatingProblem``."""
        numbers = self.problem.reserve()
        if numbers is not None:
            self.sent.renumber(numbers)
        self.sent.make_room(self.number_of_weights(0))
        return numbers

    # The workers' side

    def decode_blocks(
        self,
        parts: Iterable[Ints],
        weights: Callable[[], Floats],
        gamma: float,
        due: Callable[[Ints], Flags],
    ) -> Iterator[tuple[Ints, Decoded]]:
        """See ``RemoteProblem``: each part is asked for before the one before it is returned."""
        ahead = None
        for part in parts:
            request = self._ask(part, weights(), "decode", gamma, due(part))
            if ahead is not None:
                yield ahead[0], self._take(*ahead)
            ahead = part, request
        if ahead is not None:
            yield ahead[0], self._take(*ahead)

    def touch(self, numbers: Ints, sets: WorkingSets) -> None:
        """See ``RemoteProblem``."""
        self.sent.touch(numbers, sets)

    def compute(
        self, function: Callable[..., Any], w: Floats, numbers: Ints, *arguments: Any
    ) -> list[tuple[Ints, Any]]:
        """See ``RemoteProblem``."""
        asked = self._ask(numbers, w, "compute", function, *arguments)
        found = [(positions, self._answer(handle)) for positions, handle in asked]
        self.sent.all_answered()
        return found

    def with_own_weights(self) -> "SharedProblem":
        """See ``AllocatingProblem``: a copy that workers have, too, until it is released."""
        forked = copy(self)
        forked.problem = cast(AddressedProblem, self.problem.with_own_weights())
        forked.name, forked._forked_from = f"{self.name} (copy)", self.name
        forked.sent = SentWeights()
        forked.sent.make_room(len(self.sent.addresses))
        forked.sent.addresses[:] = self.sent.addresses
        forked.completions = {}
        forked._show([])
        call_all(self._workers, "fork", [(self.name, forked.name)] * self._workers.number)
        self._workers.watch(forked)
        return forked

    def release(self) -> None:
        """See ``RemoteProblem``."""
        call_all(self._workers, "release", [(self.name,)] * self._workers.number)
        self._workers.unwatch(self)

    def gradient(self, w: Floats, loss: tuple[object, ...], *, complete: bool) -> Gradient:
        """See ``RemoteProblem``."""
        everything = np.arange(self.number_of_examples)
        losses, recompleted = np.empty(len(everything)), np.empty(len(everything), dtype=bool)
        sums = np.zeros(len(w), dtype=np.int64)
        self.sent.make_room(len(w))
        self.sent.addresses[: len(w)] = np.arange(len(w))  # as all weights exist
        for positions, handle in self._ask(everything, w, "gradient", loss, complete):
            found: Summed = self._answer(handle)
            self.traffic.add(received=_bytes(found[:-1]))
            losses[positions], recompleted[positions] = found.losses, found.recompleted
            sums[found.addresses] += found.sums
            self._remember(positions[found.recompleted], found.completions)
        self.sent.all_answered()
        gradient: Floats = sums.astype(np.float64) * UNIT
        return Gradient(float(losses.sum()), gradient, bool(recompleted.any()))

    def complete_all(self, w: Floats) -> Flags:
        """See ``RemoteProblem``."""
        everything = np.arange(self.number_of_examples)
        self.sent.touch_all()
        changed = np.empty(len(everything), dtype=bool)
        for positions, handle in self._ask(everything, w, "complete"):
            changed[positions], completions = self._answer(handle)
            self._remember(positions[changed[positions]], completions)
        self.sent.all_answered()
        return changed

    def _remember(self, numbers: Ints, completions: Sequence[np.ndarray]) -> None:
        """Remember completions, for workers that start anew."""
        self.completions.update(zip(numbers.tolist(), completions, strict=True))

    def restore(self, worker: int) -> None:
        """Give a worker that starts anew the weights of the oldest request without an answer."""
        if self._forked_from is not None:
            self._workers.tell(worker, "fork", self._forked_from, self.name)
        for update in self.sent.restored():
            self._workers.tell(worker, "update", self.name, update)
        first, last = self._starts[worker : worker + 2]
        own = {i - first: y for i, y in self.completions.items() if first <= i < last}
        self._workers.tell(worker, "restore_completions", self.name, own)

    def restore_all(self) -> None:
        """The same for all workers."""
        for worker in range(self._workers.number):
            self.restore(worker)

    def _ask(self, part: Ints, w: Floats, method: str, *arguments: Any) -> list[tuple[Ints, Any]]:
        """Send weights, and ask about examples: positions in the part, and handles of answers.

        arguments: arrays, by example of the part, are divided among the workers.
        """
        start = time.perf_counter()
        update = self.sent.changes(w)
        shared = self._workers.share(update)
        owners = np.searchsorted(self._starts, part, side="right") - 1
        asked = []
        for k in range(self._workers.number):
            positions = np.flatnonzero(owners == k)
            own = [a[positions] if isinstance(a, np.ndarray) else a for a in arguments]
            numbers = part[positions] - self._starts[k]
            handle = self._workers.call(k, method, self.name, shared, numbers, *own)
            asked.append((positions, handle))
        self.traffic.add(sent=_bytes(update), updating=time.perf_counter() - start)
        return asked

    def _answer(self, handle: Any) -> Any:
        start = time.perf_counter()
        answer = self._workers.result(handle)
        self.traffic.add(waiting=time.perf_counter() - start)
        return answer

    def _take(self, part: Ints, asked: Sequence[tuple[Ints, Any]]) -> Decoded:
        """Let kernels see a block, once all workers have answered."""
        found = [(positions, self._answer(handle)) for positions, handle in asked]
        self.sent.answered()
        self.traffic.add(received=sum(_bytes(answer[:-1]) for _, answer in found))
        n = len(part)
        has_gold, recompleted = np.empty(n, dtype=bool), np.empty(n, dtype=bool)
        costs = np.empty(n)
        for positions, answer in found:
            has_gold[positions] = answer.has_gold
            costs[positions] = answer.costs
            recompleted[positions] = answer.recompleted
            self._remember(part[positions[answer.recompleted]], answer.completions)
        self._show(found)
        starts = np.concatenate([[0], np.cumsum(has_gold)]).astype(np.int64)
        return Decoded(np.flatnonzero(has_gold), starts, costs, recompleted)

    def _show(self, found: Sequence[tuple[Ints, Found]]) -> None:
        n = sum(len(positions) for positions, _ in found)
        starts, ends = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        addresses = [np.zeros(0, dtype=np.int32)]
        values = [np.zeros(0, dtype=np.float32)]
        size = 0
        for positions, answer in found:
            starts[positions] = answer.starts[:-1] + size
            ends[positions] = answer.starts[1:] + size
            addresses.append(answer.addresses)
            values.append(answer.values.astype(np.float32))
            size += len(answer.addresses)
        joined = np.concatenate(addresses), np.concatenate(values)
        of_weights = self.sent.addresses, self.sent.touched
        self._block = Block(starts, ends, *joined, *self.problem.addresses, *of_weights)


class Traffic:
    """What has been sent, and where the learner's time went."""

    def __init__(self) -> None:
        self.sent = 0  #: bytes, to each worker
        self.received = 0  #: bytes, from all workers
        self.waiting = 0.0  #: seconds, for workers
        self.updating = 0.0  #: seconds, to find out and send what has changed
        self.rounds = 0

    def add(
        self, *, sent: int = 0, received: int = 0, waiting: float = 0.0, updating: float = 0.0
    ) -> None:
        """Count what has been sent, or waited for."""
        self.rounds += sent > 0
        self.sent += sent
        self.received += received
        self.waiting += waiting
        self.updating += updating


def _bytes(arrays: Iterable[Any]) -> int:
    return sum(array.nbytes for array in arrays)
