"""What ``ssvm_sentence_labeler`` does with Docs, units, labels and settings."""

import warnings
from typing import Any

import numpy as np
import pytest
import spacy
from corpora import labelled_examples
from pipelines import EAGER, LABELER, copy_of
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example

NAME = "ssvm_sentence_labeler"
KEY = "sentence_labels"


@pytest.fixture(scope="module")
def trained() -> Language:
    """A trained pipeline. Tests share it: they must not change it."""
    return LABELER.trained()


def pipeline(units: Any = "sentences", **config: Any) -> tuple[Language, Any]:
    nlp = spacy.blank("en")
    return nlp, nlp.add_pipe(NAME, config={**EAGER, "units": units, **config})


def written(doc: Doc, key: str = KEY) -> list[tuple[str, str]]:
    return [(span.text, span.label_) for span in doc.spans[key]]


def sentences_doc(nlp: Language, *sentences: str) -> Doc:
    """A Doc of sentences with their boundaries, a word a token."""
    words = [sentence.split(" ") for sentence in sentences]
    return Doc(
        nlp.vocab,
        words=[word for unit in words for word in unit],
        sent_starts=[i == 0 for unit in words for i in range(len(unit))],
    )


def labelled(doc: Doc, labels: list[str | None], key: str = KEY) -> Doc:
    """A Doc whose sentences have labels."""
    doc.spans[key] = [
        Span(doc, sentence.start, sentence.end, label)
        for sentence, label in zip(doc.sents, labels, strict=True)
        if label
    ]
    return doc


def corpus(nlp: Language, *, with_boundaries: bool = True) -> list[Example]:
    """Examples of sentences."""
    examples = []
    for lines, labels in (
        (["We ask why .", "Birds sing .", "They sang !"], ["aim", "method", "result"]),
        (["We count songs .", "They fell !"], ["aim", "result"]),
        (["Birds sing .", "We ask why ."], ["method", "aim"]),
    ):
        doc = sentences_doc(nlp, *lines)
        words = [token.text for token in doc]
        predicted = doc.copy() if with_boundaries else Doc(nlp.vocab, words=words)
        examples.append(Example(predicted, labelled(doc, labels)))
    return examples


def learned(nlp: Language, examples: list[Example], epochs: int = 15) -> Language:
    nlp.initialize(lambda: examples)
    LABELER.train(nlp, examples, epochs)
    return nlp


def gold(example: Example, units: Any = "sentences") -> list[str]:
    """The gold labels of an example, readable."""
    _, labeler = pipeline(units)
    for label in ("aim", "method", "result"):
        labeler.add_label(label)
    (labels,) = labeler.gold_labels([example])
    return ["-" if label < 0 else labeler.labels[label] for label in labels.tolist()]


# What is written


def test_spans_with_labels_and_scores(trained: Language) -> None:
    doc = trained("We study birds .\nThey sing in old trees .\n\nWe count their songs .")
    group = doc.spans[KEY]
    assert written(doc) == [
        ("We study birds .", "aim"),
        ("They sing in old trees .", "setting"),
        ("We count their songs .", "method"),
    ]
    scores = group.attrs["scores"]
    assert len(scores) == len(group)
    assert all(0 <= score < 1 for score in scores)
    assert [span._.label for span in group] == ["aim", "setting", "method"]
    assert doc[0:1]._.label is None


def test_the_label_of_a_sentence() -> None:
    nlp, _ = pipeline()
    learned(nlp, corpus(nlp))
    doc = nlp(sentences_doc(nlp, "We ask why .", "Birds sing ."))
    assert [sentence._.label for sentence in doc.sents] == ["aim", "method"]
    assert [(s.start, s.end) for s in doc.spans[KEY]] == [(s.start, s.end) for s in doc.sents]
    again = Doc(nlp.vocab).from_bytes(doc.to_bytes())
    assert [sentence._.label for sentence in again.sents] == ["aim", "method"]
    assert again.spans[KEY].attrs["scores"] == doc.spans[KEY].attrs["scores"]


