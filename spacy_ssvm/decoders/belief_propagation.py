"""Sums over second-order trees whose arcs may cross, by loopy belief propagation. Approximate.

Parts, and tables of them, are those of ``decoders.parts``. The graph has a variable for each
allowed arc, and three kinds of factors [Smith & Eisner 2008]: the tree, whose beliefs are those of
the matrix-tree theorem; an automaton for the dependents of each word on each side, which knows the
pairs; and one for the two arcs of each grandparent. Messages are log-odds. Where pairs and
grandparents have no scores, the sums are exact.

The sums are those of Martins et al. (2010), section 3.2: the log-partition is that of Bethe, whose
gradient the beliefs are, once all factors agree on them.
"""

from typing import NamedTuple

import numpy as np

from spacy_ssvm.decoders.parts import PartTable, PartTableType, is_grandparent, triple_number
from spacy_ssvm.decoders.semirings import LOG_SUM, add
from spacy_ssvm.decoders.tree_marginals import nonprojective_marginals
from spacy_ssvm.kernels.compile import kernel, outlined_kernel
from spacy_ssvm.kernels.types import Float, Floats, Int, Ints, named_tuple

MAX_ITERATIONS = 100
TOLERANCE = 1e-6  # of probabilities: how far the factors may be apart
_DAMPING = 0.5  # of messages, from the first time on that the factors move apart
_DIGITS = 1e-16  # smaller probabilities of the matrix-tree theorem may have lost their digits
_CERTAIN = 40.0  # greater log-odds count as certain
_TINY = 1e-300


class Propagation(NamedTuple):
    """How the messages ended."""

    log_partition: float
    iterations: int
    distance: float  #: how far the beliefs of the factors are apart at most: 0 is converged


PropagationType = named_tuple(Propagation, Float, Int, Float)


@kernel
def _probability(log_odds: float) -> float:
    return 1.0 / (1.0 + np.exp(-log_odds))  # type: ignore[no-any-return]


@kernel
def _softplus(log_odds: float) -> float:
    """The logarithm of 1 + exp(log-odds)."""
    return add(LOG_SUM, 0.0, log_odds)


@kernel
def _messages_of_tree(scores: Floats, marginals: Floats, messages: Floats) -> float:
    """Write the log-odds of each arc without its own score; return the log-partition.

    The other heads of a word are what is left of its probability: no digits are lost.
    """
    N = len(scores)
    total = nonprojective_marginals(scores, marginals)
    if total == -np.inf:
        return total
    for m in range(1, N):
        for h in range(N):
            if scores[h, m] > -np.inf and h != m:
                others = 0.0
                for g in range(N):
                    if g != h:
                        others += marginals[g, m]
                odds = max(marginals[h, m], _DIGITS) / max(others, _DIGITS)
                messages[h, m] = np.log(odds) - scores[h, m]
    return total


@kernel
def _messages_of_automaton(
    log_odds: Floats,
    factors: Floats,
    starts: Ints,
    dependents: Ints,
    messages: Floats,
    of_pairs: Floats,
) -> float:
    """Write the log-odds of each dependent without its own, and the probability of each pair.

    log_odds, messages: float64 [n + 1], by dependent; factors: the exponentials of the scores of
    pairs; starts: where those of each dependent start.
    dependents: the candidates on one side of a head, from the nearest to the farthest.
    Returns the logarithm of the expected product of factors.
    """
    K = len(dependents)
    is_on, is_off = np.empty(K), np.empty(K)
    for j in range(K):
        odds = min(max(log_odds[dependents[j]], -_CERTAIN), _CERTAIN)
        is_on[j], is_off[j] = _probability(odds), _probability(-odds)
    # Row 0 is before the first dependent, row i + 1 after dependent i was taken as the last.
    onward = np.ones((K + 1, K + 1))  # [last, j]: sums over what follows the first j dependents
    for i in range(K, -1, -1):
        for j in range(K - 1, i - 1, -1):
            factor = factors[starts[dependents[j]] + i]
            taken = is_on[j] * factor * onward[j + 1, j + 1]
            onward[i, j] = taken + is_off[j] * onward[i, j + 1]
    total = max(onward[0, 0], _TINY)
    inside = np.zeros(K + 1)  # sums up to a dependent, by the last that was taken
    inside[0] = 1.0
    for j in range(K):
        m = dependents[j]
        on, off = 0.0, 0.0
        rest = onward[j + 1, j + 1]
        for i in range(j + 1):
            pair = starts[m] + i
            taken = inside[i] * factors[pair]
            on += taken
            off += inside[i] * onward[i, j + 1]
            of_pairs[pair] = taken * is_on[j] * rest / total
            inside[i] *= is_off[j]
        inside[j + 1] = on * is_on[j]
        messages[m] = np.log(max(on * rest, _TINY)) - np.log(max(off, _TINY))
    return float(np.log(total))


@kernel
def _factors(starts: Ints, pairs: Floats, arcs: Floats) -> Floats:
    """The exponentials of scores of pairs, 1 at most.

    What the best pair of an arc adds is added to the scores of arcs: every arc has a pair.
    """
    factors = np.empty(len(pairs))
    for h in range(len(arcs)):
        count = np.zeros(2, dtype=np.int64)  # siblings so far, on the left and the right
        for distance in range(1, len(arcs)):
            for right in range(2):
                m = h + distance if right else h - distance
                if not 0 < m < len(arcs) or not arcs[h, m] > -np.inf:
                    continue
                count[right] += h > 0
                first = starts[h, m]
                own = pairs[first : first + max(count[right], 1)]
                best = own.max()
                for i in range(len(own)):
                    factors[first + i] = np.exp(own[i] - best)
                arcs[h, m] += best
    return factors


