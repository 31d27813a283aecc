"""Scores and feature differences of arcs, for each way to store their weights.

Each function takes ``TreeExamples.store`` first, and has an implementation for each class of it.
"""

import numpy as np

from spacy_ssvm._jit import AnyWeights, Floats, Ints, Keys, Rows, Weights, dispatch, kernel
from spacy_ssvm.decoders.siblings import PartTable, inner_sibling, pair_number
from spacy_ssvm.structure import NEEDS_CAPACITY
from spacy_ssvm.trees.keys import (
    EndpointHashes,
    fill_arc_keys,
    fill_arc_rows,
    fill_pair_rows,
    hash_endpoints,
    max_keys,
)
from spacy_ssvm.trees.layout import ArcFeatures, HashedArcs, LazyArcs, Scorer
from spacy_ssvm.trees.pruner import score_arcs
from spacy_ssvm.trees.scores import is_second_order, max_rows
from spacy_ssvm.weights.lazy import find_block, get_or_insert, has_capacity
from spacy_ssvm.weights.sparse import add_entry, drop_zeros, scratch_table


@kernel
def _hashed_scores(
    store: HashedArcs,
    features: ArcFeatures,
    attributes: Keys,
    start: int,
    end: int,
    i: int,
    w: Floats,
    heads: Ints,
) -> tuple[EndpointHashes, Floats]:
    """The endpoints of example i, whose nodes are rows start to end, and the scores of its arcs.

    heads: int64 [n + 1], gold heads, whose arcs are always scored; -1 for none. Arcs that
    are not scored have minus infinity.
    """
    return score_arcs(Scorer(features, store.pruner, w), attributes, start, end, heads)


@kernel
def _lazy_scores(
    store: LazyArcs,
    features: ArcFeatures,
    attributes: Keys,
    start: int,
    end: int,
    i: int,
    w: Floats,
    heads: Ints,
) -> tuple[EndpointHashes, Floats]:
    """The same, for the arcs that are listed for example i."""
    templates, arcs, table = features.arcs, store.arcs, store.table
    N = len(heads)
    scores = np.empty((N, N))
    endpoints = hash_endpoints(templates, attributes, start, end)
    size = max_rows(templates, N)
    keys = np.empty(size, dtype=np.uint64)
    owners = np.empty(size, dtype=np.int64)
    active = np.flatnonzero(table.active)
    scores[:] = -np.inf
    for arc in range(arcs.starts[i], arcs.starts[i + 1]):
        h, m = arcs.heads[arc], arcs.dependents[arc]
        count = fill_arc_keys(templates, endpoints, h, m, active, keys, owners)
        total = 0.0
        for k in range(count):
            row, rows = find_block(table, owners[k], keys[k])
            if rows > 0:
                total += table.scales[owners[k]] * w[row]
        scores[h, m] = total
    return endpoints, scores


@kernel
def _add_rows(
    indices: Rows,
    values: AnyWeights,
    scratch: Rows,
    size: int,
    rows: Rows,
    none: int,
    value: float,
) -> int:
    """Add a value at each of the rows except ``none``, which is no feature; see ``sparse.py``."""
    for row in rows:
        if row != none:
            size = add_entry(indices, values, scratch, size, row, value)
    return size


@kernel
def _hashed_difference(
    store: HashedArcs,
    features: ArcFeatures,
    endpoints: EndpointHashes,
    pair_endpoints: EndpointHashes,
    w: Floats,
    gold: Ints,
    heads: Ints,
    indices: Rows,
    values: Weights,
) -> int:
    """Write Phi(heads) = phi(gold) - phi(heads), each index once; return its size."""
    N = len(heads)
    has_pairs = is_second_order(features)
    rows = np.empty(max(max_rows(features.arcs, N), max_rows(features.pairs, 0)), dtype=np.int32)
    wrong = 0
    gold_inner = np.zeros(N, dtype=np.int64)
    inner = np.zeros(N, dtype=np.int64)
    for m in range(1, N):
        if has_pairs:
            gold_inner[m] = inner_sibling(gold, gold[m], m)
            inner[m] = inner_sibling(heads, heads[m], m)
        wrong += gold[m] != heads[m] or gold_inner[m] != inner[m]
    max_word_rows = max_rows(features.arcs, N) + max_rows(features.pairs, 0)
    scratch = scratch_table(2 * wrong * max_word_rows + 2)
    size = 0
    for m in range(1, N):
        for tree, siblings, sign in ((gold, gold_inner, 1.0), (heads, inner, -1.0)):
            if gold[m] != heads[m]:
                count = fill_arc_rows(features.arcs, endpoints, features.size, tree[m], m, rows)
                size = _add_rows(indices, values, scratch, size, rows[:count], features.size, sign)
            if has_pairs and (gold[m] != heads[m] or gold_inner[m] != inner[m]):
                count = fill_pair_rows(
                    features.pairs, pair_endpoints, features.size, tree[m], m, siblings[m], rows
                )
                size = _add_rows(indices, values, scratch, size, rows[:count], features.size, sign)
    return drop_zeros(indices, values, size)


@kernel
def _count_arc_rows(
    features: ArcFeatures, endpoints: EndpointHashes, coefficients: Floats, rows: Rows
) -> int:
    """The number of rows of all arcs with a coefficient. rows: scratch."""
    N, count = len(coefficients), 0
    for h in range(N):
        for m in range(1, N):
            if coefficients[h, m] != 0:
                count += fill_arc_rows(features.arcs, endpoints, features.size, h, m, rows)
    return count


