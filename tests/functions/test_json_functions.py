"""SQL functions of JSON columns."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_core
from lance_core.dataset.expressions.filters import as_value
from lance_core.errors import CorruptFileError, InvalidInputError, UnsupportedFeatureError
from lance_core.schema.json.encoding import encode
from tests.each_case import each_case

ROWS = [
    '{"a":1,"b":"x","c":true,"arr":[1,"x",null,{"q":2.5}],"o":{"p":{"z":-7}}}',
    '{"a":"12","b":null,"c":"No","arr":[]}',
    '{"a":-2.5,"a.b":"dot","arr":"none"}',
    "[10,20,30]",
    "null",
    None,
    "{}",
]


def binary(rows: list[str | None]) -> pa.Table:
    return pa.table(
        {"j": pa.array([None if r is None else encode(r) for r in rows], pa.large_binary())}
    )


def values(text: str, data: pa.Table) -> list[Any]:
    value = as_value(text, data.schema)
    result = value.evaluate(data)
    assert result.type == value.type
    return list(result.to_pylist())


def by_row(**found: Any) -> list[Any]:
    return [found.get(f"r{row}") for row in range(len(ROWS))]


@each_case(
    "text, expected",
    [
        ("json_get_string(j, 'a')", by_row(r0="1", r1="12", r2="-2.5")),
        ("json_get_string(j, 'a.b')", by_row(r2="dot")),
        ("json_get_int(j, 'a')", by_row(r0=1, r1=12, r2=-3)),
        ("json_get_int(j, 1)", by_row(r3=20)),
        ("json_get_float(j, 'a')", by_row(r0=1.0, r1=12.0, r2=-2.5)),
        ("json_get_bool(j, 'c')", by_row(r0=True, r1=False)),
        ("json_get_int(json_get(json_get(j, 'o'), 'p'), 'z')", by_row(r0=-7)),
        ("json_get(j, 'c')", by_row(r0=encode("true"), r1=encode('"No"'))),
        ("json_get(j, NULL)", by_row()),
        ("json_get_string(j, json_get_string(j, 'b'))", by_row()),
        ("json_extract(j, '$.a')", by_row(r0="1", r1='"12"', r2="-2.5")),
        ("json_extract(j, '$.arr[3].q')", by_row(r0="2.5")),
        ("json_extract(j, 'arr[last - 1]')", by_row(r0="null")),
        ("json_extract(j, '$.arr[0,1]')", by_row(r0='[1,"x"]')),
        ("json_extract(j, '$[1 to last]')", by_row(r3="[20,30]")),
        ("json_extract(j, '$.o.*')", by_row(r0='{"z":-7}')),
        ("json_extract(j, '$.**.z')", by_row(r0="-7")),
        ("json_extract(j, '$.\"a.b\"')", by_row(r2='"dot"')),
        ("json_extract(j, '$[\"a.b\"]')", by_row(r2='"dot"')),
        (
            "json_exists(j, '$.arr[*]')",
            by_row(r0=True, r1=False, r2=True, r3=False, r4=False, r6=False),
        ),
        ("json_array_length(j, '$.arr')", by_row(r0=4, r1=0, r2=0)),
        (
            "json_array_contains(j, '$.arr', 'x')",
            by_row(r0=True, r1=False, r2=False, r3=False, r4=False, r6=False),
        ),
        (
            "json_array_contains(j, '$', 20)",
            by_row(r0=False, r1=False, r2=False, r3=True, r4=False, r6=False),
        ),
    ],
)
def test_functions_find_values_in_json(text: str, expected: list[Any]) -> None:
    assert values(text, binary(ROWS)) == expected
    # The rows of a slice have the same values, and no rows have none.
    assert values(text, binary(ROWS).slice(2, 3)) == expected[2:5]
    assert values(text, binary([])) == []


@each_case(
    "text, error, reason",
    [
        ("json_get_int(j, 'b')", InvalidInputError, "no integer: 'x'"),
        ("json_get_bool(j, 'a')", InvalidInputError, "no boolean"),
        ("json_get_string(j, 'arr')", InvalidInputError, "no string"),
        ("json_extract(j, '$.')", InvalidInputError, "invalid JSON path"),
        ("json_extract(j, '$.a ? (@ > 1)')", UnsupportedFeatureError, "filter"),
        ("json_get(1, 'a')", InvalidInputError, "json_get needs a JSON column, not int64"),
        ("json_get(j)", InvalidInputError, "1 arguments"),
        ("json_get_strin(j, 'a')", UnsupportedFeatureError, "did you mean 'json_get_string'"),
    ],
)
def test_what_cannot_be_computed_is_a_typed_error(
    text: str, error: type[Exception], reason: str
) -> None:
    with pytest.raises(error, match=reason.replace("(", r"\(")):
        values(text, binary(ROWS))


@each_case("length", range(1, len(encode(ROWS[0] or ""))))
def test_damaged_json_is_an_error_or_a_value(length: int) -> None:
    data = pa.table({"j": pa.array([encode(ROWS[0] or "")[:length]], pa.large_binary())})
    for text in ("json_get_string(j, 'b')", "json_extract(j, '$.arr[*]')"):
        with contextlib.suppress(CorruptFileError, UnsupportedFeatureError, InvalidInputError):
            values(text, data)


def test_descendants_come_in_the_order_of_the_text() -> None:
    text = '{"a":{"b":{"a":1},"z":2},"c":{"a":[3,{"a":4}]}}'
    data = pa.table({"j": pa.array([encode(text), None], pa.large_binary())})
    found = values("json_extract(j, '$.**.a ')", data)
    assert found == ['[{"b":{"a":1},"z":2},1,[3,{"a":4}],4]', None]


def test_a_scan_filters_and_projects_json(tmp_path: Path) -> None:
    nested = pa.StructArray.from_arrays(
        [pa.array(ROWS, pa.json_()), pa.array(range(len(ROWS)))], ["doc", "n"]
    )
    table = pa.table({"j": pa.array(ROWS, pa.json_()), "s": nested})
    ds = lance_core.write_dataset(table, tmp_path / "t", data_storage_version="2.2")
    stored = ds.to_table()
    assert stored.schema == table.schema
    assert stored["s"].combine_chunks().field("doc") == stored["j"].combine_chunks()
    found = ds.to_table(["s.doc", "j"], filter="json_get_int(s.doc, 'a') = 1 AND j IS NOT NULL")
    assert found.num_rows == 1
    assert found["s.doc"] == found["j"]
    assert ds.take([0], columns=["s.doc"]).to_pylist()[0]["s"]["doc"] == found["j"][0].as_py()
    assert ds.count_rows("json_exists(j, '$.arr')") == 3
