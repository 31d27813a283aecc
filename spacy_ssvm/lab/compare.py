"""Compares solvers on a component of a config: accuracy, objective and time.

The features are made once, and every solver starts its own run on the same problem. Only
learning is timed: not making features, compiling kernels, scoring the development corpus or
measuring the objective. Times are processor times, so other load on the machine matters little.
"""

import math
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from spacy.util import registry
from thinc.api import Config

from spacy_ssvm.lab.experiment import ComponentExperiment
from spacy_ssvm.lab.run_log import RunLog

_DUAL_COORDINATE_DESCENT = "spacy_ssvm.DualCoordinateDescent.v1"
_DUAL_COORDINATE_ASCENT = "spacy_ssvm.DualCoordinateAscent.v1"
_STOCHASTIC_GRADIENT = "spacy_ssvm.StochasticGradient.v1"
_MIRA = "spacy_ssvm.Mira.v1"

# Losses L_{beta,gamma}
_HINGE = {"beta": None, "gamma": 1.0}
_CRF = {"beta": 1.0, "gamma": 0.0}
_SOFTMAX_MARGIN = {"beta": 1.0, "gamma": 1.0}

_FRANK_WOLFE = {
    "@misc": "spacy_ssvm.FrankWolfe.v1",
    **_HINGE,
    "variant": "plain",
    "sampling": "uniform",
}

#: Each solver as a block of a config.
SOLVERS: dict[str, dict[str, Any]] = {
    "dcd-ssvm": {"@misc": _DUAL_COORDINATE_DESCENT, "variant": "ssvm"},
    "dcd-light": {"@misc": _DUAL_COORDINATE_DESCENT, "variant": "light"},
    "cpd": {"@misc": _DUAL_COORDINATE_DESCENT, "variant": "cpd"},
    "cutting-plane": {"@misc": "spacy_ssvm.CuttingPlane.v1"},
    "frank-wolfe": _FRANK_WOLFE,
    "frank-wolfe-averaged": {**_FRANK_WOLFE, "variant": "averaged"},
    "frank-wolfe-gap": {**_FRANK_WOLFE, "sampling": "gap"},
    "frank-wolfe-pairwise": {"@misc": "spacy_ssvm.PairwiseFrankWolfe.v1", "sampling": "uniform"},
    "frank-wolfe-crf": {**_FRANK_WOLFE, **_CRF, "sampling": "gap"},
    "frank-wolfe-softmax-margin": {**_FRANK_WOLFE, **_SOFTMAX_MARGIN, "sampling": "gap"},
    "extragradient": {
        "@misc": "spacy_ssvm.Extragradient.v1",
        "variant": "primal",
        "projection": None,
    },
    "sgd": {"@misc": _STOCHASTIC_GRADIENT, **_HINGE, "steps": "decay"},
    "sgd-crf": {"@misc": _STOCHASTIC_GRADIENT, **_CRF, "steps": "inverse"},
    "sgd-softmax-margin": {"@misc": _STOCHASTIC_GRADIENT, **_SOFTMAX_MARGIN, "steps": "inverse"},
    "mira": {"@misc": _MIRA, "loss_augmented": True},
    "mira-prediction": {"@misc": _MIRA, "loss_augmented": False},
    "mira-k-best": {"@misc": "spacy_ssvm.KBestMira.v1", "k": 5, "loss_augmented": False},
    "perceptron": {"@misc": "spacy_ssvm.Perceptron.v1"},
    "crf": {"@misc": _DUAL_COORDINATE_ASCENT, **_CRF},
    "softmax-margin": {"@misc": _DUAL_COORDINATE_ASCENT, **_SOFTMAX_MARGIN},
    "softmax-margin-3": {"@misc": _DUAL_COORDINATE_ASCENT, "beta": 1.0, "gamma": 3.0},
    "softmax-margin-5": {"@misc": _DUAL_COORDINATE_ASCENT, "beta": 1.0, "gamma": 5.0},
    "lbfgs": {"@misc": "spacy_ssvm.LBFGS.v1"},
    "prox-grad": {"@misc": "spacy_ssvm.ProxGradient.v1", "budget": None, "strength": 1e-5},
}

