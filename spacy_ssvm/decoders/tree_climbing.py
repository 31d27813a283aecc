"""Second-order trees whose arcs may cross: a search that starts at the best projective tree.

Parts, and tables of them, are those of ``decoders.parts``; scores of pairs and grandparents must be
finite. The best tree of all is hard to find. As in McDonald & Pereira (2006), the best projective
tree is changed, one head at a time, where that raises the score most, until no change raises it.
Two heads change where another word becomes the root.
"""

import numpy as np

from spacy_ssvm._jit import Ints, kernel
from spacy_ssvm.decoders.grandparents import eisner_grandparents
from spacy_ssvm.decoders.parts import (
    PartTable,
    inner_sibling,
    pair_number,
    tree_score,
    triple_number,
)
from spacy_ssvm.decoders.siblings import eisner_siblings
from spacy_ssvm.decoders.tree import chu_liu_edmonds

_SLACK = 1e-9  # relative, of scores: a smaller gain may be rounding


@kernel
def _value(parts: PartTable, heads: Ints, h: int, m: int) -> float:
    """What the arc (h, m) adds to the score of a tree, whether it is there or not.

    The head h is a word, and does not depend on m.
    """
    pairs = parts.pairs
    step = 1 if m > h else -1
    inner, outer = inner_sibling(heads, h, m), m + step
    while 0 < outer < len(heads) and heads[outer] != h:
        outer += step
    value = parts.arcs[h, m] + pairs[pair_number(parts, h, inner, m)]
    if 0 < outer < len(heads):
        value += pairs[pair_number(parts, h, m, outer)]
        value -= pairs[pair_number(parts, h, inner, outer)]
    if len(parts.grandparents):
        value += parts.grandparents[triple_number(parts, heads[h], h, m)]
        for d in range(1, len(heads)):
            if heads[d] == m:
                value += parts.grandparents[triple_number(parts, h, m, d)]
    return value  # type: ignore[no-any-return]


@kernel
def _is_below(heads: Ints, m: int, top: int) -> bool:
    """Whether word m is ``top``, or one of the words that depend on it."""
    while m > 0 and m != top:
        m = heads[m]
    return m == top


@kernel
def _best_change(parts: PartTable, heads: Ints, least: float) -> tuple[int, int]:
    """The word and its new head that raise the score most; (0, 0) where none by ``least``."""
    best, word, head = least, 0, 0
    for m in range(1, len(heads)):
        if heads[m] == 0:
            continue
        now = _value(parts, heads, heads[m], m)
        for h in range(1, len(heads)):
            if h not in (m, heads[m]) and parts.arcs[h, m] > -np.inf:
                gain = _value(parts, heads, h, m) - now
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
def _best_root(parts: PartTable, heads: Ints, total: float, least: float) -> tuple[int, int]:
    """The new root, and the head of the old one, that raise the score most; (0, 0) for none."""
    old, best, root, head = _root_of(heads), total + least, 0, 0
    for m in range(1, len(heads)):
        if m == old or not parts.arcs[0, m] > -np.inf:
            continue
        g = heads[m]
        heads[m] = 0
        for h in range(1, len(heads)):
            if parts.arcs[h, old] > -np.inf and h != old and _is_below(heads, h, m):
                heads[old] = h
                found = tree_score(parts, heads)
                if found > best:
                    best, root, head = found, m, h
                heads[old] = 0
        heads[m] = g
    return root, head


@kernel
def best_projective(parts: PartTable, heads: Ints) -> float:
    """Fill heads with the best projective tree; return its score. parts must have pairs."""
    if len(parts.grandparents):
        return eisner_grandparents(parts, heads)
    return eisner_siblings(parts.arcs, parts.starts, parts.pairs, heads)


@kernel
def climb_trees(parts: PartTable, heads: Ints) -> float:
    """Fill heads with a good tree; return its score. parts must have pairs.

    No tree scores higher that differs in one head, or in those of the old and the new root.
    """
    total = best_projective(parts, heads)
    if total == -np.inf and chu_liu_edmonds(parts.arcs, heads) > -np.inf:
        total = tree_score(parts, heads)
    changed = heads.copy()
    while abs(total) < np.inf and len(heads) > 1:
        least = _SLACK * (1.0 + abs(total))
        m, h = _best_change(parts, changed, least)
        if m > 0:
            changed[m] = h
        else:
            m, h = _best_root(parts, changed, total, least)
            if m > 0:
                changed[_root_of(changed)] = h
                changed[m] = 0
        found = tree_score(parts, changed)
        if m == 0 or not found > total:  # rounding alone may promise a gain
            break
        heads[:] = changed
        total = found
    return total
