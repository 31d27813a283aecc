"""Bad input ends in an error that says what is wrong, where, and what to do."""

import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import metadata
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import spacy
from corpora import make_doc, tagging_examples
from marks import compiled_only
from pipelines import LEMMATIZER, MORPHOLOGIZER, PARSER, SENTER, TAGGER, Component, copy_of
from processes import ScriptRunner, contents
from refusals import NAME, initialize, refusal, refused_config
from roundtrips import roundtrips, save_component
from spacy.cli.train import train as spacy_train
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Token
from spacy.training import Example
from thinc.api import Adam

from spacy_ssvm import set_threads
from spacy_ssvm.components.example_cache import digest
from spacy_ssvm.components.initialization import out_of_memory

#: All solvers by their names in a config, with the settings that have no default.
SOLVERS = [
    pytest.param(entry.name, {"strength": 1.0} if "ProxGradient" in entry.name else {})
    for entry in metadata.entry_points(group="spacy_misc")
    if entry.module.startswith(("spacy_ssvm.solvers.", "spacy_ssvm.lab."))
]


@pytest.mark.parametrize(("name", "given"), SOLVERS)
def test_every_solver_refuses_invalid_settings(name: str, given: dict[str, Any]) -> None:
    block = {"@misc": name, **given}
    for settings, problem in (
        ({"seed": -1}, "seed is -1: it must not be negative"),
        ({"seed": 0.5}, "0.5 is not <class 'int'>"),
        ({"sead": 1}, "unexpected argument: 'sead'"),
    ):
        message = refused_config(solver={**block, **settings})
        assert name in message
        assert problem in message


def test_a_label_that_initialize_has_not_seen() -> None:
    nlp = TAGGER.pipeline()
    initialize(nlp)
    words = ["Oh", "my", "dog"]
    example = Example(
        make_doc(nlp.vocab, words), make_doc(nlp.vocab, words, tags=["UH", "PRP$", "NN"])
    )
    known = tagging_examples(nlp.vocab)
    message = refusal(lambda: nlp.update([known[0], example]))
    assert f"{NAME}: the label 'UH' of token 0 ('Oh') in 'Oh my dog'" in message
    assert f"[initialize.components.{NAME}.labels]" in message
    # the batch left nothing behind
    TAGGER.train(nlp, known, 8)
    assert TAGGER.annotate(nlp) == TAGGER.gold()
    assert TAGGER.number_of_examples(nlp) == len(known)


def test_a_label_that_initialize_has_not_seen_deep_in_a_batch() -> None:
    nlp = TAGGER.pipeline()
    nlp.get_pipe(NAME).initialize(list, labels=["DT", "JJ"])
    examples = tagging_examples(nlp.vocab, "The/DT old/JJ\nthe/DT cat/NN")
    message = refusal(lambda: nlp.update(examples))
    assert "the label 'NN' of token 1 ('cat') in 'the cat'" in message


def test_the_error_for_an_unknown_label_says_what_to_do(component: Component) -> None:
    nlp = component.pipeline()
    pipe: Any = nlp.get_pipe(component.name)
    if component is SENTER:
        pytest.skip("its labels are always the same")
    if component is LEMMATIZER:
        pytest.skip("lemmas that no label makes are not learned")
    pipe.initialize(list, labels=["New=Yes" if component is MORPHOLOGIZER else "NEW"])
    update = partial(nlp.update, component.examples(nlp.vocab))
    for _ in range(20):
        message = refusal(update)
        assert f"[initialize.components.{component.name}.labels]" in message
        advice = re.search(r"nlp\.get_pipe\('(.*)'\)\.add_label\('(.*)'\)", message)
        assert (advice is not None) == pipe.is_resizable
        if advice is None:
            assert "train anew" in message
            return
        nlp.get_pipe(advice[1]).add_label(advice[2])  # type: ignore[attr-defined]
        if {*pipe.labels} >= {*pipe.collect_labels(component.examples(nlp.vocab))}:
            break
    update()


@pytest.mark.parametrize("not_an_example", ["text", None, 3])
def test_what_is_no_example(not_an_example: Any) -> None:
    nlp = TAGGER.pipeline()
    message = refusal(lambda: nlp.initialize(lambda: [not_an_example]), TypeError)
    assert f"{NAME}: initialize needs Example objects" in message
    assert f"returned {type(not_an_example).__name__}" in message


