"""Trained pipelines of this package learn on, with new labels."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import spacy
from corpora import ENTITIES, chunk_examples, entity_examples, spans_of, tagging_examples
from pipelines import CHUNKER, EAGER, RECOGNIZER, TAGGER
from processes import contents
from spacy.cli.train import train as spacy_train
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.util import load_config, registry
from tokenizer_corpora import CONTRACTIONS, trained_on
from typer.testing import CliRunner

from spacy_ssvm.cli import ssvm
from spacy_ssvm.commands.conversion.files import Converted
from spacy_ssvm.commands.recipes.annotation import find_annotation
from spacy_ssvm.commands.recipes.continuing import (
    annotate_for,
    complete,
    components_to_continue,
    continued_config,
    kind_of,
)
from spacy_ssvm.commands.recipes.training import Corpus, TrainingFolder
from spacy_ssvm.components.annotated_corpus import annotations_of, read_docs

NEW = """
The [Widget]PRODUCT ships in May .
[Mary Smith]PER bought a [Widget Pro]PRODUCT .
A [Widget Max]PRODUCT costs more .
We sold the [Gadget]PRODUCT .
"""
ONLY_NEW = NEW.replace("[Mary Smith]PER", "Mary Smith")


def write_records(file: Path, text: str) -> Path:
    records = []
    for words, spans in map(spans_of, text.strip().splitlines()):
        starts = [len(" ".join(words[:i])) + bool(i) for i in range(len(words))]
        entities = [[starts[a], starts[b - 1] + len(words[b - 1]), label] for a, b, label in spans]
        records.append({"text": " ".join(words), "entities": entities})
    file.write_text("\n".join(map(json.dumps, records)), encoding="utf8")
    return file


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A recognizer of persons, places and organizations."""
    nlp = RECOGNIZER.trained()
    nlp.meta["license"] = "CC0"
    nlp.to_disk(tmp_path / "model")
    return tmp_path / "model"


def train(*arguments: Any) -> Any:
    return CliRunner().invoke(ssvm, ["train", *map(str, arguments)])


def ents(docs: Sequence[Doc]) -> list[list[tuple[str, str]]]:
    return [[(entity.text, entity.label_) for entity in doc.ents] for doc in docs]


def test_a_recognizer_learns_a_new_type(model: Path, tmp_path: Path) -> None:
    before = contents(model)
    data, old = write_records(tmp_path / "new.jsonl", NEW), tmp_path / "dev.jsonl"
    write_records(old, ENTITIES + NEW)
    folder = TrainingFolder(tmp_path / "out")
    arguments = (data, "--dev", old, "--from", model, "-o", folder.path)
    result = train(*arguments, "--training.max_epochs", 4)
    assert result.exit_code == 0, result.output
    assert contents(model) == before
    shown = " ".join(result.output.split())
    assert "New labels of ssvm_ner: PRODUCT" in shown
    nlp = spacy.load(folder.best)
    assert nlp.get_pipe("ssvm_ner").labels == ("LOC", "ORG", "PER", "PRODUCT")
    assert ents([nlp("We sold the Gadget . Mary Smith sang")]) == [
        [("Gadget", "PRODUCT"), ("Mary Smith", "PER")]
    ]
    assert nlp.meta["license"] == "CC0"
    rows = dict(re.findall(r"(?m)^(F1 of .*?)  +(\S.*?) *$", result.output))
    assert rows["F1 of PRODUCT, new"].split() == ["0.00", "%", "100.00", "%"]
    assert set(rows) == {f"F1 of {label}" for label in ("LOC", "ORG", "PER", "PRODUCT, new")}
    config = load_config(folder.config)
    assert config["components"]["ssvm_ner"] == {"source": str(folder.start)}
    assert train(*arguments).exit_code == 1, "nothing is replaced unasked"
    spacy_train(folder.config, tmp_path / "again", overrides={"training.max_epochs": 4})
    assert contents(tmp_path / "again" / "model-best" / "ssvm_ner") == contents(
        folder.best / "ssvm_ner"
    )
    again = train(data, "--from", folder.best, "-o", folder.path, "--overwrite")
    assert again.exit_code == 1
    assert "lies in the output folder" in " ".join(again.output.split())


