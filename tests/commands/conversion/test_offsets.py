"""Spans by character offsets become entities of tokens; what cannot be one is reported."""

from functools import partial

import pytest
import spacy
from growth import growth
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc

from spacy_ssvm.commands.conversion import offsets
from spacy_ssvm.commands.conversion.offsets import AnnotatedText, Offsets

NLP = spacy.blank("en")
TEXT = "Ann Lee of New  York"  # tokens at 0, 4, 8, 11, 15 (a space), 16


def annotated(text: str, *spans: tuple[int, int, str]) -> AnnotatedText:
    return AnnotatedText("a.jsonl, line 1", text, tuple(Offsets(*span) for span in spans))


def made(text: str, *spans: tuple[int, int, str], key: str | None = None) -> tuple[Doc, list]:
    doc, left_out = offsets.make_doc(NLP, annotated(text, *spans), key)
    return doc, [(span.text, span.label) for span in left_out]


@pytest.mark.parametrize(("spans", "entities", "tags", "left_out"), [
    ([(0, 7, "A"), (11, 20, "B")], [("Ann Lee", "A"), ("New  York", "B")], "B I O B I I", []),
    ([(4, 7, "A"), (4, 7, "A"), (3, 8, "A")], [("Lee", "A")], "O B O O O O", []),
    ([(0, 2, "A"), (0, 2, "A"), (16, 20, "B")], [("York", "B")], "? O O O O B", [("An", "A")]),
    ([(0, 3, "A"), (0, 7, "B")], [("Ann Lee", "B")], "B I O O O O", [("Ann", "A")]),
    ([(4, 10, "A"), (8, 20, "B")], [("of New  York", "B")], "O ? B I I I", [("Lee of", "A")]),
    ([(4, 7, "A"), (5, 9, "B")], [("Lee", "A")], "O B ? O O O", [("ee o", "B")]),
    ([(0, 3, "A"), (0, 3, "B")], [("Ann", "A")], "B O O O O O", [("Ann", "B")]),
])  # fmt: skip
def test_entities(spans: list, entities: list, tags: str, left_out: list) -> None:
    doc, left = made(TEXT, *spans)
    assert [(entity.text, entity.label_) for entity in doc.ents] == entities
    assert [token.ent_iob_ or "?" for token in doc] == tags.split()
    assert left == left_out


@pytest.mark.parametrize(("start", "end"), [
    (3, 4), (15, 16), (20, 21), (4, 4), (7, 4), (-3, 3), (-8, -1), (16, 22), (22, 25), (30, 33),
])  # fmt: skip
def test_spans_that_are_not_in_the_text(start: int, end: int) -> None:
    doc, left = made(TEXT + "\n", (start, end, "A"), (8, 10, "B"))
    assert [(entity.text, entity.label_) for entity in doc.ents] == [("of", "B")]
    assert [label for _, label in left] == ["A"]


@pytest.mark.parametrize(("span", "tags", "reason"), [
    ((3, 4, "A"), "O O B O O O", "is only white space, from 3 to 4"),
    ((7, 4, "A"), "? ? B ? ? ?", "ends before it has a character: from 7 to 4"),
    ((-8, -1, "A"), "? ? B ? ? ?", "is not in the text, from -8 to -1 of 20"),
    ((30, 33, "A"), "? ? B ? ? ?", "is not in the text, from 30 to 33 of 20"),
    ((16, 33, "A"), "O O B O O ?", "is not in the text, from 16 to 33 of 20"),
    ((0, 3, "O"), "? O B O O O", "has no type: 'O' stands for none"),
    ((0, 3, "-"), "? O B O O O", "has no type: '-' stands for none"),
])  # fmt: skip
def test_nothing_is_learned_of_tokens_that_a_span_may_mean(
    span: tuple[int, int, str], tags: str, reason: str
) -> None:
    doc, left_out = offsets.make_doc(NLP, annotated(TEXT, span, (8, 10, "B")))
    assert [token.ent_iob_ or "?" for token in doc] == tags.split()
    assert [own.reason for own in left_out] == [reason]


def test_spans_of_a_key_may_overlap() -> None:
    spans = [(0, 7, "A"), (0, 3, "B"), (0, 7, "A"), (4, 6, "BAD"), (4, 8, "C")]
    doc, left = made(TEXT, *spans, key="key")
    found = sorted((span.text, span.label_) for span in doc.spans["key"])
    assert found == [("Ann", "B"), ("Ann Lee", "A"), ("Lee", "C")]
    assert (left, doc.ents) == ([("Le", "BAD")], ())


