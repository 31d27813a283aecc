"""Lexicons: pairs of words that translate each other, with a number each."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from spacy_ssvm.features.extraction import mix
from spacy_ssvm.files import open_text, shorten
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Keys, Weights
from spacy_ssvm.storage import Arrays, require

_MAX_NUMBER = float(np.finfo(np.float32).max)
_START = np.uint64(0xD6E8FEB86659FD93)  # before the words of a hashed pair


class Lexicon(NamedTuple):
    """Pairs of words with numbers, as arrays that save and load as they are."""

    pairs: Keys  #: uint64 [n], hashes of pairs of words, sorted
    numbers: Weights  #: float32 [n]


#: The saved arrays with their types.
ARRAYS: dict[str, type] = {"lexicon_pairs": np.uint64, "lexicon_numbers": np.float32}


def arrays_of(lexicon: Lexicon | None) -> Arrays:
    """The arrays to be saved, by name: see ``ARRAYS``; empty ones where there is no lexicon."""
    if lexicon is None:
        return {name: np.zeros(0, dtype=dtype) for name, dtype in ARRAYS.items()}
    return dict(zip(ARRAYS, lexicon, strict=True))


def load_lexicon(arrays: Arrays) -> Lexicon:
    """The lexicon of saved arrays. Raises ValueError for those that kernels could not read."""
    lexicon = Lexicon(*(arrays[name] for name in ARRAYS))
    pairs, numbers = lexicon
    require(pairs.ndim == 1 and pairs.shape == numbers.shape, "the lexicon lacks numbers or words")
    require(bool(np.all(pairs[1:] > pairs[:-1])), "the words of the lexicon are not sorted")
    require(bool(np.all(np.isfinite(numbers))), "numbers of the lexicon are not finite")
    return lexicon


def read_lexicon(path: str | Path, hash_words: Callable[[Sequence[str]], Keys]) -> Lexicon:
    """Read a file of pairs of words, plain or gzip (``.gz``), in UTF-8.

    A line has a word of the source, one of the target, and a number, 1 where there is none,
    separated by tabs. Of lines with the same words, the largest number counts.
    hash_words: the values by which words are found, uint64 [words]; some may have the same.
    Raises ValueError, naming file and line, for other lines, and for a file without any.
    """
    path = Path(path)
    try:
        with open_text(path) as lines:
            entries = list(_entries(path, lines))
    except (EOFError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: cannot be read as a lexicon in UTF-8: {error}") from error
    if not entries:
        raise ValueError(f"{path}: the lexicon has no words")
    sources, targets, numbers = zip(*entries, strict=True)
    keys = _hash_pairs(hash_words(sources), hash_words(targets))
    values = np.array(numbers, dtype=np.float32)
    best = np.lexsort((-values, keys))  # of each pair, the largest number comes first
    found, first = np.unique(keys[best], return_index=True)
    return Lexicon(found, values[best][first])


def _entries(path: Path, lines: Iterable[str]) -> Iterator[tuple[str, str, float]]:
    """The words of each line, and its number."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        fields = line.rstrip("\r\n").split("\t")
        try:
            source, target, value = fields if len(fields) == 3 else (*fields, "1")
            found = float(value)
        except ValueError:
            source = target = ""
        if not (source and target) or any(c.isspace() for c in source + target):
            raise ValueError(
                f"{path}, line {number}: expected a word, a tab and a word, or a further tab and a "
                f"number, found {shorten(line.rstrip())!r}"
            )
        if not abs(found) <= _MAX_NUMBER:
            raise ValueError(f"{path}, line {number}: the number {shorten(value)} is not finite")
        yield source, target, found


@kernel
def _pair_key(source: int, target: int) -> int:
    return mix(mix(_START, source), target)


@kernel
def _hash_pairs(sources: Keys, targets: Keys) -> Keys:
    keys = np.empty(len(sources), dtype=np.uint64)
    for i in range(len(sources)):
        keys[i] = _pair_key(sources[i], targets[i])
    return keys


@kernel
def fill_numbers(lexicon: Lexicon, source: Keys, target: Keys, numbers: Weights) -> None:
    """Write the number of each pair of words: float32 [m, n], 0 for those that are not there.

    source, target: uint64 [m] and [n], by ``hash_words`` of ``read_lexicon``.
    """
    for j in range(len(source)):
        for k in range(len(target)):
            key = _pair_key(source[j], target[k])
            i = np.searchsorted(lexicon.pairs, key)
            is_there = i < len(lexicon.pairs) and lexicon.pairs[i] == key
            numbers[j, k] = lexicon.numbers[i] if is_there else np.float32(0.0)
