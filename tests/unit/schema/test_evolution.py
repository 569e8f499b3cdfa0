"""Changed schemas: which ids fields get, and which changes are refused."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lance_core.errors import InvalidInputError, SchemaMismatchError
from lance_core.schema import Schema
from lance_core.schema.evolution import (
    Alteration,
    add_fields,
    alter_fields,
    can_cast,
    drop_fields,
    rows_may_lack,
)
from tests.each_case import each_case

TABLE = Schema.from_arrow(
    pa.schema(
        [
            pa.field("a", pa.int64(), metadata={"k": "v"}),
            pa.field("s", pa.struct([("x", pa.int64()), ("y", pa.string())])),
            pa.field("l", pa.list_(pa.struct([("p", pa.int8())]))),
            pa.field("n", pa.int32(), nullable=False),
        ],
        metadata={"own": "1"},
    )
)
"""Field ids: a 0, s 1, s.x 2, s.y 3, l 4, l.item 5, l.item.p 6, n 7."""


def ids(schema: Schema) -> dict[str, int]:
    return {schema.path_of(field.id): field.id for field in schema.walk()}


def test_new_columns_get_the_next_ids_depth_first_and_old_ones_keep_theirs() -> None:
    new = pa.schema([("z", pa.struct([("q", pa.int8())])), ("w", pa.string())])
    added = add_fields(TABLE, new, 20, into_structs=False)
    assert ids(added.new) == {"z": 20, "z.q": 21, "w": 22}
    assert added.schema.fields[:4] == TABLE.fields
    assert [field.parent_id for field in added.new.walk()] == [-1, 20, -1]


def test_members_are_added_to_structs_and_to_structs_in_lists() -> None:
    item = pa.struct([("q", pa.int8())])
    new = pa.schema([("s", pa.struct([("z", pa.int8())])), ("l", pa.list_(item))])
    added = add_fields(TABLE, new, 8, into_structs=True)
    assert ids(added.new) == {"s": 1, "s.z": 8, "l": 4, "l.item": 5, "l.item.q": 9}
    assert [field.name for field in added.schema.fields[1].children] == ["x", "y", "z"]
    with pytest.raises(SchemaMismatchError, match="new members"):
        add_fields(TABLE, new, 8, into_structs=False)


def test_metadata_of_both_schemas_is_kept() -> None:
    new = pa.schema([("z", pa.int8())], metadata={"other": "2"})
    assert add_fields(TABLE, new, 8, into_structs=False).schema.metadata == {
        "own": "1",
        "other": "2",
    }


@pytest.mark.parametrize("name", ["a", "n"])
def test_a_column_that_exists_cannot_be_added(name: str) -> None:
    with pytest.raises(SchemaMismatchError, match=f"Column {name} already exists"):
        add_fields(TABLE, pa.schema([(name, pa.int64())]), 8, into_structs=True)


def test_rows_may_lack_nullable_fields_only() -> None:
    def may_lack(field: pa.Field) -> bool:
        return rows_may_lack(add_fields(TABLE, pa.schema([field]), 8, into_structs=True).new, 8)

    required = pa.field("q", pa.int8(), nullable=False)
    assert may_lack(pa.field("z", pa.int8()))
    assert may_lack(pa.field("z", pa.struct([required])))
    assert not may_lack(required)
    assert not may_lack(pa.field("s", pa.struct([required])))


def test_dropping_all_members_of_a_struct_drops_the_struct() -> None:
    assert drop_fields(TABLE, ["s.x"]).fields[1].children[0].name == "y"
    assert drop_fields(TABLE, ["s.x", "s.y", "a"]).names == ["l", "n"]
    for columns in (["nope"], ["s.nope"], TABLE.names):
        with pytest.raises(InvalidInputError):
            drop_fields(TABLE, columns)


def alter(*alterations: Alteration, by_column: bool = False) -> Schema:
    return alter_fields(TABLE, alterations, 8, by_column=by_column).schema


def test_renames_keep_ids_and_may_swap_names() -> None:
    swapped = alter(Alteration("a", name="n"), Alteration("n", name="a"))
    assert ids(swapped)["n"] == 0
    assert ids(swapped)["a"] == 7
    assert ids(alter(Alteration("s.x", name="é.🐍")))["s.`é.🐍`"] == 2


def test_a_field_with_another_type_gets_a_new_id_and_keeps_its_metadata() -> None:
    altered = alter_fields(TABLE, [Alteration("a", "b", None, pa.int8())], 8, by_column=False)
    assert ids(altered.schema)["b"] == 8
    assert altered.schema.fields[0].metadata == {"k": "v"}
    assert altered.old.names == ["a"]
    assert altered.new.names == ["b"]


def test_a_member_with_another_type_is_stored_alone_or_with_its_column() -> None:
    change = [Alteration("s.x", data_type=pa.int8())]
    alone = alter_fields(TABLE, change, 8, by_column=False)
    assert ids(alone.new) == {"s": 1, "s.x": 8}
    whole = alter_fields(TABLE, change, 8, by_column=True)
    assert ids(whole.new) == {"s": 8, "s.x": 9, "s.y": 10}
    assert ids(whole.old) == {"s": 1, "s.x": 2, "s.y": 3}


def test_a_packed_struct_is_cast_as_a_whole() -> None:
    members = pa.struct([("x", pa.int64()), ("y", pa.int64())])
    table = Schema.from_arrow(pa.schema([pa.field("s", members, metadata={"packed": "true"})]))
    altered = alter_fields(table, [Alteration("s.x", data_type=pa.int8())], 3, by_column=False)
    assert ids(altered.new) == {"s": 3, "s.x": 4, "s.y": 5}


@each_case(
    "alterations",
    [
        [Alteration("nope", name="b")],
        [Alteration("a", name="n")],
        [Alteration("a", name="b.c")],
        [Alteration("a", name="")],
        [Alteration("s.x", name="y")],
        [Alteration("a", data_type=pa.string())],
        [Alteration("a", nullable=False, data_type=pa.int8())],
    ],
)
def test_impossible_alterations_are_refused(alterations: list[Alteration]) -> None:
    with pytest.raises(SchemaMismatchError):
        alter(*alterations)


@each_case(
    "found, wanted, expected",
    [
        (pa.int8(), pa.uint64(), True),
        (pa.int8(), pa.float32(), False),
        (pa.float64(), pa.float16(), True),
        (pa.string(), pa.large_string(), True),
        (pa.string(), pa.binary(), False),
        (pa.binary(), pa.large_binary(), True),
        (pa.list_(pa.int64()), pa.large_list(pa.int8()), True),
        (pa.list_(pa.int64()), pa.list_(pa.string()), False),
        (pa.list_(pa.float32(), 2), pa.list_(pa.float64(), 2), True),
        (pa.list_(pa.float32(), 2), pa.list_(pa.float32(), 3), False),
        (pa.list_(pa.float32(), 2), pa.list_(pa.float32()), True),
        (pa.timestamp("us"), pa.timestamp("ns", "UTC"), True),
        (pa.timestamp("us"), pa.time32("s"), True),
        (pa.date32(), pa.time32("s"), False),
        (pa.date32(), pa.timestamp("us"), True),
        (pa.duration("s"), pa.duration("us"), True),
        (pa.duration("s"), pa.time32("s"), False),
        (pa.decimal128(10, 2), pa.decimal256(12, 2), True),
        (pa.string(), pa.dictionary(pa.int8(), pa.string()), True),
        (pa.dictionary(pa.int8(), pa.int64()), pa.int8(), True),
        (pa.bool_(), pa.int8(), False),
        (pa.struct([("x", pa.int8())]), pa.struct([("x", pa.int16())]), False),
    ],
)
def test_casts_stay_within_a_kind(found: pa.DataType, wanted: pa.DataType, expected: bool) -> None:
    assert can_cast(found, wanted) is expected
