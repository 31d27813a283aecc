"""Annotated files become trained pipelines by one command."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import spacy
from corpora import ENTITIES, parsed_doc, spans_of
from spacy.tokens import DocBin
from spacy.util import load_config
from spacy.vocab import Vocab
from typer.testing import CliRunner

from spacy_ssvm.cli import ssvm
from spacy_ssvm.commands.conversion.files import Settings
from spacy_ssvm.commands.recipes.training import (
    Corpus,
    TrainingFolder,
    cost_of,
    make_jackknives,
    read_corpus,
)
from spacy_ssvm.components.annotated_corpus import annotations_of, read_docs

EPOCHS = ("--training.max_epochs", "2", "--clusters", "none")


def train(*arguments: Any) -> Any:
    return CliRunner().invoke(ssvm, ["train", *map(str, arguments)])


@pytest.fixture
def annotated(tmp_path: Path) -> Path:
    """Sentences with entities by character offsets, one of which matches no token."""
    file = tmp_path / "annotated.jsonl"
    records = []
    for words, spans in map(spans_of, ENTITIES.strip().splitlines()):
        starts = [len(" ".join(words[:i])) + bool(i) for i in range(len(words))]
        entities = [[starts[a], starts[b - 1] + len(words[b - 1]), label] for a, b, label in spans]
        records.append({"text": " ".join(words), "entities": entities})
    records[0]["entities"].append([1, 2, "PER"])
    file.write_text("\n".join(map(json.dumps, records)), encoding="utf8")
    return file


def test_entities_from_json_lines(annotated: Path, tmp_path: Path) -> None:
    names, folder = tmp_path / "names.txt", TrainingFolder(tmp_path / "out")
    names.write_text("Mary Smith\n", encoding="utf8")
    result = train(annotated, "-o", folder.path, "--gazetteer", f"PER={names}", *EPOCHS)
    assert result.exit_code == 0, result.output
    assert "annotated.jsonl, line 1: PER" in " ".join(result.output.split())
    nlp = spacy.load(folder.best)
    assert nlp.pipe_names == ["ner"]
    recognizer: Any = nlp.get_pipe("ner")
    assert recognizer.model.resources.gazetteers.types == ("PER",)
    assert recognizer.model.summary.epochs <= 2
    parts = [len(list(read_docs(file, Vocab()))) for file in (folder.train, folder.dev)]
    assert sum(parts) == len(ENTITIES.strip().splitlines())
    assert parts[1] == max(1, round(0.1 * sum(parts)))
    assert load_config(folder.config)["paths"]["train"] == folder.train.as_posix()
    assert "entity F1" in result.output
    (line,) = [line for line in result.output.splitlines() if "ssvm show" in line]
    *command, page = line.split()[4:]
    shown = CliRunner().invoke(ssvm, [*command, str(tmp_path / page)])
    assert shown.exit_code == 0, shown.output
    again = train(annotated, "-o", folder.path)
    assert again.exit_code == 1
    assert "--overwrite" in again.output


@pytest.mark.slow
def test_components_learn_from_annotations_of_models_that_have_not_seen_the_texts(
    tmp_path: Path,
) -> None:
    folder = TrainingFolder(tmp_path / "out")
    docs = []
    for i in range(12):
        lines = ("Birds:2:nsubj sing:0:ROOT", "Dogs:2:nsubj bark:0:ROOT")
        doc = parsed_doc(Vocab(), *lines[:: 1 if i % 2 else -1])
        for token in doc:
            token.tag_ = "NNS" if token.dep_ == "nsubj" else "VBP"
        docs.append(doc)
    data = tmp_path / "corpus"
    data.mkdir()
    DocBin(docs=docs).to_disk(data / "train.spacy")
    DocBin(docs=docs[:2]).to_disk(data / "dev.spacy")
    corpus = read_corpus([data], [], "en", Settings(), share=0.5, seed=0)
    assert (len(corpus.train), len(corpus.dev)) == (12, 2)
    result = train(data, "-o", folder.path, "--components", "parser,tagger", *EPOCHS)
    assert result.exit_code == 0, result.output
    assert "2 of the 2 texts that scores are measured on" in " ".join(result.output.split())
    jackknives = make_jackknives(folder, ["tagger", "senter", "parser"], corpus, {})
    assert [jackknife.folds for jackknife in jackknives] == [5, 5]
    nlp = spacy.load(folder.best)
    assert nlp.pipe_names == ["tagger", "senter", "parser"]
    found = [filed.doc for filed in read_docs(folder.annotated, Vocab())]
    assert len(found) == 12
    assert annotations_of(found) == ("TAG", "SENT_START")
    used = nlp.config.interpolate()["corpora"]["train"]["annotated_path"]
    assert used == str(folder.annotated)
    assert [token.dep_ for token in nlp("Birds sing Dogs bark")] == ["nsubj", "ROOT"] * 2
    only = train(data, "-o", folder.path, "--components", "tagger", "--overwrite", *EPOCHS)
    assert only.exit_code == 0, only.output
    assert not folder.annotated.exists(), "annotations of another pipeline"


def test_columns_and_a_share_by_the_option_of_dev(tmp_path: Path) -> None:
    """The options of convert: which column has what, the encoding, a share as --dev."""
    columns, folder = tmp_path / "tagged.txt", TrainingFolder(tmp_path / "out")
    sentences = [f"NN Wörter{i} O\nVB blühen O\n" for i in range(10)]
    columns.write_text("\n".join(sentences), encoding="latin-1")
    options = ("--encoding", "latin-1", "--word", 1, "--tag", 0, "--sentences", 2, "--dev", "0.4")
    result = train(columns, "-o", folder.path, "--components", "tagger", *options, *EPOCHS)
    assert result.exit_code == 0, result.output
    parts = [list(read_docs(file, Vocab())) for file in (folder.train, folder.dev)]
    assert list(map(len, parts)) == [3, 2]
    assert [token.tag_ for token in parts[0][0].doc] == ["NN", "VB"] * 2
    assert "Wörter" in parts[0][0].doc.text


def test_nothing_is_replaced_unasked(annotated: Path, tmp_path: Path) -> None:
    folder = TrainingFolder(tmp_path / "out")
    folder.path.mkdir()
    folder.config.write_text("mine", encoding="utf8")
    result = train(annotated, "-o", folder.path, *EPOCHS)
    assert result.exit_code == 1
    assert "--overwrite" in result.output
    assert folder.config.read_text(encoding="utf8") == "mine"
    assert not folder.train.exists()


def test_inputs_are_not_replaced(annotated: Path, tmp_path: Path) -> None:
    folder = TrainingFolder(tmp_path / "out")
    folder.train.parent.mkdir(parents=True)
    inside = folder.train.with_suffix(".jsonl")
    inside.write_bytes(annotated.read_bytes())
    for arguments in ([inside], [annotated, "--dev", inside], [folder.train.parent]):
        result = train(*arguments, "-o", folder.path, "--overwrite", *EPOCHS)
        assert result.exit_code == 1
        assert "lies in the output folder" in " ".join(result.output.split())
    assert inside.read_bytes() == annotated.read_bytes()
    assert not folder.train.exists()


def test_files_and_shares(annotated: Path, tmp_path: Path) -> None:
    def read(data: Path, *dev: Path) -> Any:
        return read_corpus([data], dev, "en", Settings(), share=0.2, seed=1)

    drawn, given = read(annotated), read(annotated, annotated)
    assert len(drawn.train) + len(drawn.dev) == len(given.train) == len(given.dev)
    assert [len(own.left_out) for own in given.converted] == [1, 1]


def test_what_fails_in_training_leaves_nothing(annotated: Path, tmp_path: Path) -> None:
    """It can be tried again without --overwrite."""
    names, folder = tmp_path / "names.txt", TrainingFolder(tmp_path / "out")
    names.write_bytes("Zoë\n".encode("latin-1"))
    folder.path.mkdir()
    (folder.path / "mine.txt").touch()
    arguments = (annotated, "-o", folder.path, "--gazetteer", f"PER={names}", *EPOCHS)
    result = train(*arguments)
    assert result.exit_code == 1
    assert "names.txt: cannot be read as a list of entries" in " ".join(result.output.split())
    assert [file.name for file in folder.path.iterdir()] == ["mine.txt"]
    names.write_text("Zoë\n", encoding="utf8")
    assert train(*arguments).exit_code == 0
    names.write_bytes("Zoë\n".encode("latin-1"))
    assert train(*arguments, "--overwrite").exit_code == 1
    there = (folder.best, folder.config, folder.train, folder.dev)
    assert all(path.exists() for path in there), "a pipeline that was there stays"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["nosuch.jsonl"], "nosuch.jsonl does not exist"),
        (["DATA", "--components", "parser"], "nothing that 'parser' could learn from"),
        (["DATA", "--lang", "zz"], "'zz' is not the code of a language"),
        (["DATA", "--lang", "vi"], "the tokenizer of 'vi' cannot be loaded"),
        (["DATA", "--nosuch.key", "3"], "nosuch"),
        (["DATA", "--components.ner.solver.C", "-3"], "C"),
        (["DATA", "--training.patience", "often"], "patience"),
        (
            ["DATA", "--training.patience", "3", "--components.ner.solver.C", "abc"],
            "--components.ner.solver.C abc: 'abc' is not float; by default it is 0.1",
        ),
        (["DATA", "--training.max_epochs"], "--training.max_epochs True: Input should be a valid"),
        (["DATA", "--encoding", "nosuch"], "cannot be read as nosuch"),
        (["DATA", "--dev", "nosuch.jsonl"], "nosuch.jsonl does not exist"),
        (["DATA", "--dev", "20"], "20 is no share of the texts, from 0 to 0.9: 20 % are 0.2"),
        (["DATA", "--training.foo", "3"], "[training] has no such setting, but "),
        (["DATA", "--components.ner.solver.c", "3"], "[components.ner.solver] has no such setting"),
        (["DATA", "--paths.train", "a.spacy"], "--paths.train: name the files as arguments"),
        (["ONE", "--dev", "ONE"], "tagger, senter, parser learn from each other"),
        (["--training.patience", "DATA"], "was read as the value of --training.patience"),
        (["DATA", "--components", "ner,", "--clusters", "none"], "there is no component ''"),
        (["EMPTY"], "there are no sentences"),
        (["FOLDER"], "has no train.spacy"),
        (["PLAIN"], "the examples have no annotation to learn from"),
    ],
)
def test_what_cannot_be_trained(
    arguments: list[str],
    problem: str,
    annotated: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    empty, plain = tmp_path / "empty.jsonl", tmp_path / "plain.jsonl"
    empty.touch()
    lines = [json.dumps({"text": text, "entities": []}) for text in ("One", "Two")]
    plain.write_text("\n".join(lines), encoding="utf8")
    doc = parsed_doc(Vocab(), "Birds:2:nsubj sing:0:ROOT", "Dogs:2:nsubj bark:0:ROOT")
    for token in doc:
        token.tag_ = "X"
    DocBin(docs=[doc]).to_disk(tmp_path / "one.spacy")
    monkeypatch.chdir(tmp_path)
    files = {"DATA": annotated, "EMPTY": empty, "PLAIN": plain, "ONE": tmp_path / "one.spacy"}
    files["FOLDER"] = tmp_path / "folder"
    files["FOLDER"].mkdir()
    DocBin(docs=[doc]).to_disk(files["FOLDER"] / "dev.spacy")
    result = train(*(files.get(text, text) for text in arguments), "-o", tmp_path / "out")
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit), "no traceback"
    assert "Cannot train" in result.output or "Config validation" in result.output
    assert problem in " ".join(result.output.split())
    assert not (tmp_path / "out").exists(), "nothing is written"


@pytest.mark.parametrize("name", ["annotated", "left_out", "start", "last", "config", "train"])
def test_whatever_an_earlier_training_has_left_is_not_replaced(tmp_path: Path, name: str) -> None:
    folder = TrainingFolder(tmp_path)
    folder.check([], overwrite=False)
    there: Path = getattr(folder, name)
    there.parent.mkdir(exist_ok=True)
    there.touch()
    folder.check([], overwrite=True)
    with pytest.raises(ValueError, match=re.escape(f"{there} exists: give --overwrite")):
        folder.check([], overwrite=False)


def test_what_a_training_will_cost() -> None:
    """Models by folds and rounds; more words, epochs and folds take longer."""
    docs = [parsed_doc(Vocab(), "Birds:2:nsubj sing:0:ROOT") for _ in range(9)]
    corpus = Corpus(docs, docs[:1], [])
    names = ["tagger", "senter", "parser"]
    cost = cost_of(names, corpus, {}, 5)
    assert (cost.models, cost.fold_epochs, cost.epochs) == (10, 8, 20)
    fewer = cost_of(names, corpus, {"training.max_epochs": 3}, 2)
    assert (fewer.models, fewer.fold_epochs, fewer.epochs) == (4, 3, 3)
    assert fewer.seconds < cost.seconds < cost_of(names, corpus, {}, 9).seconds
    twice = cost_of(names, Corpus(2 * docs, docs, []), {}, 5)
    assert cost.seconds < twice.seconds < cost_of(names, corpus, {}, 5, reads_lookups=True).seconds
    assert cost_of(["ner"], corpus, {}, 5).models == 0
    others = spacy.blank("en")
    assert cost_of(["ner"], corpus, {}, 5, others=others).seconds > 0
    assert cost_of(names, corpus, {}, 5, learns_tokens=True).seconds > cost.seconds


TREEBANK = """\
1\tBirds\tbird\tNOUN\tNNS\t_\t2\tnsubj\t_\t_
2-3\tdono\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
2\tdo\tdo\tVERB\tVBP\t_\t0\troot\t_\t_
3\tnot\tnot\tPART\tRB\t_\t2\tadvmod\t_\t_
4\t.\t.\tPUNCT\t.\t_\t2\tpunct\t_\t_

