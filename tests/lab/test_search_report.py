"""Tests of ``spacy_ssvm/lab/search_report.py``."""

import re
from pathlib import Path

import pytest
from comparisons import BROWSER, DRAWN, open_in_browser
from points import POINTS

from spacy_ssvm.lab.search import conclusion
from spacy_ssvm.lab.search_report import FIGURES, write_report


@pytest.fixture
def report(tmp_path: Path) -> Path:
    file = tmp_path / "report.html"
    write_report(file, POINTS, {"component": "<tagger>"})
    return file


def test_the_report_shows_what_is_left(report: Path) -> None:
    html = report.read_text(encoding="utf8")
    assert "<tagger>" not in html
    assert "<c>" not in html
    assert f"<strong>{conclusion(POINTS)}</strong>" in html
    rows = re.findall(r"<tr><th scope=\"row\">(\S+)</th>((?:<td>●?</td>)+)</tr>", html)
    kept = [(name, re.findall("<td>(.?)</td>", cells)) for name, cells in rows]
    assert kept == [("b[0]", ["●", "●"]), ("a[0]", ["●", ""])]
    names = re.findall(r'\bid="([^"]*)"', html)
    assert len(names) == len(set(names))
    assert len(re.findall("<svg", html)) == len(FIGURES)


def test_an_order_is_drawn_for_the_smallest_selection_that_heeds_it(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    by_order = [point._replace(method="coarse-to-fine") for point in POINTS[1:]]
    order = [("a[0]", "b[0]"), ("a[0]", "<c>[0]")]
    write_report(file, [*POINTS, *by_order], {"component": "tagger"}, order)
    html = file.read_text(encoding="utf8")
    assert len(re.findall("<svg", html)) == len(FIGURES) + 1
    assert "Hasse diagram of the templates: coarse-to-fine-1" in html
    assert "1 of 3 are kept: b[0]" in html
    write_report(file, POINTS[:1], {"component": "tagger"}, order)
    assert "Hasse" not in file.read_text(encoding="utf8")


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium, which is not installed")
def test_the_report_in_a_browser(report: Path, tmp_path: Path) -> None:
    title, console = open_in_browser(report, DRAWN, tmp_path)
    assert title == "; ".join(kind.title for kind, _ in FIGURES)
    assert not console
