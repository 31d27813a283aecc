"""All that knows weights x features of trees: score tables, costs, feature differences."""

import numpy as np

from spacy_ssvm._jit import AnyWeights, Flags, Floats, Ints, Keys, Rows, Weights, kernel
from spacy_ssvm.decoders.siblings import eisner_siblings, number_pairs, sibling_max_marginals
from spacy_ssvm.decoders.tree import chu_liu_edmonds, eisner
from spacy_ssvm.decoders.tree_marginals import max_marginals
from spacy_ssvm.trees.keys import (
    EndpointHashes,
    distance_class,
    fill_arc_rows,
    fill_pair_rows,
    sum_rows,
)
from spacy_ssvm.trees.layout import ArcFeatures
from spacy_ssvm.trees.templates import CompiledArcTemplates
from spacy_ssvm.weights.sparse import add_entry, drop_zeros, scratch_table


@kernel
def max_rows(templates: CompiledArcTemplates, nodes: int) -> int:
    """How many rows an arc has at most."""
    return len(templates.head.seeds) + len(templates.between) * nodes


@kernel
def _sum_plain(
    weights: AnyWeights, head: Keys, dependent: Keys, codes: Keys, size: int, count: int
) -> float:
    """The sum of the weights of the first templates at one arc, in two sums side by side."""
    zero = np.uint64(0)
    mask = np.uint64(size - 1)
    a, b = 0.0, 0.0
    for t in range(0, count - 1, 2):
        u = t + 1
        row = np.int64(((head[t] ^ dependent[t]) & mask) ^ codes[t])
        a += weights[row if (head[t] != zero) & (dependent[t] != zero) else size]
        row = np.int64(((head[u] ^ dependent[u]) & mask) ^ codes[u])
        b += weights[row if (head[u] != zero) & (dependent[u] != zero) else size]
    if count % 2:
        t = count - 1
        if (head[t] != zero) & (dependent[t] != zero):
            a += weights[np.int64(((head[t] ^ dependent[t]) & mask) ^ codes[t])]
    return a + b


@kernel
def arc_scores(
    templates: CompiledArcTemplates,
    endpoints: EndpointHashes,
    size: int,
    weights: AnyWeights,
    allowed: Flags,
    scores: Floats,
) -> None:
    """Write the score of each arc that is allowed, minus infinity for the others.

    allowed: bool [n + 1, n + 1], by head and dependent; scores: float64, the same.
    The sums are those over ``fill_arc_rows``, which this spares to write and to read.
    """
    N = len(scores)
    B = len(templates.between)
    plain = len(templates.head.seeds) - B
    zero = np.uint64(0)
    mask = np.uint64(size - 1)
    for h in range(N):
        head = endpoints.head[h]
        for m in range(N):
            if not allowed[h, m]:
                scores[h, m] = -np.inf
                continue
            dependent = endpoints.dependent[m]
            codes = templates.codes[distance_class(h, m)]
            total = _sum_plain(weights, head, dependent, codes, size, plain)
            low, high = min(h, m), max(h, m)
            for b in range(B):
                t = plain + b
                if head[t] == zero or dependent[t] == zero:
                    continue
                side = head[t] ^ dependent[t]
                for node in range(low + 1, high):
                    value = endpoints.values[b, node]
                    if endpoints.previous[b, node] <= low and value != zero:
                        total += weights[np.int64(((side ^ value) & mask) ^ codes[t])]
            scores[h, m] = total


@kernel
def pair_scores(
    features: ArcFeatures,
    endpoints: EndpointHashes,
    weights: AnyWeights,
    scores: Floats,
    starts: Ints,
) -> Floats:
    """Number the pairs of arcs (``decoders.siblings``) and return their scores."""
    N = len(scores)
    pairs = np.empty(number_pairs(scores, starts))
    rows = np.empty(max_rows(features.pairs, 0), dtype=np.int32)
    for h in range(N):
        for m in range(1, N):
            if h == m or not scores[h, m] > -np.inf:
                continue
            slot = starts[h, m]
            count = fill_pair_rows(features.pairs, endpoints, features.size, h, m, N, rows)
            pairs[slot] = sum_rows(weights, rows, count)
            if h == 0:
                continue
            step = 1 if m > h else -1
            s = h + step
            while s != m:
                if scores[h, s] > -np.inf:
                    slot += 1
                    count = fill_pair_rows(features.pairs, endpoints, features.size, h, m, s, rows)
                    pairs[slot] = sum_rows(weights, rows, count)
                s += step
    return pairs


