"""Scores and feature differences of arcs, for each way to store their weights.

Each function takes ``TreeExamples.store`` first, and has an implementation for each class of it.
"""

import numpy as np

from spacy_ssvm.decoders.parts import (
    PartTable,
    inner_sibling,
    is_grandparent,
    number_parts,
    pair_number,
    triple_number,
)
from spacy_ssvm.kernels.compile import dispatch, inner_kernel, kernel
from spacy_ssvm.kernels.types import AnyWeights, Floats, Ints, Keys, Rows, Weights
from spacy_ssvm.structure import NEEDS_CAPACITY
from spacy_ssvm.trees.keys import (
    EndpointHashes,
    PairHashes,
    fill_arc_keys,
    fill_arc_rows,
    fill_grandparent_rows,
    fill_pair_rows,
    hash_endpoints,
    max_keys,
)
from spacy_ssvm.trees.layout import ArcFeatures, HashedArcs, LazyArcs, Scorer
from spacy_ssvm.trees.pruner import score_arcs
from spacy_ssvm.trees.scores import has_grandparents, is_second_order, max_rows, max_word_rows
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
) -> Floats:
    """The scores of the arcs of example i, whose nodes are rows start to end.

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
) -> Floats:
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
    return scores


@inner_kernel
def _add_rows(
    indices: Rows,
    values: AnyWeights,
    scratch: Rows,
    size: int,
    rows: Rows | Ints,
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
    pair_endpoints: PairHashes,
    gold: Ints,
    heads: Ints,
    indices: Rows,
    values: Weights,
) -> int:
    """Write Phi(heads) = phi(gold) - phi(heads), each index once; return its size."""
    N, none = len(heads), features.size
    has_pairs, has_triples = is_second_order(features), has_grandparents(features)
    rows = np.empty(max_word_rows(features, N), dtype=np.int32)
    # The other nodes of the parts of each word, by tree; 0 where trees have no such parts.
    trees, siblings = np.stack((gold, heads)), np.zeros((2, N), dtype=np.int64)
    grandparents = np.zeros((2, N), dtype=np.int64)
    wrong = 0
    for m in range(1, N):
        for tree in range(2):
            h = trees[tree, m]
            if has_pairs:
                siblings[tree, m] = inner_sibling(trees[tree], h, m)
            if has_triples:
                grandparents[tree, m] = trees[tree, h] if h > 0 else -1
        wrong += (
            gold[m] != heads[m]
            or siblings[0, m] != siblings[1, m]
            or grandparents[0, m] != grandparents[1, m]
        )
    scratch = scratch_table(2 * wrong * len(rows) + 2)
    size = 0
    for m in range(1, N):
        for tree, sign in ((0, 1.0), (1, -1.0)):
            h, s, g = trees[tree, m], siblings[tree, m], grandparents[tree, m]
            is_wrong = gold[m] != heads[m]
            if is_wrong:
                count = fill_arc_rows(features.arcs, endpoints, none, h, m, rows)
                size = _add_rows(indices, values, scratch, size, rows[:count], none, sign)
            if has_pairs and (is_wrong or siblings[0, m] != siblings[1, m]):
                count = fill_pair_rows(features.pairs, pair_endpoints.siblings, none, h, m, s, rows)
                size = _add_rows(indices, values, scratch, size, rows[:count], none, sign)
            if has_triples and g >= 0 and (is_wrong or grandparents[0, m] != grandparents[1, m]):
                count = fill_grandparent_rows(
                    features.grandparents, pair_endpoints.grandparents, none, g, h, m, rows
                )
                size = _add_rows(indices, values, scratch, size, rows[:count], none, sign)
    return drop_zeros(indices, values, size)


@inner_kernel
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
    """Add coefficient x features over pairs of siblings; see ``sparse.py``."""
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
def _add_grandparents(
    features: ArcFeatures,
    endpoints: EndpointHashes,
    coefficients: PartTable,
    indices: Rows,
    values: Floats,
    scratch: Rows,
    size: int,
) -> int:
    """Add coefficient x features over grandparents; see ``sparse.py``."""
    N, templates = len(coefficients.arcs), features.grandparents
    rows = np.empty(max_rows(templates, 0), dtype=np.int32)
    for h in range(1, N):
        for m in range(1, N):
            if coefficients.triple_starts[h, m] < 0:
                continue
            for g in range(N):
                if not is_grandparent(coefficients, g, h):
                    continue
                value = coefficients.grandparents[triple_number(coefficients, g, h, m)]
                if value != 0:
                    fill_grandparent_rows(templates, endpoints, features.size, g, h, m, rows)
                    size = _add_rows(indices, values, scratch, size, rows, features.size, value)
    return size


@kernel
def _hashed_combination(
    store: HashedArcs,
    features: ArcFeatures,
    endpoints: EndpointHashes,
    pair_endpoints: PairHashes,
    coefficients: PartTable,
    indices: Rows,
    values: Floats,
) -> int:
    """Write the sum of coefficient x features over all parts, each index once.

    coefficients: 0 for parts that no tree has. Returns the number of entries.
    """
    N = len(coefficients.arcs)
    rows = np.empty(max_rows(features.arcs, N), dtype=np.int32)
    count = _count_arc_rows(features, endpoints, coefficients.arcs, rows)
    count += len(coefficients.pairs) * max_rows(features.pairs, 0)
    count += len(coefficients.grandparents) * max_rows(features.grandparents, 0)
    scratch = scratch_table(min(count, features.size) + 1)
    size = 0
    for h in range(N):
        for m in range(1, N):
            value = coefficients.arcs[h, m]
            if value != 0:
                count = fill_arc_rows(features.arcs, endpoints, features.size, h, m, rows)
                size = _add_rows(indices, values, scratch, size, rows[:count], features.size, value)
    state = coefficients, indices, values, scratch
    if len(coefficients.pairs):
        size = _add_pairs(features, pair_endpoints.siblings, *state, size)
    if len(coefficients.grandparents):
        size = _add_grandparents(features, pair_endpoints.grandparents, *state, size)
    return drop_zeros(indices, values, size)


@kernel
def _lazy_combination(
    store: LazyArcs,
    features: ArcFeatures,
    endpoints: EndpointHashes,
    pair_endpoints: PairHashes,
    coefficients: PartTable,
    indices: Rows,
    values: AnyWeights,
) -> int:
    """The same for arcs, whose features get rows. Returns NEEDS_CAPACITY for too small a table.

    Raises ValueError, with nothing written, where the buffers are too small for the arcs with
    a coefficient, or one is not a number.
    """
    templates, table = features.arcs, store.table
    arcs = coefficients.arcs
    N = len(arcs)
    max_entries, has_nan = 0, False
    for h in range(N):
        for m in range(1, N):
            has_nan |= np.isnan(arcs[h, m])
            if arcs[h, m] != 0:
                max_entries += max_keys(templates, h, m)
    if max_entries > len(indices) or has_nan:
        raise ValueError("arcs that are not scored have coefficients: are all weights finite?")
    if not has_capacity(table, max_entries):
        return NEEDS_CAPACITY
    keys = np.empty(max_rows(templates, N), dtype=np.uint64)
    owners = np.empty(len(keys), dtype=np.int64)
    all_templates = np.arange(templates.codes.shape[1])
    scratch = scratch_table(max_entries + 1)
    label, row = np.zeros(1, dtype=np.int64), np.empty(1, dtype=np.int64)
    size = 0
    for h in range(N):
        for m in range(1, N):
            coefficient = arcs[h, m]
            if coefficient != 0:
                count = fill_arc_keys(templates, endpoints, h, m, all_templates, keys, owners)
                for k in range(count):
                    get_or_insert(table, owners[k], keys[k], label, row)
                    size = _add_rows(indices, values, scratch, size, row, -1, coefficient)
    return drop_zeros(indices, values, size)


@kernel
def _lazy_difference(
    store: LazyArcs,
    features: ArcFeatures,
    endpoints: EndpointHashes,
    pair_endpoints: PairHashes,
    gold: Ints,
    heads: Ints,
    indices: Rows,
    values: Weights,
) -> int:
    """The same; see ``_lazy_combination``."""
    N = len(heads)
    arcs = np.zeros((N, N))
    for m in range(1, N):
        arcs[gold[m], m] += 1.0
        arcs[heads[m], m] -= 1.0
    coefficients = number_parts(arcs, False, False)
    return _lazy_combination(
        store, features, endpoints, pair_endpoints, coefficients, indices, values
    )


arc_table = dispatch({HashedArcs: _hashed_scores, LazyArcs: _lazy_scores})
tree_difference = dispatch({HashedArcs: _hashed_difference, LazyArcs: _lazy_difference})
combine_parts = dispatch({HashedArcs: _hashed_combination, LazyArcs: _lazy_combination})
