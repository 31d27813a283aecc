"""What features know of characters: their classes and lower-case forms, by code point."""

import unicodedata

import numpy as np

from spacy_ssvm.kernels.compile import inner_kernel
from spacy_ssvm.kernels.types import Codes, ShortKeys

#: The classes, from 1; those up to ``BLANK`` are whitespace, as of ``str.isspace``.
SPACE, LINE_BREAK, BLANK, LOWER, UPPER, DIGIT, LETTER, OTHER = range(1, 9)

_CODE_POINTS = 0x110000


class CharacterTable:
    """The class and the lower-case form of each code point, looked up when it is first met.

    Safe to use from several threads: they may look up the same, and write the same.
    """

    def __init__(self) -> None:
        self.classes: Codes = np.zeros(_CODE_POINTS, dtype=np.int8)
        self.lower: ShortKeys = np.zeros(_CODE_POINTS, dtype=np.uint32)

    def look_up(self, codes: ShortKeys) -> None:
        """Look up those of the code points that have not been met: uint32 [n]."""
        if has_unknown(codes, self.classes):
            for code in np.unique(codes).tolist():
                character = chr(code)
                lower = character.lower()
                self.lower[code] = ord(lower) if len(lower) == 1 else code
                self.classes[code] = class_of(character)  # last: it says that both are there


def class_of(character: str) -> int:
    """The class of a character."""
    if character.isspace():
        is_break = len(f"{character}.".splitlines()) > 1
        return SPACE if character == " " else LINE_BREAK if is_break else BLANK
    if character.isupper():
        return UPPER
    if character.islower():
        return LOWER
    if character.isdigit():
        return DIGIT
    # Marks are parts of letters: vowels in the scripts of India, accents.
    is_letter = character.isalpha() or unicodedata.category(character).startswith("M")
    return LETTER if is_letter else OTHER


@inner_kernel
def has_unknown(codes: ShortKeys, classes: Codes) -> bool:
    """Whether the class of a code point is not known."""
    for code in codes:  # noqa: SIM110  # numba does not know any()
        if classes[code] == 0:
            return True
    return False


#: The one table of the process.
CHARACTERS = CharacterTable()
