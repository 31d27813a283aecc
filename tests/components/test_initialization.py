"""What happens where a model has very many labels."""

import re
import warnings
from pathlib import Path
from typing import Any

import pytest
import spacy
from marks import compiled_only
from pipelines import CHUNKER, LABELER, PARSER, RECOGNIZER, SENTER, TAGGER, Component
from refusals import NAME, refusal
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from spacy_ssvm.components.initialization import MANY_LABELS, show_duration


def test_an_empty_corpus() -> None:
    nlp = TAGGER.pipeline()
    message = refusal(lambda: nlp.initialize(lambda: iter(())))
    assert f"{NAME}: the examples have no TAG annotation to learn from" in message
    assert "an empty one has none either" in message


@pytest.mark.parametrize("get_examples", [list, lambda: None, []])
def test_what_returns_no_examples_is_refused_as_in_spacy(get_examples: Any) -> None:
    tagger: Any = TAGGER.pipeline().get_pipe(NAME)
    message = refusal(lambda: tagger.initialize(get_examples), TypeError)
    assert message.startswith("[E930]")
    assert f"{NAME}.initialize" in message


def test_a_corpus_without_tags() -> None:
    nlp = TAGGER.pipeline()
    docs = [nlp.make_doc("no tags here"), nlp.make_doc(" \n ")]
    message = refusal(lambda: nlp.initialize(lambda: [Example(doc, doc) for doc in docs]))
    assert f"{NAME}: the examples have no TAG annotation" in message
    message = refusal(lambda: nlp.initialize())
    assert "no TAG annotation" in message
    assert "[E143]" in message
    universal = TAGGER.pipeline(attribute="POS")
    message = refusal(lambda: universal.initialize(lambda: [Example(doc, doc) for doc in docs]))
    assert "no POS annotation" in message


def test_a_corpus_with_another_attribute_only() -> None:
    nlp = TAGGER.pipeline()
    doc = Doc(nlp.vocab, words=["dog"], pos=["NOUN"])
    message = refusal(lambda: nlp.initialize(lambda: [Example(doc, doc)]))
    assert "no TAG annotation" in message


@pytest.mark.parametrize(
    ("factory", "annotation"), [("ssvm_ner", "entity"), ("ssvm_chunker", "doc.spans['chunks']")]
)
def test_a_corpus_without_spans(factory: str, annotation: str) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe(factory)
    doc = nlp.make_doc("Ann sleeps")
    with pytest.raises(ValueError, match=re.escape(f"the examples have no {annotation} annot")):
        nlp.initialize(lambda: [Example(doc, doc.copy()), Example(doc.copy(), doc.copy())])


def test_labels_that_were_added_suffice_to_initialize(
    component: Component, trained: Language
) -> None:
    nlp = component.pipeline()
    pipe: Any = nlp.get_pipe(component.name)
    labels = trained.get_pipe(pipe.name).labels
    for label in [] if component is SENTER else labels:
        pipe.add_label(label)
    optimizer = nlp.initialize()
    component.annotate(nlp)
    examples = component.examples(nlp.vocab)
    for _ in range(12):
        nlp.update(examples, sgd=optimizer)
    assert component.annotate(nlp) == component.gold()
    nlp.initialize()
    assert pipe.labels == labels, "another call forgets the weights alone"


@compiled_only
def test_later_components_learn_from_what_an_annotating_one_has_written(
    component: Component,
) -> None:
    nlp = component.pipeline(**component.overwriting)
    nlp.add_pipe("recorder", last=True)
    examples = component.examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    RECORDED.clear()
    for _ in range(8):
        nlp.update(examples, annotates=[component.name])
    texts = {example.reference.text: component.annotations(example.reference)
             for example in examples}  # fmt: skip
    last = RECORDED[-len(examples) :]
    assert {doc.text: component.annotations(doc) for doc in last} == texts
    assert component.number_of_examples(nlp) == len(examples)


RECORDED: list[Doc] = []


@Language.factory("recorder")
class Recorder:
    """A component that learns nothing, and remembers the Docs it was to learn from."""

    def __init__(self, nlp: Language, name: str) -> None:
        self.name = name

    def __call__(self, doc: Doc) -> Doc:
        return doc

    def update(self, examples: list[Example], **kwargs: Any) -> dict[str, float]:
        RECORDED.extend(example.predicted.copy() for example in examples)
        return {}


def test_labels_from_the_config_spare_the_corpus_pass(
    component: Component, trained: Language
) -> None:
    labels = trained.get_pipe(component.name).label_data
    if labels is None:
        pytest.skip("the labels are always the same")
    nlp = component.pipeline()
    nlp.config["initialize"]["components"][component.name] = {"labels": list(labels)}

    def no_corpus() -> Any:
        raise AssertionError("the corpus was read")

    nlp.initialize(no_corpus)
    assert nlp.get_pipe(component.name).labels == tuple(labels)
    component.train(nlp, component.examples(nlp.vocab), 6)
    assert component.annotate(nlp) == component.gold()


