"""First-order dependency trees: heads of the words 1..n of a sentence; 0 is the root.

    score(heads) = sum over words m of scores[heads[m], m]

Score tables, everywhere in the package:
    scores        float64 [n + 1, n + 1], by head and dependent; column 0 and the diagonal
                  are ignored
    heads         int64 [n + 1]; heads[0] is -1
Every tree has exactly one word whose head is the root. Minus infinity forbids an arc, and so
does NaN. Where no tree is allowed, the score is minus infinity and the heads are arbitrary.

    eisner              projective trees, O(n^3) [Eisner 1996]
    chu_liu_edmonds     all trees, O(n^2) [Chu & Liu 1965, Edmonds 1967]
"""

import numpy as np

from spacy_ssvm.kernels.compile import inlined_kernel, inner_kernel, kernel, outlined_kernel
from spacy_ssvm.kernels.types import Float, Floats, Floats2, Ints, Ints1


@inner_kernel
def chain_heads(heads: Ints) -> None:
    """The tree in which each word depends on the one before it."""
    for m in range(len(heads)):
        heads[m] = m - 1


@inlined_kernel
def best_split(left: Floats, right: Floats) -> float:
    """The greatest sum left[k] + right[k]."""
    best = -np.inf
    for k in range(len(left)):
        total = left[k] + right[k]
        best = total if total > best else best
    return best


@inlined_kernel
def find_split(left: Floats, right: Floats, best: float) -> int:
    """The first k with left[k] + right[k] == best."""
    for k in range(len(left)):
        if left[k] + right[k] == best:
            return k
    return 0


@outlined_kernel(Float(Floats2, Ints1))
def eisner(scores: Floats, heads: Ints) -> float:
    """Fill heads with the best projective tree; return its score.

    Spans of words [i, j] are complete (all dependents of the head inside are found) or
    incomplete (they end with an arc between i and j). Each table has the head's position
    first, and a transposed twin, so that all sums run along rows; no back pointers are stored.
    """
    N = len(heads)
    chain_heads(heads)
    if N == 1:
        return 0.0
    complete = np.full((N, N), -np.inf)  # [head, other end], on both sides of the head
    complete_by_end = np.full((N, N), -np.inf)  # [other end, head]
    incomplete = np.full((N, N), -np.inf)  # [head, dependent at the other end]
    for i in range(1, N):
        complete[i, i] = 0.0
        complete_by_end[i, i] = 0.0
    for width in range(1, N - 1):
        for i in range(1, N - width):
            j = i + width
            between = best_split(complete[i, i:j], complete[j, i + 1 : j + 1])
            incomplete[i, j] = between + scores[i, j]
            incomplete[j, i] = between + scores[j, i]
            right = best_split(incomplete[i, i + 1 : j + 1], complete_by_end[j, i + 1 : j + 1])
            complete[i, j] = right
            complete_by_end[j, i] = right
            left = best_split(incomplete[j, i:j], complete_by_end[i, i:j])
            complete[j, i] = left
            complete_by_end[i, j] = left
    best, root = -np.inf, 0
    for r in range(1, N):
        total = complete[r, 1] + complete[r, N - 1] + scores[0, r]
        if total > best:
            best, root = total, r
    if root == 0:
        return best
    heads[root] = 0
    # Spans still to split: (head, other end).
    stack = np.empty((2 * N, 2), dtype=np.int64)
    stack[0] = root, 1
    stack[1] = root, N - 1
    size = 2
    while size > 0:
        size -= 1
        h, e = stack[size]
        if h == e:
            continue
        low, high = (h + 1, e + 1) if h < e else (e, h)
        m = low + find_split(incomplete[h, low:high], complete_by_end[e, low:high], complete[h, e])
        heads[m] = h
        i, j = min(h, m), max(h, m)
        between = best_split(complete[i, i:j], complete[j, i + 1 : j + 1])
        k = i + find_split(complete[i, i:j], complete[j, i + 1 : j + 1], between)
        stack[size] = m, e
        stack[size + 1] = i, k
        stack[size + 2] = j, k + 1
        size += 3
    return best


