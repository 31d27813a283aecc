"""The command ``align``: two files to lines of links."""

import gzip
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest
import spacy
from click.testing import Result
from spacy.language import Language
from spacy.tokens import Doc
from typer.testing import CliRunner

from spacy_ssvm.align.text_pairs import sides, write_links
from spacy_ssvm.cli import ssvm

SOURCE = "a b c\nd e\n\nf\n"
TARGET = "w x\ny\tz u\nv\n\n"
LINES = "0-0 1-1\n0-0 1-1\n\n\n"
BACKWARDS = "0-1 1-0\n0-1 1-0\n\n\n"

#: Those that the pipeline has run with.
BATCH_SIZES: set[int] = set()


class Linker:
    """Links the first two words of both sides, forwards or crosswise, but for empty sides."""

    model = None

    def __init__(self, crosses: bool) -> None:
        self.crosses = crosses

    def __call__(self, doc: Doc) -> Doc:
        if doc[0].text == "bad":
            raise ValueError("a bad word")
        n = min(2, *map(len, sides(doc)))
        if n:
            words = np.arange(n)
            write_links(doc, np.stack([words, words[::-1] if self.crosses else words], axis=1))
        return doc

    def pipe(self, docs: Iterable[Doc], *, batch_size: int) -> Iterator[Doc]:
        BATCH_SIZES.add(batch_size)
        return map(self, docs)


