"""The report of a search for templates: tables and figures in one HTML file.

Needs the extra ``compare``, and is imported only where a report is written.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from spacy_ssvm.commands.figures import FigureSpec, Points, draw, write_page
from spacy_ssvm.lab.hasse_diagram import draw_order
from spacy_ssvm.lab.search import ALL, HEADER, Point, conclusion, name_of, table

_SCORE = "dev score"
_BY_ORDER = "coarse-to-fine"  # the method that heeds it

#: The figures, and the points of a method.
FIGURES: tuple[tuple[FigureSpec, Callable[[Sequence[Point]], Points]], ...] = (
    (
        FigureSpec(
            "Score by templates",
            ("templates", _SCORE),
            "The score of each budget of templates. Higher and farther left is better.",
            counts=True,
        ),
        lambda points: [(len(point.templates), 100 * point.score) for point in points],
    ),
    (
        FigureSpec(
            "Score by features",
            ("features with weights", _SCORE),
            "The score by the size of the trained model.",
            is_log=(True, False),
        ),
        lambda points: [(point.features, 100 * point.score) for point in points],
    ),
    (
        FigureSpec(
            "Weights while selecting",
            ("examples seen", "weights in memory"),
            "Weights in memory after each proximal step, with the largest budget. Weights "
            "of templates that are shrunk to zero are freed.",
        ),
        lambda points: points[0].steps,
    ),
    (
        FigureSpec(
            "Speed by templates",
            ("templates", "tokens/s"),
            "Tokens annotated a second, on one core.",
            counts=True,
        ),
        lambda points: [(len(point.templates), point.speed) for point in points],
    ),
)


def write_report(
    file: Path,
    points: Sequence[Point],
    facts: dict[str, str],
    order: Sequence[tuple[str, str]] = (),
) -> None:
    """Write the report of some points.

    facts: names and values shown beside the table.
    order: of the templates, see ``Selector.order``.
    """
    methods: dict[str, list[Point]] = {}
    for point in points:
        methods.setdefault(point.method, []).append(point)
    drawings = [
        draw(number, spec, {name: [points_of(own)] for name, own in methods.items()})
        for number, (spec, points_of) in enumerate(FIGURES, start=1)
    ]
    selected = [point for point in points if point.method != ALL]
    if order and selected:
        shown = min(selected, key=_preference)
        spec = FigureSpec(
            f"Hasse diagram of the templates: {name_of(shown)}",
            ("", "coarse to fine"),
            "Each line leads down from a template to one that it refines. Those that are kept are "
            "filled, and named where there are few.",
        )
        drawings.append(draw_order(len(FIGURES) + 1, spec, order, shown.templates))
    kept = [set(point.templates) for point in selected]
    names = dict.fromkeys(name for point in selected for name in point.templates)
    rows = [(name, [name in templates for templates in kept]) for name in names]
    write_page(
        file,
        "lab/search_report.html",
        facts=facts,
        header=HEADER,
        table_rows=table(points),
        conclusion=conclusion(points),
        drawings=drawings,
        columns=("template", *map(name_of, selected)),
        survivors=[
            (name, *("●" if is_kept else "" for is_kept in row))
            for name, row in sorted(rows, key=lambda row: -sum(row[1]))
        ],
    )


def _preference(point: Point) -> tuple[bool, int]:
    """The lowest one is that of the selection whose diagram is shown: of few templates."""
    return point.method != _BY_ORDER, len(point.templates)
