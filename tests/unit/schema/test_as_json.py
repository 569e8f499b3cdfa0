"""Arrow schemas as JSON."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.schema import json_to_schema, schema_to_json
from tests.each_case import each_case

SCHEMA = pa.schema(
    [
        pa.field("a", pa.int32(), metadata={"k": "v"}),
        pa.field("l", pa.list_(pa.struct([("x", pa.string())])), False),
        ("f", pa.list_(pa.list_(pa.float32(), 2), 3)),
        ("t", pa.timestamp("us", "+01:00")),
        ("d", pa.dictionary(pa.int8(), pa.string())),
        ("u", pa.uuid()),
        ("b", pa.binary(4)),
        ("n", pa.decimal256(50, 2)),
    ],
    metadata={"m": "n"},
)


def test_the_form_is_the_documented_one() -> None:
    form = schema_to_json(SCHEMA)
    assert form["metadata"] == {"m": "n"}
    assert form["fields"][0] == {
        "name": "a",
        "type": {"type": "int32"},
        "nullable": True,
        "metadata": {"k": "v"},
    }
    assert form["fields"][2]["type"]["length"] == 3


def test_a_schema_comes_back_through_json_text() -> None:
    again = json_to_schema(json.loads(json.dumps(schema_to_json(SCHEMA))))
    assert again.equals(SCHEMA, check_metadata=True)


@each_case(
    "arrow",
    [pa.map_(pa.int8(), pa.int8()), pa.string_view(), pa.month_day_nano_interval()],
    ids=str,
)
def test_types_without_a_form_are_refused_by_path(arrow: pa.DataType) -> None:
    with pytest.raises(UnsupportedFeatureError, match=r"field s\.x"):
        schema_to_json(pa.schema([("s", pa.struct([("x", arrow)]))]))


def field(**type_: object) -> dict[str, object]:
    return {"fields": [{"name": "a", "nullable": True, "type": type_}]}


@each_case(
    "form",
    [
        {},
        {"fields": 3},
        {"fields": [{}]},
        {"fields": [3]},
        field(),
        field(type="list"),
        field(type=3),
        field(type="json"),
        field(type="fixed_size_binary"),
        field(type="fixed_size_binary", length=-1),
        field(type="fixed_size_binary", length="4"),
    ],
    ids=str,
)
def test_what_is_no_schema_is_refused(form: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError):
        json_to_schema(form)


def test_endless_nesting_is_refused() -> None:
    inner: dict[str, object] = {"name": "a", "nullable": True, "type": {"type": "int8"}}
    for _ in range(500):
        inner = {"name": "a", "nullable": True, "type": {"type": "struct", "fields": [inner]}}
    with pytest.raises(InvalidInputError, match="nested deeper"):
        json_to_schema({"fields": [inner]})
