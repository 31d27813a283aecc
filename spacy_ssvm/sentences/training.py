"""Trains models of the labels of units: see ``chains/training.py``."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from spacy_ssvm.chains.problem import ChainProblem
from spacy_ssvm.features.attributes import Doc
from spacy_ssvm.kernels.types import Floats, Ints, Keys
from spacy_ssvm.labelings.training import LinearTrainer
from spacy_ssvm.sentences.cuts.problem import CutProblem
from spacy_ssvm.sentences.model import CutSentenceModel, SentenceModel
from spacy_ssvm.sentences.unit_keys import extract_unit_keys
from spacy_ssvm.sentences.units import UnitBatch, UnitTable
from spacy_ssvm.weights.feature_index import find_unit_rows


class LabelledUnits(NamedTuple):
    """The units of a batch of Docs with their gold labels."""

    batch: UnitBatch
    labels: Ints  #: int64 [units]: -1 for none


def read_labelled(
    model: SentenceModel,
    docs: Sequence[Doc],
    gold: Sequence[Ints],
    inputs: Sequence[Keys] | None = None,
) -> LabelledUnits:
    """The units of Docs with their gold labels.

    gold: int64 [units] for each Doc, a label, or -1 for none.
    inputs: see ``UnitReader.read``.
    """
    return LabelledUnits(model.reader.read(docs, inputs), np.concatenate(gold))


class SentenceTrainer(LinearTrainer):
    """A run of a solver on Docs that arrive in batches; see ``LinearTrainer``.

    The units of a Doc are one example, also where it has none.
    """

    model: SentenceModel
    problem: ChainProblem | CutProblem

    def add(self, batch: LabelledUnits) -> list[range]:
        """Make an example of each Doc that has units; return the numbers of each Doc's examples."""
        table = batch.batch.table
        found = extract_unit_keys(self.model.compiled, table)
        self.index.insert_sparse(found.keys, found.templates)
        starts = np.empty_like(found.starts)
        rows = np.empty(len(found.keys), dtype=np.int32)
        size = find_unit_rows(self.index.table, *found, starts, rows)
        sequences, owners = np.unique(table.doc_units, return_inverse=True)
        doc_ends = owners.astype(np.int64)
        gold = np.where(batch.labels < 0, self.problem.any_label, batch.labels)
        features = starts, rows[:size]
        return self._append(doc_ends, *features, sequences, gold, *self._structure(table))

    def _new_problem(
        self, costs: Floats | None, legality: Floats | None
    ) -> ChainProblem | CutProblem:
        return ChainProblem(len(self.model.labels), costs=costs, legality=legality)

    def _structure(self, table: UnitTable) -> tuple[Any, ...]:  # noqa: ARG002
        """What examples have beside features and gold labels."""
        return ()


def empty_problem(model: CutSentenceModel, labels: int, costs: Floats | None = None) -> CutProblem:
    """A problem for such a model with so many labels, without examples."""
    return CutProblem(labels, len(model.edges), costs=costs)


class CutSentenceTrainer(SentenceTrainer):
    """The same for units that are a graph."""

    model: CutSentenceModel

    def _new_problem(self, costs: Floats | None, legality: Floats | None) -> CutProblem:  # noqa: ARG002
        return empty_problem(self.model, len(self.model.labels), costs)

    def _structure(self, table: UnitTable) -> tuple[Any, ...]:
        starts, edges, features = self.model.find_edges(table)
        has_units = np.diff(table.doc_units) > 0
        return np.append(starts[:-1][has_units], starts[-1:]), edges, features


def trainer_class(model: SentenceModel) -> type[SentenceTrainer]:
    """The class that trains such models."""
    return CutSentenceTrainer if isinstance(model, CutSentenceModel) else SentenceTrainer
