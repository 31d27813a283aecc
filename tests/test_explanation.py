"""Confidence and explanations: the same calls on every component."""

import re
from collections import Counter
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from pipelines import TAGGER, Component
from spacy.language import Language
from spacy.tokens import Doc, Span

from spacy_ssvm.chains.calibration import probabilities
from spacy_ssvm.components.spans import SpanPipe
from spacy_ssvm.explanation import OTHER_FEATURES, Explanation, Reason, in_words, strongest
from spacy_ssvm.kernels.types import Floats

SPANS = ("ssvm_ner", "ssvm_chunker")


@pytest.fixture(scope="session")
def component(component: Component) -> Component:
    """The components that give labels to tokens; for others, see their own tests."""
    if not component.labels_tokens:
        pytest.skip("explains units, see tests/sentences/test_explanation.py")
    return component


TEXT = "The old Paris \n Jones saw a cat ."


def pipe_and_doc(component: Component, nlp: Language) -> tuple[Any, Doc]:
    """The component, and a Doc with whitespace that it has not annotated."""
    return nlp.get_pipe(component.name), nlp.make_doc(TEXT)


def words_of(doc: Doc) -> list[int]:
    return [token.i for token in doc if not token.is_space]


def spans_of(pipe: Any, doc: Doc) -> list[Span]:
    """The spans that a component finds in a Doc; none where it labels no spans."""
    if not isinstance(pipe, SpanPipe):
        return []
    found: Doc = pipe(doc.copy())
    return [*found.ents, *found.spans.get("chunks", ())]


def confidence(pipe: Any, doc: Doc, margins: Floats) -> Floats:
    """The scores of tokens by their margins: float64 [tokens].

    Margins themselves, but of components for spans, probabilities: of spans by their least sure
    word, and of other words.
    """
    if not isinstance(pipe, SpanPipe):
        return margins
    calibration = pipe.model.calibration
    found = probabilities(calibration and calibration.outside, margins)
    for span in spans_of(pipe, doc):
        words = [token.i for token in span if not token.is_space]
        least = margins[words].min(keepdims=True)
        found[words] = probabilities(calibration and calibration.spans, least)
    return found


def test_scores_are_the_margins_that_explanations_add_up_to(
    component: Component, trained: Language
) -> None:
    pipe, doc = pipe_and_doc(component, trained)
    scores, margins = pipe.scores(doc), np.zeros(len(doc))
    assert scores.dtype == np.float64
    assert scores.shape == (len(doc),)
    for token in doc:
        if token.is_space:
            assert scores[token.i] == 0.0
            with pytest.raises(ValueError, match=f"token {token.i} is whitespace"):
                pipe.explain(doc, token)
            continue
        if np.isinf(scores[token.i]):  # a sentence starts at the first token, whatever the words
            assert (component.factory, token.i) == ("ssvm_senter", 0)
            with pytest.raises(ValueError, match="token 0 can only have the label 'start'"):
                pipe.explain(doc, token)
            continue
        explanation = pipe.explain(doc, token)
        assert explanation.token == token.text
        assert explanation.label != explanation.runner_up
        margins[token.i] = explanation.margin
        assert sum(r.difference for r in explanation.reasons) == pytest.approx(
            explanation.margin, abs=1e-5
        )
        assert pipe.explain(doc, token.i) == pipe.explain(doc, token.i - len(doc)) == explanation
    explained = [i for i in words_of(doc) if margins[i] > 0]
    assert len(explained) >= len(words_of(doc)) - 1
    expected = confidence(pipe, doc, margins)
    assert scores[explained] == pytest.approx(expected[explained], abs=1e-5)
    assert len(set(scores.tolist())) > 2


def test_what_a_doc_is_annotated_with_does_not_change_its_scores(
    component: Component, trained: Language
) -> None:
    pipe, doc = pipe_and_doc(component, trained)
    before = pipe.scores(doc)
    explanations = [pipe.explain(doc, i) for i in words_of(doc)[1:]]
    other = trained.make_doc(TEXT)
    predictions = pipe.predict([other])
    pipe.set_annotations([other], predictions)
    assert pipe.scores(other).tolist() == before.tolist()
    assert [pipe.explain(other, i) for i in words_of(other)[1:]] == explanations


