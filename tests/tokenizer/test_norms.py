"""Tests of ``spacy_ssvm/tokenizer/norms.py``."""

import numpy as np
import pytest

from spacy_ssvm.tokenizer.characters import CHARACTERS
from spacy_ssvm.tokenizer.chunks import code_points
from spacy_ssvm.tokenizer.norms import (
    NO_NORMS,
    Norms,
    find_norms,
    learn_norms,
    make_norms,
    read_norms,
    saved_norms,
)
from spacy_ssvm.tokenizer.tokens import Tokens

pytestmark = pytest.mark.uncompiled

PAIRS = {("d", "o"): ("de", "o"), ("dá", "se"): ("dar", "se"), ("se", "lo"): ("se", "o")}


def tokens_of(*texts: list[str]) -> tuple[np.ndarray, Tokens]:
    """Tokens of texts, where a blank begins a token that is not joined to the one before it."""
    codes, _ = code_points(["".join(text) for text in texts])
    pieces = [piece for text in texts for piece in text]
    ends = np.cumsum([0, *map(len, pieces)])
    blanks = np.array([piece.startswith(" ") for piece in pieces], dtype=np.int64)
    is_last = np.array([*[piece.startswith(" ") for piece in pieces[1:]], False], dtype=bool)
    starts = ends[:-1] + blanks
    return codes, Tokens(
        starts,
        ends[1:],
        is_last,
        np.zeros(len(pieces), dtype=bool),
        np.cumsum([0, *map(len, texts)]),
    )


def found(norms: Norms, codes: np.ndarray, tokens: Tokens) -> dict[int, str]:
    CHARACTERS.look_up(codes)
    return find_norms(norms, codes, CHARACTERS.classes, tokens)


def test_whitespace_is_no_neighbour() -> None:
    norms = make_norms({("d",): ("de",), ("d", "o"): ("de", "o")})
    codes, tokens = tokens_of(["d", "\n", "o", "\t", "d", "d", "\u00a0", "d"])
    assert found(norms, codes, tokens) == {4: "de", 5: "de"}


def test_pairs_of_joined_tokens_stand_for_words() -> None:
    norms = make_norms(PAIRS)
    codes, tokens = tokens_of(["gosto", " d", "o", " dá", "se", "lo", " d", " o"], ["d"], ["o"])
    assert found(norms, codes, tokens) == {1: "de", 3: "dar", 5: "o"}
    assert found(NO_NORMS, codes, tokens) == {}


def test_the_next_pair_comes_first() -> None:
    norms = make_norms({("a", "b"): ("a", "x"), ("b", "c"): ("y", "c")})
    codes, tokens = tokens_of(["a", "b", "c"])
    assert found(norms, codes, tokens) == {1: "y"}


def test_pairs_are_told_apart_by_where_they_are_cut() -> None:
    norms = make_norms({("ab", "c"): ("x", "y"), ("a", "bc"): ("z", "bc")})
    codes, tokens = tokens_of(["ab", "c", " a", "bc", " abc", "d"])
    assert found(norms, codes, tokens) == {0: "x", 1: "y", 2: "z"}


def test_a_piece_alone_comes_last() -> None:
    norms = make_norms({("-se",): ("se",), ("n",): ("em",), ("n", "t"): ("n", "t")})
    codes, tokens = tokens_of(["ri", "-se", " -se", " n", "o", " n", "t", " so", "n", " n"])
    assert found(norms, codes, tokens) == {1: "se", 3: "em", 8: "em"}


def test_what_pieces_stand_for_most_often() -> None:
    ab, bc = (("a", "b"), ("x", "b")), (("b", "c"), ("b", "c"))
    assert learn_norms({bc: 1}) == {}
    assert learn_norms({ab: 2, (("a", "b"), ("a", "b")): 1, bc: 1}) == {("a",): ("x",)}
    others = [(("a", f"{i}"), ("a", f"{i}")) for i in range(5)]
    assert learn_norms({ab: 2, **dict.fromkeys(others, 1)}) == {("a", "b"): ("x", "b")}
    assert learn_norms({ab: 2, others[0]: 1}) == {("a",): ("x",), ("a", "0"): ("a", "0")}


def test_a_pair_does_not_decide_what_is_behind_it() -> None:
    pairs = {(("a", "b"), ("a", "x")): 3, (("b", "c"), ("b", "c")): 5}
    words = learn_norms(pairs)
    assert words == {("a", "b"): ("a", "x"), ("b", "c"): ("b", "c")}
    codes, tokens = tokens_of(["a", "b", "c", " a", "b"])
    assert found(make_norms(words), codes, tokens) == {4: "x"}


def test_norms_are_saved() -> None:
    words = {**PAIRS, ("-se",): ("se",)}
    loaded = read_norms(saved_norms(make_norms(words)))
    assert loaded.words == words
    assert saved_norms(NO_NORMS) == []


@pytest.mark.parametrize(
    "saved",
    [
        *(None, {}, "ab", [["a", "b"]], [[["a"]]], [[["a"], [1]]], [[["a"], [""]]]),
        *([[["a"], ["b", "c"]]], [[[], []]], [[["a"] * 3, ["b"] * 3]]),
    ],
)
def test_other_things_are_refused(saved: object) -> None:
    with pytest.raises(ValueError, match="not lists of pieces and words"):
        read_norms(saved)


def test_pieces_are_saved_once() -> None:
    with pytest.raises(ValueError, match="there twice"):
        read_norms([[["a"], ["x"]], [["a"], ["y"]]])
