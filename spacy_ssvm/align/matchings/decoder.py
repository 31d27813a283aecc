"""Matchings between the words of two sentences, of which any may stay alone.

    score(links) = sum of scores[j, k] over the links (j, k)
                 + sum over source words j with d links of source_steps[j, 0] + ... + [j, d - 1]
                 + sum over target words k with d links of target_steps[k, 0] + ... + [k, d - 1]

Score tables, everywhere in the package:
    scores          float64 [m, n], by source and target word
    source_steps    float64 [m, f]: what a source word adds with its first, second, ... link;
                    rows do not increase, so f is the largest number of links of a word
    target_steps    float64 [n, g]: the same for target words
    links           bool [m, n]
Minus infinity forbids a link, or so many links of a word. Everything else is finite: NaN and
infinity are not checked. With steps zeros [m, 1] and zeros [n, 1] each word has at most one link,
and the score is that of [Taskar, Lacoste-Julien & Jordan 2005, section 2]. A link is used at most
once. The matching without links has the score 0. Arrays may have any memory layout.

Source words, target words and one node for "alone" form a network; a matching is a flow in it that
starts and ends at "alone", and all changes of a matching are cycles of its residual network.

    best_matching       shortest augmenting paths [Jonker & Volgenant 1987], O(f m (m + n)^2)
    matching_margins    the best cycles through each link, O(m n (m + n) + m^3)
    k_best_matchings    binary partitions [Hamacher & Queyranne 1985], two margins for each matching
"""

from typing import NamedTuple

import numpy as np

from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Flags, Floats, Ints


@kernel
def _score(scores: Floats, source_steps: Floats, target_steps: Floats, links: Flags) -> float:
    """The score of a matching."""
    m, n = scores.shape
    target_links = np.zeros(n, dtype=np.int64)
    total = 0.0
    for j in range(m):
        d = 0
        for k in range(n):
            if links[j, k]:
                total += scores[j, k] + source_steps[j, d] + target_steps[k, target_links[k]]
                d += 1
                target_links[k] += 1
    return total


class Flow(NamedTuple):
    """A matching, and prices that show that it is the best one among the words so far.

    scores[j, k] <= source_prices[j] + target_prices[k] for links that are not in the matching,
    >= for the others; a word's price is at least -steps[d - 1] and at most -steps[d] for its d
    links.
    """

    unused: Floats  #: [m, n]: the scores of links that are not in the matching, else -inf
    source_prices: Floats  #: [m]
    target_prices: Floats  #: [n]
    source_links: Ints  #: [m]: numbers of links
    target_links: Ints  #: [n]
    partners: Ints  #: [n, g]: the source words that a target word is linked with


class Search(NamedTuple):
    """Shortest paths from a source word: distances are losses against the prices."""

    source_distances: Floats  #: [m]
    target_distances: Floats  #: [n]
    source_done: Flags  #: [m]: whether the distance is final
    target_done: Flags  #: [n]
    before_source: Ints  #: [m]: the target word before a source word on its path
    before_target: Ints  #: [n]: the source word before a target word on its path
    pending: Ints  #: [m]: source words with a distance that is not final


@kernel
def _scan_source(flow: Flow, search: Search, j: int) -> None:
    """Extend the path to a source word by each link that is not in the matching."""
    base = search.source_distances[j] + flow.source_prices[j]
    row = flow.unused[j]
    prices, distances, done = flow.target_prices, search.target_distances, search.target_done
    before = search.before_target
    for k in range(len(row)):
        distance = base + (prices[k] - row[k])
        if distance < distances[k] and not done[k]:
            distances[k] = distance
            before[k] = j


@kernel
def _scan_target(flow: Flow, search: Search, scores: Floats, k: int, size: int) -> int:
    """Extend the path to a target word by taking back its links; return how many are pending."""
    base = search.target_distances[k] - flow.target_prices[k]
    for slot in range(flow.target_links[k]):
        j = flow.partners[k, slot]
        distance = base + (scores[j, k] - flow.source_prices[j])
        if distance < search.source_distances[j] and not search.source_done[j]:
            if search.source_distances[j] == np.inf:
                search.pending[size] = j
                size += 1
            search.source_distances[j] = distance
            search.before_source[j] = k
    return size


