"""The Python code of documents and notebooks runs as it stands there."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from processes import TESTS

from spacy_ssvm.components.page import Page
from spacy_ssvm.explanation import Explanation

ROOT = TESTS.parent


@pytest.mark.parametrize("name", ["README.md", "docs/migrating.md"])
def test_snippets(name: str) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(encoding="utf8"), re.DOTALL)
    assert blocks
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, name, "exec"), names)
    assert names["doc"].text


def test_the_entry_of_the_spacy_universe(capsys: pytest.CaptureFixture[str]) -> None:
    entry = json.loads((ROOT / "assets" / "universe.json").read_text(encoding="utf8"))
    assert entry["pip"] == entry["id"] == "spacy-ssvm"
    names: dict[str, Any] = {}
    exec(compile("\n".join(entry["code_example"]), "universe.json", "exec"), names)
    assert [entity.text for entity in names["doc"].ents] == ["Ann", "Oslo"]
    assert "Oslo" in capsys.readouterr().out


def test_the_tour(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last line of a cell is what a notebook shows."""
    folder = ROOT / "examples"
    monkeypatch.chdir(folder)
    cells = json.loads(Path("tour.ipynb").read_text(encoding="utf8"))["cells"]
    names: dict[str, Any] = {}
    shown = []
    for cell in cells:
        if cell["cell_type"] != "code":
            continue
        assert not cell["outputs"], "outputs are not kept"
        lines = "".join(cell["source"]).splitlines()
        start = len(lines) - 1
        try:
            compile(lines[start], "tour", "eval")
        except SyntaxError:
            exec(compile("\n".join(lines), "tour", "exec"), names)
            continue
        exec(compile("\n".join(lines[:start]), "tour", "exec"), names)
        shown.append(eval(lines[start], names))
    assert {Page, Explanation, dict, list} <= {type(value) for value in shown}
    scores = next(value for value in shown if isinstance(value, dict) and "ents_f" in value)
    assert scores["ents_f"] > 0.5
    found = {entity.label_ for entity in names["doc"].ents}
    assert found
