"""Configs that are written for components."""

from pathlib import Path
from typing import Any

import pytest
import spacy
from processes import TESTS
from spacy.schemas import ConfigSchema, ConfigSchemaTraining
from spacy.tokens import Doc
from spacy.util import load_config, registry
from spacy.vocab import Vocab
from thinc.config import Config
from typer.testing import CliRunner

from spacy_ssvm.cli import ssvm
from spacy_ssvm.commands.recipes.annotation import MANY, find_annotation
from spacy_ssvm.commands.recipes.config import (
    FACTORIES,
    Resources,
    annotations_read,
    check_components,
    has_lemma_lookups,
    has_lookups,
    jackknife_rounds,
    make_config,
    next_commands,
    notes_on_resources,
    write_config,
)

PIPELINE = TESTS.parent / "configs" / "pipeline.cfg"
WHOLE = ["tagger", "morphologizer", "senter", "parser", "lemmatizer", "ner"]


def without_resources(config: Config) -> dict[str, Any]:
    return {name: config[name] for name in ("nlp", "components", "corpora", "initialize")}


def test_the_whole_pipeline_is_that_of_the_shipped_config() -> None:
    shipped, made = load_config(PIPELINE), make_config("en", WHOLE, learns_tokens=True)
    assert made["components"]["ner"].pop("templates") == ["ner", "spaces"]
    assert shipped["components"]["ner"].pop("templates") == ["ner"]
    assert without_resources(made) == without_resources(shipped)
    for config in (made, shipped):
        config["training"].pop("score_weights")
    assert made["training"] == shipped["training"]


def test_a_tokenizer_that_learns(tmp_path: Path) -> None:
    file = tmp_path / "config.cfg"
    write_config(file, make_config("de", ["tagger"], learns_tokens=True), "x")
    config = load_config(file)
    nlp = spacy.util.load_model_from_config(config, auto_fill=False, validate=True)
    assert type(nlp.tokenizer).__module__ == "spacy_ssvm.tokenizer.component"
    assert config["nlp"]["tokenizer"]["epochs"] == 12
    assert config["initialize"]["tokenizer"] == {"learn": True, "special_cases": None}
    rules = make_config("de", ["tagger"])
    assert rules["nlp"]["tokenizer"] == {"@tokenizers": "spacy.Tokenizer.v1"}
    assert rules["initialize"]["tokenizer"] == {}


@pytest.mark.parametrize("name", FACTORIES)
def test_a_config_of_each_component_is_complete(name: str, tmp_path: Path) -> None:
    file = tmp_path / "new" / "config.cfg"
    write_config(file, make_config("de", [name], train=Path("t.spacy"), dev=Path("d.spacy")), "x")
    config = load_config(file)
    assert config["paths"]["train"] == "t.spacy"
    registry.resolve(config.interpolate()["training"], schema=ConfigSchemaTraining)
    nlp = spacy.util.load_model_from_config(config, auto_fill=False, validate=True)
    assert nlp.pipe_names == [name]
    assert nlp.lang == "de"
    filled = spacy.util.load_model_from_config(config, auto_fill=True).config
    assert {*filled["components"][name]} == {*config["components"][name]}
    assert registry.fill(config, schema=ConfigSchema, validate=False).keys() == config.keys()
    weights = [value for value in config["training"]["score_weights"].values() if value]
    assert sum(weights) == pytest.approx(1.0)


def test_sections_stand_in_spacys_order_with_their_comments(tmp_path: Path) -> None:
    file = tmp_path / "config.cfg"
    write_config(file, make_config("en", WHOLE), "First line\nand second")
    lines = file.read_text(encoding="utf8").splitlines()
    assert lines[:4] == ["# First line", "# and second", "", "[paths]"]
    sections = [line[1:-1] for line in lines if line.startswith("[")]
    tops = list(dict.fromkeys(section.split(".")[0] for section in sections))
    expected = ["paths", "system", "nlp", "components", "corpora", "training", "pretraining"]
    assert tops == [*expected, "initialize"]
    assert len(sections) == len({*sections})
    for i, section in enumerate(sections):
        parent = section.rpartition(".")[0]
        assert not parent or parent in sections[:i]
    place = lines.index("[components.parser]")
    assert lines[place - 1].startswith("# Dependency trees")


