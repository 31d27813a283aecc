"""The report of a comparison: one HTML file with a table and figures, and nothing besides.

Needs the extra ``compare``, and is imported only where a report is written.
"""

import io
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import matplotlib
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from spacy_ssvm.components.compare import HEADER, NEAR, Row, runs_of, table

#: Of lines: the colour on white, and the one on black. Colour-blind readers tell them apart,
#: and the dashes do too.
_COLOURS = (
    ("#0b62a8", "#6cb4f5"),
    ("#b8480a", "#ff9d5c"),
    ("#0a7a55", "#4fd0a0"),
    ("#9b2f7f", "#f08fd2"),
    ("#7a5f00", "#e3c34a"),
    ("#4b4bb5", "#a9a8ff"),
    ("#a3203a", "#ff8b9b"),
    ("#3f6b78", "#8cc7d8"),
    ("#5c6b1a", "#bccf63"),
    ("#5f5f5f", "#bdbdbd"),
)
_DASHES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)))
_INK = "#000000"  # as matplotlib writes it, for text, axes and ticks

_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "spacy_ssvm",  # the same figures give the same bytes
    "font.size": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#808080",
    "grid.alpha": 0.25,
}


class Kind(NamedTuple):
    """What a figure shows."""

    title: str
    across: str  #: the field of the rows along the axis at the bottom
    up: Callable[[Row], float | None]
    labels: tuple[str, str]
    is_log: bool
    text: str  #: what to see in it


_SECONDS, _EPOCHS = "seconds of learning", "epochs"

KINDS = (
    Kind(
        "Score by time",
        "seconds",
        lambda row: 100 * row.score,
        (_SECONDS, "dev score"),
        False,
        "The score on the development corpus after each epoch. Higher and farther left is better.",
    ),
    Kind(
        "Primal objective by time",
        "seconds",
        lambda row: row.primal,
        (_SECONDS, "primal objective"),
        True,
        "What learning makes smaller, measured anew after each epoch. Compare only learners that "
        "minimize the same function.",
    ),
    Kind(
        "Duality gap by epoch",
        "epoch",
        lambda row: row.gap,
        (_EPOCHS, "relative duality gap"),
        True,
        "How far the weights can be from the optimum, relative to the objective.",
    ),
    Kind(
        "Working sets by epoch",
        "epoch",
        lambda row: row.working_set,
        (_EPOCHS, "constraints stored"),
        False,
        "How many wrong structures are kept: what the learner takes in memory besides the weights.",
    ),
)


class Drawing(NamedTuple):
    """A figure of the report."""

    number: int
    kind: Kind
    svg: Markup
    without: list[str]  #: learners that have no such values


def write_report(file: Path, rows: Sequence[Row], facts: dict[str, str]) -> None:
    """Write the report of some rows.

    facts: name and value of what the reader should know beside them.
    """
    environment = Environment(
        loader=PackageLoader("spacy_ssvm", "components"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    drawings = [draw(number, kind, rows) for number, kind in enumerate(KINDS, start=1)]
    html = environment.get_template("compare_report.html").render(
        facts=facts,
        header=HEADER,
        table=table(rows),
        near=100 * NEAR,
        drawings=drawings,
        colours=_COLOURS,
        seeds=len({row.seed for row in rows}),
    )
    file.write_text(html, encoding="utf8")


def draw(number: int, kind: Kind, rows: Sequence[Row]) -> Drawing:
    """A figure: a thin line for each run, a thick one for the mean of a learner's runs."""
    without, ends = [], []
    with matplotlib.rc_context(_SETTINGS):
        figure = Figure(figsize=(9, 4.5), layout="constrained")
        axes = figure.subplots()
        for place, (learner, runs) in enumerate(runs_of(rows).items()):
            curves = [_curve(kind, run) for run in runs]
            if not all(curves):
                without.append(learner)
                continue
            colour = _COLOURS[place % len(_COLOURS)][0]
            dashes = _DASHES[place % len(_DASHES)]
            if len(curves) > 1:
                for curve in curves:
                    axes.plot(*zip(*curve, strict=True), color=colour, alpha=0.35, linewidth=0.8)
            mean = [_mean_point(points) for points in zip(*curves, strict=False)]
            axes.plot(
                *zip(*mean, strict=True),
                color=colour,
                linestyle=dashes,
                linewidth=2,
                marker="o",
                markersize=3,
                label=learner,
            )
            ends.append(f"{learner} ends at {mean[-1][1]:,.4g} after {mean[-1][0]:,.4g}")
        axes.set_xlabel(kind.labels[0])
        axes.set_ylabel(kind.labels[1])
        if kind.is_log and ends:
            axes.set_yscale("log")
        if kind.across == "epoch":
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        if ends:
            figure.legend(frameon=False, loc="outside right upper")
        stream = io.StringIO()
        figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None})
    across, up = kind.labels
    shown = "; ".join(ends) or "No learner has such values"
    description = f"A line for each learner: {up} against {across}. {shown}."
    svg = _inline(stream.getvalue(), f"figure-{number}", kind.title, description)
    return Drawing(number, kind, svg, without)


def _curve(kind: Kind, run: Sequence[Row]) -> list[tuple[float, float]]:
    """The points of a run that has all of them."""
    values = [kind.up(row) for row in run]
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return []
    return [(getattr(row, kind.across), value) for row, value in zip(run, known, strict=True)]


def _mean_point(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    across, up = zip(*points, strict=True)
    return fmean(across), fmean(up)


def _inline(svg: str, name: str, title: str, description: str) -> Markup:
    """A figure as part of a page: with a title, names of its own, and the page's colours."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", svg)
    svg = svg.replace(_INK, "currentColor")
    for place, (colour, _) in enumerate(_COLOURS):
        svg = svg.replace(colour, f"var(--line-{place})")
    opening, rest = svg.split(">", 1)
    opening = re.sub(r' (width|height)="[^"]*"', "", opening)
    labels = f'role="img" aria-labelledby="{name}-title {name}-text"'
    return Markup('{} {}><title id="{}-title">{}</title><desc id="{}-text">{}</desc>{}').format(
        Markup(opening), Markup(labels), name, title, name, description, Markup(rest)
    )
