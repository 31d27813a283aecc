"""Scores of the candidates of a word, as far as its text decides on them: computed once and cached.

``labelings/cached_sums.py`` holds sums for all parts of labels, of which there can be hundreds.
Of these a word needs those of its candidates, and it has the same candidates wherever it occurs.
"""

import threading
from typing import NamedTuple

import numpy as np

from spacy_ssvm.decoders.lattice import Candidates
from spacy_ssvm.features.extraction import CompiledTemplates, select_templates
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Floats, Ints, Keys
from spacy_ssvm.labelings.cached_sums import Features, add_features
from spacy_ssvm.lattices.layout import LabelParts
from spacy_ssvm.lattices.scores import sum_parts
from spacy_ssvm.weights.hash_table import (
    MAX_LOAD,
    empty_slots,
    find_payloads,
    grown_slots,
    insert_all,
)

_ROOM = 2**21  # scores of a model: 16 MB
_GROWTH = 2  # of the table of words


class WordScores(NamedTuple):
    """Scores of candidates by the features of their words alone."""

    starts: Ints  #: int64 [words]: that of the first candidate of each word; no length for none
    scores: Floats  #: float64


NO_SCORES = WordScores(np.empty(0, dtype=np.int64), np.empty(0))


@kernel
def _fill_scores(
    features: Features,
    parts: LabelParts,
    attributes: Keys,
    words: Ints,
    starts: Ints,
    candidates: Candidates,
    scores: Floats,
) -> None:
    """Write the scores of the candidates of some words, from ``starts`` on."""
    keys = np.empty(len(features.templates.seeds), dtype=np.uint64)
    rows, of_parts = np.empty(len(keys), dtype=np.int64), np.empty(parts.number)
    for i in range(len(words)):
        t = words[i]
        of_parts[:] = 0.0
        add_features(features, attributes, 0, len(attributes), t, keys, rows, of_parts)
        first, last = candidates.starts[t], candidates.starts[t + 1]
        for c in range(first, last):
            scores[starts[i] + c - first] = sum_parts(parts, candidates.labels[c], of_parts)


def _reads_words_alone(templates: CompiledTemplates, columns: range) -> list[bool]:
    """Whether each template reads its word alone, and there only some columns."""
    own = (templates.offsets == 0) & np.isin(templates.columns, columns)
    bounds = zip(templates.part_starts[:-1], templates.part_starts[1:], strict=True)
    return [bool(own[first:end].all()) for first, end in bounds]


class CachedScores:
    """The cache of a model, whose weights and candidates do not change. Safe to use from threads.

    columns: of attributes, which the text of a word decides, as it does its candidates.
    """

    def __init__(self, features: Features, parts: LabelParts, columns: range) -> None:
        is_own = np.array(_reads_words_alone(features.templates, columns), dtype=bool)
        own, others = (
            features._replace(templates=select_templates(features.templates, wanted.tolist()))
            for wanted in (np.flatnonzero(is_own), np.flatnonzero(~is_own))
        )
        self._own, self._others, self._parts = own, others, parts
        self._lock = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        """Start without words. Scores that others have been given stay as they are."""
        self._table, self._scores = empty_slots(0), np.empty(_ROOM)
        self._words = self._size = 0

    def find(
        self, texts: Keys, attributes: Keys, candidates: Candidates
    ) -> tuple[Features, WordScores] | None:
        """The scores of all candidates of words, and the features that are not in them.

        None where they do not fit.

        texts: uint64 [words], hashes of the texts, not 0. candidates: all that each word has.
        """
        starts = np.empty(len(texts), dtype=np.int64)
        with self._lock:
            if find_payloads(self._table, texts, starts):
                if not self._learn(texts, starts, attributes, candidates):
                    return None
                find_payloads(self._table, texts, starts)
            return self._others, WordScores(starts, self._scores)

    def _learn(self, texts: Keys, starts: Ints, attributes: Keys, candidates: Candidates) -> bool:
        """Add the words without scores, whose start is -1; return whether there was room."""
        sizes = np.diff(candidates.starts)
        missing = np.flatnonzero(starts < 0)
        words = missing[np.unique(texts[missing], return_index=True)[1]]
        if self._size + sizes[words].sum() > _ROOM:
            words = np.unique(texts, return_index=True)[1]
            if sizes[words].sum() > _ROOM:
                return False
            self._forget()
        firsts = self._size + np.cumsum(sizes[words]) - sizes[words]
        _fill_scores(self._own, self._parts, attributes, words, firsts, candidates, self._scores)
        self._words += len(words)
        if self._words > MAX_LOAD * len(self._table):
            self._table = grown_slots(self._table, _GROWTH * self._words)
        insert_all(self._table, texts[words], firsts.astype(np.uint64))
        self._size += int(sizes[words].sum())
        return True
