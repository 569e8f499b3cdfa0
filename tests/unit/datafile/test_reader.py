"""Rows come back as asked for, in few requests, or an error says which file is wrong and where."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lance_core._pb import file_pb2
from lance_core.datafile import FileReader, FileWriter
from lance_core.datafile.column_map import column_of
from lance_core.datafile.file_output import FileOptions
from lance_core.encodings.arrow.ordered_rows import AnyRows
from lance_core.encodings.decoding import RowIndices, RowRange
from lance_core.encodings.kernels.numpy.integer_index import IntegerIndex
from lance_core.encodings.version import FileVersion
from lance_core.errors import (
    CorruptFileError,
    InvalidInputError,
    ObjectNotFoundError,
    UnsupportedFeatureError,
)
from lance_core.plugins import get_manager
from lance_core.schema import Field, Schema
from lance_core.store.base import ObjectStore
from lance_core.store.local.store import LocalStore
from lance_core.store.memory import MemoryStore, Objects
from lance_core_testing.stores.tracing import TracingStore
from tests.each_case import each_case
from tests.sequences import sequence

Parts = Callable[..., Any]
PATH = "data/x.lance"
ROWS = 30_000
NUMBERS = np.arange(ROWS)
TABLE = pa.table(
    {
        "n": NUMBERS,
        "s": pa.array(NUMBERS).cast(pa.string()),
        "gap": pa.array(NUMBERS / 2, mask=NUMBERS % 3 == 0),
        "l": pa.ListArray.from_arrays(np.arange(0, 2 * ROWS + 1, 2), pa.array(np.arange(2 * ROWS))),
        "t": pa.StructArray.from_arrays(
            [pa.array(NUMBERS), pa.array(NUMBERS % 2 == 0)], ["a", "b"]
        ),
    }
)


def written(
    store: ObjectStore,
    table: pa.Table = TABLE,
    version: FileVersion = FileVersion.V2_0,
    **options: int,
) -> FileReader:
    writer = FileWriter(
        store.open_writer(PATH),
        Schema.from_arrow(table.schema),
        FileOptions(version, **options),
        registry=get_manager().encodings,
    )
    for batch in table.to_batches(max_chunksize=2000):
        writer.write_batch(batch)
    return opened(store, size=writer.finish().size_bytes)


def opened(store: ObjectStore, size: int | None = None) -> FileReader:
    return FileReader.open(store, PATH, registry=get_manager().encodings, size=size)


def read(reader: FileReader, rows: AnyRows, names: list[str] | None = None) -> Any:
    every = reader.schema.fields
    fields = [field for field in every if names is None or field.name in names]
    columns = reader.read(fields, column_of(every, reader.metadata.version), rows)
    return pa.table(columns, names=[field.name for field in fields]).combine_chunks()


@pytest.fixture
def store() -> TracingStore:
    return TracingStore(MemoryStore(Objects()))


MANY_PAGES = {"data_cache_bytes": 400_000}


@each_case("options", [{}, MANY_PAGES], ids=["one page", "many pages"])
@each_case(
    "rows",
    [
        RowRange(0, ROWS),
        RowRange(0, 0),
        RowRange(ROWS, ROWS),
        RowRange(9999, 10_001),
        RowRange(ROWS - 1, ROWS),
        RowIndices(np.array([0])),
        RowIndices(np.array([], np.int64)),
        RowIndices(np.array([5, 6, 7, 9999, 10_000, ROWS - 1])),
        RowIndices(np.arange(3, ROWS, 7)),
        sequence([10_000, 9999, 5, ROWS - 1, 5]),
        sequence(range(ROWS - 1, -1, -7)),
    ],
    ids=str,
)
@each_case("version", [FileVersion.V2_0, FileVersion.V2_2])
def test_rows_are_read_as_asked_for(
    store: TracingStore,
    rows: AnyRows,
    options: dict[str, int],
    version: FileVersion,
) -> None:
    reader = written(store, version=version, **options)
    wanted = (
        TABLE.slice(rows.start, len(rows))
        if isinstance(rows, RowRange)
        else TABLE.take(rows.numbers)
    )
    assert read(reader, rows) == wanted.combine_chunks()


def test_a_part_of_a_struct_may_be_read(store: TracingStore) -> None:
    reader = written(store)
    (whole,) = (field for field in reader.schema.fields if field.name == "t")
    part = whole.with_children(whole.children[1:])
    with store.measure() as trace:
        (column,) = reader.read(
            [part], column_of(reader.schema.fields, FileVersion.V2_0), RowRange(10, 13)
        )
    assert column.to_pylist() == [{"b": True}, {"b": False}, {"b": True}]
    assert trace.bytes_read < 100


def test_fields_may_be_read_in_any_order_and_none_at_all(store: TracingStore) -> None:
    reader = written(store)
    fields = reader.schema.fields
    columns = reader.read(
        [fields[2], fields[0]], column_of(fields, FileVersion.V2_0), RowRange(1, 3)
    )
    assert [column.to_pylist() for column in columns] == [[0.5, 1.0], [1, 2]]
    assert reader.read([], {}, RowRange(0, ROWS)) == []


def test_all_columns_share_their_requests(store: TracingStore) -> None:
    reader = written(store)
    read(reader, RowRange(0, 1))
    with store.measure() as trace:
        read(reader, RowRange(0, ROWS))
    scan = trace.round_trips
    with store.measure() as trace:
        read(reader, RowIndices(np.array([17, 20_000])))
    assert (scan, trace.round_trips) == (2, 2)


def test_a_small_file_is_read_once(store: TracingStore) -> None:
    written(store, TABLE.slice(0, 100))
    with store.measure() as trace:
        reader = opened(store, size=store.head(PATH).size)
        assert read(reader, RowRange(0, 100)) == TABLE.slice(0, 100).combine_chunks()
        assert read(reader, RowIndices(np.array([7]))).num_rows == 1
    assert trace.counts == {"head": 1, "get_ranges": 1}


def test_a_known_size_saves_a_request(store: TracingStore) -> None:
    size = written(store).metadata.size
    for given, requests in ((size, 1), (None, 2)):
        with store.measure() as trace:
            opened(store, given)
        assert trace.round_trips == requests


def test_values_without_nulls_are_views_of_the_file(tmp_path: Path) -> None:
    reader = written(LocalStore(tmp_path, "fast"))
    before = pa.total_allocated_bytes()
    columns = reader.read(
        reader.schema.fields[:1],
        column_of(reader.schema.fields, FileVersion.V2_0),
        RowRange(0, ROWS),
    )
    assert pa.total_allocated_bytes() == before
    assert columns[0].combine_chunks() == TABLE["n"].combine_chunks()


def test_what_was_read_outlives_file_and_reader(tmp_path: Path) -> None:
    store = LocalStore(tmp_path, "fast")
    table = read(written(store), RowRange(0, ROWS))
    store.delete(PATH)
    assert table == TABLE.combine_chunks()


@pytest.mark.parametrize("version", [FileVersion.V2_0, FileVersion.V2_2])
def test_threads_may_share_a_reader(store: TracingStore, version: FileVersion) -> None:
    reader = written(store, version=version, **MANY_PAGES)
    with ThreadPoolExecutor(8) as pool:
        parts = list(
            pool.map(lambda i: read(reader, RowRange(i * 500, i * 500 + 500)), range(ROWS // 500))
        )
    assert pa.concat_tables(parts).combine_chunks() == TABLE.combine_chunks()


@pytest.mark.parametrize(
    "rows",
    [
        RowRange(0, ROWS + 1),
        RowRange(-1, 5),
        RowRange(5, 4),
        RowRange(ROWS + 1, ROWS + 1),
        RowIndices(np.array([-1, 5])),
        RowIndices(np.array([ROWS])),
    ],
    ids=str,
)
def test_rows_that_are_not_there_are_the_callers_mistake(
    store: TracingStore, rows: RowRange | RowIndices
) -> None:
    with pytest.raises(InvalidInputError, match=PATH):
        read(written(store), rows)


@pytest.mark.parametrize("index", [-1, 1, 1 << 40])
def test_a_global_buffer_that_is_not_there_is_the_callers_mistake(
    store: TracingStore, index: int
) -> None:
    with pytest.raises(InvalidInputError, match=PATH):
        written(store).read_global_buffer(index)


def test_a_file_that_is_not_there_is_not_found(store: TracingStore) -> None:
    for size in (None, 1000):
        with pytest.raises(ObjectNotFoundError, match=PATH):
            opened(store, size)


@pytest.mark.parametrize("change", [-1, 1, -100, 100])
def test_a_wrong_size_is_noticed(store: TracingStore, change: int) -> None:
    size = written(store).metadata.size
    with pytest.raises(CorruptFileError, match=PATH):
        opened(store, size + change)


def test_an_old_file_is_recognised(store: TracingStore) -> None:
    """Its metadata is empty here: there are no batches."""
    store.put(PATH, bytes(100) + b"\0\0\x02\0LANC")
    reader = opened(store)
    assert (reader.version, reader.num_rows) == (FileVersion.V0_1, 0)
    with pytest.raises(UnsupportedFeatureError, match=r"0\.1"):
        _ = reader.metadata


def check_damage(store: TracingStore, parts: Any, text: str) -> None:
    store.put(PATH, parts.build())
    with pytest.raises(CorruptFileError, match=text) as caught:
        read(opened(store), RowRange(0, 20))
    assert caught.value.path == PATH
    assert pickle.loads(pickle.dumps(caught.value)).path == PATH


def described(parts: Any, change: Callable[[file_pb2.FileDescriptor], object]) -> Any:
    descriptor = file_pb2.FileDescriptor.FromString(parts.descriptor)
    change(descriptor)
    return replace(parts, descriptor=descriptor.SerializeToString())


def test_a_good_file_made_by_hand_is_read(store: TracingStore, file_parts: Parts) -> None:
    store.put(PATH, file_parts().build())
    assert read(opened(store), RowRange(9, 11)).to_pydict() == {"c0": [9, 10], "c1": [109, 110]}


def test_an_error_names_the_file(store: TracingStore, file_parts: Parts) -> None:
    parts = file_parts()
    check_damage(store, replace(parts, descriptor=b"\xff"), "FileDescriptor")
    check_damage(store, replace(parts, columns=[parts.columns[0], b"\xff"]), r"columns\[1\]")


@pytest.mark.parametrize("length", [1, 19, 21, 1 << 40, (1 << 64) - 1])
def test_columns_must_be_as_long_as_the_file(
    store: TracingStore, file_parts: Parts, length: int
) -> None:
    store.put(PATH, file_parts(length=length).build())
    with pytest.raises(CorruptFileError, match=r"c0.*20 rows"):
        read(opened(store), RowRange(0, 1))


def test_a_field_without_its_column_is_refused(store: TracingStore, file_parts: Parts) -> None:
    parts = file_parts()
    check_damage(store, replace(parts, columns=parts.columns[:1]), "column 1")


def test_a_type_that_the_buffers_are_too_small_for_is_refused(
    store: TracingStore, file_parts: Parts
) -> None:
    parts = described(file_parts(), lambda d: setattr(d.schema.fields[1], "logical_type", "int64"))
    check_damage(store, parts, "c1")


def test_a_wrong_mapping_is_an_error(store: TracingStore) -> None:
    reader = written(store)
    (text,) = (field for field in reader.schema.fields if field.name == "s")
    with pytest.raises(CorruptFileError, match=PATH):
        reader.read([text], {text.id: 99}, RowRange(0, 5))
    with pytest.raises((CorruptFileError, UnsupportedFeatureError)):
        reader.read([text], {}, RowRange(0, 5))
    other = Field("x", "int32", id=text.id)
    with pytest.raises((CorruptFileError, UnsupportedFeatureError)):
        reader.read(
            [other],
            {text.id: column_of(reader.schema.fields, FileVersion.V2_0)[text.id]},
            RowRange(0, 5),
        )


def test_what_is_known_of_a_field_is_of_its_columns() -> None:
    numbers = pa.array(range(10))
    both = pa.StructArray.from_arrays([numbers, pc.negate(numbers)], ["a", "b"])
    reader = written(MemoryStore(), pa.table({"t": both}), FileVersion.V2_2)
    (field,) = reader.schema.fields
    a, b = (member.id for member in field.children)
    for columns in ({a: 0, b: 1}, {a: 1, b: 0}, {a: 0, b: 1}):
        for rows in (RowRange(3, 4), RowRange(0, 10)):
            (found,) = reader.read([field], columns, rows)
            sign = 1 if columns[a] == 0 else -1
            expected = [sign * n for n in range(rows.start, rows.stop)]
            assert pc.struct_field(found, 0).to_pylist() == expected


SEARCHED = pa.table(
    {
        "sorted": NUMBERS,
        "shuffled": np.random.default_rng(0).permutation(NUMBERS).astype(np.uint32),
        "repeated": pa.array(NUMBERS % 500, pa.int16()),
        "time": pa.array(NUMBERS * 3, pa.timestamp("us")),
        "gap": pa.array(NUMBERS, mask=NUMBERS % 3 == 0),
        "flag": NUMBERS % 2 == 0,
        "text": pa.array(NUMBERS).cast(pa.string()),
        "list": pa.ListArray.from_arrays(np.arange(ROWS + 1), pa.array(NUMBERS)),
        "struct": pa.StructArray.from_arrays([pa.array(NUMBERS)], ["a"]),
    }
)
PACKED = ("sorted", "shuffled", "repeated", "time")


@pytest.mark.fast_path
@each_case("version", [FileVersion.V2_0, FileVersion.V2_1, FileVersion.V2_2])
def test_integers_are_found_in_packed_columns(version: FileVersion) -> None:
    reader = written(MemoryStore(), SEARCHED, version)
    members = np.array([-1, 0, 1, 7, 499, 1023, 1024, 3 * 1024, 12_000, ROWS - 1, 1 << 40])
    index = IntegerIndex(members)
    fields = reader.schema.fields
    places = column_of(reader.schema.fields, version)
    for field in fields:
        plain = SEARCHED.column(field.name)
        for start, stop in [(0, ROWS), (0, 1), (1023, 1025), (5000, 20_000), (ROWS - 1, ROWS)]:
            found = reader.find_integers(field, places, RowRange(start, stop), index)
            if version is FileVersion.V2_0 or field.name not in PACKED:
                assert found is None
                continue
            assert found is not None
            values = plain.slice(start, stop - start).cast(pa.int64()).to_numpy()
            expected = np.flatnonzero(np.isin(values, members))
            assert found[0].tolist() == expected.tolist()
            assert members[found[1]].tolist() == values[expected].tolist()


@pytest.mark.fast_path
def test_a_search_in_many_pages_is_left_to_the_caller() -> None:
    reader = written(MemoryStore(), SEARCHED, FileVersion.V2_1, data_cache_bytes=1)
    (field,) = (field for field in reader.schema.fields if field.name == "sorted")
    places = column_of(reader.schema.fields, FileVersion.V2_1)
    index = IntegerIndex(np.array([1000, 2500, 4000, 9999, 10_000]))
    assert reader.find_integers(field, places, RowRange(0, ROWS), index) is None
    found = reader.find_integers(field, places, RowRange(1999, 10_000), index)
    assert found is not None
    assert found[0].tolist() == [2500 - 1999, 4000 - 1999, 9999 - 1999]
    assert found[1].tolist() == [1, 2, 3]


@pytest.mark.fast_path
def test_a_search_refuses_rows_outside_of_the_file_and_damaged_chunks() -> None:
    store = MemoryStore(Objects())
    reader = written(store, SEARCHED.select(["sorted"]), FileVersion.V2_1)
    (field,) = reader.schema.fields
    places = column_of(reader.schema.fields, FileVersion.V2_1)
    index = IntegerIndex(np.array([100]))
    with pytest.raises(InvalidInputError):
        reader.find_integers(field, places, RowRange(0, ROWS + 1), index)
    data = bytearray(store.get(PATH))
    data[:4096] = b"\xff" * 4096
    store.put("data/y.lance", bytes(data))
    damaged = FileReader.open(store, "data/y.lance", registry=get_manager().encodings)
    with pytest.raises(CorruptFileError, match=r"data/y\.lance"):
        damaged.find_integers(field, places, RowRange(0, ROWS), index)
