"""Memory with huge pages: which mappings later buffers use again, and when it is given back."""

from __future__ import annotations

import gc
import mmap
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_core.encodings.arrow import huge_pages
from lance_core.encodings.arrow.huge_pages import (
    MAX_KEPT_BYTES,
    drop_kept,
    huge_buffer,
    huge_bytes,
)

MB = 1 << 20

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="huge pages are those of Linux")


@pytest.fixture(autouse=True)
def _nothing_kept() -> Iterator[None]:
    gc.collect()
    drop_kept()
    huge_pages._most_kept.cache_clear()
    yield
    drop_kept()
    huge_pages._most_kept.cache_clear()


def kept_buffer(size: int) -> pa.Buffer:
    return huge_buffer(size, max_kept=MAX_KEPT_BYTES)


@given(st.integers(1, 64 << 20))
def test_huge_pages_add_at_most_an_eighth_to_a_buffer(size: int) -> None:
    huge = huge_bytes(size)
    assert huge % (2 * MB) == 0
    assert size - 2 * MB < huge <= size + size // 8


def test_the_memory_of_a_freed_buffer_is_used_again() -> None:
    first = kept_buffer(8 * MB)
    place = first.address
    del first
    again = kept_buffer(8 * MB - 5)
    assert again.address == place
    assert again.size == 8 * MB - 5
    assert kept_buffer(8 * MB).address != place


def test_memory_can_be_given_back_at_once() -> None:
    huge_buffer(8 * MB, max_kept=0)
    assert not _kept_megabytes()
    kept_buffer(8 * MB)
    assert _kept_megabytes() == [8]
    buffers = [huge_buffer(4 * MB, max_kept=6 * MB) for _ in range(2)]
    while buffers:
        buffers.pop()
    assert _kept_megabytes() == [4]


def test_memory_is_in_use_until_its_last_view_is_freed() -> None:
    first = kept_buffer(4 * MB)
    place = first.address
    view = np.frombuffer(first, np.uint8)[: 2 * MB]
    view[:] = 7
    del first
    other = kept_buffer(4 * MB)
    np.frombuffer(other, np.uint8).fill(8)
    assert (view == 7).all()
    del view
    assert kept_buffer(4 * MB).address == place


def test_a_small_buffer_does_not_use_much_larger_memory() -> None:
    first = kept_buffer(32 * MB)
    place = first.address
    del first
    assert kept_buffer(16 * MB).address != place
    assert kept_buffer(29 * MB).address == place


def test_of_kept_mappings_the_smallest_that_fits_is_used() -> None:
    sizes = {size: kept_buffer(size * MB) for size in (36, 32, 34)}
    places = {size: buffer.address for size, buffer in sizes.items()}
    sizes.clear()
    found = [kept_buffer(32 * MB) for _ in range(3)]
    assert [one.address for one in found] == [places[size] for size in (32, 34, 36)]


def test_kept_memory_is_limited_and_other_sizes_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huge_pages, "MAX_KEPT_BYTES", 12 * MB)
    sizes = [6, 4, 4, 4]
    buffers = [kept_buffer(size * MB) for size in sizes]
    while buffers:
        del buffers[0]
    assert _kept_megabytes() == [4, 4, 4]
    kept_buffer(6 * MB)
    assert _kept_megabytes() == [4, 6]


def test_the_system_may_take_kept_memory() -> None:
    before = _lazily_freed()
    buffer = kept_buffer(64 * MB)
    np.frombuffer(buffer, np.uint8).fill(1)
    del buffer
    assert _lazily_freed() - before >= 32 * MB


def test_nothing_is_kept_if_the_address_space_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _: (1 << 40, 1 << 40))
    kept_buffer(4 * MB)
    assert not _kept_megabytes()


def test_nothing_is_kept_if_the_system_could_not_take_it(monkeypatch: pytest.MonkeyPatch) -> None:
    buffer = kept_buffer(4 * MB)
    monkeypatch.setattr("lance_core.encodings.arrow.huge_pages.mmap.MADV_FREE", -1)
    del buffer
    assert not _kept_megabytes()


def test_kept_memory_is_given_back_before_an_allocation_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept_buffer(4 * MB)
    calls = []

    class Full(mmap.mmap):
        def __new__(cls, *arguments: int, **options: int) -> Full:
            calls.append(len(_kept_megabytes()))
            if len(calls) == 1:
                raise OSError("no memory")
            return super().__new__(cls, *arguments, **options)

    monkeypatch.setattr("lance_core.encodings.arrow.huge_pages.mmap.mmap", Full)
    assert kept_buffer(32 * MB).size == 32 * MB
    assert calls == [1, 0]


def test_threads_never_share_memory() -> None:
    def work(number: int) -> bool:
        for _ in range(50):
            some = [np.frombuffer(kept_buffer(size * MB), np.uint8) for size in (2, 4, 2)]
            for array in some:
                array[::4096] = number
            if not all((array[::4096] == number).all() for array in some):
                return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(1, 9)))


def test_arrays_keep_their_memory() -> None:
    array = pa.Array.from_buffers(pa.int64(), MB, [None, kept_buffer(8 * MB)])
    np.frombuffer(array.buffers()[1], np.int64).fill(5)
    gc.collect()
    other = kept_buffer(8 * MB)
    np.frombuffer(other, np.int64).fill(6)
    assert array[MB - 1].as_py() == 5


def _lazily_freed() -> int:
    """Bytes that this process has marked as free and still has."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("LazyFree:")) << 10


def _kept_megabytes() -> list[int]:
    return sorted(len(one) // MB for some in huge_pages._kept.values() for one in some)