@kernel
def _nearest_pending(search: Search, size: int) -> int:
    """The place of the nearest pending source word; -1 where there is none."""
    nearest, best = -1, np.inf
    for place in range(size):
        distance = search.source_distances[search.pending[place]]
        if distance < best:
            nearest, best = place, distance
    return nearest


@kernel
def _nearest_target(search: Search) -> tuple[int, float]:
    """The nearest target word whose distance is not final; -1 where none is reached."""
    nearest, best = -1, np.inf
    distances, done = search.target_distances, search.target_done
    for k in range(len(distances)):
        if distances[k] < best and not done[k]:
            nearest, best = k, distances[k]
    return nearest, best


@kernel
def _find_path(
    flow: Flow,
    search: Search,
    scores: Floats,
    source_steps: Floats,
    target_steps: Floats,
    root: int,
) -> int:
    """Find the best change of the matching with which a source word gets one more link.

    Returns the word where its path ends: k, a target word that gets one more link, or -1 - j, a
    source word that loses one: the first word itself, where no change is a gain. Prices are adapted
    to the changed matching.
    """
    m, n = scores.shape
    end = -1 - root
    limit = source_steps[root, flow.source_links[root]] + flow.source_prices[root]
    search.source_distances[:] = np.inf
    search.target_distances[:] = np.inf
    search.source_done[:] = False
    search.target_done[:] = False
    search.source_distances[root] = 0.0
    search.pending[0] = root
    size, reached = 1, 0.0  # pending source words, the distance that is final
    while True:
        place = _nearest_pending(search, size)
        j = search.pending[max(place, 0)]
        if place < 0 or search.source_distances[j] > reached:
            k, distance = _nearest_target(search)
            if place < 0 or distance < search.source_distances[j]:
                if not distance < limit:
                    break
                reached = distance
                search.target_done[k] = True
                e = flow.target_links[k]
                if e < target_steps.shape[1]:
                    distance -= target_steps[k, e] + flow.target_prices[k]
                    if distance < limit:
                        end, limit = k, distance
                size = _scan_target(flow, search, scores, k, size)
                continue
        distance = search.source_distances[j]
        if not distance < limit:
            break
        reached = distance
        search.source_done[j] = True
        size -= 1
        search.pending[place] = search.pending[size]
        if j != root:
            distance += source_steps[j, flow.source_links[j] - 1] + flow.source_prices[j]
            if distance < limit:
                end, limit = -1 - j, distance
        _scan_source(flow, search, j)
    for j in range(m):
        if search.source_done[j]:
            flow.source_prices[j] -= max(limit - search.source_distances[j], 0.0)
    for k in range(n):
        if search.target_done[k]:
            flow.target_prices[k] += max(limit - search.target_distances[k], 0.0)
    return end


@kernel
def _place_of(partners: Ints, j: int) -> int:
    """The place of a source word among the partners of a target word, which it is one of."""
    place = 0
    while partners[place] != j:
        place += 1
    return place


@kernel
def _follow_path(flow: Flow, search: Search, scores: Floats, root: int, end: int) -> None:
    """Change the matching along the path that ``_find_path`` found."""
    flow.source_links[root] += 1
    if end >= 0:
        k = end
        slot = flow.target_links[k]
        flow.target_links[k] += 1
    else:
        j = -1 - end
        flow.source_links[j] -= 1
        k = search.before_source[j]
        slot = _place_of(flow.partners[k], j)
        flow.unused[j, k] = scores[j, k]
    while True:
        j = search.before_target[k]
        flow.partners[k, slot] = j
        flow.unused[j, k] = -np.inf
        if j == root:
            return
        k = search.before_source[j]
        slot = _place_of(flow.partners[k], j)
        flow.unused[j, k] = scores[j, k]