@pytest.mark.parametrize(
    ("names", "read", "rounds"),
    [
        (["tagger"], [], []),
        (["tagger", "ner"], [], []),
        (["senter"], [], []),
        (["senter", "ner"], ["SENT_START"], [["senter"]]),
        (["tagger", "senter"], ["TAG"], [["tagger"]]),
        (["tagger", "chunker"], ["TAG"], [["tagger"]]),
        (["pos_tagger", "parser"], ["POS"], [["pos_tagger"]]),
        (["morphologizer", "parser"], ["POS", "MORPH"], [["morphologizer"]]),
        (["morphologizer", "ner"], [], []),
        (["tagger", "morphologizer", "lemmatizer"], [], []),
        (["tagger", "lemmatizer", "parser"], ["TAG"], [["tagger"]]),
        (["pos_tagger", "morphologizer"], [], []),
        (
            WHOLE,
            ["SENT_START", "TAG", "POS", "MORPH"],
            [["tagger", "morphologizer"], ["senter"]],
        ),
        (
            ["tagger", "pos_tagger", "senter", "parser"],
            ["SENT_START", "TAG", "POS"],
            [["tagger", "pos_tagger"], ["senter"]],
        ),
    ],
)
def test_who_learns_from_whom(names: list[str], read: list[str], rounds: list[list[str]]) -> None:
    assert annotations_read(names) == read
    assert jackknife_rounds(names) == rounds
    reader = make_config("en", names)["corpora"]["train"]
    assert reader.get("annotations", []) == read
    commands = next_commands(Path("c.cfg"), names, missing=["train", "dev"])
    assert len(commands) == 1 + bool(rounds)
    assert all("--paths.train train.spacy" in command for command in commands)
    for own, option in zip(rounds, ("--components", "--next"), strict=False):
        assert f"{option} {','.join(own)} " in commands[0]


def test_settings_follow_the_examples_and_the_other_components() -> None:
    components = make_config("en", ["tagger"], has_spaces=False)["components"]
    assert components["tagger"]["templates"] == ["tagger"]
    assert not components["tagger"]["whole_docs"]
    components = make_config("en", ["tagger", "senter"])["components"]
    assert components["tagger"]["whole_docs"]
    components = make_config("en", ["morphologizer", "senter"])["components"]
    assert components["morphologizer"]["whole_docs"]
    assert components["senter"]["templates"] == ["senter", "senter_tags"]
    assert make_config("en", ["senter"])["components"]["senter"]["templates"] == ["senter"]
    components = make_config("en", ["senter"], has_tags=True)["components"]
    assert components["senter"]["templates"] == ["senter", "senter_tags"]


def test_resources_go_to_the_components_that_read_them() -> None:
    names = [*WHOLE, "sentence_labeler"]
    own = make_config("en", names, resources=Resources("c.txt", gazetteers={"PER": "p.txt"}))
    blocks = own["initialize"]["components"]
    readers = [name for name in WHOLE if name != "lemmatizer"]
    assert [name for name in names if blocks[name].get("clusters") == "c.txt"] == readers
    assert {name for name in names if blocks[name].get("gazetteers")} == {"ner"}
    lookups = make_config("en", WHOLE, resources=Resources(lookups=True))
    blocks = lookups["initialize"]["components"]
    assert {name: [*blocks[name]["clusters"]] for name in readers} == {
        **{name: ["en"] for name in readers},
        "ner": ["en", "de"],
    }
    blocks = make_config("pt", WHOLE, resources=Resources(lookups=True))["initialize"]["components"]
    assert [*blocks["tagger"]["clusters"]] == ["es"]
    assert [*blocks["ner"]["clusters"]] == ["es", "en", "de"]


def test_dictionaries_go_to_the_components_that_read_them() -> None:
    readers = {"tagger", "pos_tagger", "morphologizer", "lemmatizer"}
    own = make_config("pt", WHOLE, resources=Resources(dictionary="d.tsv"))
    blocks = own["initialize"]["components"]
    assert {name for name in WHOLE if blocks[name]["dictionary"] == "d.tsv"} == readers & {*WHOLE}
    lookups = make_config("pt", WHOLE, resources=Resources(lemma_lookups=True))
    for name, block in lookups["initialize"]["components"].items():
        if name not in readers:
            assert block["dictionary"] is None
        else:
            assert (block["dictionary"]["lang"], *block["dictionary"]["tables"]) == (
                "pt",
                "lemma_lookup",
            )


def test_languages_with_lemmas() -> None:
    pytest.importorskip("spacy_lookups_data", reason="needs spacy-lookups-data")
    assert has_lemma_lookups("tr")
    assert not has_lemma_lookups("ja")
    assert not has_lemma_lookups("xx")


def test_languages_with_clusters() -> None:
    pytest.importorskip("spacy_lookups_data", reason="needs spacy-lookups-data")
    assert has_lookups("en")
    assert has_lookups("pt")  # those of Spanish
    assert not has_lookups("tr")


@pytest.mark.parametrize(
    ("lang", "names", "resources", "expected"),
    [
        ("tr", ["tagger"], Resources(), []),
        ("en", ["sentence_labeler"], Resources(lookups=True, lemma_lookups=True), []),
        ("pt", ["tagger"], Resources(lookups=True), ["clusters of spacy-lookups-data: es ("]),
        ("pt", ["ner"], Resources(lookups=True, gazetteers={"PER": "p"}), ["data: es, en, de ("]),
        ("tr", ["tagger", "ner"], Resources(lemma_lookups=True), ["Reads lemmas of", "--lang tr"]),
        ("en", ["tagger"], Resources(clusters="c.txt"), []),
        ("en", ["parser"], Resources(), ["pip install spacy-lookups-data"]),
    ],
)
def test_notes_on_what_components_read_and_what_would_help(
    monkeypatch: pytest.MonkeyPatch,
    lang: str,
    names: list[str],
    resources: Resources,
    expected: list[str],
) -> None:
    """Without the package, as far as config tells; --clusters none is Resources() with it."""
    monkeypatch.setattr(f"{make_config.__module__}.has_lookups", lambda lang: False)
    notes = notes_on_resources(lang, names, resources)
    assert len(notes) == len(expected)
    assert all(text in note for text, note in zip(expected, notes, strict=True))
    monkeypatch.setattr(f"{make_config.__module__}.has_lookups", lambda lang: True)
    assert notes_on_resources("en", ["parser"], Resources()) == []


