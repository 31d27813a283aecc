"""Texts with the decisions of a pipeline, as one page."""

import json
from pathlib import Path
from typing import Any

import pytest
from pipelines import RECOGNIZER
from spacy.tokens import DocBin
from typer.testing import CliRunner

from spacy_ssvm.commands.cli import ssvm


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a pipeline, a text, and annotated texts, the second of which is wrong."""
    folder = tmp_path_factory.mktemp("render")
    nlp = RECOGNIZER.trained()
    nlp.to_disk(folder / "pipeline")
    (folder / "letter.txt").write_text("Mary Smith sings .\n\n\nThe end .\n", encoding="utf8")
    records = [
        {"text": "Mary Smith sings .", "entities": [[0, 10, "PER"]]},
        {"text": "Mary Smith sings .", "entities": [[0, 4, "PER"]]},
    ]
    lines = "\n".join(map(json.dumps, records))
    (folder / "gold.jsonl").write_text(lines, encoding="utf8")
    docs = [example.reference for example in RECOGNIZER.examples(nlp.vocab)]
    DocBin(docs=docs).to_disk(folder / "gold.spacy")
    return folder


def render(folder: Path, file: str, *arguments: str) -> Any:
    paths = [str(folder / "pipeline"), str(folder / file), "-o", str(folder / "page.html")]
    return CliRunner().invoke(ssvm, ["render", *paths, *arguments])


def row(output: str) -> list[str]:
    return next(line for line in output.splitlines() if line.startswith("ssvm_ner")).split()[1:]


@pytest.mark.parametrize(
    ("file", "arguments", "counts"),
    [
        ("letter.txt", [], ["2", "-", "0"]),
        ("letter.txt", ["--texts", "1"], ["1", "-", "0"]),
        ("gold.jsonl", [], ["2", "8", "2"]),
        ("gold.jsonl", ["--errors"], ["1", "8", "2"]),
        ("gold.jsonl", ["--texts", "1"], ["1", "4", "0"]),
        ("gold.jsonl", ["--texts", "1", "--errors"], ["1", "8", "2"]),
        ("gold.jsonl", ["--components", "ssvm_ner"], ["2", "8", "2"]),
    ],
)
def test_pages(file: str, arguments: list[str], counts: list[str], saved: Path) -> None:
    result = render(saved, file, *arguments)
    assert result.exit_code == 0, result.output
    assert row(result.output) == counts
    page = (saved / "page.html").read_text(encoding="utf8")
    assert page.count('class="text"') == int(counts[0])
    assert ("are wrong" in page) == (counts[1] != "-")
    assert ('class="gold"' in page) == (counts[2] != "0")


def test_tokens_of_gold_stay_where_spaces_are_not_known(saved: Path) -> None:
    result = render(saved, "gold.spacy")
    assert result.exit_code == 0, result.output
    assert row(result.output)[2] == "0"


def show(folder: Path, *arguments: str) -> Any:
    return CliRunner().invoke(ssvm, ["show", str(folder / "pipeline"), *arguments])


def test_a_text_on_the_screen(saved: Path) -> None:
    result = show(saved, "Mary Smith\n sings .")
    assert result.exit_code == 0, result.output
    rows = [line.split() for line in result.output.splitlines() if line.strip()]
    assert rows[0] == ["word", "ssvm_ner", "conf."]
    assert [row[:2] for row in rows[2:]] == [
        ["Mary", "B-PER"],
        ["Smith", "L-PER"],
        ["sings", "O"],
        [".", "O"],
    ]
    assert all(float(row[2]) > 0 for row in rows[2:])


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [(["  "], "the text has no words"), (["a", "--components", "b"], "no component 'b' that can")],
)
def test_what_cannot_be_shown(arguments: list[str], problem: str, saved: Path) -> None:
    result = show(saved, *arguments)
    assert result.exit_code == 1
    assert problem in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("file", "arguments", "problem"),
    [
        ("letter.txt", ["--errors"], "letter.txt is plain text"),
        ("empty.txt", [], "empty.txt has no text"),
        ("gold.jsonl", ["--components", "nosuch"], "no component 'nosuch' that can be shown"),
        ("broken.jsonl", [], "broken.jsonl, line 1: this is not JSON"),
    ],
)
def test_what_cannot_be_rendered(
    file: str, arguments: list[str], problem: str, saved: Path
) -> None:
    (saved / "empty.txt").write_text("\n \n", encoding="utf8")
    (saved / "broken.jsonl").write_text("{", encoding="utf8")
    (saved / "page.html").unlink(missing_ok=True)
    result = render(saved, file, *arguments)
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit), "no traceback"
    assert problem in " ".join(result.output.split())
    assert not (saved / "page.html").exists()