@kernel
def decode(
    features: ArcFeatures,
    pair_endpoints: EndpointHashes,
    weights: AnyWeights,
    scores: Floats,
    heads: Ints,
) -> float:
    """Fill heads with the best tree by the scores of arcs, and of pairs where there are any."""
    if not features.projective:
        return chu_liu_edmonds(scores, heads)
    if len(features.pairs.head.seeds) == 0:
        return eisner(scores, heads)
    starts = np.empty(scores.shape, dtype=np.int64)
    pairs = pair_scores(features, pair_endpoints, weights, scores, starts)
    return eisner_siblings(scores, starts, pairs, heads)


@kernel
def best_with_each_arc(
    features: ArcFeatures,
    pair_endpoints: EndpointHashes,
    weights: AnyWeights,
    scores: Floats,
    best: Floats,
) -> float:
    """Write the score of the best projective tree with each arc; return the best of all."""
    if len(features.pairs.head.seeds) == 0:
        return max_marginals(scores, best)
    starts = np.empty(scores.shape, dtype=np.int64)
    pairs = pair_scores(features, pair_endpoints, weights, scores, starts)
    return sibling_max_marginals(scores, starts, pairs, best)


@kernel
def inner_siblings(heads: Ints, inner: Ints) -> None:
    """Write the adjacent sibling of each word towards its head; n + 1 where there is none."""
    N = len(heads)
    last = np.empty(N, dtype=np.int64)
    last[:] = N
    for m in range(1, N):  # to the right of heads
        h = heads[m]
        if h < m:
            inner[m] = last[h]
            last[h] = m
    last[:] = N
    for m in range(N - 1, 0, -1):
        h = heads[m]
        if h > m:
            inner[m] = last[h]
            last[h] = m


@kernel
def _add_rows(
    indices: Rows,
    values: AnyWeights,
    places: Rows,
    size: int,
    rows: Rows,
    none: int,
    value: float,
) -> int:
    """Add a value at each of the rows, but for the one that means no feature; see ``sparse.py``."""
    for row in rows:
        if row != none:
            size = add_entry(indices, values, places, size, row, value)
    return size


@kernel
def difference(
    features: ArcFeatures,
    endpoints: EndpointHashes,
    pair_endpoints: EndpointHashes,
    gold: Ints,
    heads: Ints,
    indices: Rows,
    values: Weights,
) -> int:
    """Write Phi(heads) = phi(gold) - phi(heads), each index once; return its size."""
    N = len(heads)
    second = len(features.pairs.head.seeds) > 0
    rows = np.empty(max(max_rows(features.arcs, N), max_rows(features.pairs, 0)), dtype=np.int32)
    wrong = 0
    gold_inner = np.zeros(N, dtype=np.int64)
    inner = np.zeros(N, dtype=np.int64)
    if second:
        inner_siblings(gold, gold_inner)
        inner_siblings(heads, inner)
    for m in range(1, N):
        wrong += gold[m] != heads[m] or gold_inner[m] != inner[m]
    rows_of_word = max_rows(features.arcs, N) + max_rows(features.pairs, 0)
    places = scratch_table(2 * wrong * rows_of_word + 2)
    size = 0
    for m in range(1, N):
        for tree, siblings_of, sign in ((gold, gold_inner, 1.0), (heads, inner, -1.0)):
            if gold[m] != heads[m]:
                count = fill_arc_rows(features.arcs, endpoints, features.size, tree[m], m, rows)
                size = _add_rows(indices, values, places, size, rows[:count], features.size, sign)
            if second and (gold[m] != heads[m] or gold_inner[m] != inner[m]):
                count = fill_pair_rows(
                    features.pairs, pair_endpoints, features.size, tree[m], m, siblings_of[m], rows
                )
                size = _add_rows(indices, values, places, size, rows[:count], features.size, sign)
    return drop_zeros(indices, values, size)


@kernel
def weighted_features(
    features: ArcFeatures,
    endpoints: EndpointHashes,
    coefficients: Floats,
    indices: Rows,
    values: Floats,
) -> int:
    """Write the sum of coefficient x features over arcs, each index once; return its size.

    coefficients: float64 [n + 1, n + 1], by head and dependent.
    """
    N = len(coefficients)
    rows = np.empty(max_rows(features.arcs, N), dtype=np.int32)
    count = 0
    for h in range(N):
        for m in range(1, N):
            if h != m and coefficients[h, m] != 0:
                count += fill_arc_rows(features.arcs, endpoints, features.size, h, m, rows)
    places = scratch_table(min(count, features.size) + 1)
    size = 0
    for h in range(N):
        for m in range(1, N):
            if h != m and coefficients[h, m] != 0:
                count = fill_arc_rows(features.arcs, endpoints, features.size, h, m, rows)
                coefficient = coefficients[h, m]
                size = _add_rows(
                    indices, values, places, size, rows[:count], features.size, coefficient
                )
    return drop_zeros(indices, values, size)
