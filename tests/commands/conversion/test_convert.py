"""What is written, summed up and shown of converted files; the command end to end."""

import json
import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from spacy.tokens import Doc, DocBin, Span
from spacy.vocab import Vocab
from typer.testing import CliRunner

from spacy_ssvm.commands.cli import ssvm
from spacy_ssvm.commands.conversion.convert import convert_files, labels_of, table, write
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
    dev, train = map(stored, sorted(output.iterdir()))
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
    (record("Ann") + '{"text": \n', [], "line 2"),
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
