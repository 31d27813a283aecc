"""Texts of few characters, in which chunks and contexts recur, and their parts in Python."""

from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from spacy_ssvm.kernels.types import Codes, Ints, ShortKeys
from spacy_ssvm.tokenizer.characters import CHARACTERS
from spacy_ssvm.tokenizer.chunks import Chunks, find_chunks

ALPHABET = "aAb1.,@:/w'  \n\r\u2003\u0301é字"

#: Texts of these characters, and batches of texts.
drawn_text = st.text(alphabet=ALPHABET, max_size=30)
drawn_texts = st.lists(drawn_text, min_size=1, max_size=4)


def read(texts: list[str]) -> tuple[ShortKeys, Ints, Codes, Chunks]:
    """The code points of texts, where they begin, the classes of characters, and the chunks."""
    codes, starts, chunks = find_chunks(texts)
    return codes, starts, CHARACTERS.classes, chunks


def chunks_of(texts: list[str]) -> list[str]:
    """The chunks of texts, one text after another."""
    return [chunk for text in texts for chunk in text.split()]


def same_partition(keys: np.ndarray, values: list[object]) -> bool:
    """Whether keys are the same where values are, and nowhere else."""
    pairs = set(zip(keys.tolist(), values, strict=True))
    return len(pairs) == len({key for key, _ in pairs}) == len({value for _, value in pairs})


def gaps(text: str) -> list[str]:
    """The whitespace before each chunk of a text."""
    found, before = [], 0
    for chunk in text.split():
        start = text.index(chunk, before)
        found.append(text[before:start])
        before = start + len(chunk)
    return found


def rises(values: np.ndarray) -> bool:
    """Whether each value is larger than the one before it."""
    return all(a < b for a, b in pairwise(values.tolist()))
