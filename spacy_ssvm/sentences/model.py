"""The model of the labels of units: templates, labels, feature index and weights.

docs -> units and their words -> feature keys -> rows -> emissions -> decoder -> labels

The units of a Doc are a chain. Each label has a score at each unit, from the unit's features
(``emissions``), and each pair of labels of adjacent units one of its own.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from spacy_ssvm import storage
from spacy_ssvm._jit import Floats, Ints
from spacy_ssvm.chains.linear_model import LinearModel
from spacy_ssvm.chains.saved_model import SavedModel
from spacy_ssvm.features.attributes import ATTRIBUTES, is_attribute
from spacy_ssvm.features.resources import NO_RESOURCES, Resources
from spacy_ssvm.features.sentence_templates import (
    UNIT,
    SentenceTemplate,
    parse_sentence_templates,
)
from spacy_ssvm.features.unit_keys import compile_unit_templates
from spacy_ssvm.features.units import UnitReader, Units, UnitTable
from spacy_ssvm.sentences.inference import (
    UnitScorer,
    label_sequences,
    measure_margins,
    measure_probabilities,
    score_units,
)
from spacy_ssvm.storage import require


class SentenceModel(LinearModel):
    """A linear model of the labels of the units of a Doc.

    templates: they define the features.
    units: which runs of tokens are units.
    labels: the names of the labels, in the order of the columns of all score tables.
    """

    templates: tuple[SentenceTemplate, ...]

    def __init__(
        self,
        templates: Sequence[SentenceTemplate],
        units: Units,
        *,
        labels: Sequence[str] = (),
        resources: Resources = NO_RESOURCES,
    ) -> None:
        self.units = units
        self.define(templates, labels, resources)

    def _parse(self, texts: Sequence[str]) -> tuple[SentenceTemplate, ...]:
        return parse_sentence_templates(texts, is_attribute=is_attribute, attributes=ATTRIBUTES)

    def _compile(self) -> None:
        parts = [part for template in self.templates for part in template.parts]
        names = {part.attribute for part in parts if part.kind != UNIT}
        unit_names = {part.attribute for part in parts if part.kind == UNIT}
        self.reader = UnitReader(self.units, names, unit_names, self.resources)
        self.compiled = compile_unit_templates(
            self.templates, self.reader.names, self.reader.unit_names
        )

    @property
    def scorer(self) -> UnitScorer:
        """The templates, table and weights, for kernels that score labels."""
        return UnitScorer(self.compiled, self.table, self.weights)

    def emissions(self, table: UnitTable, fixed: Ints | None = None) -> Floats:
        """The score of each label at each unit by itself: float64 [units, K].

        fixed: int64 [units], a label that the unit has in any case, the scores of the others are
            then minus infinity; -1 for none.
        """
        emissions = np.zeros((len(table.starts), len(self.labels)))
        score_units(self.scorer, table, emissions)
        if fixed is not None:
            other = (fixed[:, None] >= 0) & (np.arange(len(self.labels)) != fixed[:, None])
            emissions[other] = -np.inf
        return emissions

    def label(self, table: UnitTable, emissions: Floats) -> Ints:
        """The best label sequences of Docs, given their ``emissions``: int64 [units]."""
        y = np.empty(len(emissions), dtype=np.int64)
        label_sequences(emissions, self.weights.transitions, table.doc_units, y)
        return y

    def margins(self, table: UnitTable, emissions: Floats, y: Ints) -> Floats:
        """How much lower the best score is with another label than y at each unit.

        Returns float64 [units], infinite where a unit can have only one label.
        """
        margins = np.zeros(len(y))
        measure_margins(emissions, self.weights.transitions, table.doc_units, y, margins)
        return margins

    def probabilities(self, table: UnitTable, emissions: Floats, beta: float) -> Floats:
        """P(y_u = k) under p(y) ~ exp(beta score(y)): float64 [units, K]."""
        found = np.zeros(emissions.shape)
        measure_probabilities(emissions, self.weights.transitions, table.doc_units, beta, found)
        return found

    # Saving and loading

    def header(self) -> storage.Header:
        """See ``LinearModel``. Names the units too."""
        return super().header() | {"units": list(self.units)}

    def read(self, header: storage.Header, arrays: storage.Arrays) -> SavedModel:
        """See ``LinearModel``. Raises ValueError for a model of other units too."""
        require(
            header["units"] == list(self.units),
            f"it labels other units than {' '.join(self.units).strip()}",
        )
        return super().read(header, arrays)

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_bytes, (self.units, self.to_bytes())


def _from_bytes(units: Units, data: bytes) -> SentenceModel:
    return SentenceModel((), units).from_bytes(data)
