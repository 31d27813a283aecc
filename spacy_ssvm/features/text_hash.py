"""A 64-bit hash of a text: the same in every process and on every machine."""

import hashlib


def hash_text(text: str) -> int:
    """The first eight bytes of BLAKE2b, as a number."""
    digest = hashlib.blake2b(text.encode("utf8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")
