"""What every component must do in a pipeline, whatever it annotates."""

import copy
import gc
import json
import os
import pickle
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import spacy
from corpora import make_doc
from marks import compiled_only
from pipelines import COMPONENTS, SENTER, TAGGER, Component, copy_of
from processes import ScriptRunner, contents
from spacy.cli.train import train as spacy_train
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Token
from spacy.training import Example
from thinc.api import Adam

from spacy_ssvm.components.example_cache import digest
from spacy_ssvm.features.attributes import AttributeReader
from spacy_ssvm.storage import ModelFileError


def save_component(component: Component, nlp: Language, path: Path) -> dict[str, bytes]:
    """The files of the saved component."""
    nlp.to_disk(path)
    return contents(path / component.name)


def solver(**settings: Any) -> dict[str, Any]:
    return {"@misc": "spacy_ssvm.DualCoordinateDescent.v1", "C": 1.0, **settings}


def primal(component: Component, nlp: Language, examples: list[Example]) -> float:
    return float(nlp.get_pipe(component.name).objective(examples).primal)


# Learning


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
    exact = nlp.get_pipe(component.name).objective(examples)
    assert exact.dual <= exact.primal
    assert exact.gap == pytest.approx((exact.primal - exact.dual) / exact.primal)
    assert exact.gap < 2e-3
    assert losses[f"{component.name}_gap"] == pytest.approx(exact.gap, abs=2e-3)


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


# Finding examples again


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


# Saving and loading


def through_disk(component: Component, nlp: Language, path: Path) -> Language:
    nlp.to_disk(path / "pipeline")
    return spacy.load(path / "pipeline")


def through_bytes(component: Component, nlp: Language, path: Path) -> Language:
    return copy_of(nlp)


def through_component(
    change: Callable[[Any], Any],
) -> Callable[[Component, Language, Path], Language]:
    def roundtrip(component: Component, nlp: Language, path: Path) -> Language:
        pipe = change(nlp.get_pipe(component.name))
        other = copy_of(nlp)
        other._components = [(component.name, pipe)]
        return other

    return roundtrip


ROUNDTRIPS = {
    "disk": through_disk,
    "bytes": through_bytes,
    "pickle": through_component(lambda pipe: pickle.loads(pickle.dumps(pipe))),
    "deepcopy": through_component(copy.deepcopy),
}
roundtrips = pytest.mark.parametrize("roundtrip", ROUNDTRIPS.values(), ids=ROUNDTRIPS)


@roundtrips
def test_a_trained_component_annotates_the_same_elsewhere(
    component: Component, trained: Language, tmp_path: Path, roundtrip: Any
) -> None:
    other = roundtrip(component, trained, tmp_path)
    assert other.get_pipe(component.name) is not trained.get_pipe(component.name)
    assert other.get_pipe(component.name).labels == trained.get_pipe(component.name).labels
    assert component.annotate(other) == component.gold()
    examples = component.examples(trained.vocab)
    assert primal(component, other, examples) == pytest.approx(primal(component, trained, examples))


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


@roundtrips
def test_a_copy_learns_on_without_its_original(
    component: Component, tmp_path: Path, roundtrip: Any
) -> None:
    nlp = component.pipeline()
    examples = component.examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    component.train(nlp, examples, 4)
    before = nlp.get_pipe(component.name).to_bytes()
    other = roundtrip(component, nlp, tmp_path)
    component.train(other, component.examples(other.vocab)[:3], 2)
    assert nlp.get_pipe(component.name).to_bytes() == before
    assert other.get_pipe(component.name).to_bytes() != before
    component.train(nlp, examples, 1)
    assert component.number_of_examples(nlp) == len(examples)


def test_saved_fields(component: Component, trained: Language, tmp_path: Path) -> None:
    pipe: Any = trained.get_pipe(component.name)
    for excluded, left in [("vocab", {"model.json", "arrays"}), ("model", {"model.json", "vocab"}),
                           ("cfg", {"model.json", "arrays", "vocab"})]:  # fmt: skip
        pipe.to_disk(tmp_path / excluded, exclude=[excluded])
        names = {path.name.partition("-")[0] for path in (tmp_path / excluded).iterdir()}
        assert names == left
        assert len(pipe.to_bytes(exclude=[excluded])) < len(pipe.to_bytes())


@pytest.mark.parametrize("excluded", ["cfg", "model"])
def test_what_was_excluded_when_saved_cannot_be_loaded(
    component: Component, trained: Language, tmp_path: Path, excluded: str
) -> None:
    source: Any = trained.get_pipe(component.name)
    source.to_disk(tmp_path, exclude=[excluded, "vocab"])
    nlp = component.pipeline()
    pipe: Any = nlp.get_pipe(component.name)
    message = f"saved without its {excluded}; load it with exclude=\\['{excluded}'\\]"
    with pytest.raises(ModelFileError, match=message):
        pipe.from_disk(tmp_path, exclude=["vocab"])
    with pytest.raises(ModelFileError, match=message):
        pipe.from_bytes(source.to_bytes(exclude=[excluded, "vocab"]), exclude=["vocab"])
    pipe.from_disk(tmp_path, exclude=["vocab", excluded])
    assert (pipe.model.labels == ()) == (excluded == "model")


