"""Tests of ``spacy_ssvm/chains/explanation.py``."""

from typing import Any

import pytest
from corpora import make_doc, tagging_examples
from pipelines import TAGGER
from spacy.language import Language
from tiny_taggers import STARTS, TINY, TWO, train


@pytest.mark.parametrize("text", ["The old dog barks.", "Kings  saw \n the ship.", "Unseen words"])
def test_reasons_add_up_to_the_margin(trained_tagger: Language, text: str) -> None:
    tagger: Any = trained_tagger.get_pipe("ssvm_tagger")
    doc = trained_tagger(text)
    margins = tagger.scores(doc)
    explained = 0
    for token in doc:
        if token.is_space:
            continue
        explanation = tagger.explain(doc, token)
        assert explanation == tagger.explain(doc, token.i)
        assert explanation.token == token.text
        assert explanation.label == token.tag_ != explanation.runner_up
        assert explanation.runner_up in tagger.labels
        assert explanation.margin == pytest.approx(margins[token.i])
        total = sum(reason.difference for reason in explanation.reasons)
        assert total == pytest.approx(explanation.margin, abs=1e-9)
        explained += 1
    assert explained >= 2


def test_reasons_add_up_in_docs_of_many_sentences(trained_tagger: Language) -> None:
    tagger: Any = trained_tagger.get_pipe("ssvm_tagger")
    doc = trained_tagger(make_doc(trained_tagger.vocab, TWO, sent_starts=STARTS))
    for token, margin in zip(doc, tagger.scores(doc), strict=True):
        explanation = tagger.explain(doc, token)
        assert explanation.label == token.tag_
        total = sum(reason.difference for reason in explanation.reasons)
        assert total == pytest.approx(margin, abs=1e-9)


def test_reasons_name_templates_and_values() -> None:
    templates = ["lower[0]", "suffix2[-1]", "shape[0]+lower[1]"]
    nlp = TAGGER.pipeline(templates=templates)
    tagger = train(nlp, tagging_examples(nlp.vocab, TINY))
    doc = nlp("the dog barks")
    reasons = {reason.template: reason for reason in tagger.explain(doc, 1).reasons}
    assert set(reasons) == {*templates, "transitions", "labels of other tokens"}
    assert reasons["lower[0]"].value == "dog"
    assert reasons["suffix2[-1]"].value == "he"
    assert reasons["shape[0]+lower[1]"].value == "x + barks"
    assert reasons["lower[0]"].weight > reasons["lower[0]"].runner_up_weight
    first = {reason.template: reason.value for reason in tagger.explain(doc, 0).reasons}
    assert first["suffix2[-1]"] == "<start>"
    last = {reason.template: reason.value for reason in tagger.explain(doc, -1).reasons}
    assert last["shape[0]+lower[1]"] == "x + <end>"


def test_weights_of_reasons_make_the_emissions(tiny: Language) -> None:
    tagger: Any = tiny.get_pipe("ssvm_tagger")
    doc = tiny("the dog barks")
    explanation = tagger.explain(doc, 1)
    emissions = tagger.model.emissions(tagger.model.reader.read([doc]), 0)[1]
    features = explanation.reasons[:-2]
    assert sum(r.weight for r in features) == pytest.approx(
        emissions[tagger.labels.index(explanation.label)]
    )
    assert sum(r.runner_up_weight for r in features) == pytest.approx(
        emissions[tagger.labels.index(explanation.runner_up)]
    )


def test_an_explanation_prints_as_a_table(tiny: Language) -> None:
    explanation = tiny.get_pipe("ssvm_tagger").explain(tiny("the dog barks"), 1)
    lines = str(explanation).splitlines()
    assert lines[0].startswith("'dog': NN, not ")
    rows = [line for line in lines if line.strip()]
    header = next(row for row in rows if row.startswith("template"))
    assert header.split() == ["template", "feature", "NN", explanation.runner_up, "difference"]
    for reason in explanation.reasons:
        row = next(row for row in rows if row.startswith(reason.template + " "))
        assert f"{reason.difference:+.3f}" in row
        assert (reason.value if "+" in reason.template else reason.said) in row
    assert rows[-1].split() == ["margin", f"{explanation.margin:+.3f}"]
