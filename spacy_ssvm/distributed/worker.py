"""A worker: the examples of a shard, their features, and a copy of the weights."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from itertools import islice
from typing import Any, NamedTuple, cast

import numpy as np
from spacy.training import Example

from spacy_ssvm.components.example_cache import DOCS_AT_A_TIME
from spacy_ssvm.components.pipe import Pipe
from spacy_ssvm.distributed.corpora import Shard, read_shard
from spacy_ssvm.distributed.pipelines import Pipeline
from spacy_ssvm.distributed.problem import UNIT, Description, Found, Summed
from spacy_ssvm.distributed.sending import Update
from spacy_ssvm.features.reals import NO_SCALES, Scale
from spacy_ssvm.kernels.compile import oracle_kernel
from spacy_ssvm.kernels.types import (
    Bool,
    Flags,
    Flags1,
    Float,
    Floats,
    Floats1,
    Int,
    Ints,
    Ints1,
    Keys,
    Rows,
    Rows1,
    Void,
    Weights,
    Weights1,
    tuple_of,
)
from spacy_ssvm.labelings.training import WordTrainer
from spacy_ssvm.solvers.averaging import Averaged
from spacy_ssvm.solvers.decoding import decode_block
from spacy_ssvm.solvers.dual_run import complete_all
from spacy_ssvm.solvers.run import size_of_weights
from spacy_ssvm.solvers.training import ExampleTrainer, IndexedTrainer
from spacy_ssvm.structure import (
    EXPECTED_ORACLES,
    Difference,
    ExampleArrays,
    Expect,
    ExpectedDifference,
)
from spacy_ssvm.trees.training import TreeTrainer
from spacy_ssvm.weights.feature_index import FeatureIndex
from spacy_ssvm.weights.growing import longer
from spacy_ssvm.weights.sparse import move

_AT_A_TIME = 2**16  # new weights that are found at a time: bounds the room that is made for them
_TELLS_SPEED = 2.0  # seconds that it takes to tell how fast a worker is


class LocalRows(NamedTuple):
    """The rows of a worker's features."""

    keys: Keys  #: uint64 [rows]
    templates: Rows  #: int32 [rows]
    counts: Ints  #: int64 [rows]: how often examples have them


class Copy:
    """The examples of a problem, and the weights that the learner has sent."""

    def __init__(self, trainer: ExampleTrainer) -> None:
        self.trainer = trainer
        self.problem: Any = trainer.problem
        self.w = trainer.run.w
        self.rows = trainer.number_of_rows
        self._indices = np.zeros(0, dtype=np.int32)  # of the weights with numbers
        self._known = 0

    def fork(self) -> "Copy":
        """The same examples, and weights of its own, which nobody has sent yet."""
        forked = copy(self)
        forked.problem = self.problem.with_own_weights()
        forked.w = np.zeros(len(self.w))
        forked._indices, forked._known = np.zeros(0, dtype=np.int32), 0
        return forked

    def apply(self, update: Update) -> None:
        """Change the weights."""
        known = self._known + len(update.new)
        if known > len(self._indices):
            self._indices = longer(self._indices, known)
        for start in range(0, len(update.new), _AT_A_TIME):
            addresses = update.new[start : start + _AT_A_TIME]
            self.problem.request(addresses)
            self.make_room()
            end = self._known + len(addresses)
            self._indices[self._known : end] = self.problem.find(addresses)
            self._known = end
        self.w[self._indices[update.numbers]] = update.values

    def completions(self, numbers: Ints) -> list[np.ndarray]:
        """The completions of the partial gold of examples."""
        return [self.problem.completion(i).copy() for i in numbers]

    def make_room(self) -> None:
        """Let there be the weights that have been asked for."""
        if self.problem.structure.is_lazy:
            numbers = self.problem.reserve()
            if numbers is not None:
                self.w = move(self.w, numbers)
                self._indices = numbers[self._indices]
        size = size_of_weights(self.problem, self.rows)
        if size > len(self.w):
            self.w = longer(self.w, size)


