"""Results of runs: recorded, resumed, and chosen among."""

from pathlib import Path

import pytest
from reproductions import row_of
from thinc.api import Config

from benchmarks.papers.results import Results
from benchmarks.papers.tasks import Run

CONFIG = Config({"reproduce": {"sentences": 10}})
RUN = Run("tags: a", "mira", 0.1, 0, 2)


def results_of(folder: Path, *, resume: bool = False, config: Config = CONFIG) -> Results:
    return Results(folder / "runs.jsonl", config, resume=resume)


def test_what_was_recorded_is_there_again(tmp_path: Path) -> None:
    curve = RUN._replace(rows_every=1, setting=None)
    results = results_of(tmp_path)
    results.record(RUN, [row_of(RUN, 2, 0.5)])
    results.record(curve, [row_of(curve, 1, 0.25), row_of(curve, 2, 0.75, primal=3.0)])
    again = results_of(tmp_path, resume=True)
    assert RUN in again
    assert again.rows(curve) == results.rows(curve)
    assert again.last(curve) == row_of(curve, 2, 0.75, primal=3.0)
    assert again.seconds == 4.0


def test_a_run_that_has_not_ended_is_forgotten(tmp_path: Path) -> None:
    stopped = RUN._replace(seed=1)
    results = results_of(tmp_path)
    results.record(RUN, [row_of(RUN, 2, 0.5)])

    def rows():
        yield row_of(stopped, 1, 0.5)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        results.record(stopped, rows())
    assert stopped not in results
    again = results_of(tmp_path, resume=True)
    assert stopped not in again
    assert RUN in again
    again.record(stopped, [row_of(stopped, 2, 0.5)])
    assert len((tmp_path / "runs.jsonl").read_text(encoding="utf8").splitlines()) == 2


@pytest.mark.parametrize(
    ("learner", "every", "epochs", "is_whole"),
    [
        ("mira", 1, [1, 2, 3, 4, 5, 6, 7], True),
        ("mira", 1, [2, 3, 4, 5, 6, 7], False),
        ("mira", 1, [1, 2, 4, 5, 6, 7], False),
        ("mira", 1, [1, 2, 3, 4, 5, 6], False),
        ("mira", 1, [1, 2, 1, 2, 3, 4, 5, 6, 7], False),
        ("mira", 3, [3, 6, 7], True),
        ("mira", 3, [6, 7], False),
        ("mira", 0, [7], True),
        ("group-lasso", 1, [6, 7], True),
        ("group-lasso", 1, [7], False),
        ("group-lasso", 0, [7], True),
    ],
)
def test_a_run_of_which_rows_are_missing_is_forgotten(
    tmp_path: Path, learner: str, every: int, epochs: list[int], is_whole: bool
) -> None:
    run = Run("tags: a", learner, 0.1, 0, 7, rows_every=every)
    results_of(tmp_path).record(run, [row_of(run, epoch, 0.5) for epoch in epochs])
    assert (run in results_of(tmp_path, resume=True)) == is_whole


def test_the_best_is_chosen_on_dev_after_the_last_epoch(tmp_path: Path) -> None:
    results = results_of(tmp_path)
    runs = [RUN._replace(setting=C, rows_every=1) for C in (0.1, 1.0, 10.0)]
    devs = [(0.9, 0.5), (0.1, 0.6), (0.1, 0.6)]
    for run, (first, last) in zip(runs, devs, strict=True):
        results.record(run, [row_of(run, 1, 0.0, dev=first), row_of(run, 2, 0.9, dev=last)])
    assert results.best(runs) == runs[1]


def test_scores_on_test_are_those_after_the_last_epoch(tmp_path: Path) -> None:
    results = results_of(tmp_path)
    runs = [RUN._replace(seed=seed) for seed in range(2)]
    for run, score in zip(runs, (0.25, 0.75), strict=True):
        results.record(run, [row_of(run, 1, 0.1), row_of(run, 2, score)])
    assert results.tests(runs) == [0.25, 0.75]


def test_results_of_other_settings_are_kept_apart(tmp_path: Path) -> None:
    results_of(tmp_path).record(RUN, [row_of(RUN, 2, 0.5)])
    with pytest.raises(ValueError, match="give --resume"):
        results_of(tmp_path)
    other = Config({"reproduce": {"sentences": 20}})
    with pytest.raises(ValueError, match="other settings"):
        results_of(tmp_path, resume=True, config=other)
