"""Tests of ``spacy_ssvm/components/example_cache.py``."""

import gc
from collections.abc import Iterator
from random import Random

import pytest
from marks import compiled_only
from pipelines import Component
from roundtrips import primal, solver
from spacy.language import Language
from spacy.tokens import Token
from spacy.training import Example

from spacy_ssvm.features.attributes import AttributeReader


def test_fresh_examples_with_the_same_references_keep_their_dual_variables(
    component: Component,
) -> None:
    nlp = component.pipeline()
    examples = component.examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    losses = []
    for _ in range(6):
        fresh = [Example(example.predicted.copy(), example.reference) for example in examples]
        losses.append(nlp.update(fresh)[component.name])
        assert component.number_of_examples(nlp) == len(examples)
    kept = component.pipeline()
    examples = component.examples(kept.vocab)
    kept.initialize(lambda: examples)
    assert losses == [kept.update(examples)[component.name] for _ in range(6)]


def test_a_streamed_corpus_keeps_its_dual_variables(component: Component) -> None:
    nlp = component.pipeline()
    nlp.initialize(lambda: component.examples(nlp.vocab))
    losses = []
    for _ in range(6):
        losses.append(nlp.update(component.examples(nlp.vocab))[component.name])
        gc.collect()
        assert component.number_of_examples(nlp) == len(component.texts())
    kept = component.pipeline()
    examples = component.examples(kept.vocab)
    kept.initialize(lambda: examples)
    assert losses == [kept.update(examples)[component.name] for _ in range(6)]


def test_examples_of_the_same_content_count_each_for_itself(component: Component) -> None:
    nlp = component.pipeline()
    examples = [*component.examples(nlp.vocab), *component.examples(nlp.vocab)]
    nlp.initialize(lambda: examples)
    for _ in range(3):
        nlp.update(examples)
        assert component.number_of_examples(nlp) == len(examples)


INPUTS = {
    "tag": lambda token, value: setattr(token, "tag_", value),
    "lemma": lambda token, value: setattr(token, "lemma_", value),
    "_.hint": lambda token, value: token._.set("hint", value),
}


@pytest.fixture
def hint() -> Iterator[None]:
    Token.set_extension("hint", default=None)
    yield
    Token.remove_extension("hint")


@compiled_only
@pytest.mark.usefixtures("hint")
@pytest.mark.parametrize("attribute", INPUTS)
def test_an_example_whose_input_has_changed_starts_again(
    component: Component, attribute: str
) -> None:
    def annotate(examples: list[Example], seed: int) -> None:
        random = Random(seed)
        for example in examples:
            for token in example.predicted:
                INPUTS[attribute](token, random.choice(["red", "green", "blue"]))

    def pipeline() -> tuple[Language, list[Example]]:
        nlp = component.pipeline(
            templates=[
                component.template("suffix3"),
                component.template(attribute),
                component.template(attribute, "suffix1"),
            ],
            solver=solver(C=0.1, tolerance=1e-5),
            **component.exact,
            **component.overwriting,
        )
        examples = component.examples(nlp.vocab)
        nlp.initialize(lambda: examples)
        return nlp, examples

    changed, examples = pipeline()
    annotate(examples, 1)
    component.train(changed, examples, 5)
    annotate(examples, 2)
    component.train(changed, examples, 150)
    fresh, examples_of_fresh = pipeline()
    annotate(examples_of_fresh, 2)
    component.train(fresh, examples_of_fresh, 150)

    assert primal(component, fresh, examples_of_fresh) == pytest.approx(
        primal(component, changed, examples), rel=2e-4
    )
    # the annotations matter, or this test would show nothing
    annotate(examples, 3)
    assert primal(component, changed, examples) > 1.1 * primal(component, fresh, examples_of_fresh)


@pytest.mark.parametrize("changed", [0, 2])
def test_an_update_reads_each_doc_once(
    component: Component, changed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    nlp = component.pipeline(templates=[component.template("lower"), component.template("tag")])
    examples = component.examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    read = []
    inputs = AttributeReader.inputs
    monkeypatch.setattr(
        AttributeReader, "inputs", lambda self, doc: read.append(doc.text) or inputs(self, doc)
    )
    for _ in range(3):
        nlp.update(examples)
        assert read == [example.reference.text for example in examples]
        assert component.number_of_examples(nlp) >= len(examples)
        read.clear()
        for example in examples[:changed]:
            example.predicted[0].tag_ += "X"


def test_an_example_that_comes_twice_in_an_update_counts_once(component: Component) -> None:
    once, twice = component.pipeline(), component.pipeline()
    for nlp, times in ((once, 1), (twice, 2)):
        examples = component.examples(nlp.vocab)
        nlp.initialize(lambda examples=examples: examples)
        nlp.update(examples * times)
    assert component.number_of_examples(twice) == component.number_of_examples(once)
