"""Texts whose spans are given by character offsets, as Docs."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.util import filter_spans

from spacy_ssvm.files import shorten

_LAST_OF_ONE_UNIT = "\uffff"  #: characters after it are two units of UTF-16
_NO_LABELS = ("O", "-")
_MOST_KEPT = 200  #: characters of a span that is left out


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
    """A span that its Doc does not have, or a record that cannot be used."""

    place: str
    text: str  #: of the span, as far as it is kept
    label: str  #: empty for a record
    reason: str
    #: Whether the span fits by offsets in UTF-16; None where these are the same as in characters.
    fits_utf16: bool | None = None

    def __str__(self) -> str:
        span = f"{shorten(self.label)} {shorten(self.text)!r} " if self.label else ""
        return f"{self.place}: {span}{self.reason}"


def bad_record(path: Path, error: ValueError) -> LeftOut:
    """A record that cannot be used. error: its message begins with path and line."""
    where, is_known, reason = str(error).removeprefix(str(path)).partition(": ")
    if not is_known or not str(error).startswith(str(path)):
        return LeftOut(str(path), "", "", str(error))
    return LeftOut(f"{path}{where}", "", "", reason)


class _Places:
    """Where the words and tokens of a Doc are. Each is found in logarithmic time."""

    def __init__(self, doc: Doc) -> None:
        self.text = doc.text
        self._not_space = [i for i, c in enumerate(self.text) if not c.isspace()]
        self._starts = [token.idx for token in doc]
        self._ends = [token.idx + len(token) for token in doc]
        self._utf16: list[int] = []  # the index of each character, and the length
        if max(self.text, default="") > _LAST_OF_ONE_UNIT:
            units = (1 + (c > _LAST_OF_ONE_UNIT) for c in self.text)
            self._utf16 = [*accumulate(units, initial=0)]

    def in_characters(self, span: Offsets) -> Offsets:
        """A span whose offsets count units of UTF-16."""
        start, end, label = span
        return Offsets(self._character(start), self._character(end), label)

    def _character(self, unit: int) -> int:
        if not self._utf16 or unit < 0:
            return unit
        beyond = max(unit - self._utf16[-1], 0)
        return bisect_left(self._utf16, unit - beyond) + beyond

    def without_space(self, span: Offsets) -> Offsets:
        """A span without white space at its ends; unchanged where nothing else is in the text."""
        first = bisect_left(self._not_space, span.start)
        last = bisect_left(self._not_space, span.end) - 1
        if first > last or not self.is_range(span):
            return span
        return Offsets(self._not_space[first], self._not_space[last] + 1, span.label)

    def is_range(self, span: Offsets) -> bool:
        """Whether a span has characters, all of them in the text."""
        return 0 <= span.start < span.end <= len(self.text)

    def is_inside(self, span: Offsets) -> bool:
        """Whether a span, without white space at its ends, has words of the text."""
        return self.is_range(span) and not self.text[span.start].isspace()

    def covered(self, start: int, end: int) -> tuple[int, int]:
        """The first token that has characters of a span, and that after the last."""
        if not 0 <= start < end:
            return 0, 0
        return bisect_right(self._ends, start), bisect_left(self._starts, end)

    def fits(self, span: Offsets) -> bool:
        """Whether a span, without white space at its ends, begins and ends with tokens."""
        first, last = self.covered(span.start, span.end)
        return self.is_inside(span) and self.words(first, last) == (span.start, span.end)

    def words(self, first: int, last: int) -> tuple[int, int]:
        """The offsets of tokens."""
        return self._starts[first], self._ends[last - 1]

    def quote(self, start: int, end: int) -> str:
        """The text of a span, or its beginning."""
        return self.text[max(start, 0) : max(min(end, start + _MOST_KEPT), 0)]


def make_doc(
    nlp: Language, annotated: AnnotatedText, spans_key: str | None = None, *, utf16: bool = False
) -> tuple[Doc, list[LeftOut]]:
    """The Doc of a text, tokenized, and what had to be left out.

    spans_key: write the spans to ``doc.spans`` under this key; None writes ``doc.ents``.
    utf16: whether offsets count units of UTF-16, as in JavaScript, and not characters.

    White space at the ends of a span does not count. Spans are left out that do not match the
    tokens, and entities that overlap with longer ones. Where an entity is left out, it is unknown
    whether the tokens are entities, so that nothing wrong is learned from them: all that have no
    other entity, where its offsets do not tell which.
    """
    doc = nlp.make_doc(annotated.text)
    places, place = _Places(doc), annotated.place
    spans: list[Span] = []
    left_out: list[LeftOut] = []
    unknown = [places.covered(*part) for part in annotated.unknown]
    given = [places.in_characters(span) if utf16 else span for span in annotated.spans]
    for trimmed, original in {places.without_space(span): span for span in given}.items():
        start, end, label = trimmed
        first, last = places.covered(start, end)
        is_known = first < last or places.is_range(trimmed)
        if places.fits(trimmed) and label not in _NO_LABELS:
            spans.append(Span(doc, first, last, label=label))
            continue
        if label in _NO_LABELS:
            reason = f"has no type: '{label}' stands for none"
        elif places.is_inside(trimmed):
            words = shorten(places.quote(*places.words(first, last)))
            reason = f"is only a part of the words {words!r}"
        elif places.is_range(trimmed):
            reason = f"is only white space, from {start} to {end}"
        elif end <= start:
            reason = f"ends before it has a character: from {start} to {end}"
        else:
            reason = f"is not in the text, from {start} to {end} of {len(places.text)}"
        shifted = original if utf16 else places.in_characters(original)
        fits = None if shifted == original else places.fits(places.without_space(shifted))
        left_out.append(LeftOut(place, places.quote(start, end), label, reason, fits))
        unknown.append((first, last) if is_known else (0, len(doc)))
    if spans_key is not None:
        doc.spans[spans_key] = spans
        return doc, left_out
    kept = filter_spans(spans)
    keys = {(span.start, span.end, span.label) for span in kept}
    for span in spans:
        if (span.start, span.end, span.label) not in keys:
            text = places.quote(span.start_char, span.end_char)
            left_out.append(LeftOut(place, text, span.label_, "overlaps another"))
            unknown.append((span.start, span.end))
    missing = _union(unknown) - _union((span.start, span.end) for span in kept)
    doc.set_ents(kept, missing=[doc[i : i + 1] for i in sorted(missing)])
    return doc, left_out


def _union(ranges: Iterable[tuple[int, int]]) -> set[int]:
    """The tokens of any range, first and after the last, in time linear in all that are given."""
    found: set[int] = set()
    end = 0
    for first, last in sorted(ranges):
        found.update(range(max(first, end), last))
        end = max(end, last)
    return found


def make_docs(
    nlp: Language,
    texts: Iterable[AnnotatedText],
    spans_key: str | None = None,
    *,
    utf16: bool = False,
) -> tuple[list[Doc], list[LeftOut]]:
    """The Docs of texts that have tokens, and all that had to be left out."""
    docs: list[Doc] = []
    left_out: list[LeftOut] = []
    for text in texts:
        try:
            doc, own = make_doc(nlp, text, spans_key, utf16=utf16)
        except ValueError as error:  # the tokenizer takes no texts as long as this one
            left_out.append(LeftOut(text.place, "", "", str(error)))
        else:
            docs += [doc] if len(doc) else []
            left_out += own
    return docs, left_out
