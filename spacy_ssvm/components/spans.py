"""The base of components for spans: spans as legal label sequences, and their scores."""

import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar, overload

import numpy as np
from spacy.attrs import IS_SPACE, SENT_START
from spacy.language import Language
from spacy.tokens import Doc, Span, Token
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_ssvm.chains.calibration import SpanTrainer, least, probabilities
from spacy_ssvm.chains.inference import LabelConstraints
from spacy_ssvm.chains.probabilities import span_probabilities
from spacy_ssvm.chains.schemes import (
    BEGIN,
    INSIDE,
    MISSING,
    OUT,
    SCHEMES,
    Scheme,
    SpanTable,
    Tokens,
    spans_of,
)
from spacy_ssvm.components.costs import WILDCARD
from spacy_ssvm.components.doc_arrays import UNKNOWN, columns_of, label_numbers, token_index
from spacy_ssvm.components.page import Decision
from spacy_ssvm.components.sequence import SequencePipe
from spacy_ssvm.components.settings import build_chain_pipe, config_error, initialize_error
from spacy_ssvm.explanation import Explanation, Explanations
from spacy_ssvm.features.attributes import ByWord, TokenTable, sentence_firsts
from spacy_ssvm.features.resources import Resources
from spacy_ssvm.features.text_hash import string_ids
from spacy_ssvm.kernels.types import Floats, Ints, Keys
from spacy_ssvm.labelings.saved_model import SavedModel
from spacy_ssvm.solvers.run import Solver

#: What is said where there is no span.
NO_SPAN = "none"


class GoldSpans(NamedTuple):
    """The spans of a reference, at the tokens of the predicted Doc."""

    iob: Ints  #: int64 [tokens]: as in ``schemes.Tokens``
    types: Keys  #: uint64 [tokens]: hash of the label, 0 outside
    misaligned: int  #: spans that do not begin and end with predicted tokens


class ScoredSpans(NamedTuple):
    """Predicted spans, in tokens of their Docs, by Doc."""

    docs: Ints  #: int64 [spans]: number of the Doc
    starts: Ints  #: int64 [spans]
    ends: Ints  #: int64 [spans]
    types: Ints  #: int64 [spans]: number of the label
    scores: Floats  #: float64 [spans]: in [0, 1), see ``SpanPipe``


@dataclass(frozen=True)
class Marked:
    """The spans of a part of a Doc, as they were decided or as gold has them."""

    spans: tuple[tuple[int, int, str], ...]  #: first token, after the last one, type
    text: str = field(compare=False)  #: the type alone where it is one span, and the whole part
    #: Each word, with its label and the confidence in the label that was decided.
    words: tuple[tuple[int, str, float], ...] = field(compare=False)

    def __str__(self) -> str:
        return self.text

    def types(self) -> str:
        """The types of the spans, as text."""
        return ", ".join(kind for _, _, kind in self.spans) or NO_SPAN

    def bounds(self) -> list[tuple[int, int]]:
        """The first token of each span, and the one after its last."""
        return [(start, end) for start, end, _ in self.spans]


#: A span: start, end, type.
Place = tuple[int, int, str]


def kind_of_error(gold: Sequence[Place], found: Sequence[Place]) -> str:
    """In what way spans differ from the gold ones that they overlap with, in words."""
    if not found:
        return "missed"
    if not gold:
        return "spurious"
    if [span[:2] for span in gold] == [span[:2] for span in found]:
        return "wrong type"
    is_same = [span[2] for span in gold] == [span[2] for span in found]
    return "wrong boundaries" if is_same else "wrong boundaries and type"


_scheme = lru_cache(maxsize=16)(Scheme)  # to make one takes as long as decoding a sentence


