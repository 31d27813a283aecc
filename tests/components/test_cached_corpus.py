"""Tests of ``spacy_ssvm/components/cached_corpus.py``."""

from collections.abc import Iterator
from inspect import signature
from pathlib import Path

import pytest
import spacy
from corpora import tagging_examples
from pipelines import TAGGER
from spacy import registry
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.training.corpus import create_docbin_reader

from spacy_ssvm.components.cached_corpus import CachedCorpus, make_cached_corpus


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
    settings = {"path": str(file), "gold_preproc": False}
    plain, cached = (
        registry.resolve({"dev": {"@readers": name, **settings}})["dev"]
        for name in ("spacy.Corpus.v1", "spacy_ssvm.CachedCorpus.v1")
    )
    scores = [nlp.evaluate(list(corpus(nlp))) for corpus in (plain, cached, cached)]
    for found in scores:
        found.pop("speed")
    assert scores[0] == scores[1] == scores[2]
    file.unlink()
    assert nlp.evaluate(list(cached(nlp)))["tag_acc"] == scores[0]["tag_acc"]


def test_the_settings_are_those_of_spacy() -> None:
    """So that a config, and what overrides it on the command line, fits both readers."""
    parameters = signature(make_cached_corpus).parameters
    assert list(parameters) == list(signature(create_docbin_reader).parameters)
    with pytest.raises(ValueError, match=r"\[E913\]"):
        make_cached_corpus(None)


@pytest.mark.parametrize(("gold_preproc", "number"), [(False, 1), (True, 2)])
def test_a_setting_reaches_the_reader(gold_preproc: bool, number: int, tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    doc = Doc(nlp.vocab, words=["Yes", "No"], sent_starts=[True, True])
    DocBin(docs=[doc], attrs=["SENT_START"]).to_disk(tmp_path / "dev.spacy")
    corpus = make_cached_corpus(tmp_path / "dev.spacy", gold_preproc=gold_preproc)
    assert [len(list(corpus(nlp))) for _ in range(2)] == [number] * 2
