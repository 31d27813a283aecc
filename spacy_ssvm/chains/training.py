"""Trains models of label sequences.

Docs with their gold labels become examples of the problem, one for each sentence, or part of one;
the solver improves the weights; ``update_model`` writes them to the model in compact form.
"""

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from spacy_ssvm.chains.linear_model import LinearModel
from spacy_ssvm.chains.model import ChainModel
from spacy_ssvm.chains.problem import ChainProblem
from spacy_ssvm.features.attributes import Doc, TokenTable, sentence_firsts
from spacy_ssvm.features.coordinates import ByWord
from spacy_ssvm.features.extraction import extract_keys
from spacy_ssvm.features.reals import NO_SCALES, Scales, measure_scales
from spacy_ssvm.kernels.types import Flags, Floats, Ints, Keys, Rows, Weights
from spacy_ssvm.solvers.run import Solver
from spacy_ssvm.solvers.summary import TrainingSummary, summarize_run
from spacy_ssvm.solvers.training import ExampleTrainer, GrowingProblem
from spacy_ssvm.weights.compact import CompactWeights, fill_rows, row_sizes
from spacy_ssvm.weights.feature_index import (
    FeatureIndex,
    Table,
    find_rows,
    find_sparse_rows,
)
from spacy_ssvm.weights.hash_table import empty_slots, number_keys, numbered_keys


class Chains(NamedTuple):
    """The label sequences that are learned from a batch of Docs."""

    words: Ints  #: int64, of the batch; the words at the ends of a chain may be in two of them
    starts: Ints  #: int64 [chains + 1]: where each chain begins in ``words``
    doc_chains: Ints  #: int64 [docs + 1]: the first chain of each Doc


class LabelledTokens(NamedTuple):
    """The words of a batch of Docs with their gold labels."""

    tokens: TokenTable
    labels: ByWord  #: int64 [words]: -1 for none
    chains: Chains | None = None  #: None for those of the sentences of ``tokens``


def read_labelled(
    model: ChainModel,
    docs: Sequence[Doc],
    gold: Sequence[Ints],
    inputs: Sequence[Keys] | None = None,
) -> LabelledTokens:
    """The words of Docs with their gold labels.

    gold: int64 [tokens] for each Doc, a label, or -1 for none. Whitespace is left out. Or
        [tokens, 2]: the second column is 1 where sequences are divided in training.
    inputs: see ``AttributeReader.read``.
    """
    tokens = model.reader.read(docs, inputs=inputs)
    of_tokens = np.concatenate(gold)
    if of_tokens.ndim == 1:
        return LabelledTokens(tokens, ByWord(of_tokens[tokens.positions]))
    labels = ByWord(of_tokens[tokens.positions, 0])
    return LabelledTokens(tokens, labels, divide_chains(tokens, of_tokens[:, 1] > 0))


def divide_chains(tokens: TokenTable, marks: Flags) -> Chains:
    """Chains that begin at marked tokens, each with the word before it and the one after it.

    The words on both sides are there to learn the transitions between the chains. Whole Docs are
    a chain each where nothing is marked.

    tokens: whose Docs are one sentence each. marks: bool [tokens].
    """
    number = len(tokens.positions)
    firsts = np.append(sentence_firsts(marks, tokens.doc_starts, tokens.positions), number)
    doc_firsts = tokens.sentence_starts[tokens.doc_sentences]
    doc = np.searchsorted(doc_firsts, firsts[:-1], side="right") - 1
    begin = np.maximum(firsts[:-1] - 1, doc_firsts[doc])
    end = np.minimum(firsts[1:] + 1, doc_firsts[doc + 1])
    starts = np.concatenate([[0], np.cumsum(end - begin)])
    words = np.arange(starts[-1]) + np.repeat(begin - starts[:-1], end - begin)
    return Chains(words, starts, np.searchsorted(firsts, doc_firsts))


