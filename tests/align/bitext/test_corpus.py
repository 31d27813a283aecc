"""Bitexts as hashes, vocabularies and word ids."""

import numpy as np
import pytest
from small_bitexts import hash_bitext

from spacy_ssvm.align.bitext.corpus import select_pairs, vocabulary, word_ids

pytestmark = pytest.mark.uncompiled

PAIRS = [(["The", "dog"], ["Pes"]), ([], ["x"]), (["the"], ["ten", "TEN", "pes"])]


def test_pairs_are_selected_by_the_lengths_of_both_sentences():
    bitext = select_pairs(hash_bitext([*PAIRS, (["a"] * 3, ["b"]), (["a"], [])], len), 2)
    assert [array.tolist() for array in bitext] == [[3, 3], [0, 2], [3], [0, 1]]
    assert len(select_pairs(hash_bitext(PAIRS, len), 3).source_starts) == 3


def test_the_most_frequent_words_are_kept_ties_by_hash():
    words = np.array([7, 5, 9, 9, 3, 5], dtype=np.uint64)
    assert vocabulary(words, 3).tolist() == [3, 5, 9]
    assert vocabulary(words, 9).tolist() == [3, 5, 7, 9]


@pytest.mark.parametrize("known", [[], [4], [2, 4, 2**64 - 1]])
def test_unknown_words_get_the_id_after_the_last(known):
    words = np.array([4, 2**64 - 1, 0, 3, 2], dtype=np.uint64)
    ids = word_ids(words, np.array(known, dtype=np.uint64))
    assert ids.tolist() == [known.index(w) if w in known else len(known) for w in words.tolist()]
    assert ids.dtype == np.int64
