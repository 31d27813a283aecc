"""The model of the labels of units: templates, labels, feature index and weights.

docs -> units and their words -> feature keys -> rows -> emissions -> decoder -> labels

Each label has a score at each unit, from the unit's features (``emissions``). Beside that, the
units of a Doc are a chain, in which each pair of labels of adjacent units has a score, or a graph,
whose edges have a penalty where labels differ.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from spacy_ssvm import storage
from spacy_ssvm.chains.explanation import contrast_labels
from spacy_ssvm.chains.model import TransitionModel
from spacy_ssvm.explanation import Contrast
from spacy_ssvm.features.attributes import ATTRIBUTES, is_attribute
from spacy_ssvm.features.resources import NO_RESOURCES, Resources, check_resources
from spacy_ssvm.files import shorten
from spacy_ssvm.kernels.types import Floats, Ints
from spacy_ssvm.labelings.saved_model import SavedModel
from spacy_ssvm.sentences.cuts.explanation import contrast_labels as contrast_nodes
from spacy_ssvm.sentences.cuts.inference import Graphs, label_graphs
from spacy_ssvm.sentences.cuts.inference import measure_margins as measure_graph_margins
from spacy_ssvm.sentences.inference import (
    UnitScorer,
    label_sequences,
    measure_margins,
    measure_probabilities,
    score_units,
)
from spacy_ssvm.sentences.templates import (
    UNIT,
    SentenceTemplate,
    parse_sentence_templates,
)
from spacy_ssvm.sentences.unit_edges import EdgeTable, UnitEdge, edge_attributes, find_edges
from spacy_ssvm.sentences.unit_keys import compile_unit_templates
from spacy_ssvm.sentences.units import UnitReader, Units, UnitTable
from spacy_ssvm.storage import checked_texts, require


class SentenceModel(TransitionModel):
    """A linear model of the labels of the units of a Doc, which are a chain.

    templates: they define the features.
    units: which runs of tokens are units.
    labels: the names of the labels, in the order of the columns of all score tables.
    """

    kind = "sentence model"
    templates: tuple[SentenceTemplate, ...]
    reader: UnitReader

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
        names, unit_names = self._attributes()
        self.reader = UnitReader(self.units, names, unit_names, self.resources)
        self.compiled = compile_unit_templates(
            self.templates, self.reader.names, self.reader.unit_names
        )

    def _attributes(self) -> tuple[set[str], set[str]]:
        """The attributes of words, and of units, that are read."""
        parts = [part for template in self.templates for part in template.parts]
        names = {part.attribute for part in parts if part.kind != UNIT}
        return names, {part.attribute for part in parts if part.kind == UNIT}

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
        label_sequences(emissions, self.label_pairs, table.doc_units, y)
        return y

    def margins(self, table: UnitTable, emissions: Floats, y: Ints) -> Floats:
        """How much lower the best score is with another label than y at each unit.

        Returns float64 [units], infinite where a unit can have only one label.
        """
        margins = np.zeros(len(y))
        measure_margins(emissions, self.label_pairs, table.doc_units, y, margins)
        return margins

    def probabilities(self, table: UnitTable, emissions: Floats, beta: float) -> Floats:
        """P(y_u = k) under p(y) ~ exp(beta score(y)): float64 [units, K]."""
        found = np.zeros(emissions.shape)
        measure_probabilities(emissions, self.label_pairs, table.doc_units, beta, found)
        return found

    def contrast(
        self,
        table: UnitTable,  # noqa: ARG002
        emissions: Floats,
        unit: int,
        what: str,
        against: str | None,
    ) -> Contrast:
        """Contrast the label of a unit of one Doc with another one.

        what: the unit, for messages. against: the other label; None for the runner-up.
        Raises the errors of ``chains.explanation.contrast_labels``.
        """
        return contrast_labels(
            emissions, self.label_pairs, unit, self.labels, what, against=against
        )

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


class CutSentenceModel(SentenceModel):
    """A linear model of the labels of the units of a Doc, which are a graph.

    ``label_pairs`` holds the penalty of different labels for each edge feature: float64 [E], none
    negative. Labels are decided by a minimum cut, or by alpha-expansion: see ``cuts/decoder.py``.

    edges: the edge features. For the other arguments, see ``SentenceModel``.
    """

    kind = "sentence model with edges"
    label_pairs_name = "edge_weights"

    def __init__(
        self,
        templates: Sequence[SentenceTemplate],
        units: Units,
        edges: Sequence[UnitEdge],
        *,
        labels: Sequence[str] = (),
        resources: Resources = NO_RESOURCES,
    ) -> None:
        self.edges = tuple(edges)
        super().__init__(templates, units, labels=labels, resources=resources)

    def _zero_label_pairs(self, labels: int, legality: Floats | None) -> Floats:  # noqa: ARG002
        return np.zeros(len(self.edges))

    def _extended_label_pairs(self, labels: int, legality: Floats | None) -> Floats:  # noqa: ARG002
        return self.label_pairs

    def _read_label_pairs(
        self,
        arrays: storage.Arrays,
        labels: tuple[str, ...],  # noqa: ARG002
    ) -> Floats:
        label_pairs: Floats = arrays[self.label_pairs_name].astype(np.float64)
        require(
            label_pairs.shape == (len(self.edges),),
            "the weights of edges do not fit their features",
        )
        require(
            bool(np.all(np.isfinite(label_pairs) & (label_pairs >= 0))),
            "weights of edges are negative, or not finite",
        )
        return label_pairs

    def _attributes(self) -> tuple[set[str], set[str]]:
        names, unit_names = super()._attributes()
        words, units = edge_attributes(self.edges)
        return names | words, unit_names | units

    def templates_with(self, is_wanted: Callable[[str], bool]) -> list[str]:
        """See ``LinearModel``. Edges with such an attribute, too."""
        edges = [str(edge) for edge in self.edges if is_wanted(edge.attribute)]
        return super().templates_with(is_wanted) + edges

    def find_edges(self, table: UnitTable) -> EdgeTable:
        """The edges of the units of Docs."""
        return find_edges(self.edges, self.reader.names, self.reader.unit_names, table)

    def graphs(self, table: UnitTable) -> Graphs:
        """The units of Docs as graphs, with the penalties of edges."""
        starts, edges, features = self.find_edges(table)
        return Graphs(table.doc_units, starts, edges, features @ self.label_pairs)

    def label(self, table: UnitTable, emissions: Floats) -> Ints:
        """See ``SentenceModel``. The best labels for two labels, nearly the best for more."""
        y = np.empty(len(emissions), dtype=np.int64)
        label_graphs(emissions, self.graphs(table), y)
        return y

    def margins(self, table: UnitTable, emissions: Floats, y: Ints) -> Floats:
        """See ``SentenceModel``. Upper bounds for more than two labels, and in very long Docs.

        They are then those of a unit while the other units keep their labels: see
        ``cuts.inference.measure_margins``.
        """
        margins = np.zeros(len(y))
        measure_graph_margins(emissions, self.graphs(table), y, margins)
        return margins

    def contrast(
        self, table: UnitTable, emissions: Floats, unit: int, what: str, against: str | None
    ) -> Contrast:
        _, edges, features = self.find_edges(table)
        names = [str(edge) for edge in self.edges]
        graph = edges, features, self.label_pairs
        return contrast_nodes(emissions, *graph, unit, self.labels, names, what, against=against)

    # Saving and loading

    def header(self) -> storage.Header:
        """See ``SentenceModel``. Names the edge features too."""
        return super().header() | {"edges": [str(edge) for edge in self.edges]}

    def read(self, header: storage.Header, arrays: storage.Arrays) -> SavedModel:
        """See ``SentenceModel``. Raises ValueError for a model of other edges too."""
        edges = checked_texts(header["edges"], "edges")
        require(
            edges == tuple(map(str, self.edges)),
            f"its edges are others: {shorten(', '.join(edges)) or 'none'}",
        )
        saved = super().read(header, arrays)
        if saved.labels:
            check_resources(edge_attributes(self.edges)[0], saved.resources)
        return saved

    def __reduce__(self) -> tuple[Any, ...]:
        return _cuts_from_bytes, (self.units, self.edges, self.to_bytes())


def _from_bytes(units: Units, data: bytes) -> SentenceModel:
    return SentenceModel((), units).from_bytes(data)


def _cuts_from_bytes(units: Units, edges: Sequence[UnitEdge], data: bytes) -> CutSentenceModel:
    return CutSentenceModel((), units, edges).from_bytes(data)
