"""Where large arrays are, and what becomes of their memory."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pyarrow as pa
import pytest

from lance_core.encodings.arrow.combine_chunks import combine_chunks
from lance_core.encodings.arrow.memory_pool import (
    allocate,
    concat_arrays,
    empty,
    low_retention_pool,
    memory_pool,
    release_unused,
)
from tests.each_case import each_case

_FREED = """
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from resource import getpagesize
from lance_core.encodings.arrow import memory_pool as module
from lance_core.encodings.arrow.memory_pool import empty, low_retention_pool, release_unused

module._jemalloc = lambda: None

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * getpagesize()

def work():
    with low_retention_pool():
        for array in [empty(1 << 20, "u1") for _ in range(64)]:
            array.fill(1)
        del array
    release_unused()

with ThreadPoolExecutor(1) as pool:
    before = resident()
    pool.submit(work).result()
    print(resident() - before)
"""


@each_case("count", [0, 1, 1 << 10, 1 << 20])
def test_an_array_has_as_many_elements_as_asked_for(count: int) -> None:
    array = empty(count, np.int32)
    array[:] = 7
    assert array.dtype == np.int32
    assert array.tolist() == [7] * count


def test_large_arrays_are_in_the_pool_until_the_last_use() -> None:
    before = pa.total_allocated_bytes()
    array = empty(1 << 20, np.uint8)
    view = pa.py_buffer(array)
    assert pa.total_allocated_bytes() - before >= 1 << 20
    del array
    assert pa.total_allocated_bytes() - before >= 1 << 20
    del view
    assert pa.total_allocated_bytes() == before


def test_what_is_in_use_stays_when_memory_is_given_back() -> None:
    kept, freed = empty(1 << 20, np.uint8), empty(1 << 20, np.uint8)
    kept.fill(3)
    freed.fill(4)
    del freed
    release_unused()
    assert (kept == 3).all()


def test_without_another_pool_freed_memory_is_given_back_by_the_thread_that_had_it() -> None:
    command = [sys.executable, "-c", _FREED]
    grown = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert grown < 16 << 20


def _spare_pool() -> pa.MemoryPool:
    """Where reads take memory from: the usual pool on systems without jemalloc."""
    try:
        return pa.jemalloc_memory_pool()
    except NotImplementedError:
        return pa.default_memory_pool()


def test_meanwhile_memory_comes_from_the_pool_that_keeps_least() -> None:
    pool = _spare_pool()
    before = pool.bytes_allocated()
    with low_retention_pool():
        array, buffer = empty(1 << 20, np.uint8), allocate(1 << 20)
    assert memory_pool() is None
    assert pool.bytes_allocated() - before >= 2 << 20
    del array, buffer
    assert pool.bytes_allocated() == before


@pytest.mark.parametrize("size", [2_000_004, 2 << 20, 4_000_000, (9 << 20) + 5])
def test_meanwhile_large_arrays_are_writable_and_outlive_the_pool(size: int) -> None:
    with low_retention_pool():
        array, buffer = empty(size, np.uint8), allocate(size)
    assert len(array) == buffer.size == size
    assert buffer.is_mutable
    array.fill(3)
    assert int(array.sum()) == 3 * size


def test_meanwhile_large_arrays_come_from_the_pool_if_they_cannot_be_mapped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(_: int, *, max_kept: int) -> pa.Buffer:
        raise OSError("too many mappings")

    monkeypatch.setattr("lance_core.encodings.arrow.memory_pool.huge_buffer", fail)
    pool = _spare_pool()
    before = pool.bytes_allocated()
    with low_retention_pool():
        array = empty(4 << 20, np.uint8)
    assert pool.bytes_allocated() - before >= 4 << 20
    del array


def test_meanwhile_joined_arrays_come_from_the_pool_that_keeps_least() -> None:
    pool = _spare_pool()
    before = pool.bytes_allocated()
    parts = [pa.array(np.arange(1 << 17)), pa.array(np.arange(1 << 17))]
    with low_retention_pool():
        found = [concat_arrays(parts), combine_chunks(pa.chunked_array(parts))]
    assert all(array.equals(pa.chunked_array(parts).combine_chunks()) for array in found)
    assert pool.bytes_allocated() - before >= 2 * found[0].nbytes
    assert concat_arrays(parts[:1]) is parts[0]


def test_sparing_is_over_after_an_error_and_says_nothing_of_other_threads() -> None:
    found: list[pa.MemoryPool | None] = []

    def failing() -> None:
        with low_retention_pool():
            other = threading.Thread(target=lambda: found.append(memory_pool()))
            other.start()
            other.join()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    assert found == [None]
    assert memory_pool() is None


def test_a_pool_that_somebody_chose_is_used() -> None:
    before = pa.default_memory_pool()
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        with low_retention_pool():
            assert memory_pool() is None
    finally:
        pa.set_memory_pool(before)
