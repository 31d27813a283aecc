"""Word clusters as bit strings, the output of the Brown algorithm.

A line of a file has a bit string, a word and a count, which is ignored, separated by tabs. A
prefix of the bit string is a coarser cluster. Words are looked up as written, then in lower case;
those in capitals first with one capital at the beginning, so that OBAMA has the cluster of Obama.
Capitals are rare in the texts that clusters are made from: their own clusters say little.

A component has one set of clusters, or several with names:

    cluster         all bits, where there is one set
    cluster6        the first six bits
    cluster6.news   those of the set ``news``
    cluster6.*      in templates: one template for each set there is, perhaps none
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

from spacy_ssvm.features.text_hash import find_words, hash_word, short_hashes
from spacy_ssvm.features.wildcards import EACH
from spacy_ssvm.files import DAMAGED, read_lines, shorten
from spacy_ssvm.kernels.types import Ints, Keys

#: The names of attributes to list in messages.
CLUSTER_ATTRIBUTES = ("cluster", "cluster4", "cluster6", "cluster10")
_MAX_BITS = 63
_FEWEST_CAPITALS = 4  # letters: shorter words in capitals are mostly abbreviations
_MOST_OF_LINE = 10_000  # characters
_ATTRIBUTE = re.compile(r"cluster([1-9]\d?)?(\.(\*|[A-Za-z_]\w*))?")


class Clusters:
    """Words with their bit strings, as two arrays that save and load as they are.

    words: uint64 [n], short hashes of the words, sorted; at least one.
    bits: uint64 [n], each bit string after a leading 1, as a number.
    Raises ValueError for other arrays.
    """

    def __init__(self, words: Keys, bits: Keys) -> None:
        if words.ndim != 1 or words.shape != bits.shape or len(words) == 0:
            raise ValueError("word clusters have unequal numbers of words and bit strings, or none")
        if np.any(words[1:] < words[:-1]) or np.any(bits == 0):
            raise ValueError("word clusters are not sorted, or lack their bits")
        self.words = words
        self.bits = bits

    def find(self, texts: Iterable[str]) -> Keys:
        """The bits of each text, as in ``bits``, 0 for an unknown word: uint64 [texts]."""
        places = find_words(self.words, [(_titled(text), text, text.lower()) for text in texts])
        return np.where(places >= 0, self.bits[places], np.uint64(0))


def _titled(text: str) -> str:
    """A word in capitals with one at the beginning; any other word as it is."""
    is_long = sum(map(str.isalpha, text)) >= _FEWEST_CAPITALS
    return text.title() if text.isupper() and is_long else text


#: Sets of clusters by name. A single set without a name has the name "".
ClusterSets = Mapping[str, Clusters]


def is_cluster_attribute(name: str) -> bool:
    """Whether an attribute reads clusters."""
    return _ATTRIBUTE.fullmatch(name) is not None and 1 <= length_of(name) <= _MAX_BITS


def length_of(name: str) -> int:
    """The number of bits that an attribute reads."""
    return int(name.partition(".")[0].removeprefix("cluster") or _MAX_BITS)


def set_of(name: str) -> str:
    """The name of the set that an attribute reads: "" for none, ``EACH`` for each."""
    return name.partition(".")[2]


def needs_clusters(name: str) -> bool:
    """Whether an attribute reads clusters that must be there."""
    return is_cluster_attribute(name) and set_of(name) != EACH


def is_set_name(name: str) -> bool:
    """Whether a set of clusters can have the name."""
    return name not in ("", EACH) and is_cluster_attribute(f"cluster.{name}")


def prefixes(bits: Keys, length: int) -> Keys:
    """The first bits of bit strings (all, where one has fewer), as in ``Clusters.bits``."""
    shifts = np.maximum(_lengths(bits) - length, 0)
    return bits >> shifts.astype(np.uint64)


def show_bits(bits: int) -> str:
    """A bit string as text."""
    return f"{bits:b}"[1:]


def _lengths(bits: Keys) -> Ints:
    """The lengths of bit strings: the logarithms to base 2, rounded down."""
    lengths = np.zeros(len(bits), dtype=np.int64)
    rest = bits.copy()
    for step in (32, 16, 8, 4, 2, 1):
        is_longer = rest >= np.uint64(1 << step)
        lengths[is_longer] += step
        rest[is_longer] >>= np.uint64(step)
    return lengths


def read_clusters(path: str | Path) -> Clusters:
    """Read a cluster file, plain or gzip (``.gz``), in UTF-8.

    Raises ValueError naming file and line where a line is not `bits <tab> word`.
    """
    path = Path(path)
    try:
        found = dict(_entries(path, read_lines(path, _MOST_OF_LINE)))
    except DAMAGED as error:
        raise ValueError(f"{path}: cannot be read as clusters in UTF-8: {error}") from error
    if not found:
        raise ValueError(f"{path}: the cluster file has no words")
    words = np.array(sorted(found), dtype=np.uint64)
    bits = np.array([found[word] for word in words.tolist()], dtype=np.uint64)
    return Clusters(short_hashes(words), bits)


def clusters_of_numbers(words: Keys, numbers: Keys) -> Clusters:
    """Clusters whose numbers are the bit strings read backwards, as in spaCy's lookups.

    words: uint64 [n], spaCy's hashes of the words. numbers: uint64 [n], 0 for a word that is in
        no cluster: four of five words of the lookups.
    Raises ValueError where no word is in a cluster.

    Zeros at the end of a bit string are lost in its number. As no bit string is the beginning of
    another, all of them can have as many zeros as the longest needs.
    """
    is_clustered = numbers != 0
    words, numbers = words[is_clustered], numbers[is_clustered]
    bits = np.ones_like(numbers)
    for place in range(int(numbers.max(initial=0)).bit_length()):
        bits = (bits << np.uint64(1)) | ((numbers >> np.uint64(place)) & np.uint64(1))
    order = np.argsort(words)
    return Clusters(short_hashes(words[order]), bits[order])


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
        yield hash_word(rest[0]), int("1" + bits, 2)