def test_a_doc_is_no_example() -> None:
    nlp = TAGGER.pipeline()
    message = refusal(lambda: nlp.initialize(lambda: [nlp.make_doc("text")]), TypeError)
    assert "returned Doc" in message
    initialize(nlp)
    with pytest.raises(TypeError, match="Example"):
        nlp.get_pipe(NAME).update([nlp.make_doc("text")])


def test_a_universal_tag_that_does_not_exist() -> None:
    nlp = TAGGER.pipeline(attribute="POS")
    tagger: Any = nlp.get_pipe(NAME)
    for action in (
        lambda: tagger.add_label("NN"),
        lambda: tagger.initialize(list, labels=["NOUN", "NN"]),
    ):
        message = refusal(action)
        assert f"{NAME}: 'NN' is not a universal part-of-speech tag" in message
        assert "NOUN" in message


@pytest.mark.parametrize("label", [3, None, b"NN"])
def test_a_label_that_is_no_text(label: Any) -> None:
    tagger: Any = TAGGER.pipeline().get_pipe(NAME)
    assert "a label must be a text" in refusal(lambda: tagger.add_label(label))


def test_a_component_that_was_not_initialized() -> None:
    nlp = TAGGER.pipeline()
    tagger: Any = nlp.get_pipe(NAME)
    doc = nlp.make_doc("some text")
    for action in (
        lambda: nlp("some text"),
        lambda: tagger.predict([doc]),
        lambda: tagger.scores(doc),
        lambda: tagger.explain(doc, 0),
        lambda: tagger.update(tagging_examples(nlp.vocab)),
    ):
        message = refusal(action)
        assert f"{NAME}: there are no labels. Initialize the component on a corpus" in message
    assert len(nlp("")) == 0, "there is nothing to tag"


def test_the_objective_of_a_component_that_was_not_trained() -> None:
    nlp = TAGGER.pipeline()
    tagger: Any = nlp.get_pipe(NAME)
    initialize(nlp)
    message = refusal(lambda: tagger.objective(tagging_examples(nlp.vocab)))
    assert "has not been trained" in message


def test_an_extension_that_is_not_registered() -> None:
    nlp = TAGGER.pipeline(templates=["lower[0]", "_.not_registered[0]"])
    initialize(nlp)
    for action in (
        lambda: nlp.update(tagging_examples(nlp.vocab)),
        lambda: nlp("some text"),
    ):
        message = refusal(action)
        assert "template attribute '_.not_registered'" in message
        assert "Token.set_extension('not_registered', ...)" in message


def test_learns_a_small_corpus_by_heart(component: Component, trained: Language) -> None:
    assert component.annotate(trained) == component.gold()
    assert component.accuracy(trained) == 1.0


def test_losses_fall_to_nearly_nothing(component: Component) -> None:
    nlp = component.pipeline()
    examples = component.examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    runs = [nlp.update(examples) for _ in range(10)]
    first, last = runs[0], runs[-1]
    assert last[component.name] < first[component.name] / 10
    assert 0 <= last[f"{component.name}_gap"] < first[f"{component.name}_gap"] <= 1


@compiled_only
def test_the_gap_closes_and_the_reported_one_agrees_with_the_exact_one(
    component: Component,
) -> None:
    nlp = component.pipeline()
    examples = component.examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    component.train(nlp, examples, 80)
    losses = nlp.update(examples)
    pipe: Any = nlp.get_pipe(component.name)
    exact, rounded = pipe._trainer.run.objective(), pipe.objective(examples)
    for found in (exact, rounded):
        assert found.dual <= found.primal, "also where rounded weights are shorter"
        assert found.gap == pytest.approx((found.primal - found.dual) / found.primal)
    assert exact.gap < 2e-3
    assert losses[f"{component.name}_gap"] == pytest.approx(exact.gap, abs=2e-3)
    assert rounded.dual == pytest.approx(exact.dual)
    assert rounded.primal == pytest.approx(exact.primal, rel=1e-2)