def test_docs_without_words(trained: Language) -> None:
    for text in ("", "\n", " \n \n"):
        group = trained(text).spans[KEY]
        assert len(group) == 0
        assert group.attrs["scores"] == []
    assert written(trained("\n\nWe study birds .\n")) == [("We study birds .", "aim")]


def test_sentences_of_whitespace_have_no_label() -> None:
    nlp, _ = pipeline()
    learned(nlp, corpus(nlp))
    doc = Doc(nlp.vocab, words=["We", "ask", "\n", "Birds"], sent_starts=[True, False, True, True])
    assert [span.text for span in nlp(doc).spans[KEY]] == [doc[0:2].text, "Birds"]


def test_paragraphs_and_spans_as_units() -> None:
    for units in ("paragraphs", {"spans": "blocks"}):
        nlp, _ = pipeline(units)
        examples = []
        for text, labels in (("a b\n\nc d", "xy"), ("c\nd\n\na", "yx")):
            docs = nlp.make_doc(text), nlp.make_doc(text)
            bounds = [(0, 2), (3, 5)] if text[0] == "a" else [(0, 3), (4, 5)]
            for doc in docs:
                doc.spans["blocks"] = [doc[a:b] for a, b in bounds]
            docs[1].spans[KEY] = [
                Span(docs[1], a, b, label) for (a, b), label in zip(bounds, labels, strict=True)
            ]
            examples.append(Example(*docs))
        learned(nlp, examples)
        doc = nlp.make_doc("c d\n\na")
        doc.spans["blocks"] = [doc[3:4]] if isinstance(units, dict) else []
        found = written(nlp(doc))
        assert found == ([("a", "x")] if isinstance(units, dict) else [("c d", "y"), ("a", "x")])


def test_another_key() -> None:
    nlp, _ = pipeline(spans_key="roles")
    examples = corpus(nlp)
    for example in examples:
        example.reference.spans["roles"] = list(example.reference.spans.pop(KEY))
    learned(nlp, examples)
    doc = nlp(sentences_doc(nlp, "We ask why ."))
    assert written(doc, "roles") == [("We ask why .", "aim")]
    assert KEY not in doc.spans
    scores = nlp.evaluate(examples)
    assert scores["roles_acc"] == scores["spans_roles_f"] == scores["roles_macro_f"] == 1.0


# Labels that a Doc has already


def preset(nlp: Language, *spans: tuple[int, int, str]) -> Doc:
    doc = nlp.make_doc("We study birds .\nThey sing in old trees .\nWe count their songs .")
    doc.spans[KEY] = [Span(doc, *span) for span in spans]
    return doc


def test_preset_labels_are_kept(trained: Language) -> None:
    doc = trained(preset(trained, (0, 4, "result")))
    assert [label for _, label in written(doc)] == ["result", "setting", "method"]
    assert doc.spans[KEY].attrs["scores"][0] == 1.0
    assert max(doc.spans[KEY].attrs["scores"][1:]) < 1.0
    before = written(doc), list(doc.spans[KEY].attrs["scores"][:1])
    trained(doc)
    assert (written(doc), list(doc.spans[KEY].attrs["scores"][:1])) == before


def test_preset_spans_that_are_no_units_are_kept_too(trained: Language) -> None:
    doc = trained(preset(trained, (1, 3, "aim"), (5, 10, "unknown")))
    assert written(doc) == [
        ("We study birds .", "aim"),
        ("study birds", "aim"),
        ("They sing in old trees", "unknown"),
        ("They sing in old trees .", "setting"),
        ("We count their songs .", "method"),
    ]


def test_a_preset_label_that_the_model_does_not_know(trained: Language) -> None:
    doc = trained(preset(trained, (5, 11, "unknown")))
    assert [label for _, label in written(doc)] == ["aim", "unknown", "method"]


def test_spans_without_a_label_are_replaced(trained: Language) -> None:
    doc = trained(preset(trained, (0, 4, ""), (5, 11, "")))
    assert [label for _, label in written(doc)] == ["aim", "setting", "method"]


def test_overwrite(trained: Language) -> None:
    nlp = copy_of(trained)
    nlp.get_pipe(NAME).cfg["overwrite"] = True  # type: ignore[attr-defined]
    doc = nlp(preset(nlp, (0, 4, "result"), (1, 3, "aim")))
    assert [label for _, label in written(doc)] == ["aim", "setting", "method"]


