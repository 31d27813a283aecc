"""The report of a pipeline as a page: what it shows, and where it is not written."""

import html
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from corpora import entity_examples, make_doc
from pipelines import RECOGNIZER, TAGGER, Component
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from typer.testing import CliRunner

from spacy_ssvm.cli import ssvm
from spacy_ssvm.commands.pipeline_report import conclusion, facts
from spacy_ssvm.commands.pipelines import made
from spacy_ssvm.commands.report import Measured


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a pipeline, and with the corpus that it knows, and one that it does not."""
    folder = tmp_path_factory.mktemp("report")
    nlp = RECOGNIZER.trained()
    nlp.to_disk(folder / "pipeline")
    save(RECOGNIZER.examples(nlp.vocab), folder / "corpus.spacy")
    unseen = "[Kim]PER met [Mary]PER in [the Alps]LOC .\nNo [Smith]LOC ."
    save(entity_examples(nlp.vocab, unseen), folder / "unseen.spacy")
    return folder


def save(examples: list[Example], file: Path) -> None:
    DocBin(docs=[example.reference for example in examples]).to_disk(file)


def report(folder: Path, page: Path, *options: str, corpus: str = "unseen.spacy") -> Any:
    arguments = ["report", folder / "pipeline", folder / corpus, "--html", page, *options]
    return CliRunner().invoke(ssvm, [*map(str, arguments)])


def text_of(page: Path) -> str:
    """What a page says, in one line."""
    body = page.read_text(encoding="utf8").partition("<body>")[2]
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", body)).split())


def test_the_page_says_what_was_measured_and_what_it_is(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "new" / "report.html"
    result = report(folder, page)
    assert result.exit_code == 0, result.output
    source, text = page.read_text(encoding="utf8"), text_of(page)
    assert "<title>en_pipeline on unseen.spacy</title>" in source
    assert f"pipeline {folder / 'pipeline'}: en_pipeline 0.0.0 components ssvm_ner" in text
    assert f"corpus {folder / 'unseen.spacy'}: 2 Docs, 10 tokens" in text
    assert f"tokens predicted sentences none score ents_f made {made()}" in text
    found = re.search(r"<strong>On unseen.spacy, entity F1 is (.*?) % \(95 %", source)
    assert found is not None
    rows = re.findall(r"(?m)^(\S.*?)  +(\S.*?) *$", result.output)
    assert dict(rows)["entity F1"] == f"{found[1]} %"
    for name, value in rows:
        assert f"{name} {value}" in text
    assert "Entities In percent. All labels. label precision recall F1 gold LOC" in text
    assert "Confidence Of the decisions about words" in text
    assert "ssvm_ner 10 " in text
    assert re.findall(r"<h2>(.*?)</h2>", source)[-1] == "Accuracy by confidence", "no probabilities"
    assert not re.search(r'(src|href)="(?!#|data:)', source.replace("xlink:href", "href"))
    names = re.findall(r'\bid="([^"]*)"', source)
    assert len(names) == len(set(names))


@pytest.mark.filterwarnings("ignore:.* has no sentence boundaries and is parsed as one sentence")
def test_pages_of_all_components(component: Component, trained: Language, tmp_path: Path) -> None:
    trained.to_disk(tmp_path / "pipeline")
    save(component.examples(trained.vocab), tmp_path / "corpus.spacy")
    page = tmp_path / "report.html"
    result = report(tmp_path, page, corpus="corpus.spacy")
    assert result.exit_code == 0, result.output
    text = text_of(page)
    assert "is 100.00 %" in text
    if component.labels_tokens:
        assert re.search(rf"{component.name} \d+ 100.00 0 - Accuracy by confidence", text)


def test_probabilities_are_drawn_beside_what_they_say(tmp_path: Path) -> None:
    nlp = TAGGER.trained(solver={"@misc": "spacy_ssvm.LBFGS.v1"}, epochs=3)
    nlp.to_disk(tmp_path / "pipeline")
    save(TAGGER.examples(nlp.vocab), tmp_path / "corpus.spacy")
    page = tmp_path / "report.html"
    report(tmp_path, page, corpus="corpus.spacy")
    source = page.read_text(encoding="utf8")
    assert re.findall(r"</i>(\w+)</li>", source) == ["ssvm_tagger", "ssvm_tagger", "calibrated"]
    assert "calibrated ends at 100, where" in source


def test_a_page_is_replaced_once_there_is_another(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text("old", encoding="utf8")
    assert report(folder, page, corpus="pipeline/config.cfg").exit_code == 1
    assert page.read_text(encoding="utf8") == "old"
    assert report(folder, page).exit_code == 0
    assert page.read_text(encoding="utf8").startswith("<!DOCTYPE html>")
    assert [*tmp_path.iterdir()] == [page]


@pytest.mark.parametrize("name", ["unseen.spacy", "folder.html"])
def test_what_is_no_page(name: str, folder: Path) -> None:
    (folder / "folder.html").mkdir(exist_ok=True)
    before = (folder / "unseen.spacy").read_bytes()
    result = report(folder, folder / name)
    assert result.exit_code == 1
    assert "must be a file that ends in .html" in " ".join(result.output.split())
    assert (folder / "unseen.spacy").read_bytes() == before


def test_a_missing_extra(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [name for name in sys.modules if name.startswith("spacy_ssvm.commands.")]:
        if module.endswith(("figures", "_report")):
            monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = report(folder, tmp_path / "report.html")
    assert result.exit_code == 1
    assert 'matplotlib is missing: pip install "spacy-ssvm[compare]"' in result.output
    arguments = ["report", str(folder / "pipeline"), str(folder / "unseen.spacy")]
    assert CliRunner().invoke(ssvm, arguments).exit_code == 0, "the table needs no extra"


def measured(nlp: Language, *docs: Doc, gold_preproc: bool = False, **scores: float) -> Measured:
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in docs]
    return Measured(nlp, examples, gold_preproc, scores, (0.25, 0.75), [])


def test_conclusions(folder: Path) -> None:
    nlp = TAGGER.pipeline()
    said = conclusion(measured(nlp, tag_acc=0.5, ents_f=0.4), "a")
    assert said == "On a, TAG accuracy is 50.00 %."
    nlp.config["training"]["score_weights"] = {"tag_acc": 0.5, "dep_las": 0.2, "ents_f": 0.3}
    said = conclusion(measured(nlp, tag_acc=0.5, dep_las=0.4, ents_f=0.3), "a")
    assert said == (
        "On a, TAG accuracy is 50.00 %, LAS without punctuation is 40.00 % and entity F1 is "
        "30.00 % (95 % interval: 25.0 to 75.0 %)."
    )
    said = conclusion(measured(nlp, pos_acc=0.5, speed=3.0), "a")
    assert said == "On a, POS accuracy is 50.00 %."
    assert conclusion(measured(nlp, speed=3.0), "a") == (
        "a has no annotation by which the pipeline could be scored."
    )


def test_facts_tell_whose_tokens_and_sentences_there_are() -> None:
    nlp = TAGGER.pipeline()
    spaced = make_doc(nlp.vocab, ["a", "b"])
    unspaced = Doc(nlp.vocab, words=["a", "b"])

    def told(*docs: Doc, **options: bool) -> tuple[str, str]:
        found = facts(measured(nlp, *docs, **options), "model", Path("a.spacy"))
        return found["tokens"], found["sentences"]

    assert told(spaced) == ("predicted", "none")
    assert told(unspaced) == ("gold", "none")
    assert told(spaced, unspaced) == ("predicted, but gold in 1 Docs without spaces", "none")
    assert told(spaced, gold_preproc=True) == ("gold", "gold, each as a Doc")
    one = measured(nlp, make_doc(nlp.vocab, ["a"]), spaced)
    assert facts(one, "model", Path("a.spacy"))["sentences"] == "none"
    one.examples[1].predicted[1].is_sent_start = True
    assert facts(one, "model", Path("a.spacy"))["sentences"] == "predicted"
