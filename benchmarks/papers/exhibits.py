"""The parts of a report: tables and figures, with the claims that a paper makes about them."""

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import NamedTuple

from spacy_ssvm.lab.compare import Measure

HOLDS, FAILS, UNCLEAR = "holds", "does not hold", "unclear"

Points = Sequence[tuple[float, float]]


class Claim(NamedTuple):
    """What a paper says, and what was found on a corpus."""

    text: str
    task: str
    found: str
    verdict: str  #: HOLDS, FAILS, or UNCLEAR where seeds differ more than what is compared


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


def percent(value: float | Measure, digits: int = 2) -> str:
    """A share in percent; a mean with its standard deviation."""
    if isinstance(value, Measure):
        deviation = None if value.deviation is None else 100 * value.deviation
        return Measure(100 * value.mean, deviation).show(digits)
    return f"{100 * value:.{digits}f}"


def show_each(scores: Mapping[str, float] | Mapping[str, Measure]) -> str:
    """Names with their scores in percent."""
    return ", ".join(f"{name} {percent(score)}" for name, score in scores.items())


def verdict(holds: bool) -> str:
    """Of a comparison without seeds."""
    return HOLDS if holds else FAILS


def is_above(one: Measure, other: Measure, seeds: int) -> str:
    """Whether a mean is above another: unclear within two standard errors of the difference."""
    difference = one.mean - other.mean
    if one.deviation is not None and other.deviation is not None:
        error = sqrt((one.deviation**2 + other.deviation**2) / seeds)
        if abs(difference) <= 2 * error:
            return UNCLEAR
    return verdict(difference > 0)


def worst(verdicts: Sequence[str]) -> str:
    """The verdict on a claim that needs all of these."""
    return next((v for v in (FAILS, UNCLEAR) if v in verdicts), HOLDS)
