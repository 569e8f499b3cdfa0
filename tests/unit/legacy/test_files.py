"""Rows survive writing and reading a 0.1 file, as far as the version can hold them."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lance_core._pb.file_pb2 import Metadata
from lance_core.datafile import FileReader
from lance_core.datafile.file_output import FileOptions
from lance_core.encodings.arrow.ordered_rows import AnyRows
from lance_core.encodings.decoding import RowIndices, RowRange
from lance_core.encodings.version import FileVersion
from lance_core.errors import (
    CorruptFileError,
    InvalidInputError,
    LanceError,
    SchemaMismatchError,
)
from lance_core.plugins import get_manager
from lance_core.schema import Schema, align_batch
from lance_core.schema.dictionary_values import dictionary_fields, held, with_values
from lance_core.schema.storable import check_storable
from lance_core.store.memory import MemoryStore, Objects
from lance_core_legacy.writer import LegacyFileWriter
from lance_core_testing.stores.tracing import TracingStore
from tests import strategies
from tests.each_case import each_case
from tests.examples import examples
from tests.interop.legacy_values import read as as_read
from tests.sequences import sequence

PATH = "data/x.lance"


def written(table: pa.Table, rows_per_group: int = 1024, store: Any = None) -> FileReader:
    store = MemoryStore(Objects()) if store is None else store
    schema = Schema.from_arrow(table.schema)
    check_storable(schema, "0.1")
    aligned = [align_batch(batch, schema) for batch in table.to_batches()]
    known = {}
    for batch in aligned[:1]:
        for array, field in zip(batch.columns, schema.fields, strict=True):
            known.update({one.id: values for one, values in held(array, field)})
    schema = with_values(schema, known)
    options = FileOptions(max_rows_per_group=rows_per_group)
    writer = LegacyFileWriter(store.open_writer(PATH), schema, options)
    for batch in aligned:
        writer.write_batch(batch)
    result = writer.finish()
    assert (result.num_rows, result.version) == (table.num_rows, FileVersion.V0_1)
    assert result.size_bytes == store.head(PATH).size
    assert result.field_ids == tuple(sorted(schema.field_ids))
    return opened(store)


def opened(store: Any) -> FileReader:
    return FileReader.open(store, PATH, registry=get_manager().encodings)


def read(reader: FileReader, rows: AnyRows) -> pa.Table:
    """By the schema that the file holds, whose dictionaries are where it says."""
    fields = reader.schema.fields
    column_of = {id_: id_ for id_ in reader.schema.field_ids}
    columns = reader.read(fields, column_of, rows)
    found = pa.table(columns, names=reader.schema.names)
    found.validate(full=True)
    return found


@settings(max_examples=examples(15))
@given(st.data())
def test_rows_survive(data: st.DataObject) -> None:
    # What a null of a dictionary is read as, is tested elsewhere.
    type_ = data.draw(strategies.types().filter(lambda one: "dictionary" not in str(one)))
    array = data.draw(strategies.arrays(type_).filter(len))
    reader = written(pa.table({"x": array}), data.draw(st.integers(1, 20)))
    expected = [as_read(value, array.type) for value in array.to_pylist()]
    count = len(array)
    assert read(reader, RowRange(0, count))["x"].to_pylist() == expected
    start = data.draw(st.integers(0, count - 1))
    stop = data.draw(st.integers(start, count))
    assert read(reader, RowRange(start, stop))["x"].to_pylist() == expected[start:stop]
    chosen = sorted(data.draw(st.sets(st.integers(0, count - 1), min_size=1)))
    found = read(reader, RowIndices(np.array(chosen)))["x"]
    assert found.to_pylist() == [expected[row] for row in chosen]


MANY = pa.table(
    {
        "n": np.arange(20_000),
        "s": pa.array(np.arange(20_000)).cast(pa.string()),
        "b": np.arange(20_000) % 3 == 0,
        "d": pa.array([f"w{n % 7}" for n in range(20_000)]).dictionary_encode(),
        "l": pa.array([[n] * (n % 3) for n in range(20_000)]),
    }
)


def test_rows_of_many_batches_are_found() -> None:
    reader = written(MANY, rows_per_group=100)
    assert read(reader, RowRange(0, 20_000)).to_pylist() == MANY.to_pylist()
    rows = np.arange(3, 20_000, 37)
    assert read(reader, RowIndices(rows)).to_pylist() == MANY.take(rows).to_pylist()
    wanted = [*rows[::-1].tolist(), 19_999, 3]
    assert read(reader, sequence(wanted)).to_pylist() == MANY.take(pa.array(wanted)).to_pylist()


def test_values_of_fixed_width_are_not_copied() -> None:
    store = MemoryStore(Objects())
    # The bytes of smaller batches are joined: an array for each costs more than the copy.
    reader = written(pa.table({"n": np.arange(25_000)}), rows_per_group=5000, store=store)
    data = store.get(PATH)
    chunks = reader.read(reader.schema.fields, {0: 0}, RowRange(10, 25_000))[0].chunks
    assert len(chunks) == 5
    for chunk in chunks:
        place = chunk.buffers()[1].address - data.address
        assert 0 <= place < data.size


def test_a_column_is_read_in_a_few_requests() -> None:
    store = TracingStore(MemoryStore(Objects()))
    reader = written(MANY, rows_per_group=100, store=store)
    store.trace.clear()
    reader.read(reader.schema.fields[1:2], {1: 1}, RowRange(0, 20_000))
    assert store.trace.round_trips == 3  # its part of the page table, offsets, bytes
    store.trace.clear()
    reader.read(reader.schema.fields[1:2], {1: 1}, RowIndices(np.array([5, 9000, 19_999])))
    assert store.trace.round_trips == 2


def test_a_dictionary_does_not_change_within_a_file() -> None:
    first = pa.table({"d": pa.array(["a", "b"]).dictionary_encode()})
    second = pa.table({"d": pa.array(["a", "c"]).dictionary_encode()})
    with pytest.raises(SchemaMismatchError, match="unify_dictionaries"):
        written(pa.concat_tables([first, second]))
    assert written(pa.concat_tables([first, second]).unify_dictionaries()).num_rows == 4


def test_a_writer_that_failed_leaves_nothing() -> None:
    store = MemoryStore(Objects())
    schema = Schema.from_arrow(pa.schema({"n": pa.int32()}))
    writer = LegacyFileWriter(store.open_writer(PATH), schema)
    with pytest.raises(SchemaMismatchError, match="int64"):
        writer.write_batch(pa.record_batch({"n": pa.array([1])}))
    writer.abort()
    with pytest.raises(InvalidInputError, match="aborted"):
        writer.finish()
    assert list(store.list("")) == []


@each_case(
    "columns",
    [{}, {"n": pa.array([1], pa.int32()), "m": ["x"]}, {"n": pa.array([1])}],
    ids=["too few columns", "too many columns", "another type"],
)
def test_a_batch_that_does_not_fit_changes_nothing(columns: dict[str, Any]) -> None:
    store = MemoryStore(Objects())
    schema = Schema.from_arrow(pa.schema({"n": pa.int32()}))
    writer = LegacyFileWriter(store.open_writer(PATH), schema)
    with pytest.raises(SchemaMismatchError):
        writer.write_batch(pa.record_batch(columns))
    writer.write_batch(pa.record_batch({"n": pa.array([7], pa.int32())}))
    assert writer.finish().num_rows == 1
    reader = opened(store)
    (column,) = reader.read(reader.schema.fields, {0: 0}, RowRange(0, 1))
    assert column.to_pylist() == [7]


def damaged(change: Any) -> FileReader:
    """A file of one list column, its metadata changed by a function, opened."""
    store = MemoryStore(Objects())
    written(pa.table({"l": [["a", "b"], [], ["c"]], "n": [1, 2, 3]}), 2, store)
    data = bytes(store.get(PATH))
    (position,) = struct.unpack_from("<Q", data, len(data) - 16)
    metadata = Metadata.FromString(data[position + 4 : -16])
    body = change(bytearray(data[:position]), metadata) or data[:position]
    raw = metadata.SerializeToString()
    ending = struct.pack("<Q", len(body)) + data[-8:]
    store.put(PATH, bytes(body) + struct.pack("<I", len(raw)) + raw + ending)
    return opened(store)


def with_entry(column: int, batch: int, which: int, number: int) -> Any:
    """Another number in the page table, which has two batches."""

    def change(body: bytearray, metadata: Metadata) -> bytearray:
        place = metadata.page_table_position + (column * 2 + batch) * 16 + which * 8
        struct.pack_into("<q", body, place, number)
        return body

    return change


def with_batches(*offsets: int) -> Any:
    def change(body: bytearray, metadata: Metadata) -> None:
        metadata.batch_offsets[:] = offsets

    return change


def with_table(position: int) -> Any:
    def change(body: bytearray, metadata: Metadata) -> None:
        metadata.page_table_position = position

    return change


DAMAGE = {
    "batches do not begin at 0": with_batches(1, 3),
    "batches descend": with_batches(0, 3, 2),
    "a batch too many": with_batches(0, 2, 3, 4),
    "a batch that is too long": with_batches(0, 2, 4),
    "a huge batch": with_batches(0, 2, (1 << 31) - 1),
    "a page table in the metadata": with_table(1 << 40),
    "a page past the end": with_entry(2, 0, 0, 1 << 40),
    "a page before the start": with_entry(2, 0, 0, -8),
    "fewer values than rows": with_entry(2, 1, 1, 0),
    "a negative length": with_entry(1, 0, 1, -1),
    "an absurd length": with_entry(1, 0, 1, (1 << 63) - 1),
    "lists at the values of numbers": with_entry(0, 0, 0, 3),
    "fewer offsets than lists": with_entry(0, 0, 1, 2),
}


@each_case("change", DAMAGE.values(), ids=DAMAGE)
def test_damage_is_an_error_that_names_the_file(change: Any) -> None:
    def use() -> None:
        reader = damaged(change)
        read(reader, RowRange(0, 3))
        read(reader, RowRange(0, reader.num_rows))

    with pytest.raises(CorruptFileError) as caught:
        use()
    assert caught.value.path == PATH


def test_keys_that_the_dictionary_does_not_have_are_refused() -> None:
    store = MemoryStore(Objects())
    written(pa.table({"d": pa.array(["x", "y", "x"]).dictionary_encode()}), store=store)
    data = bytearray(store.get(PATH))
    data[:4] = struct.pack("<i", 2)
    store.put(PATH, bytes(data))
    with pytest.raises(CorruptFileError, match="number of one of 2 values"):
        read(opened(store), RowRange(0, 3))


def test_text_is_checked() -> None:
    store = MemoryStore(Objects())
    written(pa.table({"s": ["abc"]}), store=store)
    store.put(PATH, b"\xff" + bytes(store.get(PATH))[1:])
    with pytest.raises(LanceError, match="UTF-8"):
        read(opened(store), RowRange(0, 1))


def test_dictionaries_at_any_depth_are_known() -> None:
    words = pa.array(["x", "y"]).dictionary_encode()
    table = pa.table(
        {
            "s": pa.StructArray.from_arrays([words], ["inner"]),
            "l": pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), words),
        }
    )
    reader = written(table)
    assert read(reader, RowRange(0, 2)).to_pylist() == table.to_pylist()
    assert [field.dictionary.length for field in dictionary_fields(reader.schema)] == [2, 2]
