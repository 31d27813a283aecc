"""Tests of ``spacy_ssvm/chains/model.py``."""

from typing import Any

import pytest
from corpora import tagged_sentences, tagging_examples
from pipelines import TAGGER
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from tiny_taggers import TINY, tags


def test_labels_round_trip_without_a_corpus_pass(tiny: Language) -> None:
    data = tiny.get_pipe("ssvm_tagger").label_data
    nlp = TAGGER.pipeline()
    passes = 0

    def get_examples() -> list[Example]:
        nonlocal passes
        passes += 1
        return tagging_examples(nlp.vocab, TINY)

    tagger: Any = nlp.get_pipe("ssvm_tagger")
    tagger.initialize(get_examples, nlp=nlp, labels=list(data))
    assert passes == 0
    assert tagger.labels == data == tagger.label_data
    TAGGER.train(nlp, tagging_examples(nlp.vocab, TINY), 12)
    assert tagger.to_bytes(exclude=["vocab"]) == tiny.get_pipe("ssvm_tagger").to_bytes(
        exclude=["vocab"]
    )
    tagger.initialize(get_examples, nlp=nlp)
    assert passes == 1


def test_templates_are_part_of_the_saved_model(tiny: Language) -> None:
    """A component with other templates in its config takes those of what it loads."""
    source: Any = tiny.get_pipe("ssvm_tagger")
    nlp = TAGGER.pipeline(templates=["lower[0]"])
    loaded: Any = nlp.get_pipe("ssvm_tagger").from_bytes(source.to_bytes())
    for words, gold in tagged_sentences(TINY):
        doc = Doc(nlp.vocab, words=words)
        assert loaded.scores(doc) == pytest.approx(source.scores(Doc(tiny.vocab, words=words)))
        assert tags(nlp(doc)) == gold
