"""The parts of second-order trees: arcs, pairs of siblings, and grandparents.

    score(heads) = sum over words m of arcs[h, m] + pairs[(h, s, m)] + grandparents[(g, h, m)]

where h = heads[m], s is the adjacent dependent of h on the side of m towards h, or none, and
g = heads[h]. Scores of arcs, and ``heads``, are those of ``decoders.tree``. Only arcs with a score
above minus infinity have pairs and grandparents. Those of an arc (h, m) are contiguous:

    pairs[starts[h, m]]                    no sibling between h and m
    pairs[starts[h, m] + j]                the j-th s between h and m, counted from the head, for
                                           which the arc (h, s) is allowed: j is ranks[h, s]
    grandparents[triple_starts[h, m] + j]  the j-th g for which the arc (g, h) is allowed, counted
                                           from 0 and from the root: j is head_ranks[g, h]

The one dependent of the root has neither sibling nor grandparent.
"""

from typing import NamedTuple

import numpy as np

from spacy_ssvm.kernels.compile import inner_kernel, kernel
from spacy_ssvm.kernels.types import Floats, Floats1, Floats2, Ints, Ints2, named_tuple


class PartTable(NamedTuple):
    """A number for each arc of a sentence and, in second order, for each pair and grandparent."""

    arcs: Floats  #: float64 [n + 1, n + 1], by head and dependent
    pairs: Floats  #: float64 [pairs]; empty in first order
    starts: Ints  #: int64 [n + 1, n + 1]: of the pairs of each arc; -1 where it has none
    ranks: Ints  #: of ``rank_siblings``
    grandparents: Floats  #: float64 [triples]; empty where grandparents have no scores
    triple_starts: Ints  #: the same of the grandparents of each arc
    head_ranks: Ints  #: of ``rank_heads``


PartTableType = named_tuple(PartTable, Floats2, Floats1, Ints2, Ints2, Floats1, Ints2, Ints2)


@inner_kernel
def number_pairs(scores: Floats, starts: Ints) -> int:
    """Write where the pairs of each arc start (int64 [n + 1, n + 1]); return their number."""
    N = len(scores)
    size = 0
    for h in range(N):
        for step in (1, -1):
            inner = 0
            m = h + step
            while 0 < m < N:
                if scores[h, m] > -np.inf:
                    starts[h, m] = size
                    size += 1 + (inner if h > 0 else 0)
                    inner += 1
                m += step
    return size


@kernel
def rank_siblings(scores: Floats) -> Ints:
    """The ranks of siblings: int64 [n + 1, n + 2], by head and sibling; n + 1 is for none."""
    N = len(scores)
    ranks = np.zeros((N, N + 1), dtype=np.int64)
    for h in range(1, N):
        for step in (1, -1):
            rank, s = 0, h + step
            while 0 < s < N:
                rank += scores[h, s] > -np.inf
                ranks[h, s] = rank
                s += step
    return ranks


@kernel
def rank_heads(scores: Floats) -> Ints:
    """How many heads before a node are allowed: int64 [n + 2, n + 1], by node and dependent.

    Row n + 1 counts all heads.
    """
    N = len(scores)
    ranks = np.zeros((N + 1, N), dtype=np.int64)
    for g in range(N):
        for h in range(1, N):
            ranks[g + 1, h] = ranks[g, h] + (g != h and scores[g, h] > -np.inf)
    return ranks


@inner_kernel
def number_triples(scores: Floats, head_ranks: Ints, starts: Ints) -> int:
    """Write where the grandparents of each arc start: see ``number_pairs``."""
    N = len(scores)
    size = 0
    for h in range(1, N):
        for m in range(1, N):
            if h != m and scores[h, m] > -np.inf:
                starts[h, m] = size
                size += head_ranks[N, h]
    return size


@kernel
def number_parts(scores: Floats, has_pairs: bool, has_grandparents: bool) -> PartTable:
    """A table with these scores of arcs, and 0 for pairs and grandparents, where there are any."""
    N = len(scores)
    none = np.empty((0, 0), dtype=np.int64)
    starts, ranks, triple_starts, head_ranks = none, none, none, none
    pairs, triples = 0, 0
    if has_pairs:
        starts = np.full((N, N), -1, dtype=np.int64)
        ranks = rank_siblings(scores)
        pairs = number_pairs(scores, starts)
    if has_grandparents:
        triple_starts = np.full((N, N), -1, dtype=np.int64)
        head_ranks = rank_heads(scores)
        triples = number_triples(scores, head_ranks, triple_starts)
    values = np.zeros(pairs), np.zeros(triples)
    return PartTable(scores, values[0], starts, ranks, values[1], triple_starts, head_ranks)