@compiled_only
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_learns_from_batches_of_any_size(component: Component, size: int) -> None:
    nlp = component.pipeline()
    examples = component.examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    for _ in range(40):
        for start in range(0, len(examples), size):
            nlp.update(examples[start : start + size])
    assert component.accuracy(nlp) == 1.0
    objective = nlp.get_pipe(component.name).objective(examples)
    assert 0 <= objective.gap < 0.1
    assert component.number_of_examples(nlp) == len(examples)


def test_losses_are_there_on_every_call(component: Component) -> None:
    nlp = component.pipeline()
    examples = component.examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    empty = [Example(Doc(nlp.vocab), Doc(nlp.vocab))]
    spaces = [Example(nlp.make_doc(" \n "), nlp.make_doc(" \n "))]
    names = {component.name, f"{component.name}_gap"}
    pipe: Any = nlp.get_pipe(component.name)
    for batch in ([], empty, spaces, examples[:1], empty, []):
        losses = pipe.update(batch, losses={})
        assert set(losses) == names
        assert all(np.isfinite(list(losses.values())))
        assert (losses[component.name] > 0) == (batch == examples[:1])


def test_losses_add_up_in_the_dictionary_given(component: Component) -> None:
    nlp = component.pipeline()
    examples = component.examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    losses = {component.name: 1000.0, "other": 3.0}
    returned = nlp.get_pipe(component.name).update(examples[:5], losses=losses)
    assert returned is losses
    assert losses[component.name] > 1000.0
    assert losses["other"] == 3.0


def test_update_without_losses(component: Component) -> None:
    nlp = component.pipeline()
    examples = component.examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    losses = nlp.get_pipe(component.name).update(examples)
    assert losses[component.name] > 0


def test_initialize_forgets_what_was_learned(component: Component) -> None:
    nlp = component.pipeline()
    examples = component.examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    untrained = nlp.get_pipe(component.name).to_bytes()
    component.train(nlp, examples, 2)
    assert nlp.get_pipe(component.name).to_bytes() != untrained
    nlp.initialize(lambda: examples)
    assert nlp.get_pipe(component.name).to_bytes() == untrained


def test_finish_update_changes_nothing(component: Component) -> None:
    nlp = component.pipeline()
    examples = component.examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    component.train(nlp, examples, 2)
    pipe: Any = nlp.get_pipe(component.name)
    before = pipe.to_bytes()
    pipe.finish_update(nlp.create_optimizer())
    assert pipe.to_bytes() == before


BAG_OF_WORDS = {
    "@architectures": "spacy.TextCatBOW.v3",
    "exclusive_classes": True,
    "ngram_size": 1,
    "no_output_layer": False,
}


def test_an_optimizer_with_averages_beside_a_neural_component(component: Component) -> None:
    nlp = component.pipeline()
    nlp.add_pipe("textcat", config={"model": BAG_OF_WORDS})
    examples = component.examples(nlp.vocab)
    for i, example in enumerate(examples):
        example.reference.cats = {"even": float(i % 2 == 0), "odd": float(i % 2 == 1)}
    nlp.initialize(lambda: examples)
    optimizer = Adam(0.01, use_averages=True)
    for _ in range(8):
        nlp.update(examples, sgd=optimizer)
    annotations = component.annotate(nlp)
    assert annotations == component.gold()
    assert optimizer.averages, "the neural component has averages, so they are swapped in"
    with nlp.use_params(optimizer.averages):
        assert component.annotate(nlp) == annotations
    assert component.annotate(nlp) == annotations


@compiled_only
def test_the_last_doc_of_an_example_counts_in_each_update() -> None:
    nlp = TAGGER.pipeline()
    examples = TAGGER.examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    pipe: Any = nlp.get_pipe(TAGGER.name)
    reference = examples[0].reference
    docs = [make_doc(nlp.vocab, [change(t.text) for t in reference]) for change in (str, str.upper)]
    kept = []
    for _ in range(3):
        pipe.update([Example(doc, reference) for doc in docs])
        kept.append(pipe._cache.find(reference).inputs)
    assert kept == [digest(pipe.model.reader.inputs(docs[1]).tobytes())] * 3


def test_an_update_without_examples_changes_nothing(component: Component) -> None:
    nlp = component.pipeline()
    examples = component.examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    pipe: Any = nlp.get_pipe(component.name)
    assert pipe.update([])[component.name] == 0.0
    assert len(copy_of(nlp)(examples[0].predicted.copy())) == len(examples[0].predicted)


