"""Decisions of components as pages: what is wrong, what is unsure, and why."""

import re
from typing import Any

import numpy as np
import pytest
import spacy
from corpora import make_doc
from pipelines import PARSER, RECOGNIZER, TAGGER, Component
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_ssvm.components.page import Decision, Page, read_part, render_page


@pytest.fixture(scope="session")
def component(component: Component) -> Component:
    """The components that give labels to tokens."""
    if not component.labels_tokens:
        pytest.skip("decides about units of several tokens")
    return component


def docs_of(component: Component, nlp: Language) -> tuple[Any, list[Doc], list[Doc]]:
    """The component, what it has annotated, and the gold Docs."""
    examples = component.examples(nlp.vocab)[:6]
    docs = list(nlp.pipe(example.predicted for example in examples))
    return nlp.get_pipe(component.name), docs, [example.reference for example in examples]


def test_gold_that_is_learned_by_heart_is_right(component: Component, trained: Language) -> None:
    pipe, docs, golds = docs_of(component, trained)
    part = read_part(pipe, docs, golds)
    assert (part.name, part.wrong, part.confusions) == (component.name, 0, [])
    assert part.known > 0
    for doc, shown in zip(docs, part.docs, strict=True):
        assert "".join(word.text + word.space for word in shown.words) == doc.text
        assert not any(word.gold for word in shown.words)
        for word in shown.words:
            assert bool(word.link) == any(why.link == word.link for why in shown.reasons)
        assert not any(why.gold for why in shown.reasons)
    without = read_part(pipe, docs)
    assert (without.known, without.wrong) == (0, 0)
    assert read_part(pipe, docs, golds, only_errors=True).docs == []


def test_decisions_are_what_explanations_explain(component: Component, trained: Language) -> None:
    pipe, docs, _ = docs_of(component, trained)
    for doc in docs:
        decisions = pipe.decisions(doc)
        assert len(decisions) == len(doc)
        for i, decision in enumerate(decisions):
            explanation = pipe.explain_decision(doc, i, decision, top=3)
            if explanation is None or component.factory == "ssvm_parser":
                continue
            assert explanation.label == decision.label
    assert pipe.decisions(trained.make_doc("")) == []
    (space,) = pipe.decisions(trained.make_doc("\n"))
    assert space == Decision("", "")


def test_the_least_sure_words_are_unsure(component: Component, trained: Language) -> None:
    pipe, docs, _ = docs_of(component, trained)
    part = read_part(pipe, docs, explanations=3)
    scores = np.concatenate([pipe.scores(doc) for doc in docs])
    unsure = np.array([word.is_unsure for shown in part.docs for word in shown.words])
    assert 0 < unsure.sum() < len(unsure) / 3
    assert scores[unsure].max() <= scores[~unsure & (scores != 0)].min()
    explained = np.array([bool(word.link) for shown in part.docs for word in shown.words])
    assert 0 < explained.sum() <= 3
    assert scores[explained].max() <= np.sort(scores[scores != 0])[2]


def test_errors_are_explained_against_gold() -> None:
    nlp = RECOGNIZER.trained()
    pipe: Any = nlp.get_pipe("ssvm_ner")
    doc = nlp("Mary Smith sings in Paris .")
    found = [(entity.text, entity.label_) for entity in doc.ents]
    assert ("Mary Smith", "PER") in found
    gold = make_doc(nlp.vocab, [token.text for token in doc])
    gold.set_ents([Span(gold, 1, 2, label="PER"), Span(gold, 4, 5, label="NEW")])
    part = read_part(pipe, [doc], [gold])
    (shown,) = part.docs
    assert [word.gold for word in shown.words][:3] == ["O", "U-PER", ""]
    assert shown.words[4].gold == "U-NEW", "a label that the model does not have"
    assert shown.wrong == part.wrong == 3
    assert part.known == 6
    assert ("U-PER", "L-PER", 1) in part.confusions
    whys = {why.link: why for why in shown.reasons}
    why = whys[shown.words[1].link]
    assert (why.gold, why.explanation.label, why.explanation.runner_up) == (
        "U-PER",
        "L-PER",
        "U-PER",
    )
    assert whys[shown.words[4].link].explanation.runner_up != "U-NEW"
    labels = [(word.label, word.colour) for word in shown.words]
    assert labels[0] == ("", labels[1][1]), "a span has its type at its end"
    assert labels[1][0] == "PER"
    assert labels[1][1] > 0
    assert labels[2] == ("", 0)
    assert [len(own.docs) for own in (part, read_part(pipe, [doc, doc], [doc, gold]))] == [1, 2]
    assert len(read_part(pipe, [doc, doc], [doc, gold], only_errors=True).docs) == 1


