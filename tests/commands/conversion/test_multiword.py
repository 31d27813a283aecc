"""Tests of ``spacy_ssvm/commands/conversion/multiword.py``."""

from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.commands.conversion.multiword import cut_token


@pytest.mark.parametrize(
    ("words", "pieces"),
    [
        ("de o", "d o"),
        ("de as", "d as"),
        ("por a", "pel a"),
        ("em um", "n um"),
        ("a as", "à s"),
        ("Em isso", "N isso"),
        ("dar se lo", "dá se lo"),
        ("à le", "a u"),
        ("zu dem", "zu m"),
        ("in dem", "i m"),
        ("de les", "de s"),
        ("do n't", "do n't"),
    ],
)
def test_pieces_are_like_their_words(words: str, pieces: str) -> None:
    assert cut_token(pieces.replace(" ", ""), words.split()) == tuple(pieces.split())


def test_a_text_that_is_too_short_is_not_cut() -> None:
    assert cut_token("à", ["a", "a"]) == ()
    assert cut_token("às", ["a", "a", "s"]) == ()


def test_what_has_whitespace_or_no_end_is_not_cut() -> None:
    assert cut_token("a la", ["à", "la"]) == ()
    assert len(cut_token("a" * 100, ["a", "a"])) == 2
    assert cut_token("a" * 101, ["a", "a"]) == ()


def in_common(piece: str, word: str) -> int:
    """Letters that begin and end both, counted one by one."""
    if piece == word:
        return len(word) + 1
    first = max(n for n in range(len(piece) + 1) if word.startswith(piece[:n]))
    last = max(n for n in range(len(piece) + 1) if word.endswith(piece[len(piece) - n :]))
    return min(first + last, len(piece), len(word))


texts = st.text(alphabet="ab", min_size=1, max_size=6)


@given(texts, st.lists(texts, min_size=1, max_size=3))
def test_no_other_pieces_have_more_in_common(text: str, words: list[str]) -> None:
    pieces = cut_token(text, words)
    if len(words) > len(text):
        assert pieces == ()
        return
    assert "".join(pieces) == text
    assert len(pieces) == len(words)

    def score(own: tuple[str, ...]) -> int:
        return sum(map(in_common, own, words))

    ways = []
    for cuts in combinations(range(1, len(text)), len(words) - 1):
        ends = [0, *cuts, len(text)]
        ways.append(tuple(text[a:b] for a, b in pairwise(ends)))
    assert score(pieces) == max(map(score, ways))
    assert min(map(len, pieces)) > 0
