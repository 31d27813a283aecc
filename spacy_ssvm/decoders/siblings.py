"""Second-order projective trees: arcs are scored together with the adjacent sibling.

Scores of arcs, and pairs, are numbered as in ``decoders.parts``. Exact, O(n^3) [McDonald & Pereira
2006].
"""

from typing import NamedTuple

import numpy as np

from spacy_ssvm.decoders.tree import best_split, chain_heads, find_split
from spacy_ssvm.kernels.compile import inlined_kernel, inner_kernel, kernel
from spacy_ssvm.kernels.types import Floats, Ints


@inlined_kernel
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
    """The best scores of parts of trees: [n + 1, n + 1] each. Sums run along rows."""

    complete: Floats  #: by head and other end
    complete_by_end: Floats  #: the same by other end and head
    incomplete: Floats  #: by head and outermost dependent
    joint: Floats  #: of two neighbouring dependents of one head, both ways
    inner: Ints  #: the best sibling of an arc; the head for none


@kernel
def _no_spans(N: int) -> Spans:
    """Spans of a sentence of N - 1 words, none of which is possible yet."""
    return Spans(
        np.full((N, N), -np.inf),
        np.full((N, N), -np.inf),
        np.full((N, N), -np.inf),
        np.full((N, N), -np.inf),
        np.zeros((N, N), dtype=np.int64),
    )


@inner_kernel
def _inside(scores: Floats, starts: Ints, pairs: Floats, spans: Spans) -> None:
    """Fill all spans, from the narrowest to the widest."""
    N = len(scores)
    complete, by_end, incomplete, joint, inner = spans
    for i in range(1, N):
        complete[i, i] = 0.0
        by_end[i, i] = 0.0
    for width in range(1, N - 1):
        for i in range(1, N - width):
            j = i + width
            between = best_split(complete[i, i:j], complete[j, i + 1 : j + 1])
            joint[i, j] = between
            joint[j, i] = between
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
                low, high = (h + 1, m + 1) if h < m else (m, h)
                best = best_split(incomplete[h, low:high], by_end[m, low:high])
                complete[h, m] = best
                by_end[m, h] = best


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
        low, high = (h + 1, e + 1) if h < e else (e, h)
        ends = spans.incomplete[h, low:high], spans.complete_by_end[e, low:high]
        m = low + find_split(*ends, spans.complete[h, e])
        stack[size] = m, e
        size += 1
        while True:
            heads[m] = h
            s = spans.inner[h, m]
            if s == h:
                stack[size] = m, h + step
                size += 1
                break
            i, j = min(s, m), max(s, m)
            halves = spans.complete[i, i:j], spans.complete[j, i + 1 : j + 1]
            k = i + find_split(*halves, spans.joint[i, j])
            stack[size] = i, k
            stack[size + 1] = j, k + 1
            size += 2
            m = s
    return best
