"""Labelings of the nodes of a graph whose edges favour equal labels.

    score(y) = sum_i scores[i, y_i] - sum_e penalties[e] [y_a(e) != y_b(e)]

Tables, everywhere in this module:
    scores        float64 [n, K], by node and label; minus infinity forbids a label, and each
                  node has a label that is allowed
    edges         int64 [E, 2], the two nodes a(e) != b(e) of each edge; two nodes can have
                  several edges
    penalties     float64 [E], finite and not negative
    y             int64 [n], the labels

    labeling_score  the score of a labeling
    best_labels     the best labeling where K <= 2, by a minimum cut [Greig, Porteous & Seheult
                    1989]; a local optimum where K > 2, by alpha-expansion
    expand_labels   alpha-expansion from a labeling [Boykov, Veksler & Zabih 2001]
    cut_margins     for K = 2, how much each label is worth: max-marginals from the residual
                    graph of one flow [Kohli & Torr 2008]

Cuts are found by push-relabel [Goldberg & Tarjan 1988] in a form without terminals. A node has an
excess, its score of label 0 less that of label 1; a negative excess is a deficit. An arc v -> u
has a residual capacity. Moving an amount x along an arc changes

    excess[v] -= x,  excess[u] += x,  residual[v -> u] -= x,  residual[u -> v] += x

and adds the same constant to the scores of all labelings. At the end no node with an excess has
a path of positive residuals to a node with a deficit. Then the nodes with such a path have label 1
and the others label 0, so that ties go to label 0. The bounds on the number of steps count
saturated arcs and emptied nodes, which are exact zeros in floating point too: the search ends for
any input. Whole numbers give exact results.
"""

from typing import NamedTuple

import numpy as np

from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Floats, Ints


class Arcs(NamedTuple):
    """The arcs of a graph, two for each edge, in the order of the nodes that they leave."""

    starts: Ints  #: int64 [n + 1]: the first arc of each node
    heads: Ints  #: int64 [2 E]: the node that an arc enters
    reverse: Ints  #: int64 [2 E]: the other arc of the same edge
    of_edge: Ints  #: int64 [E]: the arc from edges[e, 0] to edges[e, 1]


@kernel
def _arcs(n: int, edges: Ints) -> Arcs:
    """The arcs of a graph of n nodes."""
    starts = np.zeros(n + 2, dtype=np.int64)
    for e in range(len(edges)):
        starts[edges[e, 0] + 2] += 1
        starts[edges[e, 1] + 2] += 1
    for i in range(n):
        starts[i + 2] += starts[i + 1]
    heads = np.empty(2 * len(edges), dtype=np.int64)
    reverse = np.empty(2 * len(edges), dtype=np.int64)
    of_edge = np.empty(len(edges), dtype=np.int64)
    for e in range(len(edges)):
        a, b = edges[e, 0], edges[e, 1]
        there, back = starts[a + 1], starts[b + 1]
        starts[a + 1] += 1
        starts[b + 1] += 1
        heads[there], heads[back] = b, a
        reverse[there], reverse[back] = back, there
        of_edge[e] = there
    return Arcs(starts[: n + 1], heads, reverse, of_edge)


@kernel
def _find_distances(
    arcs: Arcs, residual: Floats, excess: Floats, distances: Ints, order: Ints
) -> int:
    """Write the number of arcs from each node to the next deficit, n where there is no path.

    order: int64 [n]: the nodes with a path, by their distance. Returns their number.
    """
    n = len(excess)
    size = 0
    for i in range(n):
        distances[i] = n
        if excess[i] < 0:
            distances[i] = 0
            order[size] = i
            size += 1
    done = 0
    while done < size:
        v = order[done]
        done += 1
        for a in range(arcs.starts[v], arcs.starts[v + 1]):
            u = arcs.heads[a]
            if distances[u] == n and residual[arcs.reverse[a]] > 0:
                distances[u] = distances[v] + 1
                order[size] = u
                size += 1
    return size


@kernel
def _enqueue(excess: Floats, order: Ints, size: int, queue: Ints, is_queued: Ints) -> int:
    """Write the nodes of ``order`` that have an excess, the most distant first; return how many."""
    count = 0
    for place in range(size - 1, -1, -1):
        v = order[place]
        if excess[v] > 0:
            queue[count] = v
            is_queued[v] = 1
            count += 1
    return count


@kernel
def _push(arcs: Arcs, residual: Floats, excess: Floats, v: int, a: int) -> int:
    """Move what fits of the excess of v along its arc a; return the node that it enters."""
    u = arcs.heads[a]
    amount = residual[a]
    if amount <= excess[v]:
        excess[v] -= amount
        residual[a] = 0.0
    else:
        amount = excess[v]
        excess[v] = 0.0
        residual[a] -= amount
    residual[arcs.reverse[a]] += amount
    excess[u] += amount
    return u  # type: ignore[no-any-return]