@kernel
def _start(scores: Floats, target_steps: Floats) -> Flow:
    """The matching without links, and prices without source words."""
    m, n = scores.shape
    unused = scores.copy()
    target_prices = np.zeros(n)
    for k in range(n):
        if target_steps.shape[1] > 0 and target_steps[k, 0] > -np.inf:
            target_prices[k] = -target_steps[k, 0]
        else:
            unused[:, k] = -np.inf
    return Flow(
        unused,
        np.zeros(m),
        target_prices,
        np.zeros(m, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.empty((n, target_steps.shape[1]), dtype=np.int64),
    )


@kernel
def _lowest_price(flow: Flow, j: int) -> tuple[float, int]:
    """The lowest price that a source word can have, and the target word that sets it."""
    row, prices = flow.unused[j], flow.target_prices
    price, nearest = -np.inf, 0
    for k in range(len(row)):
        rest = row[k] - prices[k]
        if rest > price:
            price, nearest = rest, k
    return price, nearest


@kernel
def _add_links(
    flow: Flow, search: Search, scores: Floats, source_steps: Floats, target_steps: Floats
) -> None:
    """Give source words their links one by one, in the order of the sentence.

    Each link comes with the change of the matching that gains most, none where nothing is gained.
    Often that is a link with a word that is still free: then there is nothing to search.
    """
    m, f = source_steps.shape
    for j in range(m):
        for d in range(f):
            price, k = _lowest_price(flow, j)
            if not source_steps[j, d] + price > 0.0:
                break
            flow.source_prices[j] = price
            e = flow.target_links[k]
            if e < target_steps.shape[1] and target_steps[k, e] + flow.target_prices[k] >= 0.0:
                flow.source_links[j] += 1
                flow.target_links[k] += 1
                flow.partners[k, e] = j
                flow.unused[j, k] = -np.inf
                continue
            end = _find_path(flow, search, scores, source_steps, target_steps, j)
            if end == -1 - j:
                break
            _follow_path(flow, search, scores, j, end)


@kernel
def best_matching(
    scores: Floats, source_steps: Floats, target_steps: Floats, links: Flags
) -> float:
    """Fill links with the best matching; return its score.

    Links that gain nothing are left out. Among several best matchings, the same tables always give
    the same one.
    """
    m, n = scores.shape
    links[:] = False
    if m == 0 or n == 0:
        return 0.0
    flow = _start(scores, target_steps)
    search = Search(
        np.empty(m),
        np.empty(n),
        np.empty(m, dtype=np.bool_),
        np.empty(n, dtype=np.bool_),
        np.empty(m, dtype=np.int64),
        np.empty(n, dtype=np.int64),
        np.empty(m, dtype=np.int64),
    )
    _add_links(flow, search, scores, source_steps, target_steps)
    for k in range(n):
        for slot in range(flow.target_links[k]):
            links[flow.partners[k, slot], k] = True
    return _score(scores, source_steps, target_steps, links)


class Residual(NamedTuple):
    """What changes of a matching gain, as arcs between words; -inf where there is no arc.

    The node m, after the source words, is "alone".
    """

    enter: Floats  #: [n, m + 1]: from source words and "alone" to target words
    leave: Floats  #: [n, m + 1]: from target words
    direct: Floats  #: [m + 1, m + 1]: between source words and "alone", by end and start


@kernel
def _residual(scores: Floats, source_steps: Floats, target_steps: Floats, links: Flags) -> Residual:
    """The changes of a matching. Those of the best matching have no cycle that gains."""
    m, n = scores.shape
    enter = np.full((n, m + 1), -np.inf)
    leave = np.full((n, m + 1), -np.inf)
    direct = np.full((m + 1, m + 1), -np.inf)
    for j in range(m):
        d = 0
        for k in range(n):
            if links[j, k]:
                d += 1
                leave[k, j] = -scores[j, k]
            else:
                enter[k, j] = scores[j, k]
        if d > 0:
            direct[m, j] = -source_steps[j, d - 1]
        if d < source_steps.shape[1]:
            direct[j, m] = source_steps[j, d]
    for k in range(n):
        e = 0
        for j in range(m):
            e += links[j, k]
        if e > 0:
            enter[k, m] = -target_steps[k, e - 1]
        if e < target_steps.shape[1]:
            leave[k, m] = target_steps[k, e]
    return Residual(enter, leave, direct)


@kernel
def _reduce(residual: Residual) -> None:
    """Subtract differences of potentials from the gains, so that none is above zero.

    The gains of cycles do not change. Potentials are the gains of the best paths to each node
    [Bellman 1958, Ford 1956]. The number of rounds is bounded, and what rounding leaves above zero
    is cut off.
    """
    enter, leave, direct = residual
    n, nodes = enter.shape
    potentials = np.zeros(nodes)
    target_potentials = np.zeros(n)
    changed = True
    rounds = 0
    while changed and rounds <= nodes:
        changed = False
        rounds += 1
        for k in range(n):
            for u in range(nodes):
                gain = potentials[u] + enter[k, u]
                if gain > target_potentials[k]:
                    target_potentials[k] = gain
                    changed = True
            for u in range(nodes):
                gain = target_potentials[k] + leave[k, u]
                if gain > potentials[u]:
                    potentials[u] = gain
                    changed = True
        for v in range(nodes):
            for u in range(nodes):
                gain = potentials[u] + direct[v, u]
                if gain > potentials[v]:
                    potentials[v] = gain
                    changed = True
    for k in range(n):
        for u in range(nodes):
            enter[k, u] = min(enter[k, u] + potentials[u] - target_potentials[k], 0.0)
            leave[k, u] = min(leave[k, u] + target_potentials[k] - potentials[u], 0.0)
    for v in range(nodes):
        for u in range(nodes):
            direct[v, u] = min(direct[v, u] + potentials[u] - potentials[v], 0.0)


@kernel
def _add_step(paths: Floats, step: float, row: Floats) -> None:
    """Improve paths by those that come over another node."""
    for u in range(len(paths)):
        gain = step + row[u]
        paths[u] = gain if gain > paths[u] else paths[u]


@kernel
def _best_sum(left: Floats, right: Floats) -> float:
    """The greatest sum left[u] + right[u]."""
    best = -np.inf
    for u in range(len(left)):
        total = left[u] + right[u]
        best = total if total > best else best
    return best


@kernel
def _best_paths(residual: Residual) -> Floats:
    """The reduced gains of the best paths between source words and "alone", by end and start.

    Paths over one target word are joined by the algorithm of [Floyd 1962].
    """
    enter, leave, direct = residual
    n, nodes = enter.shape
    paths: Floats = direct.copy()
    for v in range(nodes):
        paths[v, v] = 0.0
        for k in range(n):
            if leave[k, v] > -np.inf:
                _add_step(paths[v], leave[k, v], enter[k])
    for x in range(nodes):
        for v in range(nodes):
            if paths[v, x] > -np.inf:
                _add_step(paths[v], paths[v, x], paths[x])
    return paths


@kernel
def matching_margins(
    scores: Floats, source_steps: Floats, target_steps: Floats, links: Flags, margins: Floats
) -> None:
    """Write, for each link, the best score of a matching with it minus that of one without it.

    links: the best matching, as ``best_matching`` fills it.
    margins: float64 [m, n]. Not negative for links of the best matching, not positive for
    others; zero where there are several best ones that differ in the link. Minus infinity where no
    matching has the link.
    """
    m, n = scores.shape
    residual = _residual(scores, source_steps, target_steps, links)
    _reduce(residual)
    paths = _best_paths(residual).T.copy()  # by start and end
    enter, leave = residual.enter, residual.leave
    best = np.empty(m + 1)  # among the paths that close a cycle
    for k in range(n):
        best[:] = -np.inf
        for u in range(m + 1):
            if leave[k, u] > -np.inf:
                _add_step(best, leave[k, u], paths[u])
        for j in range(m):
            if links[j, k]:
                margins[j, k] = 0.0 - (leave[k, j] + _best_sum(paths[j], enter[k]))
            else:
                margins[j, k] = best[j] + enter[k, j]


@kernel
def _force(scores: Floats, source_steps: Floats, target_steps: Floats, j: int, k: int) -> None:
    """Change tables to those of the other links, given a link that is in the matching."""
    scores[j, k] = -np.inf
    for steps in (source_steps[j], target_steps[k]):
        for c in range(len(steps) - 1):
            steps[c] = steps[c + 1]
        steps[-1] = -np.inf


@kernel
def _second_best(
    scores: Floats,
    source_steps: Floats,
    target_steps: Floats,
    fixed: Flags,
    best: Flags,
    second: Flags,
) -> float:
    """Fill second with the second best matching that agrees with the best in the fixed links.

    Returns its score; minus infinity where there is none. It differs from the best one in the
    link with the smallest margin, maybe among others.
    """
    m, n = scores.shape
    table, sources, targets = scores.copy(), source_steps.copy(), target_steps.copy()
    free = best.copy()
    second[:] = False
    for j in range(m):
        for k in range(n):
            if fixed[j, k]:
                if best[j, k]:
                    _force(table, sources, targets, j, k)
                    free[j, k] = False
                table[j, k] = -np.inf
    margins = np.empty((m, n))
    matching_margins(table, sources, targets, free, margins)
    smallest, at, to = np.inf, 0, 0
    for j in range(m):
        for k in range(n):
            if abs(margins[j, k]) < smallest:
                smallest, at, to = abs(margins[j, k]), j, k
    if smallest == np.inf:
        return -np.inf
    if not best[at, to]:
        _force(table, sources, targets, at, to)
    table[at, to] = -np.inf
    best_matching(table, sources, targets, second)
    for j in range(m):
        for k in range(n):
            if fixed[j, k] and best[j, k]:
                second[j, k] = True
    second[at, to] = not best[at, to]
    return _score(scores, source_steps, target_steps, second)


@kernel
def k_best_matchings(
    scores: Floats, source_steps: Floats, target_steps: Floats, k: int
) -> tuple[Flags, Floats]:
    """The k best matchings, best first.

    Returns (matchings bool [count, m, n], scores float64 [count]), where count <= k is smaller
    where fewer are allowed. All matchings are different.
    Raises ValueError where k is below 1.

    Each matching that is found is the best one of a part of all matchings, those that have or lack
    certain links. The best second one of a part comes next, and divides the part in two by a link.
    """
    if k < 1:
        raise ValueError("k must be at least 1")
    m, n = scores.shape
    if m * n < 62:  # there are no more sets of links
        k = min(k, 1 << (m * n))
    found = np.zeros((k, m, n), dtype=np.bool_)
    fixed = np.zeros((k, m, n), dtype=np.bool_)
    second = np.zeros((k, m, n), dtype=np.bool_)
    values = np.empty(k)
    second_values = np.full(k, np.inf)  # infinite where they are not known
    values[0] = best_matching(scores, source_steps, target_steps, found[0])
    count = 1
    while count < k:
        for p in range(count):
            if second_values[p] == np.inf:
                second_values[p] = _second_best(
                    scores, source_steps, target_steps, fixed[p], found[p], second[p]
                )
        part = int(np.argmax(second_values[:count]))
        if second_values[part] == -np.inf:
            break
        values[count] = second_values[part]
        found[count] = second[part]
        fixed[count] = fixed[part]
        difference = np.argmax((found[count] != found[part]).ravel())
        fixed[count].ravel()[difference] = True
        fixed[part].ravel()[difference] = True
        second_values[part] = np.inf
        count += 1
    order = np.argsort(-values[:count], kind="mergesort")  # rounded, they may be out of order
    return found[order], values[order]
