"""Tests of ``spacy_ssvm/commands/reliability.py``."""

from types import SimpleNamespace

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from spacy_ssvm.commands.reliability import Bin, Reliability, reliabilities
from spacy_ssvm.components.page import Decision, ExplainablePipe


class Tagger(ExplainablePipe[str]):
    """A component whose confidence is the text of a word."""

    def __init__(self, name: str, beta: float | None) -> None:
        self.name = name
        self.model = SimpleNamespace(beta=beta)

    def __call__(self, doc: Doc) -> Doc:
        return doc

    def decisions(self, doc: Doc, reference: Doc | None = None) -> list[Decision[str]]:
        assert reference is not None
        return [
            Decision(token.i, token.i + 1, token.lemma_, token.tag_ or None, float(token.text))
            for token in reference
        ]


def example(words: list[str], labels: list[str], golds: list[str]) -> Example:
    vocab = spacy.blank("en").vocab
    return Example(Doc(vocab, words), Doc(vocab, words, lemmas=labels, tags=golds))


@Language.factory("by_text", default_config={"beta": None})
def make_tagger(nlp: Language, name: str, beta: float | None) -> Tagger:
    return Tagger(name, beta)


def of(*examples: Example, beta: float | None = None) -> list[Reliability]:
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("by_text", name="tagger", config={"beta": beta})
    return list(reliabilities(nlp, examples))


@pytest.mark.parametrize("beta", [None, 1.0])
def test_words_in_ten_bins(beta: float | None) -> None:
    words = [str(i) for i in range(20)]
    golds = ["B" if i in (0, 1, 2) else "A" for i in range(20)]
    (found,) = of(
        example(words[::2], ["A"] * 10, golds[::2]),
        example(words[1::2], ["A"] * 10, golds[1::2]),
        beta=beta,
    )
    assert (found.name, found.has_probabilities) == ("tagger", beta is not None)
    assert found.bins == [
        Bin(2 * i + 0.5, 2, 0 if i == 0 else 1 if i == 1 else 2) for i in range(10)
    ]
    assert (found.decisions, found.wrong) == (20, 3)


def test_fewer_words_than_bins_and_words_without_gold() -> None:
    words = ["inf", "1", "2", "3"]
    (found,) = of(example(words, ["A"] * 4, ["A", "", "", "B"]))
    assert found.bins == [Bin(3.0, 1, 0), Bin(float("inf"), 1, 1)]


def test_nothing_without_gold_labels() -> None:
    assert not of(example(["1"], ["A"], [""]))
    assert not of()
