"""Training on several machines: what ``spacy train`` does, with the examples on workers."""

import hashlib
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import IO, Any, NamedTuple, cast

import numpy as np
from spacy.language import Language
from spacy.schemas import ConfigSchemaTraining
from spacy.tokens import Doc
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.training.loop import (
    create_before_to_disk_callback,
    create_evaluation_callback,
    train_while_improving,
    update_meta,
)
from spacy.util import dict_to_dot, registry, resolve_dot_names
from thinc.config import Config

from spacy_ssvm import __version__
from spacy_ssvm.components.pipe import Pipe
from spacy_ssvm.distributed.checkpoints import Evaluation
from spacy_ssvm.distributed.corpora import Measured, Shard, divide, measure
from spacy_ssvm.distributed.learner import RemoteTrainer, check_component
from spacy_ssvm.distributed.output import Output
from spacy_ssvm.distributed.problem import Workers, call_all
from spacy_ssvm.distributed.remote_files import with_local_files, with_urls_of
from spacy_ssvm.kernels.types import Ints

_UNEVEN = 1.5  # how many times faster than the slowest worker one is, where that counts


def initialize(config: Config) -> Language:
    """The initialized pipeline of a config, which keeps the URLs of its corpora."""
    nlp = init_nlp(with_local_files(config))
    nlp.config = with_urls_of(nlp.config, config)
    return nlp


def components_to_train(nlp: Language) -> list[str]:
    """The components that learn, in their order.

    Raises ValueError where the pipeline of a config cannot be trained on several machines.
    """
    training = nlp.config["training"]
    frozen, annotating = training["frozen_components"], training["annotating_components"]
    learning = [
        name
        for name, pipe in nlp.pipeline
        if name not in frozen and getattr(pipe, "is_trainable", False)
    ]
    others = [name for name in learning if not isinstance(nlp.get_pipe(name), Pipe)]
    if others:
        raise ValueError(
            f"{', '.join(others)}: not a component of spacy_ssvm. Train it beforehand with spacy "
            "train, and name it in [training] frozen_components"
        )
    if not learning:
        raise ValueError("no component learns: all are in [training] frozen_components")
    both = [name for name in annotating if name in learning]
    if both:
        raise ValueError(
            f"{', '.join(both)}: annotates examples while it learns itself "
            "([training] annotating_components). Train it beforehand and freeze it, or annotate "
            "the corpus with python -m spacy ssvm jackknife"
        )
    return learning


class Plan(NamedTuple):
    """What is trained on which examples."""

    components: list[str]
    corpus: Measured
    block: int | None  #: see ``RemoteTrainer``
    digest: str  #: of the lengths of the corpus' examples


def share_examples(workers: Workers, planned: Plan, report: Callable[[str], None] = print) -> None:
    """Let each worker read a part of the training corpus: as many words as the others.

    Where some turn out to be much slower, all read again, in proportion to their speed: a block
    waits for the last one.

    report: what happens, as a sentence.
    """
    _read(workers, planned)
    speeds = call_all(workers, "speed", [()] * workers.number)
    if None in speeds or max(speeds) < _UNEVEN * min(speeds):
        return
    slowest, fastest = np.argmin(speeds), np.argmax(speeds)
    report(
        f"Worker {slowest} made features of {min(speeds):,.0f} words a second, and worker "
        f"{fastest} of {max(speeds):,.0f}: all read again, parts by their speed"
    )
    _read(workers, planned, speeds)


def _read(workers: Workers, planned: Plan, speeds: Sequence[float] | None = None) -> None:
    lengths, files = planned.corpus
    shards = [Shard(*bounds, files) for bounds in divide(lengths, workers.number, speeds)]
    call_all(workers, "read", [(planned.components, shard) for shard in shards])


def plan(nlp: Language, workers: int, block: int | None = None) -> Plan:
    """The plan of a training; nothing has been started yet.

    Raises ValueError where the pipeline cannot be trained so, or where there are too few examples.
    """
    components = components_to_train(nlp)
    for name in components:
        pipe: Any = nlp.get_pipe(name)
        check_component(name, pipe)
    corpus = measure(nlp)
    divide(corpus.lengths, workers)  # for its error, before workers start
    digest = hashlib.sha256(np.array(corpus.lengths, dtype=np.int64).tobytes()).hexdigest()
    return Plan(components, corpus, block, digest)


def identify(nlp: Language, planned: Plan) -> dict[str, Any]:
    """What a training is, by which a checkpoint knows it: its config, and what it begins with."""
    pipes: list[Any] = [nlp.get_pipe(name) for name in planned.components]
    return {
        "spacy_ssvm": __version__,
        "--block": planned.block,
        "the training corpus": planned.digest,
        "labels or resources": hashlib.sha256(b"".join(p.to_bytes() for p in pipes)).hexdigest(),
        **dict_to_dot(nlp.config.interpolate()),
    }


