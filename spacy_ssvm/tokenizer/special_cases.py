"""Special cases: chunks whose tokens users give, and the words that these stand for."""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from spacy_ssvm.storage import require
from spacy_ssvm.tokenizer.chunks import LONGEST, is_text
from spacy_ssvm.tokenizer.tokens import Tokens

_CHUNK = re.compile(r"\S+")


class SpecialCase(NamedTuple):
    """The tokens of a chunk."""

    tokens: tuple[str, ...]
    words: tuple[str, ...]  #: that they stand for, as a rule their texts


SpecialCases = Mapping[str, SpecialCase]


def make_special_case(chunk: Any, tokens: Any, words: Any = None) -> SpecialCase:
    """A special case. words: None for the texts of the tokens.

    Raises ValueError where it does not say how a chunk is cut.
    """
    are_lists = isinstance(tokens, (list, tuple)) and isinstance(words, (list, tuple, type(None)))
    what = f"the special case {chunk!r:.60}"
    require(
        are_lists and all(map(is_text, tokens)) and "".join(tokens) == chunk,
        f"{what}: its text is not that of the tokens {tokens!r:.60}",
    )
    require(chunk.split() == [chunk], f"{what} is empty, or has whitespace")
    require(len(chunk) <= LONGEST, f"{what} has more than {LONGEST:,} characters")
    case = SpecialCase(tuple(tokens), tuple(tokens if words is None else words))
    are_words = len(case.words) == len(case.tokens) and all(map(is_text, case.words))
    require(are_words, f"{what}: there is not a word for each token, but {words!r:.60}")
    return case


def saved_special_cases(cases: SpecialCases) -> dict[str, list[list[str]]]:
    """Special cases in JSON types: the tokens and the words of each chunk."""
    return {chunk: [[*case.tokens], [*case.words]] for chunk, case in cases.items()}


def read_special_cases(saved: Any) -> dict[str, SpecialCase]:
    """The special cases that were saved. Raises ValueError for anything else."""
    require(isinstance(saved, dict), "the special cases have no names")
    for chunk, case in saved.items():
        is_pair = isinstance(case, list) and len(case) == 2
        require(is_pair, f"the special case {chunk!r:.60} has no tokens and words")
    return {chunk: make_special_case(chunk, *case) for chunk, case in saved.items()}


def find_case_norms(
    cases: SpecialCases, texts: Sequence[str], tokens: Tokens
) -> dict[int, str | None]:
    """The words that tokens of special cases stand for, None for their texts.

    tokens: of the texts. The tokens are named by their numbers.
    """
    found: dict[int, str | None] = {}
    if not cases:
        return found
    text_start = 0
    for text, (first, end) in zip(texts, pairwise(tokens.text_tokens.tolist()), strict=True):
        starts = tokens.starts[first:end].tolist()
        token = 0
        for match in _CHUNK.finditer(text):
            if match[0] in cases:
                token = starts.index(text_start + match.start(), token)
                for piece, word in zip(*cases[match[0]], strict=True):
                    found[first + token] = word if word != piece else None
                    token += 1
        text_start += len(text)
    return found
