"""What users see on the command line: errors of ``spacy train``, and the help texts."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import spacy
from corpora import tagged_sentences
from processes import TESTS
from spacy.cli._util import app
from spacy.cli.train import train
from spacy.tokens import Doc, DocBin
from typer.testing import CliRunner

from spacy_ssvm.commands.cli import COMMANDS  # importing it adds the commands, as spaCy does

CONFIGS = TESTS.parent / "configs"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few tagged sentences with an entity each."""
    nlp = spacy.blank("en")
    docs = []
    for words, tags in tagged_sentences()[:3]:
        docs.append(Doc(nlp.vocab, words=words, tags=tags, ents=["B-PER", *["O"] * len(words[1:])]))
    file = tmp_path_factory.mktemp("corpus") / "train.spacy"
    DocBin(docs=docs).to_disk(file)
    return file


@pytest.mark.parametrize(("name", "settings", "problem"), [
    ("tagger", {"components.tagger.templates": ["cluster4[0]"]}, "needs word clusters"),
    (
        "tagger",
        {"components.tagger.templates": ["cluster4[0]"],
         "initialize.components.tagger.clusters": "bad.txt"},
        "bad.txt, line 1: expected a bit string, a tab and a word, found 'what is this'",
    ),
    (
        "tagger",
        {"initialize.components.tagger.clusters": "nowhere.txt"},
        "No such file or directory: 'nowhere.txt'",
    ),
    ("ner", {"components.ner.templates": ["gazetteer[0]"]}, "needs gazetteers. Set gazetteers"),
    (
        "ner",
        {"components.ner.templates": ["gazetteer.PER[0]"],
         "initialize.components.ner.gazetteers": {"LOC": "bad.txt"}},
        "names a gazetteer of type 'PER', but there are: LOC",
    ),
    (
        "ner",
        {"initialize.components.ner.gazetteers": {"LOC": "nowhere.txt"}},
        "nowhere.txt: cannot be read as a list of entries",
    ),
    (
        "ner",
        {"initialize.components.ner.gazetteers": {"LOC": "bad.jsonl"}},
        "bad.jsonl, line 1: expected",
    ),
    (
        "ner",
        {"initialize.components.ner.gazetteers": {"LOC": "bad.txt"},
         "initialize.components.ner.gazetteer_attribute": "shape"},
        "matched on 'lower' or 'orth' or 'norm' or 'lemma', not on 'shape'",
    ),
    ("ner", {"initialize.components.ner.labels": ["*"]}, "spans cannot have the label '*'"),
    ("ner", {"components.ner.costs": {"PERS": {"O": 2.0}}}, "costs name the label 'PERS'"),
    ("ner", {"components.ner.costs": {"PER": {"O": -2.0}}}, "costs are numbers, at least 0"),
    ("tagger", {"components.tagger.attribute": "POS"}, "have no POS annotation to learn from"),
    (
        "tagger",
        {"components.tagger.attribute": "POS", "initialize.components.tagger.labels": ["NN"]},
        "'NN' is not a universal part-of-speech tag",
    ),
])  # fmt: skip
def test_what_the_config_has_wrong_is_one_message(
    corpus: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    settings: dict[str, Any],
    problem: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.txt").write_text("what is this\n", encoding="utf8")
    Path("bad.jsonl").write_text("what is this\n", encoding="utf8")
    paths = {"paths.train": str(corpus), "paths.dev": str(corpus)}
    with pytest.raises(SystemExit) as ended:  # spaCy ends in a traceback for other errors
        train(CONFIGS / f"{name}.cfg", overrides={**paths, **settings})
    assert ended.value.code == 1
    shown = capsys.readouterr().out.split("Initializing pipeline")[-1]
    assert problem in shown
    assert f"components.{name}]" in shown
    assert len(shown.strip().splitlines()) < 8


@pytest.mark.parametrize(("name", "sets"), [("tagger", ["en"]), ("ner", ["de", "en"])])
def test_strong_configs_train_with_the_clusters_of_lookups(
    name: str, sets: list[str], corpus: Path, tmp_path: Path
) -> None:
    pytest.importorskip("spacy_lookups_data", reason="needs spacy-lookups-data")
    paths = {"paths.train": str(corpus), "paths.dev": str(corpus)}
    config = CONFIGS / f"{name}-strong.cfg"
    train(config, tmp_path / "out", overrides={**paths, "training.max_epochs": 2})
    nlp = spacy.load(tmp_path / "out" / "model-last")
    model = nlp.get_pipe(name).model
    assert sorted(model.resources.clusters) == sets
    assert {f"cluster6.{name}" for name in sets} <= {*model.reader.names}


@pytest.mark.parametrize(
    "command",
    [
        "align",
        "report",
        "convert",
        "train",
        "swap",
        "render",
        "show",
        "rank",
        "jackknife",
        "compare",
        "select",
        "reproduce",
    ],
)
def test_the_example_of_a_help_text_can_be_run(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copied from the screen, it is read as a command, which then finds its files empty."""
    shown = CliRunner().invoke(app, ["ssvm", command, "--help"]).output
    example = re.search(r"Examples?:\n((?:.*\\\n)*.*\n)", shown)
    assert example is not None
    arguments = shlex.split(example[1].replace("\\\n", " "))
    assert arguments[:5] == ["python", "-m", "spacy", "ssvm", command]
    monkeypatch.chdir(tmp_path)
    for name in arguments[5:]:
        if re.search(r"/|\.(?!json$)\w+$", name) and not name.startswith(("-", "[")):
            Path(name).parent.mkdir(exist_ok=True)
            Path(name).touch()
    result = CliRunner().invoke(app, arguments[3:])
    assert result.exit_code == 1, result.output
    assert f"Cannot {command}" in result.output


def test_the_help_has_a_line_for_each_command() -> None:
    """None of them is cut off, or broken in two."""
    shown = CliRunner().invoke(app, ["ssvm", "--help"]).output
    lines = [
        line.split(maxsplit=1) for line in shown.partition("Commands:")[2].splitlines() if line
    ]
    assert lines == [[name, command.summary] for name, command in COMMANDS.items()]
