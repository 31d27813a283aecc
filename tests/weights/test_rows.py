"""Tests of ``spacy_ssvm/weights/rows.py``."""

from random import Random

import numpy as np
import pytest

from spacy_ssvm.weights import growing
from spacy_ssvm.weights.rows import (
    DenseWeights,
    RowWeights,
    SparseRows,
    add_row,
    dense_table,
    find_entries,
    has_row_capacity,
    last_block,
)
from spacy_ssvm.weights.sparse import move, renumber

pytestmark = pytest.mark.uncompiled


def entries_of(rows: SparseRows, row: int) -> dict[int, int]:
    """The entry of each label of a row."""
    labels, found = np.arange(rows.table.labels), np.empty(rows.table.labels, dtype=np.int64)
    find_entries(rows.table._replace(grows=False), row, labels, found)
    return {k: entry for k, entry in enumerate(found.tolist()) if entry >= 0}


def check_scores(rows: SparseRows, w: np.ndarray, row: int, meant: dict[int, float]) -> None:
    """The scores of a row are those meant, whatever there is of the other labels."""
    scores = np.zeros(rows.table.labels)
    add_row(rows.table, w, 2.0, row, scores)
    expected = np.zeros(rows.table.labels)
    expected[[*meant]] = 2.0 * np.array([*meant.values()])
    np.testing.assert_array_equal(scores, expected)


@pytest.mark.parametrize("K", [1, 2, 3, 4, 7, 8, 13, 60])
def test_weights_stay_with_their_labels(K: int) -> None:
    """Whatever is inserted, joined and moved, each label of a row has the weight it was given."""
    random, first, number = Random(K), 3, 6
    rows = SparseRows(K, first=first)
    rows.extend(number)
    w = np.arange(3.0)
    meant: list[dict[int, float]] = [{} for _ in range(number)]
    joined = 0
    for _ in range(400):
        row = random.randrange(number)
        wanted = random.sample(range(K), min(random.choice([1, 1, 2, 2, 3, K]), K))
        if len(wanted) == K and random.random() < 0.9:
            wanted = wanted[:1]
        if not has_row_capacity(rows.table, 1) or random.random() < 0.1:
            before = [entries_of(rows, r) for r in range(number)]
            numbers = rows.reserve()
            if numbers is not None:
                joined += 1
                assert numbers[:first].tolist() == [0, 1, 2]
                indices = np.array([first + e for r in before for e in r.values()], dtype=np.int32)
                renumber(indices, len(indices), numbers)
                after = [first + e for r in range(number) for e in entries_of(rows, r).values()]
                assert indices.tolist() == after
                assert sorted(after) == [*range(first, first + int(rows.table.counts[1]))]
                w = move(w, numbers)
            w = np.append(w, np.zeros(first + rows.number_of_entries - len(w)))
            assert has_row_capacity(rows.table, 1)
        before = [entries_of(rows, r) for r in range(number)]
        found = np.full(len(wanted), -7)
        find_entries(rows.table, row, np.array(wanted), found)
        after = [entries_of(rows, r) for r in range(number)]
        for r in range(number):  # what was there stays there
            assert before[r].items() <= after[r].items()
            assert r == row or before[r] == after[r]
        every = [entry for r in after for entry in r.values()]
        assert len({*every}) == len(every)
        assert all(0 <= entry < rows.table.counts[1] for entry in every)
        assert [after[row][label] for label in wanted] == found.tolist()
        for label, entry in zip(wanted, found.tolist(), strict=True):
            assert w[first + entry] == meant[row].get(label, 0.0)
            w[first + entry] = meant[row][label] = random.gauss(0, 1)
        check_scores(rows, w[first:], row, meant[row])
    assert w[:first].tolist() == [0, 1, 2]
    for row in range(number):
        check_scores(rows, w[first:], row, meant[row])
    assert joined > 0 or K < 8  # rows of few labels get all of them at once