@pytest.mark.parametrize("text", ["", " \n"])
def test_scores_of_docs_without_words(component: Component, trained: Language, text: str) -> None:
    doc = trained.make_doc(text)
    scores = trained.get_pipe(component.name).scores(doc)  # type: ignore[attr-defined]
    assert scores.dtype == np.float64
    assert scores.tolist() == [0.0] * len(doc)


@pytest.mark.slow
def test_scores_are_probabilities_where_the_model_has_them(component: Component) -> None:
    settings = {"order": 1} if component.factory == "ssvm_parser" else {}
    ascent = {"@misc": "spacy_ssvm.DualCoordinateAscent.v1"}
    nlp = component.trained(epochs=2, solver=ascent, **settings)
    pipe, doc = pipe_and_doc(component, nlp)
    scores, marginals = pipe.scores(doc), pipe.marginals(doc)
    assert scores.shape == (len(doc),)
    heads = {token.text: token.i for token in doc}
    for i, score in enumerate(scores):
        if doc[i].is_space:
            assert score == 0.0
            continue
        if (component.factory, i) == ("ssvm_senter", 0):
            assert score == 1.0
            continue
        label = pipe.explain(doc, i).label
        if component.factory == "ssvm_parser":
            column = i if label == "<root>" else heads[label]
        else:
            column = pipe.model.labels.index(label)
        if any(span.start <= i < span.end for span in spans_of(pipe, doc)):
            assert score <= marginals[i, column] + 1e-9  # of the whole span
        else:
            assert score == pytest.approx(marginals[i, column])
        assert 0 < score <= 1


def test_explanations_show_the_strongest_features(component: Component, trained: Language) -> None:
    pipe, doc = pipe_and_doc(component, trained)
    full = pipe.explain(doc, 6)
    rest = 1 if component.factory == "ssvm_parser" else 2  # rows for all but the features
    features, sums = full.reasons[:-rest], full.reasons[-rest:]
    assert len(features) > 2
    short = pipe.explain(doc, 6, top=2)
    assert short.reasons[:2] == features[:2]
    assert short.reasons[2].template == OTHER_FEATURES
    assert f"{len(features) - 2} more" in str(short)
    assert short.reasons[3:] == sums
    assert (short.label, short.runner_up, short.margin) == (
        full.label,
        full.runner_up,
        full.margin,
    )
    differences = [r.difference for r in short.reasons]
    assert sum(differences) == pytest.approx(short.margin, abs=1e-5)
    assert pipe.explain(doc, 6, top=len(features)) == full
    with pytest.raises(ValueError, match="top is 0: give the number of features to show, or None"):
        pipe.explain(doc, 6, top=0)


def test_strongest_features_come_first_and_nothing_is_lost() -> None:
    features = [
        Reason(name, "", weight, 1.0) for name, weight in zip("abcd", (2, 5, -2, 1.5), strict=True)
    ]
    assert [r.template for r in strongest(features, None)] == ["b", "c", "a", "d"]
    assert [r.template for r in strongest(features, 4)] == ["b", "c", "a", "d"]
    *shown, others = strongest(features, 2)
    assert [r.template for r in shown] == ["b", "c"]
    assert others == Reason(OTHER_FEATURES, "2 more", 3.5, 2.0)
    assert strongest([], 3) == []


def test_a_label_is_explained_against_any_other(component: Component, trained: Language) -> None:
    pipe, doc = pipe_and_doc(component, trained)
    if component.factory == "ssvm_parser":
        pytest.skip("explains heads too, see tests/trees/test_explanation.py")
    usual = pipe.explain(doc, 1)
    assert pipe.explain(doc, 1, against=usual.runner_up) == usual
    possible = []
    for label in pipe.model.labels:
        if label == usual.label:
            with pytest.raises(ValueError, match=f"token 1 has the label '{label}': give another"):
                pipe.explain(doc, 1, against=label)
            continue
        try:
            other = pipe.explain(doc, 1, against=label)
        except ValueError:
            with pytest.raises(ValueError, match=f"token 1 cannot have the label '{label}'"):
                pipe.explain(doc, 1, against=label)
            continue
        possible.append(other)
        assert (other.label, other.runner_up) == (usual.label, label)
        assert sum(r.difference for r in other.reasons) == pytest.approx(other.margin, abs=1e-5)
    assert min(other.margin for other in possible) == pytest.approx(usual.margin)
    with pytest.raises(ValueError, match="there is no label 'nosuch' among"):
        pipe.explain(doc, 1, against="nosuch")


