"""Selects among the templates of a model of units: see ``selection.py``."""

import numpy as np

from spacy_ssvm.chains.problem import ChainProblem
from spacy_ssvm.features.statistics import Statistics
from spacy_ssvm.kernels.types import Floats, Ints, Rows
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
    statistics = measure_sparse(starts, rows, labels, index.row_templates, T)
    return Selector(model.templates, problem, statistics)


def measure_sparse(starts: Ints, rows: Rows, labels: Ints, templates: Rows, T: int) -> Statistics:
    """The statistics of templates, as ``features.statistics`` defines them.

    starts: int64 [units + 1]; rows: int32 [features], those of a unit are distinct.
    labels: int64 [units], -1 for none. templates: int32 [rows], T of them.
    """
    K = int(labels.max(initial=0)) + 1
    priors = np.bincount(labels[labels >= 0], minlength=K)
    number = max(int(priors.sum()), 1)
    features = np.bincount(templates, minlength=T).astype(np.int64)
    label = np.repeat(labels, np.diff(starts))
    known = label >= 0
    cells, joint = np.unique(rows[known].astype(np.int64) * K + label[known], return_counts=True)
    row = cells // K
    totals = np.bincount(row, joint, minlength=len(templates))
    terms = joint * np.log2(joint * number / (totals[row] * priors[cells % K]))
    return Statistics(features, np.bincount(templates[row], terms, minlength=T) / number)
