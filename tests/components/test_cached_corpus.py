"""Tests of ``spacy_ssvm/components/cached_corpus.py``."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import spacy
from corpora import tagging_examples
from pipelines import TAGGER
from spacy import registry
from spacy.language import Language
from spacy.tokens import DocBin
from spacy.training import Example

from spacy_ssvm.components.cached_corpus import CachedCorpus


@pytest.fixture
def nlp() -> Language:
    return spacy.blank("en")


def test_a_corpus_is_read_once(nlp: Language) -> None:
    read: list[Language] = []

    def corpus(nlp: Language) -> Iterator[Example]:
        read.append(nlp)
        yield from tagging_examples(nlp.vocab)

    cached = CachedCorpus(corpus)
    first = list(cached(nlp))
    expected = [token.tag_ for eg in first for token in eg.predicted]
    for example in first:
        for token in example.predicted:
            token.tag_ = "changed"
    second = list(cached(nlp))
    assert read == [nlp]
    assert all(a.reference is b.reference for a, b in zip(first, second, strict=True))
    assert [token.tag_ for eg in second for token in eg.predicted] == expected
    other = spacy.blank("en")  # whose Docs have other strings
    assert all(eg.reference.vocab is other.vocab for eg in cached(other))
    assert read == [nlp, other]


def test_a_corpus_that_fails_is_read_again(nlp: Language) -> None:
    fails = [True, False]

    def corpus(nlp: Language) -> Iterator[Example]:
        yield from tagging_examples(nlp.vocab)
        if fails.pop(0):
            raise OSError("the disk is gone")

    cached = CachedCorpus(corpus)
    with pytest.raises(OSError, match="the disk is gone"):
        next(iter(cached(nlp)))
    assert len(list(cached(nlp))) == len(tagging_examples(nlp.vocab))


def test_scores_are_those_of_the_corpus(tmp_path: Path) -> None:
    nlp = TAGGER.pipeline()
    nlp.initialize(lambda: tagging_examples(nlp.vocab))
    nlp.update(tagging_examples(nlp.vocab))
    file = tmp_path / "dev.spacy"
    DocBin(docs=[eg.reference for eg in tagging_examples(nlp.vocab)]).to_disk(file)
    reader = {"@readers": "spacy.Corpus.v1", "path": str(file), "gold_preproc": False}
    block = {"dev": {"@readers": "spacy_ssvm.CachedCorpus.v1", "corpus": reader}}
    cached = registry.resolve(block)["dev"]
    plain = registry.resolve({"dev": reader})["dev"]
    scores = [nlp.evaluate(list(corpus(nlp))) for corpus in (plain, cached, cached)]
    for found in scores:
        found.pop("speed")
    assert scores[0] == scores[1] == scores[2]
    file.unlink()
    assert nlp.evaluate(list(cached(nlp)))["tag_acc"] == scores[0]["tag_acc"]
