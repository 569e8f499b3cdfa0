"""Blobs of any size pass through without being held in memory."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.plugins.store_cache import live_stores
from tests.unit.dataset.blobs import blob_tables as blobs

HUGE = 100 << 20
MOST_BYTES = 48 << 20


def own_bytes() -> int:
    """Memory of this process that no file is behind of, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) << 10
    raise AssertionError("the system does not say")


def mapped(path: Path, size: int) -> pa.Buffer:
    """The bytes of a file of zeros that takes no space."""
    with path.open("wb") as file:
        file.truncate(size)
    with pa.memory_map(str(path)) as source:
        return source.read_buffer()


@pytest.mark.parametrize("version", ["2.1", "2.2"])
def test_a_huge_blob_is_written_and_read_in_little_memory(
    uri: str, tmp_path: Path, version: str
) -> None:
    ends = pa.py_buffer(np.array([0, HUGE], np.int64))
    data = mapped(tmp_path / "huge", HUGE)
    column = pa.Array.from_buffers(pa.large_binary(), 1, [None, ends, data])
    before = own_bytes()
    made = lance.write_dataset(
        pa.table([column], schema=pa.schema([blobs.V1])), uri, data_storage_version=version
    )
    assert own_bytes() - before < MOST_BYTES
    tracemalloc.start()
    try:
        (file,) = made.take_blobs("b", indices=[0])
        assert file is not None
        piece, total = bytearray(1 << 20), 0
        while count := file.readinto(piece):
            total += count
        assert total == HUGE
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
        assert file.read_range(HUGE - 3, 3) == bytes(3)
    finally:
        tracemalloc.stop()
    assert own_bytes() - before < MOST_BYTES
    live_stores.reset()  # a store that is cached keeps the file mapped


def test_a_stream_of_blobs_takes_a_bounded_part_of_them(uri: str) -> None:
    part = pa.array([b"\1" * (1 << 20)] * 8, pa.large_binary())
    schema = pa.schema([blobs.V1])
    batches = (pa.record_batch([part], schema=schema) for _ in range(25))
    reader = pa.RecordBatchReader.from_batches(schema, batches)
    before = own_bytes()
    made = lance.write_dataset(reader, uri, data_storage_version="2.1")
    assert own_bytes() - before < MOST_BYTES
    rows = sum(batch.num_rows for batch in made.to_batches(blob_handling="all_binary"))
    assert rows == 200
    assert own_bytes() - before < 200 << 20