@pytest.mark.parametrize(("component", "plain", "template"), [
    (TAGGER, "lower[0]", "cluster6.*[0]"), (RECOGNIZER, "lower[0]", "gazetteer.*[0]"),
    pytest.param(LABELER, "bag(lower)", "bag(cluster6.*)", marks=pytest.mark.slow),
])  # fmt: skip
def test_what_no_template_reads(
    tmp_path: Path, component: Component, plain: str, template: str
) -> None:
    clusters, names = tmp_path / "clusters.txt", tmp_path / "names.txt"
    clusters.write_text("0101\tdog\n", encoding="utf8")
    names.write_text("dog\n", encoding="utf8")
    resources = {"clusters": str(clusters), "gazetteers": {"PER": str(names)}}
    key = "clusters" if "cluster" in template else "gazetteers"
    for templates, given, number in (
        ([plain, template], {key: resources[key]}, 0),
        ([plain], {key: resources[key]}, 1),
        ([plain, template], {}, 0),
    ):
        nlp = component.pipeline(templates=templates)
        examples = component.examples(nlp.vocab)
        pipe: Any = nlp.get_pipe(component.name)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            pipe.initialize(lambda examples=examples: examples, nlp=nlp, **given)
        found = [str(w.message) for w in caught if "no template reads" in str(w.message)]
        assert len(found) == number, (templates, given)
        assert all(f"[initialize.components.{component.name}]" in message for message in found)


def initialized(component: Component, labels: int, **config: Any) -> tuple[Any, list[str]]:
    """An initialized component with so many labels of its own, and its warnings."""
    nlp = component.pipeline(**config)
    examples = component.examples(nlp.vocab)
    pipe: Any = nlp.get_pipe(component.name)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pipe.initialize(lambda: examples, nlp=nlp, labels=[f"L{i}" for i in range(labels)])
    return pipe, [str(w.message) for w in caught if re.search(r"\d labels", str(w.message))]


@pytest.mark.parametrize(
    ("component", "labels", "config", "advice"),
    [
        (TAGGER, 500, {}, "Use a coarser set of labels"),
        (PARSER, 500, {}, "Use a coarser set of labels"),
        (
            RECOGNIZER,
            125,
            {},
            'Use fewer types of spans, or set scheme = "iob2" (251 labels) or scheme = "io" '
            "(126 labels)",
        ),
        (
            CHUNKER,
            250,
            {"scheme": "iob2"},
            'Use fewer types of spans, or set scheme = "io" (251 labels)',
        ),
        (RECOGNIZER, 500, {"scheme": "io"}, "Use fewer types of spans"),
    ],
)
def test_many_labels_are_warned_about_once(
    component: Component, labels: int, config: dict[str, Any], advice: str
) -> None:
    pipe, messages = initialized(component, labels + (component in (TAGGER, PARSER)), **config)
    assert len(pipe.model.labels) == 501
    (message,) = messages
    assert message.startswith(f"{component.name}: the model has 501 labels")
    assert advice in message
    assert message.count("scheme") == advice.count("scheme")
    pipe, messages = initialized(component, labels - (component not in (TAGGER, PARSER)), **config)
    assert len(pipe.model.labels) <= MANY_LABELS
    assert messages == []


@pytest.mark.parametrize(
    ("solver", "memory"),
    [
        ({}, "at least 0.2 GB of memory for transitions. "),
        (
            {"solver": {"@misc": "spacy_ssvm.DualCoordinateAscent.v1"}},
            "at least 0.2 GB of memory for transitions and 1.6 GB for every 100,000 features. ",
        ),
    ],
    ids=["weights on first use", "all weights"],
)
def test_estimates_of_time_and_memory(solver: dict[str, Any], memory: str) -> None:
    """2,001 labels: 4 million pairs of 0.5 ns and 40 bytes; 8 bytes for each feature and label."""
    _, (message,) = initialized(RECOGNIZER, 500, **solver)
    tokens = sum(
        len(example.predicted) for example in RECOGNIZER.examples(RECOGNIZER.pipeline().vocab)
    )
    assert f"the {tokens:,} tokens of the examples will take up to" in message
    assert f"up to {tokens * 2001**2 / 2e9:.1f} s, " in message
    assert memory in message


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (119.94, "119.9 s"), (180, "3 min"), (7199, "120 min"), (7200e3, "2,000 h")],
)
def test_durations(seconds: float, text: str) -> None:
    assert show_duration(seconds) == text


def test_more_labels_than_a_model_can_number_are_refused() -> None:
    nlp = RECOGNIZER.pipeline()
    recognizer: Any = nlp.get_pipe(RECOGNIZER.name)
    examples = RECOGNIZER.examples(nlp.vocab)
    labels = [f"L{i}" for i in range(16384)]
    with (
        pytest.warns(UserWarning, match="65,537 labels"),
        pytest.raises(
            ValueError, match=r"ssvm_ner: .* 65,537 labels, but at most 65,534 .*\"iob2\""
        ),
    ):
        recognizer.initialize(lambda: examples, nlp=nlp, labels=labels)
    assert recognizer.labels == ()


def test_more_labels_than_a_trained_model_can_number_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recognizer: Any = RECOGNIZER.trained(epochs=1).get_pipe(RECOGNIZER.name)
    monkeypatch.setattr(recognizer.model, "max_labels", len(recognizer.model.labels))
    labels = recognizer.labels
    with pytest.raises(ValueError, match=r"at most \d+ are possible"):
        recognizer.add_label("NEW")
    assert recognizer.labels == labels
