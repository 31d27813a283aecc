"""Tests of ``spacy_ssvm/weights/growing.py``."""

import multiprocessing
import sys
import tracemalloc
from typing import Any

import numpy as np
import pytest

from spacy_ssvm.weights import growing
from spacy_ssvm.weights.growing import GrowingArray, longer, resized, zeros

MANY = growing._LARGE // 8
VERY_MANY = growing._LARGEST // 8


@pytest.mark.parametrize(
    "size", [0, 5, MANY - 1, MANY, growing._HUGE // 8 + 1, VERY_MANY - 1, VERY_MANY]
)
def test_zeros_can_be_written_to(size: int) -> None:
    found = zeros((size,), np.dtype(np.int64))
    assert found.dtype == np.int64
    assert found.shape == (size,)
    assert not found.any()
    assert found.flags.writeable
    assert found.flags.c_contiguous
    found += 1
    assert found.sum() == size
    assert found.flags.owndata == (not MANY <= size < VERY_MANY)


def test_zeros_of_two_dimensions() -> None:
    found = zeros((MANY, 3), np.dtype(np.uint64))
    assert found.shape == (MANY, 3)
    assert found.flags.c_contiguous


@pytest.mark.parametrize("size", [3, MANY])
@pytest.mark.parametrize("shape", [(), (2,)])
def test_a_longer_array_has_the_same_values_and_zeros(size: int, shape: tuple[int, ...]) -> None:
    array = np.ones((size, *shape), dtype=np.float32)
    found = longer(array, size + 1)
    assert found.dtype == np.float32
    assert found.shape == (max(size + 1, 9 * size // 8), *shape)
    assert (found[:size] == 1).all()
    assert not found[size:].any()
    assert (array == 1).all()


@pytest.mark.parametrize("before", [0, 3, MANY, VERY_MANY])
@pytest.mark.parametrize("size", [0, 3, 4, MANY + 1, VERY_MANY // 2, VERY_MANY + 1])
@pytest.mark.parametrize("is_owner", [False, True])
def test_a_resized_array_has_the_values_that_fit(before: int, size: int, is_owner: bool) -> None:
    array = np.arange(1, 2 * before + 1).reshape(before, 2)
    if is_owner:
        array = array.copy()
    found = resized(array, size)
    kept = min(before, size)
    assert found.dtype == np.int64
    assert found.shape == (size, 2)
    assert (found[:kept] == np.arange(1, 2 * kept + 1).reshape(kept, 2)).all()
    assert not found[kept:].any()
    assert (found is array) == (is_owner and before == VERY_MANY)


@pytest.mark.parametrize("largest", [growing._LARGE, growing._LARGEST])
@pytest.mark.parametrize("has_views", [False, True])
def test_values_stay_while_an_array_grows(
    has_views: bool, largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Views of it, which threads may read, stay as they were."""
    monkeypatch.setattr(growing, "_LARGEST", largest)
    random, values = np.random.default_rng(0), np.zeros((0, 2), dtype=np.uint64)
    array, views = GrowingArray(np.uint64, values), []
    for _ in range(30):
        more = random.integers(1, 2**60, (int(random.integers(0, MANY // 4)), 2), dtype=np.uint64)
        array.extend(more)
        values = np.concatenate([values, more])
        if has_views:
            views.append(array.array)
    assert array.array.nbytes > growing._LARGE
    assert (array.array == values).all()
    assert all((view == values[: len(view)]).all() for view in views)


def test_very_large_arrays_grow_without_a_copy() -> None:
    """Which would need as much memory again."""
    values = np.ones(growing._LARGEST, dtype=np.int8)
    tracemalloc.start()
    try:
        array = GrowingArray(np.int8, values)
        array.extend(np.ones(1, dtype=np.int8))
        array.extend(np.ones(1, dtype=np.int8))
        assert tracemalloc.get_traced_memory()[1] < 1.5 * growing._LARGEST
    finally:
        tracemalloc.stop()
    assert array.array.all()
    assert array.size == growing._LARGEST + 2


def test_memory_that_there_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MemoryError, match="Unable to allocate"):
        zeros((2**50,), np.dtype(np.int64))
    monkeypatch.setattr(growing, "_LARGEST", 2**60)
    with pytest.raises(MemoryError, match="9,007,199,254,740,992 bytes for an array"):
        zeros((2**50,), np.dtype(np.int64))


@pytest.mark.skipif(not hasattr(growing.mmap, "MADV_HUGEPAGE"), reason="has no huge pages")
def test_a_kernel_without_huge_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing.mmap, "MADV_HUGEPAGE", 99_999)  # unknown advice is an error
    assert not zeros((growing._HUGE,), np.dtype(np.int8)).any()


def _write(array: Any) -> None:
    array[:] = 1


@pytest.mark.skipif(sys.platform == "win32", reason="processes are not forked")
def test_a_forked_process_writes_to_memory_of_its_own() -> None:
    array = zeros((MANY,), np.dtype(np.int64))
    process = multiprocessing.get_context("fork").Process(target=_write, args=(array,))
    process.start()
    process.join()
    assert process.exitcode == 0
    assert not array.any()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_goes_back_to_the_system() -> None:
    def resident() -> int:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * 4096

    np.ones(32 * MANY)  # from now on, the heap takes what is as large as the arrays
    array, others = np.ones(MANY, dtype=np.int64), []
    found = []
    for _ in range(50):
        found.append(longer(array, MANY + 1))
        others.append(np.ones(MANY // 2))
    before = resident()
    found.clear()
    assert before - resident() > 0.9 * 50 * array.nbytes
