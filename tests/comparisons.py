"""What the tests of comparisons share."""

import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from corpora import tagged_sentences
from spacy.language import Language
from spacy.tokens import Doc
from thinc.api import Config

from spacy_ssvm.lab.compare import (
    Comparison,
    Row,
)

CONFIG = """
[paths]
train = null
dev = null

[nlp]
lang = "en"
pipeline = ["tagger"]

[components]

[components.tagger]
factory = "ssvm_tagger"

[components.tagger.solver]
@misc = "spacy_ssvm.DualCoordinateDescent.v1"
C = 1.0

[components.lemmas]
factory = "tags_as_lemmas"

[components.other]
factory = "ssvm_tagger"
templates = ["lemma[0]"]

[components.parser]
factory = "ssvm_parser"

[corpora]

[corpora.train]
@readers = "spacy.Corpus.v1"
path = ${paths.train}

[corpora.dev]
@readers = "spacy.Corpus.v1"
path = ${paths.dev}

[training]
seed = 1
gpu_allocator = null
max_epochs = 3
frozen_components = []
annotating_components = []

[initialize]
"""


BROWSER = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "chrome"])), None)


@Language.factory("tags_as_lemmas")
class TagsAsLemmas:
    """Knows the tags of the corpus, and writes them as lemmas."""

    def __init__(self, nlp: Language, name: str) -> None:
        self.tags = {tuple(words): tags for words, tags in tagged_sentences()}

    def __call__(self, doc: Doc) -> Doc:
        for token, tag in zip(doc, self.tags[tuple(token.text for token in doc)], strict=True):
            token.lemma_ = tag
        return doc

    def pipe(self, docs: Iterable[Doc], *, batch_size: int) -> Iterable[Doc]:
        return map(self, docs)


def config_of(corpus: Path, **overrides: Any) -> Config:
    paths = {"paths.train": str(corpus), "paths.dev": str(corpus)}
    return Config().from_str(CONFIG, overrides={**paths, **overrides}, interpolate=False)


def rows_of(comparison: Comparison, *runs: tuple[str, int]) -> list[Row]:
    comparison.prepare()
    return [row for run in runs for row in comparison.run(*run)]


#: "far" gets farther, in one of two runs; "near" has no dual.
ROWS = [
    Row("near", 0, 1, 1.0, 0.80, 30.0, None, None, None),
    Row("near", 0, 2, 2.0, 0.90, 20.0, None, None, None),
    Row("near", 1, 1, 1.0, 0.8995, 31.0, None, None, None),
    Row("near", 1, 2, 3.0, 0.90, 22.0, None, None, None),
    Row("far", 0, 1, 4.0, 0.95, 10.0, 5.0, 0.5, 100),
    Row("far", 0, 2, 8.0, 0.94, 8.0, 6.0, 0.25, 90),
    Row("far", 1, 1, 4.0, 0.90, 10.0, 5.0, 0.5, 100),
    Row("far", 1, 2, 9.0, 0.93, 10.0, 6.0, 0.4, 95),
]


def open_in_browser(page: Path, script: str, folder: Path) -> tuple[str, list[str]]:
    """The title of a page after a script, and what its console says."""
    scripted = page.read_text(encoding="utf8").replace("</body>", f"<script>{script}</script>")
    (folder / "scripted.html").write_text(scripted, encoding="utf8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"]
    process = subprocess.run(
        [
            *(str(BROWSER), *options, f"--user-data-dir={folder / 'profile'}", "--dump-dom"),
            (folder / "scripted.html").as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    title = re.search(r"<title>(.*?)</title>", process.stdout)
    assert title is not None
    return title[1], [line for line in process.stderr.splitlines() if ":CONSOLE" in line]


DRAWN = """
const drawn = [...document.querySelectorAll("figure svg")].filter(svg =>
  svg.getBoundingClientRect().height > 200 &&
  [...svg.querySelectorAll("[id*='line2d'] path")].some(path => path.getBBox().width > 100));
document.title = drawn.map(svg => svg.querySelector("title").textContent).join("; ");
"""
