"""Tests of ``spacy_ssvm/components/serialization.py``."""

import json
import os
import tempfile
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from marks import compiled_only
from pipelines import COMPONENTS, Component, copy_of
from processes import ScriptRunner, contents
from roundtrips import primal, roundtrips, save_component, solver
from saving import FILE, header_of
from spacy.language import Language
from spacy.tokens import Doc

from spacy_ssvm.storage import ModelFileError


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
    for excluded, left in [("vocab", {FILE}), ("model", {FILE, "vocab"}), ("cfg", {FILE, "vocab"})]:
        pipe.to_disk(tmp_path / excluded, exclude=[excluded])
        assert {path.name for path in (tmp_path / excluded).iterdir()} == left
        header, _ = header_of((tmp_path / excluded / FILE).read_bytes())
        assert (len(header) > 1) == (excluded != "model"), "there are arrays beside the metadata"
        parts = json.loads(header["__metadata__"]["parts"])
        assert parts.keys() == {"cfg", "model"} - {excluded}
        assert ("vocab" in header_of(pipe.to_bytes(exclude=[excluded]))[0]) == (excluded != "vocab")


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
    assert len(nlp.vocab.strings) <= words + component.strings * len(source.labels) + 1
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
    assert saved == clean


def test_a_model_that_could_not_be_loaded_replaces_none(
    component: Component, trained: Language, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "component"
    pipe: Any = trained.get_pipe(component.name)
    pipe.to_disk(path)
    before = contents(path)
    arrays = {name: array.copy() for name, array in pipe.model.arrays().items()}
    kinds = "weights", "scales"
    weights = next(array for name, array in arrays.items() if name.endswith(kinds))
    weights[...] = np.inf
    monkeypatch.setattr(pipe.model, "arrays", lambda: arrays)
    with pytest.raises(ModelFileError, match=f"{path}: not saved: .*not finite"):
        pipe.to_disk(path)
    assert contents(path) == before


@pytest.mark.slow
@pytest.mark.parametrize(
    "function",
    [(tempfile, "mkdtemp"), (Path, "open"), (os, "replace"), (os, "fsync")],
    ids=["mkdtemp", "open", "replace", "fsync"],
)
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
        except (OSError, ModelFileError):
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
        left = [old]
        if function == (os, "fsync") and calls_before_failure:  # of the folder, at the end
            left.append(component.gold())
        assert component.annotate(load()) in left
    assert calls_before_failure > 0
    assert component.annotate(load()) == component.gold()
    assert len(contents(path)) == len(files), "no leftovers of interrupted saves"


def test_the_saved_form_holds_no_pickles(
    component: Component, trained: Language, tmp_path: Path
) -> None:
    """It is JSON and numbers, which its kind and numpy's types describe."""
    trained.to_disk(tmp_path)
    header, arrays = header_of((tmp_path / component.name / FILE).read_bytes())
    types: Any = trained.get_pipe(component.name).model.types  # type: ignore[attr-defined]
    assert header.pop("__metadata__")["component"] == trained.get_pipe_meta(component.name).factory
    assert header.keys() == types.keys()
    assert sum(described["data_offsets"][1] - described["data_offsets"][0]
               for described in header.values()) == len(arrays)  # fmt: skip


TRAIN_AND_SAVE = """
import sys
from pathlib import Path
from pipelines import COMPONENTS

folder = Path(sys.argv[1])
folder.mkdir()
for component in COMPONENTS:
    component.trained(epochs=5).to_disk(folder / component.name)
"""


@compiled_only
def test_the_same_seed_gives_the_same_bytes(tmp_path: Path, run_script: ScriptRunner) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    for i, folder in enumerate(folders):
        run_script(TRAIN_AND_SAVE, folder, PYTHONHASHSEED=str(i + 1))
    for component in COMPONENTS:
        one, two = (contents(folder / component.name) for folder in folders)
        assert any(name.startswith(component.name) for name in one)
        assert one == two, component.name


@compiled_only
def test_another_seed_gives_other_bytes(component: Component) -> None:
    models = {
        component.trained(epochs=2, solver=solver(seed=seed)).get_pipe(component.name).to_bytes()
        for seed in (0, 0, 1)
    }
    assert len(models) == 2


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
