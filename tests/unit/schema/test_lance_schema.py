"""`LanceSchema` and `LanceField`, as pylance's users know them."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

from lance_core.schema import LanceSchema, Schema, stored_schema

KEY = {"lance-schema:unenforced-primary-key": "true"}
ARROW = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False, metadata=KEY),
        pa.field("s", pa.struct([("X", pa.int8()), ("l", pa.list_(pa.utf8()))])),
        pa.field("u", pa.uuid()),
        pa.field("a\x1b[2J", pa.int8()),
    ],
    metadata={"k": "v"},
)
SCHEMA = LanceSchema.from_pyarrow(ARROW)


def test_fields_are_found_by_path() -> None:
    assert [field.name() for field in SCHEMA.fields()] == ARROW.names
    assert [field.id() for field in SCHEMA.fields()] == [0, 1, 5, 6]
    inner = SCHEMA.field("s.l")
    assert inner is not None
    assert [child.name() for child in inner.children()] == ["item"]
    assert inner.to_arrow() == ARROW.field("s").type.field("l")
    assert SCHEMA.field("s.x") is None
    found = SCHEMA.field_case_insensitive("S.x")
    assert found is not None
    assert found.id() == 2
    assert SCHEMA.field_case_insensitive("nothing") is None


def test_keys_are_named() -> None:
    assert [field.name() for field in SCHEMA.unenforced_primary_key()] == ["id"]
    assert SCHEMA.unenforced_clustering_key() == []
    key = SCHEMA.fields()[0]
    assert key.is_unenforced_primary_key()
    assert not key.is_unenforced_clustering_key()
    assert key.unenforced_clustering_key_position() is None
    assert key.metadata == KEY


def test_schemas_are_values() -> None:
    assert SCHEMA.to_pyarrow().equals(ARROW, check_metadata=True)
    assert SCHEMA.metadata == {"k": "v"}
    assert pickle.loads(pickle.dumps(SCHEMA)) == SCHEMA == LanceSchema.from_pyarrow(ARROW)
    assert stored_schema(SCHEMA) == stored_schema(ARROW) == Schema.from_arrow(ARROW)
    with pytest.raises(TypeError, match="must be a LanceSchema, got list"):
        stored_schema([])  # type: ignore[arg-type]


def test_a_repr_lists_the_columns() -> None:
    assert repr(SCHEMA).splitlines() == [
        "Schema {",
        "  0 id: int64 not null",
        "  1 s: struct",
        "    2 X: int8",
        "    3 l: list",
        "      4 item: string",
        "  5 u: arrow.uuid",
        r"  6 'a\x1b[2J': int8",
        "  metadata: {'k': 'v'}",
        "}",
    ]
    assert repr(SCHEMA.field("s.l")) == "Field { 3 l: list; 4 item: string }"
