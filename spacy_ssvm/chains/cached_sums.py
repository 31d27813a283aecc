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

from spacy_ssvm._jit import Floats, Ints, Keys, Weights, kernel
from spacy_ssvm.chains.inference import Scorer, WordConstraints, apply_constraints
from spacy_ssvm.decoders.chain import viterbi_of_some
from spacy_ssvm.features.coordinates import ByWord
from spacy_ssvm.features.extraction import CompiledTemplates, fill_keys, select_templates
from spacy_ssvm.weights.compact import add_rows
from spacy_ssvm.weights.feature_index import find_token_rows
from spacy_ssvm.weights.hash_table import empty_slots, find_payloads, insert_all

_MAX_BYTES = 2**25  # of the sums of a model
_MIN_KEYS = 2**10  # a cache with room for fewer is not worth it


class KeptSums(NamedTuple):
    """What each key adds to the scores of labels of the word at each distance from it."""

    offsets: Ints  #: int64 [O], of templates: the key is that of the word at t + offset
    farthest: int  #: the largest absolute offset
    sums: Weights  #: float32 [2 farthest G + keys, O, K]; first, of positions outside the sentence


@kernel
def outside_slot(farthest: int, group: int, position: int, start: int, end: int) -> int:
    """The slot of a position before or after the sentence [start, end)."""
    first = 2 * farthest * group
    return first + (start - position - 1 if position < start else farthest + position - end)


@kernel
def _sum_weights(
    scorer: Scorer, attributes: Keys, start: int, end: int, t: int, total: Weights
) -> None:
    """Write the sum of the weights of the features of word t in the sentence [start, end)."""
    keys = np.empty(len(scorer.templates.seeds), dtype=np.uint64)
    rows = np.empty(len(keys), dtype=np.int64)
    scores = np.zeros(len(total))
    fill_keys(scorer.templates, attributes, start, end, t, keys)
    add_rows(scorer.weights, rows, find_token_rows(scorer.table, keys, rows), scores)
    total[:] = scores


@kernel
def fill_outside(scorer: Scorer, attributes: Keys, group: int, o: int, kept: KeptSums) -> None:
    """Write the sums of positions outside sentences, for the templates of a group and offset o.

    scorer: with these templates. attributes: of any words, not read.
    """
    for distance in range(kept.farthest):
        for position in (-1 - distance, distance):  # of an empty sentence
            total = kept.sums[outside_slot(kept.farthest, group, position, 0, 0), o]
            _sum_weights(scorer, attributes, 0, 0, position - kept.offsets[o], total)


@kernel
def fill_keys_met(
    scorer: Scorer, attributes: Keys, o: int, examples: Ints, first: int, kept: KeptSums
) -> None:
    """Write the sums of keys from slot ``first``, for the templates of a group and offset o.

    scorer: with these templates. examples: int64 [keys], a word with each key.
    """
    for i in range(len(examples)):
        t, total = examples[i], kept.sums[first + i, o]  # a sentence of this word alone
        _sum_weights(scorer, attributes, t, t + 1, t - kept.offsets[o], total)


@kernel
def score_from_sums(
    rest: Scorer,
    kept: KeptSums,
    slots: Ints,
    attributes: Keys,
    constraints: WordConstraints,
    start: int,
    end: int,
) -> Floats:
    """The emission table of the sentence [start, end), as by ``score_sentence``: float64 [n, K].

    rest: with the templates that no group sees. slots: int64 [words, G], in ``sums``.
    """
    K = rest.transitions.shape[1]
    keys = np.empty(len(rest.templates.seeds), dtype=np.uint64)
    rows = np.empty(len(keys), dtype=np.int64)
    emissions = np.zeros((end - start, K))
    for t in range(start, end):
        scores = emissions[t - start]
        for o in range(len(kept.offsets)):
            position = t + kept.offsets[o]
            for group in range(slots.shape[1]):
                if start <= position < end:
                    total = kept.sums[slots[position, group], o]
                else:
                    total = kept.sums[outside_slot(kept.farthest, group, position, start, end), o]
                for k in range(K):
                    scores[k] += total[k]
        fill_keys(rest.templates, attributes, start, end, t, keys)
        add_rows(rest.weights, rows, find_token_rows(rest.table, keys, rows), scores)
    apply_constraints(constraints, start, end, emissions)
    return emissions


@kernel
def predict_from_sums(
    rest: Scorer,
    kept: KeptSums,
    slots: Ints,
    gains: Floats,
    attributes: Keys,
    sentence_starts: Ints,
    constraints: WordConstraints,
    y: ByWord,
) -> None:
    """Fill y with the best labels of all sentences, as ``predict_sentences``.

    rest, slots: see ``score_from_sums``. gains: of ``swap_gains``.
    """
    for s in range(len(sentence_starts) - 1):
        start, end = sentence_starts[s], sentence_starts[s + 1]
        emissions = score_from_sums(rest, kept, slots, attributes, constraints, start, end)
        viterbi_of_some(emissions, rest.transitions, gains, y[start:end])


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

    scorer: the model's, with a row for each feature.
    groups: the columns of each group.
    """

    def __init__(self, scorer: Scorer, groups: Sequence[Collection[int]]) -> None:
        places = _places(scorer.templates, groups)

        def scorer_of(place: tuple[int, int] | None) -> Scorer:
            wanted = [m for m, found in enumerate(places) if found == place]
            return scorer._replace(templates=select_templates(scorer.templates, wanted))

        offsets = sorted({place[1] for place in places if place is not None})
        self._offsets = np.array(offsets, dtype=np.int64)
        self._scorers = [[scorer_of((g, o)) for o in offsets] for g in range(len(groups))]
        self.rest = scorer_of(None)
        self._farthest = max(map(abs, offsets), default=0)
        self._first = 2 * self._farthest * len(groups)
        K = scorer.transitions.shape[1]
        self._room = _MAX_BYTES // max(4 * len(offsets) * K, 1)
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
        for scorers, (of_group, examples) in zip(self._scorers, new, strict=True):
            start = self._first + self._size
            for o, scorer in enumerate(scorers):
                fill_keys_met(scorer, attributes, o, examples, start, self._kept)
            numbers = np.arange(start, start + len(of_group), dtype=np.uint64)
            insert_all(self._table, of_group, numbers)
            self._size += len(of_group)
        find_payloads(self._table, keys.ravel(), slots.ravel())
        return True

    def _forget(self, attributes: Keys) -> None:
        """Start with no keys. Sums that others have been given stay as they are."""
        shape = self._first + self._room, len(self._offsets), self.rest.transitions.shape[1]
        self._kept = KeptSums(self._offsets, self._farthest, np.empty(shape, dtype=np.float32))
        self._table, self._size = empty_slots(self._room), 0
        for group, scorers in enumerate(self._scorers):
            for o, scorer in enumerate(scorers):
                fill_outside(scorer, attributes, group, o, self._kept)


def _first_words(keys: Keys, is_new: np.ndarray) -> list[tuple[Keys, Ints]]:
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
