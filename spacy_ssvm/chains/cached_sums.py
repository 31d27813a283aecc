"""Sums of weights that are computed once and kept.

Many templates see one word alone, by attributes that its text decides: what they add to the scores
of labels, at the word or at a neighbour, is the same wherever the type occurs. In the same way, the
templates of an arc that read its dependent alone add the same wherever its word and tags occur. A
cache holds these sums for what was met, in a bounded amount of memory.

A group is a set of columns. It is seen by the templates all of whose parts read its columns, at one
offset; what the columns hold at a word is identified by a key.
"""

import threading
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from spacy_ssvm._jit import Flags, Floats, Ints, Keys, inner_kernel, kernel
from spacy_ssvm.features.extraction import CompiledTemplates, fill_keys, select_templates
from spacy_ssvm.weights.compact import CompactWeights, add_rows
from spacy_ssvm.weights.feature_index import Table, find_token_rows
from spacy_ssvm.weights.hash_table import empty_slots, find_payloads, insert_all

_MAX_BYTES = 2**25  # of the sums of a model
_MIN_KEYS = 2**10  # a cache with room for fewer is not worth it


class Features(NamedTuple):
    """Templates, and the weights of their features."""

    templates: CompiledTemplates
    table: Table
    weights: CompactWeights


class KeptSums(NamedTuple):
    """What each key adds to the scores of labels of the word at each distance from it."""

    offsets: Ints  #: int64 [O], of templates: the key is that of the word at t + offset
    farthest: int  #: the largest absolute offset
    sums: Floats  #: float64 [2 farthest G + keys, O, K]; first, of positions outside the sentence


#: Without groups.
NOTHING_KEPT = KeptSums(np.empty(0, dtype=np.int64), 0, np.empty((0, 0, 0)))


@inner_kernel
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
    fill_keys(features.templates, attributes, start, end, t, keys)
    size = find_token_rows(features.table, keys, rows)
    add_rows(features.weights, rows, size, scores)


@inner_kernel
def outside_slot(farthest: int, group: int, position: int, start: int, end: int) -> int:
    """The slot of a position before or after the sentence [start, end)."""
    first = 2 * farthest * group
    return first + (start - position - 1 if position < start else farthest + position - end)


@inner_kernel
def add_kept(kept: KeptSums, slots: Ints, start: int, end: int, t: int, scores: Floats) -> None:
    """Add the sums that are kept for word t in the sentence [start, end) to scores [K].

    slots: int64 [words, G].
    """
    for o in range(len(kept.offsets)):
        position = t + kept.offsets[o]
        for group in range(slots.shape[1]):
            if start <= position < end:
                total = kept.sums[slots[position, group], o]
            else:
                total = kept.sums[outside_slot(kept.farthest, group, position, start, end), o]
            for k in range(len(scores)):
                scores[k] += total[k]


@kernel
def _sum_features(
    features: Features, attributes: Keys, start: int, end: int, t: int, total: Floats
) -> None:
    """Write the sum of the weights of the features of word t in the sentence [start, end)."""
    keys = np.empty(len(features.templates.seeds), dtype=np.uint64)
    rows = np.empty(len(keys), dtype=np.int64)
    total[:] = 0.0
    add_features(features, attributes, start, end, t, keys, rows, total)


@kernel
def fill_outside(features: Features, attributes: Keys, group: int, o: int, kept: KeptSums) -> None:
    """Write the sums of positions outside sentences, for the templates of a group and offset o.

    features: of these templates. attributes: of any words, not read.
    """
    for distance in range(kept.farthest):
        for position in (-1 - distance, distance):  # of an empty sentence
            total = kept.sums[outside_slot(kept.farthest, group, position, 0, 0), o]
            _sum_features(features, attributes, 0, 0, position - kept.offsets[o], total)


@kernel
def fill_keys_met(
    features: Features, attributes: Keys, o: int, examples: Ints, first: int, kept: KeptSums
) -> None:
    """Write the sums of keys from slot ``first``, for the templates of a group and offset o.

    features: of these templates. examples: int64 [keys], a word with each key.
    """
    for i in range(len(examples)):
        t, total = examples[i], kept.sums[first + i, o]  # a sentence of this word alone
        _sum_features(features, attributes, t, t + 1, t - kept.offsets[o], total)


