"""Tests of ``spacy_ssvm/components/example_cache.py``."""

import gc
import warnings
from collections.abc import Iterator
from random import Random
from statistics import fmean
from typing import Any

import pytest
import spacy
from leaving import let_all_leave
from marks import compiled_only
from pipelines import TAGGER, Component
from roundtrips import primal, solver
from spacy.language import Language
from spacy.tokens import Doc, Token
from spacy.training import Example
from spacy.vocab import Vocab
from thinc.config import ConfigValidationError

from spacy_ssvm.components.example_cache import ExampleCache
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

    def noted(self: AttributeReader, doc: Doc, **settings: bool) -> Any:
        read.append(doc.text)
        return inputs(self, doc, **settings)

    monkeypatch.setattr(AttributeReader, "inputs", noted)
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


def pipe_of(component: Component, nlp: Language) -> Any:
    return nlp.get_pipe(component.name)


def test_what_examples_taught_stays_when_they_leave(
    component: Component, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where each leaves after its update, this is learning online."""
    let_all_leave(monkeypatch)
    nlp = component.pipeline()
    nlp.initialize(lambda: component.examples(nlp.vocab))
    pipe_of(component, nlp).memory = 100
    for _ in range(20):
        examples = component.examples(nlp.vocab)
        while examples:
            nlp.update([examples.pop()])
            assert component.number_of_examples(nlp) == 1
    assert component.annotate(nlp) == component.gold()


def test_docs_that_are_in_use_stay(component: Component) -> None:
    """And training is as without a bound."""
    losses = []
    for memory in (None, 1e-6):
        nlp = component.pipeline()
        examples = component.examples(nlp.vocab)
        nlp.initialize(lambda examples=examples: examples)
        pipe_of(component, nlp).memory = memory
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            losses.append([nlp.update(examples)[component.name] for _ in range(3)])
        told = [str(w.message) for w in caught if "more than the setting memory" in str(w.message)]
        assert len(told) == (0 if memory is None else 3)
    assert losses[0] == losses[1]


def test_those_leave_first_that_have_not_been_seen_for_longest() -> None:
    cache = ExampleCache()
    docs = [Doc(Vocab(), words=[f"word{i}"]) for i in range(20)]
    for i, doc in enumerate(docs):
        cache.begin_update()
        cache.claim(doc, f"content {i}".encode()).numbers = range(i, i + 1)
    assert cache.leave(1 / 8) == []
    cache.begin_update()
    cache.find(docs[0])
    in_use = docs[2]
    del docs, doc
    gc.collect()
    left = [cached.numbers.start for cached in cache.leave(1 / 8)]
    assert sorted(left) == [1, 3, 4]
    before = cache.memory
    left = [cached.numbers.start for cached in cache.leave(1 / 8)]
    assert sorted(left) == [5, 6, 7]
    assert cache.memory < before
    while cache.leave(1 / 8):
        pass
    assert cache.find(in_use) is not None
    known = Doc(Vocab(), words=["word5"])
    assert not cache.claim(known, b"content 5").numbers  # a new one


def fresh_examples(vocab: Vocab, random: Random, number: int) -> list[Example]:
    """Sentences of words that no others have, with tags by their endings."""
    examples = []
    for _ in range(number):
        tags = [random.choice("ABC") for _ in range(6)]
        words = [f"{random.getrandbits(40):x}{tag.lower() * 3}" for tag in tags]
        reference = Doc(vocab, words=words, tags=tags)
        examples.append(Example(Doc(vocab, words=words), reference))
    return examples


@pytest.mark.parametrize("config", [{}, {"min_count": 3}, {"hash_bits": 10}], ids=str)
def test_the_memory_of_a_stream_is_bounded(config: dict[str, Any]) -> None:
    nlp = spacy.blank("en")
    tagger: Any = nlp.add_pipe("ssvm_tagger", config={**config, "memory": 1})
    random = Random(0)
    nlp.initialize(lambda: fresh_examples(nlp.vocab, random, 20))
    sizes = []
    for _ in range(600):
        with nlp.memory_zone():
            nlp.update(fresh_examples(nlp.vocab, random, 5))
        sizes.append(sum(tagger.training_memory().values()))
    assert max(sizes) <= 1.1e6
    assert fmean(sizes[400:]) <= 1.02 * fmean(sizes[200:400])
    examples = fresh_examples(nlp.vocab, random, 50)
    assert nlp.evaluate(examples)["tag_acc"] == 1
    loaded = spacy.blank("en")
    loaded.add_pipe("ssvm_tagger", config=config).from_bytes(tagger.to_bytes())
    assert loaded.evaluate(examples)["tag_acc"] == 1


@pytest.mark.filterwarnings("ignore:.*more than the setting memory")
def test_a_run_cannot_restart_without_its_examples() -> None:
    nlp = TAGGER.pipeline()
    nlp.initialize(lambda: TAGGER.examples(nlp.vocab))
    pipe = pipe_of(TAGGER, nlp)
    pipe.memory = 1e-6
    for i in range(2):
        nlp.update(TAGGER.examples(nlp.vocab)[i : i + 1])
    with pytest.raises(ValueError, match="examples have left to save memory, raise `memory`"):
        pipe._trainer.restart(pipe.solver)


@pytest.mark.parametrize("memory", [0, -1])
def test_too_little_memory_is_refused(component: Component, memory: int) -> None:
    with pytest.raises(ConfigValidationError, match=rf"memory -> {memory}|{memory}: must be at le"):
        component.pipeline(memory=memory)


def test_examples_leave_in_the_same_order_each_time() -> None:
    """The sums of weights depend on it, to the last bit."""

    def train() -> bytes:
        nlp = spacy.blank("en")
        tagger: Any = nlp.add_pipe("ssvm_tagger")
        random = Random(0)
        nlp.initialize(lambda: fresh_examples(nlp.vocab, random, 20))
        tagger.memory = 0.2
        for _ in range(30):
            nlp.update(fresh_examples(nlp.vocab, random, 10))
        return bytes(tagger.to_bytes(exclude=["vocab"]))

    assert train() == train()