@compiled_only
def test_examples_that_arrive_after_convergence_are_learned() -> None:
    """One by one, so that most of them fit into spare capacity."""
    nlp = TAGGER.pipeline()
    examples = TAGGER.examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    for number in range(1, 13):
        for _ in range(120):
            losses = nlp.update(examples[:number])
        gap = nlp.get_pipe(TAGGER.name).objective(examples[:number]).gap
        assert max(gap, losses[f"{TAGGER.name}_gap"]) < 0.01


@roundtrips
def test_a_component_right_after_an_update(
    component: Component, tmp_path: Path, roundtrip: Any
) -> None:
    """The weights that learn have not tagged anything yet when they are copied."""
    nlp = component.pipeline()
    examples = component.examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    component.train(nlp, examples, 6)
    other = roundtrip(component, nlp, tmp_path)
    assert component.annotate(other) == component.gold()
    component.train(nlp, examples, 1)
    assert component.number_of_examples(nlp) == len(examples)


@roundtrips
def test_a_component_between_initialize_and_update(
    component: Component, tmp_path: Path, roundtrip: Any
) -> None:
    nlp = component.pipeline()
    examples = component.examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    other = roundtrip(component, nlp, tmp_path)
    assert other.get_pipe(component.name).labels == nlp.get_pipe(component.name).labels
    assert component.annotate(other) == component.annotate(nlp)
    component.train(other, component.examples(other.vocab), 6)
    assert component.annotate(other) == component.gold()


@roundtrips
def test_a_component_before_initialize(
    component: Component, tmp_path: Path, roundtrip: Any
) -> None:
    other = roundtrip(component, component.pipeline(), tmp_path)
    assert other.get_pipe(component.name).model.labels == ()
    examples = component.examples(other.vocab)
    other.initialize(lambda: examples)
    component.train(other, examples, 6)
    assert component.annotate(other) == component.gold()


def test_empty_docs(component: Component, trained: Language) -> None:
    for texts in ([""], ["", ""], ["", component.texts()[0], ""], []):
        docs = list(trained.pipe(texts))
        assert [doc.text for doc in docs] == texts
        known = [component.annotations(doc) for doc in docs if len(doc)]
        assert known in ([], component.gold()[:1])
    assert len(trained("")) == 0
    assert len(trained(Doc(trained.vocab))) == 0


@pytest.mark.parametrize("batch_size", [1, 3, 1000])
def test_batches_of_any_size(component: Component, trained: Language, batch_size: int) -> None:
    docs = trained.pipe(component.texts(), batch_size=batch_size)
    assert [component.annotations(doc) for doc in docs] == component.gold()


def test_contexts_travel_with_their_docs(component: Component, trained: Language) -> None:
    pairs = trained.pipe([(text, i) for i, text in enumerate(component.texts())], as_tuples=True)
    assert [(component.annotations(doc), i) for doc, i in pairs] == [
        (gold, i) for i, gold in enumerate(component.gold())
    ]


PROCESSES = """
import json, multiprocessing, sys
import spacy
from pipelines import COMPONENTS

if __name__ == "__main__":
    component = next(c for c in COMPONENTS if c.name == sys.argv[1])
    nlp = component.trained(epochs=2)  # still learning: its training state must not be in the way
    texts = [*component.texts(), ""] * 3
    pairs = [(text, {"number": i}) for i, text in enumerate(texts)]
    found = {"serial": [component.annotate(nlp, texts), list(range(len(texts)))]}
    for method in sys.argv[2:]:
        multiprocessing.set_start_method(method, force=True)
        parallel = list(nlp.pipe(pairs, as_tuples=True, n_process=2, batch_size=20))
        annotations = [component.annotations(doc) for doc, _ in parallel]
        found[method] = [annotations, [context["number"] for _, context in parallel]]
    print(json.dumps(found))
"""


@pytest.mark.slow
@compiled_only
def test_two_processes_give_the_serial_answer(
    component: Component, run_script: ScriptRunner
) -> None:
    methods = ["fork"]
    if component in (TAGGER, PARSER):  # imports take long; all are pickled in other tests, too
        methods += ["forkserver", "spawn"]
    found = json.loads(run_script(PROCESSES, component.name, *methods))
    serial = found.pop("serial")
    assert all(all(annotations) for annotations in serial[0])
    assert found == dict.fromkeys(methods, serial)


