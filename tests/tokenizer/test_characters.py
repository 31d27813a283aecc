"""Tests of ``spacy_ssvm/tokenizer/characters.py``."""

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.tokenizer.characters import (
    BLANK,
    DIGIT,
    LETTER,
    LINE_BREAK,
    LOWER,
    OTHER,
    SPACE,
    UPPER,
    CharacterTable,
    class_of,
    has_unknown,
)

pytestmark = pytest.mark.uncompiled


@pytest.mark.parametrize(
    ("characters", "expected"),
    [
        (" ", SPACE),
        ("\n\r\x0b\x0c\x1c\x85\u2028", LINE_BREAK),
        ("\t\x1f\xa0\u2003\u3000", BLANK),
        ("aßéя", LOWER),
        ("AÉЯ", UPPER),
        ("1٣²", DIGIT),
        ("字אก\u0301\u093e", LETTER),
        (".-@€\u200d\0😀", OTHER),
    ],
)
def test_classes_of_characters(characters: str, expected: int) -> None:
    assert [class_of(character) for character in characters] == [expected] * len(characters)


@given(st.characters())
def test_whitespace_and_line_breaks_are_those_of_python(character: str) -> None:
    kind = class_of(character)
    assert (kind <= BLANK) == character.isspace()
    assert (kind == LINE_BREAK) == (len(f"a{character}a".splitlines()) == 2)
    assert (kind == UPPER) == character.isupper()
    if unicodedata.category(character) == "Lu":
        assert kind == UPPER


@given(st.text())
def test_characters_are_looked_up_when_they_are_met(text: str) -> None:
    table = CharacterTable()
    codes = np.array(list(map(ord, text)), dtype=np.uint32)
    assert has_unknown(codes, table.classes) == bool(text)
    table.look_up(codes)
    assert not has_unknown(codes, table.classes)
    assert table.classes[codes].tolist() == list(map(class_of, text))
    lower = [low if len(low := c.lower()) == 1 else c for c in text]
    assert table.lower[codes].tolist() == list(map(ord, lower))
    others = np.flatnonzero(table.classes)
    assert {*others.tolist()} == {*codes.tolist()}