class Worker:
    """Decodes the examples of a shard for the learner.

    Problems have the names of their components, and those of parts: see ``problem_names``.

    pipeline: initialized, with the config of its training.
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self._nlp = pipeline.load()
        self._copies: dict[str, Copy] = {}
        self._completed: dict[str, list[np.ndarray]] = {}  # by fork, what was there before
        self._words = 0
        self._speed: float | None = None

    # Reading

    def read(self, components: Sequence[str], shard: Shard) -> None:
        """Read a part of the training corpus, for these components, and forget any other part."""
        self._copies.clear()
        pipes: dict[str, Pipe[Any, Any]] = {name: self._nlp.get_pipe(name) for name in components}  # type: ignore[misc]
        trainers = {}
        for name, pipe in pipes.items():
            if hasattr(pipe, "min_count"):
                pipe.min_count = 1  # rows are counted over all shards
            trainer: Any = pipe.make_trainer(pipe.solver)
            trainer.waits_for_weights = True
            trainers[name] = trainer
        self._set_scales(pipes, trainers, shard)
        self._words, seconds, first = 0, 0.0, None
        for examples in self._examples(shard):
            start = time.perf_counter()
            self._words += sum(len(example.predicted) for example in examples)
            for name, pipe in pipes.items():
                for batch in pipe.read_batches(pipe.gold_docs(examples)):
                    trainers[name].add(batch)
            if first is None:
                first = self._words  # kernels have been loaded, or compiled
            else:
                seconds += time.perf_counter() - start
        self._speed = (self._words - (first or 0)) / seconds if seconds >= _TELLS_SPEED else None
        for name, trainer in trainers.items():
            for part, of_part in trainer.parts.items():
                self._copies[problem_name(name, part)] = Copy(of_part)

    def _set_scales(
        self, pipes: dict[str, Pipe[Any, Any]], trainers: dict[str, Any], shard: Shard
    ) -> None:
        """Let real-valued features have scales, which are those of the beginning of the corpus."""
        waiting = {
            name: trainer
            for name, trainer in trainers.items()
            if isinstance(trainer, WordTrainer) and trainer.model.real_templates
        }
        if not waiting:
            return
        for examples in self._examples(shard._replace(first=0, last=sys.maxsize)):
            for name, trainer in [*waiting.items()]:
                for batch in pipes[name].read_batches(pipes[name].gold_docs(examples)):
                    trainer.find_scales(batch.tokens)
                if trainer.scales:
                    del waiting[name]
            if not waiting:
                return

    def _examples(self, shard: Shard) -> Iterator[list[Example]]:
        """The examples of a part, in batches, as components before them annotate them."""
        examples = read_shard(self._nlp, shard)
        annotating = self._nlp.config["training"]["annotating_components"]
        while batch := list(islice(examples, DOCS_AT_A_TIME)):
            for name in annotating:
                pipe = self._nlp.get_pipe(name)
                for example in batch:
                    example.predicted = pipe(example.predicted)
            yield batch

    def speed(self) -> float | None:
        """Of how many words a second it has made features; None where that took no time."""
        return self._speed

    def scales(self, name: str) -> dict[str, Scale]:
        """The scales of real-valued features."""
        return dict(getattr(self._copies[name].trainer, "scales", NO_SCALES))

    def rows(self, name: str) -> LocalRows:
        """The rows of features, which an exact index has numbered."""
        trainer = cast(IndexedTrainer, self._copies[name].trainer)
        index = trainer.index
        counts = trainer.problem.count_rows(index.number_of_rows)
        return LocalRows(index.row_keys.copy(), index.row_templates.copy(), counts)

    def number_rows(self, name: str, numbers: Rows, rows: int) -> None:
        """Give features the rows that all workers have agreed on.

        numbers: int32 [rows before], -1 for features that are left out. rows: of all workers.
        """
        copied = self._copies[name]
        copied.problem.number_rows(numbers, rows)
        copied.rows = rows
        cast(IndexedTrainer, copied.trainer).index = FeatureIndex(0)
        copied.make_room()

    def describe(self, name: str) -> Description:
        """What there is of a problem."""
        problem = self._copies[name].problem
        return Description(problem.number_of_examples, problem.max_entries, self._words)

    def learn_pruner(self, name: str, state: Averaged) -> Averaged:
        """Let a parser's pruner go on with a pass over all sentences, in their order.

        name: of the problem of arcs.
        """
        trainer = cast(TreeTrainer, self._copies[name].trainer)
        examples = trainer.problem.examples()
        trainer.pruner.state = state._replace(
            w=state.w.copy(), sums=state.sums.copy(), steps=state.steps.copy()
        )
        order = np.arange(trainer.problem.number_of_examples)
        trainer.pruner.pass_over(examples.attributes, examples.node_starts, examples.heads, order)
        return trainer.pruner.state

    def set_pruner(self, name: str, weights: Floats) -> None:
        """Set the weights of a parser's pruner, by which arcs are chosen from now on."""
        cast(TreeTrainer, self._copies[name].trainer).pruner.w[:] = weights

    # Rounds

    def update(self, name: str, update: Update) -> None:
        """Change weights."""
        self._copies[name].apply(update)

    def decode(self, name: str, update: Update, numbers: Ints, gamma: float, due: Flags) -> Found:
        """Decode examples under changed weights, see ``decode_block``."""
        copied = self._copies[name]
        copied.apply(update)
        problem = copied.problem
        decoded = decode_block(problem, numbers, copied.w, gamma, due)
        starts, addresses, values = _differences(
            problem.structure,
            problem.addressed_examples(),
            numbers,
            decoded.ys,
            decoded.starts,
            problem.max_entries,
        )
        with np.errstate(invalid="ignore"):
            small = values.astype(np.int8)
        has_gold = np.diff(decoded.starts) > 0
        found = starts, addresses, small if np.array_equal(small, values) else values
        completions = copied.completions(numbers[decoded.recompleted])
        return Found(has_gold, decoded.costs, decoded.recompleted, *found, completions)

    def compute(
        self,
        name: str,
        update: Update,
        numbers: Ints,
        function: Callable[..., Any],
        *arguments: Any,
    ) -> Any:
        """Call a function of a problem, changed weights, and examples."""
        copied = self._copies[name]
        copied.apply(update)
        return function(copied.problem, copied.w, numbers, *arguments)

    def gradient(
        self, name: str, update: Update, numbers: Ints, loss: tuple[Any, ...], complete: bool
    ) -> Summed:
        """The losses of examples under changed weights, and their gradient."""
        copied = self._copies[name]
        copied.apply(update)
        problem, (beta, gamma, _) = copied.problem, loss
        losses, recompleted = np.zeros(len(numbers)), np.zeros(len(numbers), dtype=bool)
        sums = np.zeros(len(copied.w), dtype=np.int64)
        state = complete, problem.max_expected_entries, copied.w, losses, recompleted, sums
        arrays = problem.structure, problem.examples(), numbers
        _sum_gradients(*arrays, float(beta), float(gamma), *state)
        addresses = np.flatnonzero(sums).astype(np.int32)
        completions = copied.completions(numbers[recompleted])
        return Summed(losses, recompleted, addresses, sums[addresses], completions)

    def complete(self, name: str, update: Update, numbers: Ints) -> tuple[Flags, list[np.ndarray]]:
        """Complete the partial gold of all examples under changed weights.

        Returns which completions have changed, and these.
        """
        copied = self._copies[name]
        copied.apply(update)
        changed = np.zeros(len(numbers), dtype=bool)
        problem = copied.problem
        complete_all(problem.structure, problem.examples(), copied.w, changed)
        return changed, copied.completions(np.flatnonzero(changed))

    def restore_completions(self, name: str, completions: dict[int, np.ndarray]) -> None:
        """Complete partial gold as a worker did that is no more."""
        for i, completion in completions.items():
            self._copies[name].problem.restore_completion(i, completion)

    def fork(self, name: str, forked: str) -> None:
        """Copy a problem, with weights of its own; it completes partial gold as the other one."""
        self._copies[forked] = self._copies[name].fork()
        everything = np.arange(self._copies[name].problem.number_of_examples)
        self._completed[forked] = self._copies[name].completions(everything)

    def release(self, forked: str) -> None:
        """Forget a copy, and how it has completed partial gold."""
        problem = self._copies.pop(forked).problem
        for i, completion in enumerate(self._completed.pop(forked)):
            problem.restore_completion(i, completion)


