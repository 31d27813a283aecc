"""Tests of ``spacy_ssvm/lab/hasse_diagram.py``."""

import re
from xml.etree import ElementTree

from spacy_ssvm.commands.figures import FigureSpec
from spacy_ssvm.lab.hasse_diagram import draw_order, layers

ORDER = [("a", "b"), ("b", "ab"), ("c", "ab"), ("ab", "abc"), ("c", "cd")]


def order_of(kept: list[str]) -> str:
    return str(draw_order(3, FigureSpec("Order", ("", "up"), ""), ORDER, kept).svg)


def test_an_order_has_a_line_for_each_pair_and_names_what_is_kept() -> None:
    svg = order_of(["ab", "elsewhere"])
    ElementTree.fromstring(svg)
    assert len(re.findall(r'id="figure-3-line2d_', svg)) == len(ORDER)
    assert len(re.findall(r'id="figure-3-PathCollection_', svg)) == 6
    assert re.findall(r">(\w+)</text>", svg) == ["up", "ab"]
    assert "1 of 6 are kept: ab" in svg
    assert svg == order_of(["ab", "elsewhere"])
    assert "0 of 6 are kept: none" in order_of([])


def test_what_refines_is_above() -> None:
    places = layers(ORDER)
    assert all(places[coarse][1] < places[fine][1] for coarse, fine in ORDER)
    assert len(set(places.values())) == 6
    assert [places[name][1] for name in ("a", "c", "b", "ab", "cd", "abc")] == [0, 0, 1, 2, 1, 3]
