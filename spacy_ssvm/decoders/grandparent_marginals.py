"""Marginals of projective trees with grandparents: for arcs, the best score or the probability.

    grandparent_max_marginals   the best score of a tree with the arc
    grandparent_marginals       the probability of each part under p(tree) ~ exp(score), by
                                inside-outside

Parts, and tables of them, are those of ``decoders.parts``; spans are those of
``decoders.grandparents``.
"""

from typing import NamedTuple

import numpy as np

from spacy_ssvm.decoders.grandparents import number_spans, span_number
from spacy_ssvm.decoders.parts import PartTable, PartTableType
from spacy_ssvm.decoders.semirings import LOG_SUM, MAX, add, add_splits
from spacy_ssvm.kernels.compile import kernel, outlined_kernel
from spacy_ssvm.kernels.types import Float, Floats, Ints


class Sums(NamedTuple):
    """Sums over parts of trees."""

    first: Ints  #: of ``number_spans``
    complete: Floats  #: float64 [spans, n + 1], by other end
    incomplete: Floats  #: float64 [triples], by grandparent, head and outermost dependent
    joint: Floats  #: float64 [pairs], of two neighbouring dependents of one head


@kernel
def _no_sums(parts: PartTable) -> Sums:
    first = number_spans(parts)
    return Sums(
        first,
        np.full((first[-1], len(parts.arcs)), -np.inf),
        np.full(len(parts.grandparents), -np.inf),
        np.full(len(parts.pairs), -np.inf),
    )


@kernel
def _add_arc(semiring: int, parts: PartTable, sums: Sums, h: int, m: int) -> None:
    """Sum up the incomplete spans of the arc (h, m), for each head of h.

    Those of a head within the span are part of no tree.
    """
    complete, incomplete = sums.complete, sums.incomplete
    step = 1 if m > h else -1
    slot, base, below = (
        parts.starts[h, m],
        parts.triple_starts[h, m],
        span_number(parts, sums.first, h, m),
    )
    count = sums.first[h + 1] - sums.first[h]
    totals = np.full(count, parts.pairs[slot] + complete[below, h + step])
    for s in range(h + step, m, step):
        if not parts.arcs[h, s] > -np.inf:
            continue
        slot += 1
        other = span_number(parts, sums.first, h, s)
        left, right = (other, below) if s < m else (below, other)
        low, high = min(s, m), max(s, m)
        ends = complete[left, low:high], complete[right, low + 1 : high + 1]
        sums.joint[slot] = add_splits(semiring, *ends)
        for j in range(count):
            inner = parts.pairs[slot] + incomplete[parts.triple_starts[h, s] + j]
            totals[j] = add(semiring, totals[j], inner + sums.joint[slot])
    for j in range(count):
        incomplete[base + j] = totals[j] + parts.arcs[h, m] + parts.grandparents[base + j]


@kernel
def _inside(semiring: int, parts: PartTable) -> Sums:
    """The sums of all spans, from the narrowest to the widest."""
    N, sums = len(parts.arcs), _no_sums(parts)
    first, complete = sums.first, sums.complete
    for h in range(1, N):
        complete[first[h] : first[h + 1], h] = 0.0
    for width in range(1, N - 1):
        for h in range(1, N):
            for step in (1, -1):
                m = h + step * width
                if not 0 < m < N:
                    continue
                if parts.arcs[h, m] > -np.inf:
                    _add_arc(semiring, parts, sums, h, m)
                for d in range(h + step, m + step, step):
                    if parts.arcs[h, d] > -np.inf:
                        rest = complete[span_number(parts, sums.first, h, d), m]
                        for j in range(first[h + 1] - first[h]):
                            total = sums.incomplete[parts.triple_starts[h, d] + j] + rest
                            span = first[h] + j
                            complete[span, m] = add(semiring, complete[span, m], total)
    return sums


@kernel
def _split_complete(
    semiring: int, parts: PartTable, inside: Sums, outside: Sums, h: int, e: int
) -> None:
    """Pass the outside sums of the complete spans from h to e on to what they are made of."""
    step = 1 if e > h else -1
    for span in range(inside.first[h], inside.first[h + 1]):
        rest = outside.complete[span, e]
        if not rest > -np.inf:
            continue
        for d in range(h + step, e + step, step):
            if parts.arcs[h, d] > -np.inf:
                below = span_number(parts, inside.first, h, d)
                triple = parts.triple_starts[h, d] + span - inside.first[h]
                outside.incomplete[triple] = add(
                    semiring, outside.incomplete[triple], rest + inside.complete[below, e]
                )
                outside.complete[below, e] = add(
                    semiring, outside.complete[below, e], rest + inside.incomplete[triple]
                )


