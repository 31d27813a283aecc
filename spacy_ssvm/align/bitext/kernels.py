"""Kernels of word association: the table of co-occurring words, posteriors of links, EM.

The table has an entry for each pair of a source word and a target word that occur in one
sentence pair. Rows belong to source words and are sorted by target word. Beside the V words of a
vocabulary, each side has the id V for unknown words and V + 1 for NULL, the word that generates
words without a partner. NULL has entries with all words of the other side.

A direction is forward where source words generate target words, t(target | source), and
backward otherwise. The kernels of the models see neither: they take *emissions*, float64
[n, m + 1], the probability of each of n generated words given NULL (column 0) and each of the m
generating words.
"""

from typing import NamedTuple

import numpy as np

from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Floats, Ints, Rows, Weights


class Corpus(NamedTuple):
    """Sentence pairs as word ids, and where each source word occurs."""

    source_starts: Ints  #: int64 [pairs + 1]
    target_ids: Ints  #: int64 [target tokens]
    target_starts: Ints  #: int64 [pairs + 1]
    pairs: Ints  #: int64 [source tokens]: the sentence pair of each
    occurrences: Ints  #: int64 [source tokens]: tokens in the order of their ids
    occurrence_starts: Ints  #: int64 [source ids + 1], in ``occurrences``
    n_targets: int  #: the number of target ids without NULL


class Links(NamedTuple):
    """The entries of the links of sentence pairs.

    The block of a pair with m and n words is int32 [m + 1, n + 1], row and column 0 for NULL.
    """

    entries: Rows  #: int32 [sum of (m + 1) (n + 1)]
    starts: Ints  #: int64 [pairs + 1]
    source_starts: Ints  #: int64 [pairs + 1]
    target_starts: Ints  #: int64 [pairs + 1]


@kernel
def row_sizes(corpus: Corpus, sizes: Ints) -> None:
    """Write the number of entries of each source word's row, NULL among them: int64 [rows]."""
    last = np.full(corpus.n_targets, -1)
    starts = corpus.target_starts
    for e in range(len(sizes)):
        sizes[e] = 1
        for o in range(corpus.occurrence_starts[e], corpus.occurrence_starts[e + 1]):
            s = corpus.pairs[corpus.occurrences[o]]
            for f in corpus.target_ids[starts[s] : starts[s + 1]]:
                if last[f] != e:
                    last[f] = e
                    sizes[e] += 1


@kernel
def fill_rows(corpus: Corpus, row_starts: Ints, targets: Rows, pair_counts: Weights) -> None:
    """Write the rows of source words, and the number of pairs in which both words occur.

    row_starts: int64 [rows + 1]. targets, pair_counts: int32 and float32 [entries].
    """
    last = np.full(corpus.n_targets, -1)
    last_pair = np.full(corpus.n_targets, -1)
    place = np.empty(corpus.n_targets, dtype=np.int64)
    starts = corpus.target_starts
    for e in range(len(row_starts) - 1):
        end = row_starts[e]
        for o in range(corpus.occurrence_starts[e], corpus.occurrence_starts[e + 1]):
            s = corpus.pairs[corpus.occurrences[o]]
            for f in corpus.target_ids[starts[s] : starts[s + 1]]:
                if last[f] != e:
                    last[f] = e
                    last_pair[f] = -1
                    targets[end] = f
                    end += 1
        targets[end] = corpus.n_targets
        row = targets[row_starts[e] : end]
        row.sort()
        for i in range(len(row)):
            place[row[i]] = row_starts[e] + i
        for o in range(corpus.occurrence_starts[e], corpus.occurrence_starts[e + 1]):
            s = corpus.pairs[corpus.occurrences[o]]
            for f in corpus.target_ids[starts[s] : starts[s + 1]]:
                if last_pair[f] != s:
                    last_pair[f] = s
                    pair_counts[place[f]] += 1


@kernel
def fill_links(corpus: Corpus, row_starts: Ints, targets: Rows, links: Links) -> None:
    """Write ``links.entries``. row_starts: int64 [rows + 1]; the last row is that of NULL."""
    rows = len(row_starts) - 2
    null = row_starts[rows]
    place = np.empty(corpus.n_targets, dtype=np.int64)
    for s in range(len(links.starts) - 1):
        start, first = links.starts[s], corpus.target_starts[s]
        links.entries[start] = null  # NULL with NULL is never read
        for k in range(corpus.target_starts[s + 1] - first):
            links.entries[start + k + 1] = null + corpus.target_ids[first + k]
    for e in range(rows):
        for i in range(row_starts[e], row_starts[e + 1] - 1):
            place[targets[i]] = i
        for o in range(corpus.occurrence_starts[e], corpus.occurrence_starts[e + 1]):
            s = corpus.pairs[corpus.occurrences[o]]
            first = corpus.target_starts[s]
            n = corpus.target_starts[s + 1] - first
            j = corpus.occurrences[o] - corpus.source_starts[s] + 1
            start = links.starts[s] + j * (n + 1)
            links.entries[start] = row_starts[e + 1] - 1
            for k in range(n):
                links.entries[start + k + 1] = place[corpus.target_ids[first + k]]


@kernel
def model1_posteriors(emissions: Floats, posteriors: Floats) -> float:
    """Write p(a_k = j): float64 [n, m + 1] [IBM Model 1]; return the log-likelihood.

    All generating words and NULL are equally likely before the emissions are known.
    """
    n, columns = emissions.shape
    total = 0.0
    for k in range(n):
        row, found = emissions[k], posteriors[k]
        mass = 0.0
        for j in range(columns):
            mass += row[j]
        inverse = 1.0 / mass
        for j in range(columns):
            found[j] = row[j] * inverse
        total += np.log(mass / columns)
    return total


