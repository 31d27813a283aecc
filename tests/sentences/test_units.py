"""Tests of ``spacy_ssvm/sentences/units.py``."""

from itertools import groupby

import numpy as np
import pytest
import spacy
from feature_strategies import checked, drawn_docs
from hypothesis import given
from hypothesis import strategies as st
from spacy.strings import hash_string
from spacy.tokens import Doc, Span

from spacy_ssvm.features.attributes import AttributeReader
from spacy_ssvm.sentences.units import (
    LINES,
    PARAGRAPHS,
    POSITIONS,
    SENTENCES,
    SPANS,
    MissingUnitsError,
    UnitReader,
    Units,
    class_text,
    find_units,
    has_units,
    positions,
)

pytestmark = pytest.mark.uncompiled

NLP = spacy.blank("en")


def texts(doc: Doc, units: Units) -> list[str]:
    return [doc[a:b].text for a, b in find_units(doc, units).tolist()]


@pytest.mark.parametrize(
    ("text", "lines", "paragraphs"),
    [
        ("a b", ["a b"], ["a b"]),
        ("a b\nc", ["a b", "c"], ["a b\nc"]),
        ("a\n\nb\nc", ["a", "b", "c"], ["a", "b\nc"]),
        ("\n\na\n \n b \n", ["a", "b"], ["a", "b"]),
        ("a  b\r\nc", ["a  b", "c"], ["a  b\r\nc"]),
        ("", [], []),
        ("\n \n", [], []),
    ],
)
def test_lines_and_paragraphs(text: str, lines: list[str], paragraphs: list[str]) -> None:
    doc = NLP(text)
    assert texts(doc, Units(LINES)) == lines
    assert texts(doc, Units(PARAGRAPHS)) == paragraphs


def test_line_breaks_of_adjacent_whitespace_tokens_add_up() -> None:
    words = ["a", "\n", "\n", "b", "\n", "c"]
    doc = Doc(NLP.vocab, words=words, spaces=[False] * 6)
    assert find_units(doc, Units(PARAGRAPHS)).tolist() == [[0, 1], [3, 6]]
    assert find_units(doc, Units(LINES)).tolist() == [[0, 1], [3, 4], [5, 6]]


def test_sentences_are_those_of_the_doc() -> None:
    doc = Doc(NLP.vocab, words=list("abcd"), sent_starts=[True, False, True, None])
    assert find_units(doc, Units()).tolist() == [[s.start, s.end] for s in doc.sents]
    assert find_units(NLP(""), Units()).tolist() == []
    assert find_units(NLP("one"), Units()).tolist() == [[0, 1]]


def test_spans_are_sorted() -> None:
    doc = NLP("a b c d e")
    doc.spans["x"] = [doc[3:5], doc[0:2], doc[0:2]]
    assert find_units(doc, Units(SPANS, "x")).tolist() == [[0, 2], [3, 5]]
    doc.spans["x"] = []
    assert find_units(doc, Units(SPANS, "x")).shape == (0, 2)


def test_spans_that_overlap() -> None:
    doc = NLP("a b c d")
    doc.spans["x"] = [doc[0:2], doc[1:3]]
    with pytest.raises(ValueError, match=r"'a b' .*token 1 of doc\.spans\['x'\] overlap"):
        find_units(doc, Units(SPANS, "x"))


def test_docs_without_units() -> None:
    doc = NLP("a b")
    assert not has_units(doc, Units())
    assert has_units(doc, Units(LINES))
    with pytest.raises(MissingUnitsError, match="'a b' has no sentence boundaries"):
        find_units(doc, Units())
    with pytest.raises(MissingUnitsError, match=r"'a b' has no doc.spans\['x'\]"):
        find_units(doc, Units(SPANS, "x"))


