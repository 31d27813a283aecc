"""Training with Ray: passes, seconds and bytes by the number of workers.

    python benchmarks/ray_training.py --data FOLDER [--workers 1 2 4] [--components tagger]
        [--corpus FILE] [--passes 40] [--solver Mira] [--dev FILE] [--slow]

FOLDER contains ud_en_ewt/en_ewt-ud-train.conllu; --corpus is a .spacy file, or a folder of them,
that is learned from instead, such as the text that benchmarks/growth.py keeps in --work, or a
corpus of entities. A component alone learns from the corpus (gold tokens and sentences, no tags) in
one process with blocks of one example, and from workers of a Ray that starts on this machine. The
first table says after how many passes the exact relative duality gap is small enough. The other one
has the seconds of the first pass, in which kernels may be compiled, and of the last one, of which
the learner waited for workers and found and sent the weights that had changed; bytes of the last
pass, sent to each worker and received from all, a round; a digest of the model; and, with --dev,
another corpus, its score after the last pass. With --solver LBFGS, a pass has ten iterations.

With --slow, one of the workers takes twice as long for all that it does: with even parts of the
examples, and with parts by the speed of the workers, for a corpus that takes seconds to read.
"""

import argparse
import hashlib
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import ray
from spacy.language import Language
from spacy.tokens import DocBin
from spacy.training.initialize import init_nlp
from spacy.util import load_config, resolve_dot_names
from streaming import corpus_bytes
from wasabi import msg

from spacy_ssvm.commands.jackknife import keep_components
from spacy_ssvm.distributed.cluster import Actor, RayWorkers, start_ray
from spacy_ssvm.distributed.corpora import train_corpus
from spacy_ssvm.distributed.pipelines import Pipeline
from spacy_ssvm.distributed.problem import Traffic
from spacy_ssvm.distributed.training import learn_from_workers, plan, share_examples

FILE = "ud_en_ewt/en_ewt-ud-train.conllu"
GAPS = (0.3, 0.1, 0.03, 0.01)
SOLVERS: dict[str, dict[str, Any]] = {
    "LBFGS": {"@misc": "spacy_ssvm.LBFGS.v1", "C": 0.3, "iterations": 10},
    "Mira": {"@misc": "spacy_ssvm.Mira.v1"},
    "Perceptron": {"@misc": "spacy_ssvm.Perceptron.v1"},
}


class Measured(NamedTuple):
    """What a training took."""

    gaps: list[float]  #: after each pass
    seconds: list[float]  #: of each pass
    traffic: Traffic  #: of the last pass
    digest: str
    score: float | None  #: of the development corpus, if there is one