def test_arcs_that_are_wrong() -> None:
    nlp = PARSER.trained()
    pipe: Any = nlp.get_pipe("ssvm_parser")
    reference = PARSER.examples(nlp.vocab)[0].reference
    words = [token.text for token in reference]
    doc = nlp(make_doc(nlp.vocab, words, sent_starts=[i == 0 for i in range(len(words))]))
    other = make_doc(
        nlp.vocab,
        [token.text for token in doc],
        heads=[token.head.i for token in doc],
        deps=["ROOT" if token.dep_ == "ROOT" else "new" for token in doc],
    )
    decisions = pipe.decisions(doc, other)
    root = next(token.i for token in doc if token.dep_ == "ROOT")
    assert decisions[root] == Decision("ROOT", "ROOT")
    token = doc[0 if root else 1]
    expected = Decision(f"{token.dep_} of {token.head.text}", f"new of {token.head.text}")
    assert decisions[token.i] == expected


def test_heads_of_the_same_text_are_told_apart() -> None:
    nlp = PARSER.trained()
    pipe: Any = nlp.get_pipe("ssvm_parser")
    words, deps = ["said", "Ann", "said", "Bob"], ["ROOT", "nsubj", "conj", "nsubj"]
    doc = make_doc(nlp.vocab, words, heads=[0, 0, 0, 2], deps=deps)
    gold = make_doc(nlp.vocab, words, heads=[0, 2, 0, 2], deps=deps)
    decisions = pipe.decisions(doc, gold)
    assert decisions[1] == Decision("nsubj of said (1)", "nsubj of said (2)")
    assert decisions[3] == Decision("nsubj of said (2)", "nsubj of said (2)")


def test_a_page_of_a_doc_for_notebooks(component: Component, trained: Language) -> None:
    pipe, docs, _ = docs_of(component, trained)
    page = pipe.show(docs[0], top=2)
    assert isinstance(page, Page)
    html = page._repr_html_()
    assert html == str(page)
    assert html.count("<style>") == 1
    for token in docs[0]:
        assert f"<span>{token.text}</span>" in html
    links = re.findall(r'href="#([^"]+)"', html)
    identifiers = re.findall(r'id="([^"]+)"', html)
    assert {*links} <= {*identifiers}
    assert len(identifiers) == len({*identifiers})


def test_tags_with_hyphens_are_no_spans() -> None:
    nlp = spacy.blank("en")
    tagger: Any = nlp.add_pipe("ssvm_tagger", name="my 'tagger'")
    golds = [make_doc(nlp.vocab, ["Dogs", "bark"], tags=["N-PL", "I-V"])]
    examples = [Example(make_doc(nlp.vocab, ["Dogs", "bark"]), gold) for gold in golds]
    nlp.initialize(lambda: examples)
    for _ in range(5):
        nlp.update(examples)
    part = read_part(tagger, [nlp(golds[0].copy())])
    (shown,) = part.docs
    assert [(word.label, word.colour) for word in shown.words] == [("N-PL", 0), ("I-V", 0)]
    assert all(re.fullmatch(r"[\w-]+", why.link) for why in shown.reasons)
    assert shown.reasons


def test_texts_are_escaped() -> None:
    nlp = TAGGER.trained()
    doc = nlp(make_doc(nlp.vocab, ["The", "<script>", "&", "dog"]))
    page = render_page("<title>", {"a": "<b>"}, [read_part(nlp.get_pipe("ssvm_tagger"), [doc])])
    assert "<script" not in page
    assert "&lt;script" in page
    assert "<title>&lt;title&gt;</title>" in page
    assert "<dd>&lt;b&gt;</dd>" in page
