"""Dictionaries of inflected words: the lemmas and features that words have, as attributes.

A line of a file has a word, a lemma and perhaps features, separated by tabs:

    cities   city   N;PL
    leaves   leaf   N;PL
    leaves   leave  V;PRS;3;SG

The lemma ``=`` is the word itself. A word can have several lines, and each lemma is also a lemma
of itself. Words are looked up as written, then in lower case.

    dictionary.lemmas     how all lemmas of the word are made of it, as one value
    dictionary.features   the features of all its lines, as one value
    dictionary.*          in templates: one template for each of these that the dictionary has
"""

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from spacy_ssvm.features.text_hash import find_words, hash_word, short_hashes
from spacy_ssvm.features.wildcards import EACH
from spacy_ssvm.files import DAMAGED, read_lines, shorten
from spacy_ssvm.kernels.types import Ints, Keys, ShortKeys

DICTIONARY = "dictionary"
LEMMAS, FEATURES = COLUMNS = ("lemmas", "features")
#: The names of attributes to list in messages.
DICTIONARY_ATTRIBUTES = (f"{DICTIONARY}.{LEMMAS}", f"{DICTIONARY}.{FEATURES}")
_BETWEEN = "\t"  # several lemmas or features of a word
_SHOWN_BETWEEN = " | "
_SAME = "="  # the lemma of words that are their own
_MOST_OF_LINE = 10_000  # characters


class Entry(NamedTuple):
    """One reading of a word."""

    word: int  #: spaCy's hash
    lemma: str
    features: str = ""


class Column(NamedTuple):
    """What the words of a dictionary have, of one kind."""

    numbers: Keys | ShortKeys  #: of each word, as indices of ``texts``; uint32 in a dictionary
    texts: tuple[str, ...]  #: different ones, of all readings of a word, between tabs


class Dictionary:
    """Words with their lemmas and features, as arrays and texts that save and load as they are.

    words: uint64 [n], short hashes of the words, sorted; at least one.
    columns: by names of ``COLUMNS``.
    Raises ValueError for other arrays.
    """

    def __init__(self, words: Keys, columns: Mapping[str, Column]) -> None:
        if words.ndim != 1 or len(words) == 0 or np.any(words[1:] < words[:-1]):
            raise ValueError("the words of a dictionary are not sorted, or there are none")
        for name, (numbers, texts) in columns.items():
            if numbers.shape != words.shape or int(numbers.max()) >= len(texts):
                raise ValueError(f"the {name} of a dictionary do not fit its words")
        self.words = words
        self.columns = {
            name: Column(numbers.astype(np.uint32), texts)
            for name, (numbers, texts) in columns.items()
        }

    def find(self, name: str, words: Sequence[str]) -> list[str | None]:
        """What the words have in a column, as the value of an attribute; None for nothing."""
        found: list[str | None] = [None] * len(words)
        if name not in self.columns:
            return found
        from spacy_ssvm.features.edit_scripts import edit_script  # of difflib: not for all models

        numbers, texts = self.columns[name]
        places = find_words(self.words, [(word, word.lower()) for word in words])
        for i, index in enumerate(places.tolist()):
            if index >= 0 and (text := texts[numbers[index]]):
                parts = text.split(_BETWEEN)
                if name == LEMMAS:
                    parts = sorted({str(edit_script(words[i], lemma)) for lemma in parts})
                found[i] = _SHOWN_BETWEEN.join(parts)
        return found


def is_dictionary_attribute(name: str) -> bool:
    """Whether an attribute reads a dictionary."""
    return name in (*DICTIONARY_ATTRIBUTES, f"{DICTIONARY}.{EACH}")


def column_of(name: str) -> str:
    """The column that an attribute reads."""
    return name.partition(".")[2]


def needs_dictionary(name: str) -> bool:
    """Whether an attribute reads a dictionary that must be there."""
    return name in DICTIONARY_ATTRIBUTES


def make_dictionary(entries: Iterable[Entry]) -> Dictionary:
    """A dictionary of entries in any order. Raises ValueError where there are none."""
    words = array("Q")
    numbers = {name: array("I") for name in COLUMNS}
    texts: dict[str, dict[str, int]] = {name: {} for name in COLUMNS}
    for word, *reading in _with_lemmas(entries):
        words.append(word)
        for name, text in zip(COLUMNS, reading, strict=True):
            numbers[name].append(texts[name].setdefault(text, len(texts[name])))
    if not words:
        raise ValueError("the dictionary has no words")
    hashes = np.array(words, dtype=np.uint64)
    columns = {
        name: _joined(hashes, np.array(numbers[name], dtype=np.int64), [*texts[name]])
        for name in COLUMNS
        if any(texts[name])
    }
    return Dictionary(short_hashes(np.unique(hashes)), columns)


def _with_lemmas(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Entries, and then one for each of their lemmas."""
    lemmas: dict[str, None] = {}
    for entry in entries:
        lemmas.setdefault(entry.lemma)
        yield entry
    yield from (Entry(hash_word(lemma), lemma) for lemma in lemmas)


def _joined(words: Keys, numbers: Ints, texts: Sequence[str]) -> Column:
    """The different texts of each word as one, in the order of the words.

    words: uint64 [entries]. numbers: int64 [entries], indices of ``texts``.
    """
    order = np.argsort(words, kind="stable")
    starts = np.flatnonzero(np.diff(words[order], prepend=~words[order[0]]))
    ordered = [texts[number] for number in numbers[order].tolist()]
    found: dict[str, int] = {}
    joined = np.empty(len(starts), dtype=np.uint32)
    for i, (start, end) in enumerate(pairwise([*starts.tolist(), len(ordered)])):
        own = _BETWEEN.join(sorted({*ordered[start:end]} - {""}))
        joined[i] = found.setdefault(own, len(found))
    return Column(joined, tuple(found))


def read_dictionary(path: str | Path) -> Dictionary:
    """Read a dictionary, plain or gzip (``.gz``), in UTF-8.

    Raises ValueError naming file and line where a line is not `word <tab> lemma`, or
    `word <tab> lemma <tab> features`.
    """
    path = Path(path)
    try:
        return make_dictionary(_entries(path))
    except DAMAGED as error:
        raise ValueError(f"{path}: cannot be read as a dictionary in UTF-8: {error}") from error


def _entries(path: Path) -> Iterator[Entry]:
    is_empty = True
    for number, line in enumerate(read_lines(path, _MOST_OF_LINE), start=1):
        if not line.strip():
            continue
        word, *reading = (part.strip() for part in line.split("\t"))
        if not (word and 1 <= len(reading) <= 2 and reading[0]):
            raise ValueError(
                f"{path}, line {number}: expected a word, a lemma and perhaps features, separated "
                f"by tabs, found {shorten(line.rstrip())!r}"
            )
        is_empty = False
        lemma, *features = reading
        yield Entry(hash_word(word), word if lemma == _SAME else lemma, *features)
    if is_empty:
        raise ValueError(f"{path}: the dictionary has no words")
