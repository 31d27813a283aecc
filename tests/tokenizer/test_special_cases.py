"""Tests of ``spacy_ssvm/tokenizer/special_cases.py``."""

import re

import numpy as np
import pytest

from spacy_ssvm.tokenizer.special_cases import (
    SpecialCase,
    find_case_norms,
    make_special_case,
    read_special_cases,
    saved_special_cases,
)
from spacy_ssvm.tokenizer.tokens import Tokens

pytestmark = pytest.mark.uncompiled

CASES = {
    "gimme": make_special_case("gimme", ["gim", "me"], ["give", "me"]),
    "ab": make_special_case("ab", ("a", "b")),
    "u": make_special_case("u", ["u"], ["you"]),
}


@pytest.mark.parametrize(
    ("chunk", "tokens", "words", "message"),
    [
        ("ab", ["a"], None, "its text is not that of the tokens ['a']"),
        ("ab", "ab", None, "its text is not that of the tokens 'ab'"),
        ("ab", ["ab", ""], None, "its text is not that of the tokens"),
        ("ab", [1], None, "its text is not that of the tokens"),
        (1, [1], None, "its text is not that of the tokens"),
        ("\ud800", ["\ud800"], None, "its text is not that of the tokens"),
        ("a b", ["a", " b"], None, "is empty, or has whitespace"),
        ("", [], None, "is empty, or has whitespace"),
        ("ab", ["a", "b"], ["a"], "there is not a word for each token"),
        ("ab", ["a", "b"], ["a", ""], "there is not a word for each token"),
        ("ab", ["a", "b"], "ab", "its text is not that of the tokens"),
    ],
)
def test_what_is_no_special_case(
    chunk: object, tokens: object, words: object, message: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        make_special_case(chunk, tokens, words)


def test_a_special_case_may_be_long_but_not_endless() -> None:
    make_special_case("a" * 65_535, ["a" * 65_535])
    with pytest.raises(ValueError, match="more than 65,535 characters"):
        make_special_case("a" * 65_536, ["a" * 65_536])


def test_special_cases_are_saved() -> None:
    saved = saved_special_cases(CASES)
    assert saved["gimme"] == [["gim", "me"], ["give", "me"]]
    assert read_special_cases(saved) == CASES
    assert CASES["ab"] == SpecialCase(("a", "b"), ("a", "b"))


@pytest.mark.parametrize(
    "saved", [None, [], {"ab": ["a", "b", "c"]}, {"ab": "ab"}, {"ab": [["a"], []]}]
)
def test_other_things_are_refused(saved: object) -> None:
    with pytest.raises(ValueError, match="the special case"):
        read_special_cases(saved)


def tokens_of(*texts: str) -> Tokens:
    """The tokens of texts, by bars; blanks belong to the token before."""
    pieces = [text.split("|") for text in texts]
    flat = [piece for own in pieces for piece in own]
    ends = np.cumsum([0, *map(len, flat)])
    words = np.array([len(piece.rstrip()) for piece in flat])
    nothing = np.zeros(len(flat), dtype=bool)
    return Tokens(ends[:-1], ends[:-1] + words, nothing, nothing, np.cumsum([0, *map(len, pieces)]))


def test_words_are_those_of_the_cases_alone() -> None:
    texts = ["gim|me |a|b |gim|me", "u |gim|mes |u", "", "gim|me"]
    found = find_case_norms(CASES, [text.replace("|", "") for text in texts], tokens_of(*texts))
    own = {0: "give", 1: None, 2: None, 3: None, 4: "give", 5: None, 6: "you", 9: "you"}
    assert {k: v for k, v in found.items() if k < 10} == own
    assert found[11] == "give"
    assert find_case_norms({}, ["ab"], tokens_of("a|b")) == {}
