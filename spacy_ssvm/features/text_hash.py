"""64-bit hashes of texts: the same in every process and on every machine."""

import hashlib
from functools import lru_cache

import numpy as np
from spacy.strings import get_string_id
from spacy.strings import hash_string as hash_word  # type: ignore[attr-defined]

from spacy_ssvm.kernels.types import Keys

__all__ = ["hash_text", "hash_word", "string_ids"]


def hash_text(text: str) -> int:
    """The first eight bytes of BLAKE2b, as a number."""
    digest = hashlib.blake2b(text.encode("utf8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


@lru_cache(maxsize=256)
def string_ids(texts: tuple[str, ...]) -> Keys:
    """What spaCy stores for texts: uint64 [texts], read-only, because it is kept for later.

    Not always the hash: names that spaCy itself uses, such as ORG, have small numbers.
    """
    ids = np.array(list(map(get_string_id, texts)), dtype=np.uint64)
    ids.flags.writeable = False
    return ids