#: The distance that counts as reaching a score, which lies between 0 and 1.
SCORE_TOLERANCE = 0.001

_WARM_UP_EPOCHS = 2  # the inner passes need what an epoch has stored


class Row(NamedTuple):
    """The state of a solver after an epoch. Values that it does not have are None."""

    solver: str
    seed: int
    epoch: int  #: from 1
    seconds: float  #: of learning, on the processor, since it started
    score: float  #: on the development corpus, between 0 and 1
    primal: float | None  #: by inference on all examples
    dual: float | None
    gap: float | None  #: (primal - dual) / primal
    working_set: int | None  #: the number of stored constraints


class Comparison(ComponentExperiment):
    """Trains a component with several solvers, from the same features."""

    def prepare(self) -> None:
        """Read the corpora and make the features, which comes before the first run."""
        examples = self.read()
        self._trainer, self._numbers = self._pipe.featurize(examples)

    def refusal(self, name: str) -> str | None:
        """Why the solver of this name cannot learn these structures; None where it can."""
        try:
            self._trainer.restart(make_solver(SOLVERS[name], 0, self._pipe.solver))
        except ValueError as error:
            return str(error)
        return None

    def run(self, name: str, seed: int) -> Iterator[Row]:
        """Learn from zero weights with the solver of this name; yield a row after each epoch."""
        solver = make_solver(SOLVERS[name], seed, self._pipe.solver)
        trainer = self._trainer
        times = learn_timed(trainer, self._numbers, solver, self.epochs)
        for epoch, seconds in enumerate(times, start=1):
            primal, dual, gap = map(known_value, trainer.run.objective())
            size = getattr(trainer.run, "number_of_constraints", None)
            yield Row(name, seed, epoch, seconds, self._score(), primal, dual, gap, size)


def learn_timed(trainer: Any, numbers: Any, solver: Any, epochs: int) -> Iterator[float]:
    """Learn from zero weights; yield the seconds of all epochs so far after each.

    A short run precedes, which compiles the kernels. trainer, numbers: see ``Pipe.featurize``.
    """
    trainer.restart(solver)
    for _ in range(_WARM_UP_EPOCHS):
        trainer.epoch(numbers[:1])
    trainer.restart(solver)
    seconds = 0.0
    for _ in range(epochs):
        start = time.process_time()
        trainer.epoch(numbers)
        seconds += time.process_time() - start
        yield seconds


def make_solver(block: dict[str, Any], seed: int, like: Any) -> Any:
    """The solver of a block of a config.

    Settings that the block leaves open are copied from the solver ``like``, if it has them.
    """
    solver: Any = registry.resolve({"solver": block})["solver"]
    own = {field.name for field in fields(solver)} - set(block)
    shared = {**asdict(like), "seed": seed}
    return replace(solver, **{key: shared[key] for key in own & set(shared)})


def known_value(value: float | None) -> float | None:
    """A value for JSON, which has no NaN."""
    return None if value is None or value != value else float(value)


# Records


def open_run_log(folder: Path, config: Config, *, resume: bool = False) -> RunLog[Row]:
    """The record of a comparison, with the rows of the runs that have ended."""
    record = RunLog(folder / "compare.jsonl", config, Row, resume=resume)
    if record.rows:
        epochs = config["training"]["max_epochs"]
        ended = {(row.solver, row.seed) for row in record.rows if row.epoch == epochs}
        record.keep(row for row in record.rows if (row.solver, row.seed) in ended)
    return record


# Results


class Measure(NamedTuple):
    """A mean over seeds, and the standard deviation; None for one seed."""

    mean: float
    deviation: float | None

    def show(self, digits: int) -> str:
        """As text."""
        mean = f"{self.mean:,.{digits}f}"
        return mean if self.deviation is None else f"{mean} ± {self.deviation:,.{digits}f}"


