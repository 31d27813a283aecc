"""Second-order projective trees: arcs are scored together with the adjacent sibling.

Scores of arcs, and pairs, are numbered as in ``decoders.parts``. Exact, O(n^3) [McDonald & Pereira
2006].
"""

from typing import NamedTuple

import numpy as np

from spacy_ssvm._jit import Floats, Ints, inner_kernel, kernel
from spacy_ssvm.decoders.tree import chain_heads


@inner_kernel
def _best_sibling(
    scores: Floats, pairs: Floats, start: int, incomplete: Floats, joint: Floats, h: int, m: int
) -> tuple[float, int]:
    """The best (score, s) of the arc (h, m) with a sibling s; (-inf, h) where there is none."""
    best, sibling = -np.inf, h
    step = 1 if m > h else -1
    slot = start
    s = h + step
    while s != m:
        if scores[h, s] > -np.inf:
            slot += 1
            total = pairs[slot] + incomplete[h, s] + joint[s, m]
            if total > best:
                best, sibling = total, s
        s += step
    return best, sibling


class Spans(NamedTuple):
    """The best scores of parts of trees, with back pointers: [n + 1, n + 1] each."""

    complete: Floats  #: by head and other end
    incomplete: Floats  #: by head and outermost dependent
    joint: Floats  #: of two neighbouring dependents of one head, both ways
    inner: Ints  #: the best sibling of an arc; the head for none
    split: Ints  #: where the words of two siblings meet, by the first and the second
    outer: Ints  #: the outermost dependent of a complete span


@kernel
def _no_spans(N: int) -> Spans:
    """Spans of a sentence of N - 1 words, none of which is possible yet."""
    return Spans(
        np.full((N, N), -np.inf),
        np.full((N, N), -np.inf),
        np.full((N, N), -np.inf),
        np.zeros((N, N), dtype=np.int64),
        np.zeros((N, N), dtype=np.int64),
        np.zeros((N, N), dtype=np.int64),
    )


@inner_kernel
def _inside(scores: Floats, starts: Ints, pairs: Floats, spans: Spans) -> None:
    """Fill all spans, from the narrowest to the widest."""
    N = len(scores)
    complete, incomplete, joint, inner, split, outer = spans
    for i in range(1, N):
        complete[i, i] = 0.0
    for width in range(1, N - 1):
        for i in range(1, N - width):
            j = i + width
            best = -np.inf
            for k in range(i, j):
                total = complete[i, k] + complete[j, k + 1]
                if total > best:
                    best = total
                    split[i, j] = k
            joint[i, j] = best
            joint[j, i] = best
            for h, m in ((i, j), (j, i)):
                if scores[h, m] > -np.inf:
                    start = starts[h, m]
                    near = h + 1 if m > h else h - 1
                    total = pairs[start] + complete[m, near]
                    sibling, s = _best_sibling(scores, pairs, start, incomplete, joint, h, m)
                    inner[h, m] = h
                    if not total >= sibling:  # it may be NaN
                        total = sibling
                        inner[h, m] = s
                    incomplete[h, m] = total + scores[h, m]
                best = -np.inf
                step = 1 if m > h else -1
                d = h
                while d != m:
                    d += step
                    total = incomplete[h, d] + complete[d, m]
                    if total > best:
                        best = total
                        outer[h, m] = d
                complete[h, m] = best


@kernel
def eisner_siblings(scores: Floats, starts: Ints, pairs: Floats, heads: Ints) -> float:
    """Fill heads with the best tree; return its score."""
    N = len(heads)
    chain_heads(heads)
    if N == 1:
        return 0.0
    spans = _no_spans(N)
    _inside(scores, starts, pairs, spans)
    best, root = -np.inf, 0
    for r in range(1, N):
        if scores[0, r] > -np.inf:
            total = spans.complete[r, 1] + spans.complete[r, N - 1]
            total += scores[0, r] + pairs[starts[0, r]]
            if total > best:
                best, root = total, r
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
        m = spans.outer[h, e]
        stack[size] = m, e
        size += 1
        while True:
            heads[m] = h
            s = spans.inner[h, m]
            if s == h:
                stack[size] = m, h + step
                size += 1
                break
            k = spans.split[min(s, m), max(s, m)]
            stack[size] = min(s, m), k
            stack[size + 1] = max(s, m), k + 1
            size += 2
            m = s
    return best
