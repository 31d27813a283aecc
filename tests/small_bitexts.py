"""Bitexts of written words."""

from itertools import chain

import numpy as np

from spacy_ssvm.align.bitext.corpus import Bitext
from spacy_ssvm.features.text_hash import hash_text


def hash_lower(word):
    """The hash of a word in lower case."""
    return hash_text(word.lower())


def hash_bitext(pairs, hash_word=hash_lower):
    """Sentence pairs (words of the source, words of the target) as a bitext."""
    pairs = list(pairs)
    arrays = []
    for side in range(2):
        sentences = [pair[side] for pair in pairs]
        words = [hash_word(word) for word in chain(*sentences)]
        starts = np.cumsum([0, *map(len, sentences)])
        arrays += [np.array(words, dtype=np.uint64), starts.astype(np.int64)]
    return Bitext(*arrays)
