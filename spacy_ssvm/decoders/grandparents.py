"""Projective trees whose arcs are scored together with the adjacent sibling and the grandparent.

Parts are those of ``decoders.parts``. Spans are those of ``decoders.siblings``, one for each head
that their head can have. Exact, O(n^4), less where arcs are forbidden: O(n^2) where each word has a
bounded number of candidate heads and dependents [Koo & Collins 2010, model 1].
"""

from typing import NamedTuple

import numpy as np

from spacy_ssvm.decoders.parts import PartTable, pair_number, triple_number
from spacy_ssvm.decoders.tree import chain_heads
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Floats, Ints


@kernel
def number_spans(parts: PartTable) -> Ints:
    """The first complete span of each head (int64 [n + 2]): it has one for each of its heads."""
    N = len(parts.arcs)
    first = np.zeros(N + 1, dtype=np.int64)
    for h in range(N):
        first[h + 1] = first[h] + parts.head_ranks[N, h]
    return first


@kernel
def span_number(parts: PartTable, first: Ints, h: int, m: int) -> int:
    """The number of the complete spans of m with the head h; first: of ``number_spans``."""
    return first[m] + parts.head_ranks[h, m]  # type: ignore[no-any-return]


class Spans(NamedTuple):
    """The best scores of parts of trees, with back pointers."""

    first: Ints  #: of ``number_spans``
    complete: Floats  #: float64 [spans, n + 1], by other end
    outer: Ints  #: int64 [spans, n + 1]: the outermost dependent
    incomplete: Floats  #: float64 [triples], by grandparent, head and outermost dependent
    inner: Ints  #: int64 [triples]: the best sibling; the head for none
    split: Ints  #: int64 [pairs]: where the words of two siblings meet


@kernel
def _add_arc(parts: PartTable, spans: Spans, h: int, m: int) -> None:
    """Find the incomplete spans of the arc (h, m), for each head of h.

    Those of a head within the span are part of no tree.
    """
    complete, incomplete, inner, pairs = spans.complete, spans.incomplete, spans.inner, parts.pairs
    count = spans.first[h + 1] - spans.first[h]
    step = 1 if m > h else -1
    slot, base = parts.starts[h, m], parts.triple_starts[h, m]
    below = span_number(parts, spans.first, h, m)
    alone = pairs[slot] + complete[below, h + step]
    for j in range(count):
        incomplete[base + j] = alone
        inner[base + j] = h
    for s in range(h + step, m, step):
        if not parts.arcs[h, s] > -np.inf:
            continue
        slot += 1
        other = span_number(parts, spans.first, h, s)
        left, right = (other, below) if s < m else (below, other)
        joint = -np.inf
        for k in range(min(s, m), max(s, m)):
            total = complete[left, k] + complete[right, k + 1]
            if total > joint:
                joint = total
                spans.split[slot] = k
        joint += pairs[slot]
        near = parts.triple_starts[h, s]
        for j in range(count):
            total = joint + incomplete[near + j]
            if total > incomplete[base + j] or np.isnan(incomplete[base + j]):
                incomplete[base + j] = total
                inner[base + j] = s
    for j in range(count):
        incomplete[base + j] += parts.arcs[h, m] + parts.grandparents[base + j]


@kernel
def _inside(parts: PartTable) -> Spans:
    """All spans, from the narrowest to the widest."""
    N, first = len(parts.arcs), number_spans(parts)
    spans = Spans(
        first,
        np.full((first[N], N), -np.inf),
        np.zeros((first[N], N), dtype=np.int64),
        np.full(len(parts.grandparents), -np.inf),
        np.zeros(len(parts.grandparents), dtype=np.int64),
        np.zeros(len(parts.pairs), dtype=np.int64),
    )
    complete, incomplete, outer = spans.complete, spans.incomplete, spans.outer
    for h in range(1, N):
        complete[first[h] : first[h + 1], h] = 0.0
    for width in range(1, N - 1):
        for h in range(1, N):
            for step in (1, -1):
                m = h + step * width
                if not 0 < m < N:
                    continue
                if parts.arcs[h, m] > -np.inf:
                    _add_arc(parts, spans, h, m)
                for d in range(h + step, m + step, step):
                    if parts.arcs[h, d] > -np.inf:
                        base = parts.triple_starts[h, d]
                        rest = complete[span_number(parts, first, h, d), m]
                        for j in range(first[h + 1] - first[h]):
                            total = incomplete[base + j] + rest
                            if total > complete[first[h] + j, m]:
                                complete[first[h] + j, m] = total
                                outer[first[h] + j, m] = d
    return spans


@kernel
def _best_root(parts: PartTable, spans: Spans) -> tuple[float, int]:
    """The score of the best tree, and its root; 0 for none."""
    N, best, root = len(parts.arcs), -np.inf, 0
    for r in range(1, N):
        if parts.arcs[0, r] > -np.inf:
            span = spans.first[r]  # of the first head, which is the root
            total = spans.complete[span, 1] + spans.complete[span, N - 1]
            total += parts.arcs[0, r] + parts.pairs[parts.starts[0, r]]
            if total > best:
                best, root = total, r
    return best, root


@kernel
def eisner_grandparents(parts: PartTable, heads: Ints) -> float:
    """Fill heads with the best tree; return its score. parts must have pairs."""
    N = len(heads)
    chain_heads(heads)
    if N == 1:
        return 0.0
    spans = _inside(parts)
    best, root = _best_root(parts, spans)
    if root == 0:
        return best
    heads[root] = 0
    stack = np.empty((3 * N, 2), dtype=np.int64)  # complete spans still to split: (head, end)
    stack[0] = root, 1
    stack[1] = root, N - 1
    size = 2
    while size > 0:
        size -= 1
        h, e = stack[size]
        if h == e:
            continue
        step = 1 if e > h else -1
        m = spans.outer[span_number(parts, spans.first, heads[h], h), e]
        stack[size] = m, e
        size += 1
        while True:
            heads[m] = h
            s = spans.inner[triple_number(parts, heads[h], h, m)]
            if s == h:
                stack[size] = m, h + step
                size += 1
                break
            k = spans.split[pair_number(parts, h, s, m)]
            stack[size] = min(s, m), k
            stack[size + 1] = max(s, m), k + 1
            size += 2
            m = s
    return best
