"""Convergence of solvers with a dual, and their schedule for completing partial gold.

Partial gold is imputed by decoding under w. Each completion makes another convex problem, and
D bounds the one with the current completions. They are chosen again when an example is
visited for the first, second, fourth and eighth time, and then whenever the problem that they
make is solved to the tolerance (the concave-convex procedure). The dual variables of an example
whose completion changes start from 0 again.
"""

from copy import deepcopy
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from spacy_ssvm.kernels.compile import kernel, oracle_kernel
from spacy_ssvm.kernels.types import Flags, Flags1, Floats, Floats1, Ints, Rows, Void
from spacy_ssvm.objective import relative_gap
from spacy_ssvm.solvers.run import PrimalRun, Solver, with_own_weights
from spacy_ssvm.solvers.working_sets import (
    empty_working_sets,
    has_capacity,
    keep_examples,
    measure_prior,
    number_of_constraints,
    renumber,
    shrunk,
    with_capacity,
)
from spacy_ssvm.structure import Decode, ExampleArrays, Problem, RemoteProblem
from spacy_ssvm.weights.growing import longer

_EARLY_VISITS = 8  # completions change freely up to this visit, when it is a power of two
_MAX_COMPLETIONS = 20  # and then at most this often, whenever a problem is solved


RunT = TypeVar("RunT", bound="WorkingSetRun")


class DualSolver(Solver, Protocol):
    """The settings of a solver with a dual."""

    @property
    def tolerance(self) -> float:
        """The relative duality gap, measured exactly, at which training stops."""


class DualRun(PrimalRun):
    """A run with a dual: the weights no longer change once the duality gap is small enough."""

    settings: DualSolver

    def __init__(self, settings: DualSolver, problem: Problem, prior: Floats | None) -> None:
        super().__init__(settings, problem, prior)
        self._converged = False
        self._unmeasured = 0  # visits since the exact gap was measured
        self._completions = 0

    # Implemented by subclasses

    @property
    def violations(self) -> Floats:
        """max_y H_i(y) of each example when it was last decoded: float64 [examples or more]."""
        raise NotImplementedError

    def _pass(self, numbers: Ints) -> None:
        """Improve the dual variables of these examples, by one pass with inference."""
        raise NotImplementedError

    def _remove(self, numbers: Ints) -> None:
        """Set the dual variables of these examples to 0, and update w."""
        raise NotImplementedError

    # Common to all

    @property
    def gap(self) -> float:  # type: ignore[override]
        """The relative duality gap, from the violations found by the last passes.

        The weights changed during the passes, so this is an estimate: ``objective`` measures
        the exact value by a pass over all examples.
        """
        losses = self.violations**2 if self.settings.loss_function.squared else self.violations
        assert self.dual is not None
        return relative_gap(self.regularizer + self.settings.C * float(losses.sum()), self.dual)

    def grow(self, rows: int) -> None:
        """See ``Run``: what is added has not converged."""
        super().grow(rows)
        self._converged = False

    def epoch(self, numbers: Ints) -> float:
        """See ``Run``. Does nothing once the exact gap over all examples is small enough.

        It is measured at most once in as many visits as there are examples, so that small updates
        do not wait for all examples.
        """
        if not self._converged:
            self._pass(numbers)
            self._unmeasured += len(numbers)
            visited = self._unmeasured >= self.problem.number_of_examples
            if visited and self.gap <= self.settings.tolerance:
                self._unmeasured = 0
                exact = self.objective().gap
                assert exact is not None
                self._converged = exact <= self.settings.tolerance and not self._complete_again()
        return float(self.violations[numbers].sum())

    def forget(self, numbers: Ints) -> None:
        self._remove(numbers)
        self._converged = False

    def absorb(self, numbers: Ints) -> None:
        before = self._w.copy()
        self.forget(numbers)
        share = before - self._w
        self._w[:] = before
        share[: len(self._prior)] += self._prior
        self._prior = share

    def _complete_again(self) -> bool:
        """Complete partial gold under the current weights; return whether any changed."""
        problem = self.problem
        changed = np.zeros(problem.number_of_examples, dtype=bool)
        if self._completions < _MAX_COMPLETIONS:
            if problem.structure.is_remote:
                changed = cast(RemoteProblem, problem).complete_all(self._w)
            else:
                complete_all(problem.structure, problem.examples(), self._w, changed)
            self._completions += 1
            if changed.any():
                self._remove(np.flatnonzero(changed))
        return bool(changed.any())


