"""64-bit hashes of texts: the same in every process and on every machine."""

import hashlib

from spacy.strings import hash_string as hash_word  # type: ignore[attr-defined]

__all__ = ["hash_text", "hash_word"]


def hash_text(text: str) -> int:
    """The first eight bytes of BLAKE2b, as a number."""
    digest = hashlib.blake2b(text.encode("utf8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")
