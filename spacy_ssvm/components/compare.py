"""Compares learners on a component of a config: which of them gets where, and how fast.

The features are made once, and every learner starts its own run on the same problem. The
clock runs only while a learner learns: not while features are made, kernels compiled, the
development corpus scored or the objective measured. It is that of the processor, so that other
work on the machine counts little.
"""

import os
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import srsly
from spacy import util
from spacy.schemas import ConfigSchemaTraining
from spacy.tokens import Doc
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.util import registry, resolve_dot_names
from thinc.api import Config

from spacy_ssvm.components.jackknife import keep_components
from spacy_ssvm.components.linear_pipe import LinearPipe, annotate

_DUAL_COORDINATE_DESCENT = "spacy_ssvm.DualCoordinateDescent.v1"
_DUAL_COORDINATE_ASCENT = "spacy_ssvm.DualCoordinateAscent.v1"

#: What makes each learner, as a block of a config.
LEARNERS: dict[str, dict[str, Any]] = {
    "dcd-ssvm": {"@misc": _DUAL_COORDINATE_DESCENT, "variant": "ssvm"},
    "dcd-light": {"@misc": _DUAL_COORDINATE_DESCENT, "variant": "light"},
    "cpd": {"@misc": _DUAL_COORDINATE_DESCENT, "variant": "cpd"},
    "cutting-plane": {"@misc": "spacy_ssvm.CuttingPlane.v1"},
    "frank-wolfe": {"@misc": "spacy_ssvm.FrankWolfe.v1"},
    "sgd": {"@misc": "spacy_ssvm.StochasticGradient.v1"},
    "mira": {"@misc": "spacy_ssvm.Mira.v1"},
    "perceptron": {"@misc": "spacy_ssvm.Perceptron.v1"},
    "crf": {"@misc": _DUAL_COORDINATE_ASCENT, "beta": 1.0, "gamma": 0.0},
    "softmax-margin": {"@misc": _DUAL_COORDINATE_ASCENT, "beta": 1.0, "gamma": 1.0},
    "lbfgs": {"@misc": "spacy_ssvm.LBFGS.v1"},
    "prox-grad": {"@misc": "spacy_ssvm.ProxGradient.v1", "budget": None, "strength": 1e-5},
}

#: The distance that counts as reaching a score, which lies between 0 and 1.
NEAR = 0.001

_FACTORY_PREFIX = "ssvm_"
_WARM_UP_EPOCHS = 2  # the inner passes need what an epoch has stored


class Row(NamedTuple):
    """Where a learner is after an epoch. What it does not have is None."""

    learner: str
    seed: int
    epoch: int  #: from 1
    seconds: float  #: of learning, on the processor, since it started
    score: float  #: on the development corpus, between 0 and 1
    primal: float | None  #: measured anew, by inference on all examples
    dual: float | None
    gap: float | None  #: (primal - dual) / primal
    working_set: int | None  #: how many constraints are stored