@inner_kernel
def _best_head(table: Floats, active: Ints, v: int) -> int:
    """The first of the active nodes whose arc to v has the highest score; -1 for none."""
    best = -1
    for u in range(len(active)):
        score = table[u, v] if active[u] and u != v else -np.inf
        if score > -np.inf and (best < 0 or score > table[best, v]):
            best = u
    return best


@inner_kernel
def _next_head(table: Floats, active: Ints, v: int, u: int) -> int:
    """The first of the active nodes behind u whose arc to v scores as high as that of u.

    u: the best head of v, which was contracted; the new node, the last one, scores as high.
    """
    best = u + 1
    while best < len(active) - 1:
        if active[best] and best != v and table[best, v] == table[u, v]:
            break
        best += 1
    return best


@kernel
def _find_cycle(best: Ints, active: Ints, cycle: Ints) -> int:
    """Write a cycle of the arcs best[v] -> v among the active nodes; return its length."""
    visit = np.zeros(len(best), dtype=np.int64)  # the number of the walk that visited the node
    for start in range(1, len(active)):
        v = start
        while v > 0 and active[v] and visit[v] == 0:
            visit[v] = start
            v = best[v]
        if v > 0 and active[v] and visit[v] == start:
            size = 0
            u = v
            while size == 0 or u != v:
                cycle[size] = u
                size += 1
                u = best[u]
            return size
    return 0


@inner_kernel
def _contract(
    table: Floats, entered: Ints, left: Ints, best: Ints, active: Ints, cycle: Ints, c: int
) -> None:
    """Contract the nodes of a cycle into one node c.

    entered[u, c]: the node of the cycle that an arc u -> c enters; left[c, v]: the node of
    the cycle that an arc c -> v leaves.
    """
    for v in cycle:
        active[v] = 0
    for u in range(c):
        if not active[u]:
            continue
        for v in cycle:
            gain = table[u, v] - table[best[v], v]
            if gain > table[u, c]:
                table[u, c] = gain
                entered[u, c] = v
            if u > 0 and table[v, u] > table[c, u]:
                table[c, u] = table[v, u]
                left[c, u] = v
    active[c] = 1


@outlined_kernel(Float(Floats2, Ints1))
def chu_liu_edmonds(scores: Floats, heads: Ints) -> float:
    """Fill heads with the best tree, projective or not; return its score.

    Arcs from the root get a penalty so large that a tree has several only if it must.
    """
    N = len(heads)
    chain_heads(heads)
    if N == 1:
        return 0.0
    size = 2 * N  # words and contracted cycles
    table = np.full((size, size), -np.inf)
    low, high = np.inf, -np.inf
    for h in range(N):
        for m in range(1, N):
            if h != m and scores[h, m] > -np.inf:
                table[h, m] = scores[h, m]
                low, high = min(low, scores[h, m]), max(high, scores[h, m])
    for m in range(1, N):
        table[0, m] -= (high - low + 1.0) * N
    entered = np.zeros((size, size), dtype=np.int64)
    left = np.zeros((size, size), dtype=np.int64)
    best = np.zeros(size, dtype=np.int64)
    active = np.zeros(size, dtype=np.int64)
    active[:N] = 1
    cycle = np.empty(N, dtype=np.int64)
    for v in range(1, N):
        best[v] = _best_head(table, active[:N], v)
        if best[v] < 0:
            return -np.inf
    count = 0
    while True:
        nodes = N + count
        length = _find_cycle(best, active[:nodes], cycle)
        if length == 0:
            break
        _contract(table, entered, left, best, active, cycle[:length], nodes)
        best[nodes] = _best_head(table, active[:nodes], nodes)
        if best[nodes] < 0:
            return -np.inf
        for v in range(1, nodes):
            if active[v] and not active[best[v]]:
                best[v] = _next_head(table, active[: nodes + 1], v, best[v])
        count += 1
    for c in range(N + count - 1, N - 1, -1):
        u = best[c]
        best[entered[u, c]] = u
        for v in range(1, c):
            if best[v] == c and left[c, v] > 0:
                best[v] = left[c, v]
    total = 0.0
    roots = 0
    for m in range(1, N):
        heads[m] = best[m]
        total += scores[best[m], m]
        roots += best[m] == 0
    return total if roots == 1 else -np.inf
