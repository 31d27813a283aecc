"""The learner: the weights and dual variables of a component whose examples workers have."""

import warnings
from dataclasses import replace
from typing import Any, cast

import numpy as np

from spacy_ssvm.components.example_cache import DOCS_AT_A_TIME
from spacy_ssvm.components.pipe import Pipe
from spacy_ssvm.distributed.problem import SharedProblem, Workers, call_all
from spacy_ssvm.distributed.worker import LocalRows, problem_name
from spacy_ssvm.kernels.types import Ints, Rows
from spacy_ssvm.labelings.training import WordTrainer
from spacy_ssvm.solvers.dual_coordinate_descent import DualCoordinateDescent
from spacy_ssvm.solvers.frank_wolfe import FrankWolfe
from spacy_ssvm.solvers.lbfgs import LBFGS
from spacy_ssvm.solvers.mira import Mira
from spacy_ssvm.solvers.perceptron import Perceptron
from spacy_ssvm.solvers.run import Run, Solver, check_indices
from spacy_ssvm.solvers.training import ExampleTrainer, IndexedTrainer
from spacy_ssvm.structure import Problem
from spacy_ssvm.trees.pruner_training import PASSES
from spacy_ssvm.trees.training import TreeTrainer
from spacy_ssvm.weights.feature_index import FeatureIndex, find_sparse_rows

_WITH_BLOCKS = DualCoordinateDescent, FrankWolfe, Mira, Perceptron
_LEAST, _BLOCKS = 64, 50  # examples of a block, and blocks of all examples, where nobody says


class RemoteTrainer:
    """Trains a component on the examples of workers; see ``models.Trainer``.

    name: of the component. block: how many examples are decoded before weights change; None for
        what the solver's settings say, or else a share of all examples.
    """

    def __init__(
        self, pipe: Pipe[Any, Any], name: str, workers: Workers, block: int | None
    ) -> None:
        self.trainer: Any = cast(Any, pipe.make_trainer(pipe.solver))
        #: Of all passes. Those of a training that is resumed are not made again.
        self.losses: list[float] = []
        self._passes = 0
        self._workers = workers
        self._problems: dict[str, SharedProblem] = {}
        for part, trainer in self.trainer.parts.items():
            self._problems[part] = self._share(trainer, problem_name(name, part), block)
        if isinstance(self.trainer, TreeTrainer):
            self._learn_pruner(self.trainer)

    def _share(self, trainer: ExampleTrainer, name: str, block: int | None) -> SharedProblem:
        """Let the trainer of a problem learn from the examples of all workers."""
        if isinstance(trainer, IndexedTrainer):
            self._agree_on_rows(trainer, name)
        if isinstance(trainer, WordTrainer):
            self._take_scales(trainer, name)
        problem = SharedProblem(cast(Any, trainer.problem), name, self._workers)
        solver = with_block(trainer.run.settings, block, problem.number_of_examples)
        trainer.run = solver.start(cast(Problem, problem))
        trainer.run.grow(trainer.number_of_rows)
        return problem

    def _take_scales(self, trainer: WordTrainer, name: str) -> None:
        """Let the model have the scales of real-valued features, which workers have found."""
        trainer.scales = self._workers.result(self._workers.call(0, "scales", name))
        if trainer.model.real_templates and not trainer.scales:
            warnings.warn(
                f"{name}: real-valued features are not learned: of no {DOCS_AT_A_TIME:,} Docs in a "
                "row do words have values of all attributes",
                stacklevel=2,
            )

    def _agree_on_rows(self, trainer: IndexedTrainer, name: str) -> None:
        """Number the features of all workers: in the order in which the corpus has them."""
        if not trainer.index.is_hashed:
            found = call_all(self._workers, "rows", [(name,)] * self._workers.number)
            numbers = merge_rows(trainer.index, found)
            rows = trainer.number_of_rows
            call_all(self._workers, "number_rows", [(name, own, rows) for own in numbers])
        trainer.problem.row_templates = trainer.index.row_templates
        first, table = cast(Any, trainer.problem).addresses
        check_indices(first + trainer.number_of_rows * int(table.labels))  # as if all existed

    # See ``models.Trainer``

    @property
    def problem(self) -> SharedProblem:
        """The examples of the part that gives the component its loss."""
        return next(p for part, p in self._problems.items() if part in ("", "arcs"))

    @property
    def run(self) -> Run:
        return cast(Run, self.trainer.run)

    @property
    def traffic(self) -> dict[str, Any]:
        """What has been sent, and waited for, by problem."""
        return {problem.name: problem.traffic for problem in self._problems.values()}

    @property
    def parts(self) -> dict[str, tuple[ExampleTrainer, SharedProblem]]:
        """The trainers of the parts, and their examples, by name."""
        parts: dict[str, ExampleTrainer] = self.trainer.parts
        return {part: (trainer, self._problems[part]) for part, trainer in parts.items()}

    def epoch(self, numbers: Ints) -> float:  # noqa: ARG002
        """A pass over all examples, unless it has been made before; return its loss."""
        self._passes += 1
        if self._passes > len(self.losses):
            self.losses.append(self._pass())
        return self.losses[self._passes - 1]

    def _pass(self) -> float:
        if not isinstance(self.trainer, TreeTrainer):
            return float(self.trainer.epoch(_all(self._problems[""])))
        arcs, labels = self._problems["arcs"], self._problems["labels"]
        return self.trainer.pass_over(_all(arcs), _all(labels))

    def _learn_pruner(self, trainer: TreeTrainer) -> None:
        """Pass the pruner from worker to worker, and give what it has learned to all of them.

        Each goes on where the one before it was, so that their number does not matter.
        """
        workers, name, pruner = self._workers, self._problems["arcs"].name, trainer.pruner
        for _ in range(PASSES):
            for worker in range(workers.number):
                handle = workers.call(worker, "learn_pruner", name, workers.share(pruner.state))
                pruner.state = workers.result(handle)
        pruner.average()
        weights = workers.share(pruner.w)
        call_all(workers, "set_pruner", [(name, weights)] * workers.number)

    def update_model(self) -> None:
        self.trainer.update_model()

    def memory(self) -> dict[str, int]:
        """See ``models.Trainer``; features are those of the last block."""
        return dict(self.trainer.memory())


