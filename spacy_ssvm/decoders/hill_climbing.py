"""Second-order trees whose arcs may cross: a search that starts at the best projective tree.

Parts, and tables of them, are those of ``decoders.parts``; scores of pairs and grandparents must be
finite. The best tree of all is hard to find. As in McDonald & Pereira (2006), the best projective
tree is changed, one head at a time, where that raises the score most, until no change raises it.
Two heads change where another word becomes the root.
"""

from typing import NamedTuple

import numpy as np

from spacy_ssvm.decoders.grandparents import eisner_grandparents
from spacy_ssvm.decoders.parts import (
    PartTable,
    PartTableType,
    pair_number,
    tree_score,
    triple_number,
)
from spacy_ssvm.decoders.siblings import eisner_siblings
from spacy_ssvm.decoders.tree import chu_liu_edmonds
from spacy_ssvm.kernels.compile import kernel, outlined_kernel
from spacy_ssvm.kernels.types import Float, Ints, Ints1

_SLACK = 1e-9  # relative, of scores: a smaller gain may be rounding


class Tree(NamedTuple):
    """A tree, and what is looked up in it often."""

    heads: Ints  #: int64 [n + 1]
    inner: Ints  #: int64 [n + 1, n + 1]: see ``inner_sibling``, also of arcs that the tree lacks
    outer: Ints  #: int64 [n + 1, n + 1]: the next dependent of the head beyond; n + 1 for none
    enter: Ints  #: int64 [n + 1]: when a walk through the tree from the root enters each node
    leave: Ints  #: int64 [n + 1]: the last time that it enters a node below


@kernel
def look_up(heads: Ints) -> Tree:
    """The tree with these heads."""
    N = len(heads)
    tree = Tree(
        heads,
        np.full((N, N), N, dtype=np.int64),
        np.full((N, N), N, dtype=np.int64),
        np.zeros(N, dtype=np.int64),
        np.zeros(N, dtype=np.int64),
    )
    for h in range(1, N):
        for first, end, step in ((h + 1, N, 1), (h - 1, 0, -1)):
            last = N
            for m in range(first, end, step):
                tree.inner[h, m] = last
                if heads[m] == h:
                    last = m
            last = N
            for m in range(end - step, h, -step):
                tree.outer[h, m] = last
                if heads[m] == h:
                    last = m
    child, sibling = np.zeros(N, dtype=np.int64), np.zeros(N, dtype=np.int64)
    for m in range(N - 1, 0, -1):
        sibling[m] = child[heads[m]]
        child[heads[m]] = m
    node, time = 0, 0
    while time < N - 1:
        if child[node] > 0:  # go down, to a child that has not been visited
            below = child[node]
            child[node] = sibling[below]
            node = below
            time += 1
            tree.enter[node] = time
        else:
            tree.leave[node] = time
            node = heads[node]
    while node >= 0:
        tree.leave[node] = time
        node = heads[node]
    return tree


@kernel
def is_below(tree: Tree, m: int, top: int) -> bool:
    """Whether word m is ``top``, or one of the words that depend on it."""
    return bool(tree.enter[top] <= tree.enter[m] <= tree.leave[top])


@kernel
def _with_dependents(parts: PartTable, heads: Ints, h: int, m: int) -> float:
    """The scores of h as the grandparent of the dependents of m."""
    total = 0.0
    if len(parts.grandparents):
        for d in range(1, len(heads)):
            if heads[d] == m:
                total += parts.grandparents[triple_number(parts, h, m, d)]
    return total


@kernel
def arc_value(parts: PartTable, tree: Tree, h: int, m: int) -> float:
    """What the arc (h, m) adds to the score of a tree, whether it is there or not.

    The head h is a word, and does not depend on m.
    """
    pairs, inner, outer = parts.pairs, tree.inner[h, m], tree.outer[h, m]
    value = parts.arcs[h, m] + pairs[pair_number(parts, h, inner, m)]
    if outer < len(tree.heads):
        value += pairs[pair_number(parts, h, m, outer)]
        value -= pairs[pair_number(parts, h, inner, outer)]
    if len(parts.grandparents):
        value += parts.grandparents[triple_number(parts, tree.heads[h], h, m)]
    return value + _with_dependents(parts, tree.heads, h, m)  # type: ignore[no-any-return]


