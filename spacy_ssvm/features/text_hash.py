"""64-bit hashes of texts: the same in every process and on every machine."""

import hashlib
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from spacy.strings import get_string_id
from spacy.strings import hash_string as hash_word  # type: ignore[attr-defined]

from spacy_ssvm.kernels.types import Ints, Keys

__all__ = ["find_words", "hash_text", "hash_word", "short_hashes", "string_ids"]

_BITS_OF_ERROR = 18  # of texts that are none of some words, one in 2^18 is taken for one of them


def hash_text(text: str) -> int:
    """The first eight bytes of BLAKE2b, as a number."""
    digest = hashlib.blake2b(text.encode("utf8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def short_hashes(hashes: Keys) -> Keys:
    """The first bits of the hashes of words, by which they are found: uint64 [n].

    As many as it takes to mistake at most one in 2^18 other words for one of them. The differences
    of sorted ones fit into three bytes.
    """
    short: Keys = hashes >> np.uint64(_ignored_bits(len(hashes)))
    return short


def _ignored_bits(n: int) -> int:
    return 64 - n.bit_length() - _BITS_OF_ERROR


def find_words(known: Keys, texts: Sequence[Sequence[str]]) -> Ints:
    """The place of each text among known words; -1 for none.

    known: uint64 [n], the short hashes of the words, sorted; at least one. Of equal ones, the first
    counts. texts: the forms in which each is looked up, as many for all, of which the first that is
    known counts.
    Returns int64 [texts].
    """
    found = np.full(len(texts), -1, dtype=np.int64)
    ignored = np.uint64(_ignored_bits(len(known)))
    for forms in reversed([*zip(*texts, strict=True)]):
        words = np.array([hash_word(form) for form in forms], dtype=np.uint64) >> ignored
        places = np.minimum(np.searchsorted(known, words), len(known) - 1)
        found = np.where(known[places] == words, places, found)
    return found


@lru_cache(maxsize=256)
def string_ids(texts: tuple[str, ...]) -> Keys:
    """What spaCy stores for texts: uint64 [texts], read-only, because it is kept for later.

    Not always the hash: names that spaCy itself uses, such as ORG, have small numbers.
    """
    ids = np.array(list(map(get_string_id, texts)), dtype=np.uint64)
    ids.flags.writeable = False
    return ids