# Docs that are not divided


def test_a_doc_without_boundaries() -> None:
    nlp, _ = pipeline()
    learned(nlp, corpus(nlp))
    with pytest.raises(ValueError, match="'a b' has no sentence boundaries"):
        nlp("a b")
    assert len(nlp("one").spans[KEY]) == 1
    nlp.add_pipe("sentencizer", before=NAME)
    assert len(nlp("We ask why. Birds sing.").spans[KEY]) == 2


def test_a_doc_without_the_spans() -> None:
    nlp, _ = pipeline({"spans": "blocks"})
    examples = corpus(nlp)
    for example in examples:
        for doc in (example.predicted, example.reference):
            doc.spans["blocks"] = list(doc.sents)
    learned(nlp, examples)
    with pytest.raises(ValueError, match=r"has no doc.spans\['blocks'\]. Put the component that"):
        nlp("a b")


def test_training_takes_missing_boundaries_from_the_references() -> None:
    nlp, labeler = pipeline()
    examples = corpus(nlp, with_boundaries=False)
    learned(nlp, examples)
    assert not examples[0].predicted.has_annotation("SENT_START")
    assert examples[0].predicted.spans == {}
    doc = nlp(sentences_doc(nlp, "We ask why .", "Birds sing ."))
    assert [label for _, label in written(doc)] == ["aim", "method"]
    assert labeler.objective(examples).gap < 0.1


def test_training_takes_missing_spans_from_the_references() -> None:
    nlp, _ = pipeline({"spans": KEY})
    learned(nlp, corpus(nlp, with_boundaries=False))
    doc = nlp.make_doc("We ask why . Birds sing .")
    doc.spans[KEY] = [doc[0:4], doc[4:7]]
    assert [label for _, label in written(nlp(doc))] == ["aim", "method"]


def test_references_without_boundaries() -> None:
    nlp, _ = pipeline()
    words = ["a", "b"]
    reference = Doc(nlp.vocab, words=words)
    reference.spans[KEY] = [Span(reference, 0, 2, "aim")]
    examples = [Example(Doc(nlp.vocab, words=words), reference)]
    nlp.initialize(lambda: examples)
    with pytest.raises(ValueError, match=r"nor the reference of 'a b ' has sentence boundaries"):
        nlp.update(examples)


# Gold labels


def test_gold_labels_are_those_of_the_same_bounds() -> None:
    nlp, _ = pipeline()
    doc = labelled(sentences_doc(nlp, "a b", "c", "d e"), ["aim", None, "result"])
    assert gold(Example(doc.copy(), doc)) == ["aim", "-", "result"]
    bare = sentences_doc(nlp, "a b", "c")
    assert gold(Example(bare.copy(), bare)) == ["-", "-"]


def test_gold_labels_of_other_tokens() -> None:
    nlp, _ = pipeline()
    reference = labelled(sentences_doc(nlp, "can't stop", "won't go"), ["aim", "result"])
    words = ["can", "'t", "stop", "won't", "go"]
    spaces = [False, True, True, True, True]
    starts = [True, False, False, True, False]
    predicted = Doc(nlp.vocab, words=words, spaces=spaces, sent_starts=starts)
    assert gold(Example(predicted, reference)) == ["aim", "result"]


def test_whitespace_at_the_ends_does_not_count() -> None:
    nlp, _ = pipeline()
    words, starts = ["a", "b", "\n", "c"], [True, False, False, True]
    reference = Doc(nlp.vocab, words=words, spaces=[False] * 4, sent_starts=starts)
    predicted = reference.copy()
    reference.spans[KEY] = [Span(reference, 0, 2, "aim"), Span(reference, 2, 4, "result")]
    assert gold(Example(predicted, reference)) == ["aim", "result"]


