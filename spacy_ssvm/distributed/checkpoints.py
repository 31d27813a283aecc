"""Checkpoints: a folder with what the learner needs to go on where it was.

    state.json   what has been logged, the state of solvers, and what the training is
    arrays.npz   the arrays of that state

A checkpoint is whole or not there: it takes the place of the one before it in one step. Nothing in
it depends on the number of workers. They are not part of it: they read the corpus again, and get
the weights. What a run changes is found by its attributes, so that no solver has code for this.
"""

import json
import zipfile
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from spacy.strings import StringStore

from spacy_ssvm.distributed.learner import RemoteTrainer
from spacy_ssvm.files import beside, replace_folder

_STATE, _ARRAYS = "state.json", "arrays.npz"
_NOT_STATE = ("settings", "problem", "report")  # attributes of a run
_DAMAGED = (
    *(AttributeError, EOFError, IndexError, KeyError, TypeError, ValueError),
    *(OSError, zipfile.BadZipFile),
)


class Evaluation(NamedTuple):
    """The scores of the development corpus."""

    score: float  #: weighted by score_weights
    scores: dict[str, Any]


class Checkpoint(NamedTuple):
    """What has been read of a checkpoint."""

    folder: Path
    state: dict[str, Any]
    evaluations: list[Evaluation]  #: those that the training has made

    def restore(self, trainers: Sequence[RemoteTrainer], strings: StringStore) -> None:
        """Let trainers, which have made no pass, go on from there.

        strings: of the vocabulary, to which evaluations have added some.
        Raises ValueError for a damaged checkpoint.
        """
        with (
            _named(self.folder),
            np.load(self.folder / _ARRAYS, allow_pickle=False) as arrays,
        ):
            # Copies own their memory, so that they can become longer in place.
            read = {int(name): arrays[name].copy() for name in arrays.files}
            for trainer, stored in zip(trainers, self.state["trainers"], strict=True):
                _restore_trainer(trainer, stored, read)
            for string in self.state["strings"]:
                strings.add(string)


def write_checkpoint(
    folder: Path,
    trainers: Sequence[RemoteTrainer],
    evaluations: Sequence[Evaluation],
    training: Mapping[str, Any],
    strings: StringStore,
) -> None:
    """Write a checkpoint between two passes.

    training: what the training is, for those that resume it; JSON. strings: see
        ``Checkpoint.restore``.
    """
    arrays: list[np.ndarray] = []
    state = {
        "training": dict(training),
        "evaluations": list(evaluations),
        "strings": list(strings),
        "trainers": [_stored_trainer(trainer, arrays) for trainer in trainers],
    }
    with beside(folder) as writing:
        new = writing / folder.name
        new.mkdir()
        np.savez(new / _ARRAYS, **{str(k): array for k, array in enumerate(arrays)})  # type: ignore[arg-type]
        (new / _STATE).write_text(json.dumps(state, default=float), encoding="utf8")
        replace_folder(new, folder)


def read_checkpoint(folder: Path, training: Mapping[str, Any]) -> Checkpoint:
    """Read a checkpoint. Raises ValueError where there is none, or one of another training."""
    if not (folder / _STATE).exists():
        raise ValueError(f"{folder}: no checkpoint to resume from")
    with _named(folder):
        state = json.loads((folder / _STATE).read_text(encoding="utf8"))
        before, now = state["training"], json.loads(json.dumps(training))
        evaluations = [Evaluation(*found) for found in state["evaluations"]]
        others = sorted(k for k in before.keys() | now.keys() if before.get(k) != now.get(k))
    if others:
        more = f" and {len(others) - 3} more" if len(others) > 3 else ""
        raise ValueError(
            f"{folder}: the checkpoint is of a training with another value of "
            f"{', '.join(others[:3])}{more}. Give the command that began it, or begin anew with "
            "--overwrite"
        )
    return Checkpoint(folder, state, evaluations)


@contextmanager
def _named(folder: Path) -> Iterator[None]:
    """Name the folder in errors about what is in it."""
    try:
        yield
    except _DAMAGED as error:
        raise ValueError(
            f"{folder}: damaged ({type(error).__name__}: {error}). Begin anew with --overwrite"
        ) from error