@Language.factory("linker_in_test", default_config={"crosses": False})
def make_linker(nlp: Language, name: str, crosses: bool) -> Linker:
    return Linker(crosses)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Two components that align, of which the second has the last word, and a third is disabled."""
    nlp = spacy.blank("xx")
    for name, crosses in (("forwards", False), ("crosswise", True), ("off", False)):
        nlp.add_pipe("linker_in_test", name=name, config={"crosses": crosses})
    nlp.disable_pipe("off")
    nlp.to_disk(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def texts(tmp_path: Path) -> tuple[Path, Path]:
    source, target = tmp_path / "text.en", tmp_path / "text.cs.gz"
    source.write_text(SOURCE, encoding="utf8")
    target.write_bytes(gzip.compress(TARGET.encode()))
    return source, target


def run(*arguments: object) -> Result:
    return CliRunner().invoke(ssvm, ["align", *map(str, arguments)])


def test_to_the_screen(model: Path, texts: tuple[Path, Path]) -> None:
    result = run(model, *texts)
    assert result.exit_code == 0, result.output
    assert result.stdout == BACKWARDS
    assert "Aligned 4 pairs" in result.stderr
    assert "pairs/s" in result.stderr
    assert run(model, *texts, "--output", "-").stdout == BACKWARDS


@pytest.mark.parametrize(("options", "batch_size"), [([], 1000), (["--batch-size", "3"], 3)])
def test_to_a_file(
    model: Path, texts: tuple[Path, Path], tmp_path: Path, options: list[str], batch_size: int
) -> None:
    BATCH_SIZES.clear()
    file = tmp_path / "new" / "text.align"
    result = run(model, *texts, "--output", file, *options)
    assert result.exit_code == 0, result.output
    assert not result.stdout
    assert file.read_bytes() == BACKWARDS.encode()
    assert {batch_size} == BATCH_SIZES
    assert str(file) in result.stderr.replace("\n", "")
    assert [path.name for path in file.parent.iterdir()] == ["text.align"]


@pytest.mark.parametrize(
    ("component", "expected"), [("forwards", LINES), ("crosswise", BACKWARDS), ("off", LINES)]
)
def test_one_component(
    model: Path, texts: tuple[Path, Path], component: str, expected: str
) -> None:
    assert run(model, *texts, "--components", component).stdout == expected


class Copier:
    """Writes what another aligner has found."""

    model = None

    def __call__(self, doc: Doc) -> Doc:
        doc._.alignment = doc._.other_in_align_test
        return doc


@Language.factory("copier_in_test")
def make_copier(nlp: Language, name: str) -> Copier:
    return Copier()


def test_links_of_another_aligner(tmp_path: Path, texts: tuple[Path, Path]) -> None:
    nlp = spacy.blank("xx")
    nlp.add_pipe("copier_in_test")
    nlp.to_disk(tmp_path / "copier")
    other = tmp_path / "other.align"
    other.write_text("2-1\n0-1 1-0\n\n\n", encoding="utf8")
    arguments = tmp_path / "copier", *texts, "--evidence", f"other_in_align_test={other}"
    try:
        assert run(*arguments).stdout == other.read_text(encoding="utf8")
        other.write_text("\n2-0\n\n\n", encoding="utf8")
        assert "line 2: link 2-0: the source has 2 words" in refused(tmp_path, *arguments)
    finally:
        Doc.remove_extension("other_in_align_test")


def test_evidence_and_the_templates_that_read_it(tmp_path: Path, texts: tuple[Path, Path]) -> None:
    nlp = spacy.blank("xx")
    templates = ["lexicon", "_.other_in_align_test", "bin._.other_in_align_test[1]"]
    nlp.add_pipe("ssvm_aligner", config={"templates": templates})
    nlp.to_disk(tmp_path / "reader")
    message = refused(tmp_path, tmp_path / "reader", *texts)
    assert "reads _.other_in_align_test, links of another aligner: give them by" in message
    assert "--evidence other_in_align_test=FILE" in message
    other = tmp_path / "links.align"
    other.write_text("\n" * 4, encoding="utf8")
    misspelled = f"othr_in_align_test={other}"
    assert "give them by" in refused(
        tmp_path, tmp_path / "reader", *texts, "--evidence", misspelled
    )


def test_evidence_that_no_template_reads(
    model: Path, texts: tuple[Path, Path], tmp_path: Path
) -> None:
    other = tmp_path / "links.align"
    other.write_text("\n" * 4, encoding="utf8")
    try:
        result = run(model, *texts, "--evidence", f"other_in_align_test={other}")
        assert result.stdout == BACKWARDS
        assert "No template reads _.other_in_align_test" in result.stderr
    finally:
        Doc.remove_extension("other_in_align_test")


def test_a_pipeline_that_does_not_exist(tmp_path: Path, texts: tuple[Path, Path]) -> None:
    assert "Can't find model 'no_such_package'" in refused(tmp_path, "no_such_package", *texts)


@pytest.mark.parametrize("evidence", ["links.align", "=links.align", "a b=links.align", "other="])
def test_links_of_another_aligner_without_a_name_or_file(
    model: Path, texts: tuple[Path, Path], tmp_path: Path, evidence: str
) -> None:
    message = refused(tmp_path, model, *texts, "--evidence", evidence)
    assert f"--evidence {evidence}: give NAME=FILE" in message


def refused(tmp_path: Path, *arguments: object) -> str:
    """The message where nothing is aligned: an output that was there is left as it is."""
    file = tmp_path / "text.align"
    file.write_text("old", encoding="utf8")
    result = run(*arguments, "--output", file)
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit), "no traceback"
    assert not result.stdout
    assert file.read_text(encoding="utf8") == "old"
    assert not list(tmp_path.glob(".*")), "nothing is left over"
    message = " ".join(result.stderr.split())
    assert "Cannot align" in message
    return message


@pytest.mark.parametrize(("source", "target", "problem"), [
    ("a\nb\n", "x\n", "text.en has 2 lines, but text.cs has 1"),
    ("a\n", "x\ny\nz\n", "text.en has 1 lines, but text.cs has 3"),
    ("", "", "are empty"),
    ("a\nbad word\n", "x\ny\n", "a bad word"),
])  # fmt: skip
def test_texts_that_cannot_be_aligned(
    model: Path, tmp_path: Path, source: str, target: str, problem: str
) -> None:
    files = tmp_path / "text.en", tmp_path / "text.cs"
    for file, text in zip(files, (source, target), strict=True):
        file.write_text(text, encoding="utf8")
    message = refused(tmp_path, model, *files)
    assert problem.replace("text.", f"{tmp_path}/text.") in message


def test_components_that_are_not_there(
    model: Path, texts: tuple[Path, Path], tmp_path: Path
) -> None:
    message = refused(tmp_path, model, *texts, "--components", "nobody")
    assert f"no component 'nobody' in {model}: choose one of forwards, crosswise, off" in message


def test_a_pipeline_that_does_not_align(texts: tuple[Path, Path], tmp_path: Path) -> None:
    spacy.blank("xx").to_disk(tmp_path / "blank")
    message = refused(tmp_path, tmp_path / "blank", *texts)
    assert "line 1, 'a b c w x ': no component has written doc._.alignment" in message


def test_no_model(texts: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    assert str(tmp_path / "folder") in refused(tmp_path, tmp_path / "folder", *texts)


def test_an_output_that_is_a_text(model: Path, texts: tuple[Path, Path]) -> None:
    for text in texts:
        before = text.read_bytes()
        result = run(model, *texts, "--output", text)
        assert result.exit_code == 1
        assert "would replace a text" in " ".join(result.stderr.split())
        assert text.read_bytes() == before