def test_what_is_known_already_needs_no_copy_of_the_pipeline(model: Path, tmp_path: Path) -> None:
    data = write_records(tmp_path / "more.jsonl", ENTITIES)
    folder = TrainingFolder(tmp_path / "out")
    result = train(data, "--from", model, "-o", folder.path, "--training.max_epochs", 1)
    assert result.exit_code == 0, result.output
    assert "New labels" not in result.output
    assert not folder.start.exists()
    assert load_config(folder.config)["components"]["ssvm_ner"] == {"source": str(model)}


def test_settings_of_components_can_be_changed(model: Path, tmp_path: Path) -> None:
    data = write_records(tmp_path / "more.jsonl", ENTITIES)
    folder, key = TrainingFolder(tmp_path / "out"), "components.ssvm_ner.solver.C"
    arguments = (data, "--from", model, "-o", folder.path, "--training.max_epochs", 1)
    result = train(*arguments, f"--{key}", 0.01)
    assert result.exit_code == 0, result.output
    trained: Any = spacy.load(folder.best).get_pipe("ssvm_ner")
    assert trained.solver.C == trained.model.summary.C == 0.01
    before: Any = spacy.load(model).get_pipe("ssvm_ner")
    assert before.solver.C == 1.0


def corpus_of(*files: Sequence[Doc]) -> Corpus:
    train = [doc for docs in files for doc in docs]
    return Corpus(train, [], [Converted(list(docs), [], 0) for docs in files])


def references(text: str) -> list[Doc]:
    return [example.reference for example in entity_examples(spacy.blank("en").vocab, text)]


def test_what_files_never_annotate_is_what_the_pipeline_finds() -> None:
    nlp = RECOGNIZER.trained()
    new, old, none = references(ONLY_NEW), references(ENTITIES), references("Mary saw London")
    corpus = corpus_of(new, old, none)
    found = complete(nlp, ["ssvm_ner"], corpus)
    golds = ents(found.corpus.train)
    assert golds[1] == [("Mary Smith", "PER"), ("Widget Pro", "PRODUCT")]
    assert golds[len(new) :] == [*ents(old), []], "these say all that there is"
    assert (found.found, found.scored) == (["LOC", "ORG", "PER"], [])
    in_dev = complete(nlp, ["ssvm_ner"], Corpus(old, new, corpus.converted))
    assert in_dev.scored == ["LOC", "ORG", "PER"]
    assert ents(in_dev.corpus.dev)[1] == golds[1]
    assert found.lacking == {"PRODUCT": len(old) + len(none)}
    assert ents(new)[1] == [("Widget Pro", "PRODUCT")]
    given = complete(nlp, ["ssvm_ner"], corpus_of(references("[Mary Smith]PRODUCT left [Rome]LOC")))
    assert ents(given.corpus.train)[0][0] == ("Mary Smith", "PRODUCT"), "the file is right"


def test_chunks_that_files_never_annotate() -> None:
    nlp = CHUNKER.trained()
    docs = [example.reference for example in chunk_examples(spacy.blank("en").vocab)]
    gold = [[(span.text, span.label_) for span in doc.spans["chunks"]] for doc in docs]
    kinds = {label for own in gold for _, label in own}
    dropped = min(kinds)
    for doc in docs:
        doc.spans["chunks"] = [span for span in doc.spans["chunks"] if span.label_ != dropped]
    bare = Doc(docs[0].vocab, words=["nothing"])
    found = complete(nlp, ["ssvm_chunker"], corpus_of([*docs, bare]))
    assert found.found == [dropped]
    *completed, unannotated = found.corpus.train
    assert [
        sorted((span.text, span.label_) for span in doc.spans["chunks"]) for doc in completed
    ] == [sorted(own) for own in gold]
    assert "chunks" not in unannotated.spans