def test_a_component_of_another_kind(component: Component, trained: Language) -> None:
    source: Any = trained.get_pipe(component.name)
    for other in COMPONENTS:
        pipe: Any = other.pipeline().get_pipe(other.name)
        if pipe.kind != source.kind:
            with pytest.raises(ModelFileError, match=f"'{source.kind}', not '{pipe.kind}'"):
                pipe.from_bytes(source.to_bytes())


@pytest.mark.parametrize("form", ["disk", "bytes"])
def test_what_is_excluded_stays_as_it_was(
    component: Component, trained: Language, tmp_path: Path, form: str
) -> None:
    source: Any = trained.get_pipe(component.name)
    source.to_disk(tmp_path / "saved")
    ((setting, value),) = component.variation.items()

    def load(into: Any, exclude: list[str]) -> Any:
        if form == "disk":
            return into.from_disk(tmp_path / "saved", exclude=exclude)
        return into.from_bytes(source.to_bytes(), exclude=exclude)

    def new() -> Language:
        return component.pipeline(**component.variation)

    nlp = new()
    pipe: Any = nlp.get_pipe(component.name)
    assert load(pipe, ["cfg", "vocab"]) is pipe
    assert pipe.cfg[setting] == value != source.cfg[setting]
    assert component.annotate(nlp) == component.gold()

    nlp = new()
    pipe = load(nlp.get_pipe(component.name), ["model", "vocab"])
    assert pipe.cfg[setting] == source.cfg[setting]
    assert pipe.model.labels == ()

    nlp = new()
    words = len(nlp.vocab.strings)
    load(nlp.get_pipe(component.name), ["vocab"])
    assert len(nlp.vocab.strings) <= words + len(source.labels) + 1
    assert component.annotate(nlp) == component.gold()

    nlp = new()
    load(nlp.get_pipe(component.name), [])
    assert set(trained.vocab.strings) <= set(nlp.vocab.strings)


LOAD = """
import json, sys
import spacy

nlp = spacy.load(sys.argv[1])
texts = json.loads(sys.argv[2])
print(json.dumps([doc.to_json() for doc in nlp.pipe(texts)]))
"""


def test_loads_in_a_fresh_process(
    component: Component, trained: Language, tmp_path: Path, run_script: ScriptRunner
) -> None:
    trained.to_disk(tmp_path / "pipeline")
    output = run_script(LOAD, tmp_path / "pipeline", json.dumps(component.texts()))
    docs = [Doc(trained.vocab).from_json(data) for data in json.loads(output)]
    assert [component.annotations(doc) for doc in docs] == component.gold()


def test_saving_again_into_the_same_folder(
    component: Component, trained: Language, tmp_path: Path
) -> None:
    first = save_component(component, trained, tmp_path)
    assert save_component(component, trained, tmp_path) == first
    loaded = spacy.load(tmp_path)
    assert save_component(component, loaded, tmp_path) == first
    assert component.annotate(loaded) == component.gold()
    assert component.annotate(spacy.load(tmp_path)) == component.gold()


def test_saving_over_the_folder_that_is_in_use(component: Component, tmp_path: Path) -> None:
    nlp = component.pipeline()
    examples = component.examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    component.train(nlp, examples, 1)
    nlp.to_disk(tmp_path)
    early = component.annotate(nlp)

    reader, trained = spacy.load(tmp_path), spacy.load(tmp_path)
    component.train(trained, component.examples(trained.vocab), 6)
    saved = save_component(component, trained, tmp_path)
    assert component.annotate(reader) == early
    assert component.annotate(trained) == component.gold()
    assert component.annotate(spacy.load(tmp_path)) == component.gold()
    clean = save_component(component, trained, tmp_path / "elsewhere")
    assert set(saved) == set(clean), "the old arrays are gone"