class SpanPipe(SequencePipe):
    """Finds spans that do not overlap, by a scheme of label sequences.

    The score of a span is the probability that exactly this span has this label: of the model,
    where it has probabilities (see ``marginals``), or calibrated on sentences that were held out
    (see ``chains/calibration.py``). Of a margin loss without a calibration, for which there were
    too few spans to learn from or another solver than those with working sets, it is
    1 - exp(-margin), 0 where the model is undecided: comparable within a model only.
    """

    labels_spans = True

    # Implemented by subclasses

    def gold_spans(self, example: Example) -> GoldSpans:
        """The annotation of an example."""
        raise NotImplementedError

    # Labels

    @property
    def scheme(self) -> Scheme:
        """How spans become label sequences."""
        return _scheme(self.cfg["scheme"], self.labels)

    @property
    def has_probabilities(self) -> bool:
        """Whether scores are probabilities: of the model, or calibrated."""
        self._sync()
        return self.model.beta is not None or self.model.calibration is not None

    @property
    def is_resizable(self) -> bool:
        """Labels can be added to a trained component."""
        return True

    def check_label(self, label: str) -> None:
        """Raise ConfigValidationError for names that have another meaning."""
        if label in ("O", WILDCARD):
            raise initialize_error(
                self.name,
                "labels",
                f"{self.name}: spans cannot have the label '{label}': it means "
                f"{'every label' if label == WILDCARD else 'tokens outside of spans'}. Rename it",
            )

    def check_gazetteers(self, labels: Sequence[str], resources: Resources) -> None:
        """Warn about gazetteer types that are not labels: their spans are never predicted.

        Where labels are in capitals, types in small letters (first_name) are meant as features.
        """
        gazetteers = resources.gazetteers
        unknown = [] if gazetteers is None else sorted({*gazetteers.types} - {*labels})
        if all(map(str.isupper, labels)):
            unknown = [kind for kind in unknown if not kind.islower()]
        if unknown:
            warnings.warn(
                f"{self.name}: these gazetteer types are no labels of the training examples: "
                f"{', '.join(unknown)}. Gazetteers only provide features, so spans of these types "
                "will never be predicted. To predict them, annotate them in the examples, or name "
                "the gazetteers after existing labels in "
                f"[initialize.components.{self.name}.gazetteers]; ignore this warning if they are "
                "meant as features only",
                stacklevel=3,
            )

    def fewer_labels(self, labels: Sequence[str]) -> str:
        """See ``Pipe``. Names the schemes with fewer labels."""
        advice = "Use fewer types of spans"
        numbers = {name: len(Scheme(name, labels).labels) for name in SCHEMES}
        smaller = [
            f'scheme = "{name}" ({number:,} labels)'
            for name, number in numbers.items()
            if number < numbers[self.cfg["scheme"]]
        ]
        return f"{advice}, or set {' or '.join(smaller)}" if smaller else advice

    def model_labels(self, labels: Sequence[str]) -> Sequence[str]:
        """The labels of the scheme."""
        return Scheme(self.cfg["scheme"], labels).labels

    def columns_of_label(self, label: str) -> list[int]:
        """A label of the scheme, or all labels of a type: see ``TokenPipe``."""
        scheme = self.scheme
        if label in scheme.types and label not in scheme.labels:
            return [scheme.labels.index(f"{tag}-{label}") for tag in scheme.tags]
        return super().columns_of_label(label)

    def component_labels(self, model_labels: Sequence[str]) -> Sequence[str]:
        """The types of spans, by the labels of the scheme."""
        return list(dict.fromkeys(label[2:] for label in model_labels if label != "O"))

    def cost_classes(self) -> Sequence[str]:
        """The type of span of each label of the model, and O."""
        return [label[2:] or label for label in self.model.labels]

    def legality(self) -> Floats | None:
        """The legal transitions of the scheme."""
        return self.scheme.legality()

    def make_trainer(self, solver: Solver) -> SpanTrainer:
        """A trainer that calibrates the scores too, without examples."""
        return SpanTrainer(self.model, solver, scheme=self.scheme, **self.trainer_settings())

    def check_model(self, saved: SavedModel) -> None:
        """Raise ValueError where a saved model has another scheme or other labels."""
        super().check_model(saved)
        if saved.labels:
            legality = Scheme(self.cfg["scheme"], self.component_labels(saved.labels)).legality()
            if not np.array_equal(np.isinf(legality), np.isinf(saved.label_pairs)):
                raise ValueError(
                    f"its transitions are not those of the scheme {self.cfg['scheme']}"
                )

    def gold_labels(self, examples: Sequence[Example]) -> list[Ints]:
        """The labels of the scheme for the gold spans: int64 [tokens] each, -1 for none.

        Spans that cross a sentence boundary count as not annotated.
        """
        return self._encode(examples, self.scheme)

    def gold_names(self, example: Example) -> list[str]:
        strings = example.reference.vocab.strings
        hashes = np.unique(self.gold_spans(example).types).tolist()
        types = dict.fromkeys([*self.labels, *(strings[value] for value in hashes if value)])
        scheme = Scheme(self.cfg["scheme"], [*types])
        names = [*scheme.labels, ""]
        return [names[label] for label in self._encode([example], scheme)[0].tolist()]

    def _encode(self, examples: Sequence[Example], scheme: Scheme) -> list[Ints]:
        if not examples:
            return []
        gold = [self.gold_spans(example) for example in examples]
        ends = np.cumsum([0, *(len(spans.iob) for spans in gold)])
        inputs = np.concatenate(
            [columns_of(example.predicted, [IS_SPACE, SENT_START]) for example in examples]
        )
        kept = np.flatnonzero(inputs[:, 0] == 0)
        starts = np.zeros(len(kept), dtype=bool)
        starts[sentence_firsts(inputs[:, 1] == 1, ends, kept)] = True
        iob = _iob_of_words(np.concatenate([spans.iob for spans in gold]), kept)
        hashes = np.concatenate([spans.types for spans in gold])[kept]
        types = self._type_numbers(hashes, scheme.types, examples)

        number = np.cumsum(iob == BEGIN)
        crossing = np.unique(number[starts & (iob == INSIDE)])
        in_span = (iob == BEGIN) | (iob == INSIDE)
        iob[in_span & np.isin(number, crossing)] = MISSING
        self._warn_of_lost_spans(sum(spans.misaligned for spans in gold), len(crossing))

        labels = np.full(len(inputs), -1, dtype=np.int64)
        labels[kept] = scheme.encode(Tokens(iob, types), starts)
        return np.split(labels, ends[1:-1])

    def _type_numbers(
        self, hashes: Keys, labels: Sequence[str], examples: Sequence[Example]
    ) -> Ints:
        types = label_numbers(hashes, string_ids(tuple(labels)))
        unknown = hashes[types == UNKNOWN]
        if len(unknown):
            raise self.unknown_label_error(examples[0].reference.vocab.strings[int(unknown[0])])
        return types

    def _warn_of_lost_spans(self, misaligned: int, crossing: int) -> None:
        if (misaligned or crossing) and not self._has_warned:
            self._has_warned = True
            warnings.warn(
                f"{self.name}: {misaligned} gold spans of this batch do not align with the "
                f"tokens, and {crossing} reach over a sentence boundary. Their tokens are "
                "treated as not annotated, here and from now on",
                stacklevel=2,
            )

    _has_warned = False

    # Prediction

    def set_threshold(self, threshold: float, nlp: Language) -> None:
        """Set the score below which spans are discarded, here and in the pipeline's config.

        nlp: the pipeline, which is saved with it.
        Raises ConfigValidationError where it does not lie in 0 to 1.
        """
        check_threshold(self.name, threshold)
        self.cfg["threshold"] = threshold
        for name in (name for name, pipe in nlp.components if pipe is self):
            nlp.get_pipe_config(name)["threshold"] = threshold

    def find_spans(
        self, docs: Sequence[Doc], constraints: LabelConstraints | None
    ) -> tuple[ScoredSpans, Tokens, TokenTable]:
        """The spans of the Docs with their scores, without those under the threshold.

        constraints: see ``ChainModel.predict``. Also returns the spans by word, and the words.
        """
        words, beta = self.model.reader.read(docs), self.model.beta
        if beta is None:
            labels, margins = self.model.label_with_margins(words, constraints)
        else:
            labels = self.model.label(words, constraints)
        starts = np.zeros(len(labels), dtype=bool)
        starts[words.sentence_starts[:-1]] = True
        tokens = self.scheme.decode(labels, starts)
        spans = spans_of(tokens)
        if beta is None:
            scores = self._probabilities_of(spans, margins)
        else:
            arrays = words, beta, self.scheme, spans, labels, constraints
            scores = span_probabilities(self.model, *arrays)
        scores = np.minimum(scores, np.nextafter(1, 0))
        sure = scores >= self.cfg["threshold"]
        for a, b in zip(spans.starts[~sure], spans.ends[~sure], strict=True):
            tokens.iob[a:b] = OUT
        first = words.positions[spans.starts[sure]]
        last = words.positions[spans.ends[sure] - 1]
        doc = np.searchsorted(words.doc_starts, first, side="right") - 1
        offset = words.doc_starts[doc]
        found = ScoredSpans(doc, first - offset, last + 1 - offset, spans.types[sure], scores[sure])
        return found, tokens, words

    # Pages

    @property
    def marked(self) -> str:
        return "spans"

    def marks(self, doc: Doc, reference: Doc | None = None) -> list[Decision[Marked]]:
        """See ``ExplainablePipe``: spans, together where gold ones overlap, and other words."""
        words = self.decisions(doc, reference)
        if self.cfg["threshold"] > 0:
            constraints = self.label_constraints([doc], overwrite=True)
            _, tokens, table = self.find_spans([doc], constraints)
            kept = {*table.positions[tokens.iob != OUT].tolist()}
            words = [word if word.start in kept else replace(word, label="O") for word in words]
        inside = [
            any(pair)
            for pair in zip(
                _goes_on(doc, words, [word.label for word in words]),
                _goes_on(doc, words, [word.gold for word in words]),
                strict=True,
            )
        ]
        firsts = [i for i, goes_on in enumerate(inside[: len(words)]) if not goes_on]
        marks = []
        for first, end in pairwise([*firsts, len(words)]):
            own = words[first:end]
            golds = [word.gold for word in own if word.gold is not None]
            marks.append(
                Decision(
                    own[0].start,
                    own[-1].end,
                    _marked(doc, own, [word.label for word in own]),
                    _marked(doc, own, golds) if len(golds) == len(own) else None,
                    min(word.score for word in own),
                )
            )
        return marks

    def is_counted(self, decision: Decision[Marked]) -> bool:
        """See ``ExplainablePipe``. Words outside of spans are not."""
        return decision.gold is not None and bool(decision.gold.spans or decision.label.spans)

    def kind_of_error(self, gold: Marked, label: Marked) -> str:
        return kind_of_error(gold.spans, label.spans)

    def kind_of_label(self, label: Marked) -> str:
        """See ``ExplainablePipe``. The type of the first span."""
        return label.spans[0][2] if label.spans else ""

    def confusion(self, gold: Any, label: Any) -> tuple[str, str]:
        """See ``ExplainablePipe``. Types, without what is in the spans."""
        has_others = bool(label.spans and gold.spans) and label.bounds() != gold.bounds()
        return gold.types(), label.types() + (", other boundaries" if has_others else "")

    def explain_against(
        self, doc: Doc, decision: Decision[Any], against: Any, *, top: int | None
    ) -> Explanation:
        """See ``ExplainablePipe``. Of the words of a mark that differ, the least sure counts."""
        if not isinstance(decision.label, Marked):
            return super().explain_against(doc, decision, against, top=top)
        words = decision.label.words
        others: list[str | None] = [None] * len(words)
        if against is not None:
            others = [label for _, label, _ in against.words]
        differing = [
            (score, i, other)
            for (i, label, score), other in zip(words, others, strict=True)
            if label != other
        ]
        _, i, other = min(differing, key=lambda place: place[0])
        return self.explain(doc, i, top=top, against=other)

    def _probabilities_of(self, spans: SpanTable, margins: Floats) -> Floats:
        """The scores of spans by the margins of words, of a model without a finite beta."""
        calibration = self.model.calibration
        return probabilities(calibration and calibration.spans, least(margins, spans))

    def scores(self, doc: Doc) -> Floats:
        """The confidence in the best label of each token: float64 [tokens].

        Of the words of a span, it is the score of the span (see ``SpanPipe``); of other words, the
        probability that they are outside of spans, on the same scale. Whitespace has 0.
        Annotation that the Doc already has is ignored; a sentence always starts at its first
        token.
        """
        return super().scores(doc)

    def _best_labels(self, doc: Doc) -> tuple[ByWord, TokenTable, Floats]:
        labels, words, scores = super()._best_labels(doc)
        model, starts = self.model, np.zeros(len(labels), dtype=bool)
        starts[words.sentence_starts[:-1]] = True
        spans = spans_of(self.scheme.decode(labels, starts))
        if model.beta is None:
            of_spans = self._probabilities_of(spans, scores)
            scores = probabilities(model.calibration and model.calibration.outside, scores)
        else:
            arrays = words, model.beta, self.scheme, spans, labels
            of_spans = span_probabilities(model, *arrays, self.label_constraints([doc], True))
        for start, end, score in zip(spans.starts, spans.ends, of_spans, strict=True):
            scores[start:end] = min(score, np.nextafter(1, 0))
        return labels, words, scores

    @overload
    def explain(
        self, doc: Doc, token: int | Token, *, top: int | None = None, against: str | None = None
    ) -> Explanation: ...

    @overload
    def explain(self, doc: Span, *, top: int | None = None) -> Explanations: ...

    def explain(
        self,
        doc: Doc | Span,
        token: int | Token | None = None,
        *,
        top: int | None = None,
        against: str | None = None,
    ) -> Explanation | Explanations:
        """Explain the label of a token, as ``SequencePipe.explain``, or those of a whole span.

        ``explain(span)`` takes any span, predicted or not, and returns one explanation for each
        of its tokens that is not whitespace, against the runner-up. Labels are those of the
        scheme, such as B-PER.
        against: a type of spans too, such as PER; its best label is then the other one.
        """
        if isinstance(doc, Span):
            if token is not None or against is not None:
                raise ValueError("give a Doc with a token, or a Span alone")
            return Explanations(
                super(SpanPipe, self).explain(doc.doc, t.i, top=top) for t in doc if not t.is_space
            )
        if token is None:
            raise ValueError("give the token to explain, or a Span instead of the Doc")
        if against not in self.labels or against in self.model.labels:
            return super().explain(doc, token, top=top, against=against)
        found: list[Explanation] = []
        for label in self.model.labels:
            if label[2:] == against:
                with suppress(ValueError):  # the label that it has, or cannot have
                    found.append(super().explain(doc, token, top=top, against=label))
        i = token_index(doc, token)
        if not found:
            raise ValueError(f"token {i} cannot be part of a span of the type '{against}'")
        if found[0].label[2:] == against:
            hint = f"give another type, or a label such as {found[0].runner_up}"
            raise ValueError(f"token {i} has the type '{against}': {hint}")
        return min(found, key=lambda explanation: explanation.margin)


