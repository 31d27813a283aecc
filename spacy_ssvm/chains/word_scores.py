"""Sums of weights by word type, which are computed once and kept.

Many templates see one word alone, by attributes that its text decides: what they add to the scores
of labels, at the word or at a neighbour, is the same wherever the type occurs. A cache holds these
sums for the types that were met, in a bounded amount of memory.
"""

import threading
from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from spacy_ssvm._jit import Floats, Ints, Keys, kernel
from spacy_ssvm.chains.inference import Scorer, WordConstraints, apply_constraints
from spacy_ssvm.decoders.chain import viterbi_of_some
from spacy_ssvm.features.coordinates import ByWord
from spacy_ssvm.features.extraction import CompiledTemplates, fill_keys, select_templates
from spacy_ssvm.weights.compact import add_rows
from spacy_ssvm.weights.feature_index import find_token_rows
from spacy_ssvm.weights.hash_table import empty_slots, find_payloads, insert_all

_MAX_BYTES = 2**25  # of the sums of a model
_MIN_TYPES = 2**10  # a cache with room for fewer is not worth it


class WordSums(NamedTuple):
    """What each word type adds to the scores of labels of the word at each distance from it."""

    offsets: Ints  #: int64 [O], of templates: the type is that of the word at t + offset
    farthest: int  #: the largest absolute offset
    sums: Floats  #: float64 [2 farthest + types, O, K]; first, of positions outside the sentence


@kernel
def outside_slot(farthest: int, position: int, start: int, end: int) -> int:
    """The slot of a position before or after the sentence [start, end)."""
    return start - position - 1 if position < start else farthest + position - end


@kernel
def _sum_weights(
    scorer: Scorer, attributes: Keys, start: int, end: int, t: int, total: Floats
) -> None:
    """Write the sum of the weights of the features of word t in the sentence [start, end)."""
    keys = np.empty(len(scorer.templates.seeds), dtype=np.uint64)
    rows = np.empty(len(keys), dtype=np.int64)
    fill_keys(scorer.templates, attributes, start, end, t, keys)
    total[:] = 0.0
    add_rows(scorer.weights, rows, find_token_rows(scorer.table, keys, rows), total)


@kernel
def fill_outside(scorer: Scorer, attributes: Keys, o: int, words: WordSums) -> None:
    """Write the sums of positions outside sentences, for the templates of offset o.

    scorer: with these templates. attributes: of any words, not read.
    """
    for distance in range(words.farthest):
        for position in (-1 - distance, distance):  # of an empty sentence
            total = words.sums[outside_slot(words.farthest, position, 0, 0), o]
            _sum_weights(scorer, attributes, 0, 0, position - words.offsets[o], total)


@kernel
def fill_types(
    scorer: Scorer, attributes: Keys, o: int, examples: Ints, first: int, words: WordSums
) -> None:
    """Write the sums of types from slot ``first``, for the templates of offset o.

    scorer: with these templates. examples: int64 [types], a word of each type.
    """
    for i in range(len(examples)):
        t, total = examples[i], words.sums[first + i, o]  # a sentence of this word alone
        _sum_weights(scorer, attributes, t, t + 1, t - words.offsets[o], total)


@kernel
def score_from_sums(
    rest: Scorer,
    words: WordSums,
    slots: Ints,
    attributes: Keys,
    constraints: WordConstraints,
    start: int,
    end: int,
) -> Floats:
    """The emission table of the sentence [start, end), as by ``score_sentence``: float64 [n, K].

    rest: with the templates that see more than one word. slots: int64 [words], in ``sums``.
    """
    K = rest.transitions.shape[1]
    keys = np.empty(len(rest.templates.seeds), dtype=np.uint64)
    rows = np.empty(len(keys), dtype=np.int64)
    emissions = np.zeros((end - start, K))
    for t in range(start, end):
        scores = emissions[t - start]
        for o in range(len(words.offsets)):
            position = t + words.offsets[o]
            slot = outside_slot(words.farthest, position, start, end)
            if start <= position < end:
                slot = slots[position]
            total = words.sums[slot, o]
            for k in range(K):
                scores[k] += total[k]
        fill_keys(rest.templates, attributes, start, end, t, keys)
        add_rows(rest.weights, rows, find_token_rows(rest.table, keys, rows), scores)
    apply_constraints(constraints, start, end, emissions)
    return emissions


