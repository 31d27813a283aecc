"""Second-order trees whose arcs may cross: a search that starts at the best projective tree.

Tables of scores, and pairs, are those of ``decoders.siblings``; pairs must be finite. The best tree
of all is hard to find. As in McDonald & Pereira (2006), the best projective tree is changed, one
head at a time, where that raises the score most, until no change raises it. Two heads change where
another word becomes the root.
"""

import numpy as np

from spacy_ssvm._jit import Floats, Ints, kernel
from spacy_ssvm.decoders.siblings import eisner_siblings
from spacy_ssvm.decoders.tree import chu_liu_edmonds

_SLACK = 1e-9  # relative, of scores: a smaller gain may be rounding


@kernel
def _side_score(
    scores: Floats, starts: Ints, pairs: Floats, heads: Ints, h: int, step: int
) -> float:
    """The sum of the pairs of head h with its dependents on one side. step: 1 or -1."""
    total, slot, number = 0.0, 0, 0
    x = h + step
    while 0 < x < len(heads):
        if scores[h, x] > -np.inf:
            number += h > 0  # the root has no siblings
            if heads[x] == h:
                total += pairs[starts[h, x] + slot]
                slot = number
        x += step
    return total


@kernel
def tree_score(scores: Floats, starts: Ints, pairs: Floats, heads: Ints) -> float:
    """The score of a tree; minus infinity where one of its arcs is forbidden."""
    total = 0.0
    for m in range(1, len(heads)):
        if not scores[heads[m], m] > -np.inf:
            return -np.inf
        total += scores[heads[m], m]
    for h in range(len(heads)):
        for step in (1, -1):
            total += _side_score(scores, starts, pairs, heads, h, step)
    return total


@kernel
def _is_below(heads: Ints, m: int, top: int) -> bool:
    """Whether word m is ``top``, or one of the words that depend on it."""
    while m > 0 and m != top:
        m = heads[m]
    return m == top


@kernel
def _gain(scores: Floats, starts: Ints, pairs: Floats, heads: Ints, m: int, h: int) -> float:
    """How much the score of a tree rises where m gets the head h; the root stays."""
    g = heads[m]
    old_side, new_side = (1 if m > g else -1), (1 if m > h else -1)
    gain = scores[h, m] - scores[g, m]
    gain -= _side_score(scores, starts, pairs, heads, g, old_side)
    gain -= _side_score(scores, starts, pairs, heads, h, new_side)
    heads[m] = h
    gain += _side_score(scores, starts, pairs, heads, g, old_side)
    gain += _side_score(scores, starts, pairs, heads, h, new_side)
    heads[m] = g
    return gain  # type: ignore[no-any-return]


@kernel
def _best_change(
    scores: Floats, starts: Ints, pairs: Floats, heads: Ints, least: float
) -> tuple[int, int]:
    """The word and its new head that raise the score most; (0, 0) where none by ``least``."""
    best, word, head = least, 0, 0
    for m in range(1, len(heads)):
        for h in range(1, len(heads)):
            if heads[m] in (0, h) or h == m or not scores[h, m] > -np.inf:
                continue
            if not _is_below(heads, h, m):
                gain = _gain(scores, starts, pairs, heads, m, h)
                if gain > best:
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
def _best_root(
    scores: Floats, starts: Ints, pairs: Floats, heads: Ints, total: float, least: float
) -> tuple[int, int]:
    """The new root, and the head of the old one, that raise the score most; (0, 0) for none."""
    old, best, root, head = _root_of(heads), total + least, 0, 0
    for m in range(1, len(heads)):
        if m == old or not scores[0, m] > -np.inf:
            continue
        g = heads[m]
        heads[m] = 0
        for h in range(1, len(heads)):
            if scores[h, old] > -np.inf and h != old and _is_below(heads, h, m):
                heads[old] = h
                found = tree_score(scores, starts, pairs, heads)
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
    total = eisner_siblings(scores, starts, pairs, heads)
    if total == -np.inf and chu_liu_edmonds(scores, heads) > -np.inf:
        total = tree_score(scores, starts, pairs, heads)
    changed = heads.copy()
    while total > -np.inf and len(heads) > 1:
        least = _SLACK * (1.0 + abs(total))
        m, h = _best_change(scores, starts, pairs, changed, least)
        if m > 0:
            changed[m] = h
        else:
            m, h = _best_root(scores, starts, pairs, changed, total, least)
            if m > 0:
                changed[_root_of(changed)] = h
                changed[m] = 0
        found = tree_score(scores, starts, pairs, changed)
        if m == 0 or not found > total:  # rounding alone may promise a gain
            break
        heads[:] = changed
        total = found
    return total