@kernel
def _split_arc(
    semiring: int,
    parts: PartTable,
    inside: Sums,
    outside: Sums,
    h: int,
    m: int,
    found: PartTable,
) -> None:
    """Pass the outside sums of the incomplete spans of (h, m) on, and write those of its parts."""
    step, base = 1 if m > h else -1, parts.triple_starts[h, m]
    below, near = span_number(parts, inside.first, h, m), h + step
    for j in range(inside.first[h + 1] - inside.first[h]):
        rest = outside.incomplete[base + j]
        found.grandparents[base + j] = inside.incomplete[base + j] + rest
        found.arcs[h, m] = add(semiring, found.arcs[h, m], found.grandparents[base + j])
        if not rest > -np.inf:
            continue
        rest += parts.arcs[h, m] + parts.grandparents[base + j]
        slot = parts.starts[h, m]
        with_pair = rest + parts.pairs[slot]
        total = with_pair + inside.complete[below, near]
        found.pairs[slot] = add(semiring, found.pairs[slot], total)
        outside.complete[below, near] = add(semiring, outside.complete[below, near], with_pair)
        for s in range(near, m, step):
            if parts.arcs[h, s] > -np.inf:
                slot += 1
                with_pair = rest + parts.pairs[slot]
                triple = parts.triple_starts[h, s] + j
                inner = with_pair + inside.joint[slot]
                outside.incomplete[triple] = add(semiring, outside.incomplete[triple], inner)
                total = inner + inside.incomplete[triple]
                found.pairs[slot] = add(semiring, found.pairs[slot], total)
                inner = with_pair + inside.incomplete[triple]
                outside.joint[slot] = add(semiring, outside.joint[slot], inner)
    slot = parts.starts[h, m]
    for s in range(near, m, step):
        if parts.arcs[h, s] > -np.inf:
            slot += 1
            rest = outside.joint[slot]
            if not rest > -np.inf:
                continue
            other = span_number(parts, inside.first, h, s)
            left, right = (other, below) if s < m else (below, other)
            for k in range(min(s, m), max(s, m)):
                outside.complete[left, k] = add(
                    semiring, outside.complete[left, k], rest + inside.complete[right, k + 1]
                )
                outside.complete[right, k + 1] = add(
                    semiring, outside.complete[right, k + 1], rest + inside.complete[left, k]
                )


@kernel
def _inside_outside(semiring: int, parts: PartTable, found: PartTable) -> float:
    """Write the sum of the scores of all trees with each part; return the sum over all trees.

    Outside sums are computed from the widest span to the narrowest.
    """
    N = len(parts.arcs)
    found.arcs[:] = -np.inf
    found.pairs[:] = -np.inf
    found.grandparents[:] = -np.inf
    if N == 1:
        return 0.0
    inside, outside = _inside(semiring, parts), _no_sums(parts)
    everything = -np.inf
    for r in range(1, N):
        if parts.arcs[0, r] > -np.inf:
            span, slot = inside.first[r], parts.starts[0, r]  # of the first head, the root
            at_root = parts.arcs[0, r] + parts.pairs[slot]
            left, right = inside.complete[span, 1], inside.complete[span, N - 1]
            found.arcs[0, r] = at_root + left + right
            found.pairs[slot] = found.arcs[0, r]
            everything = add(semiring, everything, found.arcs[0, r])
            outside.complete[span, 1] = add(semiring, outside.complete[span, 1], at_root + right)
            outside.complete[span, N - 1] = add(
                semiring, outside.complete[span, N - 1], at_root + left
            )
    for width in range(N - 2, 0, -1):
        for h in range(1, N):
            for step in (1, -1):
                m = h + step * width
                if 0 < m < N:
                    _split_complete(semiring, parts, inside, outside, h, m)
                    if parts.arcs[h, m] > -np.inf:
                        _split_arc(semiring, parts, inside, outside, h, m, found)
    return everything


@outlined_kernel(Float(PartTableType, PartTableType))
def grandparent_max_marginals(parts: PartTable, found: PartTable) -> float:
    """Write the score of the best tree with each part; return the best of all.

    found: of the same parts; minus infinity where no tree has the part. parts must have pairs.
    """
    return _inside_outside(MAX, parts, found)


@outlined_kernel(Float(PartTableType, PartTableType))
def grandparent_marginals(parts: PartTable, found: PartTable) -> float:
    """Write the probability of each part; return the log-partition.

    found: of the same parts; arbitrary where the log-partition is minus infinity. parts must have
    pairs.
    """
    total = _inside_outside(LOG_SUM, parts, found)
    found.arcs[:] = np.exp(found.arcs - total)
    found.pairs[:] = np.exp(found.pairs - total)
    found.grandparents[:] = np.exp(found.grandparents - total)
    return total
