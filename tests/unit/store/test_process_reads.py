"""Totals of what the process has read."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import lance_core
from lance_core.byte_ranges import ByteRange
from lance_core.store.memory import MemoryStore
from lance_core.store.process_reads import bytes_read_counter, iops_counter


def test_ranges_and_objects_are_counted() -> None:
    store = MemoryStore()
    store.put("a", b"0123456789")
    reads, size = iops_counter(), bytes_read_counter()
    store.get_ranges("a", [ByteRange(0, 3), ByteRange(5, 6)])
    assert (iops_counter() - reads, bytes_read_counter() - size) == (2, 4)
    store.get("a")
    assert (iops_counter() - reads, bytes_read_counter() - size) == (3, 14)


@pytest.mark.parametrize("rows", [3, 100_000])
def test_reads_of_a_table_are_counted(tmp_path: Path, rows: int) -> None:
    table = pa.table({"a": range(rows)})
    dataset = lance_core.write_dataset(table, tmp_path)
    reads, size = lance_core.iops_counter(), lance_core.bytes_read_counter()
    dataset.to_table()
    assert lance_core.iops_counter() > reads
    assert lance_core.bytes_read_counter() - size >= table.nbytes // 8