def check_threshold(name: str, threshold: float) -> None:
    """Raise ConfigValidationError for a threshold that is no probability."""
    if isinstance(threshold, bool) or not isinstance(threshold, int | float):
        raise config_error(name, "threshold", f"{threshold!r}: must be a number")
    if not 0 <= threshold <= 1:
        raise config_error(name, "threshold", f"{threshold}: must lie in 0 to 1")


def _iob_of_words(iob: Ints, kept: Ints) -> Ints:
    """The positions in spans of the words kept; a span begins with the first of its words."""
    in_span = (iob == BEGIN) | (iob == INSIDE)
    number = np.where(in_span, np.cumsum(iob == BEGIN), 0)[kept]
    iob = iob[kept]
    first = np.diff(np.maximum.accumulate(number), prepend=0) > 0
    iob[(number > 0) & (iob == INSIDE) & first] = BEGIN
    return iob


def _goes_on(doc: Doc, words: Sequence[Decision[str]], labels: Sequence[str | None]) -> list[bool]:
    """Whether each word continues the span of the one before, by labels of the words."""
    found = [False]
    for (one, other), (before, label) in zip(pairwise(words), pairwise(labels), strict=True):
        starts = any(token.is_sent_start for token in doc[one.end : other.end])
        is_same = label and before and label[0] in "IL" and label[2:] == before[2:]
        found.append(bool(is_same) and not starts)
    return found