@kernel
def predict_from_sums(
    rest: Scorer,
    words: WordSums,
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
        emissions = score_from_sums(rest, words, slots, attributes, constraints, start, end)
        viterbi_of_some(emissions, rest.transitions, gains, y[start:end])


def _offsets(templates: CompiledTemplates, of_types: Collection[int]) -> list[int | None]:
    """The offset of each template all of whose parts see the type of one word; None for others."""
    found: list[int | None] = []
    for first, end in zip(templates.part_starts[:-1], templates.part_starts[1:], strict=True):
        offsets = set(templates.offsets[first:end].tolist())
        sees_type = all(column in of_types for column in templates.columns[first:end].tolist())
        found.append(offsets.pop() if sees_type and len(offsets) == 1 else None)
    return found


class WordScores:
    """The cache of a model, whose weights do not change. Safe to use from several threads.

    scorer: the model's, with a row for each feature.
    of_types: the columns of attributes that depend on the text of a word alone.
    """

    def __init__(self, scorer: Scorer, of_types: Collection[int]) -> None:
        offsets = _offsets(scorer.templates, of_types)
        there = sorted({offset for offset in offsets if offset is not None})
        self._offsets = np.array(there, dtype=np.int64)
        *self._scorers, self.rest = (
            scorer._replace(templates=select_templates(scorer.templates, of_offset))
            for of_offset in (
                [m for m, found in enumerate(offsets) if found == offset]
                for offset in (*there, None)
            )
        )
        self._farthest = max(map(abs, there), default=0)
        K = scorer.transitions.shape[1]
        self._room = _MAX_BYTES // max(8 * len(there) * K, 1)
        self._lock = threading.Lock()
        self._size = 0
        self._table = empty_slots(0)
        self._words: WordSums | None = None

    @property
    def is_useful(self) -> bool:
        """Whether enough types fit."""
        return len(self._offsets) > 0 and self._room >= _MIN_TYPES

    def slots(self, orths: Keys, attributes: Keys) -> tuple[WordSums, Ints] | None:
        """The sums, and the slot of each word; None where the types of the words do not fit.

        orths: uint64 [words], the types. attributes: uint64 [words, columns].
        """
        slots = np.empty(len(orths), dtype=np.int64)
        with self._lock:
            is_missing = self._words is None or find_payloads(self._table, orths, slots) > 0
            if is_missing and not self._learn(orths, attributes, slots):
                return None
            assert self._words is not None
            return self._words, slots

    def _learn(self, orths: Keys, attributes: Keys, slots: Ints) -> bool:
        """Add the types that are missing; return whether there was room."""
        is_new = slots < 0 if self._words is not None else np.ones(len(orths), dtype=bool)
        new, first = np.unique(orths[is_new], return_index=True)
        if self._words is None or self._size + len(new) > self._room:
            new, first = np.unique(orths, return_index=True)
            is_new = np.ones(len(orths), dtype=bool)
            if len(new) > self._room:
                return False
            self._forget(attributes)
        assert self._words is not None
        start = 2 * self._farthest + self._size
        examples = np.flatnonzero(is_new)[first]
        for o, scorer in enumerate(self._scorers):
            fill_types(scorer, attributes, o, examples, start, self._words)
        insert_all(self._table, new, np.arange(start, start + len(new), dtype=np.uint64))
        self._size += len(new)
        find_payloads(self._table, orths, slots)
        return True

    def _forget(self, attributes: Keys) -> None:
        """Start with no types. Sums that others have been given stay as they are."""
        K = self.rest.transitions.shape[1]
        sums = np.empty((2 * self._farthest + self._room, len(self._offsets), K))
        self._words = WordSums(self._offsets, self._farthest, sums)
        self._table, self._size = empty_slots(self._room), 0
        for o, scorer in enumerate(self._scorers):
            fill_outside(scorer, attributes, o, self._words)
