"""Training of word associations on a bitext: Dice, IBM Model 1 and the HMM alignment model.

Both models are trained in both directions by EM. In each M-step, probabilities are smoothed,
t(f|e) = (c(e, f) + a) / (c(e) + a V), where V is the number of words that can be generated.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

import numpy as np

from spacy_ssvm.align.bitext.association import Association, pair_hash
from spacy_ssvm.align.bitext.corpus import Bitext, select_pairs, vocabulary, word_ids
from spacy_ssvm.align.bitext.kernels import (
    Corpus,
    Links,
    add_expected_counts,
    fill_links,
    fill_rows,
    row_sizes,
)
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Floats, Ints, Keys, Rows, Weights

_MAX_JUMP = 8  # wider jumps share one probability
_UNIFORM_JUMPS = 0.5  # their share in the interpolation with expected widths
_FIRST_DECAY = 0.7  # of the first probabilities of widths, with their distance from +1
_NO_JUMPS = np.empty(0)

#: Called after each iteration with their number so far and in all.
Report = Callable[[int, int], None]


@dataclass(frozen=True)
class AssociationSettings:
    """How associations are trained. Raises ValueError for values out of range.

    model1_iterations, hmm_iterations: of EM, in each direction.
    smoothing: a in t(f|e) = (c(e, f) + a) / (c(e) + a V).
    null_probability: that a word has no partner, in the HMM.
    max_words: the most frequent words of each side; the others are one unknown word.
    max_length: sentences with more words are left out, with their partners.
    threshold: pairs of words are dropped where no probability and no Dice reaches it.
    max_pairs: the number of pairs of words that are kept, the strongest.
    max_known: the number of sentence pairs, the first ones, that are known for leave-one-out.
    """

    model1_iterations: int = 5
    hmm_iterations: int = 5
    smoothing: float = 0.01
    null_probability: float = 0.3
    max_words: int = 100_000
    max_length: int = 100
    threshold: float = 0.001
    max_pairs: int = 2_000_000
    max_known: int = 1_000_000

    def __post_init__(self) -> None:
        for name in ("model1_iterations", "hmm_iterations", "max_words", "max_length"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; at least 1 is needed")
        for name in ("threshold", "max_pairs", "max_known"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} is {getattr(self, name)}; at least 0 is needed")
        if not 1e-9 <= self.smoothing <= 1e3:
            raise ValueError(f"smoothing is {self.smoothing}, not between 1e-9 and 1000")
        if not 0 < self.null_probability < 1:
            raise ValueError(f"null_probability is {self.null_probability}, not between 0 and 1")


class Table(NamedTuple):
    """The entries of co-occurring words, with those of NULL: see ``Association``."""

    row_starts: Ints  #: int64 [S + 3]
    sources: Ints  #: int64 [entries]
    targets: Rows  #: int32 [entries]
    pair_counts: Weights  #: float32 [entries]


class Estimate(NamedTuple):
    """A model of one direction after its last iteration."""

    table: Floats  #: float64 [entries], the probabilities in the last E-step
    counts: Floats  #: float64 [entries], the links expected in it
    jumps: Floats  #: float64 [2, 2 M + 1], before and after it


def train_association(
    bitext: Bitext,
    settings: AssociationSettings | None = None,
    report: Report | None = None,
) -> Association:
    """Learn the associations of words from sentence pairs.

    The memory needed is about 4 bytes for each pair of tokens in a sentence pair, and 100 for
    each pair of words that occur together.
    Raises ValueError for a bitext without a pair of sentences of 1 to ``max_length`` words.
    """
    settings = settings or AssociationSettings()
    bitext = select_pairs(bitext, settings.max_length)
    if len(bitext.source_starts) == 1:
        raise ValueError(
            "the bitext has no pair of sentences that both have 1 to "
            f"{settings.max_length} words; nothing can be learned from it"
        )
    words = (
        vocabulary(bitext.source_words, settings.max_words),
        vocabulary(bitext.target_words, settings.max_words),
    )
    ids = word_ids(bitext.source_words, words[0]), word_ids(bitext.target_words, words[1])
    table, links = _tabulate(bitext, ids, (len(words[0]) + 1, len(words[1]) + 1))
    total = 2 * (settings.model1_iterations + settings.hmm_iterations)
    steps = count(1)

    def advance() -> None:
        if report is not None:
            report(next(steps), total)

    estimates = [
        estimate
        for is_backward in (False, True)
        for estimate in _estimate(table, links, is_backward, settings, advance)
    ]
    hashes = np.empty(min(len(bitext.source_starts) - 1, settings.max_known), dtype=np.uint64)
    _hash_pairs(ids[0], bitext.source_starts, ids[1], bitext.target_starts, hashes)
    pairs = (
        _pair_totals(ids[0], bitext.source_starts, len(words[0]) + 2),
        _pair_totals(ids[1], bitext.target_starts, len(words[1]) + 2),
    )
    association = Association(
        *words,
        table.row_starts,
        table.targets,
        table.pair_counts,
        np.stack([each.counts for each in estimates], axis=1).astype(np.float32),
        np.stack([each.table for each in estimates], axis=1).astype(np.float32),
        _totals(pairs[0], table.sources, estimates[:2]),
        _totals(pairs[1], table.targets, estimates[2:]),
        np.stack([estimates[1].jumps, estimates[3].jumps]),
        np.array([settings.smoothing, settings.null_probability]),
        np.unique(hashes),
    )
    return _pruned(association, table.sources, settings)


def _tabulate(
    bitext: Bitext, ids: tuple[Ints, Ints], sizes: tuple[int, int]
) -> tuple[Table, Links]:
    """The table of co-occurring words, and the entries of all links.

    sizes: the numbers of source and target ids without NULL.
    """
    source_ids, target_ids = ids
    n_sources, n_targets = sizes
    corpus = Corpus(
        bitext.source_starts,
        target_ids,
        bitext.target_starts,
        np.repeat(np.arange(len(bitext.source_starts) - 1), np.diff(bitext.source_starts)),
        np.argsort(source_ids, kind="stable"),
        _cumulated(np.bincount(source_ids, minlength=n_sources)),
        n_targets,
    )
    lengths = np.empty(n_sources, dtype=np.int64)
    row_sizes(corpus, lengths)
    row_starts = _cumulated(np.append(lengths, n_targets))
    targets = np.empty(row_starts[-1], dtype=np.int32)
    pair_counts = np.zeros(row_starts[-1], dtype=np.float32)
    fill_rows(corpus, row_starts[:-1], targets, pair_counts)
    targets[row_starts[-2] :] = np.arange(n_targets)
    blocks = (np.diff(bitext.source_starts) + 1) * (np.diff(bitext.target_starts) + 1)
    starts = _cumulated(blocks)
    links = Links(
        np.empty(starts[-1], dtype=np.int32), starts, bitext.source_starts, bitext.target_starts
    )
    fill_links(corpus, row_starts, targets, links)
    sources = np.repeat(np.arange(n_sources + 1), np.diff(row_starts))
    return Table(row_starts, sources, targets, pair_counts), links


def _cumulated(sizes: Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(sizes)])


def _estimate(
    table: Table,
    links: Links,
    is_backward: bool,
    settings: AssociationSettings,
    advance: Callable[[], None],
) -> Iterator[Estimate]:
    """Train Model 1, and from its probabilities the HMM, in one direction.

    advance: called after each iteration.
    """
    generating = table.targets if is_backward else table.sources
    types = len(table.row_starts) - 2
    if not is_backward:
        types = int(table.row_starts[-1] - table.row_starts[-2])
    probabilities = np.full(len(table.targets), 1.0 / types)
    widths = np.abs(np.arange(-_MAX_JUMP, _MAX_JUMP + 1) - 1)
    first_jumps = np.exp(-_FIRST_DECAY * widths)
    for iterations, jumps in (
        (settings.model1_iterations, _NO_JUMPS),
        (settings.hmm_iterations, first_jumps / first_jumps.sum()),
    ):
        for _ in range(iterations):
            before, jumps_before = probabilities, jumps
            counts, jump_counts = np.zeros(len(before)), np.zeros(len(jumps))
            add_expected_counts(
                links, is_backward, before, jumps, settings.null_probability, counts, jump_counts
            )
            probabilities = _normalized(counts, generating, types, settings.smoothing)
            jumps = _normalized_jumps(jump_counts)
            advance()
        yield Estimate(before, counts, np.stack([jumps_before, jumps]))


def _normalized(counts: Floats, generating: Rows | Ints, types: int, smoothing: float) -> Floats:
    """The M-step: (c(e, f) + a) / (c(e) + a V)."""
    totals = np.bincount(generating, weights=counts) + smoothing * types
    probabilities: Floats = (counts + smoothing) / totals[generating]
    return probabilities


def _normalized_jumps(counts: Floats) -> Floats:
    """The M-step for the widths of jumps, interpolated with equal probabilities."""
    expected: Floats = counts / counts.sum()
    return (1 - _UNIFORM_JUMPS) * expected + _UNIFORM_JUMPS / max(len(counts), 1)


def _pair_totals(ids: Ints, starts: Ints, size: int) -> Ints:
    """The number of sentence pairs in which each id occurs."""
    pairs = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return np.bincount(np.unique(pairs * size + ids) % size, minlength=size)


def _totals(pairs: Ints, generating: Rows | Ints, estimates: list[Estimate]) -> Weights:
    """See ``Association.source_totals``."""
    links = [np.bincount(generating, each.counts, minlength=len(pairs)) for each in estimates]
    return np.stack([pairs, *links], axis=1).astype(np.float32)


@kernel
def _hash_pairs(
    source_ids: Ints, source_starts: Ints, target_ids: Ints, target_starts: Ints, hashes: Keys
) -> None:
    for s in range(len(hashes)):
        source = source_ids[source_starts[s] : source_starts[s + 1]]
        hashes[s] = pair_hash(source, target_ids[target_starts[s] : target_starts[s + 1]])


def _pruned(association: Association, sources: Ints, settings: AssociationSettings) -> Association:
    """The association without weak pairs of words; entries of NULL stay."""
    targets, of_sources = association.targets, association.source_totals[sources]
    of_targets = association.target_totals[targets]
    dice = 2 * association.pair_counts / np.maximum(of_sources[:, 0] + of_targets[:, 0], 1)
    totals = np.concatenate([of_sources[:, 1:], of_targets[:, 1:]], axis=1)
    shares = association.link_counts / np.maximum(totals, np.float32(1e-30))
    strength = np.maximum(dice, shares.max(axis=1))
    null_source, null_target = len(association.source_words) + 1, len(association.target_words) + 1
    is_null = (sources == null_source) | (targets == null_target)
    pairs = np.flatnonzero(~is_null & (strength >= settings.threshold))
    strongest = np.argsort(-strength[pairs], kind="stable")[: settings.max_pairs]
    kept = is_null
    kept[pairs[strongest]] = True
    return association._replace(
        row_starts=_cumulated(np.bincount(sources[kept], minlength=null_source + 1)),
        targets=targets[kept],
        pair_counts=association.pair_counts[kept],
        link_counts=association.link_counts[kept],
        tables=association.tables[kept],
    )
