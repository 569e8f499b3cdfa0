"""Pages of a few rows of several columns are read in one request if they are adjacent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from lance_core.byte_ranges import ByteRange
from lance_core.datafile import FileReader, FileWriter
from lance_core.datafile.column_map import column_of
from lance_core.encodings.decoding import RowRange
from lance_core.plugins import get_manager
from lance_core.schema import Schema
from lance_core.store.memory import MemoryStore

GROUP, GROUPS = 20_000, 4
NUMBERS = np.random.default_rng(0).normal(0, 1, GROUP * GROUPS)
TABLE = pa.table({"n": NUMBERS, "m": -NUMBERS, "l": [[1]] * len(NUMBERS)})


class Store(MemoryStore):
    """Remembers what it was asked for, and takes time for each request."""

    read_ahead = 1 << 20

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[ByteRange] = []

    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> Sequence[pa.Buffer]:
        self.asked += ranges
        return super().get_ranges(path, ranges)


def opened(store: Store, *, in_groups: bool) -> FileReader:
    """A file of `TABLE`, whose pages end with groups of rows if ``in_groups``."""
    registry = get_manager().encodings
    target = store.open_writer("file")
    writer = FileWriter(target, Schema.from_arrow(TABLE.schema), registry=registry)
    for batch in TABLE.to_batches(GROUP):
        writer.write_batch(batch)
        if in_groups:
            writer.end_pages()
    writer.finish()
    reader = FileReader.open(store, "file", registry=registry)
    store.asked.clear()
    return reader


def test_adjacent_pages_take_one_request() -> None:
    store = Store()
    reader = opened(store, in_groups=True)
    fields, rows = reader.schema.fields[:2], RowRange(GROUP, 2 * GROUP)
    columns = column_of(reader.schema.fields, reader.version)
    near = reader.with_pages(fields, columns, rows)
    assert near is not None
    assert not store.asked
    found = near.read(fields, columns, rows)
    assert len(store.asked) == 1
    expected = TABLE.slice(GROUP, GROUP)
    assert [one.to_pylist() for one in found] == [expected[n].to_pylist() for n in ("n", "m")]
    near.read(fields, columns, RowRange(0, 1))  # of other pages
    assert len(store.asked) > 1


@pytest.mark.parametrize("in_groups", [True, False])
def test_pages_that_are_far_apart_or_of_nested_fields_are_read_as_before(in_groups: bool) -> None:
    store = Store()
    reader = opened(store, in_groups=in_groups)
    fields, columns = reader.schema.fields, column_of(reader.schema.fields, reader.version)
    few = RowRange(10, 20)
    assert reader.with_pages(fields[:2], columns, few) is None
    assert reader.with_pages(fields, columns, RowRange(0, GROUP)) is None


def test_a_file_in_memory_is_its_own_reader() -> None:
    store = Store()
    store.read_ahead = 0
    reader = opened(store, in_groups=True)
    columns = column_of(reader.schema.fields, reader.version)
    assert reader.with_pages(reader.schema.fields[:2], columns, RowRange(0, GROUP)) is reader
