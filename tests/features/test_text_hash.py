"""Tests of ``spacy_ssvm/features/text_hash.py``."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.features.text_hash import find_words, hash_word, short_hashes

pytestmark = pytest.mark.uncompiled


def hashes_of(words):
    return np.array(sorted(map(hash_word, words)), dtype=np.uint64)


@given(st.lists(st.text(), min_size=1, unique=True), st.lists(st.text()))
def test_words_are_found_by_their_short_hashes(words, others):
    hashes = hashes_of(words)
    places = {hash_: place for place, hash_ in enumerate(hashes.tolist())}
    texts = words + others
    found = find_words(short_hashes(hashes), [(text,) for text in texts])
    assert found.tolist() == [places.get(hash_word(text), -1) for text in texts]


def test_the_first_form_that_is_known_counts():
    known = hashes_of(["a", "B"])
    place = {word: known.tolist().index(hash_word(word)) for word in ("a", "B")}
    found = find_words(short_hashes(known), [("a", "B"), ("A", "B"), ("b", "a"), ("x", "y")])
    assert found.tolist() == [place["a"], place["B"], place["a"], -1]


@pytest.mark.parametrize("n", [1, 1000, 40_000])
def test_the_steps_of_short_hashes_fit_into_three_bytes(n):
    short = short_hashes(hashes_of(map(str, range(n))))
    assert int(short[-1]).bit_length() <= 18 + n.bit_length()
    assert n == 1 or np.diff(short).max() < 2**24


def test_of_words_with_equal_short_hashes_the_first_counts():
    known = np.array([hash_word("a") >> (64 - 18 - 2)] * 2, dtype=np.uint64)
    assert find_words(known, [("a",)]).tolist() == [0]


def test_few_of_many_other_words_are_taken_for_known_ones():
    known = short_hashes(hashes_of(f"known{n}" for n in range(2**12)))
    found = find_words(known, [(f"other{n}",) for n in range(2**16)])
    assert np.count_nonzero(found >= 0) <= 2, "a quarter of one is expected"