def test_two_threads_at_once_give_the_serial_answer(
    component: Component, trained: Language
) -> None:
    texts = component.texts() * 3
    expected = component.gold() * 3
    for _ in range(3):
        nlp = copy_of(trained)  # with empty caches, which the threads fill at the same time
        pipe: Any = nlp.get_pipe(component.name)
        batches = [[nlp.make_doc(text) for text in texts] for _ in range(2)]
        barrier = threading.Barrier(2)

        def annotate(docs: list[Doc], pipe: Any = pipe, barrier: Any = barrier) -> list[list[str]]:
            barrier.wait(timeout=60)
            return [component.annotations(doc) for doc in pipe.pipe(docs, batch_size=10)]

        with ThreadPoolExecutor(2) as pool:
            assert list(pool.map(annotate, batches)) == [expected, expected]


@pytest.mark.parametrize("batch_size", [1, 4])
def test_docs_in_threads_of_the_package_get_the_serial_answer(
    component: Component, trained: Language, batch_size: int
) -> None:
    nlp = copy_of(trained)
    contexts = list(range(len(component.texts()) * 5))
    set_threads(3)
    try:
        texts = zip(component.texts() * 5, contexts, strict=True)
        pairs = list(nlp.pipe(texts, as_tuples=True, batch_size=batch_size))
    finally:
        set_threads(1)
    assert [component.annotations(doc) for doc, _ in pairs] == component.gold() * 5
    assert [context for _, context in pairs] == contexts


def test_two_threads_right_after_an_update(component: Component) -> None:
    nlp = component.pipeline()
    examples = component.examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    pipe: Any = nlp.get_pipe(component.name)
    for _ in range(3):
        nlp.update(examples)
        batches = [[nlp.make_doc(text) for text in component.texts()] for _ in range(2)]
        barrier = threading.Barrier(2)

        def annotate(docs: list[Doc], barrier: Any = barrier) -> list[list[str]]:
            barrier.wait(timeout=60)
            return [component.annotations(doc) for doc in pipe.pipe(docs, batch_size=10)]

        with ThreadPoolExecutor(2) as pool:
            answers = list(pool.map(annotate, batches))
        serial = component.annotate(nlp)
        assert answers == [serial, serial]


def random_words(seed: int, number: int) -> list[str]:
    random = Random(seed)
    return ["".join(random.choices("abcdefghijklmnop", k=9)) for _ in range(number)]


def test_tagging_adds_no_strings(component: Component, trained: Language) -> None:
    nlp = copy_of(trained)
    docs = [nlp.make_doc(" ".join(random_words(i, 30))) for i in range(50)]
    known = set(nlp.vocab.strings)
    for doc in nlp.pipe(docs):
        assert all(component.annotations(doc))
    assert set(nlp.vocab.strings) == known


