"""The report of a comparison: one HTML file with a table and figures, and nothing besides.

Needs the extra ``compare``, and is imported only where a report is written.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from spacy_ssvm.components.compare import HEADER, NEAR, Row, runs_of, table
from spacy_ssvm.components.figures import Kind, Points, draw, write_page

_SECONDS, _EPOCHS = "seconds of learning", "epochs"

#: The figures, and where their points lie.
FIGURES: tuple[tuple[Kind, str, Callable[[Row], float | None]], ...] = (
    (
        Kind(
            "Score by time",
            (_SECONDS, "dev score"),
            "The score on the development corpus after each epoch. Higher and farther left is "
            "better.",
        ),
        "seconds",
        lambda row: 100 * row.score,
    ),
    (
        Kind(
            "Primal objective by time",
            (_SECONDS, "primal objective"),
            "What learning makes smaller, measured anew after each epoch. Compare only learners "
            "that minimize the same function.",
            is_log=(False, True),
        ),
        "seconds",
        lambda row: row.primal,
    ),
    (
        Kind(
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
        Kind(
            "Working sets by epoch",
            (_EPOCHS, "constraints stored"),
            "How many wrong structures are kept: what the learner takes in memory besides the "
            "weights.",
            counts=True,
        ),
        "epoch",
        lambda row: row.working_set,
    ),
)


def write_report(file: Path, rows: Sequence[Row], facts: dict[str, str]) -> None:
    """Write the report of some rows.

    facts: name and value of what the reader should know beside them.
    """
    runs = runs_of(rows)
    drawings = [
        draw(
            number,
            kind,
            {name: [_points(across, up, run) for run in own] for name, own in runs.items()},
        )
        for number, (kind, across, up) in enumerate(FIGURES, start=1)
    ]
    write_page(
        file,
        "compare_report.html",
        facts=facts,
        header=HEADER,
        table=table(rows),
        near=100 * NEAR,
        drawings=drawings,
        seeds=len({row.seed for row in rows}),
    )


def _points(across: str, up: Callable[[Row], float | None], run: Sequence[Row]) -> Points:
    """The points of a run that has all of them."""
    values = [up(row) for row in run]
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return []
    return [(getattr(row, across), value) for row, value in zip(run, known, strict=True)]
