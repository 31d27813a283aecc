"""Texts whose spans are given by character offsets, as Docs."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.util import filter_spans

from spacy_ssvm.storage import shorten


class Offsets(NamedTuple):
    """A span of a text."""

    start: int  #: of its first character
    end: int  #: after its last character
    label: str


class AnnotatedText(NamedTuple):
    """A text with its spans."""

    place: str  #: where it was read, such as "train.jsonl, line 3"
    text: str
    spans: tuple[Offsets, ...]
    unknown: tuple[tuple[int, int], ...] = ()  #: parts of the text whose annotation is lost


class LeftOut(NamedTuple):
    """A span that its Doc does not have."""

    place: str
    text: str  #: of the span
    label: str
    reason: str

    def __str__(self) -> str:
        return f"{self.place}: {self.label} {shorten(self.text)!r} {self.reason}"


def make_doc(
    nlp: Language, annotated: AnnotatedText, spans_key: str | None = None
) -> tuple[Doc, list[LeftOut]]:
    """The Doc of a text, tokenized, and what had to be left out.

    spans_key: write the spans to ``doc.spans`` under this key; None writes ``doc.ents``.

    White space at the ends of a span does not count. Spans are left out that do not match the
    tokens, and entities that overlap with longer ones. Where an entity is left out, it is unknown
    whether the tokens are entities, so that nothing wrong is learned from them.
    """
    doc = nlp.make_doc(annotated.text)
    spans: list[Span] = []
    left_out: list[LeftOut] = []
    unknown = {token.i for part in annotated.unknown for token in _covered(doc, *part) or ()}
    for start, end, label in dict.fromkeys(_without_space(annotated)):
        span, text = None, annotated.text[max(start, 0) : max(end, 0)]
        tokens = _covered(doc, start, end)
        if not text.strip() or end > len(annotated.text) or not tokens:
            reason = f"is not in the text, from {start} to {end} of {len(annotated.text)}"
        else:
            span = doc.char_span(start, end, label=label)
            reason = f"is only a part of the words {shorten(tokens.text)!r}"
        if span is None:
            left_out.append(LeftOut(annotated.place, text, label, reason))
            unknown.update(range(tokens.start, tokens.end) if tokens else ())
        else:
            spans.append(span)
    if spans_key is not None:
        doc.spans[spans_key] = spans
        return doc, left_out
    kept = filter_spans(spans)
    covered = {i for span in kept for i in range(span.start, span.end)}
    for span in spans:
        if span not in kept:
            left_out.append(LeftOut(annotated.place, span.text, span.label_, "overlaps another"))
            unknown.update(range(span.start, span.end))
    doc.set_ents(kept, missing=[doc[i : i + 1] for i in sorted(unknown - covered)])
    return doc, left_out


def _without_space(annotated: AnnotatedText) -> Iterator[Offsets]:
    for start, end, label in annotated.spans:
        text = annotated.text[start:end]
        if text.strip() and 0 <= start < end <= len(annotated.text):
            start += len(text) - len(text.lstrip())
            end -= len(text) - len(text.rstrip())
        yield Offsets(start, end, label)


def _covered(doc: Doc, start: int, end: int) -> Span | None:
    """The tokens that have characters of a span; None where there are none."""
    if not 0 <= start < end:
        return None
    within = [token.i for token in doc if token.idx < end and token.idx + len(token) > start]
    return doc[within[0] : within[-1] + 1] if within else None


def make_docs(
    nlp: Language, texts: Iterable[AnnotatedText], spans_key: str | None = None
) -> tuple[list[Doc], list[LeftOut]]:
    """The Docs of texts that have tokens, and all that had to be left out."""
    made: Sequence[tuple[Doc, list[LeftOut]]] = [make_doc(nlp, text, spans_key) for text in texts]
    return (
        [doc for doc, _ in made if len(doc)],
        [one for _, left_out in made for one in left_out],
    )
