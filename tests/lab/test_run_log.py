"""The folder of rows that were learned: resumed after any interruption, or refused."""

import os
from pathlib import Path
from typing import NamedTuple

import pytest
from thinc.api import Config

from spacy_ssvm.lab.run_log import RunLog

CONFIG = Config({"training": {"max_epochs": 3}})


class Row(NamedTuple):
    name: str
    score: float


ROWS = [Row("a", 0.1), Row("b", 1 / 3 + 1e-16), Row("ü", 1.0)]


def resume(folder: Path) -> RunLog[Row]:
    return RunLog(folder / "rows.jsonl", CONFIG, Row, resume=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    record = RunLog(tmp_path / "out" / "rows.jsonl", CONFIG, Row)
    for row in ROWS:
        record.add(row)
    return tmp_path / "out"


def test_rows_and_config_are_there_again(folder: Path) -> None:
    assert resume(folder).rows == ROWS
    assert Config().from_disk(folder / "config.cfg") == CONFIG
    assert sorted(path.name for path in folder.iterdir()) == ["config.cfg", "rows.jsonl"]


def test_a_torn_last_line_is_dropped_wherever_it_ends(folder: Path) -> None:
    file = folder / "rows.jsonl"
    whole = file.read_bytes()
    for length in range(len(whole) + 1):
        file.write_bytes(whole[:length])
        complete = whole[:length].count(b"\n")
        assert resume(folder).rows == ROWS[:complete]
        record = resume(folder)
        for row in ROWS[complete:]:
            record.add(row)
        assert file.read_bytes() == whole


@pytest.mark.parametrize(
    "line", ["", "{", "3", "[]", "[" * 100_000, '{"name": "a"}', '{"other": 1}']
)
def test_a_damaged_line_is_refused(folder: Path, line: str) -> None:
    file = folder / "rows.jsonl"
    first, _, last = file.read_text(encoding="utf8").splitlines()
    file.write_text(f"{first}\n{line}\n{last}\n", encoding="utf8")
    with pytest.raises(ValueError, match=r"rows\.jsonl, line 2, is damaged"):
        resume(folder)
    assert len(file.read_text(encoding="utf8").splitlines()) == 3


def test_an_interrupted_start_leaves_no_config(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        with pytest.raises(OSError, match="no space"):
            resume(tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert resume(tmp_path).rows == []


def test_rows_without_their_config(folder: Path) -> None:
    (folder / "config.cfg").unlink()
    with pytest.raises(OSError, match=r"config\.cfg"):
        resume(folder)
