"""A training that was stopped anywhere goes on, and ends with the same bytes."""

import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpora import tagging_examples
from pipelines import PARSER, RECOGNIZER, TAGGER, Component
from shards import LocalWorkers, digest_of, partly_tagged, pipeline_of
from spacy.language import Language

from spacy_ssvm.chains import calibration
from spacy_ssvm.distributed import checkpoints, training
from spacy_ssvm.distributed.checkpoints import restored, stored
from spacy_ssvm.distributed.output import CHECKPOINT, Output
from spacy_ssvm.distributed.pipelines import Pipeline

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

EPOCHS = 6


class StoppedError(Exception):
    """The learner is no more."""


class Stopping(LocalWorkers):
    """Workers whose learner is stopped at one of its calls."""

    def __init__(self, pipeline: Pipeline, number: int, most: int) -> None:
        super().__init__(pipeline, number)
        self.calls, self._most = 0, most

    def call(self, worker: int, method: str, *arguments: Any) -> Any:
        self.calls += 1
        if self.calls > self._most:
            raise StoppedError
        return super().call(worker, method, *arguments)


def train(nlp: Language, workers: Any, folder: Path | None, *, resume: bool = False) -> str:
    """Train with a checkpoint after each epoch; return the lines of the log."""
    planned, log = training.plan(nlp, workers.number, 3), io.StringIO()
    output = Output(folder, every=0)
    training.train(nlp, workers, planned, output, resume=resume, stdout=log, stderr=io.StringIO())
    return log.getvalue()


def check_resumed(folder: Path, make: Callable[[], Language], *, stops: int) -> None:
    """Stop a training so often, always anew, and compare its end with one that went through."""
    whole = make()
    workers = Stopping(Pipeline.of(whole), 2, 10**9)
    log = train(whole, workers, folder / "whole")
    expected = files(folder / "whole")
    assert not (folder / "whole" / CHECKPOINT).exists()
    for stop in np.linspace(workers.calls // EPOCHS + 10, workers.calls - 1, stops).astype(int):
        stopped, output = make(), folder / str(stop)
        with pytest.raises(StoppedError):
            train(stopped, Stopping(Pipeline.of(stopped), 2, int(stop)), output)
        number = 1 + stop % 3
        resumed = make()
        again = train(
            resumed, LocalWorkers(Pipeline.of(resumed), number), output, resume=resume_of(output)
        )
        assert again == log
        assert digest_of(resumed) == digest_of(whole)
        assert files(output) == expected


def resume_of(output: Path) -> bool:
    """Whether there is a checkpoint: not before the first pass has ended."""
    return (output / CHECKPOINT).exists()


def files(output: Path) -> dict[str, bytes]:
    """What has been written, by name."""
    paths = (path for path in output.rglob("*") if path.is_file())
    return {str(path.relative_to(output)): path.read_bytes() for path in paths}


def test_what_was_stopped_goes_on(component: Component, tmp_path: Path) -> None:
    check_resumed(tmp_path, lambda: pipeline_of(component, epochs=EPOCHS), stops=4)


@pytest.mark.parametrize(
    "solver",
    [
        {"@misc": "spacy_ssvm.FrankWolfe.v1", "variant": "averaged", "sampling": "gap"},
        {"@misc": "spacy_ssvm.DualCoordinateDescent.v1", "variant": "light"},
        {"@misc": "spacy_ssvm.DualCoordinateDescent.v1", "variant": "cpd", "tolerance": 0.3},
        {"@misc": "spacy_ssvm.LBFGS.v1", "iterations": 2},
        {"@misc": "spacy_ssvm.Mira.v1"},
        {"@misc": "spacy_ssvm.Perceptron.v1"},
    ],
    ids=["frank-wolfe", "light", "cpd", "lbfgs", "mira", "perceptron"],
)
def test_all_solvers_go_on(solver: dict[str, Any], tmp_path: Path) -> None:
    make = lambda: pipeline_of(TAGGER, epochs=EPOCHS, solver=solver)  # noqa: E731
    check_resumed(tmp_path, make, stops=4)


def test_features_that_are_hashed_go_on(tmp_path: Path) -> None:
    make = lambda: pipeline_of(TAGGER, epochs=EPOCHS, hash_bits=12)  # noqa: E731
    check_resumed(tmp_path, make, stops=3)


def test_calibrated_scores_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "_LEAST", 5)
    entities = lambda vocab: RECOGNIZER.examples(vocab) * 12  # noqa: E731
    make = lambda: pipeline_of(RECOGNIZER, entities, epochs=EPOCHS)  # noqa: E731
    check_resumed(tmp_path, make, stops=3)


