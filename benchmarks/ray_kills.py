"""Training with Ray where workers are killed: whether the model stays the same.

    python benchmarks/ray_kills.py --data FOLDER [--kills 50] [--each 5] [--words 20000] [--seed 0]

FOLDER contains ud_en_ewt/en_ewt-ud-train.conllu, of whose beginning a tagger learns in ten epochs,
with a checkpoint after each, from two workers. A training has --each kills (SIGKILL), at moments
drawn by the seed: while a worker reads, features are numbered, a block is decoded, losses are
measured, a checkpoint or the model is written. The table counts the kills of each phase. Exits with
1 where a model has other bytes than that of a training without kills.
"""

import argparse
import hashlib
import io
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import ray
from ray_training import FILE, config_of, examples_of
from spacy.training.initialize import init_nlp
from streaming import corpus_bytes
from tqdm import tqdm
from wasabi import msg

from spacy_ssvm.distributed.cluster import RayWorkers, start_ray
from spacy_ssvm.distributed.output import Output
from spacy_ssvm.distributed.pipelines import Pipeline
from spacy_ssvm.distributed.training import plan, train

EPOCHS, WORKERS = 10, 2
PHASES = {
    "read": "reading",
    "rows": "numbering",
    "number_rows": "numbering",
    "describe": "numbering",
    "decode": "round",
    "compute": "losses",
    "write_checkpoint": "checkpoint",
    "save": "saving",
}


class Killer:
    """Kills workers at some of the calls of a training."""

    def __init__(self, moments: set[int]) -> None:
        self.calls: list[str] = []
        self.kills: list[str] = []
        self.workers: RayWorkers | None = None
        self._moments = moments

    @contextmanager
    def around(self, name: str, worker: int) -> Iterator[None]:
        """Note a call, and if it is the time, kill a worker while it answers."""
        self.calls.append(name)
        due = len(self.calls) - 1 in self._moments and self.workers is not None
        if due:
            process = self.workers._actors[worker].__ray_call__.remote(lambda _: os.getpid())
        yield
        if due:
            try:
                number = ray.get(process)
                time.sleep(len(self.calls) % 5 / 200)
                os.kill(number, signal.SIGKILL)
            except (ray.exceptions.RayActorError, OSError):  # dead already, and not missed yet
                return
            self.kills.append(name)


@contextmanager
def hooked(killer: Killer) -> Iterator[None]:
    """Let calls of workers, checkpoints and savings go through the killer."""

    def calling(self: RayWorkers, worker: int, method: str, *arguments: Any) -> Any:
        killer.workers = self
        if method not in PHASES:
            return call(self, worker, method, *arguments)
        with killer.around(method, worker):
            return call(self, worker, method, *arguments)

    def through(method: str) -> Callable[..., Any]:
        original = getattr(Output, method)

        def write(self: Output, *arguments: Any) -> Any:
            with killer.around(method, len(killer.calls) % WORKERS):
                return original(self, *arguments)

        return write

    call = RayWorkers.call
    outputs = {name: through(name) for name in ("save", "write_checkpoint")}
    with patch.object(RayWorkers, "call", calling), patch.multiple(Output, **outputs):
        yield


def learned(config: Any, killer: Killer) -> str:
    """The digest of what a training writes."""
    with tempfile.TemporaryDirectory() as folder, hooked(killer):
        nlp = init_nlp(config)
        workers = RayWorkers(ray, Pipeline.of(nlp), WORKERS, lambda _: None)
        train(
            nlp, workers, plan(nlp, WORKERS), Output(Path(folder), every=0),
            stdout=io.StringIO(), stderr=io.StringIO(),
        )  # fmt: skip
        for actor in workers._actors:
            ray.kill(actor)
        files = sorted(path for path in Path(folder).rglob("tagger/*") if path.is_file())
        return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def moments_of(calls: list[str], number: int, rng: np.random.Generator) -> set[int]:
    """Moments of kills: of phases in turn, so that rare ones have as many."""
    by_phase: dict[str, list[int]] = {}
    for moment, name in enumerate(calls):
        by_phase.setdefault(PHASES[name], []).append(moment)
    chosen = rng.permutation(sorted(by_phase))
    phases = [chosen[i % len(chosen)] for i in range(number)]
    return {int(rng.choice(by_phase[phase])) for phase in phases}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--each", type=int, default=5, help="kills of a training")
    parser.add_argument("--words", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    rng, killed, others = np.random.default_rng(args.seed), Counter[str](), 0
    with tempfile.TemporaryDirectory() as folder, start_ray(ray, None, WORKERS):
        corpus = Path(folder) / "train.spacy"
        corpus.write_bytes(corpus_bytes(args.data / FILE, 1))
        overrides = {"training.max_epochs": EPOCHS, "training.patience": 0}
        overrides |= {"components.tagger.solver.tolerance": 0.6}  # at which losses are measured
        config = config_of("tagger", corpus, examples_of(corpus, args.words), **overrides)
        unharmed = Killer(set())
        expected, trainings = learned(config, unharmed), 0
        with tqdm(total=args.kills, unit="kill", disable=None) as progress:
            while killed.total() < args.kills:
                killer = Killer(moments_of(unharmed.calls, args.each, rng))
                others += learned(config, killer) != expected
                killed.update(PHASES[name] for name in killer.kills)
                trainings += 1
                progress.update(len(killer.kills))
    rows = [(phase, str(killed[phase])) for phase in dict.fromkeys(PHASES.values())]
    msg.table(rows, header=("phase", "kills"), aligns=("l", "r"), divider=True)
    said = f"{killed.total()} kills in {trainings} trainings: {others} models differ"
    if others:
        msg.fail(said)
        sys.exit(1)
    msg.good(said)


if __name__ == "__main__":
    main()