class Comparison:
    """A component of a config, to be learned several times.

    config: as for ``spacy train``. Frozen components are kept before the component, and the
        others are left out.
    component: its name; None for the only one of this package in the pipeline.
    epochs: how long each learner learns; None for the ``max_epochs`` of the config.

    ``config`` holds all that the results depend on, ``facts`` what readers want to know of it,
    ``left_out`` the components that are not there. Raises ValueError where the config has
    no such component, no corpora, or no epochs.
    """

    def __init__(
        self, config: Config, *, component: str | None = None, epochs: int | None = None
    ) -> None:
        self.config = config.interpolate()
        self.component = _choose(self.config, component)
        self.epochs = self.config["training"].get("max_epochs", 0) if epochs is None else epochs
        if self.epochs < 1:
            raise ValueError(f"{self.epochs} epochs: give --epochs, a number above 0")
        self.config["training"]["max_epochs"] = self.epochs
        self.facts = {
            "component": self.component,
            "training corpus": _corpus(self.config, "train_corpus"),
            "development corpus": _corpus(self.config, "dev_corpus"),
            "epochs": str(self.epochs),
        }
        weights = self.config["training"].get("score_weights", {})
        frozen = self.config["training"].get("frozen_components", [])
        kept = [*frozen, self.component]
        self.left_out = [name for name in self.config["nlp"]["pipeline"] if name not in kept]
        keep_components(self.config, kept)
        self.config["training"]["score_weights"] = weights

    def prepare(self) -> None:
        """Read the corpora and make the features, which comes before the first run.

        Raises ValueError where the component is none of this package, or cannot be scored.
        """
        nlp = init_nlp(self.config)
        self._pipe: Any = nlp.get_pipe(self.component)
        if not isinstance(self._pipe, LinearPipe):
            raise ValueError(f"the component '{self.component}' is none of this package")
        filled = nlp.config.interpolate()
        settings = registry.resolve(filled["training"], schema=ConfigSchemaTraining)
        names = [settings["train_corpus"], settings["dev_corpus"]]
        train, dev = (list(corpus(nlp)) for corpus in resolve_dot_names(filled, names))
        before = nlp.pipeline[: nlp.pipe_names.index(self.component)]
        for other, pipe in before:
            if other in settings["annotating_components"]:
                annotate(pipe, train)
            annotate(pipe, dev)
        self._score_weights = filled["training"]["score_weights"]
        self._texts: list[Doc] = [example.predicted for example in dev]
        self._references = [example.reference for example in dev]
        self._score()
        self._training, self._numbers = self._pipe.compile(train)

    def run(self, learner: str, seed: int) -> Iterator[Row]:
        """Learn from nothing; yield a row after each epoch."""
        solver = make_learner(learner, seed, self._pipe.solver)
        training = self._training
        training.restart(solver)
        for _ in range(_WARM_UP_EPOCHS):
            training.epoch(self._numbers[:1])
        training.restart(solver)
        seconds = 0.0
        for epoch in range(1, self.epochs + 1):
            start = time.process_time()
            training.epoch(self._numbers)
            seconds += time.process_time() - start
            primal, dual, gap = map(_known, training.run.objective())
            size = getattr(training.run, "number_of_constraints", None)
            yield Row(learner, seed, epoch, seconds, self._score(), primal, dual, gap, size)

    def _score(self) -> float:
        """The score of ``spacy train``, of this component alone."""
        docs = self._pipe.pipe((doc.copy() for doc in self._texts), batch_size=1000)
        scores = self._pipe.score(list(map(Example, docs, self._references)))
        weights = {
            name: weight
            for name, weight in self._score_weights.items()
            if weight and scores.get(name) is not None
        }
        if not weights:
            raise ValueError(
                f"the dev corpus has nothing by which '{self.component}' could be scored: see "
                "its annotation, and [training.score_weights]"
            )
        total = sum(weight * scores[name] for name, weight in weights.items())
        return float(total / sum(weights.values()))


def _choose(config: Config, name: str | None) -> str:
    """The name of the component to learn. Raises ValueError where it is not there, or unclear."""
    pipeline = config["nlp"]["pipeline"]
    if name is not None:
        if name not in pipeline:
            raise ValueError(f"there is no component '{name}' among {', '.join(pipeline)}")
        if name in config["training"].get("frozen_components", []):
            raise ValueError(f"the component '{name}' is frozen: it does not learn")
        return name
    blocks = config["components"]
    ours = [n for n in pipeline if blocks.get(n, {}).get("factory", "").startswith(_FACTORY_PREFIX)]
    if len(ours) != 1:
        found = ", ".join(ours) or "none"
        raise ValueError(f"name the component with --component; of this package there are: {found}")
    return str(ours[0])


def _corpus(config: Config, key: str) -> str:
    """The file of a corpus that training names, else its name there.

    Raises ValueError where there should be a file, and is none.
    """
    name = config["training"].get(key, f"corpora.{key.removesuffix('_corpus')}")
    block: Any = config
    for part in name.split("."):
        block = block.get(part, {})
    path = block.get("path")
    if not block or ("path" in block and (path is None or not Path(path).exists())):
        what = f"'{path}' does not exist" if path else "it is not set"
        raise ValueError(
            f"[{name}], the {key} of the config, needs a path of .spacy files, and {what}. Give "
            "it there, or on the command line, such as --paths.train train.spacy"
        )
    return str(path or name)


def make_learner(name: str, seed: int, like: Any) -> Any:
    """The settings of a learner.

    Those that its block does not give, and that the solver ``like`` has by the same name,
    are as they are there.
    """
    block = LEARNERS[name]
    solver: Any = registry.resolve({"learner": block})["learner"]
    own = {field.name for field in fields(solver)} - set(block)
    shared = {**asdict(like), "seed": seed}
    return replace(solver, **{key: shared[key] for key in own & set(shared)})


def _known(value: float | None) -> float | None:
    """A value for JSON, which has no NaN."""
    return None if value is None or value != value else float(value)


# What is written


