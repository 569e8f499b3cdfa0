"""Fields to pages of 2.1 and 2.2 files and back: every layout, any cut into pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lance_core._pb.encodings_v2_1_pb2 import PageLayout
from lance_core.encodings.context import EncodeContext
from lance_core.encodings.decoding import RowIndices, RowRange
from lance_core.encodings.dispatch import field_encoder
from lance_core.encodings.version import FileVersion
from lance_core.errors import LanceError, SchemaMismatchError, UnsupportedFeatureError
from lance_core.schema import Schema
from lance_core_testing.encodings.stored_field import StoredField
from tests.each_case import each_case
from tests.examples import examples
from tests.strategies import nullable_arrays, nullable_types
from tests.unit.encodings.v2_1.conftest import REGISTRY

VERSIONS = ("2.1", "2.2")
PACKED = {"lance-encoding:packed": "true"}


def store(
    *arrays: pa.Array, version: str = "2.2", metadata: dict[str, str] | None = None, **limits: int
) -> StoredField:
    arrow = pa.schema([pa.field("x", arrays[0].type, metadata=metadata)])
    (field,) = Schema.from_arrow(arrow).fields
    return StoredField.write(field, arrays, REGISTRY, FileVersion(version), **limits)


def layouts(stored: StoredField, column: int = 0) -> list[Any]:
    """The messages of the pages of a column."""
    messages = [PageLayout.FromString(page.encoding) for page in stored.pages_of(column)]
    return [getattr(message, message.WhichOneof("layout")) for message in messages]


def names(stored: StoredField, column: int = 0) -> list[str]:
    messages = [PageLayout.FromString(page.encoding) for page in stored.pages_of(column)]
    return [str(message.WhichOneof("layout")).removesuffix("_layout") for message in messages]


def check(stored: StoredField, array: pa.Array) -> None:
    """All rows, a range and single rows come back."""
    rows = len(array)
    assert pa.concat_arrays(stored.read(RowRange(0, rows))).to_pylist() == array.to_pylist()
    if rows:
        part = RowRange(rows // 3, rows // 3 + (rows + 2) // 3)
        found = pa.concat_arrays(stored.read(part)).to_pylist()
        assert found == array.slice(part.start, len(part)).to_pylist()
        some = np.unique(np.linspace(0, rows - 1, 5).astype(np.int64))
        assert pa.concat_arrays(stored.read(RowIndices(some))).equals(array.take(some))


LONG = pa.array([None if i % 5 == 2 else "x" * 100 * (i % 9) for i in range(80)])
VECTORS = pa.array(
    [None if i % 7 == 3 else [i / 8] * 70 for i in range(40)], pa.list_(pa.float32(), 70)
)
LISTS = pa.ListArray.from_arrays(pa.array([0, None, 3, 3, 10, 20, 38, 40], pa.int32()), VECTORS)


@each_case("version", VERSIONS)
@each_case(
    ("array", "expected"),
    [
        (pa.array(range(5000)), {"mini_block"}),
        (pa.array([1, None, 3] * 900), {"mini_block"}),
        (pa.array([True, None, False] * 900), {"mini_block"}),
        (pa.array([[1, None], None, [], [3]] * 700), {"mini_block"}),
        (pa.array(["a", "b", None] * 50).dictionary_encode(), {"mini_block"}),
        (LONG, {"full_zip"}),
        (LONG.cast(pa.large_string()), {"full_zip"}),
        (VECTORS, {"full_zip"}),
        (VECTORS.drop_null(), {"full_zip"}),
        (LISTS, {"full_zip"}),
        (pa.ListArray.from_arrays(pa.array([0, 2, None, 70, 80], pa.int32()), LONG), {"full_zip"}),
        (pa.array([[None, None]] * 9, pa.list_(pa.int8(), 2)), {"full_zip"}),
        (pa.nulls(9, pa.int16()), {"constant"}),
        (pa.nulls(9), {"constant"}),
        (pa.array([[None], None, [], [None, None]], pa.list_(pa.int16())), {"constant"}),
        (pa.array([[], []], pa.list_(pa.int16())), {"constant"}),
        (pa.array([{}, {}], pa.struct([])), {"constant"}),
        (pa.array([{"e": {}}, {"e": {}}], pa.struct({"e": pa.struct([])})), {"constant"}),
    ],
)
def test_values_come_back_from_their_layout(
    array: pa.Array, expected: set[str], version: str
) -> None:
    stored = store(array, version=version)
    assert set(names(stored)) == expected
    assert all(
        m.has_large_chunk == (version == "2.2") for m in layouts(stored) if "mini" in expected
    )
    check(stored, array)


@each_case(
    ("array", "buffers"),
    [
        (pa.array([7] * 9), 0),
        (pa.array([7, None, 7]), 2),
        (pa.array([True] * 9), 0),
        (pa.array([float("nan")] * 3), 0),
        (pa.array(["ab"] * 9), 1),
        (pa.array(["ab", None]), 3),
        (pa.array([""] * 9, pa.large_string()), 1),
        (pa.array([b"\0" * 40] * 3, pa.binary(40)), 1),
        (pa.array([b""] * 3, pa.binary(0)), 0),
        (pa.array([[5, 5], [5], [], None]), 2),
        (pa.array([[5, None], [5]]), 2),
        (pa.array([{"x": 1}, None, {"x": 1}]), 2),
    ],
)
def test_one_value_throughout_is_stored_once_in_2_2(array: pa.Array, buffers: int) -> None:
    stored = store(array)
    assert names(stored) == ["constant"]
    assert len(stored.pages[0].buffers) == buffers
    if array.type != pa.float64():
        check(stored, array)
    else:
        (found,) = stored.read(RowRange(0, len(array)))
        assert found.buffers()[1].to_pybytes() == array.buffers()[1].to_pybytes()
    if array.type != pa.binary(0):
        assert "constant" not in names(store(array, version="2.1"))


@each_case("other", [[0.0, -0.0], [1.0, 2.0], [float("nan"), 1.0]])
def test_values_that_differ_in_a_bit_are_not_one(other: list[float]) -> None:
    assert names(store(pa.array(other))) == ["mini_block"]
    late = pa.array([7] * 3000 + [8])
    assert names(store(late)) == ["mini_block"]


def sparse(rows: int, share: float, seed: int) -> pa.Array:
    """Lists of which a ``share`` has an item."""
    random = np.random.default_rng(seed)
    lengths = (random.random(rows) < share) * random.integers(1, 3, rows)
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    items = pa.array(random.integers(0, 1 << 60, int(lengths.sum())))
    mask = pa.array((lengths == 0) & (random.random(rows) < 0.5))
    return pa.ListArray.from_arrays(offsets, items, mask=mask)


@each_case("version", VERSIONS)
@each_case("share", [0.5, 0.01, 0.0001])
def test_chunks_with_too_many_empty_lists_become_pages(share: float, version: str) -> None:
    array = sparse(200_000, share, 3)
    stored = store(array, version=version)
    for page, message in zip(stored.pages, layouts(stored), strict=True):
        if share < 0.5:
            assert page.num_rows <= 65_535
        assert message.layers[-1] == 6
    assert [page.priority for page in stored.pages] == list(stored.columns[0].starts[:-1])
    assert pa.concat_arrays(stored.read(RowRange(0, 200_000))).equals(array)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_row_of_too_many_empty_lists_is_zipped(version: str) -> None:
    inner = sparse(75_000, 0.0001, 4)
    array = pa.ListArray.from_arrays(pa.array([0, 5, 74_000, 75_000], pa.int32()), inner)
    stored = store(array, version=version)
    assert "full_zip" in names(stored)
    check(stored, array)


@pytest.mark.parametrize("version", VERSIONS)
def test_values_too_long_for_chunks_are_zipped_in_2_1(version: str) -> None:
    array = pa.array([f"{i}" * 20_000 for i in range(10)])
    metadata = {
        "lance-encoding:structural-encoding": "miniblock",
        "lance-encoding:compression": "none",
    }
    stored = store(array, version=version, metadata=metadata)
    assert names(stored) == ["mini_block" if version == "2.2" else "full_zip"]
    check(stored, array)


@pytest.mark.parametrize("version", VERSIONS)
def test_packed_structs_are_one_column(version: str) -> None:
    rows = [None if i % 5 == 3 else {"a": i, "b": i / 2} for i in range(3000)]
    array = pa.array(rows, pa.struct({"a": pa.int32(), "b": pa.float64()}))
    stored = store(array, version=version, metadata=PACKED)
    assert len(stored.columns) == 1
    assert names(stored) == ["mini_block"]
    check(stored, array)


def test_packed_structs_of_any_members_are_zipped_in_2_2() -> None:
    rows = [None if i % 4 == 1 else {"n": i, "t": "x" * i, "v": [i, 2]} for i in range(60)]
    kind = pa.struct({"n": pa.int16(), "t": pa.string(), "v": pa.list_(pa.int8(), 2)})
    stored = store(pa.array(rows, kind), metadata=PACKED)
    assert names(stored) == ["full_zip"]
    check(stored, pa.array(rows, kind))
    with pytest.raises(UnsupportedFeatureError, match="packed"):
        store(pa.array(rows, kind), version="2.1", metadata=PACKED)


@settings(max_examples=examples(15))
@given(st.data())
def test_arrays_of_any_nesting_come_back_in_any_pages(data: st.DataObject) -> None:
    type_ = data.draw(nullable_types())
    arrays = [data.draw(nullable_arrays(type_)) for _ in range(data.draw(st.integers(1, 3)))]
    flush = data.draw(st.sampled_from([1, 50, 1 << 20]))
    most = data.draw(st.sampled_from([40, 1 << 20]))
    try:
        stored = store(*arrays, flush_bytes=flush, max_page_bytes=most)
    except UnsupportedFeatureError:
        return
    whole = pa.concat_arrays([array for array in arrays if len(array)] or arrays[:1])
    if len(whole):
        found = pa.concat_arrays(stored.read(RowRange(0, len(whole))))
        found.validate(full=True)
        assert found.to_pylist() == whole.to_pylist()


def test_small_arrays_wait_for_each_other_and_large_ones_are_cut() -> None:
    def rows_of(stored: StoredField) -> list[int]:
        return [page.num_rows for page in stored.pages]

    numbers = np.arange(1000)
    parts = [pa.array(numbers[i : i + 10]) for i in range(0, 100, 10)]
    stored = store(*parts, flush_bytes=8 * 35)
    assert rows_of(stored) == [40, 40, 20]
    assert [page.priority for page in stored.pages] == [0, 40, 80]
    stored = store(pa.array(numbers), flush_bytes=100, max_page_bytes=8 * 300)
    assert rows_of(stored) == [250] * 4
    stored = store(parts[0], pa.array(numbers), parts[1], flush_bytes=8 * 500)
    assert rows_of(stored) == [10, 1000, 10]


def test_dictionaries_are_joined_where_that_can_be() -> None:
    def keyed(*texts: str) -> pa.Array:
        return pa.DictionaryArray.from_arrays(pa.array(range(len(texts)), pa.int8()), list(texts))

    few = [keyed("a", "b"), keyed("b", "c")]
    stored = store(*few)
    (page,) = layouts(stored)
    assert page.num_dictionary_items == 3
    assert pa.concat_arrays(stored.read(RowRange(0, 4))).to_pylist() == ["a", "b", "b", "c"]
    many = [keyed(*(f"{turn} {i}" for i in range(100))) for turn in range(2)]
    stored = store(*many)
    assert [page.priority for page in stored.pages] == [0, 100]
    found = [text for array in stored.read(RowRange(0, 200)) for text in array.to_pylist()]
    assert found == [f"{turn} {i}" for turn in range(2) for i in range(100)]


def test_leaves_of_a_struct_fill_pages_by_themselves() -> None:
    rows = pa.array([{"n": i, "t": "text" * 50} for i in range(100)])
    stored = store(*[rows.slice(i, 10) for i in range(0, 100, 10)], flush_bytes=5000)
    assert [len(stored.pages_of(column)) for column in range(2)] == [1, 4]
    check(stored, rows)


@pytest.mark.parametrize("which", [None, [True, False, False, True]])
def test_lists_of_fixed_size_of_structs_have_a_row_for_each_item(which: list[bool] | None) -> None:
    members = pa.StructArray.from_arrays(
        [pa.array(range(12)), pa.array(["a", None, "b"] * 4)],
        ["x", "y"],
        mask=pa.array([i % 4 == 1 for i in range(12)]),
    )
    mask = None if which is None else pa.array(which)
    array = pa.FixedSizeListArray.from_arrays(members, 3, mask=mask)
    stored = store(array, array.slice(1, 2), flush_bytes=1)
    assert [page.num_rows for page in stored.pages_of(0)] == [12, 6]
    assert [page.priority for page in stored.pages_of(1)] == [0, 4]
    check(stored, pa.concat_arrays([array, array.slice(1, 2)]))


def test_vectors_are_written_from_where_they_are() -> None:
    values = np.random.default_rng(1).random(1 << 16)
    array = pa.FixedSizeListArray.from_arrays(pa.array(values), 64)
    stored = store(array, flush_bytes=1 << 16)
    (page,) = stored.pages
    assert page.buffers[0].address == array.values.buffers()[1].address


def lists_of_vectors_of_structs() -> pa.Array:
    items = pa.FixedSizeListArray.from_arrays(pa.array([{"x": 1}, {"x": 2}]), 2)
    return pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), items)


@each_case(
    ("array", "versions"),
    [
        (pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())), {"2.1"}),
        (pa.array([[{"x": 1}]], pa.list_(pa.struct({"x": pa.int8()}), 1)), {"2.1"}),
        (pa.array([b""], pa.binary(0)), {"2.1"}),
        (lists_of_vectors_of_structs(), {"2.1", "2.2"}),
        (pa.array([{}, None], pa.struct([])), {"2.1", "2.2"}),
        (pa.array([[{}]], pa.list_(pa.struct([]))), {"2.1", "2.2"}),
    ],
)
def test_what_has_no_encoding_is_refused_by_name(array: pa.Array, versions: set[str]) -> None:
    for version in VERSIONS:
        if version in versions:
            with pytest.raises(UnsupportedFeatureError, match=r"field '?x"):
                store(array, version=version)
        else:
            check(store(array, version=version), array)


def test_an_array_of_another_type_is_refused(encoding: Callable[[str], EncodeContext]) -> None:
    (field,) = Schema.from_arrow(pa.schema([("x", pa.int64())])).fields
    encoder = field_encoder(field, encoding("2.2"))
    with pytest.raises(SchemaMismatchError):
        list(encoder.write(pa.array(["a"])))
    with pytest.raises(LanceError, match="structural"):
        store(LONG, metadata={"lance-encoding:structural-encoding": "other"})
