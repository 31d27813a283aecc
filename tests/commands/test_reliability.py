"""Tests of ``spacy_ssvm/commands/reliability.py``."""

from types import SimpleNamespace
from typing import Any

import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example

from spacy_ssvm.commands.reliability import Bin, Reliability, reliabilities
from spacy_ssvm.components.page import Decider, Decision


class Tagger(Decider[str]):
    """A component whose confidence is the text of a word."""

    def __init__(self, beta: float | None = None) -> None:
        self.model = SimpleNamespace(beta=beta)

    def decisions(self, doc: Doc, reference: Doc | None = None) -> list[Decision[str]]:
        assert reference is not None
        return [
            Decision(token.i, token.i + 1, token.lemma_, token.tag_ or None, float(token.text))
            for token in reference
        ]


def example(words: list[str], labels: list[str], golds: list[str]) -> Example:
    vocab = spacy.blank("en").vocab
    return Example(Doc(vocab, words), Doc(vocab, words, lemmas=labels, tags=golds))


def of(pipe: Any, *examples: Example) -> list[Reliability]:
    nlp: Any = SimpleNamespace(pipeline=[("other", object()), ("tagger", pipe)])
    return list(reliabilities(nlp, examples))


@pytest.mark.parametrize("beta", [None, 1.0])
def test_words_in_ten_bins(beta: float | None) -> None:
    words = [str(i) for i in range(20)]
    golds = ["B" if i in (0, 1, 2) else "A" for i in range(20)]
    (found,) = of(
        Tagger(beta),
        example(words[::2], ["A"] * 10, golds[::2]),
        example(words[1::2], ["A"] * 10, golds[1::2]),
    )
    assert (found.name, found.has_probabilities) == ("tagger", beta is not None)
    assert found.bins == [
        Bin(2 * i + 0.5, 2, 0 if i == 0 else 1 if i == 1 else 2) for i in range(10)
    ]
    assert (found.decisions, found.wrong) == (20, 3)


def test_fewer_words_than_bins_and_words_without_gold() -> None:
    words = ["inf", "1", "2", "3"]
    (found,) = of(Tagger(), example(words, ["A"] * 4, ["A", "", "", "B"]))
    assert found.bins == [Bin(3.0, 1, 0), Bin(float("inf"), 1, 1)]


def test_nothing_without_gold_labels() -> None:
    assert not of(Tagger(), example(["1"], ["A"], [""]))
    assert not of(Tagger())
