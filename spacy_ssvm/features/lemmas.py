"""Lemmas of words by label, and labels by lemma, found once for each word."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from spacy_ssvm.features.attributes import CACHED_TYPES
from spacy_ssvm.features.edit_scripts import edit_script, read_script
from spacy_ssvm.kernels.types import Ints, Keys
from spacy_ssvm.weights.hash_table import empty_slots, find_payloads, insert_all

#: What becomes of words that no script fits, by name.
BACKOFFS: dict[str | None, Callable[[str], str] | None] = {
    "orth": str,
    "lower": str.lower,
    None: None,
}

_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # of labels over keys: 2**64 over the golden ratio


def is_address(word: str) -> bool:
    """Whether a word is a URL or an e-mail address, which has no other base form."""
    if "://" in word or word.lower().startswith("www."):
        return True
    name, _, domain = word.rpartition("@")
    return bool(name) and "." in domain[1:-1]


class Lemmas:
    """The lemmas that labels, which are edit scripts, make of words, and the labels of lemmas.

    Both are found once for each word, and kept, until there are too many. Safe to use from several
    threads.
    labels: texts as ``read_script`` reads them. backoff: a key of ``BACKOFFS``.
    """

    def __init__(self, labels: Sequence[str], backoff: str | None) -> None:
        self._definition = tuple(labels), backoff
        self._scripts = [read_script(label) for label in labels]
        self._numbers = {script: k for k, script in enumerate(self._scripts)}
        self._backoff = BACKOFFS[backoff]
        self._lock = threading.Lock()
        self._labels: dict[tuple[str, str], int] = {}
        self._forget()

    def __reduce__(self) -> tuple[type["Lemmas"], tuple[tuple[str, ...], str | None]]:
        return Lemmas, self._definition

    def _forget(self) -> None:
        self._slots = empty_slots(CACHED_TYPES)
        self._texts: list[str] = []

    def label(self, word: str, lemma: str) -> int:
        """The label that makes a lemma of a word, -1 for none."""
        pair = word, lemma
        if pair not in self._labels:
            if len(self._labels) >= CACHED_TYPES:
                self._labels.clear()
            self._labels[pair] = self._numbers.get(edit_script(word, lemma), -1)
        return self._labels[pair]

    def find(self, orths: Keys, labels: Ints, strings: Any) -> Keys:
        """The lemmas of words: uint64 [words], 0 for none.

        orths: uint64 [words]. labels: int64 [words].
        strings: spaCy's; they get the lemmas, also those that are known here, which a memory zone
            may have dropped.
        """
        keys = np.maximum(orths ^ ((labels.astype(np.uint64) + np.uint64(1)) * _SPREAD), 1)
        numbers = np.empty(len(keys), dtype=np.int64)
        with self._lock:
            if find_payloads(self._slots, keys, numbers):
                self._remember(keys, numbers, orths, labels, strings)
                find_payloads(self._slots, keys, numbers)
            used, inverse = np.unique(numbers, return_inverse=True)
            texts = [self._texts[number] for number in used.tolist()]
        ids = [strings.add(text) if text else 0 for text in texts]
        found: Keys = np.array(ids, dtype=np.uint64)[inverse]
        return found

    def _remember(self, keys: Keys, numbers: Ints, orths: Keys, labels: Ints, strings: Any) -> None:
        """Note the lemmas of keys that are not known, whose numbers are -1."""
        places = np.flatnonzero(numbers < 0)
        new, first = np.unique(keys[places], return_index=True)
        places = places[first]
        if len(self._texts) + len(new) > CACHED_TYPES:
            self._forget()
            new, places = np.unique(keys, return_index=True)
            self._slots = empty_slots(max(len(new), CACHED_TYPES))
        payloads = np.arange(len(new), dtype=np.uint64) + np.uint64(len(self._texts))
        for orth, label in zip(orths[places].tolist(), labels[places].tolist(), strict=True):
            word = strings[orth]
            lemma = word if is_address(word) else self._scripts[label].apply(word)
            if not lemma and self._backoff is not None:
                lemma = self._backoff(word)
            self._texts.append(lemma)
        insert_all(self._slots, new, payloads)
