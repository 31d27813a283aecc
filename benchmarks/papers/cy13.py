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

_KINDS = {"entities": 2, "tags": 1, "arcs": 1}
_EPOCHS = {"entities": 25, "tags": 25, "arcs": 10}
_SETTINGS = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0)

_DCD = "dcd-ssvm"
_ONLINE = ("perceptron", "mira", "sgd")
_NEAR_SCORE = 0.005  # of the best
_SAME_SCORE = 0.001  # drops that differ by less count as the same
_NEAR_OBJECTIVE = 0.05  # relative to the lowest

_SETUP = (
    "The paper has MUC-7 and CoNLL-2003 for entities, and the Wall Street Journal for tags and "
    "arcs. Templates are the default ones of each component; those of the paper for entities "
    "include gazetteers and word clusters. 25 epochs, and 10 for arcs."
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
            chosen = best(candidates)
            yield from seeds_of(chosen, limits)
            yield chosen._replace(rows_every=1)

    def show(self, tasks: Sequence[str], limits: Limits, results: Results) -> Exhibit:
        """See ``Experiment``."""
        rows, claims, plots = [], [], []
        for task in tasks:
            chosen = {
                learner: seeds_of(results.best(_candidates(task, learner, limits)), limits)
                for learner in (_DCD, *_ONLINE)
            }
            scores = {learner: results.test(runs) for learner, runs in chosen.items()}
            constants = (f"{chosen[learner][0].setting:g}" for learner in (_DCD, "sgd"))
            rows.append((task, *map(percent, scores.values()), *constants))
            curves = {
                learner: results.rows(runs[0]._replace(rows_every=1))
                for learner, runs in chosen.items()
            }
            drops = {learner: _largest_drop(curve) for learner, curve in curves.items()}
            rivals = _ONLINE[:2] if kind_of(task) == "arcs" else _ONLINE
            claims += [
                Claim(
                    "DCD-SSVM has the best score on test, but for SGD on arcs (Table 1)",
                    task,
                    show_each(scores),
                    worst([is_above(scores[_DCD], scores[name], limits.seeds) for name in rivals]),
                ),
                Claim(
                    "DCD-SSVM is the most stable learner, within 0.1 points (Figure 3)",
                    task,
                    f"largest drop in the second half of the epochs: {show_each(drops)}",
                    verdict(drops[_DCD] <= min(drops[name] for name in _ONLINE) + _SAME_SCORE),
                ),
            ]
            lines = {name: scores_by(curve, "seconds") for name, curve in curves.items()}
            plots.append(Plot(task, ("seconds of learning", "score on test"), lines))
        text = (
            f"{_SETUP} C is the best of {', '.join(f'{C:g}' for C in _SETTINGS)} on dev, with the "
            "first seed. MIRA has none, as in McDonald et al. 2005. SGD takes the C and the first "
            "step as the paper does. Curves are those of the first seed."
        )
        header = ("task", _DCD, *_ONLINE, f"C of {_DCD}", "C of sgd")
        table = Table("Scores on test, in %, mean and standard deviation over seeds", header, rows)
        return Exhibit(self.name, text, claims, [table], plots)


def _largest_drop(rows: Sequence[Row]) -> float:
    """Of the score on test from one epoch to the next, in the second half of a run."""
    drops = (before.test - after.test for before, after in pairwise(second_half(rows)))
    return max(drops, default=0.0)


class Optimizers:
    """Figures 1 and 2: how fast the exact methods are."""

    name = "CY13, Figures 1 and 2: optimizers"
    kinds: Mapping[str, int] = _KINDS

    _same_objective = (_DCD, "dcd-light", "cpd")
    _others = ("cutting-plane", "frank-wolfe")

    def runs(self, task: str, limits: Limits, best: Choose) -> Iterator[Run]:
        """See ``Experiment``."""
        candidates = _candidates(task, _DCD, limits)
        yield from candidates
        chosen = best(candidates)
        for learner in (*self._same_objective, *self._others):
            yield chosen._replace(learner=learner, rows_every=1)

    def show(self, tasks: Sequence[str], limits: Limits, results: Results) -> Exhibit:
        """See ``Experiment``."""
        claims, plots, rows = [], [], []
        for task in tasks:
            chosen = results.best(_candidates(task, _DCD, limits))
            curves = {
                learner: results.rows(chosen._replace(learner=learner, rows_every=1))
                for learner in (*self._same_objective, *self._others)
            }
            to_objective = _seconds_to_objective({k: curves[k] for k in self._same_objective})
            to_score = _seconds_to_score(curves)
            claims += [
                Claim(
                    "DCD-SSVM lowers the objective fastest (Figure 1)",
                    task,
                    f"to within {100 * _NEAR_OBJECTIVE:.0f} % of the lowest: {_show(to_objective)}",
                    verdict(to_objective[_DCD] <= min(to_objective.values())),
                ),
                Claim(
                    "DCD-SSVM reaches a good model before the cutting plane method (Figure 2)",
                    task,
                    f"to within {100 * _NEAR_SCORE:.1f} points of the best score on test: "
                    f"{_show({k: to_score[k] for k in (_DCD, 'cutting-plane')})}",
                    _is_faster(to_score, "cutting-plane"),
                ),
                Claim(
                    "DCD-SSVM takes at most 1.5 times as long as Frank-Wolfe (Figure 2)",
                    task,
                    f"to the same score: {_show({k: to_score[k] for k in (_DCD, 'frank-wolfe')})}",
                    _is_faster(to_score, "frank-wolfe", factor=1.5),
                ),
            ]
            for name, curve in curves.items():
                last = curve[-1]
                values = f"{last.seconds:.1f}", percent(last.test), f"{last.primal:,.1f}"
                rows.append((task, name, *values, show_seconds(to_score[name])))
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
            f"{_SETUP} All have the C that is chosen for DCD-SSVM in Table 1, and one seed. The "
            "first three minimize the same objective (the L2 loss), the others that of the L1 loss."
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


def _show(seconds: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {show_seconds(value)}" for name, value in seconds.items())


EXPERIMENTS = (OnlineLearners(), Optimizers())