def test_completions_of_partial_gold_go_on(tmp_path: Path) -> None:
    make = lambda: pipeline_of(TAGGER, partly_tagged, epochs=EPOCHS)  # noqa: E731
    check_resumed(tmp_path, make, stops=6)


def test_a_training_is_evaluated_seldom(tmp_path: Path) -> None:
    def make() -> Language:
        nlp = pipeline_of(TAGGER, epochs=EPOCHS)
        nlp.config["training"]["eval_frequency"] = 2
        return nlp

    check_resumed(tmp_path, make, stops=4)


# --- What cannot be resumed ------------------------------------------------------------------


def stopped(folder: Path, component: Component = TAGGER, **settings: Any) -> Path:
    """The output of a training that was stopped in its last pass."""
    nlp = pipeline_of(component, **settings)
    workers = Stopping(Pipeline.of(nlp), 1, 10**9)
    train(nlp, workers, None)
    nlp = pipeline_of(component, **settings)
    workers = Stopping(Pipeline.of(nlp), 1, workers.calls - 1)
    with pytest.raises(StoppedError):
        train(nlp, workers, folder)
    return folder


def check_refused(output: Path, message: str, nlp: Language | None = None) -> None:
    """Check that nothing is changed where a training cannot be resumed."""
    nlp, before = nlp or pipeline_of(TAGGER), files(output)
    with pytest.raises(ValueError, match=message):
        train(nlp, LocalWorkers(Pipeline.of(nlp), 1), output, resume=True)
    assert files(output) == before


def test_without_a_checkpoint_nothing_goes_on(tmp_path: Path) -> None:
    check_refused(tmp_path / "none", "no checkpoint to resume from")
    nlp = pipeline_of(TAGGER)
    with pytest.raises(ValueError, match="--resume needs --output"):
        train(nlp, LocalWorkers(Pipeline.of(nlp), 1), None, resume=True)


def test_another_training_does_not_go_on(tmp_path: Path) -> None:
    output = stopped(tmp_path / "output")
    check_refused(output, r"another value of training\.max_epochs\.", pipeline_of(TAGGER, epochs=9))
    more = pipeline_of(TAGGER, lambda vocab: tagging_examples(vocab) * 2)
    check_refused(output, "another value of the training corpus", more)
    other = pipeline_of(TAGGER, min_count=2)
    check_refused(output, r"another value of components\.ssvm_tagger\.min_count", other)
    labels = pipeline_of(TAGGER)
    labels.get_pipe("ssvm_tagger").add_label("X")  # type: ignore[attr-defined]
    check_refused(output, "another value of labels or resources", labels)


@pytest.mark.parametrize("component", [TAGGER, PARSER], ids=lambda c: c.name)
def test_a_damaged_checkpoint_is_named(component: Component, tmp_path: Path) -> None:
    output = stopped(tmp_path / "output", component)
    arrays, state = (output / CHECKPOINT / name for name in ("arrays.npz", "state.json"))
    whole_arrays, whole_state = arrays.read_bytes(), state.read_text()
    rng, size = np.random.default_rng(0), len(whole_arrays)
    for place in rng.integers(size, size=20).tolist():
        arrays.write_bytes(whole_arrays[:place])
        check_refused(output, "checkpoint: damaged", pipeline_of(component))
    errors = list[str]()
    for place in rng.integers(size, size=20).tolist():
        changed = bytearray(whole_arrays)
        changed[place] ^= 1 << int(rng.integers(8))
        arrays.write_bytes(changed)
        copy = tmp_path / "copy"
        shutil.copytree(output, copy)
        nlp = pipeline_of(component)
        try:  # what zip files do not use may change
            train(nlp, LocalWorkers(Pipeline.of(nlp), 1), copy, resume=True)
        except ValueError as error:
            errors.append(str(error))
        shutil.rmtree(copy)
    assert len(errors) > 10
    assert all("checkpoint: damaged" in error for error in errors)
    arrays.write_bytes(whole_arrays)
    for place in rng.integers(len(whole_state), size=5).tolist():
        state.write_text(whole_state[:place])
        check_refused(output, "checkpoint: damaged", pipeline_of(component))
    for key in ("evaluations", "strings", "training", "trainers"):
        changed_state = json.loads(whole_state)
        del changed_state[key]
        state.write_text(json.dumps(changed_state))
        check_refused(output, "checkpoint: damaged", pipeline_of(component))
    changed_state = json.loads(whole_state)
    del changed_state["trainers"][0]["parts"]
    state.write_text(json.dumps(changed_state))
    check_refused(output, "checkpoint: damaged", pipeline_of(component))