def pipeline() -> Language:
    """Components of this package and others, under names of the user's."""
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer", name="dots")
    nlp.add_pipe("ssvm_tagger", name="tags", config=EAGER)
    nlp.add_pipe("ssvm_tagger", name="parts", config={"attribute": "POS"})
    nlp.add_pipe("ssvm_chunker", name="phrases", config={"spans_key": "phrases"})
    nlp.add_pipe("ssvm_parser", name="trees")
    nlp.add_pipe("ssvm_ner", name="off")
    nlp.disable_pipe("off")
    return nlp


def test_kinds_of_components() -> None:
    nlp = pipeline()
    kinds = [kind_of(nlp, name) for name in nlp.component_names]
    assert kinds == [None, "tagger", "pos_tagger", None, "parser", "ner"]


def test_the_components_that_learn_on() -> None:
    nlp = pipeline()
    docs = [Doc(nlp.vocab, words=["a", "b"], tags=["A", "B"], heads=[0, 0], deps=["x", "y"])]
    annotation = find_annotation(docs)
    kinds = components_to_continue(nlp, None, annotation)
    assert kinds == {"tags": "tagger", "trees": "parser"}
    assert components_to_continue(nlp, ["trees"], annotation) == {"trees": "parser"}
    for names, problem in (
        (["parser"], "no component 'parser' that .* it has: tags, parts, trees"),
        (["off"], "no component 'off'"),
        (["parts"], "the examples have nothing that 'pos_tagger' could learn from"),
    ):
        with pytest.raises(ValueError, match=problem):
            components_to_continue(nlp, names, annotation)
    entities = find_annotation([Doc(nlp.vocab, words=["Ann"], ents=["B-PER"])])
    with pytest.raises(ValueError, match="tags, parts, trees; the examples have what ner needs"):
        components_to_continue(nlp, None, entities)


def test_what_components_read_is_there_in_training() -> None:
    nlp = pipeline()
    examples = tagging_examples(nlp.vocab)
    nlp.get_pipe("tags").initialize(lambda: examples, nlp=nlp)  # type: ignore[attr-defined]
    for name in ("parts", "phrases", "trees"):
        nlp.disable_pipe(name)
    nlp.enable_pipe("trees")
    docs = [example.reference for example in examples]
    files = {"train": Path("t.spacy"), "dev": Path("d.spacy")}
    both = {"tags": "tagger", "trees": "parser"}
    annotated = annotate_for(nlp, both, docs)
    assert annotations_of(annotated) == ("TAG", "SENT_START")
    config = continued_config(nlp, "m", both, **files)
    assert config["corpora"]["train"]["annotations"] == ["TAG"]
    frozen = ["dots", "parts", "phrases", "off"]
    assert config["training"]["frozen_components"] == frozen
    assert config["training"]["annotating_components"] == ["dots"]
    assert config["nlp"]["disabled"] == ["parts", "phrases", "off"]
    alone = {"trees": "parser"}
    assert not annotate_for(nlp, alone, docs)
    config = continued_config(nlp, "m", alone, **files)
    assert config["corpora"]["train"]["@readers"] == "spacy.Corpus.v1"
    assert config["training"]["annotating_components"] == ["dots", "tags"]
    weights = {name for name, w in config["training"]["score_weights"].items() if w}
    assert weights == {"dep_uas", "dep_las"}


def train_further(tmp_path: Path) -> TrainingFolder:
    """What becomes of the pipeline in model/ in an epoch of new examples."""
    data = write_records(tmp_path / "new.jsonl", NEW)
    folder = TrainingFolder(tmp_path / "out")
    result = train(
        data, "--from", tmp_path / "model", "-o", folder.path, "--training.max_epochs", 1
    )
    assert result.exit_code == 0, result.output
    return folder