@pytest.mark.parametrize("function", [(np, "save"), (os, "replace")], ids=["save", "replace"])
def test_an_interrupted_save_leaves_the_old_model_whole(
    component: Component,
    trained: Language,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    function: tuple[Any, str],
) -> None:
    nlp = component.pipeline()
    examples = component.examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    component.train(nlp, examples, 1)
    path = tmp_path / "component"
    exclude = ["vocab"]  # whose saving is not ours

    def saves(pipe: Any) -> bool:
        try:
            pipe.to_disk(path, exclude=exclude)
        except OSError:
            return False
        return True

    def load() -> Language:
        loaded = component.pipeline()
        pipe: Any = loaded.get_pipe(component.name)
        pipe.from_disk(path, exclude=exclude)
        return loaded

    nlp.get_pipe(component.name).to_disk(path, exclude=exclude)
    old = component.annotate(nlp)
    assert old != component.gold()
    files = set(contents(path))

    original = getattr(*function)
    for calls_before_failure in count():
        remaining = iter(range(calls_before_failure))

        def fail(*args: Any, **kwargs: Any) -> Any:
            if next(remaining, None) is None:  # noqa: B023
                raise OSError("no space left on device")
            return original(*args, **kwargs)

        with monkeypatch.context() as patch:
            patch.setattr(*function, fail)
            if saves(trained.get_pipe(component.name)):
                break
        assert component.annotate(load()) == old
    assert calls_before_failure > 1, "saving writes and moves more than once"
    assert component.annotate(load()) == component.gold()
    assert len(contents(path)) == len(files), "no leftovers of interrupted saves"


def test_the_saved_form_holds_no_pickles(
    component: Component, trained: Language, tmp_path: Path
) -> None:
    trained.to_disk(tmp_path)
    arrays = list((tmp_path / component.name).glob("arrays-*/*.npy"))
    assert arrays
    for path in arrays:
        opened = np.load(path, mmap_mode="r", allow_pickle=False)
        assert isinstance(opened, np.memmap) or opened.size == 0


TRAIN_AND_SAVE = """
import sys
from pipelines import COMPONENTS

component = next(c for c in COMPONENTS if c.name == sys.argv[1])
component.trained(epochs=5).to_disk(sys.argv[2])
"""


@compiled_only
def test_the_same_seed_gives_the_same_bytes(
    component: Component, tmp_path: Path, run_script: ScriptRunner
) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    for i, folder in enumerate(folders):
        run_script(TRAIN_AND_SAVE, component.name, folder, PYTHONHASHSEED=str(i + 1))
    one, two = map(contents, folders)
    assert any(name.startswith(component.name) for name in one)
    assert one == two


@compiled_only
def test_another_seed_gives_other_bytes(component: Component) -> None:
    models = {
        component.trained(epochs=2, solver=solver(seed=seed)).get_pipe(component.name).to_bytes()
        for seed in (0, 0, 1)
    }
    assert len(models) == 2


# Annotating


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
    multiprocessing.set_start_method(sys.argv[2])
    component = next(c for c in COMPONENTS if c.name == sys.argv[1])
    nlp = component.trained(epochs=2)  # still learning: its training state must not be in the way
    texts = [*component.texts(), ""] * 3
    pairs = [(text, {"number": i}) for i, text in enumerate(texts)]
    parallel = list(nlp.pipe(pairs, as_tuples=True, n_process=2, batch_size=20))
    serial = component.annotate(nlp, texts)
    print(json.dumps({
        "parallel": [component.annotations(doc) for doc, _ in parallel],
        "contexts": [context["number"] for _, context in parallel],
        "serial": serial,
    }))
"""


@compiled_only
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_two_processes_give_the_serial_answer(
    component: Component, run_script: ScriptRunner, method: str
) -> None:
    result = json.loads(run_script(PROCESSES, component.name, method))
    assert result["parallel"] == result["serial"]
    assert result["contexts"] == list(range(3 * (len(component.texts()) + 1)))
    assert all(all(annotations) for annotations in result["serial"])


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


def test_a_failing_doc_goes_to_the_error_handler(component: Component) -> None:
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
        Token.remove_extension("fragile")
    assert [doc.text for doc in docs] == [texts[0], texts[2]]
    assert failures == [(component.name, ["It breaks"], "this token cannot be read")]


# Labels


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


# Sourced, frozen and annotating components


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


def test_a_loaded_component_starts_where_it_stopped(
    component: Component, trained: Language
) -> None:
    loaded = copy_of(trained)
    examples = component.examples(loaded.vocab)
    loss = loaded.update(examples)[component.name]
    beginner = component.pipeline()
    examples = component.examples(beginner.vocab)
    beginner.initialize(lambda: examples)
    assert loss < beginner.update(examples)[component.name] / 10


def test_a_frozen_component_stays_as_it_is(component: Component, trained: Language) -> None:
    nlp = copy_of(trained)
    pipe: Any = nlp.get_pipe(component.name)
    before = pipe.to_bytes()
    losses = nlp.update(component.examples(nlp.vocab), exclude=[component.name])
    assert component.name not in losses
    assert pipe.to_bytes() == before


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


# Training with a config

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


@compiled_only
def test_spacy_train(component: Component, corpus_file: Path, tmp_path: Path) -> None:
    config = tmp_path / "config.cfg"
    config.write_text(
        CONFIG.format(
            pipeline=json.dumps([component.name]),
            components=f'[components.{component.name}]\nfactory = "{component.factory}"',
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
                    *(
                        f"{key} = {json.dumps(value)}"
                        for key, value in component.overwriting.items()
                    ),
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
