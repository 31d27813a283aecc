"""The report of a reproduction: one self-contained HTML file.

Needs the extra ``compare``, and is imported only where a report is written.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from spacy_ssvm.commands.figures import Figure, FigureSpec, draw, write_page
from spacy_ssvm.commands.reproduction.exhibits import FAILS, HOLDS, UNCLEAR, Exhibit


class Section(NamedTuple):
    """An exhibit with its figures drawn."""

    exhibit: Exhibit
    figures: list[Figure]


def write_report(file: Path, exhibits: Sequence[Exhibit], facts: dict[str, str]) -> None:
    """Write the report of some exhibits.

    facts: names and values shown at the top.
    """
    sections, number = [], 0
    for exhibit in exhibits:
        figures = []
        for plot in exhibit.plots:
            number += 1
            spec = FigureSpec(plot.title, plot.labels, plot.title, plot.is_log)
            lines = {name: [points] for name, points in plot.lines.items()}
            figures.append(draw(number, spec, lines))
        sections.append(Section(exhibit, figures))
    verdicts = [claim.verdict for exhibit in exhibits for claim in exhibit.claims]
    write_page(
        file,
        "reproduction_report.html",
        facts=facts,
        sections=sections,
        counts={name: verdicts.count(name) for name in (HOLDS, FAILS, UNCLEAR)},
        drawings=[],
    )
