"""The k best second-order projective trees.

As ``decoders.siblings``, with the k best scores of each part of a tree instead of the best one
[Huang & Chiang 2005, algorithm 1]. Each tree has one derivation, so that no tree is found twice.
O(n^3 k log k) sums.
"""

from typing import NamedTuple

import numpy as np

from spacy_ssvm.kernels.compile import kernel, outlined_kernel
from spacy_ssvm.kernels.types import Floats, Floats1, Floats2, Int, Ints, Ints2

_COMPLETE, _INCOMPLETE, _JOINT = range(3)
_NONE = -1


class Parts(NamedTuple):
    """The k best derivations of the parts of trees: complete, incomplete and joint spans.

    A complete span has its head and its other end, an incomplete one its head and its outermost
    dependent, a joint one two neighbouring dependents of one head, the left one first.
    """

    scores: Floats  #: float64 [3, n + 1, n + 1, k], the best first
    sizes: Ints  #: int64 [3, n + 1, n + 1]: how many there are
    #: int64 [3, n + 1, n + 1, k, 3]: what a part is made of. Of a complete span its outermost
    #: dependent, of an incomplete one the sibling, of a joint one the last word of the left head;
    #: then the numbers of the derivations of both sides
    origins: Ints


@kernel
def _insert(
    scores: Floats, origins: Ints, size: int, score: float, place: int, i: int, j: int
) -> int:
    """Insert a derivation into a list of the k best, behind equal ones; return its new size."""
    k = len(scores)
    if size == k:
        if not score > scores[k - 1]:
            return size
        size -= 1
    position = size
    while position > 0 and score > scores[position - 1]:
        scores[position] = scores[position - 1]
        origins[position] = origins[position - 1]
        position -= 1
    scores[position] = score
    origins[position, 0], origins[position, 1], origins[position, 2] = place, i, j
    return size + 1


