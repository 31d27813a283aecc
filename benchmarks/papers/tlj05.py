"""Taskar, Lacoste-Julien & Jordan 2005: the extragradient method for cuts and matchings.

Structured Prediction via the Extragradient Method, NIPS 18.
"""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from benchmarks.papers.exhibits import (
    Claim,
    Exhibit,
    Plot,
    Table,
    percent,
    show_each,
    verdict,
)
from benchmarks.papers.experiment import (
    Choose,
    Limits,
    grid,
    primals_by,
    second_half,
)
from benchmarks.papers.results import Results
from benchmarks.papers.tasks import Row, Run

_ITERATIONS = 600
_EPOCH = 10  # iterations of the extragradient that are an epoch
_SETTINGS = (0.01, 0.1, 1.0)
_PERCEPTRON, _EXTRAGRADIENT = "perceptron", "extragradient"


class Extragradient:
    """Figure 2: test errors of the averaged perceptron and the extragradient."""

    name = "TLJ05, Figure 2: extragradient and perceptron"
    kinds: Mapping[str, int] = {"sentences": 1, "links": 1}

    def _runs(self, task: str, limits: Limits) -> dict[str, list[Run]]:
        perceptron = Run(task, _PERCEPTRON, None, 0, limits.of(_ITERATIONS), rows_every=_EPOCH)
        extragradient = Run(task, _EXTRAGRADIENT, None, 0, limits.of(_ITERATIONS // _EPOCH))
        extragradient = extragradient._replace(rows_every=1)
        return {_PERCEPTRON: [perceptron], _EXTRAGRADIENT: grid(extragradient, _SETTINGS)}

    def runs(self, task: str, limits: Limits, best: Choose) -> Iterator[Run]:
        """See ``Experiment``."""
        for runs in self._runs(task, limits).values():
            yield from runs

    def show(self, tasks: Sequence[str], limits: Limits, results: Results) -> Exhibit:
        """See ``Experiment``."""
        rows, claims, plots = [], [], []
        for task in tasks:
            runs = {k: results.best(group) for k, group in self._runs(task, limits).items()}
            curves = {name: results.rows(run) for name, run in runs.items()}
            means = {name: fmean(map(_error, second_half(rows))) for name, rows in curves.items()}
            ends = {name: _error(rows[-1]) for name, rows in curves.items()}
            for name, run in runs.items():
                C = "-" if run.setting is None else f"{run.setting:g}"
                seconds = f"{curves[name][-1].seconds:.1f}"
                rows.append((task, name, C, percent(means[name]), percent(ends[name]), seconds))
            claims.append(
                Claim(
                    "The extragradient has a lower test error than the averaged perceptron",
                    task,
                    f"mean of the second half: {show_each(means)}",
                    verdict(means[_EXTRAGRADIENT] < means[_PERCEPTRON]),
                )
            )
            scales = {_PERCEPTRON: 1, _EXTRAGRADIENT: _EPOCH}
            lines = {
                name: [(scales[name] * row.epoch, 100 * _error(row)) for row in curve]
                for name, curve in curves.items()
            }
            plots.append(Plot(f"{task}: test error", ("iterations", "error on test, %"), lines))
            primals = primals_by(curves[_EXTRAGRADIENT], "epoch", scale=_EPOCH)
            labels = "iterations", "primal objective"
            objective = {_EXTRAGRADIENT: primals}
            plots.append(Plot(f"{task}: training objective", labels, objective, (False, True)))
        text = (
            "Errors are the alignment error rate of links, and wrong labels of sentences. An "
            "iteration is a pass over the examples; one of the extragradient has two steps. C is "
            "the best of 0.01, 0.1 and 1 on dev. Projections are Euclidean. The paper labels the "
            "nodes of images and aligns the Hansards. Here the cut labels the sentences of texts "
            "with the most frequent label or another, and the aligner has no links of other "
            "aligners to read."
        )
        header = ("task", "learner", "C", "mean of the second half", "at the end", "seconds")
        return Exhibit(self.name, text, claims, [Table("Test errors, in %", header, rows)], plots)


def _error(row: Row) -> float:
    return 1 - row.test


EXPERIMENTS = (Extragradient(),)
