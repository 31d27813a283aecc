"""Fixtures that several files of tests share."""

from pathlib import Path

import pytest
import spacy
from comparisons import ROWS
from corpora import SENTENCES, make_doc, tagged_sentences
from spacy.tokens import DocBin

from spacy_ssvm.commands.compare_report import write_report


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sentences with tags, and with trees that are chains; some tags and arcs are not known."""
    nlp = spacy.blank("en")
    docs = []
    for i, (words, tags) in enumerate(tagged_sentences(SENTENCES)):
        known = [tag if (i + j) % 7 else "" for j, tag in enumerate(tags)]
        heads = [max(j - 1, 0) for j in range(len(words))]
        deps = ["ROOT", *known[1:]]
        docs.append(make_doc(nlp.vocab, words, tags=known, heads=heads, deps=deps))
    file = tmp_path_factory.mktemp("corpus") / "train.spacy"
    DocBin(docs=docs).to_disk(file)
    return file


@pytest.fixture
def report(tmp_path: Path) -> Path:
    file = tmp_path / "report.html"
    write_report(file, ROWS, {"component": "<tagger>"})
    return file