@checked
@given(drawn_docs(), st.sampled_from([SENTENCES, LINES, PARAGRAPHS]))
def test_a_table_holds_the_units_with_words(docs: list[Doc], kind: str) -> None:
    docs = [doc for doc in docs if has_units(doc, Units(kind))]
    if not docs:
        return
    names = ["position", "index", "index_from_end", "count", "length"]
    reader = UnitReader(Units(kind), ["lower", "tag"], names)
    found = reader.read(docs)
    words, expected, numbers = [], [], [0]
    for doc in docs:
        units = [(a, b) for a, b in find_units(doc, Units(kind)).tolist() if doc[a:b].text.strip()]
        for a, b in units:
            words.append([token.lower_ for token in doc[a:b] if not token.is_space])
            expected.append([a, b])
        numbers.append(numbers[-1] + len(units))
    assert found.bounds.tolist() == expected
    assert found.table.doc_units.tolist() == numbers
    column = found.table.words[:, reader.names.index("lower")].tolist()
    assert [list(map(hash_string, unit)) for unit in words] == [
        column[a:b] for a, b in zip(found.table.starts, found.table.ends, strict=True)
    ]
    attributes = AttributeReader(["lower", "tag"]).read(docs).attributes
    assert np.array_equal(found.table.words, attributes)
    lengths = found.table.attributes[:, reader.unit_names.index("length")]
    assert [class_text(int(n) - 1) for n in lengths] == list(map(length_class, map(len, words)))


def length_class(n: int) -> str:
    ends = [1, 2, 3, 4, 6, 9, 14, 19, 24, 29, 39, 59]
    for least, most in zip([0, *ends], ends, strict=False):
        if n <= most:
            return str(most) if most == least + 1 else f"{least + 1}-{most}"
    return "60+"


def test_classes_of_lengths() -> None:
    assert [length_class(n) for n in (4, 5, 59, 60)] == ["4", "5-6", "40-59", "60+"]
    doc = NLP(" ".join("a" * 60) + "\n" + " ".join("b" * 40) + "\nc")
    reader = UnitReader(Units(LINES), [], ["length", "count", "index", "index_from_end"])
    found = reader.read([doc])
    assert [
        [reader.unit_value(name, found, doc, u) for name in reader.unit_names] for u in range(3)
    ] == [["3", "1", "3", "60+"], ["3", "2", "2", "40-59"], ["3", "3", "1", "1"]]


def test_positions() -> None:
    def of(count: int) -> list[str]:
        index = np.arange(count)
        return [POSITIONS[k] for k in positions(index, np.full(count, count))]

    assert of(1) == ["first"]
    assert of(2) == ["first", "last"]
    assert of(3) == ["first", "tenth 4", "last"]
    assert of(20)[1:4] == ["tenth 1", "tenth 2", "tenth 2"]
    assert [name for name, _ in groupby(of(100))] == ["first", *POSITIONS[2:], "last"]


def test_extensions_of_spans() -> None:
    Span.set_extension("section", getter=lambda span: span[0].text if span[0].i else None)
    try:
        reader = UnitReader(Units(LINES), ["lower"], ["_.section"])
        docs = [NLP("a b\nc"), NLP("d"), NLP("e\nc")]
        found = reader.read(docs)
        values = found.table.attributes[:, 0].tolist()
        assert values[0] == values[2] == values[3] == 0
        assert values[1] == values[4] != 0
        assert reader.unit_value("_.section", found, docs[0], 0) is None
        assert reader.unit_value("_.section", found, docs[0], 1) == "c"
    finally:
        Span.remove_extension("section")
    with pytest.raises(ValueError, match="spans have no extension of that name"):
        reader.inputs(docs[0])


def test_inputs_are_all_that_is_read() -> None:
    doc = Doc(NLP.vocab, words=list("abcd"), sent_starts=[True, False, True, False])
    reader = UnitReader(Units(), ["lower"], ["position"])
    before = reader.inputs(doc)
    again = reader.read([doc], [before.copy()])
    assert np.array_equal(again.bounds, reader.read([doc]).bounds)
    doc.spans["x"] = [doc[0:1]]
    assert np.array_equal(reader.inputs(doc), before)
    doc[1].is_sent_start = True
    assert not np.array_equal(reader.inputs(doc), before)
    spans = UnitReader(Units(SPANS, "x"), ["lower"], [])
    before = spans.inputs(doc)
    doc.spans["x"] = [doc[0:2]]
    assert not np.array_equal(spans.inputs(doc), before)
    doc.spans["x"] = [doc[0:1], doc[1:2]]
    assert spans.read([doc]).bounds.tolist() == [[0, 1], [1, 2]]
