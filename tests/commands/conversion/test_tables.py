"""CSV and TSV files whose first line names the columns."""

import gzip
import re
from pathlib import Path

import pytest
import spacy
from spacy.tokens import Doc

from spacy_ssvm.commands.conversion.files import Settings, convert_file

NLP = spacy.blank("en")
KAGGLE = """Sentence #,Word,POS,Tag
Sentence: 1,In,IN,O
,New,NNP,B-geo
,York,NNP,I-geo
Sentence: 2,\"\"\"\",``,O
,"1,000",CD,O
"""
REPEATED = """sentence_id\twords\tlabels
0\tIn\tO
0\tNew\tB-geo
0\tYork\tI-geo
1\t"\tO
1\t1,000\tO
"""
LINES = """Token\tNER

In\tO
New\tB-geo
York\tI-geo
\t
"\tO
1,000\tO
"""


def made(file: Path, text: str, **settings: object) -> list[Doc]:
    file.write_text(text, encoding="utf8")
    return convert_file(file, NLP, Settings(**settings)).docs  # type: ignore[arg-type]


def entities(docs: list[Doc]) -> list[tuple[list[str], list[tuple[str, str]]]]:
    return [([t.text for t in doc], [(e.text, e.label_) for e in doc.ents]) for doc in docs]


@pytest.mark.parametrize(("name", "text"), [
    ("a.csv", KAGGLE), ("a.CSV", KAGGLE.replace("1,000", "1;000").replace(",", ";")),
    ("a.tsv", REPEATED), ("a.tsv", LINES), ("a.csv", LINES),
])  # fmt: skip
def test_a_token_a_line(tmp_path: Path, name: str, text: str) -> None:
    docs = made(tmp_path / name, text)
    last = docs[1][1].text
    assert entities(docs) == [(["In", "New", "York"], [("New York", "geo")]), (['"', last], [])]
    assert last in ("1,000", "1;000")


def test_columns_of_tags(tmp_path: Path) -> None:
    docs = made(tmp_path / "a.csv", KAGGLE)
    assert [token.tag_ for token in docs[0]] == ["IN", "NNP", "NNP"]
    tags = made(tmp_path / "a.csv", "word,tag\nNew,NNP\nYork,NNP\n", tag=1)
    assert [token.tag_ for token in tags[0]] == ["NNP", "NNP"]
    assert not tags[0].has_annotation("ENT_IOB")
    text = "word,first,tag\nNew,B-x,B-a\nYork,O,B-b\n"
    (doc,) = made(tmp_path / "a.csv", text, span=1, spans_key="key")
    assert [(span.text, span.label_) for span in doc.spans["key"]] == [("New", "x")]


@pytest.mark.parametrize("spans", ['"[[0, 3, ""PER""]]"', "\"[(0, 3, 'PER')]\""])
@pytest.mark.parametrize("key", ["entities", "Label"])
def test_a_text_a_line(tmp_path: Path, spans: str, key: str) -> None:
    long = "x" * 200_000
    text = f'id,text,{key}\n1,"Ann, or\n""Bob""",{spans}\n2,Bob {long},[]\n'
    docs = made(tmp_path / "a.csv", text)
    assert [doc.text for doc in docs] == ['Ann, or\n"Bob"', f"Bob {long}"]
    assert [[entity.text for entity in doc.ents] for doc in docs] == [["Ann"], []]
    file = tmp_path / "a.csv.gz"
    file.write_bytes(gzip.compress(text.encode()))
    assert len(convert_file(file, NLP, Settings()).docs) == 2


def test_bad_lines_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    bad = ["Bob,sport", "Bob,7", "Bob", "Bob,[],3", 'Bob,"[[0, 3]]"', f"Bob,{'(' * 10**5}"]
    text = "\n".join(['text,label\n"Ann\nsleeps",[]', *bad, "Bob,[]"])
    file.write_text(text, encoding="utf8")
    docs, left_out, *_ = convert_file(file, NLP, Settings())
    assert len(docs) == 2
    assert [one.place for one in left_out] == [f"{file}, line {i}" for i in range(4, 10)]
    file.write_text("word,ner\nAnn,B-PER\n\nBob,PER\n,O\n\nLee,O\nJay", encoding="utf8")
    docs, left_out, *_ = convert_file(file, NLP, Settings())
    assert entities(docs) == [(["Ann"], [("Ann", "PER")])]
    assert [one.place for one in left_out] == [f"{file}, line {i}" for i in (5, 8)]


@pytest.mark.parametrize(("text", "problem"), [
    ("Ann,B-PER\n", "the first line must name the columns"), ("", "the first line must name"),
    ("word,id\nAnn,3\n", "must name"), ("text,id\nAnn,3\n", "must name"),
    ("text,label\nAnn,sport\n", "line 2: expected a list"), ("word,ner\n", "no sentences"),
    ('text,label\nAnn,[]\n"Bob,[]\nLee,[]\n', "line 3: .*unexpected end"),
])  # fmt: skip
def test_what_is_no_table(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(str(tmp_path))}.*{problem}"):
        made(tmp_path / "a.csv", text)


def test_columns_without_names(tmp_path: Path) -> None:
    docs = made(tmp_path / "a.tsv", "Ann\tB-PER\nsleeps\tO\n")
    assert entities(docs) == [(["Ann", "sleeps"], [("Ann", "PER")])]