def problem_name(component: str, part: str) -> str:
    """The name of a problem: of a component, or of a part of one."""
    return f"{component}.{part}" if part else component


@oracle_kernel(
    EXPECTED_ORACLES, Void, *(Ints1, Float, Float, Bool, Int, Floats1, Floats1, Flags1, Ints1)
)
def _sum_gradients(
    expect: Expect,
    expected_difference: ExpectedDifference,
    examples: ExampleArrays,
    numbers: Ints,
    beta: float,
    gamma: float,
    complete: bool,
    max_entries: int,
    w: Floats,
    losses: Floats,
    recompleted: Flags,
    sums: Ints,
) -> None:
    """Write the losses of examples, and add their gradients in units of ``UNIT``."""
    indices, values = np.empty(max_entries, dtype=np.int32), np.empty(max_entries)
    for position in range(len(numbers)):
        i = numbers[position]
        z, loss, changed, _ = expect(examples, i, w, beta, gamma, complete)
        if len(z) == 0:
            continue
        losses[position], recompleted[position] = loss, changed
        size = expected_difference(examples, i, z, indices, values)
        for entry in range(size):
            sums[indices[entry]] += np.int64(np.rint(values[entry] / UNIT))


@oracle_kernel(("difference",), tuple_of(Ints1, Rows1, Weights1), *(Ints1, Ints1, Ints1, Int))
def _differences(
    difference: Difference,
    examples: ExampleArrays,
    numbers: Ints,
    ys: Ints,
    starts: Ints,
    max_entries: int,
) -> tuple[Ints, Rows, Weights]:
    """Phi_i(y) of examples and their structures: where each begins, indices and values."""
    ends, size = np.zeros(len(numbers) + 1, dtype=np.int64), 0
    room = max_entries + 64 * len(numbers)
    indices, values = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.float32)
    for position in range(len(numbers)):
        y = ys[starts[position] : starts[position + 1]]
        if size + max_entries > len(indices):
            more = np.empty(2 * size + max_entries, dtype=np.int32)
            more[:size] = indices[:size]
            indices = more
            more_values = np.empty(len(indices), dtype=np.float32)
            more_values[:size] = values[:size]
            values = more_values
        if len(y) > 0:
            size += difference(examples, numbers[position], y, indices[size:], values[size:])
        ends[position + 1] = size
    return ends, indices[:size].copy(), values[:size].copy()