def examples_of(corpus: Path, words: int) -> int:
    """How many examples of the treebank have so many words, about."""
    return max(1, len(DocBin().from_disk(corpus)) * words // 204_000)


def config_of(name: str, corpus: Path, limit: int, **overrides: Any) -> Any:
    """The config of a component alone, for so many examples of a corpus; 0 for all."""
    paths = {f"paths.{part}": str(corpus) for part in ("train", "dev")}
    limits = {f"corpora.{part}.limit": limit for part in ("train", "dev")}
    config = load_config(
        Path(__file__).parents[1] / "configs" / f"{name}.cfg",
        overrides={**paths, **limits, **overrides},
        interpolate=False,
    )
    keep_components(config, [name])
    return config


def measure(nlp: Language, name: str, trainer: Any, numbers: np.ndarray, passes: int) -> Measured:
    """Make passes; the gap is measured after each."""
    pipe: Any = nlp.get_pipe(name)
    gaps, seconds, traffic = [], [], Traffic()
    problem = trainer.problem
    for _ in range(passes):
        problem.traffic = Traffic()
        start = time.perf_counter()
        trainer.epoch(numbers)
        seconds.append(time.perf_counter() - start)
        traffic = problem.traffic
        objective = trainer.run.objective()
        gaps.append(np.inf if objective.gap is None else objective.gap)
        if gaps[-1] <= GAPS[-1]:
            break
    trainer.update_model()
    digest = hashlib.sha256(pipe.to_bytes()).hexdigest()
    return Measured(gaps, seconds, traffic, digest, score_of(nlp))


def score_of(nlp: Language) -> float | None:
    """The first score of the config on the development corpus; None where that is the other one."""
    config = nlp.config.interpolate()
    if config["paths"]["dev"] == config["paths"]["train"]:
        return None
    (dev_corpus,) = resolve_dot_names(config, [config["training"]["dev_corpus"]])
    key = max(config["training"]["score_weights"].items(), key=lambda item: item[1] or 0.0)[0]
    return float(nlp.evaluate(list(dev_corpus(nlp)))[key])


def in_one_process(name: str, config: Any, passes: int) -> Measured:
    nlp = init_nlp(config)
    pipe: Any = nlp.get_pipe(name)
    trainer, numbers = pipe.featurize(list(train_corpus(nlp)))
    return measure(nlp, name, trainer, numbers, passes)


class SlowActor(Actor):
    """A worker that takes twice as long."""

    tells_speed = True

    def call(self, method: str, *arguments: Any) -> Any:
        start = time.perf_counter()
        found = super().call(method, *arguments)
        if method == "speed":
            return found / 2 if found and self.tells_speed else None
        time.sleep(time.perf_counter() - start)
        return found


class SilentSlowActor(SlowActor):
    """The same, without saying so."""

    tells_speed = False


SLOW = {"even parts": SilentSlowActor, "parts by speed": SlowActor}


class UnevenWorkers(RayWorkers):
    """Workers of which the first one is another actor."""

    def __init__(self, first: type[Actor], *arguments: Any) -> None:
        self._first = first
        super().__init__(*arguments)

    def _start(self, worker: int) -> Any:
        actor = self._first if worker == 0 else Actor
        self._class = ray.remote(num_cpus=1, max_restarts=0)(actor)
        return super()._start(worker)


def by_workers(
    name: str, config: Any, workers: int, passes: int, first: type[Actor] = Actor
) -> Measured:
    nlp = init_nlp(config)
    planned = plan(nlp, workers)
    with start_ray(ray, None, workers):
        processes = UnevenWorkers(first, ray, Pipeline.of(nlp), workers)
        share_examples(processes, planned)
        (trainer,) = learn_from_workers(nlp, processes, planned.components, planned.block)
        numbers = np.arange(trainer.problem.number_of_examples)
        return measure(nlp, name, trainer, numbers, passes)


def passes_to_gaps(gaps: list[float]) -> list[str]:
    """After how many passes the gap is small enough, for tables."""
    passes = (next((i for i, gap in enumerate(gaps, 1) if gap <= least), None) for least in GAPS)
    return ["-" if number is None else str(number) for number in passes]


def show(measured: dict[str, Measured]) -> None:
    rows = []
    for row, found in measured.items():
        last = found.gaps[-1]
        shown = f"{last:.4f}" if np.isfinite(last) else "-"  # a CRF has no dual
        rows.append((row, *passes_to_gaps(found.gaps), shown))
    header = ("", *(f"gap {gap:g}" for gap in GAPS), "last gap")
    msg.table(rows, header=header, aligns=("l", *"rrrrr"), divider=True)
    rows = []
    for row, (_, seconds, t, digest, score) in measured.items():
        sent, received = t.sent / max(t.rounds, 1), t.received / max(t.rounds, 1)
        parts = (f"{s:.2f}" for s in (seconds[0], seconds[-1], t.waiting, t.updating))
        sizes = str(t.rounds), f"{sent:,.0f}", f"{received:,.0f}"
        shown = "-" if score is None else f"{100 * score:.2f}"
        rows.append((row, *parts, *sizes, digest[:8], shown))
    header = ("", "first, s", "last, s", "waiting", "sending")
    header = (*header, "rounds", "bytes sent", "received", "model", "score")
    msg.table(rows, header=header, aligns=("l", *"rrrrrrrrr"), divider=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    texts = parser.add_mutually_exclusive_group()
    texts.add_argument("--corpus", type=Path, help="instead of the treebank")
    texts.add_argument("--words", type=int, help="only the beginning of the treebank")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--components", nargs="+", default=["tagger"])
    parser.add_argument("--passes", type=int, default=40, help="at most")
    parser.add_argument("--solver", choices=SOLVERS, help="default: that of the config")
    parser.add_argument("--dev", type=Path, help="a .spacy file")
    parser.add_argument("--slow", action="store_true", help="one worker is half as fast")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        corpus, limit = args.corpus or Path(folder) / "train.spacy", 0
        if args.corpus is None:
            corpus.write_bytes(corpus_bytes(args.data / FILE, 1))
        if args.words:
            limit = examples_of(corpus, args.words)
        for name in args.components:
            config = config_of(name, corpus, limit, **{f"components.{name}.solver.tolerance": 0.0})
            if args.solver:
                config["components"][name]["solver"] = SOLVERS[args.solver]
            if args.dev:
                config["paths"]["dev"] = str(args.dev)
                config["corpora"]["dev"]["limit"] = 0
            measured = {"one process": in_one_process(name, config, args.passes)}
            for workers in args.workers:
                row = f"{workers} worker{'s' * (workers > 1)}"
                measured[row] = by_workers(name, config, workers, args.passes)
                for kind, first in SLOW.items() if args.slow else ():
                    slow = by_workers(name, config, workers, args.passes, first)
                    measured[f"{row}, one is slow, {kind}"] = slow
            print(f"\n{name}")
            show(measured)


if __name__ == "__main__":
    main()
