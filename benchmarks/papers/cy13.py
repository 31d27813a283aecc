"""Chang & Yih 2013: dual coordinate descent for the L2-loss structural SVM.

Dual Coordinate Descent Algorithms for Efficient Large Margin Structured Prediction, TACL 1.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from benchmarks.papers.exhibits import (
    UNCLEAR,
    Claim,
    Exhibit,
    Plot,
    Table,
    agreed,
    is_above,
    percent,
    show_each,
    verdict,
    worst,
)
from benchmarks.papers.experiment import (
    Choose,
    Limits,
    grid,
    primals_by,
    scores_by,
    second_half,
    seconds_until,
    seeds_of,
    show_seconds,
)
from benchmarks.papers.kinds import kind_of
from benchmarks.papers.results import Results
from benchmarks.papers.tasks import UNREGULARIZED, Row, Run

_KINDS = {"entities": 2, "tags": 2, "arcs": 2}
_EPOCHS = {"entities": 25, "tags": 25, "arcs": 10}
_SETTINGS = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0)

_DCD = "dcd-ssvm"
_ONLINE = ("perceptron", "mira", "sgd")
_NEAR_SCORE = 0.005  # of the best
_SAME_SCORE = 0.001  # drops that differ by less count as the same
_NEAR_OBJECTIVE = 0.05  # relative to the lowest

_SETUP = (
    "The paper has MUC-7 and CoNLL-2003 for entities, and the Wall Street Journal for tags and "
    "arcs. Templates are the default ones of each component; those for entities read word clusters "
    "and lists of names, as in the paper, where packages have them for the language. 25 epochs, "
    "and 10 for arcs."
)


def _candidates(task: str, learner: str, limits: Limits) -> list[Run]:
    """The runs among which C is chosen; one, for learners that have none."""
    run = Run(task, learner, None, 0, limits.of(_EPOCHS[kind_of(task)]))
    if learner == "mira":
        return grid(run, [UNREGULARIZED])
    return [run] if learner == "perceptron" else grid(run, _SETTINGS)


class OnlineLearners:
    """Table 1, and Figure 3: the scores on test, and their curves by time."""

    name = "CY13, Table 1 and Figure 3: online learners"
    kinds: Mapping[str, int] = _KINDS

    def runs(self, task: str, limits: Limits, best: Choose) -> Iterator[Run]:
        """See ``Experiment``."""
        for learner in (_DCD, *_ONLINE):
            candidates = _candidates(task, learner, limits)
            yield from candidates
            yield from _curves_of(best(candidates), limits)

    def show(self, tasks: Sequence[str], limits: Limits, results: Results) -> Exhibit:
        """See ``Experiment``."""
        rows, claims, plots = [], [], []
        for task in tasks:
            chosen = {
                learner: _curves_of(results.best(_candidates(task, learner, limits)), limits)
                for learner in (_DCD, *_ONLINE)
            }
            scores = {learner: results.tests(runs) for learner, runs in chosen.items()}
            constants = (f"{chosen[learner][0].setting:g}" for learner in (_DCD, "sgd"))
            rows.append((task, *map(percent, scores.values()), *constants))
            curves = {learner: [*map(results.rows, runs)] for learner, runs in chosen.items()}
            drops = {learner: [*map(_largest_drop, found)] for learner, found in curves.items()}
            rivals = _ONLINE[:2] if kind_of(task) == "arcs" else _ONLINE
            claims += [
                Claim(
                    "DCD-SSVM has the best score on test, but for SGD on arcs (Table 1)",
                    task,
                    show_each(scores),
                    worst([is_above(scores[_DCD], scores[name]) for name in rivals]),
                ),
                Claim(
                    "DCD-SSVM is the most stable learner, within 0.1 points (Figure 3)",
                    task,
                    f"largest drop in the second half of the epochs: {show_each(drops)}",
                    worst(
                        [is_above(drops[name], drops[_DCD], slack=_SAME_SCORE) for name in _ONLINE]
                    ),
                ),
            ]
            lines = {name: scores_by(found[0], "seconds") for name, found in curves.items()}
            plots.append(Plot(task, ("seconds of learning", "score on test"), lines))
        text = (
            f"{_SETUP} C is the best of {', '.join(f'{C:g}' for C in _SETTINGS)} on dev, with the "
            "first seed. MIRA has none, as in McDonald et al. 2005. SGD takes the C and the first "
            "step as the paper does. Drops are means over seeds; curves are those of the first."
        )
        header = ("task", _DCD, *_ONLINE, f"C of {_DCD}", "C of sgd")
        table = Table("Scores on test, in %, mean and standard deviation over seeds", header, rows)
        return Exhibit(self.name, text, claims, [table], plots)


def _curves_of(run: Run, limits: Limits) -> list[Run]:
    """A run with each seed, and rows of all epochs."""
    return seeds_of(run._replace(rows_every=1), limits)


def _largest_drop(rows: Sequence[Row]) -> float:
    """Of the score on test from one epoch to the next, in the second half of a run."""
    drops = (before.test - after.test for before, after in pairwise(second_half(rows)))
    return max(drops, default=0.0)


class Optimizers:
    """Figures 1 and 2: how fast the exact methods are."""

    name = "CY13, Figures 1 and 2: optimizers"
    kinds: Mapping[str, int] = _KINDS

    _same_objective = (_DCD, "dcd-light", "cpd")
    _learners = (*_same_objective, "cutting-plane", "frank-wolfe")

    def runs(self, task: str, limits: Limits, best: Choose) -> Iterator[Run]:
        """See ``Experiment``."""
        candidates = _candidates(task, _DCD, limits)
        yield from candidates
        chosen = best(candidates)
        for learner in self._learners:
            yield from _curves_of(chosen._replace(learner=learner), limits)

    def show(self, tasks: Sequence[str], limits: Limits, results: Results) -> Exhibit:
        """See ``Experiment``."""
        claims, plots, rows = [], [], []
        for task in tasks:
            chosen = results.best(_candidates(task, _DCD, limits))
            runs = {k: _curves_of(chosen._replace(learner=k), limits) for k in self._learners}
            of_seeds = [
                {learner: results.rows(run[seed]) for learner, run in runs.items()}
                for seed in range(limits.seeds)
            ]
            to_objective = [
                _seconds_to_objective({k: curves[k] for k in self._same_objective})
                for curves in of_seeds
            ]
            to_score = [*map(_seconds_to_score, of_seeds)]
            curves = of_seeds[0]
            claims += [
                Claim(
                    "DCD-SSVM lowers the objective fastest (Figure 1)",
                    task,
                    f"to within {100 * _NEAR_OBJECTIVE:.0f} % of the lowest: "
                    f"{_show(to_objective, self._same_objective)}",
                    agreed([*map(_lowers_fastest, of_seeds, to_objective)]),
                ),
                Claim(
                    "DCD-SSVM reaches a good model before the cutting plane method (Figure 2)",
                    task,
                    f"to within {100 * _NEAR_SCORE:.1f} points of the best score on test: "
                    f"{_show(to_score, (_DCD, 'cutting-plane'))}",
                    agreed([_is_faster(seconds, "cutting-plane") for seconds in to_score]),
                ),
                Claim(
                    "DCD-SSVM takes at most 1.5 times as long as Frank-Wolfe (Figure 2)",
                    task,
                    f"to the same score: {_show(to_score, (_DCD, 'frank-wolfe'))}",
                    agreed(
                        [_is_faster(seconds, "frank-wolfe", factor=1.5) for seconds in to_score]
                    ),
                ),
            ]
            for name, curve in curves.items():
                last = curve[-1]
                values = f"{last.seconds:.1f}", percent(last.test), f"{last.primal:,.1f}"
                rows.append((task, name, *values, show_seconds(to_score[0][name])))
            lines = {name: scores_by(curve, "seconds") for name, curve in curves.items()}
            plots.append(Plot(f"{task}: score", ("seconds of learning", "score on test"), lines))
            lines = {name: primals_by(curves[name], "seconds") for name in self._same_objective}
            labels = "seconds of learning", "primal objective"
            plots.append(Plot(f"{task}: objective", labels, lines, (False, True)))
        header = (
            "task",
            "learner",
            "seconds",
            "score on test, %",
            "primal",
            "seconds to the score",
        )
        text = (
            f"{_SETUP} All have the C that is chosen for DCD-SSVM in Table 1. The first three "
            "minimize the same objective (the L2 loss), the others that of the L1 loss. Seconds "
            "in claims are those of each seed, and verdicts hold for all of them; the table and "
            "the curves are of the first."
        )
        return Exhibit(self.name, text, claims, [Table("At the end", header, rows)], plots)


def _seconds_to_objective(curves: Mapping[str, Sequence[Row]]) -> dict[str, float]:
    """The seconds until the primal is near the lowest of all curves."""
    primals = [row.primal for rows in curves.values() for row in rows if row.primal is not None]
    level = (1 + _NEAR_OBJECTIVE) * min(primals)
    return {
        name: seconds_until(rows, lambda row: row.primal is not None and row.primal <= level)
        for name, rows in curves.items()
    }


def _lowers_fastest(curves: Mapping[str, Sequence[Row]], seconds: Mapping[str, float]) -> str:
    """Whether DCD-SSVM is near the lowest objective first.

    A rival that ends before without getting there is compared where it ends: by its objective.
    """

    def is_before(rival: str) -> bool:
        end = curves[rival][-1].seconds
        if seconds[_DCD] <= min(seconds[rival], end):
            return True
        own, other = (_primal_at(curves[name], end) for name in (_DCD, rival))
        return seconds[rival] == float("inf") and own <= other

    return verdict(all(map(is_before, seconds)))


def _primal_at(rows: Sequence[Row], seconds: float) -> float:
    """The last objective of a run until then; infinity before its first epoch."""
    primals = (row.primal for row in reversed(rows) if row.seconds <= seconds)
    return next((primal for primal in primals if primal is not None), float("inf"))


def _seconds_to_score(curves: Mapping[str, Sequence[Row]]) -> dict[str, float]:
    """The seconds until the score on test is near the best of all curves."""
    level = max(row.test for rows in curves.values() for row in rows) - _NEAR_SCORE
    return {
        name: seconds_until(rows, lambda row: row.test >= level) for name, rows in curves.items()
    }


def _is_faster(seconds: Mapping[str, float], rival: str, *, factor: float = 1.0) -> str:
    """Whether DCD-SSVM is faster than a rival: unclear where neither gets there."""
    if seconds[_DCD] == seconds[rival] == float("inf"):
        return UNCLEAR
    return verdict(seconds[_DCD] <= factor * seconds[rival])


def _show(of_seeds: Sequence[Mapping[str, float]], learners: Sequence[str]) -> str:
    """The seconds of learners with each seed."""
    return "; ".join(
        f"{name} {', '.join(show_seconds(seconds[name]) for seconds in of_seeds)}"
        for name in learners
    )


EXPERIMENTS = (OnlineLearners(), Optimizers())
