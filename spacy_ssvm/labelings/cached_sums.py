"""Sums of weights that are computed once and cached.

Many templates see one word alone, by attributes that its text decides: what they add to the scores
of labels, at the word or at a neighbour, is the same wherever the type occurs. So is what the
templates add that see the shapes of three neighbouring words, or the tags of two: these have few
values. In the same way, the templates of an arc that read its dependent alone add the same wherever
its word and tags occur. A cache holds these sums for what was met, in a bounded amount of memory.

A group is a set of columns and a width. It is seen by the templates all of whose parts read its
columns within a window of so many words; what the columns hold there is identified by a key. The
offset of a template is that of the first word of its window, which may lie outside of the sentence.
"""

import threading
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from spacy_ssvm.features.extraction import (
    CompiledTemplates,
    Window,
    fill_group_keys,
    fill_keys,
    mix,
    outside_value,
    select_templates,
)
from spacy_ssvm.kernels.compile import inlined_kernel, inner_kernel, kernel
from spacy_ssvm.kernels.types import Flags, Floats, Ints, Keys, Weights
from spacy_ssvm.weights.compact import CompactWeights, add_rows
from spacy_ssvm.weights.hash_table import empty_slots, find_payloads, insert_all
from spacy_ssvm.weights.key_table import KeyTable, find_row

_MAX_BYTES = 2**25  # of the sums of a model
_MIN_KEYS = 2**10  # a cache with room for fewer is not worth it
_BYTES = 8  # of a number


class Features(NamedTuple):
    """Templates, and the weights of their features."""

    templates: CompiledTemplates
    table: KeyTable
    weights: CompactWeights


class Sums(NamedTuple):
    """What keys add to the scores of labels of the words around them."""

    offsets: Ints  #: int64, of templates: those of each group, one group after another
    group_starts: Ints  #: int64 [G + 1]: the first offset of each group
    sums: Floats  #: float64: of each key [offsets of its group, K]


class SumSlots(NamedTuple):
    """Where the sums of the windows of a table are cached, which start at words and around them."""

    slots: Ints  #: int64 [rows, G]: the first number of ``Sums.sums``
    rows: Ints  #: int64 [words]: the row of the windows that start at each word


def nothing_cached(words: int) -> tuple[Sums, SumSlots]:
    """Sums and slots of words without groups."""
    none = np.empty(0, dtype=np.int64)
    cached = Sums(none, np.zeros(1, dtype=np.int64), np.empty(0))
    return cached, SumSlots(np.empty((words, 0), dtype=np.int64), np.arange(words))


def row_of(
    features: Features, attributes: Keys, start: int, end: int, t: int, template: int
) -> int:
    """The row of the feature that a template fires at word t of [start, end), -1 for none."""
    keys = np.empty(len(features.templates.seeds), dtype=np.uint64)
    fill_keys(features.templates, attributes, start, end, t, keys)
    return int(find_row(features.table, keys[template], template))


@inlined_kernel
def find_word_rows(
    features: Features, attributes: Keys, start: int, end: int, t: int, keys: Keys, rows: Ints
) -> int:
    """Write the rows of the features of word t in the sentence [start, end); return their number.

    keys, rows: uint64 and int64 [T]; the keys are scratch.
    """
    fill_keys(features.templates, attributes, start, end, t, keys)
    size = 0
    for m in range(len(keys)):
        row = find_row(features.table, keys[m], m)
        if row >= 0:
            rows[size] = row
            size += 1
    return size


@inlined_kernel
def add_features(
    features: Features,
    attributes: Keys,
    start: int,
    end: int,
    t: int,
    keys: Keys,
    rows: Ints,
    scores: Floats,
) -> None:
    """Add the weights of the features of word t in the sentence [start, end) to scores [K].

    keys, rows: uint64 and int64 [T], scratch.
    """
    size = find_word_rows(features, attributes, start, end, t, keys, rows)
    add_rows(features.weights, rows, size, scores)


@inlined_kernel
def add_reals(values: Weights, weights: Floats, t: int, scores: Floats) -> None:
    """Add the weights of real-valued features at word t to scores [K].

    values: float32 [words, F]. weights: float64 [F, K].
    """
    for d in range(len(weights)):
        value, of_feature = np.float64(values[t, d]), weights[d]
        for k in range(len(scores)):
            scores[k] += value * of_feature[k]


@inlined_kernel
def add_cached(cached: Sums, sum_slots: SumSlots, t: int, scores: Floats) -> None:
    """Add the sums that are cached for word t to scores [K]."""
    K, row = len(scores), sum_slots.rows[t]
    for group in range(len(cached.group_starts) - 1):
        first_offset = cached.group_starts[group]
        for i in range(first_offset, cached.group_starts[group + 1]):
            start = sum_slots.slots[row + cached.offsets[i], group] + K * (i - first_offset)
            total = cached.sums[start : start + K]
            for k in range(K):
                scores[k] += total[k]


