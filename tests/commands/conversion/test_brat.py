"""Texts with standoff annotations, as brat writes them."""

import re
from pathlib import Path

import pytest
import spacy

from spacy_ssvm.commands.conversion.brat import read_brat
from spacy_ssvm.commands.conversion.offsets import Offsets, make_doc


def written(folder: Path, text: bytes, annotations: bytes) -> Path:
    (folder / "a.txt").write_bytes(text)
    (folder / "a.ann").write_bytes(annotations)
    return folder / "a.ann"


def test_lines_that_are_no_spans(tmp_path: Path) -> None:
    lines = b"R1\tKnows Arg1:T1 Arg2:T2\t\nE1\tSleep:T2\n\n#1\tNote T1\tT-shirt\n*\tEquiv T1 T2\n"
    path = written(tmp_path, b"\xe9 Ann", lines + b"T1\t\xc9T\xc9 2 5\tAnn")
    read, left = read_brat(path, "latin-1")
    assert (read.text, read.spans, left) == ("é Ann", (Offsets(2, 5, "ÉTÉ"),), [])


def test_a_byte_order_mark(tmp_path: Path) -> None:
    read, _ = read_brat(written(tmp_path, b"Ann Lee", b"\xef\xbb\xbfT1\tPER 0 3\tAnn\n"))
    assert read.spans == (Offsets(0, 3, "PER"),)


def test_a_line_end_of_two_characters(tmp_path: Path) -> None:
    lines = b"T1\tPER 0 3\tAnn\r\nT2\tPER 5 8\tLee\r\n"
    read, _ = read_brat(written(tmp_path, b"Ann\r\nLee\r\n", lines))
    assert [read.text[start:end] for start, end, _ in read.spans] == ["Ann", "Lee"]


def test_spans_of_several_pieces_are_left_out(tmp_path: Path) -> None:
    lines = b"T1\tLOC 8 12\tHill\nT2\tPER 0 3;8 12\tAnn Hill\n"
    read, (left,) = read_brat(written(tmp_path, b"Ann and Hill", lines))
    assert read.spans == (Offsets(8, 12, "LOC"),)
    assert (left.label, left.text) == ("PER", "Ann Hill")
    assert str(left).startswith(str(tmp_path / "a.ann"))


@pytest.mark.parametrize("line", [
    "T1", "T1\t", "T1\tPER", "T1\tPER 0\tAnn", "T1\tPER a 3\tAnn", "T1\tPER 0 3.5\tAnn",
    "T1\t0 3\tAnn", "T1 PER 0 3 Ann", "T1\tPER 0 3 4\tAnn", "T1\tPER 0 3;\tAnn",
    "T1\tPER 0 3;5\tAnn", "T1\tPER 0 a;5 6\tAnn", "T1\t0 3;5 6\tAnn",
])  # fmt: skip
def test_malformed_spans(tmp_path: Path, line: str) -> None:
    path = written(tmp_path, b"Ann sleeps", f"T1\tPER 0 3\tAnn\n#1\tnote\n{line}\n".encode())
    with pytest.raises(ValueError, match="^" + re.escape(f"{path}, line 3") + r"\b"):
        read_brat(path)


def test_a_missing_text(tmp_path: Path) -> None:
    (tmp_path / "a.ann").touch()
    with pytest.raises(ValueError, match=re.escape(str(tmp_path / "a.txt"))):
        read_brat(tmp_path / "a.ann")


def test_it_is_unknown_what_the_words_of_several_pieces_are(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Ann and Bob Hill sleep", encoding="utf8")
    (tmp_path / "a.ann").write_text("T1\tPER 0 3;12 16\tAnn Hill\nT2\tPER 8 16\tBob Hill\n", "utf8")
    text, (left_out,) = read_brat(tmp_path / "a.ann")
    assert text.unknown == ((0, 3), (12, 16))
    assert left_out.text == "Ann Hill"
    doc, _ = make_doc(spacy.blank("en"), text)
    assert [token.ent_iob_ for token in doc] == ["", "O", "B", "I", "O"]
