"""Martins, Gimpel, Smith, Xing, Aguiar & Figueiredo 2010: the losses between CRFs and SVMs.

Learning Structured Classifiers with Dual Coordinate Descent, technical report CMU-ML-10-109.
"""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from benchmarks.papers.exhibits import (
    FAILS,
    HOLDS,
    UNCLEAR,
    Claim,
    Exhibit,
    Plot,
    Table,
    is_above,
    percent,
    show_each,
    worst,
)
from benchmarks.papers.experiment import (
    Choose,
    Limits,
    grid,
    scores_by,
    seeds_of,
)
from benchmarks.papers.kinds import kind_of
from benchmarks.papers.results import Results
from benchmarks.papers.tasks import STEPS, Run

_EPOCHS = {"entities": 50, "crossing arcs": 10, "crossing arcs, second order": 10}

#: By learner, one for each seed.
_Scores = Mapping[str, Sequence[float]]

_TREES = "Arcs may cross; those of second order have siblings and grandparents."


class Losses:
    """Table 1: the losses L_{beta,gamma}."""

    name = "MGS10, Table 1: losses between CRF and SVM"
    kinds: Mapping[str, int] = {"entities": 1, "crossing arcs": 1}

    _columns: Mapping[str, str] = {
        "crf": "1, 0 (CRF)",
        "softmax-margin": "1, 1",
        "softmax-margin-3": "1, 3",
        "softmax-margin-5": "1, 5",
        "softmax-margin-beta-3": "3, 1",
        "softmax-margin-beta-5": "5, 1",
        "mira": "inf, 1 (SVM)",
    }
    _ends = ("crf", "mira")
    _settings = (0.001, 0.01, 0.1, 1.0, 10.0)

    def _candidates(self, task: str, learner: str, limits: Limits) -> list[Run]:
        settings = self._settings if kind_of(task) == "entities" else self._settings[:-1]
        return grid(Run(task, learner, None, 0, limits.of(_EPOCHS[kind_of(task)])), settings)

    def runs(self, task: str, limits: Limits, best: Choose) -> Iterator[Run]:
        """See ``Experiment``."""
        for learner in self._columns:
            candidates = self._candidates(task, learner, limits)
            yield from candidates
            yield from seeds_of(best(candidates), limits)

    def show(self, tasks: Sequence[str], limits: Limits, results: Results) -> Exhibit:
        """See ``Experiment``."""
        rows, claims = [], []
        for task in tasks:
            best = {
                learner: results.best(self._candidates(task, learner, limits))
                for learner in self._columns
            }
            scores = {k: results.tests(seeds_of(run, limits)) for k, run in best.items()}
            rows.append((f"{task}: best C", *(f"{run.setting:g}" for run in best.values())))
            rows.append((f"{task}: score on test, %", *map(percent, scores.values())))
            dev = {learner: results.last(run).dev for learner, run in best.items()}
            between = max((k for k in self._columns if k not in self._ends), key=lambda k: dev[k])
            shown = {self._columns[k]: scores[k] for k in self._ends}
            claims.append(
                Claim(
                    "Losses between CRF and SVM are better than both",
                    task,
                    f"the best one on dev, {self._columns[between]}: {percent(scores[between])}; "
                    f"the ends: {show_each(shown)}",
                    worst([is_above(scores[between], scores[end]) for end in self._ends]),
                )
            )
        text = (
            "Dual coordinate ascent with each loss, beta and gamma as in the header; the SVM is "
            "1-best MIRA. C is the best on dev of 0.001, 0.01, 0.1 and 1, and of 10 for entities. "
            "50 epochs for entities (in the paper CoNLL-2003), 10 for arcs, which may cross."
        )
        table = Table("", ("beta, gamma", *self._columns.values()), rows)
        return Exhibit(self.name, text, claims, [table], [])