def test_a_checkpoint_that_is_not_written_leaves_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = stopped(tmp_path / "output")
    before = files(output / CHECKPOINT)
    nlp = pipeline_of(TAGGER)

    def fail(*_: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(checkpoints, "replace_folder", fail)
    with pytest.raises(OSError, match="no space left"):
        train(nlp, LocalWorkers(Pipeline.of(nlp), 1), output, resume=True)
    assert files(output / CHECKPOINT) == before
    assert sorted(path.name for path in output.iterdir()) == [
        CHECKPOINT,
        "model-best",
        "model-last",
    ]


def test_only_what_may_be_replaced_is(tmp_path: Path) -> None:
    output = Output(stopped(tmp_path / "output"), every=0)
    with pytest.raises(ValueError, match="checkpoint exists: give --resume to go on from it, --ov"):
        output.check_new(overwrite=False)
    output.check_new(overwrite=True)
    output.remove_checkpoint()
    with pytest.raises(ValueError, match="model-best exists: give --overwrite to replace it, or"):
        output.check_new(overwrite=False)
    output.clear()
    output.check_new(overwrite=False)


def test_an_interrupted_training_saves_what_is_new(tmp_path: Path) -> None:
    """But not where nothing is: before the first new pass, the model has no weights."""
    output = stopped(tmp_path / "output")
    before = files(output / "model-last")

    class Interrupting(Stopping):
        def call(self, worker: int, method: str, *arguments: Any) -> Any:
            try:
                return super().call(worker, method, *arguments)
            except StoppedError:
                raise KeyboardInterrupt from None

    nlp = pipeline_of(TAGGER)
    with pytest.raises(KeyboardInterrupt):
        train(nlp, Interrupting(Pipeline.of(nlp), 1, 6), output, resume=True)
    assert files(output / "model-last") == before
    nlp = pipeline_of(TAGGER, epochs=2)
    workers = Interrupting(Pipeline.of(nlp), 1, 30)
    with pytest.raises(KeyboardInterrupt):
        train(nlp, workers, tmp_path / "new")
    assert (tmp_path / "new" / "model-last").exists()


# --- Values ----------------------------------------------------------------------------------


class Kept:
    """Something with a state."""

    def __init__(self) -> None:
        self.settings = object()  # no state
        self.array = np.arange(3.0)
        self.same = self.array
        self.number, self.flag, self.nothing = 3, True, None
        self.random = np.random.default_rng(0)
        self.pair = (np.zeros(2, dtype=np.int32), 1.5)


def test_a_value_comes_back() -> None:
    kept, arrays = Kept(), list[np.ndarray]()
    kept.random.integers(9, size=3)
    kept.array[1] = 7
    state = json.loads(json.dumps(stored(kept, arrays)))
    assert len(arrays) == 2
    other = Kept()
    restored(other, state, dict(enumerate(arrays)))
    assert other.array is other.same
    assert other.array.tolist() == [0, 7, 2]
    assert other.random.integers(10**9) == kept.random.integers(10**9)
    assert (other.number, other.flag, other.nothing) == (3, True, None)
    assert isinstance(other.pair, tuple)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("array", np.arange(2.0)),
        ("array", np.arange(3)),
        ("array", np.zeros((3, 1))),
        ("number", 3.0),
        ("number", "3"),
        ("flag", 1),
        ("pair", (np.zeros(2, dtype=np.int32),)),
    ],
)
def test_another_kind_of_value_is_refused(name: str, wrong: Any) -> None:
    kept, arrays = Kept(), list[np.ndarray]()
    setattr(kept, name, wrong)
    if name == "array":
        kept.same = wrong
    state = stored(kept, arrays)
    with pytest.raises((TypeError, ValueError)):
        restored(Kept(), state, dict(enumerate(arrays)))


def test_what_has_no_state_is_not_stored() -> None:
    with pytest.raises(TypeError):
        stored({1, 2}, [])
