"""What users see on the command line: errors of ``spacy train``, and the help texts."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import spacy
from corpora import tagged_sentences
from pipelines import TAGGER
from processes import TESTS, ScriptRunner, plain
from spacy.cli._util import app
from spacy.cli.train import train
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from typer.main import get_command
from typer.testing import CliRunner

import spacy_ssvm
from spacy_ssvm.cli import COMMANDS, GROUPS, ssvm  # importing it adds the commands, as spaCy does

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


@pytest.mark.slow
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
        *("align", "report", "convert", "convert --templates", "train", "swap", "rank"),
        *("show", "show --html", "show --errors", "show --serve"),
        *("jackknife", "lab compare", "lab select"),
    ],
)
def test_the_example_of_a_help_text_can_be_run(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copied from the screen, it is read as a command, which then finds its files empty."""
    command, _, option = command.partition(" --")
    words = command.split()
    shown = CliRunner().invoke(app, ["ssvm", *words, "--help"]).output
    examples = re.split(r"Examples?:\n", shown.replace("\\\n", " "))[1].splitlines()
    arguments = shlex.split(next(example for example in examples if option in example))
    assert arguments[: 4 + len(words)] == ["python", "-m", "spacy", "ssvm", *words]
    monkeypatch.chdir(tmp_path)
    for name in arguments[4 + len(words) :]:
        if re.search(r"/|\.(?!json$)\w+$|^template$", name) and not name.startswith(("-", "[")):
            Path(name).parent.mkdir(exist_ok=True)
            Path(name).touch()
    result = CliRunner().invoke(app, arguments[3:])
    assert result.exit_code == 1, result.output
    assert f"Cannot {'open a page' if option == 'serve' else words[-1]}" in result.output


def test_the_help_has_a_line_for_each_command() -> None:
    """None of them is cut off, or broken in two."""
    shown = CliRunner().invoke(app, ["ssvm", "--help"]).output
    lines = [
        line.split(maxsplit=1) for line in shown.partition("Commands:")[2].splitlines() if line
    ]
    alone = [[name, command.summary] for name, command in COMMANDS.items() if " " not in name]
    assert lines == [*alone, *([name, summary] for name, summary in GROUPS.items())]


FILE_OPTIONS = {
    *("--encoding", "--words", "--split", "--word", "--span", "--tag", "--spans-key"),
    "--sentences",
}


def parameters_of(command: str) -> list[Any]:
    found: Any = get_command(ssvm)
    for word in command.split():
        found = found.commands[word]
    return list(found.params)


def options_of(command: str) -> set[str]:
    return {option for parameter in parameters_of(command) for option in parameter.opts}


@pytest.mark.parametrize("command", ["convert", "train", "swap", "show"])
def test_all_commands_that_read_annotated_files_have_the_same_options(command: str) -> None:
    assert options_of(command) >= FILE_OPTIONS


@pytest.mark.parametrize(
    "command",
    [
        *("train", "swap", "rank", "show", "report", "align", "jackknife"),
        "resources clusters",
    ],
)
def test_all_commands_that_load_a_pipeline_import_code_first(command: str) -> None:
    assert "--code" in options_of(command)


def test_each_option_has_one_spelling() -> None:
    others = {"--component", "--out", "--output-path", "--force", "--language", "--share"}
    for name in COMMANDS:
        assert not options_of(name) & others, name
        for parameter in parameters_of(name):
            assert sum(option.startswith("--") for option in parameter.opts) <= 1, parameter.name


CODE = """
from spacy.language import Language

@Language.component("code_of_a_user")
def mark(doc):
    return doc
"""


def test_a_pipeline_with_a_component_of_the_user(run_script: ScriptRunner, tmp_path: Path) -> None:
    code, folder = tmp_path / "code.py", tmp_path / "pipeline"
    code.write_text(CODE, encoding="utf8")
    nlp = TAGGER.trained()
    Language.component("code_of_a_user", func=lambda doc: doc)
    nlp.add_pipe("code_of_a_user")
    nlp.to_disk(folder)
    run = "import sys\nfrom spacy_ssvm.cli import ssvm\nssvm(sys.argv[1:])"
    shown = run_script(run, "show", folder, "The dog sleeps", "--code", code)
    assert "dog" in shown
    alone = run_script.start(run, "show", folder, "The dog sleeps")
    assert "code_of_a_user" in alone.communicate(timeout=300)[0]
    assert alone.returncode == 1


def test_the_version() -> None:
    result = CliRunner().invoke(app, ["ssvm", "--version"])
    assert (result.exit_code, result.output.strip()) == (0, spacy_ssvm.__version__)


def test_a_share_of_percent(tmp_path: Path) -> None:
    (tmp_path / "texts.jsonl").write_text('{"text": "One", "entities": []}\n', encoding="utf8")
    arguments = ["convert", str(tmp_path / "texts.jsonl"), "-o", str(tmp_path / "out")]
    result = CliRunner().invoke(ssvm, [*arguments, "--dev", "20"])
    assert result.exit_code == 2
    assert "20 is no share of the texts, from 0 to 0.9: 20 % are 0.2" in plain(result.output)
    result = CliRunner().invoke(ssvm, [*arguments, "--dev", "-1"])
    assert "-1 is no share of the texts, from 0 to 0.9" in plain(result.output)


def test_a_pipeline_without_components_of_this_package(tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.to_disk(tmp_path)
    result = CliRunner().invoke(ssvm, ["show", str(tmp_path), "A text"])
    assert result.exit_code == 1
    for part in ("it has sentencizer", "ssvm train", "ssvm swap"):
        assert part in plain(result.output)