@kernel
def _relabel(arcs: Arcs, residual: Floats, distances: Ints, v: int) -> int:
    """Raise the distance of v to one more than that of a neighbour; return the arc to it.

    To n where no arc leads to one, which is -1 then.
    """
    nearest, best = len(distances) - 1, -1
    for a in range(arcs.starts[v], arcs.starts[v + 1]):
        if residual[a] > 0 and distances[arcs.heads[a]] < nearest:
            nearest, best = distances[arcs.heads[a]], a
    distances[v] = nearest + 1
    return best


@kernel
def _move_excess(arcs: Arcs, residual: Floats, excess: Floats, distances: Ints) -> None:
    """Move excess until none can reach a deficit; write the distances at the end.

    First in, first out, with distances that are computed again after n relabelings.
    """
    n = len(excess)
    order, queue = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    is_queued = np.zeros(n, dtype=np.int64)
    current = arcs.starts[:n].copy()
    size = _find_distances(arcs, residual, excess, distances, order)
    count = _enqueue(excess, order, size, queue, is_queued)
    first, relabelings = 0, 0
    while count > 0:
        v = queue[first]
        first = first + 1 if first + 1 < n else 0
        count -= 1
        is_queued[v] = 0
        while excess[v] > 0 and distances[v] < n:
            a = current[v]
            if a == arcs.starts[v + 1]:
                current[v] = _relabel(arcs, residual, distances, v)
                relabelings += 1
            elif residual[a] > 0 and distances[arcs.heads[a]] == distances[v] - 1:
                u = _push(arcs, residual, excess, v, a)
                if excess[u] > 0 and not is_queued[u]:
                    end = first + count
                    queue[end if end < n else end - n] = u
                    is_queued[u] = 1
                    count += 1
            else:
                current[v] += 1
        if relabelings > n:
            size = _find_distances(arcs, residual, excess, distances, order)
            is_queued[:] = 0
            count = _enqueue(excess, order, size, queue, is_queued)
            current[:] = arcs.starts[:n]
            first, relabelings = 0, 0
    _find_distances(arcs, residual, excess, distances, order)


@kernel
def _make_finite(arcs: Arcs, residual: Floats, excess: Floats) -> None:
    """Replace infinite excesses and deficits by more than what the arcs of the node can carry."""
    for v in range(len(excess)):
        if np.isinf(excess[v]):
            carried = 0.0
            for a in range(arcs.starts[v], arcs.starts[v + 1]):
                carried += residual[a]
            excess[v] = np.copysign(2.0 * carried + 1.0, excess[v])


@kernel
def labeling_score(scores: Floats, edges: Ints, penalties: Floats, y: Ints) -> float:
    """The score of the labeling y."""
    total = 0.0
    for i in range(len(y)):
        total += scores[i, y[i]]
    for e in range(len(edges)):
        if y[edges[e, 0]] != y[edges[e, 1]]:
            total -= penalties[e]
    return total


@kernel
def _binary_cut(arcs: Arcs, scores: Floats, penalties: Floats, y: Ints) -> tuple[Floats, Floats]:
    """Fill y with the best of two labels; return the residuals and excesses that are left."""
    n = len(y)
    excess = scores[:, 0] - scores[:, 1]
    residual = np.empty(len(arcs.heads))
    for e in range(len(penalties)):
        there = arcs.of_edge[e]
        residual[there] = penalties[e]
        residual[arcs.reverse[there]] = penalties[e]
    _make_finite(arcs, residual, excess)
    distances = np.empty(n, dtype=np.int64)
    _move_excess(arcs, residual, excess, distances)
    for i in range(n):
        y[i] = 1 if distances[i] < n else 0
    return residual, excess


@kernel
def _expansion_cut(
    arcs: Arcs, scores: Floats, edges: Ints, penalties: Floats, alpha: int, y: Ints, moved: Ints
) -> None:
    """Fill ``moved`` with the best labeling in which each node keeps its label or gets alpha.

    Label 0 of the cut keeps, label 1 moves. Between a and b of other, different labels, the
    penalty p is p - p/2 x_a - p/2 x_b + p/2 [x_a != x_b], where x is 1 for a node that moves.
    Where b has alpha, it is p - p x_a. Nodes that have alpha stay as they are in any case.
    """
    n = len(y)
    excess, residual = np.empty(n), np.empty(len(arcs.heads))
    for i in range(n):
        excess[i] = scores[i, y[i]] - scores[i, alpha]
    for e in range(len(edges)):
        a, b = edges[e, 0], edges[e, 1]
        saved = 0.0  # by a node that moves
        if y[a] != y[b]:
            saved = penalties[e] if y[a] == alpha or y[b] == alpha else penalties[e] / 2
        excess[a] -= saved
        excess[b] -= saved
        there = arcs.of_edge[e]
        residual[there] = penalties[e] - saved
        residual[arcs.reverse[there]] = penalties[e] - saved
    _make_finite(arcs, residual, excess)
    distances = np.empty(n, dtype=np.int64)
    _move_excess(arcs, residual, excess, distances)
    for i in range(n):
        moved[i] = alpha if distances[i] < n else y[i]