def test_capacity_suffices_for_the_features_that_it_was_asked_for() -> None:
    """Even if each of them gets a block with all labels behind others."""
    K, random = 40, Random(0)
    rows = SparseRows(K, first=0)
    rows.extend(50)
    for number in (1, 5, 20, 50) * 8:
        if not has_row_capacity(rows.table, number):
            rows.reserve()
        assert has_row_capacity(rows.table, number)
        for row in random.sample(range(50), number):
            labels = np.array(random.sample(range(K), random.choice([2, 9, 11])))
            find_entries(rows.table, row, labels, np.empty(len(labels), dtype=np.int64))
            assert rows.table.counts[1] <= len(rows.table.entry_labels)


def test_rows_that_are_inserted_at_once_are_one_block_each() -> None:
    labels = [[3], [], [9, 2], [*range(10)], [7, 1, 2, 3, 8, 0, 4]]
    starts = np.cumsum([0, *map(len, labels)])
    rows = SparseRows(10, first=0)
    entries = rows.insert(starts, np.concatenate(labels).astype(np.uint16))
    assert len({*entries.tolist()}) == len(entries)
    for row, own in enumerate(labels):
        found = entries_of(rows, row)
        assert [found[k] for k in own] == entries[starts[row] : starts[row + 1]].tolist()
    counts = [last_block(rows.table, row)[1] for row in range(len(labels))]
    assert counts == [1, 0, 2, 10, 10]  # all labels, where more than a quarter of them are needed
    assert rows.table.counts[1] == len(rows.table.entry_labels) == 23
    assert rows.reserve() is None


def test_a_table_that_does_not_grow_finds_what_there_is() -> None:
    rows = SparseRows(30, first=0)
    rows.insert(np.array([0, 2]), np.array([4, 11], dtype=np.uint16))
    table = rows.table._replace(grows=False)
    before = [array.copy() for array in table[:4]]
    found = np.empty(3, dtype=np.int64)
    find_entries(table, 0, np.array([11, 5, 4]), found)
    assert found.tolist() == [1, -1, 0]
    assert has_row_capacity(table, 10**6)
    for array, kept in zip(table[:4], before, strict=True):
        np.testing.assert_array_equal(array, kept)


def test_rows_with_all_labels_need_no_table() -> None:
    table, found = dense_table(4), np.empty(2, dtype=np.int64)
    find_entries(table, 5, np.array([3, 0]), found)
    assert found.tolist() == [23, 20]
    assert last_block(table, 2) == (8, 4)
    assert has_row_capacity(table, 10**9)
    scores = np.ones(4)
    add_row(table, np.arange(12.0), 0.5, 2, scores)
    assert scores.tolist() == [5.0, 5.5, 6.0, 6.5]


def test_dense_weights_are_grouped_by_the_templates_of_rows() -> None:
    store = DenseWeights(first=1, width=2)
    store.templates = np.array([1, 0, 1], dtype=np.int32)
    store.w = np.arange(7.0)
    assert store.allocated == 6
    store.rescale(np.array([0.0, 2.0]))
    assert store.w.tolist() == [0, 2, 4, 0, 0, 10, 12]
    assert store.row_features().tolist() == [0, 1, 2]


def test_moved_weights_leave_zeros_behind() -> None:
    numbers = np.array([2, -1, 0, 5, 1], dtype=np.int32)
    assert move(np.array([1.0, 2.0, 3.0]), numbers).tolist() == [3, 0, 1]
    assert move(np.zeros(0), numbers).tolist() == []
    assert move(np.array([4.0]), np.array([-1], dtype=np.int32)).tolist() == []


@pytest.mark.parametrize("least", [1, growing._LARGE])
def test_room_is_made_for_more_entries(least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where arrays have memory of their own, which numpy cannot lengthen."""
    monkeypatch.setattr(growing, "_LARGE", least)
    rows = RowWeights(first=2, width=8)
    rows.allocate(lazily=True)
    rows.insert(np.array([0, 2, 3]), np.array([1, 5, 0], dtype=np.uint16))
    before = rows.table.entry_labels.copy()
    size = len(before)
    rows.make_room(3 * size)
    rows.make_room(4 * size)
    assert len(rows.addresses[1].entry_labels) == 4 * size
    assert rows.table.entry_labels[:size].tolist() == before.tolist()
    rows.allocate(lazily=False)
    rows.make_room(10)
    assert len(rows.table.entry_labels) == 0
