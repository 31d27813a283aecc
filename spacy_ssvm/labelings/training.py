"""Trains linear models of labels: the solver's weights in compact form."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from spacy_ssvm.kernels.types import Floats, Ints, Rows
from spacy_ssvm.labelings.linear_model import LinearModel
from spacy_ssvm.solvers.run import Solver
from spacy_ssvm.solvers.summary import TrainingSummary, summarize_run
from spacy_ssvm.solvers.training import ExampleTrainer, GrowingProblem
from spacy_ssvm.weights.compact import CompactWeights, fill_rows, row_sizes
from spacy_ssvm.weights.feature_index import FeatureIndex, Table
from spacy_ssvm.weights.hash_table import empty_slots, number_keys, numbered_keys


def split_rows(hash_bits: int | None, templates: int) -> int:
    """The hashed rows of each template where all share 2**hash_bits rows; 0 for no hashing."""
    return 0 if hash_bits is None else max(1, 2**hash_bits // templates)


class RowProblem(GrowingProblem, Protocol):
    """A problem whose examples have rows of features, such as ``ChainProblem``."""

    K: int
    row_templates: Rows  #: int32 [rows], for solvers that select among templates

    @property
    def any_label(self) -> int:
        """The label set of what has no gold annotation."""

    @property
    def append(self) -> Callable[..., range]:
        """Append examples; see ``ChainProblem.append``. Other structures need more arrays."""


class LinearTrainer(ExampleTrainer):
    """The training of a model with rows of features.

    A subclass makes the problem (``_new_problem``) and reads batches (``add``). Training continues
    from the weights of a trained model: they are the prior w_0.

    min_count, rows_per_template: see ``FeatureIndex``.
    costs, legality: see ``ChainProblem``.
    """

    problem: RowProblem

    def __init__(
        self,
        model: LinearModel,
        solver: Solver,
        *,
        min_count: int = 1,
        rows_per_template: int = 0,
        costs: Floats | None = None,
        legality: Floats | None = None,
    ) -> None:
        self.model = model
        self.index = FeatureIndex(
            len(model.templates), min_count=min_count, rows_per_template=rows_per_template
        )
        self._legality: Floats | float = 0.0 if legality is None else legality
        self.problem = self._new_problem(costs, legality)
        prior = self._prior()
        self.problem.row_templates = self.index.row_templates
        super().__init__(self.problem, solver, prior)

    def _new_problem(self, costs: Floats | None, legality: Floats | None) -> RowProblem:
        """A problem without examples."""
        raise NotImplementedError

    @property
    def number_of_rows(self) -> int:
        return self.index.number_of_rows

    def _prior(self) -> Floats | None:
        """The model's weights as w_0, and its rows in the index; None where it has none."""
        model = self.model
        if model.summary is None:
            return None
        if model.table.rows_per_template != self.index.table.rows_per_template:
            raise ValueError(
                "hash_bits has changed: set it to the value that the weights to continue from were "
                "trained with"
            )
        if not model.table.rows_per_template:
            keys = numbered_keys(model.table.slots)
            templates = np.searchsorted(model.template_rows, np.arange(len(keys)), side="right") - 1
            self.index.load(keys, templates.astype(np.int32))
        rows, label_pairs = self.index.number_of_rows, model.label_pairs
        prior = np.zeros(self.problem.number_of_weights(rows))
        prior[: label_pairs.size] = np.where(np.isfinite(label_pairs), label_pairs, 0).ravel()
        number = np.repeat(np.arange(rows), np.diff(model.weights.row_starts))
        of_rows = prior[label_pairs.size :].reshape(rows, len(model.labels))
        of_rows[number, model.weights.labels] = model.weights.weights
        return prior

    def _append(
        self, features: tuple[Ints, Rows], starts: Ints, labels: Ints, doc_ends: Ints, *more: Any
    ) -> list[range]:
        """Append examples; return the numbers of each Doc's examples.

        features: the starts and rows of ``RowProblem.append``. starts: int64 [examples + 1].
        labels: int64, -1 for none. doc_ends: int64 [docs + 1], the first example of each Doc.
        more: what else the problem needs.
        """
        gold = np.where(labels < 0, self.problem.any_label, labels)
        added = self.problem.append(*features, starts, gold, *more)
        self.problem.row_templates = self.index.row_templates
        self.run.grow(self.index.number_of_rows)
        ends = doc_ends + added.start
        return [range(a, b) for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]

    def _write(self) -> None:
        self.model.set_weights(*self._compact())

    def _compact(self) -> tuple[Table, Floats, CompactWeights, Ints, TrainingSummary]:
        """The weights in compact form, in float32, rows sorted by template."""
        K, rows = self.problem.K, self.index.number_of_rows
        w = self.run.w[: self.problem.number_of_weights(rows)]
        first, shape = self.problem.number_of_weights(0), self.model.label_pairs.shape
        label_pairs = w[:first].reshape(shape).astype(np.float32).astype(np.float64)
        emissions = w[first:].reshape(rows, K)
        sizes = np.empty(rows, dtype=np.int64)
        row_sizes(emissions, sizes)
        T = len(self.model.templates)
        rows_per_template = self.index.table.rows_per_template
        slots = empty_slots(0)
        if rows_per_template:
            kept = np.arange(rows)
        else:
            kept = np.flatnonzero(sizes)
            kept = kept[np.argsort(self.index.row_templates[kept], kind="stable")]
            slots = number_keys(self.index.row_keys[kept])
        row_starts = np.concatenate([[0], np.cumsum(sizes[kept])]).astype(np.int64)
        labels = np.empty(row_starts[-1], dtype=np.uint16)
        weights = np.empty(row_starts[-1], dtype=np.float32)
        fill_rows(emissions, kept, row_starts, labels, weights)
        templates = self.index.row_templates[kept]
        return (
            Table(slots, rows_per_template),
            label_pairs + self._legality,
            CompactWeights(row_starts, labels, weights),
            np.searchsorted(templates, np.arange(T + 1)).astype(np.int64),
            summarize_run(self.run, self.epochs),
        )
