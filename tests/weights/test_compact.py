"""Tests of ``spacy_ssvm/weights/compact.py``."""

from unittest.mock import patch

import numpy as np
import pytest
from chain_scores import checked
from compact_weights import compact_of
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from spacy_ssvm.weights import compact as compact_module
from spacy_ssvm.weights.compact import (
    CompactWeights,
    add_rows,
    add_to_some,
    check_compact,
    entries_of,
    no_weights,
    row_sizes,
    scales_for,
    with_more_labels,
)
from spacy_ssvm.weights.rows import dense_table

pytestmark = pytest.mark.uncompiled

SPARSE = st.sampled_from([0.0, 0.0, 0.0, 0.0, 1.0, -0.1, 0.03, 1e-60, -70.0])


def rounded(weights: np.ndarray) -> np.ndarray:
    """Weights [rows, K] with the precision of compact ones, row by row."""
    largest = np.abs(weights).max(initial=0.0)
    scales = [float(np.float32(largest / 127 / 2 ** (number / 8))) for number in range(256)]
    found = np.zeros_like(weights)
    for r, row in enumerate(weights):
        fitting = [scale for scale in scales if 127.49 * scale > np.abs(row).max()]
        if fitting and row.any():
            found[r] = np.round(row / fitting[-1]) * fitting[-1]
    return found


def random_weights(data: st.DataObject, rows: int, K: int) -> np.ndarray:
    """Few weights, or many, in each row."""
    weights = np.zeros((rows, K))
    for row in weights:
        size = data.draw(st.integers(0, min(K, 6)))
        places = data.draw(st.lists(st.integers(0, K - 1), min_size=size, max_size=size))
        row[places] = data.draw(st.lists(SPARSE, min_size=size, max_size=size))
        row += data.draw(st.sampled_from([0.0, 0.0, 0.02]))
    return weights


@checked
@given(st.data(), st.sampled_from([1, 2, 4, 5, 9, 255, 256, 257, 300, 1000]), st.integers(1, 4))
def test_compact_rows_add_up_to_what_rounded_rows_add_up_to(data, K, rows):
    weights = random_weights(data, rows, K)
    kept = np.array(data.draw(st.permutations(range(rows))), dtype=np.int64)
    many = data.draw(st.sampled_from([0, 2**32]))
    with patch.object(compact_module, "_MANY_BYTES", many):
        compact, sizes = compact_of(weights, kept)
    assert compact.row_starts.dtype == (np.uint32 if many else np.int64)
    check_compact(compact, K)
    expected = rounded(weights)[kept]
    np.testing.assert_array_equal(sizes == 0, ~expected.any(axis=1))

    fired = np.array(data.draw(st.lists(st.integers(0, rows - 1), max_size=6)), dtype=np.int64)
    scores = np.zeros(K)
    add_rows(compact, fired, len(fired), scores)
    np.testing.assert_allclose(scores, expected[fired].sum(axis=0), rtol=1e-12, atol=1e-13)
    wanted = np.array(sorted(data.draw(st.sets(st.integers(0, K - 1)))), dtype=np.int64)
    some = np.zeros(K)
    add_to_some(compact, fired, len(fired), wanted, some)
    np.testing.assert_array_equal(some[wanted], scores[wanted])

    starts, labels, values = entries_of(compact, K)
    of_rows, of_labels = expected.nonzero()
    np.testing.assert_array_equal(starts, np.searchsorted(of_rows, np.arange(rows + 1)))
    np.testing.assert_array_equal(labels, of_labels)
    np.testing.assert_allclose(values, expected[of_rows, of_labels], rtol=1e-12)
    weights[:] = 0.0
    weights[kept[of_rows], of_labels] = values
    assert compact_of(weights, kept)[0].bytes.tolist() == compact.bytes.tolist()


@pytest.mark.parametrize(("times", "code"), [(127.48, 127), (127.5, 117), (127.55, 117)])
def test_a_scale_is_the_smallest_that_fits(times, code):
    second = 2.0 ** (-1 / 8)  # the scales of rows are 1, this one, and smaller ones
    weights = np.array([[127.0, 0.0], [0.0, times * second]])
    _, labels, values = entries_of(compact_of(weights)[0], 2)
    assert labels.tolist() == [0, 1]
    assert values.tolist() == pytest.approx([127.0, code * (second if code == 127 else 1.0)])


@given(st.data(), st.sampled_from([1, 5, 9]))
def test_distance_of_rounded_rows(data, K):
    weights = random_weights(data, 4, K)
    others = np.random.default_rng(0).normal(size=weights.size)
    scales, sizes = scales_for(weights.ravel()), np.empty(4, dtype=np.int64)
    found = row_sizes(dense_table(K), weights.ravel(), scales, others, sizes)
    wanted = ((rounded(weights).ravel() - others) ** 2).sum() / 2
    assert found == pytest.approx(wanted, rel=1e-12)


@checked
@given(arrays(float, (3, 5), elements=st.floats(-1e3, 1e3)))
def test_weights_are_rounded_by_less_than_half_a_percent_of_the_largest_of_the_row(weights):
    found = np.zeros(15)
    for r in range(3):
        add_rows(compact_of(weights)[0], np.array([r]), 1, found[5 * r : 5 * r + 5])
    errors = np.abs(found.reshape(3, 5) - weights).max(axis=1)
    largest = np.abs(weights).max(axis=1)
    # Of rows whose weights are far below the largest of all, nothing is kept.
    assert (errors <= np.maximum(largest * 2 ** (1 / 8) / 254, largest.max() * 1e-11 + 1e-42)).all()