def _places(
    templates: CompiledTemplates, groups: Sequence[Collection[int]]
) -> list[tuple[int, int] | None]:
    """The first group that sees each template, and the offset; None for templates of the rest."""
    found: list[tuple[int, int] | None] = []
    for first, end in zip(templates.part_starts[:-1], templates.part_starts[1:], strict=True):
        offsets = set(templates.offsets[first:end].tolist())
        columns = set(templates.columns[first:end].tolist())
        seeing = [g for g, group in enumerate(groups) if columns <= set(group)]
        found.append((seeing[0], offsets.pop()) if seeing and len(offsets) == 1 else None)
    return found


class CachedSums:
    """The cache of a model, whose weights do not change. Safe to use from several threads.

    features: the model's, with a row for each feature. K: the number of labels.
    groups: the columns of each group.
    """

    def __init__(self, features: Features, K: int, groups: Sequence[Collection[int]]) -> None:
        places = _places(features.templates, groups)

        def features_at(place: tuple[int, int] | None) -> Features:
            wanted = [m for m, found in enumerate(places) if found == place]
            return features._replace(templates=select_templates(features.templates, wanted))

        offsets = sorted({place[1] for place in places if place is not None})
        self._offsets = np.array(offsets, dtype=np.int64)
        self._features = [[features_at((g, o)) for o in offsets] for g in range(len(groups))]
        self.rest = features_at(None)  #: of the templates that no group sees
        self._farthest = max(map(abs, offsets), default=0)
        self._first = 2 * self._farthest * len(groups)
        self._K = K
        self._room = _MAX_BYTES // max(8 * len(offsets) * K, 1)
        self._lock = threading.Lock()
        self._size = 0
        self._table = empty_slots(0)
        self._kept: KeptSums | None = None

    @property
    def is_useful(self) -> bool:
        """Whether enough keys fit."""
        return len(self._offsets) > 0 and self._room >= _MIN_KEYS

    def slots(self, keys: Keys, attributes: Keys) -> tuple[KeptSums, Ints] | None:
        """The sums, and the slots of each word: int64 [words, G]; None where the keys do not fit.

        keys: uint64 [words, G]. attributes: uint64 [words, columns].
        """
        slots = np.empty(keys.shape, dtype=np.int64)
        with self._lock:
            is_missing = self._kept is None or find_payloads(
                self._table, keys.ravel(), slots.ravel()
            )
            if is_missing and not self._learn(keys, attributes, slots):
                return None
            assert self._kept is not None
            return self._kept, slots

    def _learn(self, keys: Keys, attributes: Keys, slots: Ints) -> bool:
        """Add the keys that are missing; return whether there was room."""
        is_new = slots < 0 if self._kept is not None else np.ones(slots.shape, dtype=bool)
        new = _first_words(keys, is_new)
        if self._kept is None or self._size + _count(new) > self._room:
            new = _first_words(keys, np.ones(slots.shape, dtype=bool))
            if _count(new) > self._room:
                return False
            self._forget(attributes)
        assert self._kept is not None
        for by_offset, (of_group, examples) in zip(self._features, new, strict=True):
            start = self._first + self._size
            for o, features in enumerate(by_offset):
                fill_keys_met(features, attributes, o, examples, start, self._kept)
            numbers = np.arange(start, start + len(of_group), dtype=np.uint64)
            insert_all(self._table, of_group, numbers)
            self._size += len(of_group)
        find_payloads(self._table, keys.ravel(), slots.ravel())
        return True

    def _forget(self, attributes: Keys) -> None:
        """Start with no keys. Sums that others have been given stay as they are."""
        sums = np.empty((self._first + self._room, len(self._offsets), self._K))
        self._kept = KeptSums(self._offsets, self._farthest, sums)
        self._table, self._size = empty_slots(self._room), 0
        for group, by_offset in enumerate(self._features):
            for o, features in enumerate(by_offset):
                fill_outside(features, attributes, group, o, self._kept)


def _first_words(keys: Keys, is_new: Flags) -> list[tuple[Keys, Ints]]:
    """The distinct keys of each group that are new, and the first word with each."""
    found = []
    for group in range(keys.shape[1]):
        words = np.flatnonzero(is_new[:, group])
        distinct, first = np.unique(keys[words, group], return_index=True)
        found.append((distinct, words[first]))
    return found


def _count(found: list[tuple[Keys, Ints]]) -> int:
    """The number of keys."""
    return sum(len(keys) for keys, _ in found)