def test_the_features_of_a_label(component: Component, trained: Language) -> None:
    pipe, doc = pipe_and_doc(component, trained)
    if component.factory == "ssvm_parser":
        pytest.skip("its arcs have no labels of this kind")
    docs = [doc, trained.make_doc("Jones saw")]
    label = pipe.explain(doc, 1).label
    found = pipe.top_features(label, docs, top=10_000)
    sizes = [abs(feature.weight) for feature in found]
    assert sizes == sorted(sizes, reverse=True)
    assert found[:3] == pipe.top_features(label, docs, top=3)
    weights: dict[tuple[str, str], set[float]] = {}
    words: Counter[tuple[str, str]] = Counter()
    for feature in found:  # "<start>" is one feature for each distance
        weights.setdefault((feature.template, feature.value), set()).add(feature.weight)
        words[feature.template, feature.value] += feature.words
    counts: Counter[tuple[str, str]] = Counter()
    for other in docs:
        for i in words_of(other):
            try:
                reasons = pipe.explain(other, i).reasons[:-2]
            except ValueError:  # the only label that is possible
                continue
            counts.update((reason.template, reason.value) for reason in reasons)
    assert counts <= words
    if component.factory != "ssvm_senter":
        assert counts == words
    for reason in pipe.explain(doc, 1).reasons[:-2]:
        assert reason.weight in weights[reason.template, reason.value]
    with pytest.raises(ValueError, match="there is no label 'nosuch' among"):
        pipe.top_features("nosuch", docs)


def test_the_features_of_a_type_of_spans(component: Component, trained: Language) -> None:
    """Their weights are those for its labels, added up."""
    pipe, doc = pipe_and_doc(component, trained)
    if not isinstance(pipe, SpanPipe):
        pytest.skip("has no types of spans")
    kind = pipe.labels[0]
    found = pipe.top_features(kind, [doc], top=10_000)
    labels = [name for name in pipe.model.labels if name[2:] == kind]
    parts = [pipe.top_features(label, [doc], top=10_000) for label in labels]
    assert len(labels) == 4
    for template, value in {(feature.template, feature.value) for feature in found}:
        key = template, value  # "<start>" is one feature for each distance
        total, *of_labels = (
            sum(f.weight for f in features if (f.template, f.value) == key)
            for features in (found, *parts)
        )
        assert total == pytest.approx(sum(of_labels))
    assert any(feature.weight for feature in found)


def test_the_features_of_hashed_models() -> None:
    nlp = TAGGER.trained(hash_bits=8)
    pipe: Any = nlp.get_pipe("ssvm_tagger")
    doc = nlp.make_doc("The old dog barks .")
    features = {(f.template, f.value): f for f in pipe.top_features("NN", [doc], top=1000)}
    explanation = pipe.explain(doc, 2)
    assert explanation.label == "NN"
    for reason in explanation.reasons[:-2]:
        assert features[reason.template, reason.value].weight == reason.weight


def test_explanations_have_bars_in_notebooks() -> None:
    reasons = (Reason("lower[0]", "<b>", 2.0, 0.0), Reason("case[0]", "a & b", 0.0, 1.0))
    shown = Explanation("<i>", "A", "B", 1.0, reasons)
    html = shown._repr_html_()
    assert html == shown.to_html()
    assert "&lt;b&gt;" in html
    assert "a &amp; b" in html
    assert "“&lt;i&gt;”: <strong>A</strong>, not B, by 1.000" in html
    left, right = (re.findall(rf'class="{side}">(.*?)</i>', html) for side in ("left", "right"))
    assert left == ["", '<b style="width: 50.0%"></b>']
    assert right == ['<b style="width: 100.0%"></b>', ""]
    assert "<style>" in html
    assert "<style>" not in shown.to_html(with_style=False)
    assert Explanation("a", "A", "B", 0.0, ()).to_html()