@kernel
def _fill_sums(
    features: Features,
    attributes: Keys,
    words: Ints,
    starts: Ints,
    ends: Ints,
    slots: Ints,
    K: int,
    sums: Floats,
) -> None:
    """Write the sums of the weights of the features of words [n], from ``slots`` [n] on.

    starts, ends: int64 [n], of the sentences. Words may lie outside of them.
    """
    keys = np.empty(len(features.templates.seeds), dtype=np.uint64)
    rows = np.empty(len(keys), dtype=np.int64)
    for i in range(len(words)):
        total = sums[slots[i] : slots[i] + K]
        total[:] = 0.0
        add_features(features, attributes, starts[i], ends[i], words[i], keys, rows, total)


@inner_kernel
def _fill_window_keys(
    word_keys: Keys, widths: Ints, sentence_starts: Ints, margin: int, keys: Keys, rows: Ints
) -> None:
    """Write the keys of all windows and the rows of words: see ``SumSlots``.

    word_keys: uint64 [words, G]. keys: uint64 [words + 2 margin sentences, G], none of them 0.
    """
    row = 0
    for s in range(len(sentence_starts) - 1):
        start, end = sentence_starts[s], sentence_starts[s + 1]
        for position in range(start - margin, end + margin):
            if start <= position < end:
                rows[position] = row
            for group in range(len(widths)):
                key = mix(np.uint64(group), np.uint64(1))
                for word in range(position, position + widths[group]):
                    if start <= word < end:
                        key = mix(key, word_keys[word, group])
                    else:
                        key = mix(key, outside_value(word, start, end))
                keys[row, group] = max(key, np.uint64(1))
            row += 1


def _find_places(
    templates: CompiledTemplates, groups: Sequence[Window]
) -> list[tuple[int, int] | None]:
    """The first group that sees each template, and the offset; None for the uncached ones."""
    found: list[tuple[int, int] | None] = []
    for first, end in zip(templates.part_starts[:-1], templates.part_starts[1:], strict=True):
        offsets = templates.offsets[first:end].tolist()
        columns = set(templates.columns[first:end].tolist())
        width = max(offsets) - min(offsets) + 1
        seeing = [g for g, w in enumerate(groups) if columns <= {*w.columns} and width <= w.width]
        found.append((seeing[0], min(offsets)) if seeing else None)
    return found


