"""Deletes and updates: conditions of SQL and of columns, values, types, and bad input."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import lance as pylance
import pyarrow as pa
import pyspark.sql.functions as sf
import pytest
from pyspark.sql import SparkSession

import lance_core
from lance_core.errors import DatasetNotFoundError, InvalidInputError
from lance_core_spark import LanceTable
from tests.each_case import each_case
from tests.spark.table.test_merge import files, rows_of, table_of


def test_rows_are_deleted_by_sql_and_by_columns(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    table_of(path)
    table = LanceTable.forPath(spark, path)
    expected = rows_of(path)
    assert table.delete("id % 10 = 3 OR ID BETWEEN 20 AND 29") == 13
    assert table.alias("q").delete(sf.col("q.name").isin("n4", "n5", "none")) == 2
    for gone in (3, 13, 33, *range(20, 30), 4, 5):
        del expected[gone]
    assert rows_of(path) == expected
    dataset = lance_core.dataset(str(path))
    assert dataset.version == 3
    operation = dataset.get_transactions(2)[1].operation  # type: ignore[union-attr]
    assert isinstance(operation, lance_core.LanceOperation.Delete)
    assert operation.predicate == "id % 10 = 3 OR ID BETWEEN 20 AND 29"
    assert table.delete("id > 1000") == 0
    assert lance_core.dataset(str(path)).version == 3
    assert table.delete() == 25
    assert lance_core.dataset(str(path)).count_rows() == 0


def test_updates_compute_all_values_from_the_old_row(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    table_of(path, enable_stable_row_ids=True)
    table = LanceTable.forPath(spark, path).alias("q")
    expected = rows_of(path)
    assert table.update("id < 12", {"id": "id + 100", "q.name": sf.concat("name", "id")}) == 12
    assert table.update(set={"`size`": "-1"}) == 40
    for n in range(12):
        expected[n + 100] = (f"n{n}{n}", *expected.pop(n)[1:])
    expected = {key: (name, -1.0, v) for key, (name, _, v) in expected.items()}
    assert rows_of(path) == expected
    rows = lance_core.dataset(str(path)).to_table(columns=["id"], with_row_id=True).to_pylist()
    ids = {row["id"]: row["_rowid"] for row in rows}
    assert ids == {n + 100 if n < 12 else None if n == 39 else n: n for n in range(40)}
    lance_core.dataset(str(path)).validate()


def test_values_of_all_kinds_of_columns_move_and_change(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t.lance"
    rows = pa.table(
        {
            "k": pa.array([1, 2, 3], pa.uint16()),
            "u": pa.array([2**63, 0, None], pa.uint64()),
            "f": pa.array([0.5, 1.5, None], pa.float16()),
            "d": pa.array(["a", "b", None]).dictionary_encode(),
            "s": pa.array([{"x": 1, "y": ["p"]}, None, {"x": None, "y": None}]),
            "t": pa.array([1, 2, None], pa.timestamp("ns")),
            "with space`,": pa.array([b"1", b"2", b"3"], pa.large_binary()),
        }
    )
    blob = pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    rows = rows.append_column(blob, pa.array([b"x" * 100_000, b"y", None], pa.large_binary()))
    schema = lance_core.write_dataset(rows, str(path)).schema
    table = LanceTable.forPath(spark, path)
    blobs = {"columns": ["k", "b"], "blob_handling": "all_binary"}
    before = {r["k"]: r["b"] for r in lance_core.dataset(str(path)).to_table(**blobs).to_pylist()}
    # A row that moves keeps its blob, nanoseconds and types; the others get new values.
    assert table.update("k = 1", {"k": "7", "s.y": "array('q')"}) == 1
    some = {"u": "u + 5", "f": "2", "d": "'a'", "with space`,": "X'39'", "S.`X`": "length(d) + 4"}
    assert table.update("k = 2", some) == 1
    assert table.update("`with space``,` = X'33'", {"s": "named_struct('x', 5L, 'y', null)"}) == 1
    dataset = lance_core.dataset(str(path))
    found = {row["k"]: row for row in dataset.to_table(columns=rows.schema.names[:-1]).to_pylist()}
    old = {row["k"]: row for row in rows.drop_columns(["b"]).to_pylist()}
    changed = {"u": 5, "f": 2.0, "d": "a", "with space`,": b"9", "s": {"x": 5, "y": None}}
    assert found == {
        7: {**old[1], "k": 7, "s": {"x": 1, "y": ["q"]}},
        2: {**old[2], **changed},
        3: {**old[3], "s": {"x": 5, "y": None}},
    }
    after = {r["k"]: r["b"] for r in dataset.to_table(**blobs).to_pylist()}
    assert after == {7: before[1], 2: before[2], 3: before[3]}
    assert dataset.schema == schema
    assert pylance.dataset(str(path)).count_rows() == 3


BAD: list[tuple[Callable[[LanceTable], object], str]] = [
    (lambda t: t.delete("nam = 1"), "did you mean 'name'"),
    (lambda t: t.delete("name ="), "the condition"),
    (lambda t: t.delete("name"), "not a boolean"),
    (lambda t: t.delete(" "), "is empty"),
    (lambda t: t.delete(3), "must be SQL text or a Column"),  # type: ignore[arg-type]
    (lambda t: t.update("id = 1"), "set="),
    (lambda t: t.update("id = 1", {"nam": "1"}), "did you mean 'name'"),
    (lambda t: t.update("id = 1", {"name": "lower(nam)"}), "did you mean 'name'"),
    (lambda t: t.update("id = 1", {3: "1"}), "named by text"),  # type: ignore[dict-item]
    (lambda t: t.update("id = 1", {"Size": "name"}), "'Size' is double.*string: cast it"),
    (lambda t: t.update("id = 1", {"v": "array(1f)"}), "v"),
    (lambda t: t.update("id = 1", {"id": "1", "`Id`": "2"}), "gets two values"),
    (lambda t: t.update("id = 1", {"v.x": "1"}), "'v.x' is not the field of a struct"),
    (lambda t: t.alias(""), "alias"),
]


@each_case(("call", "match"), BAD)
def test_bad_input_changes_nothing(
    spark: SparkSession, tmp_path: Path, call: Callable[[LanceTable], object], match: str
) -> None:
    path = tmp_path / "t.lance"
    table_of(path)
    before = files(path)
    with pytest.raises(InvalidInputError, match=match):
        call(LanceTable.forPath(spark, path))
    assert (lance_core.dataset(str(path)).latest_version, files(path)) == (1, before)


def test_a_value_outside_of_its_type_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    table_of(path)
    table = LanceTable.forPath(spark, path)
    for ansi in ("true", "false"):
        spark.conf.set("spark.sql.ansi.enabled", ansi)
        try:
            with pytest.raises(Exception, match=r"does not fit|overflow|OVERFLOW"):
                table.update("id = 1", {"id": "id + 5000000000"})
        finally:
            spark.conf.unset("spark.sql.ansi.enabled")
    assert lance_core.dataset(str(path)).latest_version == 1


def test_a_missing_table_and_nulls_in_other_columns_are_errors(
    spark: SparkSession, tmp_path: Path
) -> None:
    with pytest.raises(DatasetNotFoundError):
        LanceTable.forPath(spark, tmp_path / "none.lance").delete("true")
    path = tmp_path / "t.lance"
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False)])
    lance_core.write_dataset(pa.table({"id": [1, 2]}, schema=schema), str(path))
    before = files(path)
    with pytest.raises(InvalidInputError, match="id is not nullable"):
        LanceTable.forPath(spark, path).update("id = 1", {"id": "nullif(id, 1)"})
    assert files(path) == before