@kernel
def _side(scores: Floats, h: int, step: int, dependents: Ints) -> int:
    """Write the allowed dependents of h on one side, the nearest first; return their number."""
    size, m = 0, h + step
    while 0 < m < len(scores):
        if scores[h, m] > -np.inf:
            dependents[size] = m
            size += 1
        m += step
    return size


class Grandparents(NamedTuple):
    """The messages of grandparents, which know two arcs each: (g, h) and (h, m)."""

    to_upper: Floats  #: float64 [triples]: log-odds of (g, h)
    to_lower: Floats  #: float64 [triples]: log-odds of (h, m)
    sums: Floats  #: float64 [n + 1, n + 1]: of all messages to each arc


@kernel
def _update_grandparents(
    parts: PartTable,
    others: Floats,
    damping: float,
    messages: Grandparents,
    probabilities: Floats,
) -> tuple[float, float]:
    """Update all messages, and write the probability of each grandparent.

    others: float64 [n + 1, n + 1]: log-odds of arcs without these messages. Returns the part of the
    log-partition, and how far the beliefs of arcs are apart at most.
    """
    N, sums, total, distance = len(others), messages.sums, 0.0, 0.0
    for h in range(1, N):
        for m in range(1, N):
            if h == m or parts.triple_starts[h, m] < 0:
                continue
            for g in range(N):
                if not is_grandparent(parts, g, h):
                    continue
                t = triple_number(parts, g, h, m)
                score = parts.grandparents[t]
                beliefs = others[g, h] + sums[g, h], others[h, m] + sums[h, m]
                upper, lower = beliefs[0] - messages.to_upper[t], beliefs[1] - messages.to_lower[t]
                partition = add(LOG_SUM, _softplus(upper), lower + _softplus(upper + score))
                total += partition - _softplus(beliefs[0]) - _softplus(beliefs[1])
                probabilities[t] = np.exp(upper + lower + score - partition)
                to_upper = _softplus(lower + score) - _softplus(lower)
                to_lower = _softplus(upper + score) - _softplus(upper)
                for old, new in ((beliefs[0], upper + to_upper), (beliefs[1], lower + to_lower)):
                    distance = max(distance, abs(_probability(new) - _probability(old)))
                change = (1.0 - damping) * (to_upper - messages.to_upper[t])
                messages.to_upper[t] += change
                sums[g, h] += change
                change = (1.0 - damping) * (to_lower - messages.to_lower[t])
                messages.to_lower[t] += change
                sums[h, m] += change
    return total, distance


@outlined_kernel(PropagationType(PartTableType, PartTableType))
def propagate_beliefs(parts: PartTable, found: PartTable) -> Propagation:
    """Write the probability of each part; return the log-partition of Bethe.

    found: of the same parts; the probabilities of heads add up to 1 for each word. Arbitrary where
    the log-partition is minus infinity. parts must have pairs.
    """
    starts, marginals, of_pairs = parts.starts, found.arcs, found.pairs
    N = len(parts.arcs)
    of_tree, of_automata = np.zeros((N, N)), np.zeros((N, N))
    arcs, update = parts.arcs.copy(), np.zeros(N)
    factors = _factors(starts, parts.pairs, arcs)
    triples = len(parts.grandparents)
    of_grandparents = Grandparents(np.zeros(triples), np.zeros(triples), np.zeros((N, N)))
    dependents = np.empty(N, dtype=np.int64)
    total, distance, damping = 0.0, np.inf, 0.0
    for iteration in range(1, MAX_ITERATIONS + 1):
        total = _messages_of_tree(arcs + of_automata + of_grandparents.sums, marginals, of_tree)
        if total == -np.inf or N == 1:
            return Propagation(total, iteration, 0.0)
        last_distance, distance = distance, 0.0
        for h in range(1, N):
            for step in (1, -1):
                side = dependents[: _side(arcs, h, step, dependents)]
                inputs = arcs[h] + of_tree[h] + of_grandparents.sums[h]
                total += _messages_of_automaton(inputs, factors, starts[h], side, update, of_pairs)
                for m in side:
                    belief = inputs[m] + of_automata[h, m]
                    total += _softplus(inputs[m]) - _softplus(belief)
                    change = _probability(inputs[m] + update[m]) - _probability(belief)
                    distance = max(distance, abs(change))
                    update[m] += damping * (of_automata[h, m] - update[m])
                    of_automata[h, m] = update[m]
        if triples:
            others = arcs + of_tree + of_automata
            rest, apart = _update_grandparents(
                parts, others, damping, of_grandparents, found.grandparents
            )
            total += rest
            distance = max(distance, apart)
        if distance <= TOLERANCE:
            break
        if distance > last_distance:
            damping = _DAMPING
    for m in range(1, N):  # the arc of the root has no sibling, whatever the tree
        if arcs[0, m] > -np.inf:
            of_pairs[starts[0, m]] = marginals[0, m]
    return Propagation(total, iteration, distance)
