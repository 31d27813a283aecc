"""Tests of ``spacy_ssvm/lab/compare_report.py``."""

import re
from pathlib import Path

import pytest
from comparisons import BROWSER, DRAWN, ROWS, open_in_browser

from spacy_ssvm.commands.pipelines import made
from spacy_ssvm.lab.compare import conclusion
from spacy_ssvm.lab.compare_report import FIGURES, write_report


def test_the_report_needs_nothing_else(report: Path) -> None:
    html = report.read_text(encoding="utf8")
    assert "<tagger>" not in html
    assert not re.search(r'(src|href)="(?!#|data:)', html.replace("xlink:href", "href"))
    names = re.findall(r'\bid="([^"]*)"', html)
    assert len(names) == len(set(names))
    assert set(re.findall(r'(?:url\(#|href="#)([^")]*)', html)) <= set(names)


def test_the_report_says_what_follows_and_when_it_was_made(report: Path) -> None:
    html = report.read_text(encoding="utf8")
    assert f"<strong>{conclusion(ROWS)}</strong>" in html
    assert f"<dt>made</dt><dd>{made()}</dd>" in html


def test_solvers_without_values_are_named(report: Path) -> None:
    html = " ".join(report.read_text(encoding="utf8").split())
    assert html.count("Without such values: near.") == 2


def test_the_same_rows_give_the_same_report(report: Path, tmp_path: Path) -> None:
    write_report(tmp_path / "again.html", ROWS, {"component": "<tagger>"})
    assert (tmp_path / "again.html").read_bytes() == report.read_bytes()


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium, which is not installed")
def test_the_report_in_a_browser(report: Path, tmp_path: Path) -> None:
    title, console = open_in_browser(report, DRAWN, tmp_path)
    assert title == "; ".join(kind.title for kind, *_ in FIGURES)
    assert not console
    _, console = open_in_browser(report, "console.error('seen')", tmp_path)
    assert len(console) == 1, "errors would be seen"
