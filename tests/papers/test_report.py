"""The report: a page with claims, tables and figures."""

from pathlib import Path

import pytest
from comparisons import BROWSER, open_in_browser
from exhibits import EXHIBITS

from benchmarks.papers.report import conclusion, write_report


@pytest.fixture
def page(tmp_path: Path) -> Path:
    file = tmp_path / "report.html"
    write_report(file, EXHIBITS, {"corpora": "<a>"})
    return file


def test_the_page_shows_claims_tables_and_figures(page: Path) -> None:
    text = page.read_text(encoding="utf8")
    words = " ".join(text.split())
    assert "<strong>Of 3 claims, 1 holds, 1 does not, and 1 is unclear.</strong>" in words
    assert "With &lt;gold&gt; tags." in text
    assert "&lt;a&gt;" in text
    assert "90.00 ± 0.10" in text
    assert text.count("<svg") == 2
    assert "figure-1-" in text
    assert "figure-2-" in text
    assert "Without such values: cpd." in text
    assert 'href="#exhibit-2"' in text
    assert 'id="exhibit-2"' in text


def test_conclusions() -> None:
    claims = [claim for exhibit in EXHIBITS for claim in exhibit.claims]
    assert conclusion(claims[:1] * 2) == "Of 2 claims, 2 hold, 0 do not, and 0 are unclear."


def test_the_same_exhibits_give_the_same_bytes(page: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.html"
    write_report(again, EXHIBITS, {"corpora": "<a>"})
    assert again.read_bytes() == page.read_bytes()


@pytest.mark.skipif(BROWSER is None, reason="there is no browser")
def test_a_browser_shows_the_page(page: Path, tmp_path: Path) -> None:
    script = "document.title = document.querySelectorAll('svg').length"
    title, problems = open_in_browser(page, script, tmp_path)
    assert title == "2"
    assert not problems
