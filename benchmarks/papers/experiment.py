"""What an experiment is, and what the experiments share."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from benchmarks.papers.exhibits import Exhibit, Points
from benchmarks.papers.results import Results
from benchmarks.papers.tasks import DETERMINISTIC, Row, Run


class Limits(NamedTuple):
    """What the user has set."""

    seeds: int = 3
    epochs: int | None = None  #: at most, in each run

    def of(self, epochs: int) -> int:
        """The epochs of a run for which the paper has as many."""
        return epochs if self.epochs is None else min(epochs, self.epochs)


#: Which of some runs, that have ended, is best on dev.
Choose = Callable[[Sequence[Run]], Run]


class Experiment(Protocol):
    """A table or figure of a paper."""

    @property
    def name(self) -> str:
        """Such as "CY13, Table 1"."""

    @property
    def kinds(self) -> Mapping[str, int]:
        """What is learned, see ``KINDS``, and on how many corpora at most."""

    def runs(self, task: str, limits: Limits, best: Choose) -> Iterator[Run]:
        """All runs on a task; the next one is asked for once the last one has ended."""

    def show(self, tasks: Sequence[str], limits: Limits, results: Results) -> Exhibit:
        """The table or figure, for tasks whose runs have ended."""


def grid(run: Run, settings: Iterable[float | None]) -> list[Run]:
    """A run with each of some settings."""
    return [run._replace(setting=setting) for setting in settings]


def seeds_of(run: Run, limits: Limits) -> list[Run]:
    """A run with each seed; as often the same one, where the learner does not depend on it."""
    if run.learner in DETERMINISTIC:
        return [run] * limits.seeds
    return [run._replace(seed=seed) for seed in range(limits.seeds)]


def second_half(rows: Sequence[Row]) -> Sequence[Row]:
    """The second half of a run."""
    return rows[len(rows) // 2 :]


def primals_by(rows: Iterable[Row], across: str, *, scale: float = 1.0) -> Points:
    """Points of a line, as ``scores_by``: the primal objective, where it was measured."""
    return [(scale * getattr(row, across), row.primal) for row in rows if row.primal is not None]


def scores_by(rows: Iterable[Row], across: str, *, scale: float = 1.0) -> Points:
    """Points of a line: the score on test in percent, by "seconds" or "epoch" times a scale."""
    return [(scale * getattr(row, across), 100 * row.test) for row in rows]


def seconds_until(rows: Sequence[Row], is_reached: Callable[[Row], bool]) -> float:
    """The seconds until a row fulfils a condition; infinity for never."""
    return next((row.seconds for row in rows if is_reached(row)), float("inf"))


def show_seconds(seconds: float) -> str:
    """As text."""
    return "never" if seconds == float("inf") else f"{seconds:.1f} s"
