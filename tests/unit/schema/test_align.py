"""Data made to fit a schema."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lance_core.errors import InvalidInputError, SchemaMismatchError
from lance_core.schema import Schema, align_batch
from tests.each_case import each_case

XY = pa.struct([("x", pa.int64()), ("y", pa.string())])
YX = pa.struct([("y", pa.string()), ("x", pa.int64())])


def aligned(array: pa.Array, wanted: pa.DataType, nullable: bool = True) -> pa.Array:
    schema = Schema.from_arrow(pa.schema([pa.field("c", wanted, nullable)]))
    return align_batch(pa.record_batch([array], names=["c"]), schema).column(0)


def addresses(array: pa.Array) -> set[int]:
    return {buffer.address for buffer in array.buffers() if buffer is not None}


def test_columns_come_in_the_schemas_order_and_extra_ones_go() -> None:
    schema = Schema.from_arrow(pa.schema([("a", pa.int8()), ("b", pa.string())]))
    batch = pa.record_batch({"z": [1], "b": ["x"], "a": pa.array([1], pa.int8())})
    result = align_batch(batch, schema)
    assert result.schema == pa.schema([("a", pa.int8()), ("b", pa.string())])
    assert result.to_pylist() == [{"a": 1, "b": "x"}]


def test_rows_without_columns_are_refused() -> None:
    batch = pa.record_batch({"a": [1]})
    with pytest.raises(SchemaMismatchError, match="1 rows without columns"):
        align_batch(batch, Schema())
    assert align_batch(batch[:0], Schema()).num_columns == 0


@each_case("cut", [slice(None), slice(1, 3)], ids=["whole", "sliced"])
@each_case("shape", ["struct", "list", "large_list", "fixed", "map"])
def test_members_are_matched_by_name_at_every_depth(shape: str, cut: slice) -> None:
    def made(arrow: pa.DataType) -> tuple[pa.DataType, list[object]]:
        row = {"x": 1, "y": "a"}
        return {
            "struct": (arrow, [row, {"x": 2, "y": "b"}, None, {"x": None, "y": None}]),
            "list": (pa.list_(arrow), [[row], [], None, [row, {"x": 3, "y": "c"}]]),
            "large_list": (pa.large_list(arrow), [[row], [], None, [row, row]]),
            "fixed": (pa.list_(arrow, 1), [[row], [{"x": 5, "y": "e"}], None, [row]]),
            "map": (pa.map_(pa.int8(), arrow), [[(1, row)], [], None, [(2, row), (3, row)]]),
        }[shape]

    given_type, rows = made(YX)
    wanted = made(XY)[0]
    array = pa.array(rows, given_type)[cut]
    result = aligned(array, wanted)
    assert result.type == wanted
    assert result.to_pylist() == array.to_pylist()
    result.validate(full=True)


def test_reordering_copies_no_values() -> None:
    array = pa.array([[{"x": 1, "y": "a"}], [{"x": 2, "y": "b"}]], pa.list_(YX))
    assert addresses(aligned(array, pa.list_(XY))) == addresses(array)


@each_case(
    ("array", "wanted"),
    [
        (pa.array(["a", None], pa.string_view()), pa.string()),
        (pa.array([b"a"], pa.binary_view()), pa.binary()),
        (pa.array([["a"]], pa.list_(pa.string_view())), pa.list_(pa.string())),
        (
            pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), ["a"], ordered=True),
            pa.dictionary(pa.int8(), pa.string()),
        ),
        (
            pa.DictionaryArray.from_arrays(
                pa.array([0], pa.int8()), pa.array(["a"], pa.string_view())
            ),
            pa.dictionary(pa.int8(), pa.string()),
        ),
        (
            pa.array([[[1], [2]]], pa.list_(pa.field("q", pa.list_(pa.int8(), 1), False), 2)),
            pa.list_(pa.list_(pa.int8(), 1), 2),
        ),
        (
            pa.array([[1]], pa.list_(pa.field("element", pa.int8()))),
            pa.list_(pa.field("item", pa.int8(), False)),
        ),
        (
            pa.array([[("k", 1)]], pa.map_(pa.field("k", pa.string(), False), pa.int8())),
            pa.map_(pa.string(), pa.int8()),
        ),
        (pa.array([{"x": 1}]), pa.struct([pa.field("x", pa.int64(), False)])),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_what_a_schema_does_not_remember_is_adapted(array: pa.Array, wanted: pa.DataType) -> None:
    result = aligned(array, wanted)
    assert result.type == wanted
    assert result.to_pylist() == array.to_pylist()
    result.validate(full=True)


def test_extension_types_in_fixed_size_lists_are_forgotten() -> None:
    ids = pa.array([b"a" * 16] * 2, pa.binary(16))
    array = pa.FixedSizeListArray.from_arrays(pa.ExtensionArray.from_storage(pa.uuid(), ids), 2)
    assert aligned(array, array.type).equals(pa.FixedSizeListArray.from_arrays(ids, 2))


def test_json_becomes_binary() -> None:
    result = aligned(pa.array(['{"a": 1}', None], pa.json_()), pa.json_())
    assert result.type == pa.large_binary()
    assert result.null_count == 1


@each_case(
    ("array", "wanted"),
    [
        (pa.array([1], pa.int32()), pa.int64()),
        (pa.array(["a"]), pa.large_string()),
        (pa.array(["a"]), pa.dictionary(pa.int8(), pa.string())),
        (pa.array([[1]]), pa.large_list(pa.int64())),
        (pa.array([{"x": 1}]), XY),
        (pa.array([[1, 2]], pa.list_(pa.int8(), 2)), pa.list_(pa.int8(), 3)),
        (pa.array([[1, 2]], pa.list_(pa.int8(), 2)), pa.list_(pa.int16(), 2)),
        (pa.array([[{"x": 1}]], pa.list_(pa.struct([("x", pa.int8())]), 1)), pa.list_(XY, 1)),
        (pa.array(["a"]).dictionary_encode(), pa.dictionary(pa.int8(), pa.string())),
        (pa.array([1]), pa.string()),
        (pa.array([1]), pa.json_()),
    ],
    ids=str,
)
def test_other_types_are_refused_by_path(array: pa.Array, wanted: pa.DataType) -> None:
    with pytest.raises(SchemaMismatchError, match="field c"):
        aligned(array, wanted)


def test_a_missing_column_is_refused_by_name() -> None:
    schema = Schema.from_arrow(pa.schema([("a", pa.int8())]))
    with pytest.raises(SchemaMismatchError, match="no column a"):
        align_batch(pa.record_batch({"b": [1]}), schema)


def required(name: str) -> pa.Field:
    return pa.field(name, pa.int64(), False)


@each_case(
    ("rows", "given", "wanted", "path"),
    [
        ([{"x": None}], pa.struct([("x", pa.int64())]), pa.struct([required("x")]), r"c\.x"),
        ([[None]], pa.list_(pa.int64()), pa.list_(required("item")), r"c\.item"),
        (
            [[{"x": None}]],
            pa.list_(pa.struct([("x", pa.int64())]), 1),
            pa.list_(pa.struct([required("x")]), 1),
            r"c\.item\.x",
        ),
        (
            [[(1, None)]],
            pa.map_(pa.int64(), pa.int64()),
            pa.map_(pa.int64(), required("value")),
            r"c\.entries\.value",
        ),
    ],
)
def test_nulls_where_none_are_allowed_are_refused_by_path(
    rows: list[object], given: pa.DataType, wanted: pa.DataType, path: str
) -> None:
    with pytest.raises(InvalidInputError, match=f"field {path} is not nullable"):
        aligned(pa.array(rows, given), wanted)


def test_a_null_column_value_is_refused_if_the_column_is_required() -> None:
    with pytest.raises(InvalidInputError, match=r"field c is not nullable.* 1 null"):
        aligned(pa.array([1, None]), pa.int64(), nullable=False)


def test_null_items_of_dictionaries_count_as_nulls_where_rows_use_them() -> None:
    items = pa.array(["a", None])
    words = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 1], pa.int8()), items)
    with pytest.raises(InvalidInputError, match=r"field c is not nullable.* 3 null"):
        aligned(words, words.type, nullable=False)
    lists = pa.ListArray.from_arrays(pa.array([0, 2], pa.int32()), words)
    with pytest.raises(InvalidInputError, match=r"field c\.item is not nullable.* 1 null"):
        aligned(lists, pa.list_(pa.field("item", words.type, False)))
    unused = pa.DictionaryArray.from_arrays(pa.array([0, 0], pa.int8()), items)
    assert aligned(unused, unused.type, nullable=False).to_pylist() == ["a", "a"]


@each_case(
    ("array", "wanted"),
    [
        (
            pa.StructArray.from_arrays([pa.array([1, None])], ["x"], mask=pa.array([False, True])),
            pa.struct([required("x")]),
        ),
        (
            pa.ListArray.from_arrays(pa.array([0, 1, 1]), pa.array([1, None])),
            pa.list_(required("item")),
        ),
        (
            pa.ListArray.from_arrays(
                pa.array([0, 1, 2], pa.int32()), pa.array([1, None]), mask=pa.array([False, True])
            ),
            pa.list_(required("item")),
        ),
    ],
    ids=["null struct", "beyond the last list", "null list"],
)
def test_nulls_that_nobody_can_see_are_allowed(array: pa.Array, wanted: pa.DataType) -> None:
    assert aligned(array, wanted).to_pylist() == array.to_pylist()
