"""Word clusters as bit strings, the output of the Brown algorithm.

A line of a file has a bit string, a word and a count, which is ignored, separated by tabs. A
prefix of the bit string is a coarser cluster. Words are looked up as written, then in lower case.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from spacy_ssvm._jit import Keys
from spacy_ssvm.features.text_hash import hash_text
from spacy_ssvm.storage import open_text, shorten

#: The lengths of the prefixes that templates can name: cluster4, cluster6, ...
CLUSTER_LENGTHS = (4, 6, 10, 20)
_MAX_BITS = 63


class Clusters:
    """Words with their bit strings, as two arrays that save and load as they are.

    words: uint64 [n], hashes of the words, sorted.
    bits: uint64 [n], each bit string after a leading 1, as a number.
    Raises ValueError for other arrays.
    """

    def __init__(self, words: Keys, bits: Keys) -> None:
        if words.ndim != 1 or words.shape != bits.shape:
            raise ValueError("word clusters have unequal numbers of words and bit strings")
        if np.any(words[1:] <= words[:-1]) or np.any(bits == 0):
            raise ValueError("word clusters are not sorted, or lack their bits")
        self.words = words
        self.bits = bits

    def prefix(self, text: str, length: int) -> str | None:
        """The first bits of the word's cluster (all, where it has fewer), None if unknown."""
        for form in (text, text.lower()):
            word = np.uint64(hash_text(form))
            index = int(np.searchsorted(self.words, word))
            if index < len(self.words) and self.words[index] == word:
                return f"{int(self.bits[index]):b}"[1 : length + 1]
        return None


def read_clusters(path: str | Path) -> Clusters:
    """Read a cluster file, plain or gzip (``.gz``), in UTF-8.

    Raises ValueError naming file and line where a line is not `bits <tab> word`.
    """
    path = Path(path)
    try:
        with open_text(path) as lines:
            found = dict(_entries(path, lines))
    except (EOFError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: cannot be read as clusters in UTF-8: {error}") from error
    if not found:
        raise ValueError(f"{path}: the cluster file has no words")
    words = np.array(sorted(found), dtype=np.uint64)
    return Clusters(words, np.array([found[word] for word in words.tolist()], dtype=np.uint64))


def _entries(path: Path, lines: Iterable[str]) -> Iterator[tuple[int, int]]:
    """The hash of each word, with its bits after a leading 1."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        bits, *rest = line.rstrip("\r\n").split("\t")
        if not rest or not rest[0] or not bits or set(bits) - {"0", "1"}:
            raise ValueError(
                f"{path}, line {number}: expected a bit string, a tab and a word, found "
                f"{shorten(line.rstrip())!r}"
            )
        if len(bits) > _MAX_BITS:
            raise ValueError(
                f"{path}, line {number}: a bit string of {len(bits)} bits; at most {_MAX_BITS} "
                "can be stored"
            )
        yield hash_text(rest[0]), int("1" + bits, 2)


CLUSTER_ATTRIBUTES = {f"cluster{n}": n for n in CLUSTER_LENGTHS}
