"""Merges on equal keys have the same pairs as a join of Spark, without its job on all rows."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import types as st

import lance_core
from lance_core_spark import LanceTable
from lance_core_spark.table import equal_keys as searching
from lance_core_spark.table.equal_keys import equal_keys
from lance_core_spark.table.target import Target
from tests.each_case import each_case
from tests.examples import share

SOURCE = st.StructType(
    [
        st.StructField("k", st.IntegerType()),
        st.StructField("s", st.StringType()),
        st.StructField("ID", st.IntegerType()),
        st.StructField("wide", st.LongType()),
        st.StructField("c", st.StringType("UTF8_LCASE")),
        st.StructField("x", st.DoubleType()),
    ]
)
STORED = pa.schema(
    {
        "id": pa.int32(),
        "s": pa.large_string(),
        "x": pa.float64(),
        "c": pa.string(),
        "st": pa.struct({"id": pa.int32()}),
    }
)
TABLE = {
    "id": st.IntegerType(),
    "s": st.StringType(),
    "x": st.DoubleType(),
    "c": st.StringType(),
    "st": st.StructType().add("id", st.IntegerType()),
}

CONDITIONS = [
    ("t.id = new.k", {"id": "k"}),
    ("new.k==T.ID", {"id": "k"}),
    ("`t`.`id` = `new`.id", {"id": "ID"}),
    ("t.id = k", {"id": "k"}),
    ("t.id = new.k AND\nnew.s = t.s", {"id": "k", "s": "s"}),
    ("t.id = id", None),  # of the table or of the source
    ("t.id = new.k AND t.id = new.id", None),
    ("t.id = new.k OR t.s = new.s", None),
    ("t.id = new.k AND t.x > 1", None),
    ("t.id = 1", None),
    ("t.id = t.id", None),
    ("t.id <=> new.k", None),
    ("t.id = new.wide", None),  # compared as bigint
    ("t.id = new.k + 1", None),
    ("t.id = -new.k", None),
    ("t.x = new.x", None),  # 0.0 and -0.0 are equal
    ("t.c = new.c", None),  # A and a are equal
    ("st.id = new.k", None),
    ("t.st.id = new.k", None),
    ("t.id = new.nothing", None),
    ("t.id = 'new.k'", None),
]


@each_case(("condition", "expected"), CONDITIONS)
def test_clear_equalities_of_columns_are_keys(
    condition: str, expected: dict[str, str] | None
) -> None:
    assert equal_keys(condition, "t", TABLE, SOURCE, STORED) == expected
    unnamed = equal_keys(condition, None, TABLE, SOURCE, STORED)
    assert unnamed is None


def test_without_alias_only_names_of_one_side_are_keys() -> None:
    assert equal_keys("x = k AND id = k", None, TABLE, SOURCE, STORED) is None
    table = {name: TABLE[name] for name in ("id", "s")}
    source = st.StructType().add("k", st.IntegerType()).add("word", st.StringType())
    found = equal_keys("k = id AND s = word", None, table, source, STORED)
    assert found == {"id": "k", "s": "word"}


@each_case("keys", share([["a"], ["s"], ["s", "a"]], 3, turn=2))
def test_the_pairs_are_those_of_a_join(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keys: list[str]
) -> None:
    """Keys repeat on both sides, and are null; rows are deleted; parentheses need a join."""
    monkeypatch.setattr(searching, "TASK_ROWS", 10)
    monkeypatch.setattr(searching, "num_processors", lambda: 3)
    numbers = range(60)
    rows = pa.table(
        {
            "n": numbers,
            "a": pa.array([None if n % 7 == 0 else n % 20 for n in numbers], pa.int16()),
            "s": pa.array([None if n % 11 == 0 else f"s{n % 6}" for n in numbers]),
        }
    )
    changed = (1, 2, 3, 3, 4, 5, 40)
    new = spark.createDataFrame(
        [(n, None if n == 4 else n * 2, f"s{n * 2 % 6}", f"new {n}") for n in changed],
        "m int, a smallint, s string, text string",
    ).alias("new")
    loads: list[object] = []
    load = Target.load
    monkeypatch.setattr(Target, "load", lambda *a: (loads.append(a), load(*a))[1])
    results = []
    for form in ("t.{0} = new.{0}", "(t.{0} = new.{0})"):
        path = str(tmp_path / f"{len(results)}.lance")
        lance_core.write_dataset(rows, path, max_rows_per_file=17)
        lance_core.dataset(path).delete("n = 22")
        table = LanceTable.forPath(spark, path).alias("t")
        merge = table.merge(new, " AND ".join(form.format(key) for key in keys))
        inserted = {"n": "100 + new.m", "a": "new.a", "s": "new.text"}
        counts = merge.whenMatchedDelete().whenNotMatchedInsert(values=inserted).execute()
        found = lance_core.dataset(path).to_table().to_pylist()
        results.append((counts, sorted(found, key=lambda row: row["n"])))
        assert len(loads) == len(results) - 1
    assert results[0] == results[1]
    assert results[0][0]["num_deleted_rows"] > 0


def test_large_sources_and_clauses_with_other_columns_are_joined(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "t.lance")
    lance_core.write_dataset(pa.table({"id": [1, 2, 3], "old": [10, 20, 30]}), path)
    new = spark.sql("SELECT 2L AS id, 5L AS v").alias("new")
    table = LanceTable.forPath(spark, path).alias("t")
    merge = table.merge(new, "t.id = new.id")
    merge.whenMatchedUpdate(set={"old": "t.old + new.v"}).execute()
    monkeypatch.setattr("lance_core_spark.table.merge_plan.MAX_KEY_BYTES", 1)
    merge.whenMatchedUpdate(set={"old": "new.v"}).execute()
    found = lance_core.dataset(path).to_table().sort_by("id")
    assert found.to_pydict() == {"id": [1, 2, 3], "old": [10, 5, 30]}