def test_components_that_do_not_exist() -> None:
    with pytest.raises(ValueError, match="no component 'spancat' to learn: choose from tagger"):
        check_components(["ner", "spancat"])
    assert check_components(["ner", "tagger"]) == ["tagger", "ner"]


def test_commands_name_the_corpora_that_a_config_lacks() -> None:
    (command,) = next_commands(Path("c.cfg"), ["ner"], missing=["dev"])
    assert command == "python -m spacy train c.cfg --output training --paths.dev dev.spacy"
    assert next_commands(Path("c.cfg"), ["ner"]) == [command.partition(" --paths")[0]]


def init(*arguments: Any, **named: Any) -> Any:
    return CliRunner().invoke(ssvm, ["init", *map(str, arguments)], **named)


def test_the_command_looks_at_the_examples(corpus: Path, tmp_path: Path) -> None:
    file = tmp_path / "config.cfg"
    result = init(file, "--train", corpus, "--dev", corpus, "--clusters", "none")
    assert result.exit_code == 0, result.output
    assert load_config(file)["nlp"]["pipeline"] == ["tagger", "parser"]
    assert f"python -m spacy ssvm jackknife {file}" in result.output
    assert f"python -m spacy train {file}" in result.output
    before = file.read_bytes()
    again = init(file, "--components", "ner")
    assert again.exit_code == 1
    assert "--overwrite" in again.output
    assert file.read_bytes() == before


def test_the_command_asks(corpus: Path, tmp_path: Path) -> None:
    file = tmp_path / "config.cfg"
    result = init(input=f"{corpus}\n{corpus}\nde\ntagger\n{file}\n")
    assert result.exit_code == 0, result.output
    assert "Error" not in result.output
    config = load_config(file)
    assert config["nlp"]["lang"] == "de"
    assert config["nlp"]["pipeline"] == ["tagger"]
    assert config["paths"]["dev"] == corpus.as_posix()


def test_the_command_asks_again(corpus: Path, tmp_path: Path) -> None:
    file, there = tmp_path / "config.cfg", tmp_path / "there.cfg"
    there.touch()
    answers = ["nosuch.spacy", __file__, corpus, corpus, "zz", "de", "ner", "tagger", "c.txt"]
    answers += [there, file]
    result = init(input="".join(f"{answer}\n" for answer in answers))
    assert result.exit_code == 0, result.output
    shown = " ".join(result.output.split())
    shown = shown.replace("is not the code of a language", "no language")
    for problem in (
        "does not exist",
        "convert",
        "ends in .cfg",
        "no language",
        "'ner' could learn from",
        "--overwrite",
    ):
        assert problem in shown
    assert load_config(file)["nlp"]["pipeline"] == ["tagger"]
    assert not there.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "name the components with --components"),
        (["--components", "nosuch"], "there is no component 'nosuch'"),
        (["--components", "ner", "--lang", "zz"], "'zz' is not the code of a language"),
        (["--components", "ner", "--gazetteer", "PER"], "expected TYPE=FILE"),
        (["--components", "ner", "--gazetteer", "PER=nosuch.txt"], "nosuch.txt does not exist"),
        (["--components", "ner", "--clusters", "nosuch.txt"], "nosuch.txt does not exist"),
        (
            ["--components", "tagger", "--gazetteer", f"PER={PIPELINE}"],
            "lists of names are read by 'ner', which is not among the components: tagger",
        ),
        (["--components", "ner", "--train", "CORPUS"], "nothing that 'ner' could learn from"),
    ],
)
def test_what_no_config_can_be_written_for(
    arguments: list[str], problem: str, corpus: Path, tmp_path: Path
) -> None:
    file = tmp_path / "config.cfg"
    result = init(file, *(str(corpus) if text == "CORPUS" else text for text in arguments))
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit), "no traceback"
    assert problem in " ".join(result.output.split())
    assert not file.exists()


def test_taggers_of_many_tags_have_candidates():
    vocab = Vocab()
    words = [f"w{k}" for k in range(MANY + 1)]
    docs = [
        Doc(vocab, words=words, tags=[f"T{k}" for k in range(MANY + 1)], pos=["NOUN"] * len(words))
    ]
    many = find_annotation(docs).many_tags
    assert many == {"tagger"}
    assert not find_annotation([docs[0][:MANY].as_doc()]).many_tags
    components = make_config("en", ["tagger", "pos_tagger"], many_tags=many)["components"]
    assert components["tagger"]["candidates"] is True
    assert components["pos_tagger"]["candidates"] is False
