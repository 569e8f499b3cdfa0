"""Writing fields: when rows become pages, what pages share, what is refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from lance_core._pb.encodings_v2_0_pb2 import ArrayEncoding
from lance_core.encodings.context import EncodeContext
from lance_core.encodings.decoding import RowRange
from lance_core.encodings.dispatch import field_encoder
from lance_core.encodings.registry import EncodingRegistry
from lance_core.encodings.version import FileVersion
from lance_core.errors import LanceError, SchemaMismatchError, UnsupportedFeatureError
from lance_core.schema import Schema
from lance_core_testing.encodings.stored_field import StoredField

Store = Callable[..., StoredField]


def numbers(start: int, stop: int) -> pa.Array:
    return pa.array(np.arange(start, stop))


def rows_of(stored: StoredField, column: int = 0) -> list[int]:
    return [page.num_rows for page in stored.pages_of(column)]


def test_small_arrays_wait_for_each_other(store: Store) -> None:
    stored = store(*(numbers(i, i + 10) for i in range(0, 100, 10)), flush_bytes=8 * 35)
    assert rows_of(stored) == [40, 40, 20]
    assert [page.priority for page in stored.pages] == [0, 40, 80]
    assert pa.concat_arrays(stored.read(RowRange(0, 100))).equals(numbers(0, 100))


def test_an_array_that_fills_a_page_is_written_from_where_it_is(registry: EncodingRegistry) -> None:
    array = numbers(0, 1000)
    schema = Schema.from_arrow(pa.schema([("x", array.type)]))
    context = EncodeContext(FileVersion.V2_0, registry, lambda _: 0, flush_bytes=8 * 1000)
    (page,) = field_encoder(schema.fields[0], context).write(array)
    assert page.buffers[0].address == array.buffers()[1].address


def test_small_arrays_do_not_keep_the_memory_they_are_part_of(registry: EncodingRegistry) -> None:
    pool = pa.system_memory_pool()
    schema = Schema.from_arrow(pa.schema([("x", pa.int64())]))
    context = EncodeContext(FileVersion.V2_0, registry, lambda _: 0)
    encoder = field_encoder(schema.fields[0], context)
    before = pool.bytes_allocated()
    for _ in range(20):
        buffer = pa.allocate_buffer(1 << 20, memory_pool=pool)
        large = pa.Array.from_buffers(pa.int64(), 1 << 17, [None, buffer])
        del buffer
        assert list(encoder.write(large.slice(5, 3))) == []
        del large
    assert pool.bytes_allocated() == before
    (page,) = encoder.flush()
    assert page.num_rows == 60


def test_a_large_array_becomes_pages_of_limited_size(store: Store) -> None:
    stored = store(numbers(0, 1000), flush_bytes=100, max_page_bytes=8 * 300)
    assert rows_of(stored) == [250] * 4
    assert [page.priority for page in stored.pages] == [0, 250, 500, 750]
    texts = pa.array(["x" * 100] * 10)
    assert rows_of(store(texts, flush_bytes=100, max_page_bytes=50)) == [1] * 10


def test_what_waits_is_written_before_an_array_that_fills_a_page(store: Store) -> None:
    stored = store(numbers(0, 3), numbers(3, 100), numbers(100, 102), flush_bytes=300)
    assert rows_of(stored) == [3, 97, 2]
    assert pa.concat_arrays(stored.read(RowRange(0, 102))).equals(numbers(0, 102))


def test_pages_of_items_belong_to_one_page_of_lists(store: Store) -> None:
    lists = [pa.array([[i, i + 1]] * 10, pa.list_(pa.int64())) for i in range(12)]
    stored = store(*lists, flush_bytes=100)
    assert sum(rows_of(stored)) == 120
    assert len(rows_of(stored)) > 1
    items = iter(rows_of(stored, 1))
    for page in stored.pages_of(0):
        wanted = ArrayEncoding.FromString(page.encoding).list.num_items
        got = 0
        while got < wanted:
            got += next(items)
        assert got == wanted
    assert list(items) == []


def test_items_of_lists_know_their_top_level_row(store: Store) -> None:
    lists = [pa.array([[i] * 50], pa.list_(pa.int64())) for i in range(10)]
    stored = store(*lists, flush_bytes=900)
    assert [page.priority for page in stored.pages_of(1)] == [0, 3, 6, 9]
    stored = store(pa.array([[1] * 900, [2] * 900]), flush_bytes=100, max_page_bytes=8 * 500)
    assert [page.priority for page in stored.pages_of(1)] == [0, 1, 1, 1]


def test_many_lists_become_pages_of_limited_size(store: Store) -> None:
    lists = pa.ListArray.from_arrays(pa.array([0] * 2001, pa.int32()), pa.array([], pa.int8()))
    stored = store(lists, max_page_bytes=8 * 500, flush_bytes=100)
    assert rows_of(stored) == [500] * 4
    assert pa.concat_arrays(stored.read(RowRange(0, 2000))).equals(lists)


def test_what_lies_outside_of_a_slice_of_lists_is_not_written(store: Store) -> None:
    lists = pa.array([[i] * 3 for i in range(100)], pa.list_(pa.int32()))
    stored = store(lists.slice(40, 5))
    assert stored.pages_of(1)[0].num_rows == 15
    assert pa.concat_arrays(stored.read(RowRange(0, 5))).equals(lists.slice(40, 5))


def test_no_rows_are_no_pages_but_a_header(store: Store) -> None:
    assert store(pa.array([], pa.int64())).pages == []
    assert store(pa.array([], pa.list_(pa.string()))).pages == []
    (header,) = store(pa.array([], pa.struct({"a": pa.int8()}))).pages
    assert (header.column, header.num_rows) == (0, 0)


def test_views_and_extensions_are_stored_as_what_they_are_made_of(
    registry: EncodingRegistry,
) -> None:
    for arrow, array in {
        pa.field("x", pa.string_view()): pa.array(["a", None, "b" * 40], pa.string_view()),
        pa.field("x", pa.binary_view()): pa.array([b"a", None], pa.binary_view()),
        pa.field("x", pa.uuid()): pa.array([b"0" * 16, None], pa.uuid()),
    }.items():
        (field,) = Schema.from_arrow(pa.schema([arrow])).fields
        stored = StoredField.write(field, [array], registry)
        (got,) = stored.read(RowRange(0, len(array)))
        assert got.type == field.storage_type
        assert got.to_pylist() == array.cast(field.storage_type).to_pylist()


def test_null_structs_are_refused_naming_the_field(store: Store) -> None:
    with pytest.raises(UnsupportedFeatureError, match=r"field 'x': 1 structs are null"):
        store(pa.array([{"a": 1}, None]))
    with pytest.raises(UnsupportedFeatureError, match=r"field 'x\.item\.b': 2 structs are null"):
        store(pa.array([[{"b": {"c": 1}}, {"b": None}], [{"b": None}]]))


@pytest.mark.parametrize(
    ("type_", "metadata", "path"),
    [
        (pa.list_(pa.string(), 2), {}, "'x'"),
        (pa.struct({"y": pa.list_(pa.list_(pa.binary(), 2))}), {}, r"'x\.y\.item'"),
        (pa.map_(pa.string(), pa.int8()), {}, "'x'"),
        (pa.list_(pa.struct({"y": pa.int8()}), 2), {}, "'x'"),
        (pa.binary(0), {}, "'x'"),
        (pa.string(), {"lance-encoding:blob": "true"}, "'x'"),
        (pa.struct({"y": pa.struct({})}), {"packed": "true"}, r"'x\.y'"),
        (pa.struct({"y": pa.string()}), {"packed": "true"}, r"'x\.y'"),
        (pa.struct({"y": pa.list_(pa.bool_(), 8)}), {"packed": "true"}, r"'x\.y'"),
    ],
    ids=str,
)
def test_types_that_2_0_does_not_have_are_refused_naming_the_field(
    type_: pa.DataType, metadata: dict[str, str], path: str, registry: EncodingRegistry
) -> None:
    arrow = pa.schema([pa.field("x", type_, metadata=metadata)])
    with pytest.raises(UnsupportedFeatureError, match=path):
        StoredField.write(Schema.from_arrow(arrow).fields[0], [], registry)


@pytest.mark.parametrize(
    "array",
    [
        pa.array([{"a": 1, "b": None}, {"a": 1, "b": 2}]),
        pa.array([{"a": [1, None]}], pa.struct({"a": pa.list_(pa.int8(), 2)})),
    ],
    ids=lambda array: str(array.type),
)
def test_packed_structs_that_cannot_be_packed_are_refused(array: pa.Array, store: Store) -> None:
    with pytest.raises(UnsupportedFeatureError):
        store(array, metadata={"packed": "true"})


def test_arrays_of_another_type_are_refused(registry: EncodingRegistry) -> None:
    (field,) = Schema.from_arrow(pa.schema([("x", pa.int64())])).fields
    with pytest.raises(SchemaMismatchError, match="expected int64, got string"):
        StoredField.write(field, [pa.array(["a"])], registry)


@pytest.mark.parametrize("version", [FileVersion.V0_1])
def test_versions_that_are_not_there_are_refused(
    version: FileVersion, registry: EncodingRegistry
) -> None:
    (field,) = Schema.from_arrow(pa.schema([("x", pa.int64())])).fields
    with pytest.raises(LanceError, match=f"file version {version} is not supported"):
        StoredField.write(field, [], registry, version)