@pytest.mark.parametrize(
    ("template", "value", "words"),
    [
        ("lower[-1]", "in", "the previous word is 'in'"),
        ("gazetteer.LOC[0]", "B", "the word is the first word of a name in the list LOC"),
        ("lower[-2]", "<start>", "there is no word 2 places before"),
        ("suffix3[1]", "ing", "the next word ends with 'ing'"),
        ("case_class[2]", "none", "the word 2 places after has no letters"),
        ("cluster6.news[0]", "0110", "the word is in the word cluster 0110 news"),
        ("cluster[0]", "0110", "the word is in the word cluster 0110"),
        ("tag[-1]", "NN", "the previous word has the tag NN"),
        ("doc_majority.ent_type[0]", "PER", "elsewhere in the text, the word has the ent_type PER"),
        (
            "lower[-1]+case[0]",
            "in + title",
            "the previous word is 'in' and the word begins with a capital",
        ),
        ("shape[0]", "{}", "the word has the shape {}"),
        ("lower[-1]+lower[0]", "+ + a", "the previous word is '+' and the word is 'a'"),
        ("lower[-1]+lower[0]", "a", ""),
        ("gazetteer[0]", "B-LOC", ""),
        ("_.is_bold[0]", "True", ""),
        ("vector[0]", "300 numbers of norm 1.00", ""),
        ("head.tag+dependent.tag", "NN + DT", ""),
        (OTHER_FEATURES, "3 more", ""),
    ],
)
def test_features_in_words(template: str, value: str, words: str) -> None:
    assert in_words(template, value) == words
    assert Reason(template, value, 0.0, 0.0).said == (words or value)


def test_a_few_lines_where_python_shows_values(component: Component, trained: Language) -> None:
    pipe, doc = pipe_and_doc(component, trained)
    explanation = pipe.explain(doc, 6)
    assert repr(explanation).startswith(f"<'a': {explanation.label}, not ")
    assert repr(explanation).endswith(f"; {len(explanation.reasons)} reasons>")
    assert len(repr(explanation)) < 100
    if component.factory != "ssvm_parser":
        features = pipe.top_features(explanation.label, [doc])
        assert len(repr(features)) < 200
        assert repr(features).startswith(f"<20 features of {explanation.label}: ")
        assert len(str(features).strip().splitlines()) == 22
    if component.factory in SPANS:
        spans = pipe.explain(doc[5:7], top=3)
        assert len(repr(spans)) < 200
        assert spans._repr_html_().count("<table>") == 2
        assert all(str(one) in str(spans) for one in spans)


def test_a_word_is_explained_against_a_type_of_spans(
    component: Component, trained: Language
) -> None:
    if component.factory not in SPANS:
        pytest.skip("has no types of spans")
    pipe, doc = pipe_and_doc(component, trained)
    labels = [pipe.explain(doc, i).label for i in words_of(doc)]
    place = labels.index("O")
    i = words_of(doc)[place]
    for kind in pipe.labels:
        against = []
        for label in pipe.model.labels:
            if label[2:] == kind:
                with suppress(ValueError):
                    against.append(pipe.explain(doc, i, against=label))
        found = pipe.explain(doc, i, against=kind)
        assert found in against
        assert found.margin == min(other.margin for other in against)
    i, label = next((i, x) for i, x in zip(words_of(doc), labels, strict=True) if x != "O")
    with pytest.raises(ValueError, match=f"token {i} has the type '{label[2:]}': give another"):
        pipe.explain(doc, i, against=label[2:])


def test_explaining_tokens_that_are_not_in_the_doc(component: Component, trained: Language) -> None:
    pipe, doc = pipe_and_doc(component, trained)
    for i in (len(doc), -len(doc) - 1):
        with pytest.raises(IndexError, match=f"no token {i}: the Doc has {len(doc)} tokens"):
            pipe.explain(doc, i)
    with pytest.raises(ValueError, match="the token 'old' belongs to another Doc"):
        pipe.explain(doc, trained.make_doc("so old")[1])


def test_spans_are_explained_token_by_token(component: Component, trained: Language) -> None:
    pipe, doc = pipe_and_doc(component, trained)
    span = doc[1:5]
    if component.factory not in SPANS:
        with pytest.raises(TypeError):
            pipe.explain(span)
        return
    expected = tuple(pipe.explain(doc, i) for i in words_of(doc) if 1 <= i < 5)
    assert len(expected) == 3
    assert pipe.explain(span) == expected
    assert pipe.explain(span, top=1) == tuple(
        pipe.explain(doc, i, top=1) for i in words_of(doc) if 1 <= i < 5
    )
    with pytest.raises(ValueError, match="give a Doc with a token, or a Span alone"):
        pipe.explain(span, 1)
    with pytest.raises(ValueError, match="give the token to explain, or a Span instead"):
        pipe.explain(doc)
