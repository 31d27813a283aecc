"""The model of label sequences: templates, labels, feature index and weights.

docs -> token attributes -> feature keys -> rows -> emissions -> decoder -> labels
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from spacy_ssvm import storage
from spacy_ssvm._jit import Floats, Ints
from spacy_ssvm.chains.inference import (
    LabelConstraints,
    Scorer,
    WordConstraints,
    measure_margins,
    predict_sentences,
    score_sentence,
)
from spacy_ssvm.chains.saved_model import ARRAYS, MAX_LABELS, SavedModel, read_model
from spacy_ssvm.features.attributes import (
    ATTRIBUTES,
    AttributeReader,
    Doc,
    TokenTable,
    is_attribute,
)
from spacy_ssvm.features.coordinates import ByWord
from spacy_ssvm.features.extraction import compile_templates, fill_keys
from spacy_ssvm.features.resources import NO_RESOURCES, Resources, check_resources
from spacy_ssvm.features.templates import Template, parse_templates
from spacy_ssvm.solvers.summary import TrainingSummary
from spacy_ssvm.storage import checked_texts
from spacy_ssvm.weights.compact import CompactWeights
from spacy_ssvm.weights.feature_index import Table, find_token_rows
from spacy_ssvm.weights.hash_table import empty_slots

_KIND = "chain model"  # of models that are copied by themselves


class TemplateShare(NamedTuple):
    """The weights of a template in a model."""

    template: str
    norm: float  #: of its weights
    rows: int  #: features with weights
    share: float  #: of the sum of all |w| of features, between 0 and 1


class ChainModel:
    """A linear model of label sequences.

    templates: they define the features.
    labels: the names of the labels, in the order of the columns of all score tables.
    whole_docs: whether a Doc is one sequence; its sentence boundaries are then ignored.
    """

    max_labels = MAX_LABELS

    def __init__(
        self,
        templates: Sequence[Template],
        *,
        labels: Sequence[str] = (),
        resources: Resources = NO_RESOURCES,
        legality: Floats | None = None,
        whole_docs: bool = False,
    ) -> None:
        self.whole_docs = whole_docs
        self.define(templates, labels, resources, legality)

    def define(
        self,
        templates: Iterable[Template],
        labels: Iterable[str],
        resources: Resources = NO_RESOURCES,
        legality: Floats | None = None,
    ) -> None:
        """Set templates, labels and resources, and reset the weights to zero.

        legality: see ``Problem``.
        """
        self.templates = tuple(templates)
        self.labels = tuple(labels)
        self.resources = resources
        names = {part.attribute for t in self.templates for part in t.parts}
        self.reader = self.make_reader(names, resources)
        self.compiled = compile_templates(self.templates, self.reader.names)
        K = len(self.labels)
        self.set_weights(
            Table(empty_slots(0), 0),
            CompactWeights(
                np.zeros((K + 2, K)) if legality is None else legality,
                np.zeros(1, dtype=np.int64),
                np.zeros(0, dtype=np.uint16),
                np.zeros(0, dtype=np.float32),
            ),
            np.zeros(len(self.templates) + 1, dtype=np.int64),
            None,
        )

    def make_reader(self, names: Iterable[str], resources: Resources) -> AttributeReader:
        """The reader of the attributes that the templates name."""
        return AttributeReader(names, resources, whole_docs=self.whole_docs)

    def set_weights(
        self,
        table: Table,
        weights: CompactWeights,
        template_rows: Ints,
        summary: TrainingSummary | None,
    ) -> None:
        """Set the weights.

        template_rows: int64 [T + 1], the first row of each template.
        """
        self.table = table
        self.weights = weights
        self.template_rows = template_rows
        self.summary = summary

    def add_labels(self, labels: Sequence[str], legality: Floats | None = None) -> None:
        """Append labels with zero weights; the other labels keep theirs.

        legality: of all labels, see ``Problem``.
        """
        before, K = len(self.labels), len(self.labels) + len(labels)
        transitions = np.zeros((K + 2, K)) if legality is None else legality.copy()
        transitions[[*range(before), K, K + 1], :before] = self.weights.transitions
        self.labels = (*self.labels, *labels)
        self.weights = self.weights._replace(transitions=transitions)

    @property
    def scorer(self) -> Scorer:
        """The templates, table and weights, for kernels that score labels."""
        return Scorer(self.compiled, self.table, self.weights)

    @property
    def beta(self) -> float | None:
        """The inverse temperature of p(y) ~ exp(beta score(y)); None without probabilities."""
        return None if self.summary is None else self.summary.beta

    @property
    def number_of_rows(self) -> int:
        """The number of rows with at least one weight."""
        return int(np.count_nonzero(np.diff(self.weights.row_starts)))

    def templates_with(self, is_wanted: Callable[[str], bool]) -> list[str]:
        """The templates with an attribute for which ``is_wanted`` is true."""
        return [
            str(template)
            for template in self.templates
            if any(is_wanted(part.attribute) for part in template.parts)
        ]

    def template_shares(self) -> tuple[TemplateShare, ...]:
        """The weights of each template, sorted by decreasing share; ties keep their order."""
        starts = self.weights.row_starts
        rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        if self.table.rows_per_template:
            templates = rows // self.table.rows_per_template
        else:
            templates = np.searchsorted(self.template_rows, rows, side="right") - 1
        T = len(self.templates)
        w = self.weights.weights.astype(np.float64)
        masses = np.bincount(templates, np.abs(w), minlength=T)
        norms = np.sqrt(np.bincount(templates, w**2, minlength=T))
        used = np.bincount(templates[np.flatnonzero(np.diff(rows, prepend=-1))], minlength=T)
        shares = masses / max(masses.sum(), np.finfo(float).tiny)
        return tuple(
            TemplateShare(str(self.templates[m]), float(norms[m]), int(used[m]), float(shares[m]))
            for m in np.argsort(-shares, kind="stable")
        )

    def predict(
        self, docs: Sequence[Doc], label_constraints: LabelConstraints | None = None
    ) -> tuple[ByWord, TokenTable]:
        """The best labels of the words of the Docs, and the words.

        label_constraints: of the tokens of all Docs. The best sequence that satisfies them is
            found.
        Returns labels (int64 [words], whitespace is left out) and the words that have them.
        """
        tokens = self.reader.read(docs)
        return self.label(tokens, label_constraints), tokens

    def label(
        self, tokens: TokenTable, label_constraints: LabelConstraints | None = None
    ) -> ByWord:
        """The best labels of the words of a table, see ``predict``."""
        y = ByWord(np.empty(len(tokens.positions), dtype=np.int64))
        predict_sentences(
            self.scorer,
            tokens.attributes,
            tokens.sentence_starts,
            self.constrain_words(tokens, label_constraints),
            y,
        )
        return y

    def constrain_words(
        self, tokens: TokenTable, label_constraints: LabelConstraints | None
    ) -> WordConstraints:
        """The constraints on the words of a table, from those on all tokens; None for none."""
        if label_constraints is None:
            free = np.full(len(tokens.positions), -1, dtype=np.int64)
            return WordConstraints(ByWord(free), np.eye(len(self.labels), dtype=bool))
        fixed_labels = label_constraints.fixed_labels[tokens.positions]
        return WordConstraints(ByWord(fixed_labels), label_constraints.label_sets)

    def margins(
        self,
        tokens: TokenTable,
        y: ByWord,
        sentences: Ints,
        label_constraints: LabelConstraints | None = None,
    ) -> Floats:
        """The margin of y at each word: how much lower the best score is with another label there.

        sentences: int64, the numbers of the sentences to measure.
        label_constraints: as in ``predict``; other sequences are not considered.
        Returns float64 [words], 0 for the words of other sentences, infinite where a word can
        have only one label.
        """
        margins = np.zeros(len(y))
        measure_margins(
            self.scorer,
            tokens.attributes,
            tokens.sentence_starts,
            self.constrain_words(tokens, label_constraints),
            sentences,
            y,
            margins,
        )
        return margins

    def emissions(
        self,
        tokens: TokenTable,
        sentence: int,
        label_constraints: LabelConstraints | None = None,
    ) -> Floats:
        """The emission table of one sentence: float64 [n, K], -inf for excluded labels.

        label_constraints: as in ``predict``.
        """
        start, end = tokens.sentence_starts[sentence : sentence + 2].tolist()
        constraints = self.constrain_words(tokens, label_constraints)
        emissions: Floats = score_sentence(self.scorer, tokens.attributes, constraints, start, end)
        return emissions

    def row_of(self, tokens: TokenTable, sentence: int, t: int, template: int) -> int:
        """The row of the feature that a template fires at token t of a sentence, -1 for none."""
        start, end = tokens.sentence_starts[sentence : sentence + 2]
        keys = np.empty(len(self.templates), dtype=np.uint64)
        fill_keys(self.compiled, tokens.attributes, int(start), int(end), int(start) + t, keys)
        keys[np.arange(len(keys)) != template] = 0
        rows = np.empty(len(keys), dtype=np.int64)
        return int(rows[0]) if find_token_rows(self.table, keys, rows) else -1

    # Saving and loading

    @property
    def types(self) -> storage.Types:
        """The saved arrays with their types."""
        return ARRAYS

    def to_bytes(self) -> bytes:
        """The model as bytes."""
        return storage.to_bytes(_KIND, {"model": self.header()}, self.arrays())

    def from_bytes(self, data: bytes) -> "ChainModel":
        """Load the result of ``to_bytes``. Raises ModelFileError for invalid data."""

        def build(parts: storage.Header, arrays: storage.Arrays) -> None:
            self.become(self.read(parts["model"], arrays))

        storage.from_bytes(data, _KIND, ("model",), self.types, build)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_bytes, (self.whole_docs, self.to_bytes())

    def header(self) -> storage.Header:
        """The part of the saved model that is not an array."""
        return {
            "labels": list(self.labels),
            "templates": [str(template) for template in self.templates],
            "rows_per_template": self.table.rows_per_template,
            "summary": None if self.summary is None else self.summary._asdict(),
            "has_clusters": self.resources.clusters is not None,
            "gazetteers": None
            if self.resources.gazetteers is None
            else {
                "types": list(self.resources.gazetteers.types),
                "attribute": self.resources.gazetteers.attribute,
            },
        }

    def arrays(self) -> storage.Arrays:
        """The saved arrays, by the names of ``ARRAYS``."""
        empty = np.zeros(0, dtype=np.uint64)
        clusters, gazetteers = self.resources
        return {
            "slots": self.table.slots,
            "template_rows": self.template_rows,
            "transitions": self.weights.transitions.astype(np.float32),
            "row_starts": self.weights.row_starts,
            "labels": self.weights.labels,
            "weights": self.weights.weights,
            "cluster_words": empty if clusters is None else clusters.words,
            "cluster_bits": empty if clusters is None else clusters.bits,
            "gazetteer_slots": empty if gazetteers is None else gazetteers.slots,
        }

    def read(self, header: storage.Header, arrays: storage.Arrays) -> SavedModel:
        """Check a saved model, so that kernels can use it safely; see ``become``.

        Raises ValueError, which describes the flaw, or an error that ``storage.Build`` names.
        """
        texts = checked_texts(header["templates"], "templates")
        templates = parse_templates(texts, is_attribute=is_attribute, attributes=ATTRIBUTES)
        saved = read_model(header, arrays, templates)
        if saved.labels:
            names = {part.attribute for template in templates for part in template.parts}
            check_resources(names, saved.resources)
        return saved

    def become(self, saved: SavedModel) -> None:
        """Replace this model by a saved one."""
        self.define(saved.templates, saved.labels, saved.resources)
        self.set_weights(saved.table, saved.weights, saved.template_rows, saved.summary)


def _from_bytes(whole_docs: bool, data: bytes) -> ChainModel:
    return ChainModel((), whole_docs=whole_docs).from_bytes(data)