def learn_from_workers(
    nlp: Language, workers: Workers, components: Sequence[str], block: int | None
) -> list[RemoteTrainer]:
    """Let components learn from the examples that workers have read."""
    trainers = []
    for name in components:
        pipe: Any = nlp.get_pipe(name)
        trainer = RemoteTrainer(pipe, name, workers, block)
        pipe._trainer = trainer
        pipe.featurize = partial(_all_examples, trainer)
        trainers.append(trainer)
    return trainers


def _all_examples(trainer: RemoteTrainer, examples: Sequence[Example]) -> tuple[Any, Ints]:  # noqa: ARG001
    """See ``Pipe.featurize``: all examples of all workers, whatever the batch is."""
    return trainer, np.arange(trainer.problem.number_of_examples)


def train(
    nlp: Language,
    workers: Workers,
    planned: Plan,
    output: Output,
    *,
    resume: bool = False,
    report: Callable[[str], None] = print,
    stdout: IO[str] = sys.stdout,
    stderr: IO[str] = sys.stderr,
) -> list[RemoteTrainer]:
    """Train an initialized pipeline as ``spacy train`` does; see there.

    An epoch is a step, whatever the batcher is. Writes model-last and model-best to the output, and
    a checkpoint, which is removed at the end.

    resume: go on from the checkpoint. What has been done is not repeated: spaCy's loop gets the
        losses and scores that it had. Raises ValueError where there is none, or one of another
        training.
    report: what happens, as a sentence.
    """
    components = planned.components
    this = identify(nlp, planned)
    checkpoint = output.read_checkpoint(this) if resume else None
    config = with_local_files(nlp.config.interpolate())
    settings: Any = registry.resolve(config["training"], schema=ConfigSchemaTraining)
    (dev_corpus,) = resolve_dot_names(config, [settings["dev_corpus"]])
    share_examples(workers, planned, report)
    trainers = learn_from_workers(nlp, workers, components, planned.block)
    evaluations = Evaluations(
        create_evaluation_callback(nlp, dev_corpus, settings["score_weights"])
    )
    if checkpoint is None:
        output.clear()
    else:
        checkpoint.restore(trainers, nlp.vocab.strings)
        evaluations.made = checkpoint.evaluations
    before = len(trainers[0].losses)  # passes that are not made again
    before_to_disk = create_before_to_disk_callback(settings["before_to_disk"])
    frozen = settings["frozen_components"]
    steps = train_while_improving(
        nlp,
        settings["optimizer"],
        _epochs(nlp, settings["max_epochs"]),
        evaluations,
        dropout=settings["dropout"],
        accumulate_gradient=1,
        patience=settings["patience"],
        max_steps=settings["max_steps"],
        eval_frequency=settings["eval_frequency"],
        exclude=frozen,
        annotating_components=[],
        before_update=settings["before_update"],
    )
    with nlp.select_pipes(disable=frozen):
        log_step, finish = settings["logger"](nlp, stdout, stderr)
    try:
        for _, info, is_best in steps:
            if is_best is not None:
                with nlp.select_pipes(disable=frozen):
                    update_meta(settings, nlp, info)
            log_step(info if is_best is not None else None)
            if info["step"] < before:
                continue
            if is_best is not None:
                output.save(nlp, before_to_disk)
            if is_best:
                output.keep()
            output.write_checkpoint(trainers, evaluations.made, this, nlp.vocab.strings)
        output.remove_checkpoint()
    except KeyboardInterrupt:
        if len(trainers[0].losses) > before:  # else there is nothing new
            output.save(nlp, before_to_disk)
        raise
    finally:
        finish()
        for name in components:
            del cast(Any, nlp.get_pipe(name)).featurize  # which it has from its class again
    return trainers


class Evaluations:
    """Evaluates a pipeline, unless it has been evaluated before: see ``train``."""

    def __init__(self, evaluate: Callable[[], tuple[float, dict[str, Any]]]) -> None:
        self.made: list[Evaluation] = []
        self._evaluate = evaluate
        self._calls = 0

    def __call__(self) -> Evaluation:
        self._calls += 1
        if self._calls > len(self.made):
            self.made.append(Evaluation(*self._evaluate()))
        return self.made[self._calls - 1]


def _epochs(nlp: Language, most: int) -> Any:
    """Pairs of the number of an epoch and a batch, which stands for all examples."""
    empty = Example(Doc(nlp.vocab, words=["-"]), Doc(nlp.vocab, words=["-"]))
    epoch = 0
    while most < 1 or epoch < most:
        yield epoch, [empty]
        epoch += 1