def test_gold_spans_that_are_no_units_bring_a_warning_once() -> None:
    nlp, labeler = pipeline()
    labeler.add_label("aim")
    reference = labelled(sentences_doc(nlp, "a b", "c d"), ["aim", "aim"])
    predicted = sentences_doc(nlp, "a b c", "d")
    with pytest.warns(UserWarning, match="2 gold spans of this batch are not units"):
        labels = labeler.gold_labels([Example(predicted, reference)])
    assert labels[0].tolist() == [-1, -1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        labeler.gold_labels([Example(predicted, reference)])


def test_a_sentence_with_two_labels() -> None:
    nlp, _ = pipeline()
    doc = sentences_doc(nlp, "a b", "c")
    predicted = doc.copy()
    doc.spans[KEY] = [Span(doc, 0, 2, "aim"), Span(doc, 0, 2, "result")]
    with pytest.raises(ValueError, match=r"'a b' has two labels in doc.spans\['sentence_labels'\]"):
        gold(Example(predicted, doc))
    doc.spans[KEY] = [Span(doc, 0, 2, "aim"), Span(doc, 0, 2, "aim")]
    assert gold(Example(predicted, doc)) == ["aim", "-"]


def test_a_label_that_initialize_has_not_seen() -> None:
    nlp, _ = pipeline()
    nlp.initialize(lambda: corpus(nlp))
    doc = labelled(sentences_doc(nlp, "a b", "c"), ["aim", "new"])
    with pytest.raises(ValueError, match="the label 'new' of 'c' was not among the labels"):
        nlp.update([Example(doc.copy(), doc)])


def test_units_without_a_label_teach_nothing_of_their_own() -> None:
    nlp, labeler = pipeline()
    examples = corpus(nlp)
    nlp.initialize(lambda: examples)
    bare = sentences_doc(nlp, "a b", "c")
    assert labeler.update([Example(bare.copy(), bare)])[NAME] == 0.0
    partial = labelled(sentences_doc(nlp, "Birds sing .", "x y"), ["method", None])
    LABELER.train(nlp, [*examples, Example(partial.copy(), partial)], 10)
    assert [label for _, label in written(nlp(sentences_doc(nlp, "Birds sing .")))] == ["method"]


def test_changed_boundaries_make_other_examples() -> None:
    nlp, labeler = pipeline()
    examples = corpus(nlp)
    nlp.initialize(lambda: examples)
    nlp.update(examples)
    trainer = labeler._trainer
    before = trainer.problem.number_of_examples
    nlp.update(examples)
    assert trainer.problem.number_of_examples == before
    examples[0].predicted[1].is_sent_start = True
    with pytest.warns(UserWarning, match="are not units"):
        nlp.update(examples)
    assert trainer.problem.number_of_examples == before + 1


# Labels and settings


def test_no_labels_to_learn_from() -> None:
    nlp, _ = pipeline()
    doc = sentences_doc(nlp, "a b", "c")
    with pytest.raises(ValueError, match=r"no doc.spans\['sentence_labels'\] annotation"):
        nlp.initialize(lambda: [Example(doc.copy(), doc)])


def test_labels_can_be_added() -> None:
    nlp, labeler = pipeline()
    examples = corpus(nlp)
    learned(nlp, examples)
    assert labeler.labels == labeler.label_data == ("aim", "method", "result")
    doc = nlp(sentences_doc(nlp, "We ask why .", "Birds sing ."))
    assert labeler.add_label("topic") == 1
    assert labeler.add_label("topic") == 0
    assert written(nlp(sentences_doc(nlp, "We ask why .", "Birds sing ."))) == written(doc)
    new = labelled(sentences_doc(nlp, "x y z"), ["topic"])
    LABELER.train(nlp, [*examples, Example(new.copy(), new)], 15)
    assert written(nlp(sentences_doc(nlp, "x y z"))) == [("x y z", "topic")]


@pytest.mark.parametrize(
    "units", ["words", "spans", {"spans": "a", "lines": "b"}, {"key": "a"}, {}], ids=str
)
def test_units_that_do_not_exist(units: Any) -> None:
    with pytest.raises(ValueError, match='choose "sentences", "lines", "paragraphs", or'):
        pipeline(units)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"templates": ["lower[0]"]}, "units have no attribute 'lower'"),
        ({"templates": []}, "there are no templates"),
        ({"min_count": 0}, "must be at least 1"),
        ({"hash_bits": 4}, "must lie between 8 and 28"),
        ({"units": 3}, "units"),
    ],
)
def test_invalid_settings(config: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pipeline(**config)


def test_costs() -> None:
    nlp, _ = pipeline(costs={"aim": {"nothing": 2.0}})
    with pytest.raises(ValueError, match="costs name the label 'nothing', which does not exist"):
        nlp.initialize(lambda: corpus(nlp))
    nlp, labeler = pipeline(costs={"aim": {"*": 3.0}})
    nlp.initialize(lambda: corpus(nlp))
    assert labeler.label_costs().tolist() == [[0, 3, 3], [1, 0, 1], [1, 1, 0]]
    assert labeler.make_trainer(labeler.solver).problem.examples().costs[0].tolist() == [0, 3, 3]


def test_a_saved_component_of_other_units_is_refused(trained: Language) -> None:
    data = trained.get_pipe(NAME).to_bytes()  # type: ignore[attr-defined]
    _, other = pipeline("paragraphs")
    with pytest.raises(ValueError, match="it labels other units than paragraphs"):
        other.from_bytes(data)


# Confidence, explanations, scores


def test_explanations_of_spans_and_numbers(trained: Language) -> None:
    labeler: Any = trained.get_pipe(NAME)
    doc = preset(trained, (0, 4, "result"))  # labels that are there are ignored
    explanation = labeler.explain(doc, 1, top=3)
    assert explanation.label == "setting"
    assert explanation == labeler.explain(doc, -2, top=3) == labeler.explain(doc, doc[5:11], top=3)
    assert explanation == labeler.explain(doc, doc[4:11], top=3)  # with the line break
    assert explanation.margin == pytest.approx(labeler.scores(doc)[1])
    for unit in (3, -4):
        with pytest.raises(IndexError, match="there is no unit"):
            labeler.explain(doc, unit)
    with pytest.raises(ValueError, match="is not a unit"):
        labeler.explain(doc, doc[0:3])
    with pytest.raises(ValueError, match="belongs to another Doc"):
        labeler.explain(doc, doc.copy()[0:4])
    with pytest.raises(ValueError, match="trained with a margin loss"):
        labeler.marginals(doc)


def test_the_report_of_templates(trained: Language) -> None:
    labeler: Any = trained.get_pipe(NAME)
    report = labeler.templates_report()
    assert sum(share.share for share in report) == pytest.approx(1)
    assert {share.template for share in report} == set(map(str, labeler.model.templates))


def test_scores() -> None:
    nlp, _ = pipeline()
    meta = nlp.get_pipe_meta(NAME)
    assert meta.assigns == ["doc.spans"]
    assert meta.default_score_weights["sentence_labels_acc"] == 1.0
    lines = ["a .", "b .", "c .", "d ."]
    reference = labelled(sentences_doc(nlp, *lines), ["aim", "aim", "method", "result"])
    predicted = labelled(sentences_doc(nlp, *lines), ["aim", "aim", "aim", "result"])
    scorer: Any = nlp.get_pipe(NAME).scorer  # type: ignore[attr-defined]
    scores = scorer([Example(predicted, reference)], spans_key=KEY)
    assert scores["sentence_labels_acc"] == scores["spans_sentence_labels_f"] == 0.75
    per_type = scores["spans_sentence_labels_per_type"]
    assert per_type["aim"]["f"] == pytest.approx(0.8)
    assert scores["sentence_labels_macro_f"] == pytest.approx((0.8 + 0 + 1) / 3)
    nothing = scorer([Example(predicted, sentences_doc(nlp, *lines))], spans_key=KEY)
    assert nothing["sentence_labels_acc"] is None
    assert nothing["sentence_labels_macro_f"] is None


def test_the_corpus_is_learned_with_a_label_for_each_line() -> None:
    nlp = LABELER.pipeline()
    for example in labelled_examples(nlp.vocab):
        assert len(example.reference.spans[KEY]) == example.reference.text.count("\n") + 1
    assert np.all([e.predicted.spans == {} for e in labelled_examples(nlp.vocab)])