@kernel
def root_value(parts: PartTable, heads: Ints, m: int) -> float:
    """What the arc from the root to word m adds to the score of a tree, as ``arc_value``."""
    value = parts.arcs[0, m] + parts.pairs[parts.starts[0, m]]
    return value + _with_dependents(parts, heads, 0, m)  # type: ignore[no-any-return]


@kernel
def best_other_head(parts: PartTable, tree: Tree, m: int) -> tuple[float, int]:
    """What the best other head of word m adds to the score of a tree, and that head.

    The word is not the root, nor becomes it. Minus infinity and 0 where no other head is possible.
    """
    heads, best, head = tree.heads, -np.inf, 0
    now = arc_value(parts, tree, heads[m], m)
    for h in range(1, len(heads)):
        if h in (m, heads[m]) or not parts.arcs[h, m] > -np.inf or is_below(tree, h, m):
            continue
        gain = arc_value(parts, tree, h, m) - now
        if gain > best:
            best, head = gain, h
    return best, head


@kernel
def _best_change(parts: PartTable, tree: Tree, least: float) -> tuple[int, int]:
    """The word and its new head that raise the score most; (0, 0) where none by ``least``."""
    heads, best, word, head = tree.heads, least, 0, 0
    for m in range(1, len(heads)):
        if heads[m] != 0:
            gain, h = best_other_head(parts, tree, m)
            if gain > best:
                best, word, head = gain, m, h
    return word, head


@kernel
def root_of(heads: Ints) -> int:
    """The word whose head is the root."""
    m = 1
    while heads[m] != 0:
        m += 1
    return m


@kernel
def _best_root(parts: PartTable, tree: Tree, least: float) -> tuple[int, int]:
    """The new root, and the head of the old one, that raise the score most; (0, 0) for none.

    The old root becomes a dependent of a word below the new one.
    """
    heads, best, root, head = tree.heads, least, 0, 0
    old = root_of(heads)
    for m in range(1, len(heads)):
        if m == old or not parts.arcs[0, m] > -np.inf:
            continue
        g = heads[m]
        gain = root_value(parts, heads, m) - arc_value(parts, tree, g, m)
        heads[m] = 0
        gain -= root_value(parts, heads, old)
        for h in range(1, len(heads)):
            if h != old and parts.arcs[h, old] > -np.inf and is_below(tree, h, m):
                found = gain + arc_value(parts, tree, h, old)
                if found > best:
                    best, root, head = found, m, h
        heads[m] = g
    return root, head


@outlined_kernel(Float(PartTableType, Ints1))
def best_projective(parts: PartTable, heads: Ints) -> float:
    """Fill heads with the best projective tree; return its score. parts must have pairs."""
    if len(parts.grandparents):
        return eisner_grandparents(parts, heads)
    return eisner_siblings(parts.arcs, parts.starts, parts.pairs, heads)


@outlined_kernel(Float(PartTableType, Ints1))
def climb_trees(parts: PartTable, heads: Ints) -> float:
    """Fill heads with a good tree; return its score. parts must have pairs.

    No tree scores higher that differs in one head, or in those of the old and the new root.
    """
    total = best_projective(parts, heads)
    if total == -np.inf and chu_liu_edmonds(parts.arcs, heads) > -np.inf:
        total = tree_score(parts, heads)
    changed = heads.copy()
    while abs(total) < np.inf and len(heads) > 1:
        least, tree = _SLACK * (1.0 + abs(total)), look_up(changed)
        m, h = _best_change(parts, tree, least)
        if m > 0:
            changed[m] = h
        else:
            m, h = _best_root(parts, tree, least)
            if m > 0:
                changed[root_of(changed)] = h
                changed[m] = 0
        found = tree_score(parts, changed)
        if m == 0 or not found > total:  # rounding alone may promise a gain
            break
        heads[:] = changed
        total = found
    return total
