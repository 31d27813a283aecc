"""Column files become Docs; what is wrong with them is named by file and line."""

import gzip
import re
from pathlib import Path

import pytest
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab
from typer.testing import CliRunner

from spacy_ssvm.cli import ssvm
from spacy_ssvm.components.columns import make_doc, read_sentences


def docs_of(path: Path, text: str, **columns: object) -> list[Doc]:
    path.write_text(text, encoding="utf8")
    settings = {"word": 0, "span": -1, **columns}
    return [make_doc(Vocab(), path, sentence, **settings) for sentence in read_sentences(path)]


def entities(doc: Doc) -> list[tuple[str, str]]:
    return [(entity.text, entity.label_) for entity in doc.ents]


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("B-PER I-PER O B-LOC", [("a b", "PER"), ("d", "LOC")]),
        ("I-PER I-PER O I-LOC", [("a b", "PER"), ("d", "LOC")]),  # IOB1
        ("I-PER B-PER I-PER O", [("a", "PER"), ("b c", "PER")]),  # IOB1, two in a row
        ("B-PER L-PER U-PER U-LOC", [("a b", "PER"), ("c", "PER"), ("d", "LOC")]),
        ("B-PER E-PER S-PER O", [("a b", "PER"), ("c", "PER")]),
        ("B-PER I-LOC I-LOC O", [("a", "PER"), ("b c", "LOC")]),
        ("O O O O", []),
    ],
)
def test_schemes_of_tags(tmp_path: Path, tags: str, expected: list[tuple[str, str]]) -> None:
    lines = [f"{word} {tag}" for word, tag in zip("abcd", tags.split(), strict=True)]
    (doc,) = docs_of(tmp_path / "file.conll", "\n".join(lines))
    assert entities(doc) == expected
    assert all(token.ent_iob for token in doc)  # what is not a span is known not to be one


def test_what_parts_sentences(tmp_path: Path) -> None:
    text = "-DOCSTART- -X- O\n\n# sent_id = 1\na O\n\t\nb O\n   \n\n# newdoc\n# O\nc O\n"
    docs = docs_of(tmp_path / "file.conll", text)
    assert [[token.text for token in doc] for doc in docs] == [["a"], ["b"], ["#", "c"]]


def test_tags_and_spans_of_other_columns(tmp_path: Path) -> None:
    text = "1\tNew York\tNNP\tB-LOC\n2\tsleeps\tVBZ\tO\n"
    (doc,) = docs_of(tmp_path / "file.conll", text, word=1, tag=2, span=3, spans_key="chunks")
    assert [token.text for token in doc] == ["New York", "sleeps"]
    assert [token.tag_ for token in doc] == ["NNP", "VBZ"]
    assert [(span.text, span.label_) for span in doc.spans["chunks"]] == [("New York", "LOC")]
    assert not doc.ents


@pytest.mark.parametrize("tag", [1, -1])
def test_files_of_words_and_tags(tmp_path: Path, tag: int) -> None:
    (doc,) = docs_of(tmp_path / "file.txt", "We PRP\nsing VBP\n", tag=tag)
    assert [token.tag_ for token in doc] == ["PRP", "VBP"]
    assert not doc.has_annotation("ENT_IOB"), "it is not known whether there are entities"


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        ("a O\nb X-PER\n", {}, "line 2: 'X-PER', in column 1 (from 0), is no tag of a span"),
        ("a O\n#  \n", {}, "line 2: '#', in column 0 (from 0), is no tag of a span"),
        ("a O\nb B-\n", {}, "line 2: 'B-', in column 1 (from 0), is no tag of a span"),
        ("a O\n\nb O\n", {"span": 2}, "line 1: there is no column 2 for the spans, but 2"),
        ("a O\nb\tO\n", {"word": 3}, "line 1: there is no column 3 for the word"),
    ],
)
def test_malformed_lines(tmp_path: Path, text: str, columns: dict, message: str) -> None:
    path = tmp_path / "file.conll"
    with pytest.raises(ValueError, match=re.escape(f"{path}, {message}")):
        docs_of(path, text, **columns)


def test_encodings(tmp_path: Path) -> None:
    path = tmp_path / "file.conll"
    path.write_bytes("Málaga B-LOC\n".encode("latin-1"))
    with pytest.raises(ValueError, match=f"{re.escape(str(path))}: cannot be read as utf8"):
        list(read_sentences(path))
    ((token,),) = read_sentences(path, encoding="latin-1")
    assert token.columns == ["Málaga", "B-LOC"]


@pytest.mark.parametrize("cut", [0, 3])
def test_compressed_files(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "file.conll.gz"
    data = gzip.compress("Málaga B-LOC\n".encode())
    path.write_bytes(data[: len(data) - cut])
    if cut:
        with pytest.raises(ValueError, match=f"{re.escape(str(path))}: cannot be read"):
            list(read_sentences(path))
    else:
        ((token,),) = read_sentences(path)
        assert token.columns == ["Málaga", "B-LOC"]


def test_the_command(tmp_path: Path) -> None:
    path = tmp_path / "train.conll"
    path.write_text("Ann B-PER\nsleeps O\n\nLee B-PER\n", encoding="utf8")
    output = tmp_path / "corpus"
    result = CliRunner().invoke(ssvm, ["convert", str(path), "--output", str(output)])
    assert result.exit_code == 0, result.output
    docs = list(DocBin().from_disk(output / "train.spacy").get_docs(Vocab()))
    assert [entities(doc) for doc in docs] == [[("Ann", "PER")], [("Lee", "PER")]]
    path.write_text("Ann B-PER\nsleeps\n", encoding="utf8")
    result = CliRunner().invoke(ssvm, ["convert", str(path), "--output", str(tmp_path / "none")])
    assert result.exit_code == 1
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(("data", "options", "problem"), [
    (b"a O\n", ["--encoding", "nosuch"], "cannot be read as nosuch: unknown encoding"),
    (b"a O\n", ["--encoding", "hex"], "cannot be read as hex: "),
    (b"a O\n", ["--encoding", "utf-16"], "cannot be read as utf-16: "),
    (b"\xe9 O\n", [], "cannot be read as utf8: "),
    (b"\n# a = b\n", [], "there are no sentences"),
    (b"a O\n", ["--word", "5"], "line 1: there is no column 5 for the word"),
])  # fmt: skip
def test_what_cannot_be_converted(
    tmp_path: Path, data: bytes, options: list[str], problem: str
) -> None:
    good, bad, output = tmp_path / "good.conll", tmp_path / "bad.conll", tmp_path / "corpus"
    good.write_text("a O\n", encoding="utf8")
    bad.write_bytes(data)
    files = [str(good), str(bad)]
    result = CliRunner().invoke(ssvm, ["convert", *files, "--output", str(output), *options])
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit), "no traceback"
    assert "Cannot convert" in result.output
    assert problem in " ".join(result.output.split())
    assert not output.exists(), "no file is written unless all can be"


def test_files_that_would_be_written_to_the_same_place(tmp_path: Path) -> None:
    files = [tmp_path / "a" / "train.conll", tmp_path / "b" / "train.txt"]
    for file in files:
        file.parent.mkdir()
        file.write_text("a O\n", encoding="utf8")
    output = tmp_path / "corpus"
    result = CliRunner().invoke(ssvm, ["convert", *map(str, files), "--output", str(output)])
    assert result.exit_code == 1
    assert "two of the files would be written to" in " ".join(result.output.split())
    assert not output.exists()
