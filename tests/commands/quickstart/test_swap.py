"""Components of trained pipelines, replaced."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import spacy
from corpora import parsed_doc, tagging_examples
from spacy.language import Language
from spacy.tokens import DocBin
from spacy.vocab import Vocab
from typer.testing import CliRunner

from spacy_ssvm.commands.cli import ssvm
from spacy_ssvm.commands.quickstart.annotation import Annotation
from spacy_ssvm.commands.quickstart.swap import (
    annotate_by_others,
    components_to_swap,
    pipeline_with,
)

EVERYTHING = Annotation(
    2, 9, 4, 2, True, {name: Counter(["A"]) for name in ("tagger", "parser", "ner")}
)


def pipeline_of(*names: str, disabled: str = "") -> Language:
    nlp = spacy.blank("en")
    for name in names:
        nlp.add_pipe(name)
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


def test_components_before_that_annotate_nothing() -> None:
    nlp = pipeline_of("merge_entities", "tagger")
    docs = [parsed_doc(Vocab(), "Birds:2:nsubj sing:0:ROOT") for _ in range(2)]
    assert annotate_by_others(nlp, ["tagger"], docs, docs) is None


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
    lines = ("Birds:2:nsubj sing:0:ROOT .:2:punct", "Dogs:2:nsubj bark:0:ROOT .:2:punct")
    DocBin(docs=[parsed_doc(Vocab(), *lines) for _ in range(6)]).to_disk(data)
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