def test_memory_zones(
    component: Component, trained: Language, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spacy_ssvm.features.attributes.CACHED_TYPES", 500)
    texts = [" ".join(random_words(i, 20)) for i in range(100)]
    expected = component.annotate(copy_of(trained), texts)
    nlp = copy_of(trained)
    before = set(nlp.vocab.strings)
    for _ in range(3):
        with nlp.memory_zone():
            docs = [nlp.make_doc(text) for text in texts]
            tokenized = len(nlp.vocab.strings)
            annotated = [component.annotations(doc) for doc in nlp.pipe(docs)]
            assert len(nlp.vocab.strings) == tokenized > len(before)
        assert annotated == expected
        assert set(nlp.vocab.strings) == before
        assert component.annotate(nlp) == component.gold()
        before = set(nlp.vocab.strings)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_failing_doc_goes_to_the_error_handler(component: Component, threads: int) -> None:
    def fragile(token: Token) -> str:
        if token.text == "breaks":
            raise ValueError("this token cannot be read")
        return "whole"

    Token.set_extension("fragile", getter=fragile)
    try:
        nlp = component.trained(
            epochs=3, templates=[component.template("lower"), component.template("_.fragile")]
        )
        texts = [component.texts()[0], "It breaks", component.texts()[1]]
        set_threads(threads)
        with pytest.raises(ValueError, match="this token cannot be read"):
            list(nlp.pipe(texts, batch_size=1))
        failures = []
        nlp.set_error_handler(
            lambda name, pipe, docs, error: failures.append(
                (name, [doc.text for doc in docs], str(error))
            )
        )
        docs = list(nlp.pipe(texts, batch_size=1))
    finally:
        set_threads(1)
        Token.remove_extension("fragile")
    assert [doc.text for doc in docs] == [texts[0], texts[2]]
    assert failures == [(component.name, ["It breaks"], "this token cannot be read")]


@pytest.mark.parametrize("loaded", [False, True], ids=["learning", "loaded"])
def test_a_label_added_to_a_trained_component_changes_nothing_else(
    component: Component, loaded: bool
) -> None:
    nlp = component.trained()
    nlp = copy_of(nlp) if loaded else nlp
    pipe: Any = nlp.get_pipe(component.name)
    if not pipe.is_resizable:
        pytest.skip("the labels are those of initialize")
    labels = pipe.labels
    assert pipe.add_label("NEW") == 1
    assert pipe.add_label("NEW") == 0
    assert component.annotate(nlp) == component.gold()
    examples = component.examples(nlp.vocab)
    nlp.update(examples, sgd=nlp.resume_training())
    assert component.annotate(nlp) == component.gold()
    other: Any = copy_of(nlp).get_pipe(component.name)
    assert pipe.labels == other.labels == (*labels, "NEW")


def test_rehearsal_leaves_the_weights_alone(component: Component) -> None:
    nlp = component.trained(epochs=2)
    before = nlp.get_pipe(component.name).to_bytes()
    examples = component.examples(nlp.vocab)
    assert nlp.rehearse(examples, sgd=nlp.resume_training()) == {component.name: 0.0}
    assert nlp.get_pipe(component.name).to_bytes() == before


@compiled_only
def test_a_sourced_component_learns_on_from_its_weights(
    component: Component, trained: Language, tmp_path: Path
) -> None:
    trained.to_disk(tmp_path)
    nlp = spacy.blank("en")
    nlp.add_pipe(component.name, source=spacy.load(tmp_path))
    assert component.annotate(nlp) == component.gold()
    examples = component.examples(nlp.vocab)
    new = examples[:4]
    for _ in range(5):
        losses = nlp.update(new)
        assert component.accuracy(nlp) == 1.0
    assert component.number_of_examples(nlp) == len(new)
    assert losses[component.name] < 1

    scratch = component.pipeline()
    few = component.examples(scratch.vocab)
    scratch.initialize(lambda: few)
    component.train(scratch, few[:4], 5)
    assert component.accuracy(scratch) < 1.0, "four examples are too few without a prior"


def test_a_frozen_component_stays_as_it_is(component: Component, trained: Language) -> None:
    nlp = copy_of(trained)
    pipe: Any = nlp.get_pipe(component.name)
    before = pipe.to_bytes()
    losses = nlp.update(component.examples(nlp.vocab), exclude=[component.name])
    assert component.name not in losses
    assert pipe.to_bytes() == before


CONFIG = """
[paths]
corpus = null
source = null

[system]
seed = 1

[nlp]
lang = "en"
pipeline = {pipeline}

[components]

{components}

[corpora]

[corpora.train]
@readers = "spacy.Corpus.v1"
path = ${{paths.corpus}}

[corpora.dev]
@readers = "spacy.Corpus.v1"
path = ${{paths.corpus}}

[training]
seed = ${{system.seed}}
gpu_allocator = null
max_epochs = 8
patience = 0
eval_frequency = 1
frozen_components = {frozen}
annotating_components = {frozen}

[training.batcher]
@batchers = "spacy.batch_by_sequence.v1"
size = 1000000

[initialize]
"""


@pytest.fixture
def corpus_file(component: Component, tmp_path: Path) -> Path:
    nlp = spacy.blank("en")
    docs = [example.reference for example in component.examples(nlp.vocab)]
    DocBin(docs=docs).to_disk(tmp_path / "corpus.spacy")
    return tmp_path / "corpus.spacy"


def settings_of(settings: dict[str, Any]) -> list[str]:
    """The lines of a config."""
    return [f"{key} = {json.dumps(value)}" for key, value in settings.items()]


@compiled_only
def test_spacy_train(component: Component, corpus_file: Path, tmp_path: Path) -> None:
    config = tmp_path / "config.cfg"
    config.write_text(
        CONFIG.format(
            pipeline=json.dumps([component.name]),
            components="\n".join(
                [
                    f"[components.{component.name}]",
                    f'factory = "{component.factory}"',
                    *settings_of(component.required),
                ]
            ),
            frozen="[]",
        )
    )
    spacy_train(config, tmp_path / "output", overrides={"paths.corpus": str(corpus_file)})
    best = spacy.load(tmp_path / "output" / "model-best")
    assert best.meta["performance"][component.score] > 0.98
    assert component.accuracy(best) > 0.98
    assert component.accuracy(spacy.load(tmp_path / "output" / "model-last")) > 0.98


@compiled_only
def test_spacy_train_with_a_frozen_component(
    component: Component, trained: Language, corpus_file: Path, tmp_path: Path
) -> None:
    before = save_component(component, trained, tmp_path / "source")
    config = tmp_path / "config.cfg"
    config.write_text(
        CONFIG.format(
            pipeline=json.dumps([component.name, "second"]),
            components="\n".join(
                [
                    f"[components.{component.name}]",
                    "source = ${paths.source}",
                    "[components.second]",
                    f'factory = "{component.factory}"',
                    *settings_of(component.required | component.overwriting),
                ]
            ),
            frozen=json.dumps([component.name]),
        )
    )
    overrides = {"paths.corpus": str(corpus_file), "paths.source": str(tmp_path / "source")}
    spacy_train(config, tmp_path / "output", overrides=overrides)
    best = tmp_path / "output" / "model-best"
    assert contents(best / component.name) == before
    assert contents(best / "second") != before
    assert component.accuracy(spacy.load(best)) > 0.98


@compiled_only
def test_the_end_of_training(component: Component) -> None:
    """Its memory is freed, the weights stay, and further training goes on from them."""
    nlp = component.pipeline()
    examples = component.examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    pipe: Any = nlp.get_pipe(component.name)
    assert pipe.training_memory() == {}
    for _ in range(2):
        nlp.update(examples)
    parts = pipe.training_memory()
    assert {*parts} == {"weights", "constraints", "features"}
    assert min(parts.values()) > 0
    before = pipe.to_bytes()
    pipe.end_training()
    assert pipe.training_memory() == {}
    assert pipe.to_bytes() == before
    pipe.end_training()
    nlp.update(examples)
    assert pipe.training_memory()
    assert pipe.to_bytes() != before


def test_the_memory_of_training_grows_with_examples() -> None:
    nlp = TAGGER.pipeline()
    examples = TAGGER.examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    pipe: Any = nlp.get_pipe(TAGGER.name)
    pipe.update(examples[:1])
    before = pipe.training_memory()
    pipe.update(examples)
    after = pipe.training_memory()
    assert after["features"] > before["features"]
    assert after["constraints"] > before["constraints"]


def test_too_little_memory_names_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """And leaves a component that works, with the weights that it last had."""
    nlp = TAGGER.pipeline()
    examples = TAGGER.examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    pipe: Any = nlp.get_pipe(TAGGER.name)
    pipe.update(examples)
    before = pipe.to_bytes()
    pipe.update(examples)

    def fail(numbers: Any) -> float:
        raise MemoryError

    monkeypatch.setattr(pipe._trainer, "epoch", fail)
    pattern = r"not enough memory.* took \d+ MB \(.*constraints \d+ MB.*min_count or set hash_bits"
    with pytest.raises(MemoryError, match=pattern):
        pipe.update(examples)
    assert pipe.to_bytes() == before
    assert pipe.training_memory() == {}
    pipe.update(examples)
    assert pipe.to_bytes() != before


@pytest.mark.parametrize(
    ("factory", "advice"),
    [
        ("ssvm_tagger", "raise min_count or set hash_bits to a small number for fewer"),
        ("ssvm_parser", "raise min_count or set hash_bits to a small number for fewer"),
        ("ssvm_aligner", "raise min_count for fewer"),
    ],
)
def test_advice_about_memory_names_settings_that_there_are(factory: str, advice: str) -> None:
    assert f"In [components.{factory}], {advice}" in out_of_memory(
        spacy.blank("en").add_pipe(factory)
    )