def test_a_tokenizer_that_has_learned_stays(tmp_path: Path) -> None:
    """Other texts do not change it: the components know its tokens."""
    nlp = RECOGNIZER.trained()
    learned = trained_on(CONTRACTIONS)
    nlp.config["nlp"]["tokenizer"] = learned.config["nlp"]["tokenizer"]
    nlp.tokenizer = registry.resolve(nlp.config["nlp"])["tokenizer"](nlp)
    nlp.tokenizer.from_bytes(learned.tokenizer.to_bytes())
    nlp.to_disk(tmp_path / "model")
    folder = train_further(tmp_path)
    assert contents(folder.best / "tokenizer") == contents(tmp_path / "model" / "tokenizer")


def test_a_pipeline_with_frozen_components(tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("ssvm_tagger", name="tagger", config=EAGER)
    nlp.add_pipe("ssvm_ner", name="ner", config=EAGER)
    tagged = tagging_examples(nlp.vocab)
    nlp.get_pipe("tagger").initialize(lambda: tagged, nlp=nlp)  # type: ignore[attr-defined]
    nlp.get_pipe("tagger").update(tagged)  # type: ignore[attr-defined]
    known = entity_examples(nlp.vocab)
    nlp.get_pipe("ner").initialize(lambda: known, nlp=nlp)  # type: ignore[attr-defined]
    nlp.to_disk(tmp_path / "model")
    folder = train_further(tmp_path)
    tagger = contents(tmp_path / "model" / "tagger")
    assert contents(folder.best / "tagger") == tagger
    assert spacy.load(folder.best).pipe_names == ["sentencizer", "tagger", "ner"]
    (gold, *_) = read_docs(folder.train, nlp.vocab)
    assert not gold.doc.has_annotation("TAG")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["DATA", "--from", "MODEL", "--components.ner.solver.C", "3"], "cannot be loaded"),
        (["DATA", "--from", "MODEL", "--components.ssvm_ner.solver.D", "3"], "solver -> D"),
        (["DATA", "--from", "MODEL", "--components.ssvm_ner.solver.C", "-3"], "C is -3"),
        (["DATA", "--from", "MODEL", "--nlp.lang", "de"], "--nlp.lang: with --from, this is taken"),
        (["DATA", "--from", "MODEL", "--tokenizer", "rules"], "--tokenizer: with --from, that of"),
        (["DATA", "--from", "MODEL", "--gazetteer", "PER=DATA"], "lists of names are those of"),
        (["DATA", "--from", "MODEL", "--training.foo", "3"], "[training] has no such setting"),
        (["DATA", "--from", "nosuch"], "nosuch cannot be loaded as a pipeline"),
        (["DATA", "--from", "MODEL", "--components", "ner"], "has no component 'ner'"),
        (["TAGS", "--from", "TAGGER"], "does not have these labels of the examples: UH"),
        (["DATA", "--from", "TAGGER"], "the examples have what ner needs"),
    ],
)
def test_what_cannot_be_trained_further(
    arguments: list[str], problem: str, model: Path, tmp_path: Path
) -> None:
    tagger, tags = tmp_path / "tagger", tmp_path / "tags.spacy"
    TAGGER.trained(epochs=1).to_disk(tagger)
    docs = [Doc(spacy.blank("en").vocab, words=[word], tags=["UH"]) for word in ("oh", "ah", "eh")]
    DocBin(docs=docs).to_disk(tags)
    data = write_records(tmp_path / "new.jsonl", NEW)
    files = {"DATA": data, "MODEL": model, "TAGGER": tagger, "TAGS": tags}
    before = contents(tmp_path)
    result = train(*(files.get(text, text) for text in arguments), "-o", tmp_path / "out")
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit), "no traceback"
    assert problem in " ".join(result.output.split())
    assert contents(tmp_path) == before, "nothing is written"
