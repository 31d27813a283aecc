"""Associations of words, as arrays that save and load as they are."""

from typing import NamedTuple

import numpy as np

from spacy_ssvm.align.bitext.corpus import word_ids
from spacy_ssvm.features.extraction import mix
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Floats, Ints, Keys, Rows, Weights
from spacy_ssvm.storage import Arrays, require, rise_within

#: The columns of ``link_counts`` and ``tables``. Backward, target words generate source words.
MODEL1, HMM, MODEL1_BACK, HMM_BACK = range(4)

_MIN_JUMP = 1e-9  # smaller probabilities would underflow in products
_MIN_SMOOTHING, _MAX_SMOOTHING = 1e-9, 1e3
#: Before and between the sides of a hashed pair: no ids of words.
_START, _BETWEEN = np.uint64(2**63 + 1), np.uint64(2**63)


class Association(NamedTuple):
    """How words of two languages go together, as learned from a bitext.

    Each side has the ids 0 ... V - 1 for the words of its vocabulary, V for unknown words, and
    V + 1 for NULL, the word that generates words without a partner. S and T are the sizes of both
    vocabularies. The table of entries, pairs of ids that occur together, has a row for each source
    id, sorted by target id.
    """

    source_words: Keys  #: uint64 [S], hashes of words, sorted
    target_words: Keys  #: uint64 [T], the same
    row_starts: Ints  #: int64 [S + 3]
    targets: Rows  #: int32 [entries]: target ids
    pair_counts: Weights  #: float32 [entries]: the sentence pairs that have both words
    link_counts: Weights  #: float32 [entries, 4]: expected links in the last iteration of a model
    tables: Weights  #: float32 [entries, 4]: the probabilities from which they were expected
    source_totals: Weights  #: float32 [S + 2, 3]: sentence pairs; links in MODEL1 and HMM
    target_totals: Weights  #: float32 [T + 2, 3]: sentence pairs; links backward
    jumps: Floats  #: float64 [2, 2, 2 M + 1]: forward and backward, before and after the last
    parameters: Floats  #: float64 [2]: smoothing, and the probability of NULL in the HMM
    known: Keys  #: uint64 [pairs], hashes of the sentence pairs of the bitext, sorted


_PREFIX = "association_"

#: The saved arrays with their types.
ARRAYS: dict[str, type] = {
    f"{_PREFIX}source_words": np.uint64,
    f"{_PREFIX}target_words": np.uint64,
    f"{_PREFIX}row_starts": np.int64,
    f"{_PREFIX}targets": np.int32,
    f"{_PREFIX}pair_counts": np.float32,
    f"{_PREFIX}link_counts": np.float32,
    f"{_PREFIX}tables": np.float32,
    f"{_PREFIX}source_totals": np.float32,
    f"{_PREFIX}target_totals": np.float32,
    f"{_PREFIX}jumps": np.float64,
    f"{_PREFIX}parameters": np.float64,
    f"{_PREFIX}known": np.uint64,
}


def arrays_of(association: Association) -> Arrays:
    """The arrays to be saved, by name: see ``ARRAYS``."""
    return {f"{_PREFIX}{name}": array for name, array in association._asdict().items()}


def read_association(arrays: Arrays) -> Association:
    """The association of saved arrays, checked.

    arrays: those of ``ARRAYS`` in their types, among others.
    Raises ValueError, naming the flaw, for arrays that kernels could not read safely.
    """
    association = Association(*(arrays[name] for name in ARRAYS))
    for words, side in ((association.source_words, "source"), (association.target_words, "target")):
        require(_is_ascending(words), f"the {side} words of associations are not sorted")
    require(_is_ascending(association.known), "the known pairs of associations are not sorted")
    _check_table(association)
    entries = len(association.targets)
    sources, targets = len(association.source_words) + 2, len(association.target_words) + 2
    _check_numbers(association.pair_counts, (entries,), "pair counts")
    _check_numbers(association.link_counts, (entries, 4), "link counts")
    _check_numbers(association.tables, (entries, 4), "tables")
    _check_numbers(association.source_totals, (sources, 3), "source totals")
    _check_numbers(association.target_totals, (targets, 3), "target totals")
    jumps, parameters = association.jumps, association.parameters
    require(
        jumps.ndim == 3 and jumps.shape[:2] == (2, 2) and jumps.shape[2] % 2 == 1,
        "the jumps of associations do not fit their directions",
    )
    require(
        bool(np.all((jumps >= _MIN_JUMP) & (jumps <= 1))),
        "the jumps of associations are not positive probabilities",
    )
    require(
        parameters.shape == (2,)
        and _MIN_SMOOTHING <= parameters[0] <= _MAX_SMOOTHING
        and 0 < parameters[1] < 1,
        "the parameters of associations are out of range",
    )
    return association


def _is_ascending(values: Keys) -> bool:
    return values.ndim == 1 and bool(np.all(values[1:] > values[:-1]))


def _check_table(association: Association) -> None:
    starts, targets = association.row_starts, association.targets
    require(
        starts.shape == (len(association.source_words) + 3,)
        and targets.ndim == 1
        and starts[0] == 0
        and starts[-1] == len(targets)
        and bool(np.all(starts[1:] >= starts[:-1])),
        "the rows of associations do not fit the source words",
    )
    require(
        bool(np.all((targets >= 0) & (targets <= len(association.target_words) + 1))),
        "an entry of associations belongs to no target word",
    )
    require(rise_within(starts, targets), "the rows of associations are not sorted")


def _check_numbers(values: Weights, shape: tuple[int, ...], what: str) -> None:
    require(values.shape == shape, f"the {what} of associations have the shape {values.shape}")
    require(
        bool(np.all(np.isfinite(values) & (values >= 0))),
        f"the {what} of associations are not finite numbers from 0",
    )


def source_ids(association: Association, words: Keys) -> Ints:
    """The ids of source words, given as hashes: int64 [words]."""
    return word_ids(words, association.source_words)


def target_ids(association: Association, words: Keys) -> Ints:
    """The ids of target words, given as hashes: int64 [words]."""
    return word_ids(words, association.target_words)


@kernel
def pair_hash(source: Ints, target: Ints) -> int:
    """The 64-bit hash of a sentence pair, given as word ids."""
    key = _START
    for word in source:
        key = mix(key, np.uint64(word))
    key = mix(key, _BETWEEN)
    for word in target:
        key = mix(key, np.uint64(word))
    return key


@kernel
def is_known(association: Association, source: Ints, target: Ints) -> bool:
    """Whether a sentence pair, given as word ids, was in the bitext.

    Its words have voted for their own links then: see ``leave_one_out`` of ``link_scores``.
    """
    key = pair_hash(source, target)
    i = np.searchsorted(association.known, key)
    return bool(i < len(association.known) and association.known[i] == key)
