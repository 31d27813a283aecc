"""Marginals of second-order projective trees: for arcs, the best score or the probability.

    sibling_max_marginals   the best score of a tree with the arc
    sibling_marginals       the probability of the arc under p(tree) ~ exp(score), and those of
                            pairs of arcs, by inside-outside

Scores of arcs, and pairs, are numbered as in ``decoders.parts``.
"""

import numpy as np

from spacy_ssvm.decoders.semirings import LOG_SUM, MAX, add, add_splits
from spacy_ssvm.kernels.compile import kernel, outlined_kernel
from spacy_ssvm.kernels.types import Float, Floats, Floats1, Floats2, Ints, Ints2


@kernel
def _inside(
    semiring: int,
    scores: Floats,
    starts: Ints,
    pairs: Floats,
    complete: Floats,
    incomplete: Floats,
    joint: Floats,
) -> None:
    """Write the sums of parts of trees, from the narrowest to the widest: [n + 1, n + 1] each.

    complete: by head and other end; incomplete: by head and outermost dependent; joint: of two
    neighbouring dependents of one head, both ways.
    """
    N = len(scores)
    complete[:] = -np.inf
    incomplete[:] = -np.inf
    joint[:] = -np.inf
    for i in range(1, N):
        complete[i, i] = 0.0
    for width in range(1, N - 1):
        for i in range(1, N - width):
            j = i + width
            joint[i, j] = add_splits(semiring, complete[i, i:j], complete[j, i + 1 : j + 1])
            joint[j, i] = joint[i, j]
            for h, m in ((i, j), (j, i)):
                step = 1 if m > h else -1
                if scores[h, m] > -np.inf:
                    slot = starts[h, m]
                    total = pairs[slot] + complete[m, h + step]
                    for s in range(h + step, m, step):
                        if scores[h, s] > -np.inf:
                            slot += 1
                            total = add(
                                semiring, total, pairs[slot] + incomplete[h, s] + joint[s, m]
                            )
                    incomplete[h, m] = total + scores[h, m]
                total = -np.inf
                for d in range(h + step, m + step, step):
                    if incomplete[h, d] > -np.inf:
                        total = add(semiring, total, incomplete[h, d] + complete[d, m])
                complete[h, m] = total


@kernel
def _outside_of_roots(
    semiring: int,
    scores: Floats,
    starts: Ints,
    pairs: Floats,
    complete: Floats,
    arcs: Floats,
    found: Floats,
    outside: Floats,
) -> float:
    """Write the sums of arcs of roots, and add to those outside of complete spans.

    Returns the sum over all trees.
    """
    N, total = len(scores), -np.inf
    for r in range(1, N):
        if scores[0, r] > -np.inf:
            at_root = scores[0, r] + pairs[starts[0, r]]
            left, right = complete[r, 1], complete[r, N - 1]
            arcs[0, r] = at_root + left + right
            found[starts[0, r]] = arcs[0, r]
            total = add(semiring, total, arcs[0, r])
            outside[r, 1] = add(semiring, outside[r, 1], at_root + right)
            outside[r, N - 1] = add(semiring, outside[r, N - 1], at_root + left)
    return total


@kernel
def _inside_outside(
    semiring: int, scores: Floats, starts: Ints, pairs: Floats, arcs: Floats, found: Floats
) -> float:
    """Write the sum of the scores of all trees with each arc; return the sum over all trees.

    found: float64 [pairs], gets the same for each pair.
    Outside sums are computed from the widest span to the narrowest.
    """
    N = len(scores)
    arcs[:] = -np.inf
    found[:] = -np.inf
    if N == 1:
        return 0.0
    complete, incomplete, joint = np.empty((N, N)), np.empty((N, N)), np.empty((N, N))
    _inside(semiring, scores, starts, pairs, complete, incomplete, joint)
    outside = np.full((N, N), -np.inf)  # of complete spans
    outside_arc = np.full((N, N), -np.inf)  # of incomplete spans
    outside_joint = np.full((N, N), -np.inf)
    everything = _outside_of_roots(semiring, scores, starts, pairs, complete, arcs, found, outside)
    for width in range(N - 2, 0, -1):
        for i in range(1, N - width):
            j = i + width
            for h, m in ((i, j), (j, i)):
                step = 1 if m > h else -1
                near = h + step
                rest = outside[h, m]
                if rest > -np.inf:
                    for d in range(near, m + step, step):
                        if incomplete[h, d] > -np.inf:
                            with_rest = rest + complete[d, m]
                            outside_arc[h, d] = add(semiring, outside_arc[h, d], with_rest)
                            with_rest = rest + incomplete[h, d]
                            outside[d, m] = add(semiring, outside[d, m], with_rest)
                if not scores[h, m] > -np.inf:
                    continue
                arcs[h, m] = incomplete[h, m] + outside_arc[h, m]
                rest = outside_arc[h, m] + scores[h, m]
                slot = starts[h, m]
                with_pair = rest + pairs[slot]
                found[slot] = with_pair + complete[m, near]
                outside[m, near] = add(semiring, outside[m, near], with_pair)
                for s in range(near, m, step):
                    if scores[h, s] > -np.inf:
                        slot += 1
                        with_pair = rest + pairs[slot]
                        inner = with_pair + joint[s, m]
                        found[slot] = inner + incomplete[h, s]
                        outside_arc[h, s] = add(semiring, outside_arc[h, s], inner)
                        low, high = min(s, m), max(s, m)
                        inner = with_pair + incomplete[h, s]
                        outside_joint[low, high] = add(semiring, outside_joint[low, high], inner)
            rest = outside_joint[i, j]
            if rest > -np.inf:
                for k in range(i, j):
                    with_rest = rest + complete[j, k + 1]
                    outside[i, k] = add(semiring, outside[i, k], with_rest)
                    with_rest = rest + complete[i, k]
                    outside[j, k + 1] = add(semiring, outside[j, k + 1], with_rest)
    return everything


@outlined_kernel(Float(Floats2, Ints2, Floats1, Floats2))
def sibling_max_marginals(scores: Floats, starts: Ints, pairs: Floats, best: Floats) -> float:
    """Write the score of the best tree with each arc; return the best of all.

    best: float64 [n + 1, n + 1], minus infinity where no tree has the arc.
    """
    return _inside_outside(MAX, scores, starts, pairs, best, np.empty(len(pairs)))


@outlined_kernel(Float(Floats2, Ints2, Floats1, Floats2, Floats1))
def sibling_marginals(
    scores: Floats, starts: Ints, pairs: Floats, marginals: Floats, of_pairs: Floats
) -> float:
    """Write the probability of each arc, and of each pair; return the log-partition.

    marginals: float64 [n + 1, n + 1], of_pairs: float64 [pairs]; arbitrary where the
    log-partition is minus infinity.
    """
    total = _inside_outside(LOG_SUM, scores, starts, pairs, marginals, of_pairs)
    for h in range(len(scores)):
        for m in range(len(scores)):
            marginals[h, m] = np.exp(marginals[h, m] - total)
    for slot in range(len(pairs)):
        of_pairs[slot] = np.exp(of_pairs[slot] - total)
    return total