def test_what_rows_hold() -> None:
    weights = np.zeros((4, 600))
    weights[0, [3, 599]] = -1.27, 0.01
    weights[2] = 1.27
    weights[3, [0, 255]] = 0.635
    compact, _ = compact_of(weights)
    pairs = [0, 3, -127, -1, 0, -1, 0, 599 - 3 - 510, 1]  # -1 is 255
    assert compact.bytes[:9].tolist() == pairs
    assert compact.row_starts.tolist() == [0, 9, 9, 610, 615]
    assert compact.bytes[9:610].tolist() == [0] + [127] * 600
    assert compact.bytes[610:].tolist() == [8, 0, 127, -1, 127]
    assert compact.scales[[0, 8]] == pytest.approx([0.01, 0.005])


@checked
@given(st.data(), st.integers(0, 9), st.integers(0, 300))
def test_further_labels_have_no_weights(data, K, more):
    weights = random_weights(data, 4, K) if K else np.zeros((4, 0))
    compact, _ = compact_of(weights)
    longer = with_more_labels(compact, K, K + more)
    check_compact(longer, K + more)
    for before, after in zip(entries_of(compact, K), entries_of(longer, K + more), strict=True):
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("label", [0, 254, 255, 256, 257, 509, 510, 511, 599])
@pytest.mark.parametrize("first", [0, 1, 255])
def test_labels_at_any_distance(first: int, label: int) -> None:
    weights = np.zeros((1, 1000))
    weights[0, [first, min(first + label, 999)]] = 1.27, 0.5
    compact, _ = compact_of(weights)
    check_compact(compact, 1000)
    found = np.zeros(1000)
    add_rows(compact, np.arange(1), 1, found)
    np.testing.assert_allclose(found, weights[0], atol=1e-9)


def test_no_weights() -> None:
    check_compact(no_weights(), 7)
    check_compact(no_weights(), 0)
    compact, sizes = compact_of(np.zeros((3, 2)))
    check_compact(compact, 2)
    assert not sizes.any()
    scores = np.zeros(2)
    add_rows(compact, np.arange(3), 3, scores)
    add_to_some(compact, np.arange(3), 3, np.arange(2), scores)
    assert not scores.any()


@pytest.mark.parametrize("factor", [1e-25, 1e-10, 1e10, 1e35])
def test_weights_of_any_size(factor: float) -> None:
    weights = factor * np.array([[1.0, 0.0, -0.5], [0.0, 1e-3, 0.0]])
    found = np.zeros((2, 3))
    for r in range(2):
        add_rows(compact_of(weights)[0], np.array([r]), 1, found[r])
    np.testing.assert_allclose(found, weights, rtol=0.01)


def test_weights_that_are_next_to_nothing_are_none() -> None:
    _, sizes = compact_of(np.full((2, 3), 1e-50))
    assert sizes.tolist() == [0, 0]


def test_weights_that_are_not_finite_are_not_valid() -> None:
    for value in (np.nan, np.inf, -np.inf, 1e100):
        with np.errstate(over="ignore"):
            weights = no_weights()._replace(scales=scales_for(np.array([1.0, value])))
        with pytest.raises(ValueError, match="weights are not finite"):
            check_compact(weights, 2)


def of_bytes(sizes: list[int], content: list[int]) -> CompactWeights:
    starts = np.cumsum([0, *sizes])
    return CompactWeights(starts, np.array(content, dtype=np.int8), np.ones(256, dtype=np.float32))


FORGED = {
    "a row that goes on after the end": ([3, 3], [0, 1, 5], "do not fit their number"),
    "bytes after the last row": ([3], [0, 1, 5, 0], "do not fit their number"),
    "an even number of bytes": ([2], [0, 1], "do not fit their number"),
    "more bytes than labels": ([13], [0] * 13, "do not fit their number"),
    "a label that is none": ([3], [0, 10, 5], "not in order"),
    "a label that is none, after others": ([5], [0, 9, 5, 1, 5], "not in order"),
    "a label that is none, by a large distance": ([3], [0, -1, 5], "not in order"),
    "a label that repeats": ([5], [0, 1, 5, 0, 5], "not in order"),
}


@pytest.mark.parametrize("forged", FORGED)
def test_rows_that_could_not_be_read_are_refused(forged: str) -> None:
    *rows, message = FORGED[forged]
    with pytest.raises(ValueError, match=message):
        check_compact(of_bytes(*rows), 10)
    check_compact(of_bytes([3, 0, 1, 11], [0, 9, 5, 7, *[0] * 11]), 10)


@checked
@given(
    st.lists(st.integers(0, 12), max_size=4),
    st.lists(st.integers(-128, 127), max_size=40),
    st.integers(0, 11),
)
def test_what_is_not_refused_can_be_read(sizes, content, K):
    weights = of_bytes(sizes, [*content, *[1] * 50][: sum(sizes)])
    try:
        check_compact(weights, K)
    except ValueError:
        return
    rows, guarded = np.arange(len(sizes)), np.full(K + 600, 7.0)
    add_rows(weights, rows, len(rows), guarded[300 : 300 + K])
    add_to_some(weights, rows, len(rows), np.arange(K), guarded[300 : 300 + K])
    assert (guarded[:300] == 7.0).all()
    assert (guarded[300 + K :] == 7.0).all()
    entries = entries_of(weights, K)
    assert len(entries.labels) == entries.row_starts[-1]
    assert (entries.labels < K).all()
    for a, b in zip(entries.row_starts[:-1], entries.row_starts[1:], strict=True):
        assert (np.diff(entries.labels[a:b].astype(int)) > 0).all()
