"""``ssvm_sentence_labeler``: labels of sentences, lines, paragraphs or spans."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from spacy.attrs import IS_SPACE, SENT_START
from spacy.scorer import Scorer
from spacy.tokens import Doc, Span, SpanGroup
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_ssvm.components.doc_arrays import (
    IS_INSIDE,
    IS_START,
    align_marks,
    columns_of,
    reference_columns,
    write_columns,
)
from spacy_ssvm.components.example_cache import GoldDoc
from spacy_ssvm.components.linear import LinearPipe
from spacy_ssvm.components.page import Decision, ExplainablePipe
from spacy_ssvm.components.settings import (
    check_rows,
    check_selection,
    check_solver,
    config_error,
    read_templates,
    require_beta,
)
from spacy_ssvm.explanation import Explanation
from spacy_ssvm.files import shorten
from spacy_ssvm.kernels.types import Floats, Ints
from spacy_ssvm.selection import Selection, Selector
from spacy_ssvm.sentences.explanation import explain_unit
from spacy_ssvm.sentences.model import CutSentenceModel, SentenceModel
from spacy_ssvm.sentences.selection import sentence_selector
from spacy_ssvm.sentences.templates import parse_sentence_templates
from spacy_ssvm.sentences.training import (
    LabelledUnits,
    SentenceTrainer,
    empty_problem,
    read_labelled,
    trainer_class,
)
from spacy_ssvm.sentences.unit_edges import parse_unit_edges
from spacy_ssvm.sentences.units import (
    SENTENCES,
    SPANS,
    UNITS,
    MissingUnitsError,
    UnitBatch,
    Units,
    find_units,
    has_units,
)
from spacy_ssvm.solvers.run import Solver

#: The extension attribute of sentences, and of other units, that holds their label.
LABEL = "label"
if not Span.has_extension(LABEL):
    Span.set_extension(LABEL, default=None)


#: How the labels of a Doc are found: as a sequence, or as those of a graph.
CHAIN, CUT = "chain", "cut"
DECODERS = (CHAIN, CUT)

_CUT_SOLVERS = (
    'With decoder = "cut", use spacy_ssvm.DualCoordinateDescent.v1, Perceptron.v1, '
    "StochasticGradient.v1 or Mira.v1"
)
_NO_SELECTION = (
    'templates cannot be selected with decoder = "cut": select them with decoder = "chain", and '
    "list those that it keeps"
)


class LabelledSpan(NamedTuple):
    """What to write for a unit, or a span that the Doc has already."""

    start: int
    end: int
    label: str
    score: float  #: in [0, 1]


class SentenceLabeler(LinearPipe[SentenceModel, LabelledUnits], ExplainablePipe[str]):
    """Writes ``doc.spans[spans_key]``, a span for each unit, with the label of the unit.

    The labels of a Doc are found together. The confidence of each is in the attribute ``scores``
    of the span group: the probability of the label, where the model has probabilities (see
    ``marginals``), else 1 - exp(-margin): comparable within a model, not calibrated. Spans that
    the Doc has already under this key are kept, unless ``overwrite`` is set, and the best labels
    with them are found; their score is 1. ``sentence._.label`` is the label of a sentence.

    For the arguments, see ``LinearPipe``.

    >>> import spacy
    >>> from spacy.training import Example
    >>> nlp = spacy.blank("en")
    >>> sentencizer = nlp.add_pipe("sentencizer")
    >>> component = nlp.add_pipe("ssvm_sentence_labeler")
    >>> doc = sentencizer(nlp.make_doc("We ask why. We found it."))
    >>> spans = {"sentence_labels": [(0, 11, "AIM"), (12, 24, "RESULT")]}
    >>> examples = [Example.from_dict(doc, {"spans": spans})]
    >>> nlp.initialize(lambda: examples)  # doctest: +ELLIPSIS
    <...>
    >>> for epoch in range(10):
    ...     losses = nlp.update(examples)
    >>> doc = nlp("We ask why. We found it.")
    >>> [span.label_ for span in doc.spans["sentence_labels"]]
    ['AIM', 'RESULT']
    """

    kind = "ssvm_sentence_labeler"
    _has_warned = False

    @property
    def spans_key(self) -> str:
        """The key of ``doc.spans`` to learn from and to write."""
        return str(self.cfg["spans_key"])

    @property
    def needs_sentences(self) -> bool:  # type: ignore[override]
        """See ``Pipe``: whether the units are sentences."""
        return self.model.units.kind == SENTENCES

    # Labels

    @property
    def is_resizable(self) -> bool:
        """Labels can be added to a trained component."""
        return True

    def annotation(self) -> str:
        return f"doc.spans['{self.spans_key}']"

    def collect_labels(self, examples: Iterable[Example]) -> list[str]:
        """The labels of the reference spans, sorted."""
        found = set()
        for example in examples:
            for span in example.reference.spans.get(self.spans_key, []):
                found.add(span.label_)
        return sorted(found - {""})

    def check_settings(self) -> None:
        """Raise ConfigValidationError for costs or a solver that do not fit the labels."""
        super().check_settings()
        _check_solver(self.name, self.solver, self.model, len(self.labels))

    # Gold labels

    def gold_labels(self, examples: Sequence[Example]) -> list[Ints]:
        """The labels of the units of the predicted Docs: int64 [units] each, -1 for none.

        Raises ValueError for a label that is not known, and for a unit with two of them.
        """
        gold, lost = [], 0
        for example in examples:
            spans = _labelled_spans(example, self.spans_key)
            labels, others = self._labels_of(example.predicted, spans, self.labels)
            if np.any(labels == len(self.labels)):
                raise self._unknown_label(example, spans)
            gold.append(labels)
            lost += len(others)
        if lost and not self._has_warned:
            self._has_warned = True
            warnings.warn(
                f"{self.name}: {lost} gold spans of this batch are not units of the predicted "
                "Docs, which may have other boundaries or tokens. They are ignored, here and from "
                "now on, and units without a gold span count as not annotated",
                stacklevel=2,
            )
        return gold

    def _unknown_label(self, example: Example, spans: Sequence[LabelledSpan]) -> ValueError:
        span = next(span for span in spans if span.label not in self.labels)
        text = example.predicted[span.start : span.end].text
        return self.unknown_label_error(span.label, f" of '{shorten(text)}'")

    def _labels_of(
        self, doc: Doc, spans: Sequence[LabelledSpan], names: Sequence[str]
    ) -> tuple[Ints, list[LabelledSpan]]:
        """The labels that spans give to the units of a Doc that have words, and the other spans.

        int64 [units], places in names, -1 for none, and the number of names for one that is not
        among them. Whitespace at the ends of spans and of units does not count.
        """
        words = np.flatnonzero(columns_of(doc, [IS_SPACE])[:, 0] == 0)
        ranges = np.searchsorted(words, find_units(doc, self.model.units))
        ranges = ranges[ranges[:, 0] < ranges[:, 1]]
        units = {(start, end): number for number, (start, end) in enumerate(ranges.tolist())}
        numbers = {label: k for k, label in enumerate(names)}
        labels = np.full(len(units), -1, dtype=np.int64)
        others: list[LabelledSpan] = []
        for span in spans:
            start, end = np.searchsorted(words, [span.start, span.end]).tolist()
            unit = units.get((start, end))
            if unit is None:
                others.append(span)
                continue
            label = numbers.get(span.label, len(numbers))
            if labels[unit] not in (-1, label):
                raise ValueError(
                    f"{self.name}: '{shorten(doc[span.start : span.end].text)}' has two labels in "
                    f"doc.spans['{self.spans_key}']"
                )
            labels[unit] = label
        return labels, others

    def _read(self, docs: Sequence[Doc]) -> UnitBatch:
        """The units of Docs. Raises ValueError, with advice, where a Doc has none."""
        try:
            return self.model.reader.read(docs)
        except MissingUnitsError as error:
            raise ValueError(f"{self.name}: {error}. {self._advice()}") from error

    def _advice(self) -> str:
        if self.model.units.kind == SPANS:
            return f"Put the component that writes doc.spans['{self.model.units.key}'] before it"
        return (
            "Put a component that finds sentences before it, such as 'ssvm_senter' or "
            "'sentencizer', or label lines or paragraphs instead (units)"
        )

    # Training

    def featurize(self, examples: Sequence[Example]) -> tuple[Any, Ints]:
        """See ``Pipe``. The units are those of the references where predicted Docs have none."""
        return super().featurize(list(map(self._with_units, examples)))

    def gold_docs(self, examples: Iterable[Example]) -> list[GoldDoc]:
        """See ``Pipe``, and ``featurize``."""
        return super().gold_docs(map(self._with_units, examples))

    def _with_units(self, example: Example) -> Example:
        """The example, with the units of the reference where the predicted Doc has none."""
        units, predicted, reference = self.model.units, example.predicted, example.reference
        if not len(predicted) or has_units(predicted, units):
            return example
        if not has_units(reference, units):
            missing = "sentence boundaries"
            if units.kind == SPANS:
                missing = f"doc.spans['{units.key}']"
            raise ValueError(
                f"{self.name}: neither the predicted Doc nor the reference of "
                f"'{shorten(reference.text)}' has {missing}. {self._advice()}"
            )
        copy = predicted.copy()
        if units.kind == SPANS:
            spans = example.get_aligned_spans_y2x(reference.spans[units.key], allow_overlap=False)
            copy.spans[units.key] = [Span(copy, span.start, span.end) for span in spans]
        else:
            marks = columns_of(reference, [SENT_START])[:, 0].astype(np.int64)
            marks[marks != IS_START] = IS_INSIDE
            write_columns(copy, [SENT_START], align_marks(example, marks).astype(np.uint64))
        return Example(copy, reference)

    def read_batch(self, docs: Sequence[GoldDoc]) -> LabelledUnits:
        """The units of Docs with their gold labels."""
        return read_labelled(self.model, *map(list, zip(*docs, strict=True)))

    def make_trainer(self, solver: Solver) -> SentenceTrainer:
        """A trainer of the labels of units, without examples."""
        return trainer_class(self.model)(
            self.model,
            solver,
            min_count=self.min_count,
            rows_per_template=self.rows_per_template,
            costs=self.label_costs(),
        )

    def selector(self, examples: Sequence[Example]) -> Selector:
        if isinstance(self.model, CutSentenceModel):
            raise ValueError(f"{self.name}: {_NO_SELECTION}")
        batch = self.read_batch(self.gold_docs(examples))
        return sentence_selector(self.model, batch, costs=self.label_costs())

    # Annotation

    def predict(self, docs: Iterable[Doc]) -> list[list[LabelledSpan]]:
        """What to write to each Doc.

        Raises ValueError for a Doc that is not divided into units.
        """
        docs = list(docs)
        if not any(len(doc) for doc in docs):
            return [[] for _ in docs]
        self._require_labels()
        self._sync()
        batch = self._read(docs)
        fixed, present = self._present(docs, batch, self.cfg["overwrite"])
        emissions = self.model.emissions(batch.table, fixed)
        y = self.model.label(batch.table, emissions)
        scores = self._confidence(batch, emissions, y).tolist()
        bounds, labels = batch.bounds.tolist(), [self.labels[k] for k in y.tolist()]
        found = []
        for (first, last), kept in zip(
            pairwise(batch.table.doc_units.tolist()), present, strict=True
        ):
            taken = {(start, end) for start, end, *_ in kept}
            new = [
                LabelledSpan(bounds[u][0], bounds[u][1], labels[u], scores[u])
                for u in range(first, last)
                if tuple(bounds[u]) not in taken
            ]
            found.append(sorted([*kept, *new]))
        return found

    def _present(
        self, docs: Sequence[Doc], batch: UnitBatch, overwrite: bool
    ) -> tuple[Ints, list[list[LabelledSpan]]]:
        """The labels that the units of Docs have, and the labelled spans of each Doc.

        Returns int64 [units], -1 for a unit without a label that the model knows.
        """
        present = []
        fixed = np.full(len(batch.bounds), -1, dtype=np.int64)
        starts = batch.table.doc_units
        for d, doc in enumerate(docs):
            spans = [] if overwrite else _labelled(doc.spans.get(self.spans_key, []))
            present.append(spans)
            if spans:
                fixed[starts[d] : starts[d + 1]] = self._labels_of(doc, spans, self.labels)[0]
        fixed[fixed == len(self.labels)] = -1
        return fixed, present

    def _confidence(self, batch: UnitBatch, emissions: Floats, y: Ints) -> Floats:
        """The confidence in labels: float64 [units], in [0, 1]."""
        if self.model.beta is not None:
            found = self.model.probabilities(batch.table, emissions, self.model.beta)
            return np.asarray(np.minimum(found[np.arange(len(y)), y], 1.0))
        return np.asarray(-np.expm1(-self.model.margins(batch.table, emissions, y)))

    def set_annotations(self, docs: Iterable[Doc], predictions: Iterable[Any]) -> None:
        """Write what ``predict`` returned into the Docs."""
        key = self.spans_key
        for doc, found in zip(docs, predictions, strict=True):
            spans = [Span(doc, span.start, span.end, label=span.label) for span in found]
            scores = [span.score for span in found]
            doc.spans[key] = SpanGroup(doc, name=key, spans=spans, attrs={"scores": scores})
            for span in spans:
                span._.set(LABEL, span.label_)

    # Confidence and explanations

    def marginals(self, doc: Doc, *, overwrite: bool | None = None) -> Floats:
        """The probability of each label at each unit with words: float64 [units, K].

        overwrite: whether to ignore labels that the Doc already has, by default the component's
            own setting. Otherwise these labels are certain.
        Raises ValueError if the model was trained without probabilities.
        """
        self._require_labels()
        self._sync()
        if isinstance(self.model, CutSentenceModel):
            raise ValueError(
                f"{self.name}: labels that are decided by cuts have no probabilities. Use "
                'scores(doc), which are margins, or train with decoder = "chain"'
            )
        beta = require_beta(self.name, self.model)
        batch = self._read([doc])
        fixed, _ = self._present([doc], batch, self._overwrites(overwrite))
        return self.model.probabilities(batch.table, self.model.emissions(batch.table, fixed), beta)

    def scores(self, doc: Doc) -> Floats:
        """The confidence in the best label of each unit with words: float64 [units].

        Probabilities, where the model has any, else margins, in units of the model's scores:
        comparable within a model, not calibrated, infinite where there is only one label. Labels
        that the Doc already has are ignored.
        """
        return self._best_labels(doc)[2]

    def _best_labels(self, doc: Doc) -> tuple[UnitBatch, Ints, Floats]:
        """The units with words, the best label of each, and the confidence: see ``scores``."""
        self._require_labels()
        self._sync()
        batch = self._read([doc])
        emissions = self.model.emissions(batch.table)
        y = self.model.label(batch.table, emissions)
        if self.model.beta is not None:
            return batch, y, self._confidence(batch, emissions, y)
        return batch, y, self.model.margins(batch.table, emissions, y)

    @property
    def units(self) -> str:
        return self.model.units.kind

    def decisions(self, doc: Doc, reference: Doc | None = None) -> list[Decision[str]]:
        """The best label of each unit with words, beside the gold one.

        Labels that the Doc already has are ignored, as in ``scores`` and ``explain``.
        """
        batch, y, scores = self._best_labels(doc)
        gold: list[str | None] = [None] * len(y)
        if reference is not None:
            spans = _labelled_spans(Example(doc, reference), self.spans_key)
            names = [*dict.fromkeys([*self.labels, *(span.label for span in spans)])]
            numbers = self._labels_of(doc, spans, names)[0].tolist()
            gold = [names[k] if k >= 0 else None for k in numbers]
        return [
            Decision(start, end, self.labels[label], known, score)
            for (start, end), label, known, score in zip(
                batch.bounds.tolist(), y.tolist(), gold, scores.tolist(), strict=True
            )
        ]

    def explain_against(
        self, doc: Doc, decision: Decision[str], against: str | None, *, top: int | None
    ) -> Explanation:
        unit = doc[decision.start : decision.end]
        return self.explain(doc, unit, top=top, against=against)

    def explain(
        self, doc: Doc, unit: int | Span, *, top: int | None = None, against: str | None = None
    ) -> Explanation:
        """Explain why a unit gets its label and not another one.

        unit: the unit, such as a sentence, or its number among the units with words; negative
            numbers count from the end.
        top: the number of features to show, the others summed in one row; None for all.
        against: the other label, such as the gold one; None for the runner-up.
        Raises IndexError or ValueError for what is not a unit of the Doc, and ValueError where
        only one label is possible, and where the unit has the other label, or cannot have it.
        """
        self._require_labels()
        self._sync()
        batch = self._read([doc])
        number = self._unit_number(batch, doc, unit)
        return explain_unit(self.model, doc, number, top=top, against=against)

    def _unit_number(self, batch: UnitBatch, doc: Doc, unit: int | Span) -> int:
        number = len(batch.bounds)
        if isinstance(unit, Span):
            if unit.doc is not doc:
                raise ValueError(f"the span '{shorten(unit.text)}' belongs to another Doc")
            words = np.searchsorted(batch.tokens.positions, [unit.start, unit.end]).tolist()
            for u, bounds in enumerate(zip(batch.table.starts, batch.table.ends, strict=True)):
                if list(bounds) == words:
                    return u
            raise ValueError(f"the span '{shorten(unit.text)}' is not a unit with words of the Doc")
        if not -number <= unit < number:
            raise IndexError(f"there is no unit {unit}: the Doc has {number} units with words")
        return unit % number


def _labelled(spans: Iterable[Span]) -> list[LabelledSpan]:
    """Spans that have a label, in text order."""
    return sorted(LabelledSpan(s.start, s.end, s.label_, 1.0) for s in spans if s.label_)


def _labelled_spans(example: Example, key: str) -> list[LabelledSpan]:
    """The labelled spans of the reference, at the tokens of the predicted Doc.

    Those that do not align with its tokens are left out.
    """
    spans = list(example.reference.spans.get(key, []))
    if spans and reference_columns(example, []) is None:
        spans = example.get_aligned_spans_y2x(spans, allow_overlap=True)
    return _labelled(spans)


def sentence_labels_score(
    examples: Iterable[Example],
    *,
    spans_key: str,
    **kwargs: Any,  # noqa: ARG001
) -> dict[str, Any]:
    """The scores of labels of units, by exact bounds and label.

    The keys, for spans_key = "sentence_labels": ``spans_sentence_labels_p``, ``_r``, ``_f`` and
    ``_per_type`` as of spaCy's span categorizer; ``sentence_labels_acc``, the share of gold units
    with the right label; ``sentence_labels_macro_f``, the mean F1 of the labels.
    """
    attribute = f"spans_{spans_key}"
    scores: dict[str, Any] = Scorer.score_spans(
        examples,
        attribute,
        getter=lambda doc, _: doc.spans.get(spans_key, []),
        has_annotation=lambda doc: spans_key in doc.spans,
        allow_overlap=True,
        labeled=True,
    )
    per_type = scores[f"{attribute}_per_type"] or {}
    macro = [label_scores["f"] for label_scores in per_type.values()]
    scores[f"{spans_key}_acc"] = scores[f"{attribute}_r"]
    scores[f"{spans_key}_macro_f"] = float(np.mean(macro)) if macro else None
    return scores


def make_sentence_labels_scorer() -> Callable[..., dict[str, Any]]:
    """Make the scorer ``spacy_ssvm.sentence_labels_scorer.v1``."""
    return sentence_labels_score


def build_sentence_labeler(
    vocab: Vocab,
    name: str,
    *,
    units: str | dict[str, str],
    decoder: str,
    edges: Sequence[str],
    templates: Sequence[str],
    min_count: int,
    hash_bits: int | None,
    solver: Solver,
    selection: Selection | None,
    **settings: Any,
) -> SentenceLabeler:
    """A labeler with the settings of its factory.

    Raises ConfigValidationError where one is invalid.
    """
    check_rows(name, min_count, hash_bits)
    if decoder not in DECODERS:
        names = " or ".join(f'"{known}"' for known in DECODERS)
        raise config_error(name, "decoder", f"{decoder!r}: choose {names}")
    found = read_templates(name, templates, parse_sentence_templates)
    unit_edges = read_templates(name, edges, parse_unit_edges, key="edges")
    model = SentenceModel(found, _read_units(name, units))
    if decoder == CUT:
        model = CutSentenceModel(found, model.units, unit_edges)
        if selection is not None:
            raise config_error(name, "selection", _NO_SELECTION)
    check_solver(name, "solver", solver)
    _check_solver(name, solver, model, 2)
    check_selection(name, selection, len(model.templates))
    return SentenceLabeler(
        vocab,
        model,
        name,
        solver=solver,
        min_count=min_count,
        hash_bits=hash_bits,
        selection=selection,
        **settings,
    )


def _check_solver(name: str, solver: Solver, model: SentenceModel, labels: int) -> None:
    """Raise ConfigValidationError where the solver cannot train a model of so many labels."""
    if not isinstance(model, CutSentenceModel):
        return
    try:
        solver.start(empty_problem(model, labels))
    except ValueError as error:
        raise config_error(name, "solver", f"{error}. {_CUT_SOLVERS}") from error


def _read_units(name: str, units: str | dict[str, str]) -> Units:
    """The units that a config names."""
    if isinstance(units, dict) and list(units) == [SPANS]:
        return Units(SPANS, units[SPANS])
    if isinstance(units, str) and units in UNITS and units != SPANS:
        return Units(units)
    names = ", ".join(f'"{kind}"' for kind in UNITS if kind != SPANS)
    raise config_error(
        name, "units", f'{units!r}: choose {names}, or {{"spans": KEY}} for the spans of a key'
    )
