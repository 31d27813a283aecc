"""What is written, summed up and shown of converted files; the command end to end."""

import csv
import gzip
import json
import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from spacy.tokens import Doc, DocBin, Span
from spacy.vocab import Vocab
from typer.testing import CliRunner

from spacy_ssvm.cli import ssvm
from spacy_ssvm.commands.conversion.convert import convert_files, labels_of, name_of, table, write
from spacy_ssvm.commands.conversion.files import Settings


def record(text: str, *entities: tuple[int, int, str]) -> str:
    return json.dumps({"text": text, "entities": entities}) + "\n"


def stored(path: Path) -> list[Doc]:
    return list(DocBin().from_disk(path).get_docs(Vocab()))


def texts(parts: Iterable[list[Doc]]) -> list[list[str]]:
    return [[doc.text for doc in docs] for docs in parts]


def run(*arguments: object) -> tuple[int, str, BaseException | None]:
    result = CliRunner().invoke(ssvm, ["convert", *map(str, arguments)])
    return result.exit_code, " ".join(result.output.split()), result.exception


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Two files; a text is in both."""
    files = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    files[0].write_text(record("Ann", (0, 3, "PER")) + record("Lee"), encoding="utf8")
    files[1].write_text(record("Ann") + record("z.B. Rom", (5, 8, "LOC")), encoding="utf8")
    return files


def test_what_is_written(tmp_path: Path, files: list[Path]) -> None:
    converted = convert_files(files, "de", Settings())
    assert [len(doc) for doc in converted[files[1]].docs] == [1, 2]
    each = write(tmp_path / "new" / "folder", converted, {}, 0)
    assert list(each) == [tmp_path / "new" / "folder" / f"{n}.spacy" for n in ("one", "two")]
    assert texts(each.values()) == texts(map(stored, each)) == [["Ann", "Lee"], ["Ann", "z.B. Rom"]]
    parts = write(tmp_path, converted, {"dev": 0.3, "test": 0.3}, 1)
    assert set(parts) == {tmp_path / f"{name}.spacy" for name in ("train", "dev", "test")}
    assert texts(parts.values()) == texts(map(stored, parts))
    assert sorted(texts(parts.values())) == [["Ann", "Ann"], ["Lee"], ["z.B. Rom"]]


def test_all_files_of_a_folder_of_brat(tmp_path: Path) -> None:
    """A text and its annotation are one file, also where both are named."""
    text, annotation = tmp_path / "a.txt", tmp_path / "a.ann"
    text.write_text("Ann sleeps", encoding="utf8")
    annotation.write_text("T1\tPER 0 3\tAnn\n", encoding="utf8")
    converted = convert_files([annotation, text], "en", Settings())
    assert texts(own.docs for own in converted.values()) == [["Ann sleeps"]]


def test_files_that_would_be_written_to_one(tmp_path: Path, files: list[Path]) -> None:
    first, second = convert_files(files, "en", Settings()).values()
    converted = {files[0]: first, tmp_path / "other" / "one.conllu": second}
    with pytest.raises(ValueError, match=r"one\.spacy"):
        write(tmp_path / "corpus", converted, {}, 0)
    assert not (tmp_path / "corpus").exists()
    assert len(write(tmp_path / "corpus", converted, {"dev": 0.2}, 0)) == 2


def test_tables() -> None:
    words = [("Rome", "B-LOC"), ("Bob", "B-PER"), ("Ann", "B-PER"), ("Ann", "B-PER")]
    docs = [Doc(Vocab(), words=[word, "sleeps"], ents=[tag, "O"]) for word, tag in words]
    docs[0].spans["key"] = [Span(docs[0], 0, 1, "LOC")]
    parts = {Path("train.spacy"): docs[:2], Path("dev.spacy"): docs[2:]}
    assert table(parts) == [("train.spacy", 2, 4, 3), ("dev.spacy", 2, 4, 2)]
    assert labels_of(parts) == [("PER", 3, "Ann, Bob"), ("LOC", 2, "Rome")]


def test_the_command_on_json_lines(tmp_path: Path) -> None:
    path, output = tmp_path / "a.jsonl", tmp_path / "corpus"
    lines = [record(f"Ann sleeps {i} hours", (0, 3, "PER")) for i in range(9)]
    path.write_text("".join(lines) + record("Xylophones", (0, 4, "TOOL")), encoding="utf8")
    code, shown, _ = run(path, "--output", output, "--dev", 0.2, "--seed", 3)
    assert code == 0, shown
    dev, train = map(stored, sorted(output.glob("*.spacy")))
    assert (len(train), len(dev)) == (8, 2)
    assert [entity.text for doc in train + dev for entity in doc.ents] == ["Ann"] * 9
    assert re.search(r"line 10\b.*(\bXylo\b.*\bTOOL\b|\bTOOL\b.*\bXylo\b)", shown)


def test_the_command_on_a_treebank(tmp_path: Path) -> None:
    row = "1\ta\ta\tX\tT\t_\t0\troot\t_\t_\n\n"
    path = tmp_path / "a.conllu"
    path.write_text(f"# newdoc\n{row}{row}# newdoc\n{row}", encoding="utf8")
    code, shown, _ = run(path, "--output", tmp_path, "--sentences", 0, "--lang", "xx")
    assert code == 0, shown
    assert [len([*doc.sents]) for doc in stored(tmp_path / "a.spacy")] == [2, 1]


@pytest.mark.parametrize(("data", "options", "problem"), [
    (record("Ann") + '{"text": \n', ["--strict"], "line 2"),
    (record("Ann", (0, 2, "PER")), ["--strict"], "line 1"),
    ('{"\\ud800": "a"}\n', [], "line 1"),
    ('{"text": "\\ud800", "entities": []}\n', [], "line 1"),
    ("\n", [], "there are no sentences"),
    (record("Ann"), ["--dev", "0.9", "--test", "0.9"], "train"),
    (record("Ann"), ["--encoding", "nosuch"], "nosuch"),
])  # fmt: skip
def test_a_bad_second_file(files: list[Path], data: str, options: list, problem: str) -> None:
    files[1].write_text(data, encoding="utf8")
    output = files[0].parent / "corpus"
    code, shown, error = run(*files, "--output", output, *options)
    assert (code, type(error)) == (1, SystemExit), shown
    assert problem in shown
    assert not output.exists()


#: Records that cannot be used, each wrong in another way.
WRONG = [
    '{"text": "Ann", "entities": null}', '{"text": "Ann"}', '{"entities": []}', '{"text": ', "[1]",
    '{"text": "Ann", "entities": [["0", "3", "PRODUCT"]]}', '{"text": 3, "entities": []}', '"Ann"',
    '{"text": "\\ud800", "entities": []}', '{"text": "Ann", "entities": [[0, 3, ""]]}',
    '{"text": "Ann", "label": "sport"}', '{"data": {"text": "a"}, "annotations": [{"result": 3}]}',
]  # fmt: skip


def test_all_faults_of_a_file_in_one_list(tmp_path: Path) -> None:
    path, output, wrong = tmp_path / "a.jsonl", tmp_path / "corpus", WRONG * 10
    lines = [record(f"Ann {i}", (0, 3, "PER")).strip() for i in range(300 - len(wrong))]
    lines += [*wrong, record("Xylophones", (0, 4, "TOOL")).strip()]
    order = sorted(range(301), key=lambda i: i * 97 % 301)
    path.write_text("\n".join(lines[i] for i in order), encoding="utf8")
    code, shown, _ = run(path, "--output", output)
    assert code == 0, shown
    assert "Left out 120 records and 1 span" in shown
    assert "... and 111 more" in shown
    assert len(stored(output / "a.spacy")) == 181
    with (output / "left_out.tsv").open(encoding="utf8", newline="") as file:
        rows = list(csv.DictReader(file, dialect="excel-tab"))
    bad = [number for number, i in enumerate(order, start=1) if i >= 300 - len(wrong)]
    assert [row["place"] for row in rows] == [f"{path}, line {number}" for number in bad]
    assert all(row["reason"] and path.name not in row["reason"] for row in rows)
    assert [(row["label"], row["text"]) for row in rows if row["label"]] == [("TOOL", "Xylo")]
    code, shown, _ = run(path, "--output", tmp_path / "new", "--strict")
    assert code == 1
    assert all(f"line {number}:" in shown for number in bad)
    assert not (tmp_path / "new").exists()
    path.write_text(record("Ann"), encoding="utf8")
    assert run(path, "--output", output)[0] == 0
    assert not (output / "left_out.tsv").exists(), "the list of another run"


def test_a_file_of_which_nothing_can_be_used(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(WRONG), encoding="utf8")
    code, shown, _ = run(path, "--output", tmp_path / "new")
    assert code == 1
    assert all(f"line {number}:" in shown for number in range(1, 11))
    assert f"... and {len(WRONG) - 10} more" in shown
    assert not (tmp_path / "new").exists()


def test_all_faults_of_a_treebank_in_one_list(tmp_path: Path) -> None:
    def sentence(word: str, head: int = 0, text: str = "") -> str:
        return f"# text = {text or word}\n1\t{word}\t_\tX\t_\t_\t{head}\troot\t_\t_\n\n"

    bank = tmp_path / "a.conllu"
    others = [sentence("c", text="d") for _ in range(30)]
    wrong = [sentence("b", head=3), "1\ttwo columns\n\n"]
    bank.write_text("".join([sentence("a"), *wrong, *others]), encoding="utf8")
    code, output, _ = run(bank, "--output", tmp_path / "out")
    assert code == 0
    assert "Left out 2 records" in output
    with (tmp_path / "out" / "left_out.tsv").open(encoding="utf8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert len(rows) == 32
    assert rows[0]["place"] == f"{bank}, line 5"
    assert rows[0]["reason"] == "the head is '3', not a number from 0 to 1"
    assert rows[1]["reason"].startswith("expected 10 columns")
    assert {row["reason"].partition(":")[0] for row in rows[2:]} == {"kept"}
    assert rows[-1]["place"] == f"{bank}, line 97"
    assert run(bank, "--output", tmp_path / "strict", "--strict")[0] == 1
    assert not (tmp_path / "strict").exists()


def test_wrong_sentences_and_files_of_other_formats(tmp_path: Path) -> None:
    """A document begins with the next sentence where its first one is wrong."""
    columns = "-DOCSTART-\n\na O\n\n-DOCSTART-\n\nb\n\nc X\n\nd O\n\ne O\n"
    (tmp_path / "a.conll").write_text(columns, encoding="utf8")
    for name in ("x", "y", "z"):
        (tmp_path / f"{name}.ann").write_text(f"T1\tPER 0 {name}\n" * (name == "y"), "utf8")
        (tmp_path / f"{name}.txt").write_text("Ann" * (name != "z"), "utf8")
    (tmp_path / "x.txt").unlink()
    (tmp_path / "z.txt").write_text("Ann", encoding="utf8")
    found = convert_files([tmp_path / "a.conll", tmp_path], "en", Settings(sentences=0))
    assert texts(own.docs for own in found.values()) == [["a ", "d e "], ["Ann"]]
    places = [one.place for own in found.values() for one in own.left_out]
    assert places == [f"{tmp_path / 'a.conll'}, line {i}" for i in (7, 9)] + [
        str(tmp_path / "x.ann"), f"{tmp_path / 'y.ann'}, line 1"]  # fmt: skip


def test_offsets_of_javascript(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = [record(f"{'😀' * i} Ann left", (2 * i + 1, 2 * i + 4, "PER")) for i in range(1, 4)]
    path.write_text("".join(lines), encoding="utf8")
    _, shown, _ = run(path, "--output", tmp_path / "a")
    assert "the offsets of 3 of these spans would fit: " in shown
    assert "--offsets utf-16" in shown
    code, shown, _ = run(path, "--output", tmp_path / "b", "--offsets", "utf-16")
    assert (code, "--offsets" in shown) == (0, False)
    assert [[e.text for e in doc.ents] for doc in stored(tmp_path / "b" / "a.spacy")] == 3 * [
        ["Ann"]
    ]
    path.write_text("".join([*lines, record("😀 Ann", (2, 4, "PER"))]), encoding="utf8")
    assert "--offsets" not in run(path, "--output", tmp_path / "a")[1], "not all would fit"


def test_labels_that_differ_in_case(tmp_path: Path) -> None:
    path, long = tmp_path / "a.jsonl", "L" * 100_000
    spans = [(0, 3, "PER"), (4, 5, "Per"), (6, 7, "per"), (8, 9, "LOC"), (10, 11, long)]
    path.write_text(record("Ann a b c d", *spans), encoding="utf8")
    code, shown, _ = run(path, "--output", tmp_path)
    assert (code, len(shown) < 2000) == (0, True)
    assert "Labels that differ in case only: PER, Per, per" in shown
    assert "LOC," not in shown


@pytest.mark.parametrize(("name", "expected"), [
    ("a.jsonl", "a"), ("a.b.JSON", "a.b"), ("a.jsonl.gz", "a"), ("a.conllu", "a"), ("a.csv", "a"),
    ("train.data", "train"), ("eng.testa", "eng.testa"), ("eng.testb.gz", "eng.testb"), ("a", "a"),
    ("en_ewt-ud-train.iob2", "en_ewt-ud-train"), (".jsonl", ".jsonl"),
    ("emerging.dev.txt", "emerging.dev"),
])  # fmt: skip
def test_names(tmp_path: Path, name: str, expected: str) -> None:
    assert name_of(tmp_path / name) == f"{expected}.spacy"
    (tmp_path / "brat.v2.txt").mkdir()
    assert name_of(tmp_path / "brat.v2.txt") == "brat.v2.txt.spacy"


def test_parts_in_one_folder(tmp_path: Path) -> None:
    for part in ("testa", "testb"):
        (tmp_path / f"eng.{part}").write_text(f"{part} B-PER\n", encoding="utf8")
        code, shown, _ = run(tmp_path / f"eng.{part}", "--output", tmp_path)
        assert (code, "Replaced" in shown) == (0, False)
    for part in ("testa", "testb"):
        assert [doc.text.strip() for doc in stored(tmp_path / f"eng.{part}.spacy")] == [part]
    _, shown, _ = run(tmp_path / "eng.testa", "--output", tmp_path)
    assert "Replaced what was in" in shown
    assert "eng.testa.spacy" in shown
    assert "eng.testb.spacy" not in shown


@pytest.mark.parametrize("cut", [3, 20])
def test_a_truncated_file(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(record("Ann").encode())[:-cut])
    code, shown, error = run(path, "--output", tmp_path)
    assert (code, type(error)) == (1, SystemExit)
    assert "a.jsonl.gz: cannot be read" in shown
    path.write_bytes(gzip.compress(record("Ann").encode())[:15] + bytes(range(99)))
    code, shown, error = run(path, "--output", tmp_path)
    assert (code, type(error)) == (1, SystemExit)


def test_a_text_that_is_too_long(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(record("Ann") + record("a" * 1_000_001), encoding="utf8")
    code, shown, _ = run(path, "--output", tmp_path)
    assert code == 0
    assert "line 2: [E088]" in shown