def split_rows(hash_bits: int | None, templates: int) -> int:
    """The hashed rows of each template where all share 2**hash_bits rows; 0 for no hashing."""
    return 0 if hash_bits is None else max(1, 2**hash_bits // templates)


class RowProblem(GrowingProblem, Protocol):
    """A problem whose examples have rows of features: ``ChainProblem``, or like it."""

    K: int

    @property
    def any_label(self) -> int:
        """The label set of what has no gold annotation."""

    @property
    def append(self) -> Callable[..., range]:
        """Append examples; see ``ChainProblem.append``. Other structures need more arrays."""


class LinearTrainer(ExampleTrainer):
    """The training of a model with rows of features.

    A subclass reads batches (``add``). Training continues from the weights of a trained model:
    they are the prior w_0.

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
        self._follow_index()
        super().__init__(self.problem, solver, prior)

    # Overridden for other structures than label sequences

    def _new_problem(self, costs: Floats | None, legality: Floats | None) -> RowProblem:
        """A problem without examples."""
        return ChainProblem(len(self.model.labels), costs=costs, legality=legality)

    def _follow_index(self) -> None:
        """Tell the problem the templates of rows, for solvers that select among them."""
        problem: Any = self.problem
        problem.row_templates = self.index.row_templates

    # Shared

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
        rows, joint = self.index.number_of_rows, model.joint
        prior = np.zeros(self.problem.number_of_weights(rows))
        prior[: joint.size] = np.where(np.isfinite(joint), joint, 0).ravel()
        number = np.repeat(np.arange(rows), np.diff(model.weights.row_starts))
        of_rows = prior[joint.size :].reshape(rows, len(model.labels))
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
        self._follow_index()
        self.run.grow(self.index.number_of_rows)
        ends = doc_ends + added.start
        return [range(a, b) for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]

    def _write(self) -> None:
        self.model.set_weights(*self._compact())

    def _compact(self) -> tuple[Table, Floats, CompactWeights, Ints, TrainingSummary]:
        """The weights in compact form, in float32, rows sorted by template."""
        K, rows = self.problem.K, self.index.number_of_rows
        w = self.run.w[: self.problem.number_of_weights(rows)]
        first, shape = self.problem.number_of_weights(0), self.model.joint.shape
        joint = w[:first].reshape(shape).astype(np.float32).astype(np.float64)
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
            joint + self._legality,
            CompactWeights(row_starts, labels, weights),
            np.searchsorted(templates, np.arange(T + 1)).astype(np.int64),
            summarize_run(self.run, self.epochs),
        )


class ChainTrainer(LinearTrainer):
    """A run of a solver on Docs that arrive in batches; see ``LinearTrainer``.

    The first batch that has values of all real-valued attributes determines their scales.
    """

    model: ChainModel
    problem: ChainProblem

    def __init__(self, model: ChainModel, solver: Solver, **settings: Any) -> None:
        super().__init__(model, solver, **settings)
        self._scales = NO_SCALES
        if model.summary is not None:
            self._set_scales(model.scales)

    def add(self, batch: LabelledTokens) -> list[range]:
        """Make examples of the chains of Docs; return the numbers of each Doc's examples."""
        tokens, labels, chains = batch
        reals = self._real_values(tokens)
        shape = len(tokens.attributes), len(self.model.compiled.seeds)
        keys = np.empty(shape, dtype=np.uint64)
        extract_keys(self.model.compiled, tokens.attributes, tokens.sentence_starts, keys)
        self.index.insert(keys)
        ends = tokens.sentence_starts, tokens.doc_sentences
        if chains is not None:
            ends = chains.starts, chains.doc_chains
            keys, reals = keys[chains.words], reals[chains.words]
            labels = ByWord(labels[chains.words])
        starts = np.empty(len(keys) + 1, dtype=np.int64)
        rows = np.empty(keys.size, dtype=np.int32)
        size = find_rows(self.index.table, keys, starts, rows)
        chain_starts, doc_chains = ends
        return self._append((starts, rows[:size]), chain_starts, labels, doc_chains, reals)

    def _real_values(self, tokens: TokenTable) -> Weights:
        """The values of real-valued features: float32 [words, F]."""
        if tokens.reals and not self._scales and len(tokens.positions):
            try:
                self._set_scales(measure_scales(tokens.reals))
            except ValueError as error:
                message = f"{error}. Real values are not learned before a batch has all of them"
                warnings.warn(message, stacklevel=2)
        return self.model.real_values(tokens, self._scales)

    def _set_scales(self, scales: Scales) -> None:
        """Set the scales, and give rows to all real-valued features."""
        self._scales = scales
        keys, templates = self.model.real_keys(scales)
        times = self.index.min_count  # however rare: they are features of all words
        self.index.insert_sparse(np.tile(keys, times), np.tile(templates, times))
        rows = np.empty(len(keys), dtype=np.int64)
        found = find_sparse_rows(self.index.table, keys, templates, len(keys), rows)
        assert found == len(keys)
        self.problem.real_rows = rows.astype(np.int32)

    def _write(self) -> None:
        self.model.set_weights(*self._compact(), scales=self._scales)
