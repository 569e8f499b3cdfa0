"""Where large arrays are, and what becomes of their memory."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from lance_core.encodings.room import give_back, room

_FREED = """
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from resource import getpagesize
from lance_core.encodings.room import give_back, room

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * getpagesize()

def work():
    for array in [room(1 << 20, "u1") for _ in range(64)]:
        array.fill(1)
    del array
    give_back()

with ThreadPoolExecutor(1) as pool:
    before = resident()
    pool.submit(work).result()
    print(resident() - before)
"""


@pytest.mark.parametrize("count", [0, 1, 1 << 10, 1 << 20])
def test_an_array_has_as_many_elements_as_asked_for(count: int) -> None:
    array = room(count, np.int32)
    array[:] = 7
    assert array.dtype == np.int32
    assert array.tolist() == [7] * count


def test_large_arrays_are_in_the_pool_until_the_last_use() -> None:
    before = pa.total_allocated_bytes()
    array = room(1 << 20, np.uint8)
    view = pa.py_buffer(array)
    assert pa.total_allocated_bytes() - before >= 1 << 20
    del array
    assert pa.total_allocated_bytes() - before >= 1 << 20
    del view
    assert pa.total_allocated_bytes() == before


def test_what_is_in_use_stays_when_memory_is_given_back() -> None:
    kept, freed = room(1 << 20, np.uint8), room(1 << 20, np.uint8)
    kept.fill(3)
    freed.fill(4)
    del freed
    give_back()
    assert (kept == 3).all()


def test_freed_memory_is_given_back_by_the_thread_that_had_it() -> None:
    command = [sys.executable, "-c", _FREED]
    grown = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert grown < 16 << 20
