"""Tests of ``spacy_ssvm/tokenizer/explanation.py``."""

import re
from random import Random

import numpy as np
import pytest

from spacy_ssvm.solvers.dual_coordinate_descent import DualCoordinateDescent
from spacy_ssvm.tokenizer.explanation import explain_character
from spacy_ssvm.tokenizer.model import TokenizerModel
from spacy_ssvm.tokenizer.templates import parse_character_templates
from spacy_ssvm.tokenizer.training import GoldText, learn

pytestmark = pytest.mark.uncompiled

TEMPLATES = [
    *("char[-1]+char[0]", "class[1]", "left[0]+right[0]", "first[0]", "chunk[-1]+space[0]"),
    *("lower[1]", "ending2[-1]", "char[3]", "link[0]"),
]


GOLD = [
    GoldText("Ab a1. A", np.array([0, 3, 5, 7]), np.array([0, 7])),
    GoldText("a. B. Ab", np.array([0, 1, 3, 4, 6]), np.array([0, 3, 6])),
    GoldText("b@c a1.A b,", np.array([0, 4, 6, 7, 9, 10]), np.array([0, 7])),
]


def trained(templates: list[str], gold: list[GoldText]) -> TokenizerModel:
    model = TokenizerModel(parse_character_templates(templates))
    learn(model, gold, DualCoordinateDescent(C=1.0), 8)
    return model


@pytest.fixture(scope="module")
def model() -> TokenizerModel:
    return trained(TEMPLATES, GOLD)


def test_reasons_add_up_to_the_margin(model: TokenizerModel) -> None:
    found = explain_character(model, "Ab c1. A", 5, top=None, against=None, sentences=True)
    assert found.token == "."
    assert found.label == "token"
    assert sum(reason.difference for reason in found.reasons) == pytest.approx(found.margin)
    values = {reason.template: reason.value for reason in found.reasons}
    assert values["char[-1]+char[0]"] == "1 + ."
    assert values["class[1]"] == "<end>"
    assert values["first[0]"] == "inner"


def test_values_of_first_characters(model: TokenizerModel) -> None:
    found = explain_character(model, "Ab a1.\nB. Ab", 7, top=None, against="token", sentences=True)
    assert {found.label, found.runner_up} == {"sentence", "token"}
    values = {reason.template: reason.value for reason in found.reasons}
    assert values["first[0]"] == "first"
    assert values["lower[1]"] == "ab"
    assert values["ending2[-1]"] == "1."


def test_values_of_parts_that_are_looked_up() -> None:
    gold = GoldText("Ab Ab. Ab c Abc", np.array([0, 3, 5, 7, 10, 12]), np.array([0]))
    words = trained(["left_word[0]", "right_word[0]", "left_word[0]+right_word[0]"], [gold])
    found = explain_character(words, "Ab!", 2, top=None, against=None, sentences=True)
    values = {reason.template: reason.value for reason in found.reasons if reason.value}
    assert values == {
        "left_word[0]": "token",
        "right_word[0]": "unknown",
        "left_word[0]+right_word[0]": "token + unknown",
    }


def test_without_sentences_a_token_is_compared_with_none(model: TokenizerModel) -> None:
    found = explain_character(model, "Ab c1.A", 6, top=None, against=None, sentences=True)
    assert {found.label, found.runner_up} == {"sentence", "token"}
    found = explain_character(model, "Ab c1.A", 6, top=None, against=None, sentences=False)
    assert found.runner_up == "inside"
    assert sum(reason.difference for reason in found.reasons) == pytest.approx(found.margin)
    with pytest.raises(ValueError, match="at character 7: a token begins there in any case"):
        explain_character(model, "Ab c1. A", 7, top=None, against=None, sentences=False)


def test_the_strongest_are_shown(model: TokenizerModel) -> None:
    everything = explain_character(model, "Ab c1. A", 5, top=None, against=None, sentences=True)
    few = explain_character(model, "Ab c1. A", 5, top=1, against=None, sentences=True)
    assert len(few.reasons) < len(everything.reasons)
    assert few.margin == everything.margin


def test_where_nothing_ever_begins_nothing_is_decided() -> None:
    """In the corpus, no token begins between two letters."""
    random = Random(0)
    words = ["".join(random.choices("abcdefgh", k=8)) for _ in range(300)]
    gold = [GoldText(f"{word}. A", np.array([0, 8, 10]), np.array([0, 10])) for word in words]
    model = trained(["class[-1]+class[0]"], gold)
    with pytest.raises(ValueError, match="it is in a context where nothing ever begins"):
        explain_character(model, "hgfedcba. A", 4, top=None, against=None, sentences=True)


@pytest.mark.parametrize(
    ("i", "message"),
    [
        (0, "it begins the text"),
        (1, "it is in a chunk that is always cut like this"),
        (2, "it is whitespace, or beyond the text"),
        (99, "it is whitespace, or beyond the text"),
        (-1, "it is whitespace, or beyond the text"),
    ],
)
def test_what_is_not_decided_cannot_be_explained(
    model: TokenizerModel, i: int, message: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        explain_character(model, "Ab c1. A", i, top=None, against=None, sentences=True)
