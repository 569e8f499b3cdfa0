"""Wide flat Arrow schemas become columns of fields that equal the fields made one by one."""

from __future__ import annotations

from itertools import count

import pyarrow as pa
import pytest

from lance_core.errors import InvalidInputError, LanceError
from lance_core.schema import Schema, check_storable, given_to_files
from lance_core.schema.arrow import fields_from_arrow
from lance_core.schema.evolution import drop_fields
from lance_core.schema.logical_type import SIMPLE
from lance_core.schema.proto import fields_to_proto
from lance_core.schema.tree import MIN_PLAIN_FIELDS

COUNT = 3 * MIN_PLAIN_FIELDS
TYPES = list(SIMPLE.values())


def _fields() -> list[pa.Field]:
    types = [TYPES[number % len(TYPES)] for number in range(COUNT)]
    return [
        pa.field(f"c {number}", type_, type_ == pa.null() or number % 3 > 0)
        for number, type_ in enumerate(types)
    ]


@pytest.mark.parametrize("first_id", [0, 20_000])
def test_fields_and_messages_equal_those_made_one_by_one(first_id: int) -> None:
    arrow = pa.schema(_fields(), {"a": "b"})
    schema = Schema.from_arrow(arrow, first_id)
    expected = Schema(fields_from_arrow(list(arrow), count(first_id)), {"a": "b"})
    assert schema.is_plain
    assert not expected.is_plain
    assert list(schema.to_proto()) == fields_to_proto(expected.fields)
    assert schema.to_arrow().equals(arrow, check_metadata=True)
    assert schema.storage_schema().equals(expected.storage_schema(), check_metadata=True)
    assert schema.num_fields == expected.num_fields == COUNT
    assert schema.max_field_id == expected.max_field_id
    assert schema.with_changed_fields(given_to_files) is schema
    assert not schema.complex_fields
    assert "fields" not in schema._derived  # no objects so far
    assert schema.checked_fields() == expected.checked_fields()
    assert schema == expected


def test_fields_are_dropped_without_making_an_object_of_each() -> None:
    arrow = pa.schema(_fields(), {"a": "b"})
    schema = Schema.from_arrow(arrow, 5)
    expected = Schema(fields_from_arrow(list(arrow), count(5)), {"a": "b"})
    names = [f"c {number}" for number in range(0, COUNT, 7)]
    left, others = drop_fields(schema, names), drop_fields(expected, names)
    assert left.is_plain
    assert left.num_fields == others.num_fields
    assert list(left.to_proto()) == list(others.to_proto())
    renamed = left.with_metadata({"c": "d"})
    assert renamed.is_plain
    assert left.with_metadata(left.metadata) is left
    assert all("fields" not in made._derived for made in (schema, left, renamed))
    assert renamed == others.with_metadata({"c": "d"})
    with pytest.raises(InvalidInputError, match="does not exist"):
        drop_fields(schema, ["c 1", "other"])
    with pytest.raises(InvalidInputError, match="all columns"):
        drop_fields(schema, schema.names)


@pytest.mark.parametrize(
    "other",
    [
        pa.field("ä", pa.int8()),
        pa.field("x" * 200, pa.int8()),
        pa.field("x", pa.int8(), metadata={"k": "v"}),
        pa.field("x", pa.list_(pa.int8())),
        pa.field("x", pa.dictionary(pa.int8(), pa.string())),
        pa.field("x", pa.timestamp("us", "UTC")),
        pa.field("x", pa.string_view()),
        pa.field("x", pa.json_()),
    ],
)
def test_other_fields_are_made_one_by_one(other: pa.Field) -> None:
    schema = Schema.from_arrow(pa.schema([*_fields(), other]))
    assert not schema.is_plain
    assert schema.fields[-1].name == other.name


@pytest.mark.parametrize("name", ["", "a.b", "c 7"])
def test_names_are_checked(name: str) -> None:
    with pytest.raises(InvalidInputError, match="name"):
        Schema.from_arrow(pa.schema([*_fields(), pa.field(name, pa.int8())]))


def test_types_that_a_version_cannot_store_and_reserved_names_are_refused() -> None:
    fields = _fields()
    check_storable(Schema.from_arrow(pa.schema(fields)), "2.0")
    reserved = Schema.from_arrow(pa.schema([*fields, pa.field("_rowid", pa.int8())]))
    assert reserved.is_plain
    with pytest.raises(LanceError, match="_rowid"):
        check_storable(reserved, "2.0")
