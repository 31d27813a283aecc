"""Texts are annotated by several processes: each row once, in its order."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import spacy
from processes import environment, plain
from spacy.language import Language
from spacy.tokens import DocBin

pa = pytest.importorskip("pyarrow", reason="Ray Data is not installed")
pytest.importorskip("ray", reason="Ray is not installed")

from spacy_ssvm.distributed import annotation  # noqa: E402
from spacy_ssvm.distributed.annotation import Annotator, read  # noqa: E402


def annotated(nlp: Language, rows: list[dict[str, Any]], column: str = "text") -> Any:
    annotator = Annotator(lambda: nlp, column, as_lines=False)
    return annotator(pa.Table.from_pylist(rows)).to_pylist()


def test_rows_keep_their_columns(trained_tagger: Language) -> None:
    rows = [{"id": i, "said": text} for i, text in enumerate(["The dog barks", "", " \n", "now"])]
    found = annotated(trained_tagger, rows, "said")
    assert [{key: row[key] for key in ("id", "said")} for row in found] == rows
    docs = [trained_tagger(row["said"]).to_json() for row in rows]
    assert [json.loads(row["doc"]) for row in found] == docs
    assert [row["error"] for row in found] == [None] * 4


def test_rows_become_lines(trained_tagger: Language) -> None:
    rows = [{"id": 1, "text": 'says "naïve"\n'}, {"id": 2, "text": None}, {"id": 3, "text": ""}]
    annotator = Annotator(lambda: trained_tagger, "text", as_lines=True)
    table = annotator(pa.Table.from_pylist(rows))
    lines = [json.loads(line) for line in table.column("line").to_pylist()]
    assert all(line.endswith("}\n") for line in table.column("line").to_pylist())
    plain_rows = annotated(trained_tagger, rows)
    assert lines == [{**row, "doc": row["doc"] and json.loads(row["doc"])} for row in plain_rows]
    assert table.column("error").to_pylist() == [None, "not a text but NoneType", None]


def test_words_are_forgotten(
    trained_tagger: Language, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(annotation, "_CHARACTERS", 50)
    trained_tagger.to_disk(tmp_path)
    nlp = spacy.load(tmp_path)
    annotator = Annotator(lambda: nlp, "text", as_lines=False)
    known = []
    for i in range(12):
        rows = [{"text": f"The new{i}word{j} barks"} for j in range(5)]
        found = annotator(pa.Table.from_pylist(rows)).to_pylist()
        docs = [trained_tagger(row["text"]).to_json() for row in rows]
        assert [json.loads(row["doc"]) for row in found] == docs
        known.append(sum(f"new{k}word0" in nlp.vocab.strings for k in range(12)))
    assert known == [1] * 12, "that of the first batch, which is kept"


def test_what_is_no_text_has_an_error(trained_tagger: Language) -> None:
    found = annotated(trained_tagger, [{"text": "now"}, {"text": None}])
    assert [row["error"] for row in found] == [None, "not a text but NoneType"]
    assert [row["doc"] is None for row in found] == [False, True]


def test_an_error_of_the_pipeline_is_that_of_its_rows() -> None:
    @Language.component("refuses_seven")
    def refuse(doc: Any) -> Any:
        if doc.text == "seven":
            raise ValueError("not this one")
        return doc

    nlp = Language()
    nlp.add_pipe("refuses_seven")
    nlp.max_length = 10
    found = annotated(nlp, [{"text": t} for t in ("six", "seven", "eight and nine", "ten")])
    errors = [row["error"] for row in found]
    assert errors[1] == "refuses_seven: not this one"
    assert errors[2] == "longer than 10 characters (nlp.max_length)"
    assert [row["doc"] is None for row in found] == [False, True, True, False]


def test_columns_are_checked(trained_tagger: Language) -> None:
    with pytest.raises(ValueError, match="no column 'text' but said, id: see --column"):
        annotated(trained_tagger, [{"said": "x", "id": 1}])
    with pytest.raises(ValueError, match="have a column 'doc' already"):
        annotated(trained_tagger, [{"text": "x", "doc": "y"}])


@pytest.mark.parametrize("names", [[], ["a.txt", "b.jsonl"], ["a.csv"], [".hidden.txt"]])
def test_files_of_one_known_format_are_read(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        (tmp_path / name).write_text("", encoding="utf8")
    with pytest.raises(ValueError, match=r"Give one of \.jsonl, \.parquet, \.txt, \.spacy"):
        read(None, tmp_path)


def run(*arguments: Any) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "spacy", "ssvm", "annotate-ray", *map(str, arguments)],
        env=environment(COLUMNS="200"),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_the_order_of_the_input_is_kept(trained_tagger: Language, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    trained_tagger.to_disk(tmp_path / "model")
    texts = [f"The dog barks {i} times" for i in range(3000)]
    folder = tmp_path / "texts"
    folder.mkdir()
    for part in range(3):
        lines = [{"id": i, "text": texts[i]} for i in range(part * 1000, part * 1000 + 1000)]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"part-{part}.jsonl").write_text(text, encoding="utf8")
    found = run(tmp_path / "model", folder, tmp_path / "docs.parquet")
    assert found.returncode == 0, found.stdout + found.stderr
    rows = pq.read_table(tmp_path / "docs.parquet").to_pylist()
    assert [row["id"] for row in rows] == list(range(3000))
    assert all(json.loads(row["doc"])["text"] == row["text"] for row in rows)
    assert "Annotated 3,000 texts" in plain(found.stdout)

    docs = [trained_tagger.make_doc(text) for text in texts[:10]]
    DocBin(docs=docs).to_disk(tmp_path / "some.spacy")
    found = run(tmp_path / "model", tmp_path / "some.spacy", tmp_path / "docs.jsonl")
    assert found.returncode == 0, found.stdout + found.stderr
    lines = (tmp_path / "docs.jsonl").read_text(encoding="utf8").splitlines()
    assert [json.loads(line)["doc"]["text"] for line in lines] == texts[:10]

    again = run(tmp_path / "model", tmp_path / "some.spacy", tmp_path / "docs.jsonl")
    assert again.returncode == 1
    assert "--overwrite" in plain(again.stdout)
    wrong = run(tmp_path / "model", tmp_path / "some.spacy", tmp_path / "docs.csv")
    assert wrong.returncode == 1
    assert "must end in .jsonl or .parquet" in plain(wrong.stdout)
    assert not (tmp_path / "docs.csv").exists()
