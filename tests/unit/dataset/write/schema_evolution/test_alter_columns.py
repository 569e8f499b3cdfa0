"""Renaming, casting and dropping columns, and changing their nullability."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import (
    InvalidInputError,
    RetryableCommitConflictError,
    SchemaMismatchError,
    UnsupportedFeatureError,
)
from tests.each_case import each_case

ROWS = 20
TABLE = pa.table(
    {
        "a": pa.array(range(ROWS), pa.int64()),
        "t": [f"text {n % 3}" for n in range(ROWS)],
        "s": pa.array([{"x": n, "y": f"y{n}"} for n in range(ROWS)]),
        "l": [[n] * (n % 3) for n in range(ROWS)],
    }
)


@pytest.fixture(params=["0.1", "2.0", "2.1", "2.2"])
def table(request: pytest.FixtureRequest, uri: str) -> lance.LanceDataset:
    version = str(request.param)
    made = lance.write_dataset(TABLE, uri, max_rows_per_file=8, data_storage_version=version)
    made.delete("a IN (0, 9, 19)")
    return made


def files(dataset: lance.LanceDataset) -> set[str]:
    return {path.name for path in Path(dataset.uri, "data").iterdir()}


def test_renames_keep_the_files(table: lance.LanceDataset) -> None:
    before, rows = files(table), table.to_table()
    table.alter_columns({"path": "a", "name": "é 🐍"}, {"path": "s.x", "name": "z"})
    assert table.schema.names == ["é 🐍", "t", "s", "l"]
    assert table.to_table().column(0) == rows.column("a")
    assert table.to_table(["s.z"]).column(0).to_pylist() == [
        row["x"] for row in rows.column("s").to_pylist()
    ]
    assert files(table) == before


def test_casts_keep_the_values_and_their_rows(table: lance.LanceDataset) -> None:
    rows = table.to_table()
    table.alter_columns(
        {"path": "a", "data_type": pa.int8(), "name": "b"},
        {"path": "t", "data_type": pa.large_string()},
        {"path": "l", "data_type": pa.large_list(pa.int16())},
        {"path": "s.x", "data_type": pa.uint8()},
    )
    assert table.schema.types[0] == pa.int8()
    assert table.schema.types[3] == pa.large_list(pa.int16())
    found = table.to_table()
    assert found.rename_columns(rows.column_names).to_pylist() == rows.to_pylist()
    for fragment in table.get_fragments():
        fragment.validate()


def test_a_file_without_columns_of_the_table_is_left_out(uri: str) -> None:
    table = lance.write_dataset(TABLE.select(["a"]), uri)
    table.alter_columns({"path": "a", "data_type": pa.int8()})
    assert [len(fragment.data_files()) for fragment in table.get_fragments()] == [1]
    assert table.to_table().column(0).to_pylist() == list(range(ROWS))


def test_a_member_and_its_column_are_read_after_a_cast(uri: str) -> None:
    rows = [{"x": 1, "j": '{"k":1}'}, {"x": None, "j": None}]
    json = pa.ExtensionArray.from_storage(pa.json_(), pa.array(['{"k":1}', None]))
    struct = pa.StructArray.from_arrays([pa.array([1, None]), json], names=["x", "j"])
    for version in ("2.1", "2.2"):
        table = lance.write_dataset(
            pa.table({"s": struct}), f"{uri}{version}", data_storage_version=version
        )
        table.alter_columns({"path": "s.x", "data_type": pa.int8()})
        assert table.to_table().column(0).to_pylist() == rows


def test_values_that_do_not_fit_change_nothing(table: lance.LanceDataset) -> None:
    lance.write_dataset(TABLE.slice(0, 1).set_column(0, "a", [[300]]), table.uri, mode="append")
    table.checkout_latest()
    before, version = files(table), table.version
    with pytest.raises(SchemaMismatchError, match="300"):
        table.alter_columns({"path": "a", "data_type": pa.int8()})
    assert (files(table), lance.dataset(table.uri).version) == (before, version)


def test_nullability_is_checked_in_live_rows(uri: str) -> None:
    rows = pa.table({"a": [1, None, 3], "s": [{"x": 1}, {"x": None}, None]})
    table = lance.write_dataset(rows, uri)
    for path in ("a", "s", "s.x"):
        with pytest.raises(SchemaMismatchError, match="NULL values"):
            table.alter_columns({"path": path, "nullable": False})
    table.delete("a IS NULL OR s IS NULL")
    table.alter_columns({"path": "a", "nullable": False}, {"path": "s.x", "nullable": False})
    assert not table.schema.field("a").nullable
    with pytest.raises(InvalidInputError):
        lance.write_dataset(rows, uri, mode="append")
    table.alter_columns({"path": "a", "nullable": True})
    assert table.schema.field("a").nullable


@each_case(
    "alteration, error",
    [
        ({"name": "b"}, InvalidInputError),
        ({"path": "a"}, InvalidInputError),
        ({"path": "a", "nme": "b"}, InvalidInputError),
        ({"path": "a", "name": None}, TypeError),
        ({"path": "a", "data_type": "int8"}, TypeError),
        ("a", TypeError),
        ({"path": "nope", "name": "b"}, SchemaMismatchError),
        ({"path": "a", "name": "_rowid"}, InvalidInputError),
        ({"path": "a", "name": "t"}, SchemaMismatchError),
        ({"path": "a", "data_type": pa.string()}, SchemaMismatchError),
    ],
)
def test_invalid_alterations_are_refused(tmp_path: Path, alteration: Any, error: type) -> None:
    table = lance.write_dataset(TABLE, str(tmp_path / "t"))
    with pytest.raises(error):
        table.alter_columns(alteration)
    assert lance.dataset(table.uri).version == 1


def test_dropped_columns_and_members_are_gone(table: lance.LanceDataset) -> None:
    before = files(table)
    table.drop_columns(["s.x", "a"])
    assert table.schema.names == ["t", "s", "l"]
    assert table.to_table(["s"]).column(0).to_pylist()[0] == {"y": "y1"}
    assert table.checkout_version(2).to_table(["a"]).num_rows == 17
    table.drop_columns(["s.y"])
    assert table.schema.names == ["t", "l"]
    assert files(table) == before


def test_columns_that_cannot_be_dropped_are_refused(uri: str) -> None:
    table = lance.write_dataset(TABLE, uri)
    for columns in (["nope"], ["a", "s.nope"], TABLE.column_names):
        with pytest.raises(InvalidInputError):
            table.drop_columns(columns)
    with pytest.raises(TypeError):
        table.drop_columns("a")
    assert lance.dataset(uri).version == 1


def test_a_member_of_a_packed_struct_is_not_dropped(uri: str) -> None:
    packed = pa.field("s", pa.struct([("x", "int8"), ("y", "int8")]), metadata={"packed": "true"})
    rows = pa.Table.from_arrays(
        [pa.array([{"x": 1, "y": 2}], packed.type)], schema=pa.schema([packed])
    )
    table = lance.write_dataset(rows, uri)
    with pytest.raises(UnsupportedFeatureError, match="packed struct"):
        table.drop_columns(["s.x"])


def test_drops_go_along_with_other_rows_but_not_with_other_columns(uri: str) -> None:
    old = lance.write_dataset(TABLE, uri)
    lance.write_dataset(TABLE, uri, mode="append")
    lance.dataset(uri).delete("a = 3")
    old.drop_columns(["l"])
    assert old.count_rows() == 38
    late = lance.dataset(uri)
    lance.dataset(uri).add_columns({"b": "a"})
    with pytest.raises(RetryableCommitConflictError):
        late.drop_columns(["t"])


def test_a_time_without_a_zone_becomes_local_time_of_the_zone(uri: str) -> None:
    noon = dt.datetime(2024, 1, 1, 12)
    table = lance.write_dataset({"t": [noon], "d": [noon.date()]}, uri)
    table.alter_columns({"path": "t", "data_type": pa.timestamp("us", "America/New_York")})
    table.alter_columns({"path": "d", "data_type": pa.timestamp("us", "+05:30")})
    (row,) = table.to_table().to_pylist()
    assert row["t"].replace(tzinfo=None) == noon
    assert row["t"].utcoffset() == dt.timedelta(hours=-5)
    assert row["d"].isoformat() == "2024-01-01T00:00:00+05:30"


def test_decimals_are_rounded_to_fewer_digits(uri: str) -> None:
    values = [Decimal("1.25"), Decimal("-1.25"), Decimal("99.94"), None]
    table = lance.write_dataset(pa.table({"x": pa.array(values, pa.decimal128(10, 2))}), uri)
    table.alter_columns({"path": "x", "data_type": pa.decimal128(10, 1)})
    assert table.to_table()["x"].to_pylist() == [
        *(Decimal("1.3"), Decimal("-1.3"), Decimal("99.9")),
        None,
    ]


def test_a_member_of_a_null_struct_stays_nullable(uri: str) -> None:
    struct = pa.struct([("x", pa.int32())])
    rows = pa.table({"s": pa.array([{"x": 1}, None], struct)})
    table = lance.write_dataset(rows, uri, data_storage_version="2.2")
    with pytest.raises(SchemaMismatchError, match="the struct 's' is null"):
        table.alter_columns({"path": "s.x", "nullable": False})
    table.delete("s is null")
    table.alter_columns({"path": "s.x", "nullable": False})
    assert not table.schema.field("s").type.field("x").nullable
