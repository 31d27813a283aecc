"""Tests of ``spacy_ssvm/commands/figures.py``."""

import re
from pathlib import Path
from xml.etree import ElementTree

from spacy_ssvm.commands.compare_report import FIGURES


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
