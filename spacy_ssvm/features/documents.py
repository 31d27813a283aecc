"""Attributes of a word that depend on its other occurrences in the same Doc.

``doc_majority.X[0]`` is the value of the attribute X that most other occurrences of the word in its
Doc have (Krishnan & Manning 2006). Occurrences of a word are words with the same ``lower``.
"""

import numpy as np

from spacy_ssvm.kernels.types import Flags, Ints, Keys

#: The prefix of the attributes.
DOC_MAJORITY = "doc_majority."

#: What words with the same value are occurrences of.
SAME_WORD = "lower"

#: The majority of occurrences that lack the attribute. (0: there is no other occurrence.)
NO_VALUE = np.uint64(2**64 - 1)


def is_document_attribute(name: str) -> bool:
    """Whether an attribute depends on other occurrences of the word."""
    return name.startswith(DOC_MAJORITY)


def base_of(name: str) -> str:
    """The attribute of which the majority is taken."""
    return name[len(DOC_MAJORITY) :]


def majority_elsewhere(values: Keys, words: Keys, docs: Ints) -> Keys:
    """The most frequent value of the other occurrences of each word in its Doc: uint64 [words].

    values: uint64 [words], 0 for none. words: uint64 [words], equal for occurrences of the same
    word. docs: int64 [words], the Doc of each.
    Of values that are equally frequent, the largest is taken: 0 is the last choice.
    """
    order = np.lexsort((values, words, docs))
    new_type = _differs(docs[order]) | _differs(words[order])
    first = np.flatnonzero(new_type | _differs(values[order]))
    counts = np.diff(first, append=len(order))  # of runs: the same value of a type in a Doc
    found = values[order][first]

    types = np.cumsum(new_type[first]) - 1
    ranked = np.lexsort((counts, types))  # stable: equal counts stay in the order of values
    last = np.flatnonzero(np.diff(types, append=len(types)))
    has_second = np.diff(last, prepend=-1) > 1
    best, second = ranked[last], ranked[last - has_second]
    # Without the occurrence itself, the majority has one less, and the run before it may win.
    left, rival = counts[best] - 1, np.where(has_second, counts[second], 0)
    stays = (left > rival) | ((left == rival) & (found[best] > found[second]))
    majority = found[best][types]
    majority[best] = np.where(stays, found[best], found[second])
    majority[majority == 0] = NO_VALUE
    majority[best[(left == 0) & ~has_second]] = 0
    elsewhere = np.empty_like(values)
    elsewhere[order] = np.repeat(majority, counts)
    return elsewhere


def _differs(values: Keys | Ints) -> Flags:
    """Whether each value differs from the one before it: bool [values]; the first one does."""
    return np.append(np.ones(len(values[:1]), dtype=bool), values[1:] != values[:-1])