class CachedSums:
    """The cache of a model, whose weights do not change. Safe to use from several threads.

    features: the model's, with a row for each feature. K: the number of labels.
    groups: columns, of one word each, whose keys are given to ``find``.
    windows: further groups.
    """

    def __init__(
        self,
        features: Features,
        K: int,
        groups: Sequence[Collection[int]],
        windows: Sequence[Window] = (),
    ) -> None:
        everything = [*(Window(columns, 1) for columns in groups), *windows]
        found = _find_places(features.templates, everything)
        used = sorted({place[0] for place in found if place is not None})

        def templates_at(place: tuple[int, int] | None) -> list[int]:
            return [m for m, of_template in enumerate(found) if of_template == place]

        def features_of(numbers: list[int]) -> Features:
            return features._replace(templates=select_templates(features.templates, numbers))

        self.uncached = features_of(templates_at(None))  #: of the templates that no group sees
        self._given = [g for g in used if g < len(groups)]
        self._offsets = [sorted({p[1] for p in found if p is not None and p[0] == g}) for g in used]
        numbers = [[templates_at((g, o)) for o in self._offsets[i]] for i, g in enumerate(used)]
        self._features = [list(map(features_of, of_group)) for of_group in numbers]
        self._widths = np.array([everything[g].width for g in used], dtype=np.int64)
        # Of windows, the keys are those of the columns that are read.
        read = [
            np.unique(np.concatenate([f.templates.columns for f in of_group]))
            for of_group in self._features[len(self._given) :]
        ]
        self._columns = np.concatenate([np.empty(0, dtype=np.int64), *read])
        self._column_starts = np.cumsum([0, *map(len, read)])
        self._margin = max((abs(o) for of_group in self._offsets for o in of_group), default=0)
        self._sizes = np.array([K * len(of_group) for of_group in self._offsets], dtype=np.int64)
        self._K = K
        self._room = _MAX_BYTES // _BYTES  # in numbers
        self._lock = threading.Lock()
        self._size = 0
        self._table = empty_slots(0)
        self._cached: Sums | None = None

    @property
    def is_useful(self) -> bool:
        """Whether enough keys fit."""
        return len(self._sizes) > 0 and self._room >= _MIN_KEYS * int(self._sizes.sum())

    def find(
        self, group_keys: Keys, attributes: Keys, sentence_starts: Ints
    ) -> tuple[Sums, SumSlots] | None:
        """The sums, and where those of each word are; None where the keys do not fit.

        group_keys: uint64 [words, groups]. attributes: uint64 [words, columns].
        """
        words = len(attributes)
        of_windows = np.empty((words, len(self._column_starts) - 1), dtype=np.uint64)
        fill_group_keys(self._columns, self._column_starts, attributes, of_windows)
        word_keys = np.hstack((group_keys[:, self._given], of_windows))
        rows = words + 2 * self._margin * (len(sentence_starts) - 1)
        keys = np.empty((rows, len(self._sizes)), dtype=np.uint64)
        sum_slots = SumSlots(np.empty(keys.shape, dtype=np.int64), np.empty(words, dtype=np.int64))
        _fill_window_keys(
            word_keys, self._widths, sentence_starts, self._margin, keys, sum_slots.rows
        )
        with self._lock:
            is_missing = self._cached is None or find_payloads(
                self._table, keys.ravel(), sum_slots.slots.ravel()
            )
            if is_missing and not self._learn(keys, attributes, sentence_starts, sum_slots.slots):
                return None
            assert self._cached is not None
            return self._cached, sum_slots

    def _learn(self, keys: Keys, attributes: Keys, sentence_starts: Ints, slots: Ints) -> bool:
        """Add the keys that are missing; return whether there was room."""
        everything = np.ones(keys.shape, dtype=bool)
        new, rows, groups = _different(keys, everything if self._cached is None else slots < 0)
        if self._cached is None or self._size + self._sizes[groups].sum() > self._room:
            new, rows, groups = _different(keys, everything)
            if self._sizes[groups].sum() > self._room:
                return False
            self._forget()
        assert self._cached is not None
        sizes = self._sizes[groups]
        firsts = self._size + np.cumsum(sizes) - sizes
        # The windows with the new keys: where they start, and their sentences.
        extended = sentence_starts + 2 * self._margin * np.arange(len(sentence_starts))
        sentences = np.searchsorted(extended, rows, side="right") - 1
        positions = rows - self._margin * (2 * sentences + 1)
        for group, by_offset in enumerate(self._features):
            own = groups == group
            of_sentences = sentence_starts[sentences[own]], sentence_starts[sentences[own] + 1]
            for i, features in enumerate(by_offset):
                words, first = positions[own] - self._offsets[group][i], firsts[own] + self._K * i
                _fill_sums(
                    features, attributes, words, *of_sentences, first, self._K, self._cached.sums
                )
        insert_all(self._table, new, firsts.astype(np.uint64))
        self._size += int(sizes.sum())
        find_payloads(self._table, keys.ravel(), slots.ravel())
        return True

    def _forget(self) -> None:
        """Start with no keys. Sums that others have been given stay as they are."""
        self._cached = Sums(
            np.array([o for of_group in self._offsets for o in of_group], dtype=np.int64),
            np.cumsum([0, *map(len, self._offsets)]),
            np.empty(self._room),
        )
        self._table, self._size = empty_slots(self._room // int(self._sizes.min())), 0


def useful_cache(
    features: Features, K: int, groups: Sequence[Collection[int]], windows: Sequence[Window]
) -> CachedSums | None:
    """A cache, see there; None where it is of no use."""
    if features.table.rows_per_template:
        return None
    cache = CachedSums(features, K, groups, windows)
    return cache if cache.is_useful else None


def find_sums(
    cache: CachedSums | None,
    features: Features,
    group_keys: Keys,
    attributes: Keys,
    sentence_starts: Ints,
) -> tuple[Features, Sums, SumSlots]:
    """The features of templates that are not cached, the sums of the others, and where they are.

    features: all of them. group_keys, attributes, sentence_starts: see ``CachedSums.find``.
    """
    found = None if cache is None else cache.find(group_keys, attributes, sentence_starts)
    if cache is None or found is None:
        return features, *nothing_cached(len(attributes))
    return cache.uncached, *found


def _different(keys: Keys, is_wanted: Flags) -> tuple[Keys, Ints, Ints]:
    """The different keys among those wanted, and the row and the group of the first of each."""
    wanted = np.flatnonzero(is_wanted)
    different, first = np.unique(keys.ravel()[wanted], return_index=True)
    rows, groups = np.divmod(wanted[first], keys.shape[1])
    return different, rows, groups
