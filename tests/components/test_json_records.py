"""Records of JSON files are read with their places, or refused by file and line."""

import re
from pathlib import Path

import pytest

from spacy_ssvm.components.json_records import read_records


@pytest.mark.parametrize(("mark", "encoding"), [
    ("", "utf8"), ("\ufeff", "utf8"), ("\ufeff", "utf-8"), ("", "latin-1"), ("", "utf-16"),
])  # fmt: skip
def test_places(tmp_path: Path, mark: str, encoding: str) -> None:
    lines, one = tmp_path / "a.jsonl", tmp_path / "a.json"
    lines.write_bytes(f'{mark}\r\n1\r\n  \n"é\x85"'.encode(encoding))
    one.write_bytes(f'{mark}[\n\n1,\n\n\n"é\x85"]\n'.encode(encoding))
    for path, places in (lines, ["line 2", "line 4"]), (one, ["record 1", "record 2"]):
        expected = [(f"{path}, {places[0]}", 1), (f"{path}, {places[1]}", "é\x85")]
        assert list(read_records(path, encoding)) == expected


def test_lines_in_a_file_of_the_other_ending(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('\n{"text": "a"}\n{"text": "b"}\n', encoding="utf8")
    assert [*read_records(path)] == [
        (f"{path}, line {number}", {"text": text}) for number, text in ((2, "a"), (3, "b"))
    ]


@pytest.mark.parametrize(("name", "data", "encoding", "line"), [
    ("a.jsonl", b'\n{"a": 1}\n{"a": \n', "utf8", ", line 3"),
    ("a.jsonl", b"1\n" + b"[" * 100_000, "utf8", ", line 2"),
    ("a.json", b"[1,\n,,]", "utf8", ".*line 2"),
    ("a.json", b'{"text": "a"}', "utf8", ""), ("a.jsonl", b'"\xe9"\n', "utf8", ""),
    ("a.json", b"[1]\n", "nosuch", ""), ("a.json", b"[1]\n", "hex", ""),
])  # fmt: skip
def test_refused_files(tmp_path: Path, name: str, data: bytes, encoding: str, line: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(ValueError, match=f"^{re.escape(str(path))}{line}\\b"):
        list(read_records(path, encoding))
