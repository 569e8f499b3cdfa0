"""What each version of the file format can store."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.schema import RESERVED_NAMES, Schema, check_storable
from tests.each_case import each_case

STRUCT = pa.struct([("a", pa.int8())])
BLOB = {"lance-encoding:blob": "true"}
PACKED = {"packed": "true"}
SINCE_2_0 = {"2.0", "2.1", "2.2"}
ALL = {"0.1", *SINCE_2_0}


def field(arrow: pa.DataType, metadata: dict[str, str] | None = None) -> pa.Field:
    return pa.field("c", arrow, metadata=metadata)


@each_case("version", sorted(ALL))
@each_case(
    ("given", "stored_by"),
    [
        (field(pa.int8()), ALL),
        (field(pa.list_(pa.list_(pa.string()))), ALL),
        (field(pa.list_(pa.null(), 2)), SINCE_2_0),
        (field(pa.list_(pa.list_(pa.bool_(), 2), 2)), ALL),
        (field(pa.list_(pa.decimal128(4, 1), 2)), ALL),
        (field(pa.list_(pa.binary(3), 2)), ALL),
        (field(pa.map_(pa.int8(), pa.int8())), {"2.2"}),
        (field(pa.list_(STRUCT, 2)), {"2.2"}),
        (field(pa.list_(pa.struct([("l", pa.list_(pa.int8()))]), 2)), set()),
        (field(pa.list_(pa.string(), 2)), set()),
        (field(pa.list_(pa.list_(pa.large_binary(), 2), 2)), set()),
        (field(pa.list_(pa.dictionary(pa.int8(), pa.string()), 2)), set()),
        (field(pa.binary(0)), {"2.2"}),
        (field(pa.large_binary(), BLOB), SINCE_2_0),
        (field(pa.binary(), BLOB), {"2.2"}),
        (field(STRUCT, {"ARROW:extension:name": "lance.blob.v2"}), {"2.2"}),
        (field(pa.struct([("a", pa.int8()), ("b", pa.float64())]), PACKED), ALL),
        (field(pa.struct([("a", pa.list_(pa.int8(), 2))]), PACKED), {"0.1", "2.0", "2.2"}),
        (field(pa.struct([("a", pa.string())]), PACKED), {"0.1", "2.2"}),
        (field(pa.struct([("a", pa.bool_())]), PACKED), {"0.1"}),
        (field(pa.struct([("a", STRUCT)]), PACKED), {"0.1"}),
        (field(pa.struct([])), SINCE_2_0),
        (field(pa.dictionary(pa.int8(), pa.large_binary())), ALL),
        (field(pa.dictionary(pa.int8(), pa.float32())), SINCE_2_0),
        (field(pa.dictionary(pa.int8(), pa.bool_())), SINCE_2_0),
    ],
    ids=lambda value: str(sorted(value) if isinstance(value, set) else value),
)
def test_a_type_that_a_version_cannot_store_is_refused_by_path(
    given: pa.Field, stored_by: set[str], version: str
) -> None:
    for schema, path in (
        (pa.schema([given]), "c"),
        (pa.schema([("s", pa.struct([given]))]), r"s\.c"),
    ):
        if version in stored_by:
            check_storable(Schema.from_arrow(schema), version)
            continue
        with pytest.raises(UnsupportedFeatureError, match=f"field {path}: .*{version}"):
            check_storable(Schema.from_arrow(schema), version)


@each_case("name", sorted(RESERVED_NAMES))
def test_names_of_meta_columns_are_reserved_at_the_top(name: str) -> None:
    with pytest.raises(InvalidInputError, match=name):
        check_storable(Schema.from_arrow(pa.schema([(name, pa.int8())])), "2.0")
    nested = Schema.from_arrow(pa.schema([("s", pa.struct([(name, pa.int8())]))]))
    check_storable(nested, "2.0")


def test_other_versions_are_refused() -> None:
    with pytest.raises(UnsupportedFeatureError, match=r"'2\.3'"):
        check_storable(Schema(), "2.3")
