"""Trains linear models of labels: the solver's weights in compact form."""

import warnings
from collections.abc import Callable
from typing import Any, Protocol, cast

import numpy as np

from spacy_ssvm.features.attributes import TokenTable
from spacy_ssvm.features.reals import NO_SCALES, Scales, measure_scales
from spacy_ssvm.kernels.types import Floats, Ints, Labels, Weights
from spacy_ssvm.labelings.linear_model import LinearModel, WordModel
from spacy_ssvm.labelings.word_features import WordProblem
from spacy_ssvm.solvers.run import Run, Solver
from spacy_ssvm.solvers.summary import TrainingSummary, summarize_run
from spacy_ssvm.solvers.training import IndexedProblem, IndexedTrainer
from spacy_ssvm.weights.compact import (
    CompactWeights,
    entries_of,
    fill_rows,
    row_sizes,
    scales_for,
    starts_of,
)
from spacy_ssvm.weights.feature_index import FeatureIndex, find_sparse_rows
from spacy_ssvm.weights.growing import longer
from spacy_ssvm.weights.key_table import KeyTable, key_table, keys_of
from spacy_ssvm.weights.lazy import Support
from spacy_ssvm.weights.rows import RowTable, RowWeights


def split_rows(hash_bits: int | None, templates: int) -> int:
    """The hashed rows of each template where all share 2**hash_bits rows; 0 for no hashing."""
    return 0 if hash_bits is None else max(1, 2**hash_bits // templates)


class RowProblem(IndexedProblem, Protocol):
    """A problem whose examples have rows of features, such as ``ChainProblem``."""

    @property
    def table(self) -> RowTable:
        """Where the weights of rows are, behind those of pairs of labels."""

    def allocate(self, *, lazily: bool) -> None:
        """Give rows weights for all labels, or else for those that differences ask for."""

    def insert(self, starts: Ints, labels: Labels) -> Ints:
        """Allocate weights of rows 0, 1, ...; return their entries. See ``compact.Entries``."""

    @property
    def append(self) -> Callable[..., range]:
        """Append examples; see ``ChainProblem.append``. Other structures need other arrays."""


class LinearTrainer(IndexedTrainer):
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
        self._loaded = None if model.summary is None else (model.label_pairs, model.weights)
        self.problem = self._new_problem(costs, legality)
        self._load_rows()
        self.problem.row_templates = self.index.row_templates
        self._support: Support | None = None
        super().__init__(self.problem, solver, None)

    def restrict(self, support: Support) -> None:
        """Learn only weights of these features and labels, see ``Selection.refit``.

        The trainer has no examples yet, and continues from no weights. Raises ValueError where
        features share weights, and where the solver has weights for all labels.
        """
        if self.index.is_hashed or self._loaded is not None or not self.run.settings.allocates:
            raise ValueError("single weights can only be left out where each is allocated")
        self.index.fix(support.keys, support.templates)
        self.problem.row_templates = self.index.row_templates
        self._support = support
        self.run = self._new_run(self.run.settings)

    def _new_problem(self, costs: Floats | None, legality: Floats | None) -> RowProblem:
        """A problem without examples."""
        raise NotImplementedError

    def _load_rows(self) -> None:
        """Give the rows of a trained model to the index."""
        model = self.model
        if self._loaded is None:
            return
        if model.table.rows_per_template != self.index.table.rows_per_template:
            raise ValueError(
                "hash_bits has changed: set it to the value that the weights to continue from were "
                "trained with"
            )
        if not model.table.rows_per_template:
            keys = keys_of(model.table)
            templates = np.searchsorted(model.template_rows, np.arange(len(keys)), side="right") - 1
            self.index.load(keys, templates.astype(np.int32))

    def _new_run(self, solver: Solver) -> Run:
        self.problem.allocate(lazily=solver.allocates)
        if self._support is not None:
            problem = cast(RowWeights, self.problem)
            problem.insert(self._support.starts, self._support.labels, only=True)
        self._start = self._prior()
        return super()._new_run(solver)

    def _prior(self) -> Floats | None:
        """The weights of the trained model as w_0; None where there are none."""
        if self._loaded is None:
            return None
        label_pairs, compact = self._loaded
        row_starts, labels, weights = entries_of(compact, self.problem.table.labels)
        entries = label_pairs.size + self.problem.insert(row_starts, labels)
        prior = np.zeros(self.problem.number_of_weights(self.index.number_of_rows))
        prior[: label_pairs.size] = np.where(np.isfinite(label_pairs), label_pairs, 0).ravel()
        prior[entries] = weights
        return prior

    def _append(self, doc_ends: Ints, *arrays: Any) -> list[range]:
        """Append examples of these arrays; return the numbers of each Doc's examples.

        doc_ends: int64 [docs + 1], the first example of each Doc.
        """
        added = self.problem.append(*arrays)
        self.problem.row_templates = self.index.row_templates
        self.run.grow(self.index.number_of_rows)
        ends = doc_ends + added.start
        return [range(a, b) for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]

    def _write(self) -> None:
        self.model.set_weights(*self._compact())

    def _compact(self) -> tuple[KeyTable, Floats, CompactWeights, Ints, TrainingSummary]:
        """The weights in compact form, rows sorted by template."""
        rows, w = self.index.number_of_rows, self.run.w
        first, shape = self.model.label_pairs.size, self.model.label_pairs.shape
        label_pairs = w[:first].reshape(shape).astype(np.float32).astype(np.float64)
        table, emissions = self.problem.table, w[first:]
        sizes = np.empty(rows, dtype=np.int64)
        scales = scales_for(emissions)
        prior = longer(self.run.prior, len(w))
        change = (label_pairs - prior[:first].reshape(shape)).ravel()
        regularizer = float(change @ change) / 2
        regularizer += float(row_sizes(table, emissions, scales, prior[first:], sizes))
        T = len(self.model.templates)
        rows_per_template = self.index.table.rows_per_template
        keys = self.index.row_keys
        if rows_per_template:
            kept = np.arange(rows)
        else:
            kept = np.flatnonzero(sizes)
            kept = kept[np.argsort(self.index.row_templates[kept], kind="stable")]
            keys = keys[kept]
        row_starts = starts_of(sizes[kept])
        compact = CompactWeights(row_starts, np.empty(row_starts[-1], dtype=np.int8), scales)
        fill_rows(table, emissions, kept, compact)
        templates = self.index.row_templates[kept]
        return (
            key_table(keys, rows_per_template),
            label_pairs + self._legality,
            compact,
            np.searchsorted(templates, np.arange(T + 1)).astype(np.int64),
            summarize_run(self.run, self.epochs, regularizer),
        )


class WordTrainer(LinearTrainer):
    """A trainer of a model of words; some of their features may have real values.

    The first batch that has values of all real-valued attributes determines their scales.
    """

    model: WordModel

    def __init__(self, model: WordModel, solver: Solver, **settings: Any) -> None:
        super().__init__(model, solver, **settings)
        self.scales = NO_SCALES  #: of real-valued features
        if model.summary is not None:
            self._set_scales(model.scales)

    def real_values(self, tokens: TokenTable) -> Weights:
        """The values of real-valued features: float32 [words, F]."""
        if not self.waits_for_weights:
            self.find_scales(tokens)
        return self.model.real_values(tokens, self.scales)

    def find_scales(self, tokens: TokenTable) -> None:
        """Set the scales to those of a batch that has all values, if none has been before."""
        if tokens.reals and not self.scales and len(tokens.positions):
            try:
                self._set_scales(measure_scales(tokens.reals))
            except ValueError as error:
                message = f"{error}. Real values are not learned before a batch has all of them"
                warnings.warn(message, stacklevel=2)

    def _set_scales(self, scales: Scales) -> None:
        """Set the scales, and give rows to all real-valued features."""
        self.scales = scales
        keys, templates = self.model.real_keys(scales)
        times = self.index.min_count  # however rare: they are features of all words
        self.index.insert_sparse(np.tile(keys, times), np.tile(templates, times))
        rows = np.empty(len(keys), dtype=np.int64)
        found = find_sparse_rows(self.index.table, keys, templates, len(keys), rows)
        assert found == len(keys)
        cast(WordProblem, self.problem).real_rows = rows.astype(np.int32)

    def _write(self) -> None:
        self.model.set_weights(*self._compact(), scales=self.scales)
