"""MGS10: the runs it needs, and its claims on results that are made up."""

from pathlib import Path

import pytest
from reproductions import made, row_of, verdicts

from benchmarks.papers.exhibits import FAILS, HOLDS, UNCLEAR, Exhibit
from benchmarks.papers.experiment import Limits
from benchmarks.papers.mgs10 import ArcCurves, EntityCurves, Losses
from benchmarks.papers.tasks import Row, Run

LIMITS = Limits(seeds=3, epochs=4)


def noise(run: Run, size: float) -> float:
    """What seeds add to a score; their mean is 0, their standard deviation the size."""
    return size * (run.seed - 1)


def losses(
    folder: Path, scores: dict[str, tuple[float, float]], *, deviation: float = 0.0
) -> Exhibit:
    """Table 1 with scores on dev and test for C = 1, and worse ones for other C."""

    def rows(run: Run) -> list[Row]:
        dev, test = scores.get(run.learner, (0.5, 0.5))
        worse = 0.0 if run.setting == 1.0 else 0.2
        test += noise(run, deviation)
        return [row_of(run, run.epochs, test - worse, dev=dev - worse)]

    experiment = Losses()
    results = made(folder, experiment, "entities: a", LIMITS, rows)
    return experiment.show(["entities: a"], LIMITS, results)


def test_the_best_loss_is_chosen_on_dev_and_compared_with_both_ends(tmp_path: Path) -> None:
    chosen = {"softmax-margin-3": (0.9, 0.7), "softmax-margin": (0.8, 0.95)}
    ends = {"crf": (0.7, 0.6), "mira": (0.6, 0.65)}
    (claim,) = losses(tmp_path, {**chosen, **ends}).claims
    assert claim.verdict == HOLDS
    assert "1, 3: 70.00" in claim.found
    assert "1, 0 (CRF) 60.00" in claim.found
    assert "inf, 1 (SVM) 65.00" in claim.found


@pytest.mark.parametrize(
    ("crf", "mira", "deviation", "expected"),
    [
        # English entities: level with the end that is best on dev, and below the other one
        ((0.55, 0.5759), (0.56, 0.5649), 0.0014, FAILS),
        ((0.56, 0.5649), (0.55, 0.5759), 0.0014, FAILS),
        ((0.56, 0.56), (0.55, 0.5649), 0.0014, UNCLEAR),
        ((0.56, 0.56), (0.55, 0.561), 0.0014, HOLDS),
        ((0.56, 0.56), (0.55, 0.561), 0.0042, UNCLEAR),
    ],
)
def test_better_than_both_ends_is_better_than_each(
    tmp_path: Path,
    crf: tuple[float, float],
    mira: tuple[float, float],
    deviation: float,
    expected: str,
) -> None:
    scores = {"softmax-margin": (0.57, 0.5651), "crf": crf, "mira": mira}
    (claim,) = losses(tmp_path, scores, deviation=deviation).claims
    assert claim.verdict == expected


def test_an_end_can_be_best(tmp_path: Path) -> None:
    exhibit = losses(tmp_path, {"mira": (0.9, 0.9)})
    assert verdicts(exhibit.claims) == [FAILS]
    (table,) = exhibit.tables
    assert [row[-1] for row in table.rows] == ["1", "90.00 ± 0.00"]


def test_constants_are_those_of_the_paper() -> None:
    def constants(task: str) -> set[float | None]:
        return {run.setting for run in Losses().runs(task, LIMITS, lambda runs: runs[0])}

    assert constants("entities: a") == {0.001, 0.01, 0.1, 1.0, 10.0}
    assert constants("crossing arcs: a") == {0.001, 0.01, 0.1, 1.0}


def curves(
    folder: Path,
    experiment: EntityCurves | ArcCurves,
    task: str,
    ends: dict[str, float],
    *,
    deviation: float = 0.0,
) -> Exhibit:
    """Curves that rise to an end, with the same for all C but the largest."""

    def rows(run: Run) -> list[Row]:
        assert run.seed == 0 or run.learner != "lbfgs"
        end = ends[run.learner] - (0.2 if run.setting == 10.0 else 0.0) + noise(run, deviation)
        return [row_of(run, i, end * i / run.epochs) for i in range(1, run.epochs + 1)]

    results = made(folder, experiment, task, LIMITS, rows)
    return experiment.show([task], LIMITS, results)


@pytest.mark.parametrize(
    ("ends", "deviation", "expected"),
    [
        ({"crf": 0.9, "sgd-crf": 0.8, "lbfgs": 0.7}, 0.0, HOLDS),
        ({"crf": 0.8, "sgd-crf": 0.9, "lbfgs": 0.7}, 0.0, FAILS),
        ({"crf": 0.8, "sgd-crf": 0.7, "lbfgs": 0.9}, 0.0, FAILS),
        ({"crf": 0.9, "sgd-crf": 0.8, "lbfgs": 0.7}, 0.07, UNCLEAR),
    ],
)
def test_the_ends_of_entity_curves_are_compared(
    tmp_path: Path, ends: dict[str, float], deviation: float, expected: str
) -> None:
    exhibit = curves(tmp_path, EntityCurves(), "entities: a", ends, deviation=deviation)
    assert verdicts(exhibit.claims) == [expected]
    (plot,) = exhibit.plots
    assert len(plot.lines) == 9
    assert plot.lines["L-BFGS, C = 1"][0][0] == 20  # iterations to an epoch


@pytest.mark.parametrize(
    ("task", "sgd", "deviation", "expected"),
    [
        ("crossing arcs: a", 0.8, 0.0, HOLDS),
        ("crossing arcs: a", 0.95, 0.0, FAILS),
        ("crossing arcs: a", 0.8, 0.2, UNCLEAR),
        ("crossing arcs, second order: a", 0.8, 0.0, FAILS),
        ("crossing arcs, second order: a", 0.95, 0.0, HOLDS),
        ("crossing arcs, second order: a", 0.95, 0.2, UNCLEAR),
    ],
)
def test_the_means_of_arc_curves_are_compared(
    tmp_path: Path, task: str, sgd: float, deviation: float, expected: str
) -> None:
    ends = {"crf": 0.9, "sgd-crf": sgd}
    exhibit = curves(tmp_path, ArcCurves(), task, ends, deviation=deviation)
    assert verdicts(exhibit.claims) == [expected]


def test_sgd_chooses_its_first_step_and_dca_does_not() -> None:
    runs = list(ArcCurves().runs("crossing arcs: a", LIMITS, lambda runs: runs[0]))
    assert {run.learner: run.chooses_step for run in runs} == {"crf": False, "sgd-crf": True}
