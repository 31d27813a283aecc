"""The report of a reproduction: one self-contained HTML file.

Needs the extra ``compare``, and is imported only where a report is written.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.papers.exhibits import FAILS, HOLDS, UNCLEAR, Claim, Exhibit
from spacy_ssvm.commands.figures import Figure, FigureSpec, draw, write_page


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
    write_page(
        file,
        "commands/reproduction_report.html",
        facts=facts,
        sections=sections,
        conclusion=conclusion([claim for exhibit in exhibits for claim in exhibit.claims]),
        drawings=[],
    )


def conclusion(claims: Sequence[Claim]) -> str:
    """How many claims hold, as a sentence."""
    verdicts = [claim.verdict for claim in claims]
    holds, fails, unclear = (verdicts.count(name) for name in (HOLDS, FAILS, UNCLEAR))
    return (
        f"Of {len(claims)} claims, {holds} {'holds' if holds == 1 else 'hold'}, {fails} "
        f"{'does' if fails == 1 else 'do'} not, and {unclear} {'is' if unclear == 1 else 'are'} "
        "unclear."
    )
