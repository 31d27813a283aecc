"""Parallel texts as arrays of word hashes, and vocabularies."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from spacy_ssvm._jit import Ints, Keys
from spacy_ssvm.features.text_hash import hash_text


class Bitext(NamedTuple):
    """Sentence pairs: the hashes of the words of each side, one sentence after another."""

    source_words: Keys  #: uint64 [source words]
    source_starts: Ints  #: int64 [pairs + 1]
    target_words: Keys  #: uint64 [target words]
    target_starts: Ints  #: int64 [pairs + 1]


def hash_lower(word: str) -> int:
    """The hash of a word in lower case."""
    return hash_text(word.lower())


def hash_bitext(
    pairs: Iterable[tuple[Sequence[str], Sequence[str]]],
    hash_word: Callable[[str], int] = hash_lower,
) -> Bitext:
    """The words of sentence pairs as hashes.

    pairs: (words of the source, words of the target).
    hash_word: word -> 64-bit hash, called once for each word type. Words with the same hash are
        one word of the vocabulary: a hash of the lower-cased word, of its first letters, ...
    """
    hashes: dict[str, int] = {}
    sides: tuple[list[int], list[int]] = ([], [])
    starts: tuple[list[int], list[int]] = ([0], [0])
    for pair in pairs:
        for side, words, ends in zip(sides, pair, starts, strict=True):
            for word in words:
                if word not in hashes:
                    hashes[word] = hash_word(word)
                side.append(hashes[word])
            ends.append(len(side))
    return Bitext(
        np.array(sides[0], dtype=np.uint64),
        np.array(starts[0], dtype=np.int64),
        np.array(sides[1], dtype=np.uint64),
        np.array(starts[1], dtype=np.int64),
    )


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