@kernel
def fill_steps(jumps: Floats, null_probability: float, steps: Floats) -> None:
    """Write p(a_k = j + 1 | last position i), not to NULL: float64 [m + 1, m].

    jumps: float64 [2 M + 1], the probabilities of the widths -M ... M; the first and the last
        are those of all wider jumps together. A row is normalized over the widths that it has.
    """
    m = steps.shape[1]
    widest = len(jumps) // 2
    shares = np.empty(2 * widest + 1)
    for i in range(m + 1):
        shares[:] = jumps
        shares[0] /= max(i - widest, 1)
        shares[2 * widest] /= max(m - i - widest + 1, 1)
        total = 0.0
        for j in range(m):
            steps[i, j] = shares[min(max(j + 1 - i, -widest), widest) + widest]
            total += steps[i, j]
        scale = (1 - null_probability) / total
        for j in range(m):
            steps[i, j] *= scale


@kernel
def hmm_posteriors(
    emissions: Floats,
    steps: Floats,
    null_probability: float,
    posteriors: Floats,
    moves: Floats,
) -> float:
    """Write p(a_k = j) under the HMM alignment model: float64 [n, m + 1], column 0 for NULL.

    [Vogel, Ney & Tillmann 1996], with NULL as in [Och & Ney 2003]: a word that NULL generates
    leaves the last position as it is. The position before the first word is 0.

    steps: see ``fill_steps``. moves: float64 [m + 1, m], receives the expected number of each
    step, unless it is empty. Returns the log-likelihood.
    """
    n, m = emissions.shape[0], emissions.shape[1] - 1
    before = np.zeros((n + 1, m + 1))  # P(last position | words before k)
    aligned = np.zeros((n, m))  # the same, times the probability of the step to each position
    scales = np.empty(n)
    before[0, 0] = 1.0
    total = 0.0
    for k in range(n):
        _add_product(before[k], steps, aligned[k])
        scales[k] = _advance(emissions[k], null_probability, aligned[k], before[k], before[k + 1])
        total += np.log(scales[k])
    after = np.ones(m + 1)  # P(words from k on | last position), scaled
    entering = np.empty(m)
    steps_to = steps.T.copy()
    for k in range(n - 1, -1, -1):
        last, found, row = before[k], posteriors[k], emissions[k]
        inverse = 1.0 / scales[k]
        stay = null_probability * row[0] * inverse
        found[0] = 0.0
        for i in range(m + 1):
            found[0] += last[i] * after[i] * stay
        for j in range(m):
            entering[j] = row[j + 1] * after[j + 1] * inverse
            found[j + 1] = aligned[k, j] * entering[j]
        after *= stay
        _add_product(entering, steps_to, after)
        if len(moves) > 0:
            _add_moves(last, steps, entering, moves)
    return total


@kernel
def _add_product(weights: Floats, table: Floats, row: Floats) -> None:
    """Add weights @ table to a row; these loops use vector instructions."""
    for i in range(len(weights)):
        weight, line = weights[i], table[i]
        for j in range(len(row)):
            row[j] += weight * line[j]


@kernel
def _add_moves(last: Floats, steps: Floats, entering: Floats, moves: Floats) -> None:
    """Add the probability of each step to a word."""
    for i in range(len(last)):
        step, move, share = steps[i], moves[i], last[i]
        for j in range(len(entering)):
            move[j] += share * step[j] * entering[j]


@kernel
def _advance(
    row: Floats, null_probability: float, aligned: Floats, last: Floats, found: Floats
) -> float:
    """Write the distribution of the position after a word; return its sum before scaling."""
    stay = null_probability * row[0]
    total = 0.0
    for i in range(len(last)):
        found[i] = last[i] * stay
        if i > 0:
            found[i] += aligned[i - 1] * row[i]
        total += found[i]
    inverse = 1.0 / total
    for i in range(len(found)):
        found[i] *= inverse
    return total


@kernel
def add_expected_counts(
    links: Links,
    is_backward: bool,
    table: Floats,
    jumps: Floats,
    null_probability: float,
    counts: Floats,
    jump_counts: Floats,
) -> float:
    """The E-step: add the expected number of each entry's links; return the log-likelihood.

    table, counts: float64 [entries]. jumps, jump_counts: see ``fill_steps``; empty for Model 1.
    """
    total = 0.0
    for s in range(len(links.starts) - 1):
        m = links.source_starts[s + 1] - links.source_starts[s]
        n = links.target_starts[s + 1] - links.target_starts[s]
        block = links.entries[links.starts[s] : links.starts[s + 1]].reshape((m + 1, n + 1))
        rows, columns = (m, n + 1) if is_backward else (n, m + 1)
        emissions, posteriors = np.empty((rows, columns)), np.empty((rows, columns))
        for k in range(rows):
            for j in range(columns):
                emissions[k, j] = table[block[k + 1, j] if is_backward else block[j, k + 1]]
        if len(jumps) == 0:
            total += model1_posteriors(emissions, posteriors)
        else:
            steps = np.empty((columns, columns - 1))
            moves = np.zeros((columns, columns - 1))
            fill_steps(jumps, null_probability, steps)
            total += hmm_posteriors(emissions, steps, null_probability, posteriors, moves)
            _add_widths(moves, jump_counts)
        for k in range(rows):
            for j in range(columns):
                counts[block[k + 1, j] if is_backward else block[j, k + 1]] += posteriors[k, j]
    return total


@kernel
def _add_widths(moves: Floats, jump_counts: Floats) -> None:
    widest = len(jump_counts) // 2
    for i in range(moves.shape[0]):
        for j in range(moves.shape[1]):
            jump_counts[min(max(j + 1 - i, -widest), widest) + widest] += moves[i, j]
