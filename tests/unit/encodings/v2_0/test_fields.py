"""Fields made of several columns: lists, structs, pages that do not line up, pruned children."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest

from lance_core._pb.encodings_v2_0_pb2 import ArrayEncoding
from lance_core.byte_ranges import ByteRange
from lance_core.encodings import v2_0
from lance_core.encodings.decoding import RowIndices, RowRange, Rows
from lance_core.encodings.page import Column, ForeignEncoding, Page
from lance_core.encodings.registry import EncodingRegistry
from lance_core.encodings.v2_0.fast import page_run
from lance_core.encodings.version import FileVersion
from lance_core.errors import CorruptFileError, PluginNotFoundError, UnsupportedFeatureError
from lance_core_testing.encodings.stored_field import StoredField
from tests.each_case import each_case
from tests.unit.encodings.v2_0.conftest import field_of

Store = Callable[..., StoredField]

NUMBERS = range(120)
ARRAYS = {
    "list": pa.array([None if i % 7 == 1 else list(range(i % 5)) for i in NUMBERS]),
    "large_list": pa.array([[str(i)] * (i % 4) for i in NUMBERS], pa.large_list(pa.string())),
    "list of list": pa.array([[[i, None], None, []][: i % 4] for i in NUMBERS]),
    "struct": pa.array([{"a": i, "b": {"c": str(i), "d": None}} for i in NUMBERS]),
    "list of struct": pa.array([[{"a": i, "b": "x" * i}] * (i % 3) for i in NUMBERS]),
    "struct of list": pa.array([{"a": list(range(i % 4)), "b": i, "c": [None]} for i in NUMBERS]),
    "empty struct": pa.array([{}] * 120, pa.struct([])),
    "lists without items": pa.array([[], None] * 60, pa.list_(pa.struct({"a": pa.int8()}))),
}
SELECTIONS: list[Rows] = [
    RowRange(0, 120),
    RowRange(0, 1),
    RowRange(119, 120),
    RowRange(13, 87),
    RowIndices(np.array([0, 119])),
    RowIndices(np.arange(0, 120, 7)),
    RowIndices(np.arange(40, 60)),
    RowIndices(np.arange(1, 120, 2)),
]


def picked(array: pa.Array, rows: Rows) -> pa.Array:
    if isinstance(rows, RowRange):
        return array.slice(rows.start, len(rows))
    return array.take(pa.array(rows.values))


def joined(arrays: Sequence[pa.Array]) -> pa.Array:
    for array in arrays:
        array.validate(full=True)
        assert len(array)
    return pa.concat_arrays(arrays)


@each_case("flush_bytes", [8 << 20, 300, 1])
@each_case("chunk", [120, 50, 7])
@each_case("name", ARRAYS)
def test_rows_come_back(name: str, chunk: int, flush_bytes: int, store: Store) -> None:
    array = ARRAYS[name]
    chunks = [array.slice(start, chunk) for start in range(0, 120, chunk)]
    stored = store(*chunks, flush_bytes=flush_bytes)
    for rows in SELECTIONS:
        for gap in (0, 1 << 40):
            assert joined(stored.read(rows, gap)).equals(picked(array, rows)), rows


def test_no_rows_are_no_arrays(store: Store) -> None:
    stored = store(ARRAYS["list of struct"])
    assert stored.read(RowRange(5, 5)) == []
    assert stored.read(RowIndices(np.array([], np.int64))) == []
    assert stored.asked == 0


def test_pruned_structs_read_only_what_is_left(store: Store) -> None:
    stored = store(ARRAYS["struct of list"], flush_bytes=200)
    a, b, c = stored.field.children
    only = stored.field.with_children((c, b))
    expected = pa.array(
        [{"c": [None], "b": i} for i in NUMBERS],
        pa.struct([ARRAYS["struct of list"].type.field(name) for name in ("c", "b")]),
    )
    assert joined(stored.read(RowRange(0, 120), only=only)).equals(expected)
    assert joined(stored.read(RowRange(3, 50), only=stored.field)).to_pylist()[0]["a"] == [0, 1, 2]
    nothing = stored.field.with_children(())
    assert joined(stored.read(RowRange(0, 9), only=nothing)).to_pylist() == [{}] * 9
    assert a.name == "a"


def test_pruned_lists_of_structs_keep_their_lists(store: Store) -> None:
    stored = store(ARRAYS["list of struct"])
    (item,) = stored.field.children
    only = stored.field.with_children((item.with_children(item.children[:1]),))
    got = joined(stored.read(RowRange(0, 120), only=only))
    assert got.to_pylist() == [[{"a": i}] * (i % 3) for i in NUMBERS]


def test_a_scan_of_nested_columns_takes_as_many_rounds_as_it_is_deep(store: Store) -> None:
    stored = store(ARRAYS["list of list"], flush_bytes=100)
    stored.read(RowRange(0, 120))
    assert stored.asked == 3
    stored = store(ARRAYS["struct"], flush_bytes=100)
    stored.read(RowRange(0, 120))
    assert stored.asked == 1


def test_fixed_width_members_of_lists_are_not_copied(store: Store) -> None:
    offsets = pa.array(range(0, 1001, 5), pa.int32())
    array = pa.ListArray.from_arrays(offsets, pa.array(range(1000)))
    stored = store(array)
    (got,) = stored.read(RowRange(0, 200))
    place = stored.columns[1].pages[0].buffers[0]
    assert got.values.buffers()[1].size == place.length


@pytest.mark.parametrize(
    ("column", "text"), [(0, "row 119 of a column that has 100 rows"), (1, "100 rows")]
)
def test_a_column_that_is_too_short_is_corruption(column: int, text: str, store: Store) -> None:
    stored = store(ARRAYS["struct"])
    stored.columns[column] = _cut(stored.columns[column], 100)
    assert len(joined(stored.read(RowRange(0, 100)))) == 100
    for rows in (RowRange(0, 120), RowIndices(np.array([3, 119]))):
        with pytest.raises(CorruptFileError, match=text):
            stored.read(rows)


def _cut(column: Column, rows: int) -> Column:
    (page,) = column.pages
    return Column((dataclasses.replace(page, num_rows=rows),), (), column.encoding)


def test_items_that_are_not_there_are_corruption_naming_the_path(store: Store) -> None:
    stored = store(ARRAYS["list of struct"])
    stored.columns[2] = _cut(stored.columns[2], 10)
    with pytest.raises(CorruptFileError, match=r"x\.item\.a"):
        stored.read(RowRange(0, 120))


@pytest.mark.parametrize(
    "ends", [[5, 3], [4, 3], [3, 3], [3, 10], [1 << 40, 4], [4, (1 << 64) - 1]]
)
def test_wrong_ends_of_lists_are_corruption(ends: list[int], store: Store) -> None:
    stored = store(pa.array([[1, 2, 3], [4]], pa.list_(pa.int64())))
    place = stored.columns[0].pages[0].buffers[0]
    data = bytearray(stored.data)
    data[place.start : place.stop] = np.array(ends, np.uint64).tobytes()
    stored.data = bytes(data)
    with pytest.raises(CorruptFileError, match=r"offset 0, field 'x'"):
        stored.read(RowRange(0, 2))


def test_pages_of_lists_must_say_so(store: Store) -> None:
    stored = store(pa.array([[1, 2, 3], [4]], pa.list_(pa.int64())))
    items = stored.columns[1].pages[0]
    stored.columns[0] = Column(
        (dataclasses.replace(items, num_rows=2),), (), stored.columns[0].encoding
    )
    with pytest.raises(CorruptFileError, match="not the offsets of lists"):
        stored.read(RowRange(0, 2))


def test_pages_without_rows_are_skipped(store: Store) -> None:
    stored = store(pa.array(range(10)), pa.array(range(10, 20)), flush_bytes=1)
    first, second = stored.columns[0].pages
    empty = Page((), 0, ArrayEncoding())
    pages = (empty, first, empty, empty, second, empty)
    stored.columns[0] = Column(pages, (), stored.columns[0].encoding)
    assert joined(stored.read(RowRange(0, 20))).to_pylist() == list(range(20))
    rows = RowIndices(np.array([0, 9, 10, 19]))
    assert joined(stored.read(rows)).to_pylist() == [0, 9, 10, 19]


def test_a_foreign_encoding_asks_for_its_plugin(store: Store) -> None:
    stored = store(pa.array(range(10)))
    (page,) = stored.columns[0].pages
    foreign = Page(page.buffers, 10, ForeignEncoding("/example.Delta", b""))
    stored.columns[0] = Column((foreign,), (), stored.columns[0].encoding)
    with pytest.raises(PluginNotFoundError, match=r"'/example\.Delta'"):
        stored.read(RowRange(0, 10))


def test_encodings_of_later_versions_are_unsupported_by_name(store: Store) -> None:
    stored = store(pa.array(range(10)))
    (page,) = stored.columns[0].pages
    later = ArrayEncoding()
    later.rle.bits_per_value = 8
    stored.columns[0] = Column((Page(page.buffers, 10, later),), (), stored.columns[0].encoding)
    with pytest.raises(UnsupportedFeatureError, match="field 'x': encoding 'rle' is not supported"):
        stored.read(RowRange(0, 10))


def test_a_column_that_the_file_does_not_have_is_corruption(store: Store) -> None:
    stored = store(ARRAYS["struct"])
    stored.columns.pop()
    with pytest.raises(CorruptFileError, match=r"field 'x\.b\.d': column 4 of a file that has 4"):
        stored.read(RowRange(0, 10))


def test_a_page_that_ends_past_the_file_is_corruption(store: Store) -> None:
    stored = store(pa.array(range(10)))
    (page,) = stored.columns[0].pages
    beyond = Page((ByteRange(64, 64 + 80),), 10, page.encoding)
    stored.columns[0] = Column((beyond,), (), stored.columns[0].encoding)
    with pytest.raises(CorruptFileError, match="offset 64, field 'x': a buffer ends at byte 144"):
        stored.read(RowRange(0, 10))


@pytest.mark.fast_path
@each_case("limit", ["MAX_PAGE_ROWS", "MAX_PAGE_BYTES"])
@each_case("kind", [pa.int64(), pa.string()])
def test_small_pages_are_joined_and_larger_ones_are_not_copied(
    kind: pa.DataType, limit: str
) -> None:
    arrays = [pa.array(range(first, first + 40)).cast(kind) for first in range(0, 400, 40)]
    registry = EncodingRegistry(("built-in", spec) for spec in v2_0.specs())
    stored = StoredField.write(
        field_of(pa.field("x", kind)), arrays, registry, FileVersion.V2_0, flush_bytes=1
    )
    for rows in (RowRange(0, 400), RowRange(30, 395), RowIndices(np.arange(0, 400, 3))):
        joined = stored.read(rows)
        with mock.patch.object(page_run, limit, 39):
            alone = stored.read(rows)
        assert (len(joined), len(alone)) == (1, 10)
        assert joined[0].equals(pa.concat_arrays(alone))
        assert joined[0].equals(picked(pa.concat_arrays(arrays), rows))