def _stored_trainer(trainer: RemoteTrainer, arrays: list[np.ndarray]) -> dict[str, Any]:
    """What JSON has of a trainer; see ``stored``."""
    parts = {}
    for name, (part, problem) in trainer.parts.items():
        completions = problem.completions
        lengths = [len(completions[i]) for i in completions]
        joined = np.concatenate([np.zeros(0, np.int64), *completions.values()])
        state = {
            "epochs": part.epochs,
            "run": part.run,
            "sent": problem.sent,
            "rows": problem.problem.addresses[1],
            "completed": np.array(list(completions), dtype=np.int64),
            "completions": joined,
            "ends": np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        }
        parts[name] = {key: stored(value, arrays) for key, value in state.items()}
    return {"losses": trainer.losses, "parts": parts}


def _restore_trainer(
    trainer: RemoteTrainer, state: dict[str, Any], arrays: Mapping[int, np.ndarray]
) -> None:
    for name, (part, problem) in trainer.parts.items():
        found = state["parts"][name]
        rows = problem.problem.addresses[1]
        before = restored(rows, found["rows"], arrays)
        if len(before.entry_labels) > len(rows.entry_labels):
            problem.problem.make_room(len(before.entry_labels))
            rows = problem.problem.addresses[1]
        for array, old in zip(rows, before, strict=True):
            if isinstance(array, np.ndarray):
                array[:] = old
        restored(part.run, found["run"], arrays)
        restored(problem.sent, found["sent"], arrays)
        part.epochs = restored(0, found["epochs"], arrays)
        none = np.zeros(0, dtype=np.int64)
        numbers, joined, ends = (
            restored(none, found[key], arrays) for key in ("completed", "completions", "ends")
        )
        completions = [joined[a:b] for a, b in pairwise(ends.tolist())]
        problem.completions.update(zip(numbers.tolist(), completions, strict=True))
        problem.restore_all()
    trainer.losses[:] = [restored(0.0, loss, arrays) for loss in state["losses"]]


def stored(value: Any, arrays: list[np.ndarray]) -> Any:
    """What JSON has of a value; its arrays are appended to a list, each once."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        same = [number for number, array in enumerate(arrays) if array is value]
        if not same:
            arrays.append(value)
        return {"array": same[0] if same else len(arrays) - 1}
    if isinstance(value, np.random.Generator):
        return value.bit_generator.state
    if isinstance(value, tuple | list | deque):
        return [stored(item, arrays) for item in value]
    return {name: stored(item, arrays) for name, item in _attributes(value).items()}


def restored(current: Any, state: Any, arrays: Mapping[int, np.ndarray]) -> Any:
    """The value that was stored, of the kind of another one; attributes of objects are set.

    Raises an error where it is of another kind, or has arrays that are too short.
    """
    if isinstance(current, np.ndarray):
        array = arrays[state["array"]]
        if (array.dtype, array.ndim) != (current.dtype, current.ndim) or len(array) < len(current):
            raise ValueError(f"array {state['array']} has another type, or is too short")
        return array
    if isinstance(current, np.random.Generator):
        current.bit_generator.state = state
        return current
    if isinstance(current, deque):
        return deque((_unknown(item, arrays) for item in state), current.maxlen)
    if isinstance(current, tuple | list):
        items = [restored(c, s, arrays) for c, s in zip(current, state, strict=True)]
        return type(current)(*items) if hasattr(current, "_fields") else type(current)(items)
    if hasattr(current, "__dict__"):
        found = {k: restored(v, state[k], arrays) for k, v in _attributes(current).items()}
        vars(current).update(found)
        return current
    if type(current) is not type(state):
        raise TypeError(f"{state!r} is no {type(current).__name__}")
    return state


def _unknown(state: Any, arrays: Mapping[int, np.ndarray]) -> Any:
    """A number, an array, or a tuple of such: see ``restored``, where no other one is there."""
    if isinstance(state, list):
        return tuple(_unknown(item, arrays) for item in state)
    return arrays[state["array"]] if isinstance(state, dict) else state


def _attributes(value: Any) -> dict[str, Any]:
    return {k: v for k, v in vars(value).items() if k not in _NOT_STATE}
