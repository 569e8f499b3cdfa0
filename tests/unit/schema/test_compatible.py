"""Which data may be appended to a table."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lance_core.errors import InvalidInputError, SchemaMismatchError
from lance_core.schema import Schema, append_schema
from tests.each_case import each_case

POINT = pa.struct([pa.field("x", pa.int64(), False), ("y", pa.int64())])
TABLE = Schema.from_arrow(
    pa.schema(
        [
            pa.field("a", pa.int32(), False, metadata={"k": "v"}),
            ("s", POINT),
            ("l", pa.list_(POINT)),
            ("u", pa.uuid()),
            ("m", pa.map_(pa.string(), pa.int8())),
        ],
        metadata={"k": "v"},
    ),
    first_id=5,
)
A = pa.field("a", pa.int32())


def appended(*fields: pa.Field) -> Schema:
    return append_schema(TABLE, pa.schema(list(fields)))


def test_the_same_schema_gives_the_tables_own() -> None:
    assert append_schema(TABLE, TABLE.to_arrow()) == TABLE


def test_order_nullability_and_metadata_do_not_matter() -> None:
    turned = [field.with_metadata({"other": "x"}) for field in reversed(list(TABLE.to_arrow()))]
    assert appended(*turned) == TABLE


def test_missing_nullable_fields_are_left_out_at_every_depth() -> None:
    partial = appended(A, pa.field("s", pa.struct([("x", pa.int64())])))
    assert partial.names == ["a", "s"]
    assert partial.field_ids == [5, 6, 7]
    in_list = appended(A, pa.field("l", pa.list_(pa.struct([("x", pa.int64())]))))
    assert in_list.field_ids == [5, 9, 10, 11]


def test_missing_fields_are_refused_if_all_are_asked_for() -> None:
    with pytest.raises(SchemaMismatchError, match="field s is missing; field l is missing"):
        append_schema(TABLE, pa.schema([A]), allow_subschema=False)


@pytest.mark.parametrize("name", ["element", "array"])
def test_items_of_lists_and_maps_may_be_called_anything(name: str) -> None:
    items = pa.field("l", pa.list_(pa.field(name, POINT)))
    pairs = pa.map_(pa.field("k", pa.string(), False), pa.field(name, pa.int8()))
    assert appended(A, items, pa.field("m", pairs)).names == ["a", "l", "m"]


@pytest.mark.parametrize("lists", [pa.list_(POINT), pa.large_list(POINT)])
def test_lists_of_structs_fit_whether_the_table_names_the_structs_or_not(
    lists: pa.DataType,
) -> None:
    arrow = pa.schema([("c", lists)])
    (proto, *below) = Schema.from_arrow(arrow).to_proto()
    proto.logical_type = proto.logical_type.removesuffix(".struct")
    table = Schema.from_proto([proto, *below])
    assert append_schema(table, arrow) == table


def test_views_and_ordered_dictionaries_are_what_they_are_stored_as() -> None:
    table = Schema.from_arrow(
        pa.schema([("s", pa.string()), ("d", pa.dictionary(pa.int8(), pa.string()))])
    )
    data = pa.schema(
        [("s", pa.string_view()), ("d", pa.dictionary(pa.int8(), pa.string(), ordered=True))]
    )
    assert append_schema(table, data) == table


@each_case(
    ("fields", "message"),
    [
        ([], "field a is missing and not nullable"),
        ([A, pa.field("z", pa.int8())], "field z is not in the table"),
        ([pa.field("A", pa.int32())], "field a is missing .*; field A is not in the table"),
        ([pa.field("a", pa.int64())], "field a: expected int32, got int64"),
        (
            [A, pa.field("s", pa.struct([("y", pa.int64())]))],
            r"field s\.x is missing and not nullable",
        ),
        (
            [A, pa.field("l", pa.list_(pa.struct([("x", pa.string())])))],
            r"field l\.item\.x: expected int64, got string",
        ),
        ([A, pa.field("l", pa.large_list(POINT))], "expected list.struct, got large_list.struct"),
        (
            [A, pa.field("u", pa.binary(16))],
            r"field u: expected .*:16 \(extension arrow.uuid\), got fixed_size_binary:16$",
        ),
    ],
)
def test_differences_are_named_with_what_was_expected(fields: list[pa.Field], message: str) -> None:
    with pytest.raises(SchemaMismatchError, match=message):
        appended(*fields)


@each_case(
    ("table", "data"),
    [
        (pa.string(), pa.large_string()),
        (pa.timestamp("us"), pa.timestamp("ns")),
        (pa.timestamp("us", "UTC"), pa.timestamp("us", "+00:00")),
        (pa.decimal128(5, 2), pa.decimal128(6, 2)),
        (pa.dictionary(pa.int32(), pa.string()), pa.dictionary(pa.int8(), pa.string())),
        (pa.dictionary(pa.int32(), pa.string()), pa.string()),
        (pa.list_(pa.int8(), 2), pa.list_(pa.int8(), 3)),
        (pa.list_(pa.int8(), 2), pa.list_(pa.int8())),
        (pa.int32(), pa.null()),
        (pa.json_(), pa.string()),
        (pa.fixed_shape_tensor(pa.int8(), [2, 3]), pa.fixed_shape_tensor(pa.int8(), [3, 2])),
    ],
    ids=str,
)
def test_types_must_be_exactly_the_same(table: pa.DataType, data: pa.DataType) -> None:
    with pytest.raises(SchemaMismatchError, match="field c: expected"):
        append_schema(Schema.from_arrow(pa.schema([("c", table)])), pa.schema([("c", data)]))


def test_a_struct_with_nothing_in_it_is_refused() -> None:
    table = Schema.from_arrow(pa.schema([("s", pa.struct([("x", pa.int8())]))]))
    with pytest.raises(SchemaMismatchError, match="field s has none of its members"):
        append_schema(table, pa.schema([("s", pa.struct([]))]))


def test_many_differences_are_counted() -> None:
    extra = [pa.field(f"z{i}", pa.int8()) for i in range(30)]
    with pytest.raises(SchemaMismatchError, match="and 20 more"):
        appended(A, *extra)


def test_duplicate_columns_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="duplicate field name 'a'"):
        appended(A, A)