class _Curves:
    """Learning curves of conditional random fields, with C by dev with the first seed."""

    name: str
    text: str
    kinds: Mapping[str, int]
    settings: tuple[float, ...]
    learners: Mapping[str, str] = {"crf": "DCA", "sgd-crf": "SGD"}

    def _candidates(self, task: str, learner: str, limits: Limits) -> list[Run]:
        epochs = limits.of(_EPOCHS[kind_of(task)])
        if learner == "lbfgs":
            epochs = max(epochs * 3 // 25, 1)
        is_sgd = learner == "sgd-crf"
        run = Run(task, learner, None, 0, epochs, chooses_step=is_sgd, rows_every=1)
        return grid(run, self.settings)

    def runs(self, task: str, limits: Limits, best: Choose) -> Iterator[Run]:
        """See ``Experiment``."""
        for learner in self.learners:
            candidates = self._candidates(task, learner, limits)
            yield from candidates
            yield from seeds_of(best(candidates), limits)

    def show(self, tasks: Sequence[str], limits: Limits, results: Results) -> Exhibit:
        """See ``Experiment``."""
        claims, plots, rows = [], [], []
        for task in tasks:
            means, ends = {}, {}
            lines = {}
            for learner, label in self.learners.items():
                runs = self._candidates(task, learner, limits)
                for run in runs:
                    scale = 20.0 if learner == "lbfgs" else 1.0
                    name = label if len(runs) == 1 else f"{label}, C = {run.setting:g}"
                    lines[name] = scores_by(results.rows(run), "epoch", scale=scale)
                chosen = results.best(runs)
                seeds = seeds_of(chosen, limits)
                means[label] = [fmean(row.test for row in results.rows(run)) for run in seeds]
                ends[label] = results.tests(seeds)
                values = f"{chosen.setting:g}", percent(means[label]), percent(ends[label])
                rows.append((task, label, *values))
            plots.append(Plot(task, ("passes over the training corpus", "score on test"), lines))
            claims += self._claims(task, means, ends)
        header = ("task", "learner", "C", "mean of all epochs, %", "last epoch, %")
        return Exhibit(self.name, self.text, claims, [Table("Scores on test", header, rows)], plots)

    def _claims(self, task: str, means: _Scores, ends: _Scores) -> list[Claim]:
        raise NotImplementedError


class EntityCurves(_Curves):
    """Figure 3: entities, by C."""

    name = "MGS10, Figure 3: learning curves for entities"
    kinds: Mapping[str, int] = {"entities": 1}
    settings = (0.1, 1.0, 10.0)
    learners: Mapping[str, str] = {"crf": "DCA", "sgd-crf": "SGD", "lbfgs": "L-BFGS"}
    text = (
        "Conditional random fields. 50 epochs, and 120 iterations of L-BFGS. The first step of SGD "
        f"is the best of {', '.join(f'{eta:g}' for eta in STEPS['entities'])} on dev after one "
        "epoch. In the table C is the best on dev."
    )

    def _claims(self, task: str, means: _Scores, ends: _Scores) -> list[Claim]:
        verdicts = [is_above(ends["DCA"], ends[rival]) for rival in ("SGD", "L-BFGS")]
        text = "DCA reaches a better model than SGD and L-BFGS"
        return [Claim(text, task, f"in the end: {show_each(ends)}", worst(verdicts))]


class ArcCurves(_Curves):
    """Figure 4: arcs, of first and second order."""

    name = "MGS10, Figure 4: learning curves for arcs"
    kinds: Mapping[str, int] = {"crossing arcs": 3, "crossing arcs, second order": 3}
    settings = (0.1,)
    text = (
        f"Conditional random fields, C = 0.1. {_TREES} 10 epochs. The first step of SGD is the "
        f"best of {', '.join(f'{eta:g}' for eta in STEPS['treebank'])} on dev after one epoch. "
        "The paper has Arabic, Danish and English."
    )

    def _claims(self, task: str, means: _Scores, ends: _Scores) -> list[Claim]:
        is_ahead = is_above(means["DCA"], means["SGD"])
        found = f"mean of all epochs: {show_each(means)}"
        if kind_of(task) == "crossing arcs":
            text = "With arcs alone, DCA converges faster to an accurate model than SGD"
            return [Claim(text, task, found, is_ahead)]
        text = "With pairs of arcs, whose sums are approximate, DCA is not ahead"
        return [Claim(text, task, found, {HOLDS: FAILS, FAILS: HOLDS}.get(is_ahead, UNCLEAR))]


EXPERIMENTS = (Losses(), EntityCurves(), ArcCurves())
