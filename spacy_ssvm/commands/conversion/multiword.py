"""Where to cut tokens that stand for several words: Portuguese "do", de + o, into "d" and "o"."""

from collections.abc import Sequence
from itertools import takewhile

_LONGEST = 100  # characters of a token that is cut


def cut_token(text: str, words: Sequence[str]) -> tuple[str, ...]:
    """The pieces of a text, one for each word: those that have most in common with the words.

    Empty where the text has fewer characters than there are words, whitespace, or no end.
    """
    if text.split() != [text] or len(text) > _LONGEST:
        return ()
    best: list[tuple[int, tuple[str, ...]] | None] = [(0, ()), *[None] * len(text)]
    for word in words:
        further: list[tuple[int, tuple[str, ...]] | None] = [None] * len(best)
        for start, before in enumerate(best):
            for end in range(start + 1, len(best)) if before else ():
                piece, known = text[start:end], further[end]
                score = before[0] + _in_common(piece, word) if before else 0
                if before and (known is None or score > known[0]):
                    further[end] = score, (*before[1], piece)
        best = further
    return best[-1][1] if best[-1] else ()


def _in_common(piece: str, word: str) -> int:
    """How many characters two texts begin and end with together, and one more for the same text."""
    piece, word = piece.lower(), word.lower()
    if piece == word:
        return len(word) + 1
    shared = _shared_prefix(piece, word) + _shared_prefix(piece[::-1], word[::-1])
    return min(shared, len(piece), len(word))


def _shared_prefix(one: str, other: str) -> int:
    """How many characters two texts begin with together."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