@kernel
def _expand(arcs: Arcs, scores: Floats, edges: Ints, penalties: Floats, y: Ints) -> float:
    """See ``expand_labels``."""
    K = scores.shape[1]
    moved = np.empty(len(y), dtype=np.int64)
    best = labeling_score(scores, edges, penalties, y)
    alpha, in_vain = 0, 0
    while in_vain < K:
        _expansion_cut(arcs, scores, edges, penalties, alpha, y, moved)
        score = labeling_score(scores, edges, penalties, moved)
        in_vain += 1
        if score > best:
            y[:] = moved
            best, in_vain = score, 1  # a second move to the same label cannot help
        alpha = alpha + 1 if alpha + 1 < K else 0
    return best


@kernel
def expand_labels(scores: Floats, edges: Ints, penalties: Floats, y: Ints) -> float:
    """Improve the labeling y, of labels that are allowed, by alpha-expansion; return its score.

    Moves of any nodes to one label, to each label in turn, until none helps. Only moves that
    raise the score are made, so there is an end. The score is then less than the best one by at
    most the penalties that the best labeling pays [Boykov, Veksler & Zabih 2001, Theorem 6.1].
    """
    return _expand(_arcs(len(y), edges), scores, edges, penalties, y)


@kernel
def best_labels(scores: Floats, edges: Ints, penalties: Floats, y: Ints) -> float:
    """Fill y with the best labeling that is found; return its score.

    The best of all for K <= 2. For K > 2 that of alpha-expansion from the best label of each
    node alone: see ``expand_labels``.
    """
    n, K = scores.shape
    for i in range(n):
        y[i] = np.argmax(scores[i])
    if K > 1 and len(edges) > 0:
        arcs = _arcs(n, edges)
        if K > 2:
            return _expand(arcs, scores, edges, penalties, y)
        _binary_cut(arcs, scores, penalties, y)
    return labeling_score(scores, edges, penalties, y)


@kernel
def _augment(
    arcs: Arcs, residual: Floats, excess: Floats, y: Ints, v: int, entered: Ints, queue: Ints
) -> bool:
    """Move excess to v of label 0 from the next node that has some and a path to v.

    Or move a deficit to v of label 1, from the next node to which v has a path. No path leads
    from label 0 to label 1: only nodes of the same label matter.
    entered: int64 [n], all -1, as it is left: the arc by which the search enters a node.
    Returns whether there was such a node.
    """
    sign = 1 - 2 * y[v]
    queue[0] = v
    done, size, found = 0, 1, -1
    while done < size and found < 0:
        node = queue[done]
        done += 1
        for a in range(arcs.starts[node], arcs.starts[node + 1]):
            u = arcs.heads[a]
            if y[u] != y[v] or u == v or entered[u] >= 0:
                continue
            if residual[arcs.reverse[a] if sign > 0 else a] <= 0:
                continue
            entered[u] = a
            queue[size] = u
            size += 1
            if sign * excess[u] > 0:
                found = u
                break
    if found >= 0:
        amount, u = sign * excess[found], found
        while u != v:
            back = arcs.reverse[entered[u]]
            amount = min(amount, residual[back if sign > 0 else entered[u]])
            u = arcs.heads[back]
        u = found
        while u != v:
            back = arcs.reverse[entered[u]]
            residual[back] -= sign * amount
            residual[entered[u]] += sign * amount
            u = arcs.heads[back]
        excess[found] -= sign * amount
        excess[v] += sign * amount
    for place in range(size):
        entered[queue[place]] = -1
    return found >= 0


@kernel
def cut_margins(scores: Floats, edges: Ints, penalties: Floats, y: Ints, margins: Floats) -> None:
    """Fill y with the best of two labels, and margins with what each of them is worth.

    margins: float64 [n], the best score less the best one with the other label at the node;
        infinite where that is forbidden.
    The other label at a node of label 0 costs all the excess that can be moved to it, and at a
    node of label 1 all the deficit. The excess stays there, since moves change no difference of
    scores: the next node starts from what the last one left. Shortest paths [Edmonds & Karp
    1972].
    Raises ValueError where K is not 2: other margins are not known from one flow.
    """
    n, K = scores.shape
    if K != 2:
        raise ValueError("margins of cuts are those of two labels")
    arcs = _arcs(n, edges)
    residual, excess = _binary_cut(arcs, scores, penalties, y)
    entered, queue = np.full(n, -1, dtype=np.int64), np.empty(n, dtype=np.int64)
    for i in range(n):
        margins[i] = np.inf
        if scores[i, 1 - y[i]] > -np.inf:
            while _augment(arcs, residual, excess, y, i, entered, queue):
                pass
            margins[i] = abs(excess[i])
