"""The words that pieces of the text stand for: the NORM of tokens such as "d" + "o", de + o.

Pieces are tokens that are written together with the token before or behind them. What a piece
stands for is looked up with the piece behind it, then with the one before it, and then alone.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from spacy_ssvm.features.extraction import mix
from spacy_ssvm.kernels.compile import inlined_kernel, kernel
from spacy_ssvm.kernels.types import Codes, Ints, Keys, ShortKeys
from spacy_ssvm.storage import require
from spacy_ssvm.tokenizer.chunks import LAST_BLANK, code_points, is_text
from spacy_ssvm.tokenizer.tokens import Tokens
from spacy_ssvm.weights.hash_table import find_slot, number_keys

#: The texts of one or two pieces, and the words that they stand for.
Pieces = tuple[str, ...]

_SEED = np.uint64(0x9FB21C651E98DF25)
_BETWEEN = np.uint64(2**32)  # no code point


class Norms(NamedTuple):
    """The table."""

    words: dict[Pieces, Pieces]  #: by pieces, the words that they stand for
    slots: Keys  #: a hash table, see ``number_keys``: payloads 1, 2, ... for pieces
    numbers: Ints  #: int64 [n, 2]: of the words of both in ``names``; -1 for the text itself
    names: list[str]


def make_norms(words: Mapping[Pieces, Pieces]) -> Norms:
    """A table of single pieces and pairs of them, and their words."""
    numbers: dict[str, int] = {}
    rows = [
        [
            numbers.setdefault(word, len(numbers)) if word != piece else -1
            for piece, word in zip(pieces, own, strict=True)
        ]
        for pieces, own in words.items()
    ]
    keys = np.array([_key_of(pieces) for pieces in words], dtype=np.uint64)
    both = np.array([[*row, -1][:2] for row in rows], dtype=np.int64).reshape(-1, 2)
    return Norms(dict(words), number_keys(keys), both, [*numbers])


def learn_norms(pairs: Mapping[tuple[Pieces, Pieces], int]) -> dict[Pieces, Pieces]:
    """What pieces stand for most often, alone, and in pairs where that is something else.

    pairs: how often neighbours without whitespace between them stand for which words.
    """
    of_pairs: dict[Pieces, Counter[Pieces]] = {}
    alone: dict[Pieces, Counter[Pieces]] = {}
    for (pieces, words), number in pairs.items():
        of_pairs.setdefault(pieces, Counter())[words] += number
        for piece, word in zip(pieces, words, strict=True):
            alone.setdefault((piece,), Counter())[(word,)] += number
    known = {pieces: own.most_common(1)[0][0] for pieces, own in alone.items()}
    found = {pieces: words for pieces, words in known.items() if words != pieces}
    in_pairs = {pieces: own.most_common(1)[0][0] for pieces, own in of_pairs.items()}
    others = {
        pieces: words
        for pieces, words in in_pairs.items()
        if words != known[pieces[:1]] + known[pieces[1:]]
    }
    # What is behind a pair of these must not be decided by it.
    seconds = {pieces[1] for pieces in others}
    behind = {pieces: words for pieces, words in in_pairs.items() if pieces[0] in seconds}
    return found | others | behind


def _key_of(pieces: Sequence[str]) -> int:
    codes, starts = code_points(pieces)
    return int(_key(codes, int(starts[0]), int(starts[1]), int(starts[-1])))


@inlined_kernel
def _key(codes: ShortKeys, start: int, middle: int, end: int) -> int:
    """The key of a piece, or of two that meet at ``middle``; not 0."""
    key = _SEED
    for i in range(start, end):
        if i == middle:
            key = mix(key, _BETWEEN)
        key = mix(key, np.uint64(codes[i]))
    return max(key, np.uint64(1))  # type: ignore[no-any-return]


NO_NORMS = make_norms({})


def find_norms(norms: Norms, codes: ShortKeys, classes: Codes, tokens: Tokens) -> dict[int, str]:
    """The words that tokens of texts stand for, where these are others; tokens by their numbers.

    codes: of the texts. classes: see ``CharacterTable``.
    """
    if not norms.names:
        return {}
    at, numbers = _find_norms(norms.slots, norms.numbers, codes, classes, tokens)
    words = [norms.names[number] for number in numbers.tolist()]
    return dict(zip(at.tolist(), words, strict=True))


@kernel
def _find_norms(
    slots: Keys, numbers: Ints, codes: ShortKeys, classes: Codes, tokens: Tokens
) -> tuple[Ints, Ints]:
    starts, ends = tokens.starts, tokens.ends
    found = np.full(len(starts), -1, dtype=np.int64)
    for text in range(len(tokens.text_tokens) - 1):
        first, last = tokens.text_tokens[text], tokens.text_tokens[text + 1] - 1
        for t in range(first, last + 1):
            if _is_blank(codes, classes, tokens, t):
                continue
            is_joined = t > first and ends[t - 1] == starts[t]
            is_joined = is_joined and not _is_blank(codes, classes, tokens, t - 1)
            joins = t < last and ends[t] == starts[t + 1]
            joins = joins and not _is_blank(codes, classes, tokens, t + 1)
            row = -1
            column = 0
            if joins:
                row = _find(slots, _key(codes, starts[t], ends[t], ends[t + 1]))
            if is_joined and row < 0:
                row, column = _find(slots, _key(codes, starts[t - 1], starts[t], ends[t])), 1
            if (joins or is_joined) and row < 0:
                row, column = _find(slots, _key(codes, starts[t], ends[t], ends[t])), 0
            if row >= 0:
                found[t] = numbers[row, column]
    at = np.flatnonzero(found >= 0)
    return at, found[at]


@inlined_kernel
def _is_blank(codes: ShortKeys, classes: Codes, tokens: Tokens, t: int) -> bool:
    """Whether a token is whitespace."""
    return classes[codes[tokens.starts[t]]] <= LAST_BLANK  # type: ignore[no-any-return]


@inlined_kernel
def _find(slots: Keys, key: int) -> int:
    """The number of a key, -1 for none."""
    slot = find_slot(slots, key)
    return np.int64(slots[slot, 1]) - 1 if slots[slot, 0] == key else -1


def saved_norms(norms: Norms) -> list[list[list[str]]]:
    """The table in JSON types: pieces and words."""
    return [[[*pieces], [*words]] for pieces, words in norms.words.items()]


def read_norms(saved: Any) -> Norms:
    """The saved table. Raises ValueError for anything else."""
    what = "the words that pieces stand for are not lists of pieces and words"
    require(isinstance(saved, list), what)
    for row in saved:
        require(isinstance(row, list) and len(row) == 2 and all(map(_are_texts, row)), what)
        require(len(row[0]) == len(row[1]), what)
    words = {tuple(pieces): tuple(own) for pieces, own in saved}
    require(len(words) == len(saved), "the words that some pieces stand for are there twice")
    return make_norms(words)


def _are_texts(texts: Any) -> bool:
    """Whether texts are those of one or two pieces."""
    are_some = isinstance(texts, list) and len(texts) in (1, 2)
    return are_some and all(map(is_text, texts))
