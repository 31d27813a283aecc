"""Pages of every kind in a browser, as narrow as a phone."""

from collections.abc import Callable
from html import escape
from pathlib import Path

import pytest
from comparisons import BROWSER, ROWS, open_in_browser
from exhibits import EXHIBITS
from pipelines import RECOGNIZER, TAGGER
from points import POINTS
from spacy.tokens import DocBin

from benchmarks.papers import report as reproduction_report
from spacy_ssvm.commands import pipeline_report
from spacy_ssvm.commands.report import measure
from spacy_ssvm.components.page import read_part, render_demo, render_page
from spacy_ssvm.lab import compare_report, search_report

_LONG = "a-very-long-name-of-a-solver-or-method-" * 2
_FACTS = {"component": "tagger", "training corpus": "/without/a/space" * 6}

#: A page in a window as wide as a phone, narrower than browsers make their own.
_PHONE = """
<!DOCTYPE html><html><head><title></title></head>
<body><iframe width="420" height="900" srcdoc="{}"></iframe></body></html>
"""

#: What does not fit and is in nothing that scrolls, and names of rows that scroll out of sight.
_UNSEEN = """
addEventListener("load", () => {
  const {innerWidth, document: page} = frames[0];
  const scrolls = node => node && (getComputedStyle(node).overflowX === "auto" ||
    scrolls(node.parentElement));
  const wide = [...page.querySelectorAll("body *")].filter(node => !scrolls(node) &&
    node.getBoundingClientRect().right > page.documentElement.clientWidth + 1);
  const names = [...page.querySelectorAll(".wide th[scope=row]")].filter(name => {
    const table = name.closest(".wide");
    table.scrollLeft = 99;
    return name.getBoundingClientRect().left < table.getBoundingClientRect().left - 1;
  });
  document.title = `${innerWidth}: ${[...wide, ...names].map(node => node.outerHTML).join(" ")}`;
});
"""


def compared(file: Path) -> None:
    rows = [row._replace(solver=f"{_LONG}{row.solver}") for row in ROWS]
    compare_report.write_report(file, rows, _FACTS)


def searched(file: Path) -> None:
    points = [point._replace(method=f"{_LONG}{point.method}") for point in POINTS]
    order = [("a[0]", "b[0]"), ("a[0]", "<c>[0]")]
    search_report.write_report(file, points, _FACTS, order)


def reproduced(file: Path) -> None:
    reproduction_report.write_report(file, EXHIBITS, _FACTS)


def reported(file: Path) -> None:
    nlp, pipeline = TAGGER.trained(), file.with_name("pipeline")
    nlp.to_disk(pipeline)
    corpus = file.with_name("a_corpus_with_a_long_name_that_has_no_space_at_all.spacy")
    examples = TAGGER.examples(nlp.vocab)
    DocBin(docs=[example.reference for example in examples]).to_disk(corpus)
    measured = measure(str(pipeline), corpus)
    pipeline_report.write_report(file, measured, str(pipeline), corpus)


def rendered(file: Path) -> None:
    nlp = RECOGNIZER.trained()
    doc = nlp("Mary Smith lives in London . " * 5)
    part = read_part(nlp.get_pipe(RECOGNIZER.name), [doc])
    file.write_text(render_page(_LONG, _FACTS, [part]), encoding="utf8")


def demonstrated(file: Path) -> None:
    file.write_text(render_demo(_LONG, _FACTS, [], text="a", longest=9), encoding="utf8")


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium, which is not installed")
@pytest.mark.parametrize(
    "write", [compared, searched, reproduced, reported, rendered, demonstrated]
)
def test_no_page_is_wider_than_a_phone(write: Callable[[Path], None], tmp_path: Path) -> None:
    page, phone = tmp_path / "page.html", tmp_path / "phone.html"
    write(page)
    phone.write_text(_PHONE.format(escape(page.read_text(encoding="utf8"))), encoding="utf8")
    title, console = open_in_browser(phone, _UNSEEN, tmp_path)
    assert title == "420: "
    assert not console
