"""The report of a comparison: one self-contained HTML file with a table and figures.

Needs the extra ``compare``, and is imported only where a report is written.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from spacy_ssvm.commands.figures import FigureSpec, Points, draw, write_page
from spacy_ssvm.lab.compare import (
    HEADER,
    SCORE_TOLERANCE,
    Row,
    conclusion,
    runs_of,
    table,
    without_empty,
)

_SECONDS, _EPOCHS = "seconds of learning", "epochs"

#: The figures, and the coordinates of their points.
FIGURES: tuple[tuple[FigureSpec, str, Callable[[Row], float | None]], ...] = (
    (
        FigureSpec(
            "Score by time",
            (_SECONDS, "dev score"),
            "The score on the development corpus after each epoch. Higher and farther left is "
            "better.",
            is_log=(True, False),
        ),
        "seconds",
        lambda row: 100 * row.score,
    ),
    (
        FigureSpec(
            "Primal objective by time",
            (_SECONDS, "primal objective"),
            "The objective that training minimizes, measured after each epoch. Compare only "
            "solvers that minimize the same function.",
            is_log=(True, True),
        ),
        "seconds",
        lambda row: row.primal,
    ),
    (
        FigureSpec(
            "Duality gap by epoch",
            (_EPOCHS, "relative duality gap"),
            "How far the weights can be from the optimum, relative to the objective.",
            is_log=(False, True),
            counts=True,
        ),
        "epoch",
        lambda row: row.gap,
    ),
    (
        FigureSpec(
            "Working sets by epoch",
            (_EPOCHS, "constraints stored"),
            "The number of stored wrong structures: memory of the solver in addition to the "
            "weights.",
            counts=True,
        ),
        "epoch",
        lambda row: row.working_set,
    ),
)


def write_report(file: Path, rows: Sequence[Row], facts: dict[str, str]) -> None:
    """Write the report of some rows.

    facts: names and values shown beside the table.
    """
    runs = runs_of(rows)
    header, table_rows = without_empty(HEADER, table(rows))
    seeds = sorted({row.seed for row in rows})
    drawings = [
        draw(
            number,
            spec,
            {name: [_points(across, up, run) for run in own] for name, own in runs.items()},
        )
        for number, (spec, across, up) in enumerate(FIGURES, start=1)
    ]
    write_page(
        file,
        "lab/compare_report.html",
        facts={**facts, "seeds": ", ".join(map(str, seeds))},
        header=header,
        table_rows=table_rows,
        conclusion=conclusion(rows),
        near=100 * SCORE_TOLERANCE,
        drawings=drawings,
        seeds=len(seeds),
    )


def _points(across: str, up: Callable[[Row], float | None], run: Sequence[Row]) -> Points:
    """The points of a run that has all of them."""
    values = [up(row) for row in run]
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return []
    return [(getattr(row, across), value) for row, value in zip(run, known, strict=True)]
