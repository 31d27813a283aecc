"""Tests of ``spacy_ssvm/commands/figures.py``."""

import re
from pathlib import Path
from xml.etree import ElementTree

from spacy_ssvm.commands.figures import FigureSpec, draw
from spacy_ssvm.components.page import render_page
from spacy_ssvm.lab.compare_report import FIGURES


def test_figures_have_titles_and_descriptions(report: Path) -> None:
    figures = re.findall(r"<svg.*?</svg>", report.read_text(encoding="utf8"), flags=re.DOTALL)
    assert len(figures) == len(FIGURES)
    space = "{http://www.w3.org/2000/svg}"
    for figure, (kind, *_) in zip(figures, FIGURES, strict=True):
        svg = ElementTree.fromstring(figure)
        title, description = svg.find(f"{space}title"), svg.find(f"{space}desc")
        assert title is not None
        assert title.text == kind.title
        assert description is not None
        assert "far ends at" in str(description.text)
        named = [title.attrib["id"], description.attrib["id"]]
        assert svg.attrib["role"] == "img"
        assert svg.attrib["aria-labelledby"].split() == named
        assert "#000000" not in figure, "colours are those of the page, light or dark"
        assert "var(--line-1)" in figure


def test_a_legend_names_the_lines_outside_of_the_figure(report: Path) -> None:
    html = report.read_text(encoding="utf8")
    assert [re.findall(r"</i>(\w+)</li>", own) for own in html.split("<figure>")[:-1]] == [
        ["near", "far"],
        ["near", "far"],
        ["far"],
        ["far"],
    ]
    assert "gradient(90deg, var(--line-0) 0px 2px)" in html
    dashed = "var(--line-1) 0px 7.4px, transparent 7.4px 10.6px"
    assert html.count(f"gradient(90deg, {dashed})") == len(FIGURES)
    assert ">far</text>" not in html
    assert "far ends at 93.5, where seconds of learning is 8.5." in html


def test_reports_and_pages_of_decisions_have_the_same_head_and_colours(report: Path) -> None:
    pages = [report.read_text(encoding="utf8"), render_page("A title", {}, [])]
    heads = {page[: page.index("<title>")] for page in pages}
    assert len(heads) == 1
    colours = [re.findall(r"--(?:ink|paper|quiet|rule): #\w+", page)[:8] for page in pages]
    assert colours[0] == colours[1]
    assert len(set(colours[0])) == 8, "light and dark ones"


def test_numbers_on_axes_are_written_out() -> None:
    spec = FigureSpec("Speed", ("templates", "tokens/s"), "")
    svg = str(draw(1, spec, {"all": [[(1, 1e6), (2000, 2e6)]]}).svg)
    assert {"1,000,000", "2,000,000", "1,500"} <= {*re.findall(r">([\d,]+)</text>", svg)}
    logarithmic = spec._replace(is_log=(True, False))
    svg = str(draw(1, logarithmic, {"all": [[(1, 1e6), (2000, 2e6)]]}).svg)
    shown = {*re.findall(r">([\d,]+)</text>", svg)}
    assert "2,000,000" in shown
    assert "1,500" not in shown
