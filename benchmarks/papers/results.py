"""The rows of runs, as they are recorded, and what the tables and figures take from them."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from thinc.api import Config

from benchmarks.papers.tasks import SELECTING_EPOCHS, SELECTIONS, Row, Run, make_row
from spacy_ssvm.lab.run_log import RunLog


class Results:
    """The finished runs of the experiments of a paper.

    file: where each row is written as soon as it is there; its folder holds ``config``, the
    settings that all rows depend on.
    Raises ValueError where rows are there that depend on other settings, or are damaged, and
    where they are there and ``resume`` is not set.
    """

    def __init__(self, file: Path, config: Config, *, resume: bool) -> None:
        self._record: RunLog[Row] = RunLog(file, config, make_row, resume=resume)
        self._runs: dict[Run, list[Row]] = {}
        for row in self._record.rows:
            self._runs.setdefault(row.run, []).append(row)
        self._runs = {run: rows for run, rows in self._runs.items() if _has_ended(run, rows)}
        if self._record.rows:
            self._record.keep(row for rows in self._runs.values() for row in rows)

    def __contains__(self, run: Run) -> bool:
        return run in self._runs

    def record(self, run: Run, rows: Iterable[Row]) -> None:
        """Record the rows of a run one by one."""
        found = []
        for row in rows:
            self._record.add(row)
            found.append(row)
        self._runs[run] = found

    def rows(self, run: Run) -> list[Row]:
        """The rows of a finished run."""
        return self._runs[run]

    def last(self, run: Run) -> Row:
        """The row after the last epoch."""
        return self._runs[run][-1]

    @property
    def seconds(self) -> float:
        """That all runs took to learn."""
        return sum(rows[-1].seconds for rows in self._runs.values())

    def best(self, runs: Sequence[Run]) -> Run:
        """The run with the best score on dev after its last epoch; of equal ones the first."""
        return max(runs, key=lambda run: self.last(run).dev)

    def tests(self, runs: Iterable[Run]) -> list[float]:
        """The scores on test after the last epoch, of runs that differ in their seeds."""
        return [self.last(run).test for run in runs]


def _has_ended(run: Run, rows: Sequence[Row]) -> bool:
    """Whether all rows of a run are there.

    Where another process has resumed before it had ended, those until then are lost.
    """
    first = SELECTING_EPOCHS if run.learner in SELECTIONS else 0
    every = run.rows_every or run.epochs
    expected = {*range(first + 1, run.epochs + 1)} & {*range(every, run.epochs, every), run.epochs}
    return [row.epoch for row in rows] == sorted(expected)