class Summary(NamedTuple):
    """The results of a solver. Values that not all of its runs have are None."""

    solver: str
    score: Measure  #: the best of each run
    seconds: Measure  #: until its score was near the best of its run
    seconds_to_best: Measure | None  #: until near the best mean score of all solvers
    primal: Measure | None  #: at the end
    gap: Measure | None  #: at the end


def runs_of(rows: Sequence[Row]) -> dict[str, list[list[Row]]]:
    """The rows of each run, by solver."""
    runs: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        runs.setdefault((row.solver, row.seed), []).append(row)
    solvers: dict[str, list[list[Row]]] = {}
    for (solver, _), run in runs.items():
        solvers.setdefault(solver, []).append(run)
    return solvers


def summarize(rows: Sequence[Row]) -> list[Summary]:
    """The results of each solver, in the order of the rows."""
    runs = runs_of(rows)
    scores = {
        solver: [max(row.score for row in run) for run in solver_runs]
        for solver, solver_runs in runs.items()
    }
    best = max(statistics.fmean(best_scores) for best_scores in scores.values())
    summaries = []
    for solver, solver_runs in runs.items():
        own = [_until(run, score) for run, score in zip(solver_runs, scores[solver], strict=True)]
        score, seconds = measure_of(scores[solver]), measure_of(own)
        assert score is not None
        assert seconds is not None
        summaries.append(
            Summary(
                solver,
                score,
                seconds,
                measure_of([_until(run, best) for run in solver_runs]),
                measure_of([run[-1].primal for run in solver_runs]),
                measure_of([run[-1].gap for run in solver_runs]),
            )
        )
    return summaries


def _until(run: Sequence[Row], score: float) -> float | None:
    """The seconds until a score was nearly reached."""
    return next((row.seconds for row in run if row.score >= score - SCORE_TOLERANCE), None)


def measure_of(values: Sequence[float | None]) -> Measure | None:
    """The mean of values over seeds; None where one is missing."""
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    return Measure(statistics.fmean(known), statistics.stdev(known) if len(known) > 1 else None)


#: The columns of the table at the end.
HEADER = (
    "solver",
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
            summary.solver,
            _percent(summary.score, 2),
            summary.seconds.show(2),
            "-" if summary.seconds_to_best is None else summary.seconds_to_best.show(2),
            "-" if summary.primal is None else summary.primal.show(1),
            "-" if summary.gap is None else _percent(summary.gap, 2),
        )
        for summary in summarize(rows)
    ]


def without_empty(
    header: Sequence[str], rows: Sequence[tuple[str, ...]]
) -> tuple[list[str], list[tuple[str, ...]]]:
    """A table without the columns in which no row has a value."""
    kept = [i for i in range(len(header)) if any(row[i] != "-" for row in rows)]
    return [header[i] for i in kept], [tuple(row[i] for i in kept) for row in rows]


def conclusion(rows: Sequence[Row]) -> str:
    """Which solver is best, and which gets near it first, as a sentence."""
    summaries = summarize(rows)
    best = max(summaries, key=lambda summary: summary.score.mean)
    near = [summary for summary in summaries if summary.seconds_to_best is not None]
    first = min(near, key=_time_to_best, default=best)
    text = f"{best.solver} has the best score, {_percent(best.score, 2)}"
    if first.seconds_to_best is None:
        return f"{text}."
    within = f"within {100 * SCORE_TOLERANCE:.1f} of it first, after"
    seconds = f"{first.seconds_to_best.show(2)} s"
    if first is best:
        return f"{text}, and is {within} {seconds}."
    return f"{text}; {first.solver} is {within} {seconds}."


def _time_to_best(summary: Summary) -> float:
    return math.inf if summary.seconds_to_best is None else summary.seconds_to_best.mean


def _percent(measure: Measure, digits: int) -> str:
    mean, deviation = measure
    return Measure(100 * mean, None if deviation is None else 100 * deviation).show(digits)
