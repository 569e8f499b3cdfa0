"""A schema as a whole: look-up, projection, ids."""

from __future__ import annotations

import dataclasses
import pickle

import pyarrow as pa
import pytest

from lance_core.errors import InvalidInputError
from lance_core.schema import Field, Schema
from lance_core.schema.blobs.views import with_bytes, with_descriptions
from tests.each_case import each_case

POINT = pa.struct([("x", pa.int8()), ("y", pa.struct([("p", pa.int8()), ("q.r", pa.int8())]))])
ARROW = pa.schema(
    [("a", pa.int8()), ("s", POINT), ("l", pa.list_(POINT)), ("b`t", pa.uuid())],
    metadata={"k": "v"},
)
SCHEMA = Schema.from_arrow(ARROW)


def test_arrow_comes_back() -> None:
    assert SCHEMA.to_arrow().equals(ARROW, check_metadata=True)
    assert SCHEMA.storage_schema().field("b`t").type == pa.binary(16)


def test_walk_visits_parents_first() -> None:
    assert SCHEMA.field_ids == list(range(13))
    assert SCHEMA.max_field_id == 12
    assert Schema().max_field_id == -1


@each_case(
    ("path", "id_"),
    [
        ("a", 0),
        ("s", 1),
        ("s.x", 2),
        ("s.y.`q.r`", 5),
        ("l.item.y.p", 10),
        ("b`t", 12),
        ("`b``t`", 12),
    ],
)
def test_fields_are_found_by_path_and_id(path: str, id_: int) -> None:
    found = SCHEMA.field_by_path(path)
    assert found is not None
    assert found.id == id_
    assert SCHEMA.field_by_id(id_) is found
    assert SCHEMA.field_by_path(SCHEMA.path_of(id_)) is found


@each_case("path", ["nope", "s.nope", "a.x", "A", "l.x"])
def test_missing_fields_are_none(path: str) -> None:
    assert SCHEMA.field_by_path(path) is None


def test_missing_ids_are_none_and_have_no_path() -> None:
    assert SCHEMA.field_by_id(99) is None
    with pytest.raises(InvalidInputError, match="99"):
        SCHEMA.path_of(99)


def names(fields: tuple[Field, ...]) -> list[object]:
    return [
        (field.name, names(field.children)) if field.children else field.name for field in fields
    ]


@each_case(
    ("paths", "expected"),
    [
        (["a"], ["a"]),
        (["b`t", "a"], ["b`t", "a"]),
        (["s.y.p", "a", "s.x"], [("s", ["x", ("y", ["p"])]), "a"]),
        (["s.x", "s"], [("s", ["x", ("y", ["p", "q.r"])])]),
        (["l.item.x"], [("l", [("item", ["x"])])]),
        ([], []),
    ],
)
def test_projection_takes_the_order_asked_for_and_merges_parts(
    paths: list[str], expected: list[object]
) -> None:
    projected = SCHEMA.project(paths)
    assert names(projected.fields) == expected
    assert set(projected.field_ids) <= set(SCHEMA.field_ids)
    assert projected.metadata == {"k": "v"}


@each_case("path", ["nope", "s.nope", "a.x"])
def test_projection_to_what_is_not_there_is_refused(path: str) -> None:
    with pytest.raises(InvalidInputError, match=path):
        SCHEMA.project(["a", path])


@each_case(
    ("unwanted", "expected"),
    [
        ([0], [("s", ["x", ("y", ["p", "q.r"])])]),
        ([4, 5], ["a", ("s", ["x"])]),
        ([2, 4, 5], ["a"]),
        ([1], ["a"]),
        ([99], ["a", ("s", ["x", ("y", ["p", "q.r"])])]),
    ],
)
def test_a_parent_goes_with_its_last_child(unwanted: list[int], expected: list[object]) -> None:
    assert names(SCHEMA.project(["a", "s"]).without_ids(unwanted).fields) == expected


def test_an_empty_struct_stays_when_others_go() -> None:
    schema = Schema.from_arrow(pa.schema([("e", pa.struct([])), ("a", pa.int8())]))
    assert schema.without_ids([1]).names == ["e"]


def test_equality_is_by_content_and_pickles_keep_it() -> None:
    assert Schema.from_arrow(ARROW) == SCHEMA
    assert Schema.from_arrow(ARROW, first_id=1) != SCHEMA
    assert hash(Schema.from_arrow(ARROW)) == hash(SCHEMA)
    assert pickle.loads(pickle.dumps(SCHEMA)) == SCHEMA


@each_case(
    ("metadata", "packed", "blob"),
    [
        ({"packed": "True"}, True, False),
        ({"lance-encoding:packed": "true"}, True, False),
        ({"packed": "no"}, False, False),
        ({"lance-encoding:blob": "true"}, False, True),
    ],
)
def test_storage_hints_are_read_from_metadata(
    metadata: dict[str, str], packed: bool, blob: bool
) -> None:
    field = Field("s", "struct", metadata=metadata)
    assert (field.is_packed_struct, field.is_blob) == (packed, blob)
    assert not Field("s", "int8", metadata=metadata).is_packed_struct


def test_derived_values_are_made_once_and_belong_to_one_schema() -> None:
    schema = Schema(SCHEMA.fields, SCHEMA.metadata)
    made: list[int] = []

    def make() -> int:
        made.append(len(made))
        return made[-1]

    assert [schema.derived("one", make), schema.derived("one", make)] == [0, 0]
    changed = dataclasses.replace(schema, metadata={})
    assert changed.derived("one", make) == 1
    again = pickle.loads(pickle.dumps(schema))
    assert again == schema
    assert again.derived("one", make) == 2
    assert schema.to_arrow() is schema.to_arrow()
    assert not changed.to_arrow().metadata


def test_a_schema_without_blobs_is_its_own_view() -> None:
    assert with_descriptions(SCHEMA) is SCHEMA
    assert with_bytes(SCHEMA) is SCHEMA
    blob = pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    schema = Schema.from_arrow(pa.schema([pa.field("s", POINT), pa.field("t", pa.struct([blob]))]))
    view = with_descriptions(schema)
    assert view.fields[0] is schema.fields[0]
    assert view.fields[1] is not schema.fields[1]
    assert with_descriptions(schema) is view