class WorkingSetRun(DualRun):
    """A run with a dual whose constraints are stored, with a dual variable each."""

    _state: Any  #: a NamedTuple with ``violations`` and ``visits`` by example

    def __init__(self, settings: DualSolver, problem: Problem, prior: Floats | None) -> None:
        super().__init__(settings, problem, prior)
        self.sets = empty_working_sets(0, 0, 0)

    @property
    def violations(self) -> Floats:
        violations: Floats = self._state.violations
        return violations

    @property
    def number_of_constraints(self) -> int:
        """The number of constraints in the working sets."""
        return number_of_constraints(self.sets)

    @property
    def _stored(self) -> tuple[object, ...]:
        return self.sets

    def grow(self, rows: int) -> None:
        super().grow(rows)
        examples = self.problem.number_of_examples
        if examples > len(self.violations):
            violations = longer(self.violations, examples)
            visits = longer(self._state.visits, len(violations))
            self._state = self._state._replace(violations=violations, visits=visits)
            self.sets = with_capacity(self.sets, len(violations), 0)

    def without(self: RunT, numbers: Ints) -> RunT:
        """A copy of the run, on the same examples, that has forgotten these."""
        run = deepcopy(self, {id(self.problem): with_own_weights(self.problem)})
        run.forget(numbers)
        return run

    def absorb(self, numbers: Ints) -> None:
        super().absorb(numbers)
        self._follow_weights()
        self.sets = shrunk(self.sets)
        measure_prior(self.sets, self._prior)

    def keep(self, numbers: Ints) -> None:
        self._state = self._state._replace(
            violations=self.violations[numbers], visits=self._state.visits[numbers]
        )
        self.sets = keep_examples(self.sets, numbers)

    def renumber(self, numbers: Rows) -> None:
        super().renumber(numbers)
        renumber(self.sets, numbers)
        self._follow_weights()

    def _lengthen(self, size: int) -> None:
        super()._lengthen(size)
        if len(self._w) > len(self._state.w):
            self._follow_weights()

    def _follow_weights(self) -> None:
        """Let the passes see the weights as they are now."""
        prior = self._prior
        if 0 < len(prior) < len(self._w):
            prior = longer(prior, len(self._w))
        self._state = self._state._replace(w=self._w, prior=prior)

    def _make_room(self) -> None:
        super()._make_room()
        entries = self.problem.max_entries
        if not has_capacity(self.sets, entries):
            self.sets = with_capacity(self.sets, len(self.sets.newest), entries)


@kernel
def is_due(visits: int) -> bool:
    """Whether partial gold is completed again at this visit of an example, counted from 1."""
    return bool(visits <= _EARLY_VISITS and visits & (visits - 1) == 0)


def are_due(visits: Ints) -> Flags:
    """The same for several examples."""
    due: Flags = (visits <= _EARLY_VISITS) & (visits & (visits - 1) == 0)
    return due


@oracle_kernel(("decode",), Void, Floats1, Flags1)
def complete_all(
    decode: Decode,
    examples: ExampleArrays,
    w: Floats,
    changed: Flags,
) -> None:
    """Complete the partial gold of all examples under w, and mark those that changed."""
    for i in range(len(changed)):
        _, _, changed[i] = decode(examples, i, w, 0.0, True)
