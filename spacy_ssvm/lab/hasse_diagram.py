"""Diagrams of an order, such as that of templates from coarse to fine."""

from collections.abc import Collection, Sequence
from graphlib import TopologicalSorter
from statistics import fmean
from typing import Any

import matplotlib

from spacy_ssvm.commands.figures import COLOURS, SETTINGS, Figure, FigureSpec, as_svg, inline

_EDGE: dict[str, Any] = {"linewidth": 0.6, "alpha": 0.5, "zorder": 0}
_NAMED = 40  # names in a diagram of an order


def draw_order(
    number: int, spec: FigureSpec, order: Sequence[tuple[str, str]], kept: Collection[str]
) -> Figure:
    """A Hasse diagram: what is coarse at the bottom, with lines to what refines it.

    order: pairs of a coarser and a finer name. kept: the names that are filled; those that are in
    no pair are not shown.
    """
    places = layers(order)
    shown = {name: None for name in kept if name in places}
    height = max(y for _, y in places.values())
    with matplotlib.rc_context({**SETTINGS, "axes.grid": False}):
        figure = matplotlib.figure.Figure(figsize=(9, 2 + height), layout="constrained")
        axes = figure.subplots()
        for pair in order:
            axes.plot(*zip(*map(places.__getitem__, pair), strict=True), color="#808080", **_EDGE)
        colour = COLOURS[0][0]
        for name, (x, y) in places.items():
            is_kept = name in shown
            axes.scatter(x, y, s=30 if is_kept else 12, color=colour if is_kept else "#808080")
        if len(shown) <= _NAMED:
            for name in shown:
                axes.annotate(name, places[name], (3, 3), textcoords="offset points", fontsize=8)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.set_ylabel(spec.labels[1])
        for spine in axes.spines.values():
            spine.set_visible(False)
        svg = as_svg(figure)
    text = f"{len(shown)} of {len(places)} are kept: {', '.join(shown) or 'none'}"
    return Figure(number, spec, inline(svg, f"figure-{number}", spec.title, text), [], [])


def layers(order: Sequence[tuple[str, str]]) -> dict[str, tuple[float, int]]:
    """The place of each name: above all that it refines, and near them."""
    graph: dict[str, list[str]] = {}
    for coarse, fine in order:
        graph.setdefault(coarse, [])
        graph.setdefault(fine, []).append(coarse)
    layer: dict[str, int] = {}
    for name in TopologicalSorter(graph).static_order():
        layer[name] = max((layer[coarse] + 1 for coarse in graph[name]), default=0)
    places: dict[str, tuple[float, int]] = {}
    for y in range(max(layer.values()) + 1):
        names = [name for name in graph if layer[name] == y]
        names.sort(key=lambda name: fmean([places[coarse][0] for coarse in graph[name]] or [0.0]))
        places |= {name: ((i + 0.5) / len(names), y) for i, name in enumerate(names)}
    return places
