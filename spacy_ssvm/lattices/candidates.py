"""The labels that a word may have: found in a corpus by its form, and its ending.

A word that was seen has the labels it was seen with, and those that many words with such a label
have, too. A rare one also has those of rare words with its ending; so has a word that is not known,
and those of its lower-case form. An ending is the longest one, up to five letters, that enough
rare words have, among those of the same case.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from spacy_ssvm.decoders.lattice import Candidates
from spacy_ssvm.features.extraction import mix
from spacy_ssvm.kernels.compile import inlined_kernel, kernel
from spacy_ssvm.kernels.types import Flags, Ints, Keys, Labels, Rows
from spacy_ssvm.storage import Arrays, require
from spacy_ssvm.weights.hash_table import check_slots, empty_slots, find_slot, slots_of

_LONGEST = 5  # letters of an ending
_ENDINGS = tuple(f"suffix{n}" for n in range(_LONGEST, 0, -1))

#: The attributes of words that decide on their candidates.
ATTRIBUTES = ("orth", "lower", "case_class", "digit_class", *_ENDINGS)

_KEYS = 3 + _LONGEST  # of a word: itself, in lower case, and its endings, the empty one last
_RARE = 10  # occurrences of words that make endings
_FREQUENT = 1000  # occurrences above which a word has all its labels
_MIN_TYPES = 100  # rare words with an ending
_MIN_SHARED = 2  # words that have two labels
_SHARE = 0.005  # of the words with the first of them


class CandidateTable(NamedTuple):
    """Lists of labels, and which words have which list."""

    words: Keys  #: uint64 [capacity, 2]: the list of each word that was seen
    endings: Keys  #: uint64 [capacity, 2]: that of each ending
    starts: Ints  #: int64 [lists + 1]; list 0 is that of words without another one
    labels: Labels  #: uint16: those of a list are different, in ascending order


#: The saved arrays, with their types.
ARRAYS = {
    "candidate_words": np.uint64,
    "candidate_endings": np.uint64,
    "candidate_starts": np.int64,
    "candidate_labels": np.uint16,
}


def all_labels(K: int) -> CandidateTable:
    """A table in which every word has all labels."""
    labels = np.arange(K, dtype=np.uint16)
    return CandidateTable(empty_slots(0), empty_slots(0), np.array([0, K]), labels)


@kernel
def _fill_keys(columns: Keys, keys: Keys) -> None:
    """Write the keys of words, see ``word_keys``; columns: by ``ATTRIBUTES``."""
    for t in range(len(columns)):
        keys[t, 0], keys[t, 1] = columns[t, 0], columns[t, 1]
        form = mix(mix(np.uint64(1), columns[t, 2]), columns[t, 3])
        for n in range(_LONGEST):
            ending = columns[t, 4 + n]
            has_ending = ending != np.uint64(0)
            keys[t, 2 + n] = max(mix(form, ending), np.uint64(1)) if has_ending else np.uint64(0)
        keys[t, 2 + _LONGEST] = max(form, np.uint64(1))


def word_keys(attributes: Keys, names: Sequence[str]) -> Keys:
    """What decides on the candidates of words: uint64 [words, keys].

    attributes: uint64 [words, columns], whose names include ``ATTRIBUTES``.
    """
    columns = np.ascontiguousarray(attributes[:, [names.index(name) for name in ATTRIBUTES]])
    keys = np.empty((len(columns), _KEYS), dtype=np.uint64)
    _fill_keys(columns, keys)
    return keys


def collect_candidates(words: Iterable[tuple[Keys, Ints]], K: int) -> CandidateTable:
    """The candidates of the words of a corpus; all labels where it is empty.

    words: the ``word_keys`` and the labels (int64 [words], -1 for none) of batches.
    """
    counts, endings = _count(words)
    if not counts:
        return all_labels(K)
    rare = [word for word, own in counts.items() if own.total() <= _RARE]
    of_rare = {label for word in rare for label in counts[word]} or set(range(K))
    of_endings = _labels_of_endings([(endings[word], counts[word]) for word in rare])
    near = _shared_labels(counts.values())
    lists: dict[tuple[int, ...], int] = {tuple(sorted(of_rare)): 0}

    def number(labels: set[int]) -> int:
        return lists.setdefault(tuple(sorted(labels)), len(lists))

    numbers = {}
    for word, own in counts.items():
        found = set(own)
        if own.total() <= _FREQUENT:
            found.update(*(near[label] for label in own))
        if own.total() <= _RARE:
            longest = (of_endings[ending] for ending in endings[word] if ending in of_endings)
            found |= next(longest, of_rare)
        numbers[word] = number(found)
    numbers_of_endings = {ending: number(found) for ending, found in of_endings.items()}
    return CandidateTable(
        _slots(numbers),
        _slots(numbers_of_endings),
        np.cumsum([0, *map(len, lists)]).astype(np.int64),
        np.array([label for labels in lists for label in labels], dtype=np.uint16),
    )


def _count(
    words: Iterable[tuple[Keys, Ints]],
) -> tuple[dict[int, Counter[int]], dict[int, list[int]]]:
    """How often each word has each label, and the endings of each word, the longest first."""
    counts: dict[int, Counter[int]] = defaultdict(Counter)
    endings: dict[int, list[int]] = {}
    for keys, labels in words:
        known = np.flatnonzero(labels >= 0)
        pairs = np.stack([keys[known, 0].view(np.int64), labels[known]], axis=1)
        different, first, times = np.unique(pairs, axis=0, return_index=True, return_counts=True)
        for (_, label), i, n in zip(different.tolist(), known[first], times.tolist(), strict=True):
            word = int(keys[i, 0])
            counts[word][label] += n
            if word not in endings:
                endings[word] = [ending for ending in keys[i, 2:].tolist() if ending]
    return counts, endings


def _labels_of_endings(rare: Iterable[tuple[list[int], Counter[int]]]) -> dict[int, set[int]]:
    """The labels of the endings that enough rare words have, by their endings and labels."""
    types: Counter[int] = Counter()
    labels: dict[int, set[int]] = defaultdict(set)
    for endings, own in rare:
        types.update(endings)
        for ending in endings:
            labels[ending].update(own)
    return {ending: labels[ending] for ending, number in types.items() if number >= _MIN_TYPES}


def _shared_labels(counts: Iterable[Counter[int]]) -> dict[int, set[int]]:
    """For each label, those that many of its words have, too."""
    types: Counter[int] = Counter()
    shared: Counter[tuple[int, int]] = Counter()
    for own in counts:
        types.update(own.keys())
        shared.update((a, b) for a in own for b in own if a != b)
    near: dict[int, set[int]] = defaultdict(set)
    for (a, b), number in shared.items():
        if number >= max(_MIN_SHARED, _SHARE * types[a]):
            near[a].add(b)
    return near


def _slots(numbers: dict[int, int]) -> Keys:
    """Hash-table slots of keys and numbers."""
    keys, payloads = ([*part] for part in (numbers.keys(), numbers.values()))
    return slots_of(np.array(keys, dtype=np.uint64), np.array(payloads, dtype=np.uint64))


@inlined_kernel
def _list_of(slots: Keys, key: int) -> int:
    """The list of a key, -1 for none."""
    slot = find_slot(slots, key)
    return np.int64(slots[slot, 1]) if slots[slot, 0] == key else -1


@inlined_kernel
def _lists_of(table: CandidateTable, keys: Keys) -> tuple[int, int]:
    """The lists of a word, of which the second can be -1. keys: uint64 [keys], of the word."""
    first = _list_of(table.words, keys[0])
    if first >= 0:
        return first, -1
    ending = 0
    for n in range(2, len(keys)):
        if keys[n] != np.uint64(0):
            found = _list_of(table.endings, keys[n])
            if found >= 0:
                ending = found
                break
    return ending, _list_of(table.words, keys[1])


@inlined_kernel
def _agrees(gold: Ints, views: Ints, label: int) -> bool:
    """Whether a label agrees with gold annotation: int64 [V], -1 where it is not known."""
    agrees = True
    for v in range(len(gold)):
        agrees &= gold[v] == -1 or gold[v] == views[label, v]
    return agrees


@kernel
def _add_list(
    table: CandidateTable, number: int, t: int, size: int, labels: Rows, owners: Ints
) -> int:
    """Add the labels of a list to those of word t; return how many there are in all.

    owners: int64 [K], the last word that each label was added to.
    """
    for entry in range(table.starts[number], table.starts[number + 1]):
        label = np.int64(table.labels[entry])
        if owners[label] != t:
            owners[label] = t
            labels[size] = label
            size += 1
    return size


@kernel
def _fill_lists(table: CandidateTable, keys: Keys, K: int, starts: Ints) -> Rows:
    """The labels in the lists of words, see ``find_candidates``."""
    room = 0
    for t in range(len(keys)):
        for number in _lists_of(table, keys[t]):
            room += table.starts[number + 1] - table.starts[number] if number >= 0 else 0
    labels, size = np.empty(room, dtype=np.int32), 0
    owners = np.full(K, -1, dtype=np.int64)
    for t in range(len(keys)):
        starts[t] = size
        for number in _lists_of(table, keys[t]):
            if number >= 0:
                size = _add_list(table, number, t, size, labels, owners)
    starts[len(keys)] = size
    return labels[:size].copy()  # type: ignore[no-any-return]


@kernel
def _fill_agreeing(
    labels: Rows, starts: Ints, gold: Ints, views: Ints, agrees: Flags, has_any: Flags
) -> None:
    """Write which candidates agree with the annotation, and which words have any that do."""
    for t in range(len(starts) - 1):
        has_any[t] = False
        for c in range(starts[t], starts[t + 1]):
            agrees[c] = _agrees(gold[t], views, labels[c])
            has_any[t] |= agrees[c]


def find_candidates(
    table: CandidateTable, keys: Keys, gold: Ints, views: Ints, *, adds: bool
) -> tuple[Candidates, Flags]:
    """The candidates of words, and which of them agree with their annotation.

    keys: of ``word_keys``. gold: int64 [words, V], -1 where it is not known. views: int64 [K, V],
        what each label means for the annotation.
    adds: whether labels that agree are added where no candidate does. Where there are none,
        neither, all candidates count as agreeing.
    """
    starts = np.empty(len(keys) + 1, dtype=np.int64)
    labels = _fill_lists(table, keys, len(views), starts)
    agrees, has_any = np.empty(len(labels), dtype=bool), np.empty(len(keys), dtype=bool)
    _fill_agreeing(labels, starts, gold, views, agrees, has_any)
    words = np.flatnonzero(~has_any)
    agrees |= np.repeat(~has_any, np.diff(starts))
    if not (adds and len(words)):
        return Candidates(starts, labels), agrees
    is_known = gold[words, None] != -1
    owners, added = np.nonzero(np.all(~is_known | (gold[words, None] == views), axis=2))
    places = starts[words + 1][owners]
    numbers = np.bincount(words[owners], minlength=len(keys))
    agrees &= np.repeat(numbers == 0, np.diff(starts))
    found = np.insert(labels, places, added.astype(np.int32))
    new_starts = starts + np.concatenate([[0], np.cumsum(numbers)])
    return Candidates(new_starts, found), np.insert(agrees, places, True)


def read_table(arrays: Arrays, K: int) -> CandidateTable:
    """The saved candidates of K labels. Raises ValueError where kernels could not use them."""
    words, endings, starts, labels = (arrays[name] for name in ARRAYS)
    table = CandidateTable(words, endings, starts, labels)
    require(starts.ndim == labels.ndim == 1, "the lists of candidates are not lists")
    lists = len(starts) - 1
    is_whole = lists > 0 and starts[0] == 0 and starts[-1] == len(labels)
    is_filled = bool(np.all(starts[1:] > starts[:-1])) or (not K and lists == 1)
    require(is_whole and is_filled, "the lists of candidates do not fit their number")
    require(not len(labels) or int(labels.max()) < K, "a candidate is no label")
    inside = np.ones(max(len(labels) - 1, 0), dtype=bool)
    inside[starts[1:-1] - 1] = False
    rises = np.diff(labels.astype(np.int64)) > 0
    require(bool(np.all(rises[inside])), "the candidates of a word repeat")
    for slots in (words, endings):
        check_slots(slots)
        numbers = slots[slots[:, 0] != 0, 1]
        require(not len(numbers) or int(numbers.max()) < lists, "a word has no candidates")
    return table
