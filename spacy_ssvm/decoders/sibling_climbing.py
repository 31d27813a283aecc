"""Second-order trees whose arcs may cross: a search that starts at the best projective tree.

Tables of scores, and pairs, are those of ``decoders.siblings``; pairs must be finite. The best tree
of all is hard to find. As in McDonald & Pereira (2006), the best projective tree is changed, one
head at a time, where that raises the score most, until no change raises it. Two heads change where
another word becomes the root.
"""

from typing import NamedTuple

import numpy as np

from spacy_ssvm._jit import Floats, Ints, kernel
from spacy_ssvm.decoders.siblings import eisner_siblings
from spacy_ssvm.decoders.tree import chu_liu_edmonds

_SLACK = 1e-9  # relative, of scores: a smaller gain may be rounding


class _Tables(NamedTuple):
    scores: Floats
    starts: Ints
    pairs: Floats
    ranks: Ints  #: int64 [n + 1, n + 1]: the pair of an arc with a sibling, counted from its start


@kernel
def _rank_siblings(scores: Floats) -> Ints:
    """The ranks of ``_Tables``; 0 for the head itself, which stands for no sibling."""
    N = len(scores)
    ranks = np.zeros((N, N), dtype=np.int64)
    for h in range(1, N):
        for step in (1, -1):
            rank, x = 0, h + step
            while 0 < x < N:
                rank += scores[h, x] > -np.inf
                ranks[h, x] = rank
                x += step
    return ranks


@kernel
def _pair(tables: _Tables, h: int, s: int, m: int) -> float:
    """The score of the arcs (h, s) and (h, m); s = h for no sibling."""
    return tables.pairs[tables.starts[h, m] + tables.ranks[h, s]]  # type: ignore[no-any-return]


@kernel
def _inner(heads: Ints, h: int, m: int) -> int:
    """The dependent of h next to m on the way to h; h where there is none."""
    step = 1 if m > h else -1
    s = m - step
    while s != h and heads[s] != h:
        s -= step
    return s


@kernel
def _value(tables: _Tables, heads: Ints, h: int, m: int) -> float:
    """What the arc (h, m) adds to the score of a tree, whether it is there or not."""
    step = 1 if m > h else -1
    inner, outer = _inner(heads, h, m), m + step
    while 0 < outer < len(heads) and heads[outer] != h:
        outer += step
    value = tables.scores[h, m] + _pair(tables, h, inner, m)
    if 0 < outer < len(heads):
        value += _pair(tables, h, m, outer) - _pair(tables, h, inner, outer)
    return value  # type: ignore[no-any-return]


@kernel
def _score(tables: _Tables, heads: Ints) -> float:
    total = 0.0
    for m in range(1, len(heads)):
        h = heads[m]
        if not tables.scores[h, m] > -np.inf:
            return -np.inf
        total += tables.scores[h, m] + _pair(tables, h, _inner(heads, h, m), m)
    return total


@kernel
def tree_score(scores: Floats, starts: Ints, pairs: Floats, heads: Ints) -> float:
    """The score of a tree; minus infinity where one of its arcs is forbidden."""
    return _score(_Tables(scores, starts, pairs, _rank_siblings(scores)), heads)


@kernel
def _is_below(heads: Ints, m: int, top: int) -> bool:
    """Whether word m is ``top``, or one of the words that depend on it."""
    while m > 0 and m != top:
        m = heads[m]
    return m == top


@kernel
def _best_change(tables: _Tables, heads: Ints, least: float) -> tuple[int, int]:
    """The word and its new head that raise the score most; (0, 0) where none by ``least``."""
    best, word, head = least, 0, 0
    for m in range(1, len(heads)):
        if heads[m] == 0:
            continue
        now = _value(tables, heads, heads[m], m)
        for h in range(1, len(heads)):
            if h not in (m, heads[m]) and tables.scores[h, m] > -np.inf:
                gain = _value(tables, heads, h, m) - now
                if gain > best and not _is_below(heads, h, m):
                    best, word, head = gain, m, h
    return word, head


@kernel
def _root_of(heads: Ints) -> int:
    """The word whose head is the root."""
    m = 1
    while heads[m] != 0:
        m += 1
    return m


@kernel
def _best_root(tables: _Tables, heads: Ints, total: float, least: float) -> tuple[int, int]:
    """The new root, and the head of the old one, that raise the score most; (0, 0) for none."""
    old, best, root, head = _root_of(heads), total + least, 0, 0
    for m in range(1, len(heads)):
        if m == old or not tables.scores[0, m] > -np.inf:
            continue
        g = heads[m]
        heads[m] = 0
        for h in range(1, len(heads)):
            if tables.scores[h, old] > -np.inf and h != old and _is_below(heads, h, m):
                heads[old] = h
                found = _score(tables, heads)
                if found > best:
                    best, root, head = found, m, h
                heads[old] = 0
        heads[m] = g
    return root, head


@kernel
def climb_siblings(scores: Floats, starts: Ints, pairs: Floats, heads: Ints) -> float:
    """Fill heads with a good tree; return its score.

    No tree scores higher that differs in one head, or in those of the old and the new root.
    """
    tables = _Tables(scores, starts, pairs, _rank_siblings(scores))
    total = eisner_siblings(scores, starts, pairs, heads)
    if total == -np.inf and chu_liu_edmonds(scores, heads) > -np.inf:
        total = _score(tables, heads)
    changed = heads.copy()
    while abs(total) < np.inf and len(heads) > 1:
        least = _SLACK * (1.0 + abs(total))
        m, h = _best_change(tables, changed, least)
        if m > 0:
            changed[m] = h
        else:
            m, h = _best_root(tables, changed, total, least)
            if m > 0:
                changed[_root_of(changed)] = h
                changed[m] = 0
        found = _score(tables, changed)
        if m == 0 or not found > total:  # rounding alone may promise a gain
            break
        heads[:] = changed
        total = found
    return total
