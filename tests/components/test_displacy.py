"""Confidence in displaCy."""

import re
from typing import Any

import pytest
from corpora import make_doc
from pipelines import LABELER, PARSER, RECOGNIZER, TAGGER
from spacy import displacy
from spacy.tokens import Span

from spacy_ssvm.components.displacy import _colour, entities, labels, trees


def html_of(arguments: dict[str, Any]) -> str:
    return displacy.render(**arguments, jupyter=False)


def test_colours_go_from_orange_to_blue() -> None:
    assert _colour(0.0) == "#f4a582"
    assert _colour(0.5) == "#c3b5b0"
    assert _colour(1.0) == _colour(7.0) == _colour(float("inf")) == "#92c5de"


def test_entities_have_the_colour_of_their_score() -> None:
    nlp = RECOGNIZER.trained()
    docs = [nlp("Mary Smith sings in Paris ."), nlp("Smith works for Acme Steel .")]
    html = html_of(entities(docs))
    ents = [ent for doc in docs for ent in doc.ents]
    assert len(ents) == 4
    for ent in ents:
        assert f"background: {_colour(ent._.ssvm_score)}" in html
        assert f"{ent.label_} {ent._.ssvm_score:.2f}</span>" in html
    assert html_of(entities(docs[0])) in html


def test_entities_without_a_score_are_those_of_displacy() -> None:
    nlp = RECOGNIZER.trained()
    doc = make_doc(nlp.vocab, ["Mary", "sings"])
    doc.ents = [Span(doc, 0, 1, label="PER")]
    assert html_of(entities(doc)) == displacy.render(doc, style="ent", jupyter=False)


@pytest.mark.parametrize(
    "component", [TAGGER, pytest.param(LABELER, marks=pytest.mark.slow)], ids=["words", "lines"]
)
def test_labels_of_words_and_lines(component: Any) -> None:
    nlp = component.trained()
    pipe: Any = nlp.get_pipe(component.name)
    doc = nlp("The old dog barks .\nwe count birds .")
    html = html_of(labels(doc, pipe))
    decisions = pipe.decisions(doc)
    found = re.findall(r"background: (#\w+);[^>]*>\s*([^<>]*\d\.\d\d)\s*<", html)
    assert found == [(_colour(d.score), f"{d.label} {d.score:.2f}") for d in decisions]


@pytest.mark.filterwarnings("ignore:.* has no sentence boundaries")
def test_arcs_and_tags_of_trees() -> None:
    nlp = PARSER.trained()
    nlp.add_pipe("ssvm_tagger", source=TAGGER.trained(), first=True)
    parser: Any = nlp.get_pipe("ssvm_parser")
    tagger: Any = nlp.get_pipe("ssvm_tagger")
    doc = nlp(make_doc(nlp.vocab, ["The", "old", "dog", "barks", "."]))
    html = html_of(trees(doc, parser, tagger))
    arcs = re.findall(r"<textPath[^>]*>([^<]*)</textPath>", html)
    scores = parser.scores(doc)
    children = [token for token in doc if token.head != token]
    assert arcs == [f"{token.dep_} {scores[token.i]:.2f}" for token in children]
    tags = re.findall(r'displacy-tag"[^>]*>([^<]*)</tspan>', html)
    assert tags == [f"{t.tag_} {s:.2f}" for t, s in zip(doc, tagger.scores(doc), strict=True)]
    without = html_of(trees([doc], parser))
    assert re.findall(r'displacy-tag"[^>]*>([^<]*)</tspan>', without) == [t.tag_ for t in doc]
