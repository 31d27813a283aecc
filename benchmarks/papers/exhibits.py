"""The parts of a report: tables and figures, with the claims that a paper makes about them."""

from collections.abc import Mapping, Sequence
from math import sqrt
from statistics import fmean, variance
from typing import NamedTuple

from spacy_ssvm.lab.compare import measure_of

HOLDS, FAILS, UNCLEAR = "holds", "does not hold", "unclear"

Points = Sequence[tuple[float, float]]


class Claim(NamedTuple):
    """What a paper says, and what was found on a corpus."""

    text: str
    task: str
    found: str
    verdict: str  #: HOLDS, FAILS or UNCLEAR


class Table(NamedTuple):
    """A table, whose first column has the names of the rows."""

    title: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


class Plot(NamedTuple):
    """A figure: a line for each name."""

    title: str
    labels: tuple[str, str]  #: of the axis at the bottom, and of the one on the left
    lines: Mapping[str, Points]
    is_log: tuple[bool, bool] = (False, False)  #: the axes


class Exhibit(NamedTuple):
    """A table or figure of a paper, reproduced."""

    name: str  #: such as "CY13, Table 1"
    text: str  #: what the paper did, and what differs here
    claims: list[Claim]
    tables: list[Table]
    plots: list[Plot]


def percent(value: float | Sequence[float], digits: int = 2) -> str:
    """A share in percent; of one for each seed, the mean and the standard deviation."""
    shares = [value] if isinstance(value, float) else value
    measure = measure_of([100 * share for share in shares])
    assert measure is not None
    return measure.show(digits)


def show_each(scores: Mapping[str, float] | Mapping[str, Sequence[float]]) -> str:
    """Names with their scores in percent."""
    return ", ".join(f"{name} {percent(score)}" for name, score in scores.items())


def verdict(holds: bool) -> str:
    """Of a comparison that has two answers."""
    return HOLDS if holds else FAILS


def is_above(one: Sequence[float], other: Sequence[float], *, slack: float = 0.0) -> str:
    """Whether a learner is above another, or at most ``slack`` below: by a value for each seed.

    Unclear where the means differ by at most two standard errors of their difference, and with a
    single seed, which tells nothing about it.
    """
    if min(len(one), len(other)) < 2:
        return UNCLEAR
    difference = fmean(one) - fmean(other) + slack
    error = sqrt(variance(one) / len(one) + variance(other) / len(other))
    return UNCLEAR if abs(difference) <= 2 * error else verdict(difference > 0)


def worst(verdicts: Sequence[str]) -> str:
    """The verdict on a claim that needs all of these."""
    return next((v for v in (FAILS, UNCLEAR) if v in verdicts), HOLDS)


def agreed(verdicts: Sequence[str]) -> str:
    """The verdict of all seeds; unclear where they differ, and with a single one."""
    return verdicts[0] if len(verdicts) > 1 and len({*verdicts}) == 1 else UNCLEAR
