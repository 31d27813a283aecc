"""Selects among the templates of a model of units: see ``selection.py``."""

import numpy as np

from spacy_ssvm.chains.problem import ChainProblem
from spacy_ssvm.features.statistics import measure_rows
from spacy_ssvm.kernels.types import Floats, Rows
from spacy_ssvm.selection import Selector
from spacy_ssvm.sentences.model import SentenceModel
from spacy_ssvm.sentences.training import LabelledUnits
from spacy_ssvm.sentences.unit_keys import extract_unit_keys
from spacy_ssvm.weights.feature_index import FeatureIndex, find_unit_rows


class SelectionProblem(ChainProblem):
    """Chains of units all of whose features have rows, from the beginning; see ``LazyProblem``.

    row_templates: int32 [rows], of ``templates`` templates. One without rows gets a row that no
    feature has, so that all templates have a size.
    """

    def __init__(
        self, K: int, row_templates: Rows, templates: int, *, costs: Floats | None = None
    ) -> None:
        super().__init__(K, costs=costs)
        unused = np.setdiff1d(np.arange(templates), row_templates).astype(np.int32)
        self.row_templates = np.concatenate([row_templates, unused])

    def reset_weights(self) -> None:
        """Reset all weights."""
        self.store.w = np.zeros(0)

    def number_of_weights(self, rows: int) -> int:  # noqa: ARG002
        """The length of w. Ignores ``rows``: all have weights."""
        return super().number_of_weights(len(self.row_templates))

    @property
    def shrink_after(self) -> int:
        """See ``LazyProblem``: all examples."""
        return max(self.number_of_examples, 1)


def sentence_selector(
    model: SentenceModel, batch: LabelledUnits, *, costs: Floats | None = None
) -> Selector:
    """A selector among the templates of a model of units.

    batch, costs: as in ``SentenceTrainer``.
    """
    table, labels = batch.batch.table, batch.labels
    K, T = len(model.labels), len(model.templates)
    found = extract_unit_keys(model.compiled, table)
    index = FeatureIndex(T)
    index.insert_sparse(found.keys, found.templates)
    starts, rows = np.empty_like(found.starts), np.empty(len(found.keys), dtype=np.int32)
    find_unit_rows(index.table, *found, starts, rows)
    problem = SelectionProblem(K, index.row_templates, T, costs=costs)
    gold = np.where(labels < 0, problem.any_label, labels)
    problem.append(starts, rows, np.unique(table.doc_units), gold)
    statistics = measure_rows(starts, rows, labels, index.row_templates, T)
    return Selector(model.templates, problem, statistics)