def test_many_texts() -> None:
    ends = {"Ann": 3, "": 3, "Lee": 2, "Bob": 3}
    texts = [AnnotatedText(text, text, (Offsets(0, end, "A"),)) for text, end in ends.items()]
    docs, left = offsets.make_docs(NLP, iter(texts), None)
    assert [(doc.text, len(doc.ents)) for doc in docs] == [("Ann", 1), ("Lee", 0), ("Bob", 1)]
    assert [span.place for span in left] == ["", "Lee"]
    assert [len(doc.spans["key"]) for doc in offsets.make_docs(NLP, texts, "key")[0]] == [1, 0, 1]


letters = st.text("ab.-' \n\t\u00a0é😀", max_size=12)
lists = st.lists(st.tuples(st.integers(-3, 15), st.integers(-3, 15), st.sampled_from("AB")))


def trimmed(text: str, start: int, end: int, label: str) -> tuple[int, int, str] | None:
    """The span without white space at its ends; None where it is not in the text."""
    inner = text[start:end].strip() if 0 <= start < end <= len(text) else ""
    first = end - len(text[start:end].lstrip())
    return (first, first + len(inner), label) if inner else None


@given(letters, lists, st.sampled_from([None, "key"]))
def test_any_offsets(text: str, spans: list, key: str | None) -> None:
    doc, left = made(text, *spans, key=key)
    kept = [(span.start_char, span.end_char, span.label_) for span in doc.spans.get(key, doc.ents)]
    inside = {trimmed(text, *span) for span in spans} - {None}
    assert doc.text == text
    assert sorted(kept) == sorted(inside.intersection(kept))
    assert not key or set(kept) == {span for span in inside if doc.char_span(*span)}
    outside = {span for span in spans if trimmed(text, *span) is None}
    assert bool(outside) <= len(left) - len(inside) + len(kept) <= len(outside)


@given(letters, lists)
def test_tokens_of_what_is_left_out_are_unknown(text: str, spans: list) -> None:
    inside = [span for span in (trimmed(text, *span) for span in spans) if span]
    for token in made(text, *inside)[0]:
        first, last = token.idx, token.idx + len(token)
        touched = any(start < last and end > first for start, end, _ in inside)
        assert (token.ent_iob_ == "O") == (not touched), token


#: Characters, and a span of "Ann", as counted in characters and in units of UTF-16.
EMOJI = [
    ("😀 Ann left", (2, 5), (3, 6)),
    ("a😀b😀 Ann", (5, 8), (7, 10)),
    ("Ann 😀", (0, 3), (0, 3)),
]


@pytest.mark.parametrize(("text", "characters", "units"), EMOJI)
def test_offsets_in_utf16(text: str, characters: tuple, units: tuple) -> None:
    read = partial(offsets.make_doc, NLP)
    for span, utf16 in (characters, False), (units, True):
        doc, left_out = read(annotated(text, (*span, "PER")), utf16=utf16)
        assert ([entity.text for entity in doc.ents], left_out) == (["Ann"], [])
    left_out = read(annotated(text, (*units, "PER")))[1]
    assert [one.fits_utf16 for one in left_out] == ([] if units == characters else [True])


@pytest.mark.parametrize(("span", "fits"), [
    ((5, 8), True), ((5, 7), False), ((0, 99), False), ((-3, 8), False), ((0, 1), None),
    ((-3, -1), None), ((8, 5), False),
])  # fmt: skip
def test_whether_a_span_would_fit_in_utf16(span: tuple, fits: bool | None) -> None:
    _, (left_out,) = offsets.make_doc(NLP, annotated("ab 😀Ann", (*span, "PER")))
    assert left_out.fits_utf16 is fits


def test_long_labels_and_texts_are_shortened() -> None:
    _, (left_out,) = offsets.make_doc(NLP, annotated("x" * 10**5, (0, 10**5 - 1, "L" * 10**5)))
    assert len(str(left_out)) < 300
    assert len(left_out.text) < 300


@pytest.mark.parametrize(("start", "end"), [(0, 3), (1, 2)])
@pytest.mark.parametrize("is_nested", [False, True])
def test_time_is_linear_in_the_spans(start: int, end: int, *, is_nested: bool) -> None:
    def text_of(number: int) -> AnnotatedText:
        starts = [8 * i for i in range(number)]
        spans = [(start if is_nested else i + start, i + end, "A") for i in starts]
        return annotated("Ann saw " * number, *spans)

    texts = {number: text_of(number) for number in (500, 4000)}
    assert growth(lambda number: offsets.make_doc(NLP, texts[number]), 500, times=8) < 24
