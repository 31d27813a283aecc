"""The training of a model on examples that come and go: the base of trainers."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from spacy_ssvm.kernels.types import Flags, Floats, Ints, Rows
from spacy_ssvm.solvers.run import Run, Solver
from spacy_ssvm.structure import Problem
from spacy_ssvm.weights.feature_index import FeatureIndex
from spacy_ssvm.weights.growing import bytes_of

_ROW_BYTES, _WEIGHT_BYTES = 72, 24  # of a feature and of each of its weights, about


class GrowingProblem(Problem, Protocol):
    """A problem whose examples come and go."""

    def forget(self, numbers: range) -> None:
        """Remove the gold annotation of examples: from now on, they have no loss."""

    def keep(self, numbers: Ints) -> None:
        """Keep only these examples: they get the numbers 0, 1, ... in this order."""

    def forget_completions(self) -> None:
        """Forget the completions of partial gold."""


class ExampleTrainer:
    """A run of a solver on the examples of a problem; see ``models.Trainer``.

    A subclass adds examples (``add``), says how many rows their features have
    (``number_of_rows``), and gives the weights to a model (``_write``).

    prior: the weights to start from, in the layout of the problem; None for zero.
    """

    problem: GrowingProblem

    #: Whether other processes learn the weights: nothing is learned as examples are added.
    waits_for_weights = False

    def __init__(self, problem: GrowingProblem, solver: Solver, prior: Floats | None) -> None:
        self.problem = problem
        self.epochs = 0
        self._changed = False
        self._removed: list[range] = []
        self._has_absorbed = False
        self._start = prior
        self.run: Run = self._new_run(solver)

    @property
    def number_of_rows(self) -> int:
        """The number of rows of features that have weights."""
        raise NotImplementedError

    @property
    def parts(self) -> dict[str, "ExampleTrainer"]:
        """The trainers of its problems, by name, in the order in which they learn."""
        return {"": self}

    def _write(self) -> None:
        """Write the current weights to the model."""
        raise NotImplementedError

    def _new_run(self, solver: Solver) -> Run:
        run = solver.start(self.problem, self._start)
        run.grow(self.number_of_rows)
        return run

    def restart(self, solver: Solver) -> None:
        """Restart from the weights of the model, with another solver and the same examples.

        Raises ValueError where some of them have been absorbed.
        """
        if self._has_absorbed:
            raise ValueError("cannot restart: examples have left to save memory, raise `memory`")
        self.problem.forget_completions()
        self.run = self._new_run(solver)
        self.epochs = 0
        self._changed = True

    def remove(self, numbers: range) -> None:
        """Remove examples from the problem, and their contribution from the weights."""
        self.run.forget(np.array(numbers, dtype=np.int64))
        self.problem.forget(numbers)
        self._removed.append(numbers)
        self._changed = True

    def reclaim(self) -> Ints | None:
        """Free the memory of removed examples, once they are the majority.

        Returns None, or the new number of each example (int64 [examples before]).
        """
        if 2 * sum(map(len, self._removed)) <= self.problem.number_of_examples:
            return None
        return self._reclaim()

    def _reclaim(self) -> Ints:
        """Free the memory of removed examples; return the new number of each example."""
        kept = np.ones(self.problem.number_of_examples, dtype=bool)
        for numbers in self._removed:
            kept[numbers.start : numbers.stop] = False
        self._removed = []
        self._keep(np.flatnonzero(kept))
        return np.cumsum(kept) - 1

    def absorb(self, removed: Sequence[range], most: int) -> Ints:
        """Remove examples whose contribution to the weights stays; see ``models.Trainer``."""
        self.run.absorb(np.array([i for numbers in removed for i in numbers], dtype=np.int64))
        self._removed += removed
        self._has_absorbed = self._changed = True
        new_numbers = self._reclaim()
        self._forget_features(most)
        return new_numbers

    def _forget_features(self, most: int) -> None:
        """Forget features that no example has, until weights take at most so many bytes."""

    def _keep(self, numbers: Ints) -> None:
        """Keep only these examples, renumbered."""
        self.problem.keep(numbers)
        self.run.keep(numbers)

    def epoch(self, numbers: Ints) -> float:
        """One pass of the solver over these examples; returns the sum of their losses."""
        self.epochs += 1
        self._changed = True
        return self.run.epoch(numbers)

    def update_model(self) -> None:
        """Give the current weights to the model."""
        if self._changed:
            self._write()
            self._changed = False

    def memory(self) -> dict[str, int]:
        """See ``models.Trainer``."""
        return self.run.memory() | {"features": bytes_of(self.problem.examples())}

    def __reduce__(self) -> tuple[Any, ...]:
        # A copied component starts a new run, from the weights of its model.
        return type(None), ()


class IndexedProblem(GrowingProblem, Protocol):
    """A problem with rows of features that the caller numbers, such as ``ChainProblem``."""

    row_templates: Rows  #: int32 [rows], for solvers that select among templates

    def count_rows(self, rows: int) -> Ints:
        """How often examples have each row as a feature: int64 [rows]."""

    def number_rows(self, numbers: Rows, rows: int) -> None:
        """Give features other rows: int32 [rows before], -1 for those that are left out.

        rows: how many there are then.
        """

    def measure_rows(self, w: Floats, rows: int) -> tuple[Floats, Ints]:
        """The largest absolute value of the weights of each row, and how many there are.

        Returns float64 [rows], int64 [rows].
        """

    def keep_rows(self, kept: Flags) -> Rows:
        """Keep only these of the rows (bool [rows]), renumbered; the others must not be in use.

        Returns where weights have moved to, see ``weights.sparse.move``.
        """


class IndexedTrainer(ExampleTrainer):
    """A trainer whose features get rows in the order in which they are found."""

    problem: IndexedProblem
    index: FeatureIndex

    @property
    def number_of_rows(self) -> int:
        return self.index.number_of_rows

    def memory(self) -> dict[str, int]:
        """See ``models.Trainer``."""
        found = super().memory()
        return found | {"weights": found["weights"] + self.index.bytes}

    def _forget_features(self, most: int) -> None:
        """See ``ExampleTrainer``. What has small weights, or was too rare for any, goes first."""
        if self.index.is_hashed or not self.run.settings.allocates:
            return
        rows = self.number_of_rows
        kept = self.problem.count_rows(rows) > 0
        largest, sizes = self.problem.measure_rows(self.run.w, rows)
        sizes = _ROW_BYTES + _WEIGHT_BYTES * sizes
        others = np.flatnonzero(~kept & (largest > 0))
        others = others[np.argsort(-largest[others], kind="stable")]
        total = sizes[kept].sum() + np.cumsum(sizes[others])
        kept[others[total <= most]] = True
        self.index.keep(np.flatnonzero(kept))
        self.run.renumber(self.problem.keep_rows(kept))
        self.problem.row_templates = self.index.row_templates
        self.run.grow(self.number_of_rows)