@kernel
def _combine(
    left: Floats,
    right: Floats,
    more: float,
    scores: Floats,
    origins: Ints,
    size: int,
    place: int,
) -> int:
    """Insert all sums of two lists, and ``more``, into a list; return its new size.

    left, right: the best first. The sum of numbers i and j is worse than (i + 1) (j + 1) - 1
    others.
    """
    k = len(scores)
    for i in range(len(left)):
        for j in range(min(len(right), k // (i + 1))):
            score = left[i] + right[j] + more
            if score > -np.inf:
                size = _insert(scores, origins, size, score, place, i, j)
    return size


@kernel
def _fill(scores: Floats, starts: Ints, pairs: Floats, parts: Parts) -> None:
    """Write the parts, from the narrowest to the widest."""
    N = len(scores)
    nothing = np.zeros(1)
    found, sizes, origins = parts
    complete, incomplete, joint = found[_COMPLETE], found[_INCOMPLETE], found[_JOINT]
    for i in range(1, N):
        complete[i, i, 0] = 0.0
        sizes[_COMPLETE, i, i] = 1
    for width in range(1, N - 1):
        for i in range(1, N - width):
            j = i + width
            size = 0
            for k in range(i, j):
                left = complete[i, k, : sizes[_COMPLETE, i, k]]
                right = complete[j, k + 1, : sizes[_COMPLETE, j, k + 1]]
                target = joint[i, j], origins[_JOINT, i, j], size
                size = _combine(left, right, 0.0, *target, k)
            sizes[_JOINT, i, j] = size
            for h, m in ((i, j), (j, i)):
                step = 1 if m > h else -1
                size = 0
                if scores[h, m] > -np.inf:
                    slot = starts[h, m]
                    inner = complete[m, h + step, : sizes[_COMPLETE, m, h + step]]
                    more = scores[h, m] + pairs[slot]
                    target = incomplete[h, m], origins[_INCOMPLETE, h, m], size
                    size = _combine(nothing, inner, more, *target, _NONE)
                    for s in range(h + step, m, step):
                        if scores[h, s] > -np.inf:
                            slot += 1
                            low, high = min(s, m), max(s, m)
                            left = incomplete[h, s, : sizes[_INCOMPLETE, h, s]]
                            right = joint[low, high, : sizes[_JOINT, low, high]]
                            more = scores[h, m] + pairs[slot]
                            target = incomplete[h, m], origins[_INCOMPLETE, h, m], size
                            size = _combine(left, right, more, *target, s)
                sizes[_INCOMPLETE, h, m] = size
                size = 0
                for d in range(h + step, m + step, step):
                    left = incomplete[h, d, : sizes[_INCOMPLETE, h, d]]
                    right = complete[d, m, : sizes[_COMPLETE, d, m]]
                    target = complete[h, m], origins[_COMPLETE, h, m], size
                    size = _combine(left, right, 0.0, *target, d)
                sizes[_COMPLETE, h, m] = size


@kernel
def _read(parts: Parts, root: int, left: int, right: int, heads: Ints) -> None:
    """Fill heads with the tree of a root, of these derivations of its two sides."""
    N = len(heads)
    heads[0], heads[root] = -1, 0
    stack = np.empty((4 * N, 4), dtype=np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = _COMPLETE, root, 1, left
    stack[1, 0], stack[1, 1], stack[1, 2], stack[1, 3] = _COMPLETE, root, N - 1, right
    size = 2
    while size > 0:
        size -= 1
        kind, h, e = stack[size, 0], stack[size, 1], stack[size, 2]
        if h == e:
            continue
        place, i, j = parts.origins[kind, h, e, stack[size, 3]]
        first, second = stack[size], stack[size + 1]
        size += 2
        if kind == _COMPLETE:  # up to its outermost dependent, and that dependent's side
            first[0], first[2], first[3] = _INCOMPLETE, place, i
            second[0], second[1], second[2], second[3] = _COMPLETE, place, e, j
        elif kind == _JOINT:  # the right side of one dependent, and the left side of the next
            first[0], first[2], first[3] = _COMPLETE, place, i
            second[0], second[1], second[2], second[3] = _COMPLETE, e, place + 1, j
        else:
            heads[e] = h
            if place == _NONE:
                near = h + 1 if e > h else h - 1
                first[0], first[1], first[2], first[3] = _COMPLETE, e, near, j
                size -= 1
            else:
                low, high = min(place, e), max(place, e)
                first[0], first[2], first[3] = _INCOMPLETE, place, i
                second[0], second[1], second[2], second[3] = _JOINT, low, high, j


@outlined_kernel(Int(Floats2, Ints2, Floats1, Floats1, Ints2))
def k_best_siblings(
    scores: Floats, starts: Ints, pairs: Floats, totals: Floats, heads: Ints
) -> int:
    """Fill heads with the k best trees, the best first; return how many there are.

    scores, starts, pairs: see ``decoders.parts``. totals: float64 [k], receives the scores of
    the trees. heads: int64 [k, n + 1]; the root has head -1.
    """
    N, k = len(scores), len(totals)
    if N == 1:
        heads[0, 0] = -1
        totals[0] = 0.0
        return 1
    shape = 3, N, N
    parts = Parts(
        np.empty((3, N, N, k)), np.zeros(shape, dtype=np.int64), np.empty((3, N, N, k, 3), np.int64)
    )
    _fill(scores, starts, pairs, parts)
    origins = np.empty((k, 3), dtype=np.int64)
    size = 0
    for r in range(1, N):
        if scores[0, r] > -np.inf:
            left = parts.scores[_COMPLETE, r, 1, : parts.sizes[_COMPLETE, r, 1]]
            right = parts.scores[_COMPLETE, r, N - 1, : parts.sizes[_COMPLETE, r, N - 1]]
            more = scores[0, r] + pairs[starts[0, r]]
            size = _combine(left, right, more, totals, origins, size, r)
    for m in range(size):
        _read(parts, origins[m, 0], origins[m, 1], origins[m, 2], heads[m])
    return size
