"""Edit scripts: how a lemma is made of a word.

A script has the case of the lemma, and what is cut off and put on at both ends of the word, or all
of the lemma where they share nothing. As text, which is the name of a label:

    lower                            Dogs' -> dogs'
    lower, suffix -3 +y              cities -> city, Cities -> city
    keep, suffix -2                  Smith's -> Smith
    lower, prefix -2, suffix -1 +en  gesagt -> sagen
    lower, whole +go                 went -> go
"""

import json
import re
from difflib import Match, SequenceMatcher
from itertools import takewhile
from typing import NamedTuple

from spacy_ssvm.files import shorten

LOWER, KEEP, TITLE, UPPER = CASES = ("lower", "keep", "title", "upper")

_LEAST_KEPT = 3  # one in so many letters
_MOST_PAIRS = 2**20  # of letters that are compared
_PLAIN = re.compile(r'[^\s",\\+]+')
_ADDED = r'(?: \+([^\s",\\+]+|"\S+"))?'
_SCRIPT = re.compile(
    rf"({'|'.join(CASES)})"
    rf"(?:, whole{_ADDED}|(?:, prefix -(\d{{1,6}}){_ADDED})?(?:, suffix -(\d{{1,6}}){_ADDED})?)"
)


class EditScript(NamedTuple):
    """How a lemma is made of a word."""

    case: str  #: of the lemma, one of ``CASES``: all small, as in the word, one or all capitals
    prefix: int = 0  #: letters that are cut off at the beginning
    before: str = ""  #: what is put on there, or the lemma where nothing of the word is left
    suffix: int = 0  #: letters that are cut off at the end
    after: str = ""  #: what is put on there
    is_whole: bool = False  #: whether nothing of the word is left

    def apply(self, word: str) -> str:
        """The lemma of a word; "" where the word is too short, or nothing would be left of it."""
        if self.is_whole:
            return _with_case(self.before, self.case)
        end = len(word) - self.suffix
        if end <= self.prefix:
            return ""
        return _with_case(self.before + word[self.prefix : end] + self.after, self.case)

    @property
    def min_length(self) -> int:
        """The letters that a word must have."""
        return 1 if self.is_whole else self.prefix + self.suffix + 1

    def __str__(self) -> str:
        if self.is_whole:
            return f"{self.case}, whole{_shown(self.before)}"
        ends = [("prefix", self.prefix, self.before), ("suffix", self.suffix, self.after)]
        shown = [f"{name} -{cut}{_shown(added)}" for name, cut, added in ends if cut or added]
        return ", ".join([self.case, *shown])


#: That of words which are their own lemma, but for capitals.
SAME = EditScript(LOWER)


def edit_script(word: str, lemma: str) -> EditScript:
    """The script that makes a lemma of a word; neither is empty.

    The longest part that both share, but for case, is kept, unless it is less than a third of the
    word, or digits would be put on, which would tell nothing about other words. The case is the
    first that fits, in the order of ``CASES``, so that words in small letters have the script of
    the same words elsewhere.
    """
    folded, wanted = _folded(word), _folded(lemma)
    match = _longest_match(folded, wanted)
    added = wanted[: match.b] + wanted[match.b + match.size :]
    if match.size * _LEAST_KEPT >= len(word) and not any(c.isdigit() for c in added):
        script = EditScript(
            KEEP,
            match.a,
            wanted[: match.b],
            len(word) - match.a - match.size,
            wanted[match.b + match.size :],
        )
        for case in CASES:
            found = script._replace(case=case)
            if found.apply(word) == lemma:
                return found
    for case in CASES:
        if _with_case(wanted, case) == lemma:
            return EditScript(case, before=wanted, is_whole=True)
    return EditScript(KEEP, before=lemma, is_whole=True)


def read_script(text: str) -> EditScript:
    """The script that a text shows. Raises ValueError where it shows none."""
    match = _SCRIPT.fullmatch(text)
    if match is not None:
        case, whole, prefix, before, suffix, after = match.groups()
        try:
            if whole is not None:
                script = EditScript(case, before=_read_added(whole), is_whole=True)
            else:
                cut = int(prefix or 0), int(suffix or 0)
                script = EditScript(case, cut[0], _read_added(before), cut[1], _read_added(after))
        except ValueError:
            match = None
    if match is None or str(script) != text:
        raise ValueError(
            f"'{shorten(text)}' is no edit script: write the case, one of {', '.join(CASES)}, and "
            "what is cut and added, such as lower, suffix -3 +y"
        )
    return script


def _longest_match(word: str, lemma: str) -> Match:
    """The longest part that both share; of long words, at their beginning: time is quadratic."""
    if len(word) * len(lemma) > _MOST_PAIRS:
        pairs = zip(word, lemma, strict=False)
        return Match(0, 0, sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs)))
    return SequenceMatcher(None, word, lemma, autojunk=False).find_longest_match()


def _folded(text: str) -> str:
    """A text in small letters, each in its place."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def _with_case(text: str, case: str) -> str:
    if case == LOWER:
        return text.lower()
    if case == UPPER:
        return text.upper()
    return text[:1].upper() + text[1:].lower() if case == TITLE else text


def _shown(added: str) -> str:
    """What is put on, in quotes where it has spaces or signs of its own."""
    if not added:
        return ""
    is_plain = _PLAIN.fullmatch(added)
    return " +" + (added if is_plain else json.dumps(added).replace(" ", r"\u0020"))


def _read_added(text: str | None) -> str:
    if text is None:
        return ""
    added = str(json.loads(text)) if text.startswith('"') else text
    added.encode()  # half a character is none
    return added
