"""TLJ05: the runs it needs, and its claims on results that are made up."""

from pathlib import Path

import pytest
from reproductions import made, row_of, verdicts

from benchmarks.papers.exhibits import FAILS, HOLDS, UNCLEAR
from benchmarks.papers.experiment import Limits
from benchmarks.papers.tasks import Row, Run
from benchmarks.papers.tlj05 import Extragradient


@pytest.mark.parametrize(
    ("end", "noise", "expected"), [(0.9, 0.0, HOLDS), (0.7, 0.0, FAILS), (0.9, 0.1, UNCLEAR)]
)
def test_the_second_halves_are_compared(
    tmp_path: Path, end: float, noise: float, expected: str
) -> None:
    """Of the C that is best on dev; the first halves would say the opposite."""

    def rows(run: Run) -> list[Row]:
        def score(epoch: int) -> float:
            if run.learner == "perceptron":
                return 0.8 + noise * (run.seed - 1)
            assert run.seed == 0
            later = end - (0.0 if run.setting == 0.1 else 0.3)
            return later if 2 * epoch > run.epochs else 1.6 - end

        primals = [None if run.learner == "perceptron" else 100.0 / i for i in range(1, 61)]
        return [
            row_of(run, i, score(i), primal=primals[(i - 1) % 60]) for i in range(1, run.epochs + 1)
        ]

    experiment = Extragradient()
    limits = Limits()
    results = made(tmp_path, experiment, "links: a", limits, rows)
    exhibit = experiment.show(["links: a"], limits, results)
    assert verdicts(exhibit.claims)[0] == expected
    errors, objective = exhibit.plots
    assert [line[-1][0] for line in errors.lines.values()] == [600, 600]
    assert errors.lines["perceptron"][0] == (1, pytest.approx(20.0 + 100 * noise))
    assert objective.lines["extragradient"][1] == (20, 50.0)
    (table,) = exhibit.tables
    assert [row[2] for row in table.rows] == ["-", "0.1"]


@pytest.mark.parametrize(("best", "expected"), [(0.9, HOLDS), (0.75, FAILS)])
def test_both_learners_choose_their_iterate_on_dev(
    tmp_path: Path, best: float, expected: str
) -> None:
    """That of the second row; the third is better on test, the others are worse."""

    def rows(run: Run) -> list[Row]:
        own = {2: best if run.learner == "extragradient" else 0.8, 3: 0.95}
        return [
            row_of(run, i, own.get(i, 0.1), dev=0.9 if i == 2 else 0.5, primal=1.0)
            for i in range(1, run.epochs + 1)
        ]

    experiment = Extragradient()
    results = made(tmp_path, experiment, "links: a", Limits(), rows)
    exhibit = experiment.show(["links: a"], Limits(), results)
    assert verdicts(exhibit.claims) == [UNCLEAR, expected]
    (table,) = exhibit.tables
    chosen = [row[table.header.index("best on dev")] for row in table.rows]
    assert chosen == ["20.00 ± 0.00", f"{100 * (1 - best):.2f} ± 0.00"]
