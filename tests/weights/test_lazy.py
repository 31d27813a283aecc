"""Tests of ``spacy_ssvm/weights/lazy.py``."""

from itertools import pairwise
from random import Random

import numpy as np
import pytest
from planted_chains import Corpus, passes

from spacy_ssvm.solvers.prox_gradient import ProxGradient
from spacy_ssvm.weights.lazy import (
    LazyWeights,
    Support,
    block_before,
    find_block,
    get_or_insert,
    has_capacity,
)


@pytest.mark.uncompiled
def test_small_scales_are_multiplied_out():
    corpus = Corpus()
    lazy = corpus.lazy()
    run = passes(ProxGradient(budget=30, prox_period=60), lazy, 0, epochs=1)
    before = run.w
    lazy.store.table.scales[:] *= 1e-40
    lazy.store.rescale(np.full(len(corpus.templates), 1e-30))
    assert (lazy.store.table.scales == 1).all()
    first = (corpus.K + 2) * corpus.K
    np.testing.assert_allclose(run.w[first:], 1e-70 * before[first:])
    np.testing.assert_array_equal(run.w[:first], before[:first])


@pytest.mark.uncompiled
def test_features_of_a_removed_template_start_from_zero():
    """Its rows are stale at once, whether or not they have been swept, and no weight comes back."""
    store = LazyWeights(2, first=1, labels=3)
    keys = np.array([7, 8], dtype=np.uint64)
    has_capacity(store.table, 9)
    store.reserve()
    labels, rows = np.array([0, 2]), np.empty(2, dtype=np.int64)
    for m in range(2):
        get_or_insert(store.table, m, keys[m], labels, rows)
        store.w[1 + rows] = 5.0
    store.rescale(np.array([0.0, 1.0]))
    assert store.allocated == 2
    assert find_block(store.table, 0, keys[0])[1] == 0
    assert find_block(store.table, 1, keys[1])[1] == 2
    get_or_insert(store.table, 0, keys[0], labels, rows)
    assert (store.w[1 + rows] == 0).all()
    assert store.allocated == 4


def rows_of(store: LazyWeights, m: int, key: np.uint64) -> dict[int, int]:
    """The row of each label of a key that has one: of dense blocks, those that no other has."""
    table, rows = store.table, {}
    start, count = find_block(table, m, key)
    while count > 0:
        block = {int(table.entry_labels[row]): row for row in range(start, start + count)}
        if rows.keys() & block.keys():
            assert len(rows) == table.labels
            assert not any(store.w[1 + rows[label]] for label in block)
        rows |= block
        start, count = block_before(table, start)
    return rows


def features_of(support: Support) -> dict[tuple[int, int], set[int]]:
    """The labels of each feature, by template and key, which rise."""
    ends = support.starts.tolist()
    labels = [support.labels[a:b].tolist() for a, b in pairwise(ends)]
    assert all(found == sorted(set(found)) for found in labels)
    features = list(zip(support.templates.tolist(), support.keys, strict=True))
    assert len({*features}) == len(features)
    return dict(zip(features, map(set, labels), strict=True))


@pytest.mark.uncompiled
@pytest.mark.parametrize("labels", [1, 2, 3, 7, 40])
def test_rows_stay_until_they_are_swept(labels: int) -> None:
    """Whatever is inserted, row and weight of a label of a key are where they were."""
    random, T = Random(labels), 3
    keys = [(m, np.uint64(1 + m + T * k)) for m in range(T) for k in range(8)]
    store = LazyWeights(T, first=1, labels=labels)
    meant: dict[tuple[int, int], dict[int, float]] = {key: {} for key in keys}
    for time in range(300):
        before = {key: rows_of(store, *key) for key in keys}
        m, key = random.choice(keys)
        number = random.choice([1, 1, 2, 3, labels])
        wanted = random.sample(range(labels), min(number, labels))
        if not has_capacity(store.table, 1):
            store.reserve()
        rows = np.full(len(wanted), -7)
        get_or_insert(store.table, m, key, np.array(wanted), rows)
        if number == labels and not before[m, key]:  # a dense block
            assert rows.tolist() == [rows.min() + label for label in wanted]
        for label, row in zip(wanted, rows.tolist(), strict=True):
            value = random.choice([0.0, random.gauss(0, 1)])
            assert store.w[1 + row] == meant[m, key].get(label, 0.0)
            store.w[1 + row] = value
            meant[m, key][label] = value
        after = {key: rows_of(store, *key) for key in keys}
        assert all(before[key].items() <= after[key].items() for key in keys)
        assert {*rows.tolist()} <= {*after[m, key].values()}
        if time % 60 == 59:
            store.rescale(np.array([1.0, 1.0, 0.0]))
            meant |= {key: {} for key in keys if key[0] == 2}
            store.sweep()
        found = {key: rows_of(store, *key) for key in keys}
        every = [row for rows in found.values() for row in rows.values()]
        assert len({*every}) == len(every) == store.allocated
        for key in keys:
            values = {label: store.w[1 + row] for label, row in found[key].items()}
            assert {k: v for k, v in values.items() if v} == {
                k: v for k, v in meant[key].items() if v
            }
        nonzero = {key: {k for k, v in meant[key].items() if v} for key in keys}
        support = store.support()
        assert features_of(support) == {key: found for key, found in nonzero.items() if found}
        assert features_of(support.of_templates(np.array([0, 2]))) == {
            (m // 2, key): found for (m, key), found in nonzero.items() if found and m != 1
        }
        if time % 60 == 59:  # headers and spare rows have no weights
            store.w[[1 + row for row in every]] = 0.0
            table, numbers = store.table, np.arange(len(store.w) - 1)
            is_stale = numbers < table.first_entries[table.entry_templates]
            assert not store.w[1:][~is_stale].any()
            meant = {key: {} for key in keys}


def test_features_are_numbered_by_their_last_blocks() -> None:
    store = LazyWeights(1, first=0, labels=9)
    has_capacity(store.table, 20)
    store.reserve()
    for label in range(7):
        for key in (5, 6):
            row = np.empty(1, dtype=np.int64)
            get_or_insert(store.table, 0, np.uint64(key), np.array([label]), row)
    features = store.row_features()
    for key in (5, 6):
        numbers = {int(features[row]) for row in rows_of(store, 0, np.uint64(key)).values()}
        assert numbers == {find_block(store.table, 0, np.uint64(key))[0]}