@kernel
def _add_pairs(
    features: ArcFeatures,
    endpoints: EndpointHashes,
    coefficients: PartTable,
    indices: Rows,
    values: Floats,
    scratch: Rows,
    size: int,
) -> int:
    """Add coefficient x features over pairs of arcs; see ``sparse.py``."""
    N, starts = len(coefficients.starts), coefficients.starts
    rows = np.empty(max_rows(features.pairs, 0), dtype=np.int32)
    for h in range(N):
        for m in range(1, N):
            if starts[h, m] < 0:
                continue
            step = 1 if m > h else -1
            for j in range(abs(m - h) if h > 0 else 1):
                s = h + step * j if j > 0 else N  # from the head, first no sibling
                if j > 0 and starts[h, s] < 0:
                    continue
                value = coefficients.pairs[pair_number(coefficients, h, s, m)]
                if value != 0:
                    fill_pair_rows(features.pairs, endpoints, features.size, h, m, s, rows)
                    size = _add_rows(indices, values, scratch, size, rows, features.size, value)
    return size


@kernel
def _hashed_combination(
    store: HashedArcs,
    features: ArcFeatures,
    endpoints: EndpointHashes,
    pair_endpoints: EndpointHashes,
    w: Floats,
    coefficients: PartTable,
    indices: Rows,
    values: Floats,
) -> int:
    """Write the sum of coefficient x features over arcs and pairs, each index once.

    coefficients: 0 for arcs and pairs that do not exist. Returns the number of entries.
    """
    N = len(coefficients.arcs)
    rows = np.empty(max_rows(features.arcs, N), dtype=np.int32)
    count = _count_arc_rows(features, endpoints, coefficients.arcs, rows)
    count += len(coefficients.pairs) * max_rows(features.pairs, 0)
    scratch = scratch_table(min(count, features.size) + 1)
    size = 0
    for h in range(N):
        for m in range(1, N):
            value = coefficients.arcs[h, m]
            if value != 0:
                count = fill_arc_rows(features.arcs, endpoints, features.size, h, m, rows)
                size = _add_rows(indices, values, scratch, size, rows[:count], features.size, value)
    if len(coefficients.pairs):
        size = _add_pairs(features, pair_endpoints, coefficients, indices, values, scratch, size)
    return drop_zeros(indices, values, size)


@kernel
def _lazy_combination(
    store: LazyArcs,
    features: ArcFeatures,
    endpoints: EndpointHashes,
    pair_endpoints: EndpointHashes,
    w: Floats,
    coefficients: PartTable,
    indices: Rows,
    values: AnyWeights,
) -> int:
    """The same for arcs, whose features get rows. Returns NEEDS_CAPACITY for too small a table.

    Raises ValueError, with nothing written, where the buffers are too small for the arcs with
    a coefficient.
    """
    templates, table = features.arcs, store.table
    arcs = coefficients.arcs
    N = len(arcs)
    max_entries = 0
    for h in range(N):
        for m in range(1, N):
            if arcs[h, m] != 0:
                max_entries += max_keys(templates, h, m)
    if max_entries > len(indices):
        raise ValueError("arcs that are not scored have coefficients: are all weights finite?")
    if not has_capacity(table, max_entries):
        return NEEDS_CAPACITY
    keys = np.empty(max_rows(templates, N), dtype=np.uint64)
    owners = np.empty(len(keys), dtype=np.int64)
    all_templates = np.arange(len(templates.head.seeds))
    scratch = scratch_table(max_entries + 1)
    label, row = np.zeros(1, dtype=np.int64), np.empty(1, dtype=np.int64)
    size = 0
    for h in range(N):
        for m in range(1, N):
            coefficient = arcs[h, m]
            if coefficient != 0:
                count = fill_arc_keys(templates, endpoints, h, m, all_templates, keys, owners)
                for k in range(count):
                    get_or_insert(table, w, owners[k], keys[k], label, row)
                    size = add_entry(indices, values, scratch, size, row[0], coefficient)
    return drop_zeros(indices, values, size)


@kernel
def _lazy_difference(
    store: LazyArcs,
    features: ArcFeatures,
    endpoints: EndpointHashes,
    pair_endpoints: EndpointHashes,
    w: Floats,
    gold: Ints,
    heads: Ints,
    indices: Rows,
    values: Weights,
) -> int:
    """The same; see ``_lazy_combination``."""
    N = len(heads)
    arcs, no_pairs = np.zeros((N, N)), np.empty((0, 0), dtype=np.int64)
    for m in range(1, N):
        arcs[gold[m], m] += 1.0
        arcs[heads[m], m] -= 1.0
    coefficients = PartTable(arcs, np.empty(0), no_pairs, no_pairs)
    return _lazy_combination(
        store, features, endpoints, pair_endpoints, w, coefficients, indices, values
    )


arc_table = dispatch({HashedArcs: _hashed_scores, LazyArcs: _lazy_scores})
tree_difference = dispatch({HashedArcs: _hashed_difference, LazyArcs: _lazy_difference})
combine_parts = dispatch({HashedArcs: _hashed_combination, LazyArcs: _lazy_combination})
