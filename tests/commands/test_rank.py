"""Texts in the order in which it pays to annotate them."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
import srsly
from pipelines import RECOGNIZER, SENTER, TAGGER
from spacy.language import Language
from spacy.tokens import Doc
from typer.testing import CliRunner

from spacy_ssvm.cli import ssvm
from spacy_ssvm.commands.rank import Ranked, rank, read_texts, write_ranked
from spacy_ssvm.components.page import Decision, ExplainablePipe

TEXTS = ["Mary Smith sings .", "Zzz qqq", "The cat", "Mary \n Smith"]


@pytest.fixture(scope="module")
def nlp() -> Language:
    made = RECOGNIZER.trained()
    made.add_pipe("ssvm_tagger", source=TAGGER.trained())
    return made


def least(nlp: Language, name: str, text: str) -> float:
    doc = nlp(text)
    pipe: Any = nlp.get_pipe(name)
    return float(
        min(s for s, token in zip(pipe.scores(doc), doc, strict=True) if token.text.strip())
    )


def ranked_texts(nlp: Language, names: list[str], texts: list[str]) -> list[Ranked]:
    return rank(nlp, names, [nlp.make_doc(text) for text in texts])


def test_the_most_uncertain_come_first(nlp: Language) -> None:
    ranked = ranked_texts(nlp, ["ssvm_ner"], TEXTS)
    assert sorted(one.doc.text for one in ranked) == sorted(TEXTS)
    found = [one.uncertainty for one in ranked]
    assert found == sorted(found, reverse=True)
    for one in ranked:
        assert one.confidence == pytest.approx(least(nlp, "ssvm_ner", one.doc.text))
        assert one.word in [token.text for token in one.doc]
        assert one.word.strip()


def test_each_of_several_components_counts(nlp: Language) -> None:
    names = ["ssvm_ner", "ssvm_tagger"]
    both = [one.doc.text for one in ranked_texts(nlp, names, TEXTS)]
    first = {ranked_texts(nlp, [name], TEXTS)[0].doc.text for name in names}
    assert {*both[: len(first)]} == first


class Sure(ExplainablePipe[str]):
    """A component whose confidence in words is their text, in quarters, or one letter of it."""

    def __init__(self, name: str, letter: int) -> None:
        self.name, self.letter = name, letter

    def __call__(self, doc: Doc) -> Doc:
        return doc

    def decisions(self, doc: Doc, reference: Doc | None = None) -> list[Decision[str]]:
        letters = (token.text[self.letter] for token in doc)
        scores = [np.inf if letter == "x" else int(letter) / 4 for letter in letters]
        return [Decision(i, i + 1, "A", None, score) for i, score in enumerate(scores)]


@Language.factory("sure", default_config={"letter": 0})
def make_sure(nlp: Language, name: str, letter: int) -> Sure:
    return Sure(name, letter)


def test_uncertainty_is_of_all_words() -> None:
    """Several words that may be wrong count more than one, among sure ones they count less."""
    nlp = spacy.blank("en")
    nlp.add_pipe("sure")
    uncertainties = {
        "1 1 1 1": 4 * 0.75 / 2,
        "0": 1.0,
        "0 9": 1 / 2**0.5,
        "2": 0.5,
        "9 1 9 3": (0.75 + 0.25) / 2,
        "4 x": 0.0,
        "9": 0.0,
        "x": 0.0,
        "": 0.0,
    }
    ranked = ranked_texts(nlp, ["sure"], [*uncertainties][::-1])
    found = {one.doc.text: one.uncertainty for one in ranked}
    assert found == pytest.approx(uncertainties)
    assert [*found][:3] == [*uncertainties][:3]
    assert [*found][5:7] == ["4 x", "9"], "by their margins"
    assert [*found][7:] == ["", "x"], "their own order"
    (one,) = (one for one in ranked if one.doc.text == "9 1 9 3")
    assert (one.word, one.confidence) == ("1", 0.25)


def test_the_most_uncertain_of_any_component_count() -> None:
    """By the rank, and certainty is last, wherever it is."""
    nlp = spacy.blank("en")
    for letter, name in enumerate(["first", "second"]):
        nlp.add_pipe("sure", name=name, config={"letter": letter})
    texts = ["xx", "x2", "33 22", "09", "3x", "21"]
    ranked = ranked_texts(nlp, ["first", "second"], texts)
    found = [(one.doc.text, one.confidence, one.word) for one in ranked]
    assert found == [
        ("09", 0.0, "09"),
        ("21", 0.25, "21"),
        ("33 22", 0.5, "22"),
        ("x2", 0.5, "x2"),
        ("3x", 0.75, "3x"),
        ("xx", np.inf, "xx"),
    ]
    certain = ranked_texts(nlp, ["first", "second"], ["xx", "x3", "x1", "x2"])
    assert [one.doc.text for one in certain] == ["x1", "x2", "x3", "xx"], "the other one decides"


def test_texts_that_are_annotated_already(nlp: Language, tmp_path: Path) -> None:
    nlp.to_disk(tmp_path / "model")
    texts, done = tmp_path / "texts.txt", tmp_path / "done.jsonl"
    texts.write_text("\n".join(TEXTS[:3]), encoding="utf8")
    srsly.write_jsonl(done, [{"text": text, "spans": []} for text in TEXTS[:2]])
    arguments = ["rank", *map(str, (tmp_path / "model", texts)), "--exclude", str(done), "-o"]
    result = CliRunner().invoke(ssvm, [*arguments, str(tmp_path / "next.jsonl")])
    assert result.exit_code == 0, result.output
    assert [r["text"] for r in srsly.read_jsonl(tmp_path / "next.jsonl")] == TEXTS[2:3]
    done.write_text("", encoding="utf8")
    srsly.write_jsonl(done, [{"text": text} for text in TEXTS])
    result = CliRunner().invoke(ssvm, [*arguments, str(tmp_path / "none.jsonl")])
    assert result.exit_code == 1
    assert "has no texts but those to leave out" in " ".join(result.output.split())


def test_records_can_be_corrected(nlp: Language, tmp_path: Path) -> None:
    write_ranked(tmp_path / "a.jsonl", ranked_texts(nlp, ["ssvm_ner"], TEXTS[:1]))
    (record,) = srsly.read_jsonl(tmp_path / "a.jsonl")
    assert record["text"] == TEXTS[0]
    assert record["spans"] == [{"start": 0, "end": 10, "label": "PER"}]
    (one,) = ranked_texts(nlp, ["ssvm_ner"], TEXTS[:1])
    assert record["meta"]["uncertainty"] == pytest.approx(one.uncertainty, abs=1e-3)
    assert record["meta"]["confidence"] == pytest.approx(least(nlp, "ssvm_ner", TEXTS[0]), abs=1e-3)


def test_certainty_comes_last(tmp_path: Path) -> None:
    senter = SENTER.trained()
    ranked = ranked_texts(senter, ["ssvm_senter"], ["Mary", "Mary sings . John plays ."])
    assert np.isinf(ranked[-1].confidence)
    write_ranked(tmp_path / "a.jsonl", ranked)
    records = list(srsly.read_jsonl(tmp_path / "a.jsonl"))
    assert [record["meta"]["confidence"] is None for record in records] == [False, True]
    assert not any("spans" in record for record in records), "it does not look for any"


def test_texts_of_files(tmp_path: Path) -> None:
    lines, records = tmp_path / "a.txt", tmp_path / "a.jsonl"
    lines.write_text("One two\n\n  Three \nOne two\n", encoding="utf8")
    records.write_text('{"text": "One two", "id": 3}\n\n{"text": " "}\n', encoding="utf8")
    assert read_texts(lines) == ["One two", "Three"]
    assert read_texts(records) == ["One two"]
    packed, whole = tmp_path / "b.jsonl.gz", tmp_path / "c.JSON"
    packed.write_bytes(gzip.compress(records.read_bytes()))
    whole.write_text('\ufeff[{"text": "One two"}]', encoding="utf8")
    assert read_texts(packed) == read_texts(whole) == ["One two"]


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("a.txt", "\n \n", "a.txt has no text"),
        ("a.jsonl", '{"text": "a"}\n{"txt": "b"}\n', "a.jsonl, line 2: expected a record"),
        ("a.jsonl", '{"text": "a"}\n[]\n', "a.jsonl, line 2: expected a record"),
        ("a.jsonl", "{", "a.jsonl, line 1: this is not JSON"),
    ],
)
def test_files_without_texts(name: str, text: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="utf8")
    with pytest.raises(ValueError, match=problem):
        read_texts(tmp_path / name)


def test_the_command(nlp: Language, tmp_path: Path) -> None:
    nlp.to_disk(tmp_path / "model")
    texts, output = tmp_path / "texts.txt", tmp_path / "next.jsonl"
    texts.write_text("\n".join(TEXTS[:3]), encoding="utf8")
    arguments = ["rank", *map(str, (tmp_path / "model", texts)), "-o", str(output)]
    result = CliRunner().invoke(ssvm, [*arguments, "--number", "2"])
    assert result.exit_code == 0, result.output
    records = [json.loads(line) for line in output.read_text(encoding="utf8").splitlines()]
    assert len(records) == 2
    assert records[0]["text"] in result.output
    again = CliRunner().invoke(ssvm, arguments)
    assert again.exit_code == 1
    assert "--overwrite" in again.output
    texts.write_text("", encoding="utf8")
    again = CliRunner().invoke(ssvm, [*arguments, "--overwrite"])
    assert again.exit_code == 1
    assert "has no text" in again.output
    assert len(output.read_text(encoding="utf8").splitlines()) == 2, "what was there is kept"
