"""Gazetteers: lists of names by type, found in text by longest match.

An entry is a sequence of tokens. The table holds a hash of each of its prefixes, with a bit
for each type that has the prefix as an entry: 24 bytes per prefix, independent of the length
of the words. The longest entry of a type that starts at a token is a match; the search for
the type continues after it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import srsly

from spacy_ssvm.features.wildcards import EACH
from spacy_ssvm.files import UNREADABLE, read_lines, shorten
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Flags, Keys
from spacy_ssvm.weights.hash_table import (
    MAX_LOAD,
    empty_slots,
    find_slot,
    grown_slots,
    insert_all,
)

MAX_TYPES = 32

#: The attributes by which entries can be matched.
MATCHED = ("lower", "orth", "norm", "lemma")

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)

#: The value of the attribute for a token: 0 for none, or its position in an entry.
BEGIN, INSIDE, END, SINGLE = 1, 2, 3, 4
TAGS = ("", "B", "I", "E", "S")


class Gazetteers:
    """Entries of some types.

    types: their names, sorted.
    attribute: the attribute of tokens that entries are matched by, one of MATCHED.
    slots: uint64 [capacity, 2], hashes of prefixes, and a bit for each type that has it as an
        entry.
    Raises ValueError for too many types, and for an unknown attribute.
    """

    def __init__(
        self, types: Sequence[str], attribute: str = "lower", slots: Keys | None = None
    ) -> None:
        if len(types) > MAX_TYPES:
            raise ValueError(f"{len(types)} types of gazetteers: at most {MAX_TYPES} are possible")
        if attribute not in MATCHED:
            names = " or ".join(map(repr, MATCHED))
            raise ValueError(f"gazetteers are matched on {names}, not on '{attribute}'")
        self.types = tuple(types)
        self.attribute = attribute
        self.slots = empty_slots(0) if slots is None else slots
        self._size = int(np.count_nonzero(self.slots[:, 0]))

    def add(self, kind: str, words: Keys, starts: np.ndarray) -> None:
        """Add entries of a type.

        words: uint64 [tokens], the attribute of the tokens of all entries, concatenated.
        starts: int64 [entries + 1].
        """
        if self._size + len(words) > MAX_LOAD * len(self.slots):
            size = max(self._size + len(words), 2 * self._size)
            self.slots = grown_slots(self.slots, size)
        bit = np.uint64(1 << self.types.index(kind))
        self._size += _insert(self.slots, words, starts, bit)

    def trim(self) -> None:
        """Free the spare capacity."""
        used = self.slots[self.slots[:, 0] != 0]
        used = used[np.argsort(used[:, 0])]  # the same entries make the same table
        self.slots = empty_slots(len(used))
        insert_all(self.slots, used[:, 0].copy(), used[:, 1].copy())

    def match(self, words: Keys, starts: Flags) -> np.ndarray:
        """The positions of tokens in entries: uint8 [tokens, types], 0 or BEGIN ... SINGLE.

        starts: bool [tokens], the first tokens of sentences; entries do not cross them.
        """
        tags = np.zeros((len(words), len(self.types)), dtype=np.uint8)
        _match(self.slots, np.ascontiguousarray(words), starts, tags)
        return tags


@kernel
def _longer(prefix: int, word: int) -> int:
    """The hash of a prefix with one more word; never 0."""
    key = (prefix ^ word) * _MULTIPLIER
    key ^= key >> np.uint64(29)
    return key | np.uint64(1)  # type: ignore[no-any-return]


@kernel
def _insert(slots: Keys, words: Keys, starts: np.ndarray, bit: int) -> int:
    added = 0
    for entry in range(len(starts) - 1):
        key = np.uint64(0)
        slot = -1
        for t in range(starts[entry], starts[entry + 1]):
            key = _longer(key, words[t])
            slot = find_slot(slots, key)
            if slots[slot, 0] == np.uint64(0):
                slots[slot, 0] = key
                added += 1
        if slot >= 0:
            slots[slot, 1] |= bit
    return added


@kernel
def _match(slots: Keys, words: Keys, starts: Flags, tags: np.ndarray) -> None:
    n, types = tags.shape
    free = np.zeros(types, dtype=np.int64)  # the first token where a match may begin
    ends = np.empty(types, dtype=np.int64)
    for t in range(n):
        ends[:] = t
        key = np.uint64(0)
        end = t
        while end < n and not (end > t and starts[end]):
            key = _longer(key, words[end])
            slot = find_slot(slots, key)
            if slots[slot, 0] == np.uint64(0):
                break
            end += 1
            if slots[slot, 1] != np.uint64(0):
                for kind in range(types):
                    if (slots[slot, 1] >> np.uint64(kind)) & np.uint64(1):
                        ends[kind] = end
        for kind in range(types):
            if ends[kind] > t and t >= free[kind]:
                free[kind] = ends[kind]
                if ends[kind] == t + 1:
                    tags[t, kind] = SINGLE
                else:
                    tags[t, kind] = BEGIN
                    tags[t + 1 : ends[kind] - 1, kind] = INSIDE
                    tags[ends[kind] - 1, kind] = END


def read_gazetteers(
    files: Mapping[str, str | Path],
    words_of: Callable[[Iterable[str]], list[Keys]],
    *,
    attribute: str = "lower",
) -> Gazetteers:
    """Read lists of entries.

    files: type -> file, one entry per line, plain or gzip (``.gz``), in UTF-8. A ``.jsonl``
        file holds patterns with types of their own, {"label": ..., "pattern": "text"}, as
        spaCy's PhraseMatcher and entity ruler take them; the type given is then ignored.
    words_of: entries -> the attribute of their tokens, uint64 [tokens] each.
    Raises ValueError naming file and line where one cannot be read or tokenized. A line has at most
    1,000 characters, 10,000 where it is a pattern.
    """
    lists = {
        kind: Path(path) for kind, path in files.items() if ".jsonl" not in Path(path).suffixes
    }
    patterns = [Path(path) for path in files.values() if ".jsonl" in Path(path).suffixes]
    types = set(lists)
    for path in patterns:  # a first pass for the types alone
        types.update(entry.kind for entry in _patterns(path))
    gazetteers = Gazetteers(sorted(types), attribute)
    for kind, path in lists.items():
        lines = enumerate(_lines(path, _MOST_OF_ENTRY), start=1)
        _add(gazetteers, (_Entry(path, number, kind, line) for number, line in lines), words_of)
    for path in patterns:
        _add(gazetteers, _patterns(path), words_of)
    gazetteers.trim()
    return gazetteers


_ENTRIES_AT_A_TIME = 10_000
_MOST_OF_ENTRY, _MOST_OF_PATTERN = 1_000, 10_000  # characters of a line


class _Entry(NamedTuple):
    """An entry as it stands in a file."""

    path: Path
    number: int  # of the line
    kind: str
    text: str


def _add(
    gazetteers: Gazetteers,
    entries: Iterable[_Entry],
    words_of: Callable[[Iterable[str]], list[Keys]],
) -> None:
    batches: dict[str, list[_Entry]] = {}
    for entry in entries:
        if entry.text.strip():
            batch = batches.setdefault(entry.kind, [])
            batch.append(entry)
            if len(batch) == _ENTRIES_AT_A_TIME:
                _add_batch(gazetteers, batches.pop(entry.kind), words_of)
    for batch in batches.values():
        _add_batch(gazetteers, batch, words_of)


def _add_batch(
    gazetteers: Gazetteers,
    entries: list[_Entry],
    words_of: Callable[[Iterable[str]], list[Keys]],
) -> None:
    try:
        words = words_of(entry.text.strip() for entry in entries)
    except Exception:  # of a tokenizer, which can be any: once more, to find the entry
        words = [_words_of_one(entry, words_of) for entry in entries]
    starts = np.cumsum([0, *map(len, words)]).astype(np.int64)
    gazetteers.add(entries[0].kind, np.concatenate(words), starts)


def _words_of_one(entry: _Entry, words_of: Callable[[Iterable[str]], list[Keys]]) -> Keys:
    try:
        return words_of([entry.text.strip()])[0]
    except Exception as error:
        raise ValueError(
            f"{entry.path}, line {entry.number}: {shorten(entry.text.strip())!r} cannot be "
            f"tokenized: {error}"
        ) from error


def _lines(path: Path, most: int) -> Iterator[str]:
    try:
        yield from read_lines(path, most)
    except UNREADABLE as error:
        raise ValueError(
            f"{path}: cannot be read as a list of entries in UTF-8: {error}"
        ) from error


def _patterns(path: Path) -> Iterator[_Entry]:
    for number, line in enumerate(_lines(path, _MOST_OF_PATTERN), start=1):
        if not line.strip():
            continue
        try:
            pattern = srsly.json_loads(line)
            label, text = pattern["label"], pattern["pattern"]
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f'{path}, line {number}: expected {{"label": ..., "pattern": "text"}}'
            ) from error
        if not isinstance(label, str):
            raise ValueError(f"{path}, line {number}: the label is not a text")
        if not isinstance(text, str):
            raise ValueError(
                f"{path}, line {number}: the pattern is not a text; patterns over token "
                "attributes are not supported"
            )
        yield _Entry(path, number, label, text)


#: The position of a token in gazetteer entries of all types, or of one (with ".TYPE").
GAZETTEER = "gazetteer"


def is_gazetteer_attribute(name: str) -> bool:
    """Whether an attribute comes from gazetteers."""
    return name == GAZETTEER or name.startswith(f"{GAZETTEER}.")


def needs_gazetteers(name: str) -> bool:
    """Whether an attribute reads gazetteers that must be there."""
    return is_gazetteer_attribute(name) and name != f"{GAZETTEER}.{EACH}"
