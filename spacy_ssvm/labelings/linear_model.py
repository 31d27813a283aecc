"""What models with a weight for each feature and label share: their weights, saved and loaded."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from spacy_ssvm import storage
from spacy_ssvm.features import reals
from spacy_ssvm.features.attributes import (
    ATTRIBUTES,
    AttributeReader,
    Reader,
    TokenTable,
    is_attribute,
)
from spacy_ssvm.features.extraction import compile_templates
from spacy_ssvm.features.reals import NO_REALS, NO_SCALES, RealKeys, Scales
from spacy_ssvm.features.resources import (
    NO_RESOURCES,
    Resources,
    arrays_of,
    check_resources,
    header_of,
)
from spacy_ssvm.features.templates import Template, parse_templates
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Floats, Ints, Keys, Rows, Weights
from spacy_ssvm.labelings.cached_sums import Features, row_of
from spacy_ssvm.labelings.saved_model import (
    MAX_LABELS,
    SavedModel,
    arrays_with,
    read_model,
)
from spacy_ssvm.solvers.summary import TrainingSummary
from spacy_ssvm.storage import checked_texts, require
from spacy_ssvm.weights.compact import (
    CompactWeights,
    add_rows,
    entries_of,
    no_weights,
    with_more_labels,
)
from spacy_ssvm.weights.key_table import KeyTable, find_row, key_table, saved_keys
from spacy_ssvm.weights.narrow import narrow


class TemplateShare(NamedTuple):
    """The weights of a template in a model."""

    template: str
    norm: float  #: of its weights
    rows: int  #: features with weights
    share: float  #: of the sum of all |w| of features, between 0 and 1


class LinearModel(storage.StoredModel):
    """Templates, labels and weights: of features with labels, and of labels together.

    A subclass says what has labels, tokens or units: it reads and compiles the templates. Labels
    score together by ``label_pairs``, the weights that come first in w, such as transitions.
    """

    max_labels = MAX_LABELS
    label_pairs_name: str  #: the saved array of ``label_pairs``
    reader: Reader  #: of the attributes that the templates name, set by ``_compile``

    # Implemented by subclasses

    def _parse(self, texts: Sequence[str]) -> tuple[Template, ...]:
        """The templates of a saved model. Raises TemplateError for those that cannot be read."""
        raise NotImplementedError

    def _compile(self) -> None:
        """Follow the templates and resources, which have been set."""
        raise NotImplementedError

    def _zero_label_pairs(self, labels: int, legality: Floats | None) -> Floats:
        """``label_pairs`` for a number of labels, without weights."""
        raise NotImplementedError

    def _extended_label_pairs(self, labels: int, legality: Floats | None) -> Floats:
        """``label_pairs`` with zero weights for new labels, up to a number of labels."""
        raise NotImplementedError

    def _read_label_pairs(self, arrays: storage.Arrays, labels: tuple[str, ...]) -> Floats:
        """``label_pairs`` from saved arrays. Raises ValueError where it is invalid."""
        raise NotImplementedError

    def _count_columns(self, labels: tuple[str, ...]) -> int:
        """The number of weights that a feature can have: one for each label."""
        return len(labels)

    # Shared

    @property
    def number_of_columns(self) -> int:
        """The number of weights that a feature of the model can have."""
        return self._count_columns(self.labels)

    def define(
        self,
        templates: Iterable[Template],
        labels: Iterable[str],
        resources: Resources = NO_RESOURCES,
        legality: Floats | None = None,
    ) -> None:
        """Set templates, labels and resources, and reset the weights to zero.

        legality: see ``ChainProblem``.
        """
        self.templates = tuple(templates)
        self.labels = tuple(labels)
        self.resources = resources
        self._compile()
        self.set_weights(
            key_table(np.empty(0, dtype=np.uint64)),
            self._zero_label_pairs(len(self.labels), legality),
            no_weights(),
            np.zeros(len(self.templates) + 1, dtype=np.int64),
            None,
        )

    def set_weights(
        self,
        table: KeyTable,
        label_pairs: Floats,
        weights: CompactWeights,
        template_rows: Ints,
        summary: TrainingSummary | None,
    ) -> None:
        """Set the weights.

        template_rows: int64 [T + 1], the first row of each template.
        """
        self.table = table
        self.label_pairs = label_pairs
        self.weights = weights
        self.template_rows = template_rows
        self.summary = summary

    def add_labels(self, labels: Sequence[str], legality: Floats | None = None) -> None:
        """Append labels with zero weights; the other labels keep theirs.

        legality: of all labels, see ``ChainProblem``.
        """
        before = self.number_of_columns
        self.label_pairs = self._extended_label_pairs(len(self.labels) + len(labels), legality)
        self.labels = (*self.labels, *labels)
        self.weights = with_more_labels(self.weights, before, self.number_of_columns)

    @property
    def beta(self) -> float | None:
        """The inverse temperature of p(y) ~ exp(beta score(y)); None without probabilities."""
        return None if self.summary is None else self.summary.beta

    @property
    def number_of_rows(self) -> int:
        """The number of rows with at least one weight."""
        return int(np.count_nonzero(np.diff(self.weights.row_starts)))

    def weights_of(self, row: int, labels: Iterable[int]) -> tuple[float, ...]:
        """The weights of the feature of a row, for some labels."""
        found = np.zeros(self.number_of_columns)
        add_rows(self.weights, np.array([row], dtype=np.int64), 1, found)
        return tuple(found[[*labels]].tolist())

    def templates_with(self, is_wanted: Callable[[str], bool]) -> list[str]:
        """The templates with an attribute for which ``is_wanted`` is true."""
        return [
            str(template)
            for template in self.templates
            if any(is_wanted(part.attribute) for part in template.parts)
        ]

    def template_shares(self) -> tuple[TemplateShare, ...]:
        """The weights of each template, sorted by decreasing share; ties keep their order."""
        starts, _, w = entries_of(self.weights, self.number_of_columns)
        rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        if self.table.rows_per_template:
            templates = rows // self.table.rows_per_template
        else:
            templates = np.searchsorted(self.template_rows, rows, side="right") - 1
        T = len(self.templates)
        masses = np.bincount(templates, np.abs(w), minlength=T)
        norms = np.sqrt(np.bincount(templates, w**2, minlength=T))
        used = np.bincount(templates[np.flatnonzero(np.diff(rows, prepend=-1))], minlength=T)
        shares = masses / max(masses.sum(), np.finfo(float).tiny)
        return tuple(
            TemplateShare(str(self.templates[m]), float(norms[m]), int(used[m]), float(shares[m]))
            for m in np.argsort(-shares, kind="stable")
        )

    # Saving and loading

    @property
    def types(self) -> storage.Types:
        """The saved arrays with their types."""
        return arrays_with(self.label_pairs_name)

    def header(self) -> storage.Header:
        """The part of the saved model that is not an array."""
        return {
            "labels": list(self.labels),
            "templates": [str(template) for template in self.templates],
            "rows_per_template": self.table.rows_per_template,
            "summary": None if self.summary is None else self.summary._asdict(),
            **header_of(self.resources),
        }

    def arrays(self) -> storage.Arrays:
        """The saved arrays, by the names of ``types``."""
        return {
            "keys": saved_keys(self.table),
            "template_rows": self.template_rows,
            self.label_pairs_name: self.label_pairs.astype(np.float32),
            "row_sizes": narrow(np.diff(self.weights.row_starts)),
            "rows": self.weights.bytes,
            "scales": self.weights.scales,
            **arrays_of(self.resources),
        }

    def read(self, header: storage.Header, arrays: storage.Arrays) -> SavedModel:
        """Check a saved model, so that kernels can use it safely; see ``become``.

        Raises ValueError, which describes the flaw, or an error that ``storage.Build`` names.
        """
        templates = self._parse(checked_texts(header["templates"], "templates"))
        saved = read_model(header, arrays, templates, self._read_label_pairs, self._count_columns)
        if saved.labels:
            names = {part.attribute for template in templates for part in template.parts}
            check_resources(names, saved.resources)
        return saved

    def become(self, saved: SavedModel) -> None:
        """Replace this model by a saved one."""
        self.define(saved.templates, saved.labels, saved.resources)
        self.set_weights(
            saved.table, saved.label_pairs, saved.weights, saved.template_rows, saved.summary
        )


class RealWeights(NamedTuple):
    """The weights of real-valued features, see ``features/reals.py``."""

    templates: Rows  #: int32 [F]: the template of each feature
    weights: Floats  #: float64 [F, columns]


class WordModel(LinearModel):
    """A linear model whose features are those of words, some of which have real values.

    The templates of real values come last.
    whole_docs: whether a Doc is one sequence; its sentence boundaries are then ignored.
    """

    reader: AttributeReader
    whole_docs: bool

    def set_weights(self, *weights: Any, scales: Scales = NO_SCALES) -> None:
        """See ``LinearModel``.

        scales: those of real-valued attributes; none without weights of their features.
        """
        super().set_weights(*weights)
        self.scales = scales
        self._reals: RealWeights | None = None

    def add_labels(self, labels: Sequence[str], legality: Floats | None = None) -> None:
        super().add_labels(labels, legality)
        self._reals = None

    def _parse(self, texts: Sequence[str]) -> tuple[Template, ...]:
        return parse_templates(texts, is_attribute=is_attribute, attributes=ATTRIBUTES)

    def _compile(self) -> None:
        names = {part.attribute for t in self.templates for part in t.parts}
        self.reader = self.make_reader(names, self.resources)
        self.real_templates = tuple(t for t in self.templates if t.is_real)
        others = tuple(t for t in self.templates if not t.is_real)
        self.templates = others + self.real_templates
        self.compiled = compile_templates(others, self.reader.names)

    def make_reader(self, names: Iterable[str], resources: Resources) -> AttributeReader:
        """The reader of the attributes that the templates name."""
        return AttributeReader(names, resources, whole_docs=self.whole_docs)

    @property
    def _features(self) -> Features:
        return Features(self.compiled, self.table, self.weights)

    def row_of(self, tokens: TokenTable, sentence: int, t: int, template: int) -> int:
        """The row of the feature that a template fires at token t of a sentence, -1 for none.

        Not of a real-valued template, which has many.
        """
        start, end = tokens.sentence_starts[sentence : sentence + 2].tolist()
        return row_of(self._features, tokens.attributes, start, end, start + t, template)

    def real_values(self, tokens: TokenTable, scales: Scales) -> Weights:
        """The values of real-valued features of these words: float32 [words, F].

        scales: of their attributes; none where there are no weights yet.
        Raises ValueError where an attribute has another width.
        """
        if not scales:
            return np.zeros((len(tokens.attributes), 0), dtype=np.float32)
        starts = tokens.sentence_starts
        return reals.real_features(self.real_templates, scales, tokens.reals, starts)

    def real_keys(self, scales: Scales) -> RealKeys:
        """The real-valued features, in the order of ``real_values``."""
        if not scales:
            return NO_REALS
        return reals.real_keys(self.real_templates, len(self.compiled.seeds), scales)

    @property
    def real_weights(self) -> RealWeights:
        """The weights of real-valued features, computed once."""
        if self._reals is None:
            keys, templates = self.real_keys(self.scales)
            found = np.zeros((len(keys), self.number_of_columns))
            _fill_real_weights(self.table, keys, templates, self.weights, found)
            self._reals = RealWeights(templates, found)
        return self._reals

    def real_part(
        self, tokens: TokenTable, sentence: int, t: int, template: int
    ) -> tuple[Floats, Floats]:
        """The values of a real-valued template at a word, and what they add to each score.

        Returns float64 [width] and [columns].
        """
        templates, weights = self.real_weights
        if not self.scales:
            return np.zeros(0), np.zeros(self.number_of_columns)
        start, end = tokens.sentence_starts[sentence : sentence + 2].tolist()
        values = {name: of_words[start:end] for name, of_words in tokens.reals.items()}
        wanted, starts = [self.templates[template]], np.array([0, end - start])
        own = reals.real_features(wanted, self.scales, values, starts)[t].astype(np.float64)
        return own, own @ weights[templates == template]

    # Saving and loading

    def header(self) -> storage.Header:
        scales = {"scales": reals.header_of(self.scales)} if self.scales else {}
        return {**super().header(), **scales}

    def read(self, header: storage.Header, arrays: storage.Arrays) -> SavedModel:
        saved = super().read(header, arrays)
        scales = reals.read_scales(header.get("scales", {}))
        of_reals = [template for template in saved.templates if template.is_real]
        others = len(saved.templates) - len(of_reals)
        in_order = saved.templates[others:] == tuple(of_reals)
        require(in_order, "real-valued templates do not come last")
        names = {template.parts[0].attribute for template in of_reals}
        starts = saved.weights.row_starts
        has_weights = starts[saved.template_rows[-1]] > starts[saved.template_rows[others]]
        require(
            scales.keys() == names or (not scales and not has_weights),
            "the scales are not those of the real-valued templates",
        )
        return saved._replace(scales=scales)

    def become(self, saved: SavedModel) -> None:
        super().become(saved)
        self.scales = saved.scales


@kernel
def _fill_real_weights(
    table: KeyTable, keys: Keys, templates: Rows, weights: CompactWeights, found: Floats
) -> None:
    """Write the weights of keys of some templates: float64 [F, columns]; 0 for no row."""
    rows = np.empty(1, dtype=np.int64)
    for d in range(len(keys)):
        rows[0] = find_row(table, keys[d], templates[d])
        add_rows(weights, rows, int(rows[0] >= 0), found[d])
