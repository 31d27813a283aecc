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
    is_above,
    percent,
    show_each,
)
from benchmarks.papers.experiment import (
    Choose,
    Limits,
    grid,
    primals_by,
    second_half,
    seeds_of,
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
        for candidates in self._runs(task, limits).values():
            yield from candidates
            yield from seeds_of(best(candidates), limits)

    def show(self, tasks: Sequence[str], limits: Limits, results: Results) -> Exhibit:
        """See ``Experiment``."""
        rows, claims, plots = [], [], []
        for task in tasks:
            runs = {k: results.best(group) for k, group in self._runs(task, limits).items()}
            of_seeds = {
                name: [*map(results.rows, seeds_of(run, limits))] for name, run in runs.items()
            }
            means, chosen, ends = (
                {name: [*map(error, found)] for name, found in of_seeds.items()}
                for error in (_second_half_error, _error_by_dev, _last_error)
            )
            curves = {name: found[0] for name, found in of_seeds.items()}
            for name, run in runs.items():
                C = "-" if run.setting is None else f"{run.setting:g}"
                errors = (percent(found[name]) for found in (means, chosen, ends))
                rows.append((task, name, C, *errors, f"{curves[name][-1].seconds:.1f}"))
            claims += [
                Claim(
                    f"The extragradient has a lower test error than the averaged perceptron, {of}",
                    task,
                    show_each(errors),
                    is_above(errors[_PERCEPTRON], errors[_EXTRAGRADIENT]),
                )
                for of, errors in (
                    ("in the second half of the iterations", means),
                    ("each with the iterate that is best on dev", chosen),
                )
            ]
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
            "the best of 0.01, 0.1 and 1 on dev; the perceptron has none, since the scale of its "
            "steps changes nothing. Iterates are chosen among those of every tenth iteration. "
            "Projections are Euclidean. The paper has C = 1, labels the points of scans, and "
            "aligns the Hansards with predictions of GIZA++. Here the cut labels the sentences of "
            "texts with the most frequent label or another, and the aligner reads the associations "
            "of Model 1 and a hidden Markov model."
        )
        header = (
            "task",
            "learner",
            "C",
            "mean of the second half",
            "best on dev",
            "at the end",
            "seconds",
        )
        return Exhibit(self.name, text, claims, [Table("Test errors, in %", header, rows)], plots)


def _error(row: Row) -> float:
    return 1 - row.test


def _second_half_error(rows: Sequence[Row]) -> float:
    return fmean(map(_error, second_half(rows)))


def _error_by_dev(rows: Sequence[Row]) -> float:
    """Of the iterate that is best on dev."""
    return _error(max(rows, key=lambda row: row.dev))


def _last_error(rows: Sequence[Row]) -> float:
    return _error(rows[-1])


EXPERIMENTS = (Extragradient(),)
