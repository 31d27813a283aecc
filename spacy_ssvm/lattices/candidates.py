"""The labels that a word may have: found in a corpus by its form, and its ending.

A word that was seen has the labels it was seen with, and, by the rules, those that many words with
such a label have, too. A rare one can also have those of rare words with its ending; so has a word
that is not known, and those of its lower-case form. An ending is the longest one, up to five
letters, that enough rare words have, among those of the same case.

Labels that depend on annotation, as lemmas do on tags, have candidates by word and annotation. A
word that is not known with its annotation has those of its ending and annotation, and those that
it was seen with otherwise.

Words that were not seen, and rare ones, also have the labels of words with the same entry in a
dictionary: its features or, for lemmas, the label that makes its lemma; where there are several,
those of words with the same ones.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from spacy_ssvm.decoders.lattice import Candidates
from spacy_ssvm.features.dictionaries import DICTIONARY_ATTRIBUTES
from spacy_ssvm.features.extraction import mix
from spacy_ssvm.features.text_hash import hash_text
from spacy_ssvm.kernels.compile import inlined_kernel, kernel
from spacy_ssvm.kernels.types import Flags, Ints, Keys, Labels, Rows
from spacy_ssvm.lattices.labels import FEATURES, TAGS, WHOLE
from spacy_ssvm.storage import Arrays, require, rise_within
from spacy_ssvm.weights.hash_table import (
    empty_slots,
    find_slot,
    read_slots,
    saved_slots,
    slots_of,
)

_LONGEST = 5  # letters of an ending
_ENDINGS = tuple(f"suffix{n}" for n in range(_LONGEST, 0, -1))

#: The attributes of words that decide on their candidates.
ATTRIBUTES = ("orth", "lower", "case_class", "digit_class", *_ENDINGS)
#: What templates may read of the entry of a word in a dictionary: how its lemmas are made, which
#: labels without parts can say, or its features.
LEMMAS, ENTRY_FEATURES = DICTIONARY_ATTRIBUTES
_OF_ENTRY = np.uint64(3)
_NO_VALUES: Keys = np.zeros(0, dtype=np.uint64)


class Rules(NamedTuple):
    """Which labels words have besides those that they were seen with."""

    rare: int = 10  #: occurrences of words that make endings
    min_types: int = 100  #: rare words with an ending
    min_words: int = 1  #: with a label that words have by their ending
    most: int | None = None  #: of words about which nothing is known, the most frequent; None: all
    frequent: int = 1000  #: occurrences above which words have none of those that other words share
    min_shared: int = 2  #: words that have two labels
    share: float = 0.005  #: of the words with the first of them
    #: whether words that were seen have none of other words; as they have one label as a rule, the
    #: others are learned from them as if they were new
    keeps_own: bool = False
    entry: str = ENTRY_FEATURES  #: what of the entry in a dictionary decides on labels
    min_entries: int = 2  #: words with the same entry that have a label


#: By the scheme of the labels.
RULES = {
    FEATURES: Rules(),
    TAGS: Rules(),
    WHOLE: Rules(min_types=3, min_words=2, most=1, keeps_own=True, entry=LEMMAS),
}

#: Annotation that the candidates of labels without parts depend on, where templates read it.
ANNOTATION = ("tag", "pos", "morph")


class CandidateTable(NamedTuple):
    """Lists of labels, and which words have which list."""

    words: Keys  #: uint64 [capacity, 2]: the list of each word that was seen
    endings: Keys  #: uint64 [capacity, 2]: that of each ending
    starts: Ints  #: int64 [lists + 1]; list 0 is that of words without another one
    labels: Labels  #: uint16: those of a list are different, in ascending order


#: The saved arrays, with their types.
ARRAYS = {
    "candidate_words": np.uint8,
    "candidate_lists": np.uint8,
    "candidate_endings": np.uint8,
    "candidate_ending_lists": np.uint8,
    "candidate_starts": np.int64,
    "candidate_labels": np.uint16,
}


def all_labels(K: int) -> CandidateTable:
    """A table in which every word has all labels."""
    labels = np.arange(K, dtype=np.uint16)
    return CandidateTable(empty_slots(0), empty_slots(0), np.array([0, K]), labels)


class WordKeys(NamedTuple):
    """What decides on the candidates of words.

    The keys of a word are its own, that of its lower-case form, that of the word alone where
    candidates depend on annotation, and that of its entry in a dictionary.
    """

    words: Keys  #: uint64 [n, 4]; 0 for none
    endings: Keys  #: uint64 [n, 6 or 12]: the longest first, the empty one last; 0 for none


@inlined_kernel
def _joined(a: int, b: int) -> int:
    """A key of two values, not 0."""
    return max(mix(a, b), np.uint64(1))  # type: ignore[no-any-return]


@kernel
def _fill_keys(
    columns: Keys, given: Keys, names: Keys, entries: Keys, words: Keys, endings: Keys
) -> None:
    """Write the keys of words, see ``word_keys``.

    columns: by ``ATTRIBUTES``. names: uint64 [annotation], hashes of the names of ``given``.
    """
    words[:, 2:] = 0
    for t in range(len(columns)):
        orth, lower = columns[t, 0], columns[t, 1]
        form = mix(mix(np.uint64(1), columns[t, 2]), columns[t, 3])
        context, first = form, 0
        if given.shape[1] > 0:
            annotation = np.uint64(2)
            for j in range(given.shape[1]):
                if given[t, j] != np.uint64(0):
                    annotation = mix(mix(annotation, names[j]), given[t, j])
            words[t, 2] = orth
            orth, lower = _joined(annotation, orth), _joined(annotation, lower)
            context = mix(form, annotation)
        words[t, 0], words[t, 1] = orth, lower
        if entries[t] != np.uint64(0):
            words[t, 3] = _joined(_OF_ENTRY, entries[t])
        while first < endings.shape[1]:
            for n in range(_LONGEST):
                ending = columns[t, 4 + n]
                has_ending = ending != np.uint64(0)
                endings[t, first + n] = _joined(context, ending) if has_ending else np.uint64(0)
            endings[t, first + _LONGEST] = max(context, np.uint64(1))
            first, context = first + _LONGEST + 1, form


def word_keys(
    attributes: Keys, names: Sequence[str], entry: str, given: Sequence[str] = ()
) -> WordKeys:
    """What decides on the candidates of words.

    attributes: uint64 [n, columns], whose names include ``ATTRIBUTES`` and those of ``given``, and
        perhaps ``entry``, see ``Rules``.
    given: annotation that candidates depend on. Keys with further annotation that words lack are
        the same.
    """
    columns, of_tokens = (
        np.ascontiguousarray(attributes[:, [names.index(name) for name in wanted]])
        for wanted in (ATTRIBUTES, given)
    )
    kinds = 2 if given else 1
    entries = np.zeros(len(columns), dtype=np.uint64)
    if entry in names:
        entries[:] = attributes[:, names.index(entry)]
    words = np.empty((len(columns), 4), dtype=np.uint64)
    endings = np.empty((len(columns), kinds * (_LONGEST + 1)), dtype=np.uint64)
    hashes = np.array([hash_text(name) for name in given], dtype=np.uint64)
    _fill_keys(columns, of_tokens, hashes, entries, words, endings)
    return WordKeys(words, endings)


class _Seen(NamedTuple):
    """A word of a corpus."""

    labels: Counter[int]  #: how often it has each label
    endings: list[int]  #: its keys, the longest ending first
    form: int  #: the key of the word alone, 0 where candidates do not depend on annotation
    entry: int  #: that of its entry in a dictionary, 0 for none


def collect_candidates(
    words: Iterable[tuple[WordKeys, Ints]],
    K: int,
    rules: Rules,
    values: Keys = _NO_VALUES,
) -> CandidateTable:
    """The candidates of the words of a corpus; all labels where it is empty.

    words: the keys and the labels (int64 [words], -1 for none) of batches.
    values: uint64 [K], the entry in a dictionary that each label is for, if labels say so.
    """
    seen: dict[int, _Seen] = {}
    for keys, labels in words:
        _count(keys, labels, seen)
    if not seen:
        return all_labels(K)
    rare = [word for word in seen.values() if word.labels.total() <= rules.rare]
    of_rare = sum((word.labels for word in rare), Counter[int]())
    by_number = sorted(of_rare, key=lambda label: (-of_rare[label], label))
    default = set(by_number[: rules.most]) or set(range(K))
    of_endings = _labels_of_endings(rare, rules)
    of_entries = _labels_of_entries(seen.values(), rules)
    near = _shared_labels(seen.values(), rules)
    lists: dict[tuple[int, ...], int] = {tuple(sorted(default)): 0}

    def number(labels: set[int]) -> int:
        return lists.setdefault(tuple(sorted(labels)), len(lists))

    numbers = {}
    of_forms: dict[int, set[int]] = defaultdict(set)
    for key, word in seen.items():
        found = set(word.labels)
        if word.form:
            of_forms[word.form] |= found
        if not rules.keeps_own:
            if word.labels.total() <= rules.frequent:
                found.update(*(near[label] for label in word.labels))
            if word.labels.total() <= rules.rare:
                longest = (of_endings[ending] for ending in word.endings if ending in of_endings)
                found |= next(longest, default) | of_entries.get(word.entry, set())
        numbers[key] = number(found)
    numbers |= {form: number(found) for form, found in of_forms.items()}
    of_entries |= {key: {k} for k, key in enumerate(_keys_of_entries(values).tolist())}
    numbers |= {key: number(found) for key, found in of_entries.items()}
    numbers_of_endings = {ending: number(found) for ending, found in of_endings.items()}
    return CandidateTable(
        _slots(numbers),
        _slots(numbers_of_endings),
        np.cumsum([0, *map(len, lists)]).astype(np.int64),
        np.array([label for labels in lists for label in labels], dtype=np.uint16),
    )


@kernel
def _keys_of_entries(values: Keys) -> Keys:
    """The keys of entries in a dictionary, see ``WordKeys``."""
    keys = np.empty_like(values)
    for k in range(len(values)):
        keys[k] = _joined(_OF_ENTRY, values[k])
    return keys


def _count(keys: WordKeys, labels: Ints, seen: dict[int, _Seen]) -> None:
    """Count how often each word has each label."""
    known = np.flatnonzero(labels >= 0)
    pairs = np.stack([keys.words[known, 0].view(np.int64), labels[known]], axis=1)
    different, first, times = np.unique(pairs, axis=0, return_index=True, return_counts=True)
    for (_, label), i, n in zip(different.tolist(), known[first], times.tolist(), strict=True):
        key, _, form, entry = keys.words[i].tolist()
        if key not in seen:
            endings = [ending for ending in keys.endings[i].tolist() if ending]
            seen[key] = _Seen(Counter(), endings, form, entry)
        seen[key].labels[label] += n


def _labels_of_endings(rare: Iterable[_Seen], rules: Rules) -> dict[int, set[int]]:
    """The labels of the endings that enough rare words have, by their endings and labels."""
    types: Counter[int] = Counter()
    forms: dict[int, set[int]] = defaultdict(set)
    labels: dict[int, set[int]] = defaultdict(set)
    for word in rare:
        types.update(word.endings)
        for label in word.labels:
            forms[label].add(word.form)
        for ending in word.endings:
            labels[ending].update(word.labels)
    shared = {label for label, own in forms.items() if len(own) >= rules.min_words}
    frequent = (ending for ending, number in types.items() if number >= rules.min_types)
    return {ending: found for ending in frequent if (found := labels[ending] & shared)}


def _labels_of_entries(seen: Iterable[_Seen], rules: Rules) -> dict[int, set[int]]:
    """The labels that enough words with the same entry in a dictionary have."""
    words: dict[int, Counter[int]] = defaultdict(Counter)
    for word in seen:
        if word.entry:
            words[word.entry].update(word.labels.keys())
    found = {
        key: {label for label, number in own.items() if number >= rules.min_entries}
        for key, own in words.items()
    }
    return {key: labels for key, labels in found.items() if labels}


def _shared_labels(seen: Iterable[_Seen], rules: Rules) -> dict[int, set[int]]:
    """For each label, those that many of its words have, too."""
    types: Counter[int] = Counter()
    shared: Counter[tuple[int, int]] = Counter()
    for own in (word.labels for word in seen):
        types.update(own.keys())
        shared.update((a, b) for a in own for b in own if a != b)
    near: dict[int, set[int]] = defaultdict(set)
    for (a, b), number in shared.items():
        if number >= max(rules.min_shared, rules.share * types[a]):
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
def _find_lists(table: CandidateTable, keys: WordKeys, t: int, as_new: bool, found: Ints) -> int:
    """Write the lists of word t; return their number. found: int64 [5].

    as_new: whether words that were seen have other lists than their own, too.
    """
    own = _list_of(table.words, keys.words[t, 0])
    if own >= 0 and not as_new:
        found[0] = own
        return 1
    found[0] = 0
    for n in range(keys.endings.shape[1]):
        if keys.endings[t, n] != np.uint64(0):
            number = _list_of(table.endings, keys.endings[t, n])
            if number >= 0:
                found[0] = number
                break
    size = 1
    for n in range(keys.words.shape[1]):
        key = keys.words[t, n]
        number = _list_of(table.words, key) if key != np.uint64(0) else -1
        if number >= 0:
            found[size] = number
            size += 1
    return size


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
def _fill_lists(table: CandidateTable, keys: WordKeys, K: int, as_new: bool, starts: Ints) -> Rows:
    """The labels in the lists of words, see ``all_candidates``."""
    room, found = 0, np.empty(5, dtype=np.int64)
    for t in range(len(keys.words)):
        for number in found[: _find_lists(table, keys, t, as_new, found)]:
            room += table.starts[number + 1] - table.starts[number]
    labels, size = np.empty(room, dtype=np.int32), 0
    owners = np.full(K, -1, dtype=np.int64)
    for t in range(len(keys.words)):
        starts[t] = size
        for number in found[: _find_lists(table, keys, t, as_new, found)]:
            size = _add_list(table, number, t, size, labels, owners)
    starts[len(keys.words)] = size
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


def all_candidates(
    table: CandidateTable, keys: WordKeys, K: int, *, as_new: bool = False
) -> Candidates:
    """The candidates of words, whatever they are annotated with; see ``find_candidates``."""
    starts = np.empty(len(keys.words) + 1, dtype=np.int64)
    return Candidates(starts, _fill_lists(table, keys, K, as_new, starts))


def find_candidates(
    table: CandidateTable,
    keys: WordKeys,
    gold: Ints,
    views: Ints,
    *,
    adds: bool,
    as_new: bool = False,
) -> tuple[Candidates, Flags]:
    """The candidates of words, and which of them agree with their annotation.

    keys: of ``word_keys``. gold: int64 [words, V], -1 where it is not known. views: int64 [K, V],
        what each label means for the annotation.
    adds: whether labels that agree are added where no candidate does. Where there are none,
        neither, all candidates count as agreeing.
    as_new: whether words that were seen also have the candidates of words that were not.
    """
    starts, labels = all_candidates(table, keys, len(views), as_new=as_new)
    agrees, has_any = np.empty(len(labels), dtype=bool), np.empty(len(keys.words), dtype=bool)
    _fill_agreeing(labels, starts, gold, views, agrees, has_any)
    words = np.flatnonzero(~has_any)
    agrees |= np.repeat(~has_any, np.diff(starts))
    if not (adds and len(words)):
        return Candidates(starts, labels), agrees
    is_known = gold[words, None] != -1
    owners, added = np.nonzero(np.all(~is_known | (gold[words, None] == views), axis=2))
    places = starts[words + 1][owners]
    numbers = np.bincount(words[owners], minlength=len(keys.words))
    agrees &= np.repeat(numbers == 0, np.diff(starts))
    found = np.insert(labels, places, added.astype(np.int32))
    new_starts = starts + np.concatenate([[0], np.cumsum(numbers)])
    return Candidates(new_starts, found), np.insert(agrees, places, True)


def saved_table(table: CandidateTable) -> Arrays:
    """A table as arrays of these names."""
    saved = *saved_slots(table.words), *saved_slots(table.endings), table.starts, table.labels
    return dict(zip(ARRAYS, saved, strict=True))


def read_table(arrays: Arrays, K: int) -> CandidateTable:
    """The saved candidates of K labels. Raises ValueError where kernels could not use them."""
    words, numbers, endings, ending_numbers, starts, labels = (arrays[name] for name in ARRAYS)
    table = CandidateTable(
        read_slots(words, numbers, "words with candidates"),
        read_slots(endings, ending_numbers, "endings with candidates"),
        starts,
        labels,
    )
    require(starts.ndim == labels.ndim == 1, "the lists of candidates are not lists")
    lists = len(starts) - 1
    is_whole = lists > 0 and starts[0] == 0 and starts[-1] == len(labels)
    is_filled = bool(np.all(starts[1:] > starts[:-1])) or (not K and lists == 1)
    require(is_whole and is_filled, "the lists of candidates do not fit their number")
    require(not len(labels) or int(labels.max()) < K, "a candidate is no label")
    require(rise_within(starts, labels), "the candidates of a word repeat")
    for slots in (table.words, table.endings):
        require(int(slots[:, 1].max()) < lists, "a word has no candidates")
    return table