class Record:
    """The folder of a comparison: its config, and its rows as JSON lines.

    Raises ValueError where there is another comparison in the folder, or this one and it is
    not to be resumed.
    """

    def __init__(self, folder: Path, config: Config, *, resume: bool = False) -> None:
        self.file = folder / "compare.jsonl"
        settings = folder / "config.cfg"
        if self.file.exists() and not resume:
            raise ValueError(f"{self.file} exists: give --resume to go on, or another folder")
        if self.file.exists() and util.load_config(settings).to_str() != config.to_str():
            raise ValueError(f"{folder} was made with other settings: see {settings}")
        folder.mkdir(parents=True, exist_ok=True)
        config.to_disk(settings)
        self.rows: list[Row] = []
        if self.file.exists():
            self.rows = [Row(**line) for line in srsly.read_jsonl(self.file, skip=True)]
            self._drop_interrupted(config["training"]["max_epochs"])

    def _drop_interrupted(self, epochs: int) -> None:
        ended = {(row.learner, row.seed) for row in self.rows if row.epoch == epochs}
        self.rows = [row for row in self.rows if (row.learner, row.seed) in ended]
        beside = self.file.with_name(f".{self.file.name}.writing")
        srsly.write_jsonl(beside, [row._asdict() for row in self.rows])
        os.replace(beside, self.file)

    def has(self, learner: str, seed: int) -> bool:
        """Whether a run is there."""
        return any((row.learner, row.seed) == (learner, seed) for row in self.rows)

    def add(self, row: Row) -> None:
        """Write one more row."""
        self.rows.append(row)
        with self.file.open("a", encoding="utf8") as stream:
            stream.write(srsly.json_dumps(row._asdict()) + "\n")


# What comes out of it


class Measure(NamedTuple):
    """A mean over seeds, and the standard deviation; None for one seed."""

    mean: float
    deviation: float | None

    def show(self, digits: int) -> str:
        """As text."""
        mean = f"{self.mean:,.{digits}f}"
        return mean if self.deviation is None else f"{mean} ± {self.deviation:,.{digits}f}"


class Summary(NamedTuple):
    """What a learner reached. None is what not all of its runs have."""

    learner: str
    score: Measure  #: the best of each run
    seconds: Measure  #: until its score was near the best of its run
    seconds_to_best: Measure | None  #: until near the best mean score of all learners
    primal: Measure | None  #: at the end
    gap: Measure | None  #: at the end


def runs_of(rows: Sequence[Row]) -> dict[str, list[list[Row]]]:
    """The rows of each run, by learner."""
    runs: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        runs.setdefault((row.learner, row.seed), []).append(row)
    learners: dict[str, list[list[Row]]] = {}
    for (learner, _), run in runs.items():
        learners.setdefault(learner, []).append(run)
    return learners


def summarize(rows: Sequence[Row]) -> list[Summary]:
    """What each learner reached, in the order of the rows."""
    runs = runs_of(rows)
    scores = {
        learner: [max(row.score for row in run) for run in of_learner]
        for learner, of_learner in runs.items()
    }
    best = max(statistics.fmean(of_learner) for of_learner in scores.values())
    summaries = []
    for learner, of_learner in runs.items():
        own = [_until(run, score) for run, score in zip(of_learner, scores[learner], strict=True)]
        score, seconds = _measure(scores[learner]), _measure(own)
        assert score is not None
        assert seconds is not None
        summaries.append(
            Summary(
                learner,
                score,
                seconds,
                _measure([_until(run, best) for run in of_learner]),
                _measure([run[-1].primal for run in of_learner]),
                _measure([run[-1].gap for run in of_learner]),
            )
        )
    return summaries


def _until(run: Sequence[Row], score: float) -> float | None:
    """The seconds until a score was nearly reached."""
    return next((row.seconds for row in run if row.score >= score - NEAR), None)


def _measure(values: Sequence[float | None]) -> Measure | None:
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    return Measure(statistics.fmean(known), statistics.stdev(known) if len(known) > 1 else None)


#: The columns of the table at the end.
HEADER = (
    "learner",
    "best score",
    "seconds to it",
    "seconds to the best of all",
    "primal",
    "gap, %",
)


def table(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """The summaries as text, by the columns of ``HEADER``."""
    return [
        (
            summary.learner,
            _percent(summary.score, 2),
            summary.seconds.show(2),
            "-" if summary.seconds_to_best is None else summary.seconds_to_best.show(2),
            "-" if summary.primal is None else summary.primal.show(1),
            "-" if summary.gap is None else _percent(summary.gap, 2),
        )
        for summary in summarize(rows)
    ]


def _percent(measure: Measure, digits: int) -> str:
    mean, deviation = measure
    return Measure(100 * mean, None if deviation is None else 100 * deviation).show(digits)