"""


def write_treebank(file: Path, misc: str = "SpaceAfter=No") -> None:
    """Sentences that differ in their first word. misc: says whether spaces are before dots."""
    birds = [TREEBANK.replace("Birds", f"Birds{'abcdefghij'[i]}") for i in range(10)]
    file.write_text("".join(birds * 2).replace("SpaceAfter=No", misc), encoding="utf8")


def tokenizer_of(folder: Path) -> str:
    return type(spacy.load(TrainingFolder(folder).best).tokenizer).__module__


@pytest.mark.slow
def test_a_tokenizer_learns_from_treebanks(tmp_path: Path) -> None:
    file = tmp_path / "a.conllu"
    write_treebank(file)
    options = (*EPOCHS, "--components", "tagger", "--sentences", "2")
    result = train(file, "-o", tmp_path / "learned", *options)
    assert result.exit_code == 0, result.output
    assert "The tokenizer learns from the examples" in " ".join(result.output.split())
    nlp = spacy.load(TrainingFolder(tmp_path / "learned").best)
    assert [token.text for token in nlp("Birdsa dono.")] == ["Birdsa", "do", "no", "."]
    assert nlp("Birdsa dono.")[2].norm_ == "not"
    result = train(file, "-o", tmp_path / "rules", *options, "--tokenizer", "rules")
    assert result.exit_code == 0, result.output
    assert tokenizer_of(tmp_path / "rules") == "spacy.tokenizer"
    write_treebank(file, "_")
    result = train(file, "-o", tmp_path / "spaced", *options)
    assert result.exit_code == 0, result.output
    assert tokenizer_of(tmp_path / "spaced") == "spacy.tokenizer"
    docs = read_docs(TrainingFolder(tmp_path / "spaced").train, Vocab())
    assert {token.text for filed in docs for token in filed.doc} >= {"dono", "."}
    result = train(file, "-o", tmp_path / "wrong", *options, "--tokenizer", "learned")
    assert result.exit_code == 1
    assert "nearly all of their punctuation stands between spaces" in " ".join(
        result.output.split()
    )


@pytest.mark.slow
def test_init_chooses_a_tokenizer_by_the_examples(tmp_path: Path) -> None:
    def chosen(*options: str) -> str:
        file = tmp_path / "config.cfg"
        arguments = ["init", str(file), "--components", "tagger", "--overwrite", *options]
        result = CliRunner().invoke(ssvm, arguments)
        assert result.exit_code == 0, result.output
        return str(load_config(file)["nlp"]["tokenizer"]["@tokenizers"])

    for name, misc in (("written", "SpaceAfter=No"), ("spaced", "_")):
        source = tmp_path / f"{name}.conllu"
        write_treebank(source, misc)
        arguments = ["convert", str(source), "--output", str(tmp_path), "--split"]
        assert CliRunner().invoke(ssvm, arguments).exit_code == 0
    assert chosen("--train", str(tmp_path / "written.spacy")) == "spacy_ssvm.Tokenizer.v1"
    assert chosen("--train", str(tmp_path / "spaced.spacy")) == "spacy.Tokenizer.v1"
    assert chosen() == "spacy.Tokenizer.v1"
    assert chosen("--tokenizer", "learned") == "spacy_ssvm.Tokenizer.v1"
