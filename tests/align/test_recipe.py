"""Parallel texts with links become word aligners by one command."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import spacy
from planted_pairs import BITEXT_ENDINGS, write_bitext
from processes import TESTS, contents
from spacy.util import load_config
from typer.testing import CliRunner

from spacy_ssvm.align.recipe import make_aligner_config
from spacy_ssvm.align.text_pairs import make_pair, read_links
from spacy_ssvm.cli import ssvm
from spacy_ssvm.commands.recipes.training import TrainingFolder

SHIPPED = TESTS.parent / "configs" / "aligner.cfg"


def pairs_of(files: Sequence[Path]) -> list[tuple[str, ...]]:
    """The lines of parallel files: source, target, links."""
    return list(zip(*(file.read_text(encoding="utf8").splitlines() for file in files), strict=True))


def run(*arguments: Any) -> Any:
    return CliRunner().invoke(ssvm, [*map(str, arguments)])


def rows_of(output: str) -> dict[str, str]:
    return dict(re.findall(r"(?m)^(\S.*?)  +(\S.*?) *$", output))


def test_an_aligner_from_three_files(tmp_path: Path) -> None:
    files, folder = write_bitext(tmp_path, "text", range(40)), TrainingFolder(tmp_path / "out")
    arguments = ("train", *files, "-o", folder.path, "--training.max_epochs", 4)
    result = run(*arguments, "--dev", 0.25)
    assert result.exit_code == 0, result.output
    shown = " ".join(result.output.split())
    assert "30 pairs to learn from, 10 to choose the best epoch by" in shown
    assert "that of the highest F1" in shown
    rows = rows_of(result.output)
    assert rows["link F1"] == rows["link precision"] == rows["link recall"] == "100.00 %"
    assert rows["alignment error rate"] == "0.00 %"
    assert rows["corpus"].endswith("10 pairs, gold tokens")
    assert re.fullmatch(r"[\d,]+ pairs/s, one thread", rows["aligner: speed"])
    nlp = spacy.load(folder.best)
    found = read_links(nlp(make_pair(nlp.vocab, ["s1", "s3", "s2"], ["t3", "t2", "t1"])))
    assert found is not None
    assert found.tolist() == [[0, 2], [1, 0], [2, 1]]
    given = pairs_of(files)
    train, dev = pairs_of(folder.pairs("train")), pairs_of(folder.pairs("dev"))
    assert sorted(train + dev) == sorted(given)
    assert {pair[:2] for pair in train}.isdisjoint(pair[:2] for pair in dev)
    (line,) = [line for line in result.output.splitlines() if "ssvm show" in line]
    *shown, page = line.split()[4:]
    assert run(*shown, tmp_path / page).exit_code == 0
    again = run(*arguments)
    assert again.exit_code == 1
    assert "--overwrite" in again.output


def test_possible_links_choose_by_the_error_rate(tmp_path: Path) -> None:
    train = write_bitext(tmp_path, "train", range(30))
    dev = write_bitext(tmp_path, "dev", range(40, 45), possible=True)
    folder = TrainingFolder(tmp_path / "out")
    options = [text for file in dev for text in ("--dev", file)]
    result = run("train", *train, *options, "-o", folder.path, "--training.max_epochs", 3)
    assert result.exit_code == 0, result.output
    assert "that of the lowest error rate" in " ".join(result.output.split())
    written, given = (
        [sorted(links.split()) for *_, links in pairs_of(own)] for own in (folder.pairs("dev"), dev)
    )
    assert written == given
    weights = load_config(folder.config)["training"]["score_weights"]
    assert {name: value for name, value in weights.items() if value} == {"align_aer": -1.0}
    nlp = spacy.load(folder.best)
    assert nlp.meta["performance"]["align_aer"] == 0.0, "of the best epoch, not of the worst"
    rows = rows_of(result.output)
    assert rows["alignment error rate"] == "0.00 %"
    assert rows["link F1"] != "100.00 %", "what is merely possible is wrong there"


def test_the_config_is_the_shipped_one(tmp_path: Path) -> None:
    folder = TrainingFolder(tmp_path)
    shipped = load_config(SHIPPED)
    made = make_aligner_config(folder, by_error_rate=False)
    for config in (shipped, made):
        paths = config.pop("paths")
        assert {"bitext_source", "train_alignment", "log"} <= paths.keys()
    assert made == shipped


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["EN", "CS", "LONG"], "text.long, line 11: {}/text.en has only 10 lines"),
        (["EN", "CS", "SHORT"], "text.short ends before line 10 of {}/text.en"),
        (["EN", "CS", "FAR"], "text.far, line 1: link 99-0: the source has"),
        (["EN", "CS", "BAD"], "text.bad, line 2: expected links such as 0-0 or 0?1, found 'x'"),
        (["EN", "SHORT", "ALIGN"], "to learn from them, give three files, SOURCE TARGET LINKS"),
        (["EN", "ALIGN"], "text.align holds links between words: to learn from them"),
        (["EN", "FEW", "ALIGN"], "text.en has 10 lines, but {}/text.few has 9"),
        (["EN", "CS", "ALIGN", "--dev", "EN"], "three files are needed for dev, too"),
        (["EN", "CS", "ALIGN", "--components", "ner"], "takes no --components"),
        (["EN", "CS", "ALIGN", "--from", "model"], "takes no --from"),
        (["EN", "CS", "ALIGN", "--tokenizer", "rules"], "takes no --tokenizer"),
        (["EN", "CS", "ALIGN", "--training.foo", "1"], "[training] has no such setting"),
        (["EN", "CS", "ALIGN", "--paths.train_source", "EN"], "name the files as arguments"),
        (["EN", "CS", "ALIGN", "--paths.bitext_source", "EN"], "it needs source and target"),
        (["EN", "CS", "ALIGN", "--dev", "0.9"], "nothing would be left for train"),
    ],
)
def test_what_no_aligner_can_be_trained_on(
    arguments: list[str], problem: str, tmp_path: Path
) -> None:
    written = write_bitext(tmp_path, "text", range(10))
    files = dict(zip(map(str.upper, BITEXT_ENDINGS), written, strict=True))
    links = files["ALIGN"].read_text(encoding="utf8").splitlines(keepends=True)
    target = files["CS"].read_text(encoding="utf8").splitlines(keepends=True)
    others = {
        "LONG": [*links, "0-0\n"],
        "SHORT": links[:-1],
        "FAR": ["99-0\n", *links[1:]],
        "BAD": [links[0], "x\n", *links[2:]],
        "FEW": target[:-1],
    }
    if "0.9" in arguments:
        others["EN"], others["CS"], others["ALIGN"] = ["a\n"] * 10, ["b\n"] * 10, ["0-0\n"] * 10
    for name, lines in others.items():
        files[name] = tmp_path / f"text.{name.lower()}"
        files[name].write_text("".join(lines), encoding="utf8")
    before = contents(tmp_path)
    result = run("train", *(files.get(text, text) for text in arguments), "-o", tmp_path / "out")
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit), "no traceback"
    shown, expected = ("".join(text.split()) for text in (result.output, problem))
    assert expected.format("".join(str(tmp_path).split())) in shown
    assert contents(tmp_path) == before, "nothing is written"