def _all(problem: SharedProblem) -> Ints:
    return np.arange(problem.number_of_examples)


def check_component(name: str, pipe: Any) -> None:
    """Raise ValueError for a component that can learn in one process alone."""
    if pipe.model.summary is not None:
        raise ValueError(
            f"{name} has been trained before: name it in [training] frozen_components, or train it "
            "further with spacy train"
        )
    if pipe.selected is not None and pipe.selected.support is not None:
        raise ValueError(
            f"{name}: the features of a selection are refitted in one process alone. Set refit in "
            f"[components.{name}.selection] to 'templates', or train with spacy train"
        )
    for setting in ("solver", "label_solver"):
        solver = getattr(pipe, setting, None)
        if solver is None:
            continue
        is_remote = isinstance(solver, LBFGS) or type(solver) in _WITH_BLOCKS
        if not is_remote or (isinstance(solver, FrankWolfe) and solver.beta is not None):
            known = [kind.__name__ for kind in (*_WITH_BLOCKS, LBFGS)]
            raise ValueError(
                f"{name}: {solver} learns in one process alone. Choose in "
                f"[components.{name}.{setting}] one of {', '.join(known)}, with beta = null where "
                "FrankWolfe has it"
            )


def with_block(solver: Solver, block: int | None, examples: int) -> Solver:
    """The solver, with blocks of several examples, if it has blocks.

    block: their size; None for that of the settings, or a share of the examples where it is 1.
    """
    if isinstance(solver, LBFGS):
        return solver
    settings = cast(DualCoordinateDescent | FrankWolfe | Mira | Perceptron, solver)
    if block is None and settings.block > 1:
        return settings
    return replace(settings, block=block or max(_LEAST, examples // _BLOCKS))


def merge_rows(index: FeatureIndex, found: list[LocalRows]) -> list[Rows]:
    """Number the rows of workers anew, and let an empty index have them.

    Features that all together have less often than the index demands are left out.
    Returns the new row of each row of each worker: int32, -1 for none.
    """
    merged = FeatureIndex(1)
    numbers = []
    for keys, templates, _ in found:
        merged.insert_sparse(keys, templates)
        rows = np.empty(len(keys), dtype=np.int64)
        find_sparse_rows(merged.table, keys, templates, len(keys), rows)
        numbers.append(rows)
    counts = np.zeros(merged.number_of_rows, dtype=np.int64)
    for rows, (_, _, counted) in zip(numbers, found, strict=True):
        counts[rows] += counted
    kept = counts >= index.min_count
    index.load(merged.row_keys[kept], merged.row_templates[kept])
    new = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
    return [new[rows] for rows in numbers]
