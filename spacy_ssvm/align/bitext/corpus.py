"""Parallel texts as arrays of word hashes, and vocabularies."""

from typing import NamedTuple

import numpy as np

from spacy_ssvm.kernels.types import Ints, Keys


class Bitext(NamedTuple):
    """Sentence pairs: the hashes of the words of each side, one sentence after another."""

    source_words: Keys  #: uint64 [source words]
    source_starts: Ints  #: int64 [pairs + 1]
    target_words: Keys  #: uint64 [target words]
    target_starts: Ints  #: int64 [pairs + 1]


def select_pairs(bitext: Bitext, max_length: int) -> Bitext:
    """The pairs whose sentences both have 1 to ``max_length`` words."""
    source_sizes, target_sizes = np.diff(bitext.source_starts), np.diff(bitext.target_starts)
    kept = (np.minimum(source_sizes, target_sizes) > 0) & (
        np.maximum(source_sizes, target_sizes) <= max_length
    )
    return Bitext(
        bitext.source_words[np.repeat(kept, source_sizes)],
        np.concatenate([[0], np.cumsum(source_sizes[kept])]),
        bitext.target_words[np.repeat(kept, target_sizes)],
        np.concatenate([[0], np.cumsum(target_sizes[kept])]),
    )


def vocabulary(words: Keys, max_words: int) -> Keys:
    """The most frequent words, sorted: uint64 [at most max_words]. Ties go to smaller hashes."""
    found, counts = np.unique(words, return_counts=True)
    return np.sort(found[np.argsort(-counts, kind="stable")[:max_words]])


def word_ids(words: Keys, known: Keys) -> Ints:
    """Words as indices into a sorted vocabulary: int64 [words]; its size for unknown words."""
    places = np.searchsorted(known, words)
    inside = np.minimum(places, max(len(known) - 1, 0))
    if len(known) == 0:
        return places
    return np.where(known[inside] == words, inside, len(known))
