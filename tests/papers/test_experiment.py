"""What experiments share."""

import pytest
from reproductions import row_of

from benchmarks.papers.experiment import (
    Limits,
    grid,
    scores_by,
    seconds_until,
    seeds_of,
    show_seconds,
)
from benchmarks.papers.tasks import Run

RUN = Run("tags: a", "mira", 1.0, 0, 3)


def test_a_grid_differs_in_its_settings_and_seeds_in_theirs() -> None:
    assert grid(RUN, (0.1, None)) == [RUN._replace(setting=0.1), RUN._replace(setting=None)]
    assert seeds_of(RUN, Limits(seeds=2)) == [RUN, RUN._replace(seed=1)]


@pytest.mark.parametrize("learner", ["lbfgs", "extragradient"])
def test_learners_that_do_not_depend_on_seeds_run_once(learner: str) -> None:
    run = RUN._replace(learner=learner)
    assert seeds_of(run, Limits(seeds=3)) == [run] * 3


def test_limits_only_lower_the_epochs() -> None:
    assert Limits().of(25) == 25
    assert Limits(epochs=10).of(25) == 10
    assert Limits(epochs=50).of(25) == 25


def test_the_first_row_that_is_good_enough_counts() -> None:
    rows = [row_of(RUN, i, score) for i, score in enumerate((0.1, 0.5, 0.4), start=1)]
    assert seconds_until(rows, lambda row: row.test >= 0.4) == 2.0
    assert show_seconds(2.0) == "2.0 s"
    assert show_seconds(seconds_until(rows, lambda row: row.test > 0.5)) == "never"
    assert scores_by(rows, "epoch", scale=20.0)[1] == (40.0, 50.0)
