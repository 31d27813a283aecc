"""Components of trained pipelines, replaced."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import spacy
from corpora import parsed_doc, tagging_examples
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab
from typer.testing import CliRunner

from spacy_ssvm.commands.cli import ssvm
from spacy_ssvm.commands.quickstart.annotation import Annotation
from spacy_ssvm.commands.quickstart.swap import (
    annotate_before,
    annotate_between,
    components_to_swap,
    config_of_new,
    overwriting_rules,
    pipeline_with,
    swapped_config,
)

LABELS = {name: Counter(["A"]) for name in ("tagger", "pos_tagger", "parser", "ner")}
EVERYTHING = Annotation(2, 9, 4, 2, True, LABELS)


@Language.component("nouns")
def nouns(doc: Doc) -> Doc:
    """Calls each word a noun, as fine-grained as coarse."""
    for token in doc:
        token.pos_ = "NOUN"
        token.tag_ = token.tag_ or "NN"
    return doc


def pipeline_of(*names: str, disabled: str = "") -> Language:
    """A pipeline of factories, some of which have other names, as in "my_parser=parser"."""
    nlp = spacy.blank("en")
    for given in names:
        name, _, factory = given.partition("=")
        nlp.add_pipe(factory or name, name=name)
    if disabled:
        nlp.disable_pipe(disabled)
    return nlp


@pytest.mark.parametrize(
    ("there", "disabled", "asked", "new", "order"),
    [
        (["tagger", "parser", "ner"], "", ["ner"], ["ner"], ["tagger", "parser", "ner"]),
        (
            ["tagger", "parser", "ner"],
            "",
            ["parser"],
            ["senter", "parser"],
            ["tagger", "senter", "parser", "ner"],
        ),
        (
            ["tagger", "parser", "senter", "ner"],
            "senter",
            ["parser", "tagger"],
            ["tagger", "senter", "parser"],
            ["tagger", "senter", "parser", "ner"],
        ),
        (
            ["sentencizer", "tagger"],
            "",
            ["parser"],
            ["parser"],
            ["sentencizer", "tagger", "parser"],
        ),
        (
            ["my_tagger=ssvm_tagger", "trees=parser", "ner"],
            "",
            ["parser", "tagger"],
            ["tagger", "senter", "parser"],
            ["tagger", "senter", "parser", "ner"],
        ),
        (["a=ner", "ner"], "", ["ner"], ["ner"], ["a", "ner"]),
        (["trees=parser", "ner"], "trees", ["ner"], ["ner"], ["trees", "ner"]),
        (["dots=sentencizer"], "", ["senter"], ["senter"], ["senter"]),
        (
            ["tagger", "attribute_ruler", "lemmatizer"],
            "",
            ["pos_tagger"],
            ["pos_tagger"],
            ["tagger", "attribute_ruler", "pos_tagger", "lemmatizer"],
        ),
        (
            ["sentencizer", "parser", "attribute_ruler"],
            "",
            ["pos_tagger", "parser"],
            ["pos_tagger", "parser"],
            ["sentencizer", "pos_tagger", "parser", "attribute_ruler"],
        ),
        (["ssvm_tagger"], "", ["pos_tagger"], ["pos_tagger"], ["ssvm_tagger", "pos_tagger"]),
    ],
)
def test_the_places_of_new_components(
    there: list[str], disabled: str, asked: list[str], new: list[str], order: list[str]
) -> None:
    nlp = pipeline_of(*there, disabled=disabled)
    assert components_to_swap(nlp, asked, EVERYTHING) == new
    assert pipeline_with(nlp, new) == order


def test_what_cannot_be_swapped() -> None:
    nlp = pipeline_of("tagger")
    with pytest.raises(ValueError, match="no component 'lemmatizer' to learn"):
        components_to_swap(nlp, ["lemmatizer"], EVERYTHING)
    with pytest.raises(ValueError, match="nothing that 'chunker' could learn from"):
        components_to_swap(nlp, ["chunker"], EVERYTHING)
    with pytest.raises(ValueError, match="a component 'ner' of another kind, nouns: rename it"):
        components_to_swap(pipeline_of("ner=nouns"), ["ner"], EVERYTHING)


def test_a_parser_without_a_senter() -> None:
    """Where each Doc is a sentence, there is nothing to learn boundaries from."""
    one_each = EVERYTHING._replace(boundaries=0)
    assert components_to_swap(pipeline_of("parser"), ["parser"], one_each) == ["parser"]


def test_rules_that_write_parts_of_speech() -> None:
    nlp = pipeline_of("attribute_ruler", "parser", "later=attribute_ruler")
    assert overwriting_rules(nlp, ["pos_tagger", "parser"]) == ["later"]
    assert overwriting_rules(nlp, ["parser"]) == []
    config = config_of_new(nlp, ["pos_tagger", "parser"], EVERYTHING)
    assert config["components"]["pos_tagger"]["overwrite"], "the rules' parts of speech"
    assert not config["components"]["parser"]["overwrite"]


def docs_of_two_sentences() -> list[Doc]:
    lines = ("Birds:2:nsubj sing:0:ROOT .:2:punct", "Dogs:2:nsubj bark:0:ROOT .:2:punct")
    return [parsed_doc(Vocab(), *lines) for _ in range(6)]


def test_components_before_that_annotate_nothing() -> None:
    nlp, docs = pipeline_of("merge_entities", "tagger"), docs_of_two_sentences()
    assert annotate_before(nlp, ["tagger"], docs, docs) is None
    assert annotate_between(nlp, ["tagger"], docs, None) == ((), [])


def test_components_before_annotate() -> None:
    nlp, docs = pipeline_of("sentencizer", "tagger", "nouns"), docs_of_two_sentences()
    before = annotate_before(nlp, ["tagger"], docs, docs[:1])
    assert before is not None
    assert [len(list(doc.sents)) for doc in before.found] == [2] * 6
    assert len(before.found_in_dev) == 1
    found, annotations = annotate_between(nlp, ["tagger"], docs, before.found)
    assert found == before.found
    assert annotations == ["SENT_START"]


@pytest.mark.parametrize(
    ("new", "annotations"),
    [
        (["tagger", "ner"], ["TAG", "POS", "SENT_START"]),
        (["parser", "ner"], ["SENT_START"]),
        (["parser", "tagger", "ner"], ["SENT_START"]),
    ],
)
def test_components_between_annotate_what_later_ones_read(
    new: list[str], annotations: list[str]
) -> None:
    """A parser before them would read tags in training that it does not have in use."""
    there = ["sentencizer", *(name for name in new if name != "ner"), "nouns", "ner"]
    nlp, docs = pipeline_of(*there), docs_of_two_sentences()
    before = annotate_before(nlp, new, docs, docs)
    assert before is not None
    found, read = annotate_between(nlp, new, docs, before.found)
    assert read == annotations
    for doc in found:
        assert {token.pos_ for token in doc} == {"NOUN"}
        assert len(list(doc.sents)) == 2, "what comes before is there, too"


def test_the_tokenizer_stays() -> None:
    """Also one that is not the default of the language."""
    characters = {"@tokenizers": "spacy.zh.ChineseTokenizer", "segmenter": "char"}
    nlp = spacy.blank("en", config={"nlp": {"tokenizer": characters}})
    config = swapped_config(config_of_new(nlp, ["ner"], EVERYTHING), nlp, "source", ["ner"], [])
    assert config["nlp"]["tokenizer"] == characters


def test_the_others_stay_as_they_are(tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    tagger = nlp.add_pipe("ssvm_tagger", name="tagger")
    nlp.add_pipe("sentencizer", name="dots")
    examples = tagging_examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    for _ in range(5):
        nlp.update(examples)
    source, output, data = tmp_path / "source", tmp_path / "out", tmp_path / "train.spacy"
    nlp.tokenizer.add_special_case("gimme", [{"ORTH": "gim"}, {"ORTH": "me"}])  # type: ignore[attr-defined]
    nlp.to_disk(source)
    DocBin(docs=docs_of_two_sentences()).to_disk(data)
    arguments: list[Any] = ["swap", source, data, "--dev", data, "--components", "parser"]
    arguments += ["-o", output, "--training.max_epochs", "2", "--clusters", "none"]
    result = CliRunner().invoke(ssvm, list(map(str, arguments)))
    assert result.exit_code == 0, result.output
    swapped = spacy.load(output / "model-best")
    assert swapped.pipe_names == ["tagger", "dots", "parser"]
    assert [token.text for token in swapped.make_doc("gimme")] == ["gim", "me"]
    same: Any = swapped.get_pipe("tagger")
    assert same.to_bytes(exclude=["vocab"]) == tagger.to_bytes(exclude=["vocab"])  # type: ignore[attr-defined]
    parser: Any = swapped.get_pipe("parser")
    assert "tag" in parser.model.reader.names
    rows = {line.split()[0]: line.split()[-2:] for line in result.output.splitlines() if line}
    assert rows["LAS"] == ["100.00", "%"]
    assert all(float(speed.replace(",", "")) > 0 for speed in rows["words/s"])
    reader = swapped.config["corpora"]["train"]
    assert {"TAG", "SENT_START"} <= {*reader["annotations"]}
