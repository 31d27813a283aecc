"""Pipelines that learn from workers in the same process, and a Ray that is none."""

import hashlib
import io
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import numpy as np
import spacy
from corpora import tagging_examples
from pipelines import Component
from spacy.language import Language
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_ssvm.distributed import training
from spacy_ssvm.distributed.output import Output
from spacy_ssvm.distributed.pipelines import Pipeline
from spacy_ssvm.distributed.problem import SharedProblem, Workers
from spacy_ssvm.distributed.worker import Worker

CORPORA: dict[str, Callable[[Vocab], list[Example]]] = {}


@spacy.registry.readers("tests.Shards.v1")
def make_reader(name: str) -> Callable[[Language], Iterable[Example]]:
    return lambda nlp: CORPORA[name](nlp.vocab)


def partly_tagged(vocab: Vocab) -> list[Example]:
    """Each sentence lacks the tag of a word."""
    examples = tagging_examples(vocab)
    for i, example in enumerate(examples):
        example.reference[i % len(example.reference)].tag = 0
    return examples


class LocalWorkers:
    """Several workers in this process; see ``Workers``."""

    def __init__(self, pipeline: Pipeline, number: int) -> None:
        self._workers = [Worker(pipeline) for _ in range(number)]

    @property
    def number(self) -> int:
        return len(self._workers)

    def share(self, value: Any) -> Any:
        return value

    def call(self, worker: int, method: str, *arguments: Any) -> Any:
        return getattr(self._workers[worker], method)(*arguments)

    def result(self, handle: Any) -> Any:
        return handle

    def tell(self, worker: int, method: str, *arguments: Any) -> None:
        self.call(worker, method, *arguments)

    def watch(self, problem: SharedProblem) -> None:
        """Nothing to do: these workers do not start anew."""

    def unwatch(self, problem: SharedProblem) -> None:
        """The same."""


def pipeline_of(
    component: Component,
    examples: Callable[[Vocab], list[Example]] | None = None,
    *,
    epochs: int = 6,
    **config: Any,
) -> Language:
    """An initialized pipeline with a component, and the config of its training."""
    CORPORA[component.name] = examples or component.examples
    nlp = component.pipeline(**config)
    reader = {"@readers": "tests.Shards.v1", "name": component.name}
    nlp.config["corpora"] = {"train": reader, "dev": reader}
    nlp.config["training"].update(
        train_corpus="corpora.train",
        dev_corpus="corpora.dev",
        max_epochs=epochs,
        patience=0,
        eval_frequency=1,
        score_weights={component.score: 1.0},
    )
    nlp.initialize(lambda: CORPORA[component.name](nlp.vocab))
    return nlp


def learned(nlp: Language, workers: Workers, block: int | None = 3) -> str:
    """The digest of a pipeline that has learned from workers."""
    planned = training.plan(nlp, workers.number, block)
    output, log = Output(None, every=0), io.StringIO()
    training.train(nlp, workers, planned, output, stdout=log, stderr=io.StringIO())
    return digest_of(nlp)


def learned_locally(component: Component, number: int, block: int = 3, **settings: Any) -> str:
    """The digest of a pipeline that has learned from so many workers in this process."""
    nlp = pipeline_of(component, **settings)
    return learned(nlp, LocalWorkers(Pipeline.of(nlp), number), block)


def digest_of(nlp: Language) -> str:
    """A digest of what the components of a pipeline write."""
    components: list[Any] = [pipe for _, pipe in nlp.pipeline]
    return hashlib.sha256(b"".join(pipe.to_bytes() for pipe in components)).hexdigest()


class ActorDiedError(Exception):
    """What Ray raises for a call of an actor that is no more."""


class Mortal:
    """A handle of an actor, which dies when a lot is drawn: before a call, or after it."""

    def __init__(self, made: Any, draws: Callable[[], bool]) -> None:
        self._made, self._draws, self._is_dead = made, draws, False
        self.call = SimpleNamespace(remote=self._call)

    def _call(self, *arguments: Any) -> Callable[[], Any]:
        def died() -> Any:
            raise ActorDiedError("killed by a test")

        if not self._is_dead and self._draws():
            self._is_dead = True
        if self._is_dead:
            return died
        try:
            found = self._made.call(*(a() if isinstance(a, Shared) else a for a in arguments))
        except Exception as error:
            failed = TaskFailedError(str(error))
            failed.cause = error
            return lambda: _raise(failed)
        if self._draws():
            self._is_dead = True
            return died
        return lambda: found


class TaskFailedError(Exception):
    """What Ray raises where a method has raised."""

    cause: Exception


def _raise(error: Exception) -> Any:
    raise error


class Shared:
    """A value in the store of objects."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __call__(self) -> Any:
        return _read_only(self._value)


def _read_only(value: Any) -> Any:
    """A copy as Ray gives it to an actor: arrays cannot be written."""
    if isinstance(value, np.ndarray):
        copied = value.copy()
        copied.flags.writeable = False
        return copied
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(_read_only, value))
    return value


class MortalRay:
    """What ``RayWorkers`` needs of Ray; its actors die.

    draws: whether one dies now.
    """

    exceptions = SimpleNamespace(
        RayActorError=ActorDiedError, ObjectLostError=ActorDiedError, RayTaskError=TaskFailedError
    )

    def __init__(self, draws: Callable[[], bool]) -> None:
        self._draws = draws

    def put(self, value: Any) -> Shared:
        return Shared(value)

    def get(self, handle: Callable[[], Any]) -> Any:
        return _read_only(handle())

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 2.0}

    def remote(self, **options: Any) -> Callable[[type], Any]:
        def of_class(made: type) -> Any:
            def start(pipeline: Shared) -> Mortal:
                return Mortal(made(pipeline()), self._draws)

            return SimpleNamespace(remote=start, options=lambda **_: of_class(made))

        return of_class