def _marked(doc: Doc, words: Sequence[Decision[str]], labels: Sequence[str]) -> Marked:
    """The spans of some words, by their labels."""
    spans: list[tuple[int, int, str]] = []
    for word, label, goes_on in zip(words, labels, _goes_on(doc, words, labels), strict=True):
        if goes_on:
            spans[-1] = spans[-1][0], word.end, label[2:]
        elif label != "O":
            spans.append((word.start, word.end, label[2:]))
    texts = [f"{kind} “{doc[a:b].text}”" for a, b, kind in spans]
    if [span[:2] for span in spans] == [(words[0].start, words[-1].end)]:
        texts = [spans[0][2]]
    of_words = tuple(
        (word.start, label, word.score) for word, label in zip(words, labels, strict=True)
    )
    return Marked(tuple(spans), ", ".join(texts) or NO_SPAN, of_words)


Component = TypeVar("Component", bound=SpanPipe)


def build_span_pipe(
    component: type[Component],
    vocab: Vocab,
    name: str,
    *,
    scheme: str,
    threshold: float,
    **settings: Any,
) -> Component:
    """A component with the settings of its factory.

    Raises ConfigValidationError where one is invalid.
    """
    if scheme not in SCHEMES:
        raise config_error(name, "scheme", f"'{scheme}': choose one of {', '.join(SCHEMES)}")
    check_threshold(name, threshold)
    return build_chain_pipe(component, vocab, name, scheme=scheme, threshold=threshold, **settings)
