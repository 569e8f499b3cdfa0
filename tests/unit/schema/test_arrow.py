"""Arrow fields to schema fields: ids, children, refusals."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.schema import Field, Schema
from tests.each_case import each_case

PRIMARY = "lance-schema:unenforced-primary-key"
CLUSTERING = "lance-schema:unenforced-clustering-key"


def schema_of(*fields: pa.Field) -> Schema:
    return Schema.from_arrow(pa.schema(list(fields)))


def only(arrow: pa.DataType, nullable: bool = True, metadata: object = None) -> Field:
    return schema_of(pa.field("c", arrow, nullable, metadata=metadata)).fields[0]


def test_ids_count_depth_first_from_the_first_id() -> None:
    arrow = pa.schema(
        [
            ("a", pa.list_(pa.int8())),
            (
                "b",
                pa.struct([("c", pa.map_(pa.string(), pa.int8())), ("d", pa.list_(pa.int8(), 2))]),
            ),
            ("e", pa.dictionary(pa.int8(), pa.string())),
        ]
    )
    found = [(f.name, f.id, f.parent_id) for f in Schema.from_arrow(arrow, first_id=10).walk()]
    assert found == [
        ("a", 10, -1),
        ("item", 11, 10),
        ("b", 12, -1),
        ("c", 13, 12),
        ("entries", 14, 13),
        ("key", 15, 14),
        ("value", 16, 14),
        ("d", 17, 12),
        ("e", 18, -1),
    ]


@each_case(
    ("arrow", "texts"),
    [
        (pa.list_(pa.int8()), ["list", "int8"]),
        (pa.large_list(pa.string_view()), ["large_list", "string"]),
        (pa.list_(pa.struct([("x", pa.int8())])), ["list.struct", "struct", "int8"]),
        (pa.large_list(pa.struct([])), ["large_list.struct", "struct"]),
        (pa.map_(pa.int8(), pa.int8()), ["map", "struct", "int8", "int8"]),
        (pa.list_(pa.float32(), 3), ["fixed_size_list:float:3"]),
        (
            pa.list_(pa.struct([("x", pa.int8())]), 3),
            ["fixed_size_list:struct:3", "struct", "int8"],
        ),
    ],
    ids=str,
)
def test_nested_types_name_their_kind(arrow: pa.DataType, texts: list[str]) -> None:
    assert [field.logical_type for field in only(arrow).walk()] == texts


def test_items_of_fixed_size_lists_lose_name_and_nullability() -> None:
    arrow = pa.list_(pa.field("x", pa.list_(pa.field("y", pa.int8(), False), 2), False), 3)
    assert only(arrow).arrow_type == pa.list_(pa.list_(pa.int8(), 2), 3)


@each_case(
    "arrow",
    [
        pa.month_day_nano_interval(),
        pa.decimal32(5, 2),
        pa.decimal64(5, 2),
        pa.list_view(pa.int8()),
        pa.large_list_view(pa.int8()),
        pa.run_end_encoded(pa.int32(), pa.string()),
        pa.sparse_union([pa.field("a", pa.int8())]),
        pa.map_(pa.string(), pa.int8(), keys_sorted=True),
        pa.list_(pa.int8(), 0),
        pa.list_(pa.list_(pa.int8()), 2),
        pa.list_(pa.map_(pa.int8(), pa.int8()), 2),
        pa.list_(pa.list_(pa.struct([("a", pa.int8())]), 2), 2),
        pa.dictionary(pa.int8(), pa.date32()),
        pa.timestamp("s", "-"),
    ],
    ids=str,
)
def test_a_type_that_the_format_lacks_is_refused_by_path(arrow: pa.DataType) -> None:
    with pytest.raises(UnsupportedFeatureError, match=r"field outer\.a b\.item: "):
        schema_of(pa.field("outer", pa.struct([("a b", pa.list_(arrow))])))


@each_case(
    ("fields", "message"),
    [
        ([("a", pa.int8()), ("a", pa.int8())], "duplicate field name 'a'"),
        ([("", pa.int8())], "empty name"),
        ([("a.b", pa.int8())], r"'a\.b' contains a dot"),
        ([("s", pa.struct([("", pa.int8())]))], "field in s has an empty name"),
        ([("s", pa.struct([("x", pa.int8())] * 2))], "duplicate field name 'x' in s"),
    ],
)
def test_unusable_names_are_refused(fields: list[tuple[str, pa.DataType]], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Schema.from_arrow(pa.schema(fields))


def test_names_may_differ_by_case_and_nested_ones_may_hold_dots() -> None:
    arrow = pa.schema([("a", pa.int8()), ("A", pa.struct([("x.y", pa.int8())]))])
    assert Schema.from_arrow(arrow).to_arrow() == arrow


def test_metadata_that_is_not_text_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="metadata of field c"):
        only(pa.int8(), metadata={b"k": b"\xff"})
    with pytest.raises(InvalidInputError, match="schema's metadata"):
        Schema.from_arrow(pa.schema([], metadata={b"\xff": b""}))


def test_too_deep_nesting_is_refused() -> None:
    arrow = pa.int8()
    for _ in range(100):
        arrow = pa.struct([("a", arrow)])
    with pytest.raises(UnsupportedFeatureError, match="deeper than 100"):
        only(arrow)


@each_case(
    ("metadata", "is_key", "position"),
    [
        ({PRIMARY: "true"}, True, 0),
        ({PRIMARY: "YES"}, True, 0),
        ({PRIMARY: "1", f"{PRIMARY}:position": "2"}, True, 2),
        ({f"{PRIMARY}:position": "7"}, True, 7),
        ({PRIMARY: "false"}, False, 0),
        ({PRIMARY: "true", f"{PRIMARY}:position": "x"}, True, 0),
        ({PRIMARY: "true", f"{PRIMARY}:position": "-3"}, True, 0),
        ({}, False, 0),
    ],
)
def test_primary_keys_are_read_from_metadata(
    metadata: dict[str, str], is_key: bool, position: int
) -> None:
    field = only(pa.int32(), False, metadata)
    assert field.unenforced_primary_key is is_key
    assert field.unenforced_primary_key_position == position


def test_clustering_keys_are_read_from_metadata() -> None:
    field = only(pa.int32(), True, {f"{CLUSTERING}:position": "3"})
    assert field.unenforced_clustering_key_position == 3


@each_case(
    ("field", "message"),
    [
        (pa.field("c", pa.int8(), metadata={PRIMARY: "true"}), "must not be nullable"),
        (
            pa.field("c", pa.struct([("x", pa.int8())]), False, metadata={PRIMARY: "true"}),
            "cannot be nested",
        ),
        (
            pa.field("s", pa.struct([pa.field("c", pa.int8(), False, metadata={PRIMARY: "1"})])),
            "must not be nullable",
        ),
        (
            pa.field(
                "l", pa.list_(pa.field("c", pa.int8(), False, metadata={PRIMARY: "1"})), False
            ),
            "must not be in a list",
        ),
    ],
)
def test_impossible_primary_keys_are_refused(field: pa.Field, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        schema_of(field)


def test_the_first_field_decides_nothing_about_its_siblings() -> None:
    fields = schema_of(pa.field("a", pa.int8(), False), pa.field("b", pa.int8())).fields
    assert [field.nullable for field in fields] == [False, True]
