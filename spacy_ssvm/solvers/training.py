"""The training of a model on examples that come and go: the base of trainers."""

from typing import Any, Protocol

import numpy as np

from spacy_ssvm.kernels.types import Floats, Ints
from spacy_ssvm.solvers.run import Run, Solver
from spacy_ssvm.structure import Problem
from spacy_ssvm.weights.growing import bytes_of, surviving


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

    def __init__(self, problem: GrowingProblem, solver: Solver, prior: Floats | None) -> None:
        self.problem = problem
        self.epochs = 0
        self._changed = False
        self._removed: list[range] = []
        self._start = prior
        self.run: Run = self._new_run(solver)

    @property
    def number_of_rows(self) -> int:
        """The number of rows of features that have weights."""
        raise NotImplementedError

    def _write(self) -> None:
        """Write the current weights to the model."""
        raise NotImplementedError

    def _new_run(self, solver: Solver) -> Run:
        run = solver.start(self.problem, self._start)
        run.grow(self.number_of_rows)
        return run

    def restart(self, solver: Solver) -> None:
        """Restart from the weights of the model, with another solver and the same examples."""
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
        kept = surviving(self.problem.number_of_examples, self._removed)
        if kept is None:
            return None
        self._keep(np.flatnonzero(kept))
        self._removed = []
        return np.cumsum(kept) - 1

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
