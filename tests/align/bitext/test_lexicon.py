"""Lexicons: files, look-up, and arrays that do not fit."""

import gzip
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_bitexts import hash_lower

from spacy_ssvm.align.bitext.lexicon import (
    ARRAYS,
    Lexicon,
    arrays_of,
    fill_numbers,
    load_lexicon,
    read_lexicon,
)

pytestmark = pytest.mark.uncompiled

words = st.text("abAB", min_size=1, max_size=2)


def hash_words(texts: Any) -> np.ndarray:
    return np.array([hash_lower(text) for text in texts], dtype=np.uint64)


def read(folder: Any, text: str, name: str = "words.tsv") -> Lexicon:
    path = folder / name
    data = text.encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return read_lexicon(path, hash_words)


def numbers(lexicon: Lexicon, source: list[str], target: list[str]) -> list[list[float]]:
    found = np.full((len(source), len(target)), np.nan, dtype=np.float32)
    fill_numbers(lexicon, hash_words(source), hash_words(target), found)
    return [[float(value) for value in row] for row in found]


@pytest.mark.parametrize("name", ["words.tsv", "words.tsv.gz"])
def test_pairs_of_words_have_their_number(tmp_path, name):
    lexicon = read(tmp_path, "\ufeffHouse\tHaus\n\nthe\tdas\t0.25\nthe\tder\t-2\r\n", name)
    expected = [[0.25, -2.0, 0.0], [0.0, 0.0, 1.0]]
    assert numbers(lexicon, ["THE", "house"], ["das", "der", "haus"]) == expected
    assert numbers(lexicon, ["Haus"], ["house"]) == [[0.0]]  # the languages differ


@given(st.dictionaries(st.tuples(words, words), st.integers(-9, 9), min_size=1))
def test_of_pairs_that_are_one_in_lower_case_the_largest_number_counts(tmp_path_factory, pairs):
    text = "".join(f"{a}\t{b}\t{number}\n" for (a, b), number in pairs.items())
    lexicon = read(tmp_path_factory.getbasetemp(), text)
    found = {}
    for (a, b), number in pairs.items():
        key = a.lower(), b.lower()
        found[key] = max(number, found.get(key, number))
    assert len(lexicon.numbers) == len(found)
    for (a, b), number in found.items():
        assert numbers(lexicon, [a], [b]) == [[number]]


@pytest.mark.parametrize("line", [
    "house", "house\t", "\tHaus", "a\tb\tc", "a\tb\t1\t2", "a b\tc", "a\tb c\t1", "a\tb\t",
])  # fmt: skip
def test_a_malformed_line_is_refused_by_number(tmp_path, line):
    with pytest.raises(ValueError, match="expected a word, a tab and a word") as refusal:
        read(tmp_path, f"the\tdas\n\n{line}\n")
    assert str(refusal.value).startswith(f"{tmp_path / 'words.tsv'}, line 3: ")


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "1e39"])
def test_a_number_that_is_not_finite_is_refused(tmp_path, number):
    with pytest.raises(ValueError, match=r"line 1: the number .* is not finite"):
        read(tmp_path, f"the\tdas\t{number}\n")


def test_files_without_words_are_refused(tmp_path):
    with pytest.raises(ValueError, match="the lexicon has no words"):
        read(tmp_path, "\n")
    path = tmp_path / "words.gz"
    path.write_bytes(gzip.compress(b"a\tb\n" * 99)[:-9])
    with pytest.raises(ValueError, match="cannot be read as a lexicon"):
        read_lexicon(path, hash_words)
    path = tmp_path / "words.tsv"
    path.write_bytes(b"a\t\xff\n")
    with pytest.raises(ValueError, match="cannot be read as a lexicon"):
        read_lexicon(path, hash_words)


def test_saved_arrays_are_checked(tmp_path):
    lexicon = read(tmp_path, "a\tb\t2\nc\td\t3\n")
    arrays = arrays_of(lexicon)
    assert {name: array.dtype.type for name, array in arrays.items()} == ARRAYS
    assert numbers(load_lexicon(arrays), ["a"], ["b"]) == [[2.0]]
    forged = [
        ({"lexicon_numbers": arrays["lexicon_numbers"][:1]}, "lacks numbers or words"),
        ({"lexicon_pairs": arrays["lexicon_pairs"][:, None]}, "lacks numbers or words"),
        ({"lexicon_pairs": arrays["lexicon_pairs"][[1, 0]]}, "not sorted"),
        ({"lexicon_pairs": arrays["lexicon_pairs"][[0, 0]]}, "not sorted"),
        ({"lexicon_numbers": arrays["lexicon_numbers"] * np.float32(np.inf)}, "not finite"),
    ]
    for changes, message in forged:
        with pytest.raises(ValueError, match=message):
            load_lexicon({**arrays, **changes})
    assert all(array.size == 0 for array in arrays_of(None).values())
