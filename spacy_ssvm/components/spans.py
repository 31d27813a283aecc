"""The base of components for spans: spans as legal label sequences, and their scores."""

import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar, overload

import numpy as np
from spacy.attrs import IS_SPACE, SENT_START
from spacy.tokens import Doc, Span, Token
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_ssvm._jit import Floats, Ints, Keys
from spacy_ssvm.chains.inference import LabelConstraints
from spacy_ssvm.chains.probabilities import span_probabilities
from spacy_ssvm.chains.saved_model import SavedModel
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
from spacy_ssvm.components.alignment import columns_of
from spacy_ssvm.components.confidence import token_index
from spacy_ssvm.components.costs import WILDCARD
from spacy_ssvm.components.sequence import SequencePipe
from spacy_ssvm.components.settings import build_chain_pipe, config_error, initialize_error
from spacy_ssvm.explanation import Explanation, Explanations
from spacy_ssvm.features.attributes import TokenTable, sentence_firsts
from spacy_ssvm.features.resources import Resources


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


class SpanPipe(SequencePipe):
    """Finds spans that do not overlap, by a scheme of label sequences.

    The score of a span is the probability that exactly this span has this label, where the
    model has probabilities (see ``marginals``). Otherwise it is 1 - exp(-margin), 0 where the
    model is undecided: comparable within a model, not calibrated.
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
        return Scheme(self.cfg["scheme"], self.labels)

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

    def component_labels(self, model_labels: Sequence[str]) -> Sequence[str]:
        """The types of spans, by the labels of the scheme."""
        return list(dict.fromkeys(label[2:] for label in model_labels if label != "O"))

    def cost_classes(self) -> Sequence[str]:
        """The type of span of each label of the model, and O."""
        return [label[2:] or label for label in self.model.labels]

    def legality(self) -> Floats | None:
        """The legal transitions of the scheme."""
        return self.scheme.legality()

    def check_model(self, saved: SavedModel) -> None:
        """Raise ValueError where a saved model has another scheme or other labels."""
        super().check_model(saved)
        if saved.labels:
            legality = Scheme(self.cfg["scheme"], self.component_labels(saved.labels)).legality()
            if not np.array_equal(np.isinf(legality), np.isinf(saved.joint)):
                raise ValueError(
                    f"its transitions are not those of the scheme {self.cfg['scheme']}"
                )

    def gold_labels(self, examples: Sequence[Example]) -> list[Ints]:
        """The labels of the scheme for the gold spans: int64 [tokens] each, -1 for none.

        Spans that cross a sentence boundary count as not annotated.
        """
        return self._encode(examples, self.scheme)

    def gold_names(self, example: Example) -> list[str]:
        """See ``SequencePipe``."""
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
        numbers = {self.vocab.strings[label]: k for k, label in enumerate(labels)}
        distinct, indices = np.unique(hashes, return_inverse=True)
        types = np.full(len(distinct), -1, dtype=np.int64)
        for j, value in enumerate(distinct.tolist()):
            if value and value not in numbers:
                raise ValueError(
                    f"{self.name}: the label '{examples[0].reference.vocab.strings[value]}' was "
                    "not among the labels at initialize. Initialize on the whole corpus, or list "
                    f"all labels in [initialize.components.{self.name}.labels]"
                )
            types[j] = numbers.get(value, -1)
        return types[indices]

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
            confidence = -np.expm1(-_least(margins, spans))
        else:
            arrays = words, beta, self.scheme, spans, labels, constraints
            confidence = span_probabilities(self.model, *arrays)
        scores = np.minimum(confidence, np.nextafter(1, 0))
        sure = scores >= self.cfg["threshold"]
        for a, b in zip(spans.starts[~sure], spans.ends[~sure], strict=True):
            tokens.iob[a:b] = OUT
        first = words.positions[spans.starts[sure]]
        last = words.positions[spans.ends[sure] - 1]
        doc = np.searchsorted(words.doc_starts, first, side="right") - 1
        offset = words.doc_starts[doc]
        found = ScoredSpans(doc, first - offset, last + 1 - offset, spans.types[sure], scores[sure])
        return found, tokens, words

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


def _least(values: Floats, spans: SpanTable) -> Floats:
    """The least value of the words of each span: float64 [spans]."""
    ends = np.column_stack([spans.starts, spans.ends]).ravel()
    return np.minimum.reduceat(np.append(values, 0.0), ends)[::2] if len(ends) else np.zeros(0)


def _iob_of_words(iob: Ints, kept: Ints) -> Ints:
    """The positions in spans of the words kept; a span begins with the first of its words."""
    in_span = (iob == BEGIN) | (iob == INSIDE)
    number = np.where(in_span, np.cumsum(iob == BEGIN), 0)[kept]
    iob = iob[kept]
    first = np.diff(np.maximum.accumulate(number), prepend=0) > 0
    iob[(number > 0) & (iob == INSIDE) & first] = BEGIN
    return iob


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
    if not 0 <= threshold <= 1:
        raise config_error(name, "threshold", f"{threshold}: must lie in 0 to 1")
    return build_chain_pipe(component, vocab, name, scheme=scheme, threshold=threshold, **settings)