@kernel
def scaled_parts(parts: PartTable, scale: float) -> PartTable:
    """A table of the same parts with their numbers times a scale."""
    return PartTable(
        scale * parts.arcs,
        scale * parts.pairs,
        parts.starts,
        parts.ranks,
        scale * parts.grandparents,
        parts.triple_starts,
        parts.head_ranks,
    )


@inner_kernel
def pair_number(parts: PartTable, h: int, s: int, m: int) -> int:
    """The number of the pair of the arcs (h, s) and (h, m); s = n + 1 for no sibling."""
    return parts.starts[h, m] + parts.ranks[h, s]  # type: ignore[no-any-return]


@inner_kernel
def triple_number(parts: PartTable, g: int, h: int, m: int) -> int:
    """The number of the grandparent g of the arc (h, m)."""
    return parts.triple_starts[h, m] + parts.head_ranks[g, h]  # type: ignore[no-any-return]


@inner_kernel
def is_grandparent(parts: PartTable, g: int, h: int) -> bool:
    """Whether the arc (g, h) is allowed, so that g is a grandparent of the dependents of h."""
    return bool(parts.head_ranks[g, h] < parts.head_ranks[g + 1, h])


@inner_kernel
def inner_sibling(heads: Ints, h: int, m: int) -> int:
    """The dependent of h next to m on the way to h; n + 1 where there is none."""
    step = 1 if m > h else -1
    s = m - step
    while s != h and heads[s] != h:
        s -= step
    return s if s != h else len(heads)


@inner_kernel
def tree_score(parts: PartTable, heads: Ints) -> float:
    """The score of a tree; minus infinity where one of its arcs is forbidden."""
    total = 0.0
    for m in range(1, len(heads)):
        h = heads[m]
        if not parts.arcs[h, m] > -np.inf:
            return -np.inf
        total += parts.arcs[h, m]
    for m in range(1, len(heads)):
        h = heads[m]
        if len(parts.pairs):
            total += parts.pairs[pair_number(parts, h, inner_sibling(heads, h, m), m)]
        if len(parts.grandparents) and h > 0:
            total += parts.grandparents[triple_number(parts, heads[h], h, m)]
    return total


@inner_kernel
def add_tree(parts: PartTable, heads: Ints, value: float) -> None:
    """Add a value at each part of a tree, all of whose arcs have scores."""
    for m in range(1, len(heads)):
        h = heads[m]
        parts.arcs[h, m] += value
        if len(parts.pairs):
            parts.pairs[pair_number(parts, h, inner_sibling(heads, h, m), m)] += value
        if len(parts.grandparents) and h > 0:
            parts.grandparents[triple_number(parts, heads[h], h, m)] += value


@inner_kernel
def fill_tree(parts: PartTable, heads: Ints) -> None:
    """Fill a table with the parts of one tree: 1 at its parts, else 0."""
    parts.arcs[:] = 0.0
    parts.pairs[:] = 0.0
    parts.grandparents[:] = 0.0
    add_tree(parts, heads, 1.0)


@kernel
def join_parts(scores: Floats, parts: PartTable) -> Floats:
    """All numbers of a table in one array: of arcs, then of pairs, then of grandparents.

    scores: of the arcs that the table was made for. Where an arc has none, the array has minus
    infinity, by which ``split_parts`` numbers the others.
    """
    N, pairs = len(scores), len(parts.pairs)
    joined = np.empty(N * N + pairs + len(parts.grandparents))
    for h in range(N):
        for m in range(N):
            is_scored = scores[h, m] > -np.inf
            joined[h * N + m] = parts.arcs[h, m] if is_scored else -np.inf
    joined[N * N : N * N + pairs] = parts.pairs
    joined[N * N + pairs :] = parts.grandparents
    return joined


@kernel
def split_parts(joined: Floats, N: int, has_pairs: bool, has_grandparents: bool) -> PartTable:
    """The table of n + 1 = N nodes that was joined; arcs without a score have 0."""
    arcs = np.full((N, N), -np.inf)
    for h in range(N):
        for m in range(N):
            if joined[h * N + m] != -np.inf:  # it may be NaN
                arcs[h, m] = 0.0
    parts = number_parts(arcs, has_pairs, has_grandparents)
    pairs = len(parts.pairs)
    parts.pairs[:] = joined[N * N : N * N + pairs]
    parts.grandparents[:] = joined[N * N + pairs :]
    for h in range(N):
        for m in range(N):
            parts.arcs[h, m] = joined[h * N + m] if arcs[h, m] > -np.inf else 0.0
    return parts
