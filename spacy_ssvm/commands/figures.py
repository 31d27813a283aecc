"""Figures and pages of reports: one self-contained HTML file each, with SVG figures.

Needs the extra ``compare``, and is imported only where a report is written.
"""

import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import matplotlib.figure
from markupsafe import Markup
from matplotlib.ticker import MaxNLocator

from spacy_ssvm.commands.pipelines import made
from spacy_ssvm.explanation import render
from spacy_ssvm.files import replacing

#: Of lines: the colour on white, and the one on black. Colour-blind readers tell them apart,
#: and the dashes do too.
COLOURS = (
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
_DASHES: tuple[tuple[float, ...], ...] = (
    (),
    (3.7, 1.6),
    (6.4, 1.6, 1, 1.6),
    (1, 1.65),
    (6, 1, 1, 1, 1, 1),
)  # lengths of dashes and of what parts them, in widths of the line
_WIDTH = 2  # of a line
_SIZE = (6.5, 3.9)  # in inches of 72 points: small, so that letters are large on a phone
_INK = "#000000"  # as matplotlib writes it, for text, axes and ticks

SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "spacy_ssvm",  # the same figures give the same bytes
    "font.size": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#808080",
    "grid.alpha": 0.25,
}


Points = Sequence[tuple[float, float]]


class FigureSpec(NamedTuple):
    """The description of a figure."""

    title: str
    labels: tuple[str, str]  #: of the axis at the bottom, and of the one on the left
    text: str  #: the caption
    is_log: tuple[bool, bool] = (False, False)  #: the axes
    counts: bool = False  #: whether there are whole numbers at the bottom


class Key(NamedTuple):
    """How a line of a figure is drawn."""

    name: str
    pattern: str  #: the colours along it, as stops of a gradient


class Figure(NamedTuple):
    """A figure of a report."""

    number: int
    spec: FigureSpec
    svg: Markup
    legend: list[Key]  #: the lines
    without: list[str]  #: those that have no such values


def draw(number: int, spec: FigureSpec, lines: Mapping[str, Sequence[Points]]) -> Figure:
    """A figure: a thin line for each run, and a thick one for the mean of the runs of a name.

    lines: the points of each run, by name; a run without points leaves its name out.
    """
    across, up = spec.labels
    legend, without, ends = [], [], []
    with matplotlib.rc_context(SETTINGS):
        figure = matplotlib.figure.Figure(figsize=_SIZE, layout="constrained")
        axes = figure.subplots()
        for line, (name, runs) in enumerate(lines.items()):
            if not all(runs):
                without.append(name)
                continue
            colour = COLOURS[line % len(COLOURS)][0]
            dashes = _DASHES[(line + line // len(COLOURS)) % len(_DASHES)]  # each pair once
            if len(runs) > 1:
                for run in runs:
                    axes.plot(*zip(*run, strict=True), color=colour, alpha=0.35, linewidth=0.8)
            mean = [_mean_point(points) for points in zip(*runs, strict=False)]
            axes.plot(
                *zip(*mean, strict=True),
                color=colour,
                linestyle=(0, dashes),
                linewidth=_WIDTH,
                marker="o",
                markersize=3,
            )
            legend.append(Key(name, _pattern(line % len(COLOURS), dashes)))
            ends.append(f"{name} ends at {mean[-1][1]:,.4g}, where {across} is {mean[-1][0]:,.4g}")
        axes.set_xlabel(across)
        axes.set_ylabel(up)
        if ends and spec.is_log[0]:
            axes.set_xscale("log")
        if ends and spec.is_log[1]:
            axes.set_yscale("log")
        for axis in (axes.xaxis, axes.yaxis):
            if axis.get_scale() == "linear":
                axis.set_major_formatter("{x:,.10g}")
        if spec.counts:
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        drawn = as_svg(figure)
    shown = "; ".join(ends) or "There are no such values"
    description = f"A line for each name: {up} against {across}. {shown}."
    svg = inline(drawn, f"figure-{number}", spec.title, description)
    return Figure(number, spec, svg, legend, without)


def _pattern(colour: int, dashes: Sequence[float]) -> str:
    """A line from left to right. colour: its number. dashes: as in ``_DASHES``."""
    end, stops = 0.0, []
    for number, length in enumerate(dashes or (1.0,)):
        start, end = end, end + length * _WIDTH
        shown = "transparent" if number % 2 else f"var(--line-{colour})"
        stops.append(f"{shown} {start:g}px {end:g}px")
    return ", ".join(stops)


def write_page(file: Path, template: str, *, facts: dict[str, str], **values: Any) -> None:
    """Write a report from a template of the package, which extends ``commands/report_page.html``.

    facts: names and values shown at the top; when and by what it was made is added.
    """
    facts = {**facts, "made": made()}
    html = render(template, colours=COLOURS, facts=facts, **values)
    with replacing(file) as beside:
        beside.write_text(html, encoding="utf8")


def as_svg(figure: matplotlib.figure.Figure) -> str:
    """A figure as SVG."""
    stream = io.StringIO()
    figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None})
    return stream.getvalue()


def _mean_point(points: Points) -> tuple[float, float]:
    across, up = zip(*points, strict=True)
    return fmean(across), fmean(up)


def inline(svg: str, name: str, title: str, description: str) -> Markup:
    """A figure as part of a page: with a title, names of its own, and the page's colours."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", svg)
    svg = svg.replace(_INK, "currentColor")
    for line, (colour, _) in enumerate(COLOURS):
        svg = svg.replace(colour, f"var(--line-{line})")
    opening, rest = svg.split(">", 1)
    opening = re.sub(r' (width|height)="[^"]*"', "", opening)
    labels = f'role="img" aria-labelledby="{name}-title {name}-text"'
    return Markup('{} {}><title id="{}-title">{}</title><desc id="{}-text">{}</desc>{}').format(
        Markup(opening), Markup(labels), name, title, name, description, Markup(rest)
    )
