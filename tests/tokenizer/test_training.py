"""Tests of ``spacy_ssvm/tokenizer/training.py``."""

import numpy as np
import pytest
from marks import compiled_only

from spacy_ssvm.chains.training import ChainTrainer
from spacy_ssvm.solvers.dual_coordinate_descent import DualCoordinateDescent
from spacy_ssvm.tokenizer import training
from spacy_ssvm.tokenizer.model import TokenizerModel
from spacy_ssvm.tokenizer.nodes import STARTS, TOKEN, restrict
from spacy_ssvm.tokenizer.templates import parse_character_templates
from spacy_ssvm.tokenizer.training import GoldText, learn

pytestmark = pytest.mark.uncompiled

SOLVER = DualCoordinateDescent(C=1.0)


def gold(*tokens: str, sentences: bool = True) -> GoldText:
    """A text: "+" joins a token to the one before it, "|" begins a sentence."""
    text, starts, firsts = "", [], [0]
    for token in tokens:
        bare = token.lstrip("+|")
        text += " " if starts and "+" not in token else ""
        if "|" in token:
            firsts.append(len(text))
        starts.append(len(text))
        text += bare
    return GoldText(text, np.array(starts), np.array(firsts) if sentences else None)


def model_of(*texts: GoldText, epochs: int = 10) -> TokenizerModel:
    model = TokenizerModel(parse_character_templates(["tokenizer"]))
    learn(model, texts, SOLVER, epochs)
    return model


TEXTS = [
    gold("Cats", "purr", "+.", "|Dogs", "bark", "+!"),
    gold("We", "sleep", "+.", "|They", "do", "+n't", "+."),
    gold("Birds", "sing", "+,", "cats", "do", "+n't", "+.", "|e.g.", "here"),
]


def cut(model: TokenizerModel, text: str) -> list[str]:
    """The tokens of a text, with "|" before those that begin further sentences."""
    tokens, _ = model.segment([text])
    pairs = zip(tokens.starts, tokens.ends, tokens.is_sentence, strict=True)
    return ["|" * bool(s and i) + text[a:b] for i, (a, b, s) in enumerate(pairs)]


def test_what_was_learned_is_found_in_other_words() -> None:
    model = model_of(*TEXTS)
    assert cut(model, "Frogs croak. Cows don't! e.g. we") == [
        *("Frogs", "croak", ".", "|Cows", "do", "n't", "!", "|e.g.", "we"),
    ]


def test_sentences_that_are_not_annotated_say_nothing() -> None:
    unknown = [one._replace(sentences=None) for one in TEXTS]
    mixed = model_of(*TEXTS, *unknown)
    assert cut(mixed, "Frogs croak. Cows don't!") == [
        *("Frogs", "croak", ".", "|Cows", "do", "n't", "!"),
    ]
    without = model_of(*unknown)
    assert "|" not in " ".join(cut(without, "Frogs croak. Cows don't! e.g. we"))


def test_what_begins_without_annotation_has_any_label() -> None:
    """Of Docs without sentences, and of tokens without marks in others."""
    known = TEXTS[0]
    assert known.sentences is not None
    partial = known._replace(unmarked=known.starts[known.starts != known.sentences[0]])
    texts = model_of(*TEXTS).read_texts([known.text] * 3)
    found = training._labels([known, known._replace(sentences=None), partial], texts, True)
    of_known, of_unknown, of_partial = np.split(found, texts.nodes.text_nodes[1:-1])
    are_first = np.split(restrict(texts.chunks, texts.nodes) == STARTS, 3)[0]
    assert are_first.any()
    assert (of_known[are_first] >= TOKEN).all()
    for labels in (of_unknown, of_partial):
        assert (labels[are_first] == -1).all()
        np.testing.assert_array_equal(labels[~are_first], of_known[~are_first])


@compiled_only
def test_batches_do_not_change_what_is_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = model_of(*TEXTS)
    monkeypatch.setattr(training, "_BATCH", 1)
    assert model_of(*TEXTS).to_bytes() == whole.to_bytes()


def test_a_token_with_whitespace_is_cut_there() -> None:
    text = GoldText(
        "New York is big. New York it is.", np.array([0, 9, 12, 15, 17, 26, 29, 31]), None
    )
    model = model_of(text, text)
    assert cut(model, "New York is") == ["New", "York", "is"]


def trainer_of(model: TokenizerModel, epochs: int) -> ChainTrainer:
    """What a model learns TEXTS with."""
    trainers = []

    class Kept(ChainTrainer):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments)
            trainers.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "ChainTrainer", Kept)
        learn(model, TEXTS, SOLVER, epochs)
    (trainer,) = trainers
    return trainer


def test_each_sentence_is_an_example() -> None:
    model = TokenizerModel(parse_character_templates(["char[0]"]))
    sentences = [one.sentences for one in TEXTS if one.sentences is not None]
    assert trainer_of(model, 1).problem.number_of_examples == sum(map(len, sentences)) == 6


@compiled_only
def test_the_dual_gap_closes() -> None:
    model = TokenizerModel(parse_character_templates(["tokenizer"]))
    trainer = trainer_of(model, 40)
    assert model.summary is not None
    objective = model.summary.objective(trainer.problem, trainer.run.w)
    assert objective.gap < 0.01


def test_batches_end_by_characters_and_by_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "_BATCH", 4)
    nothing = np.zeros(0, dtype=np.int64)
    texts = [GoldText(text, nothing, None) for text in ("abc", "", "", "a", "", "b")]
    batches = training._batches(texts)
    assert [[one.text for one in batch] for batch in batches] == [["abc"], ["", "", "a"], ["", "b"]]
