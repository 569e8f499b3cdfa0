"""Merges: clauses, aliases, nulls, ambiguous rows, conflicts and failed tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import lance as pylance
import pyarrow as pa
import pyspark.sql.functions as sf
import pytest
from pyspark.sql import DataFrame, SparkSession

import lance_core
from lance_core.errors import InvalidInputError, MergeError
from lance_core_spark import LanceTable
from lance_core_spark.table import target as targets
from lance_core_spark.table.change_task import ChangeTask
from lance_core_spark.table.merge_builder import LanceMergeBuilder
from tests.each_case import each_case


def table_of(path: Path, **options: Any) -> LanceTable:
    """The numbers 0 to 39 in fragments of 10; the number 39 is a null."""
    numbers = [*range(39), None]
    rows = pa.table(
        {
            "id": pa.array(numbers, pa.int32()),
            "name": [f"n{n}" for n in range(40)],
            "Size": pa.array([n * 0.5 for n in range(40)], pa.float64()),
            "v": pa.array([[n, n] for n in range(40)], pa.list_(pa.float32(), 2)),
        }
    )
    lance_core.write_dataset(rows, str(path), max_rows_per_file=10, **options)
    return LanceTable.forPath(None, path)  # type: ignore[arg-type]


def rows_of(path: Path) -> dict[int | None, tuple[Any, ...]]:
    rows = lance_core.dataset(str(path)).to_table()
    assert pylance.dataset(str(path)).to_table() == rows
    found = {row["id"]: (row["name"], row["Size"], row["v"]) for row in rows.to_pylist()}
    assert len(found) == rows.num_rows
    return found


def files(path: Path) -> set[str]:
    return {file.name for kind in ("data", "_deletions") for file in (path / kind).glob("*")}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    table_of(tmp_path / "t.lance", enable_stable_row_ids=True)
    return tmp_path / "t.lance"


@pytest.fixture
def table(spark: SparkSession, path: Path) -> LanceTable:
    return LanceTable.forPath(spark, path).alias("t")


def source(spark: SparkSession, *ids: int | None) -> DataFrame:
    rows = [(n, f"s{n}", float(n or 0)) for n in ids]
    return spark.createDataFrame(rows, "ID int, name string, size double").alias("s")


def test_an_upsert_updates_and_inserts_in_one_version(
    spark: SparkSession, path: Path, table: LanceTable
) -> None:
    before = rows_of(path)
    ids = {
        row["id"]: row["_rowid"]
        for row in lance_core.dataset(str(path)).to_table(with_row_id=True).to_pylist()
    }
    new = source(spark, 7, 25, 40, None).withColumn("v", sf.expr("array(1f, 2f)"))
    counts = table.merge(new, "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll()
    assert counts.execute() == {
        "num_inserted_rows": 2,
        "num_updated_rows": 2,
        "num_deleted_rows": 0,
    }
    dataset = lance_core.dataset(str(path))
    assert dataset.version == 2
    rows = dataset.to_table(columns=["id", "name"], with_row_id=True).to_pylist()
    # Nulls match nothing: the table keeps its null, the null of the source is inserted.
    assert [row["name"] for row in rows if row["id"] is None] == ["n39", "sNone"]
    after = {row["name"]: row for row in rows}
    assert {after["s7"]["_rowid"], after["s25"]["_rowid"]} == {ids[7], ids[25]}
    assert after["s40"]["_rowid"] >= 40
    dataset.delete("name = 'sNone'")
    values = (1.0, 2.0)
    expected = {**before, 7: ("s7", 7.0, values), 25: ("s25", 25.0, values)}
    expected[40] = ("s40", 40.0, values)
    assert {k: (a, b, tuple(c)) for k, (a, b, c) in rows_of(path).items()} == {
        k: (a, b, tuple(c)) for k, (a, b, c) in expected.items()
    }


def test_the_first_clause_that_applies_is_used(
    spark: SparkSession, path: Path, table: LanceTable
) -> None:
    expected = rows_of(path)
    updates = source(spark, 1, 2, 3, 11, 50, 51)
    builder = (
        table.merge(updates, sf.col("t.id") == updates["ID"])
        .whenMatchedDelete("s.id = 1")
        .whenMatchedUpdate("s.id <= 2", {"t.name": "concat(t.name, s.name)", "size": "9"})
        .whenMatchedUpdate(set={"name": sf.upper(updates["name"])})
        .whenNotMatchedInsert("s.id = 50", {"id": "s.id + 1000L", "name": "s.name"})
        .whenNotMatchedBySourceDelete("t.id >= 20 AND t.id < 30")
        .whenNotMatchedBySourceUpdate(sf.col("t.Size") > 18.5, {"name": "concat('low', id)"})
    )
    assert builder.execute() == {
        "num_inserted_rows": 1,
        "num_updated_rows": 5,
        "num_deleted_rows": 11,
    }
    for gone in (1, *range(20, 30)):
        del expected[gone]
    expected[2] = ("n2s2", 9.0, expected[2][2])
    expected[3] = ("S3", *expected[3][1:])
    expected[11] = ("S11", *expected[11][1:])
    expected[38] = ("low38", *expected[38][1:])
    expected[None] = (None, *expected[None][1:])
    expected[1050] = ("s50", None, None)
    assert rows_of(path) == expected
    assert lance_core.dataset(str(path)).version == 2
    assert len(lance_core.dataset(str(path)).get_fragments()) <= 3 + 2


def test_several_matches_of_a_row_are_an_error_unless_all_delete_it(
    spark: SparkSession, path: Path, table: LanceTable
) -> None:
    before, there = rows_of(path), files(path)
    twice = source(spark, 5, 5)
    with pytest.raises(MergeError, match="row 5 of fragment 0"):
        table.merge(twice, "t.id = s.id").whenMatchedUpdate(set={"name": "s.name"}).execute()
    assert (rows_of(path), files(path)) == (before, there)
    counts = table.merge(twice, "t.id = s.id").whenMatchedDelete().execute()
    assert counts["num_deleted_rows"] == 1
    assert set(before) - set(rows_of(path)) == {5}


def test_without_a_row_to_change_nothing_is_committed(
    spark: SparkSession, path: Path, table: LanceTable
) -> None:
    counts = table.merge(source(spark, 99), "t.id = s.id").whenMatchedDelete().execute()
    assert set(counts.values()) == {0}
    assert lance_core.dataset(str(path)).latest_version == 1


def test_nested_fields_are_set_alone(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    rows = [{"x": n, "in": {"a": n, "b": "b"}} if n else None for n in range(4)]
    lance_core.write_dataset(pa.table({"id": [0, 1, 2, 3], "s": rows}), str(path))
    table = LanceTable.forPath(spark, path).alias("t")
    new = spark.sql("SELECT id, 'new' AS s FROM range(2)").alias("n")
    merge = (
        table.merge(new, "t.id = n.id")
        .whenMatchedUpdate("t.id = 0", {"T.s.`in`.B": "n.s"})
        .whenMatchedUpdate(set={"s.x": "n.id + t.s.in.a", "s.in.b": "upper(n.s)"})
        .whenNotMatchedBySourceUpdate("t.id = 2", {"t.s.in": "named_struct('a', 9, 'b', 'c')"})
    )
    for values, match in (
        ({"s.in": "null", "s.in.a": "1"}, "'s.in' gets two values"),
        ({"s.y": "1"}, "there is no field 'y'"),
        ({"s.in.a": "array(1)"}, "'s.in.a' is bigint"),
    ):
        with pytest.raises(InvalidInputError, match=match):
            table.merge(new, "t.id = n.id").whenMatchedUpdate(set=values).execute()
    with pytest.raises(InvalidInputError, match="a new row needs the whole column"):
        merge.whenNotMatchedInsert(values={"id": "n.id", "s.x": "n.id"}).execute()
    assert merge.execute()["num_updated_rows"] == 3
    assert sorted(lance_core.dataset(str(path)).to_table().to_pylist(), key=lambda r: r["id"]) == [
        {"id": 0, "s": {"x": None, "in": {"a": None, "b": "new"}}},
        {"id": 1, "s": {"x": 2, "in": {"a": 1, "b": "NEW"}}},
        {"id": 2, "s": {"x": 2, "in": {"a": 9, "b": "c"}}},
        {"id": 3, "s": {"x": 3, "in": {"a": 3, "b": "b"}}},
    ]


class FailsOnce(ChangeTask):
    """Fails after it has written its files, the first time."""

    __slots__ = ()

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        results = list(super().__call__(batches))
        flag = Path(self.table.uri) / "failed"
        if results and not flag.exists():
            flag.touch()
            raise RuntimeError("the task fails")
        yield from results


def test_failed_tasks_and_conflicts_change_rows_once(
    spark: SparkSession, path: Path, table: LanceTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = []
    run = targets.run_changes

    def interrupted(*arguments: Any) -> Iterator[Any]:
        yield from run(*arguments)
        runs.append(1)
        if len(runs) == 1:
            rows = lance_core.dataset(str(path)).to_table(filter="id = 3")
            other = rows.set_column(0, rows.schema.field("id"), pa.array([40], pa.int32()))
            lance_core.write_dataset(other, str(path), mode="append")
            lance_core.dataset(str(path)).delete("id = 7")

    monkeypatch.setattr(targets, "ChangeTask", FailsOnce)
    monkeypatch.setattr(targets, "run_changes", interrupted)
    new = source(spark, 7, 8, 40)
    counts = (
        table.merge(new, "t.id = s.id")
        .whenMatchedUpdate(set={"name": "s.name"})
        .whenNotMatchedInsert(values={"id": "s.id", "name": "s.name"})
        .execute()
    )
    assert len(runs) == 2
    # The row 40 was added by another writer, and 7 was deleted: the second attempt saw both.
    assert counts == {"num_inserted_rows": 1, "num_updated_rows": 2, "num_deleted_rows": 0}
    found = rows_of(path)
    assert [found[n][0] for n in (7, 8, 40)] == ["s7", "s8", "s40"]
    dataset = lance_core.dataset(str(path))
    assert dataset.version == 4
    dataset.validate()
    # Only the files of the attempt that Spark repeated stay: nothing knows them but a cleanup.
    dataset.cleanup_old_versions(retain_versions=1, delete_unverified=True)
    assert len(files(path)) == sum(
        len(one.data_files()) + (one.deletion_file() is not None) for one in dataset.get_fragments()
    )


def test_an_insert_reads_only_the_rows_that_others_add(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, runs = tmp_path / "t.lance", []
    key = pa.field("id", pa.int32(), False, {"lance-schema:unenforced-primary-key": "true"})
    lance_core.write_dataset(pa.table({"id": [1, 2]}, pa.schema([key])), str(path))
    run = targets.run_changes

    def interrupted(*arguments: Any) -> Iterator[Any]:
        yield from run(*arguments)
        runs.append(1)
        other = pa.table({"id": pa.array([40 + len(runs)], pa.int32())}, pa.schema([key]))
        lance_core.dataset(str(path)).merge_insert("id").when_not_matched_insert_all().execute(
            other
        )

    monkeypatch.setattr(targets, "run_changes", interrupted)
    table = LanceTable.forPath(spark, path).alias("t")
    for new, expected in ((9, 1), (42, 0)):  # 41 and 42 were added in the meantime
        merge = table.merge(spark.sql(f"SELECT {new} AS k").alias("s"), "t.id = s.k")
        counts = merge.whenNotMatchedInsert(values={"id": "s.k"}).execute()
        assert counts["num_inserted_rows"] == expected
    assert len(runs) == 3
    found = lance_core.dataset(str(path)).to_table()["id"].to_pylist()
    assert sorted(found) == [1, 2, 9, 41, 42, 43]


def test_a_merge_adds_the_columns_of_its_source(
    spark: SparkSession, path: Path, table: LanceTable
) -> None:
    new = spark.sql("SELECT * FROM VALUES (7, 1, 'x'), (41, 2, 'y') AS s(id, more, spare)").alias(
        "s"
    )
    some = table.merge(new, "t.id = s.id").withSchemaEvolution()
    some.whenMatchedUpdate(set={"MORE": "s.more", "name": "s.spare"}).execute()
    dataset = lance_core.dataset(str(path))
    assert dataset.schema.names == ["id", "name", "Size", "v", "more"]
    assert dataset.schema.field("more").nullable
    every = table.merge(new, "t.id = s.id").withSchemaEvolution()
    counts = every.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert counts == {"num_inserted_rows": 1, "num_updated_rows": 1, "num_deleted_rows": 0}
    columns = ["id", "name", "Size", "more", "spare"]
    changed = lance_core.dataset(str(path)).to_table(columns, filter="more IS NOT NULL").to_pylist()
    assert [list(row.values()) for row in changed] == [
        [7, "x", 3.5, 1, "x"],
        [41, None, None, 2, "y"],
    ]
    # A wrong expression adds nothing, and a second run finds all columns.
    version = lance_core.dataset(str(path)).version
    wrong = table.merge(new.withColumn("last", sf.lit(1)).alias("s"), "t.id = s.idd")
    with pytest.raises(InvalidInputError, match="did you mean"):
        wrong.withSchemaEvolution().whenMatchedUpdateAll().execute()
    assert lance_core.dataset(str(path)).version == version
    every.whenMatchedUpdateAll().execute()
    assert lance_core.dataset(str(path)).version == version + 1


def _merge(table: LanceTable, new: DataFrame) -> LanceMergeBuilder:
    return table.merge(new, "t.id = s.id")


BAD: list[tuple[Callable[[LanceTable, DataFrame], object], str]] = [
    (lambda t, s: _merge(t, s).execute(), "needs a clause"),
    (lambda t, s: t.merge(s, "t.id = s.idd").whenMatchedDelete().execute(), "did you mean"),
    (lambda t, s: t.merge(s, "t.id = = 1").whenMatchedDelete().execute(), "merge condition: .*="),
    (lambda t, s: t.merge(s, "t.id + s.id").whenMatchedDelete().execute(), "merge condition"),
    (lambda t, s: t.merge(s, 1), "merge condition must be"),  # type: ignore[arg-type]
    (lambda t, s: t.merge([], "true"), "DataFrame"),  # type: ignore[arg-type]
    (lambda t, s: _merge(t, s).whenMatchedUpdate("true"), "'set' is missing"),
    (lambda t, s: _merge(t, s).whenNotMatchedInsert(), "'values' is missing"),
    (lambda t, s: _merge(t, s).whenMatchedUpdate(set={}), "is empty"),
    (lambda t, s: _merge(t, s).whenMatchedUpdate(set=["v"]), "must map"),  # type: ignore[arg-type]
    (lambda t, s: _merge(t, s).whenMatchedUpdate(set={"v": 1}), "'v'"),  # type: ignore[dict-item]
    (lambda t, s: _merge(t, s).whenMatchedDelete().whenMatchedUpdateAll(), "never applies"),
    (lambda t, s: _merge(t, s).whenMatchedUpdate(set={"nam": "1"}).execute(), "mean 'name'"),
    (lambda t, s: _merge(t, s).whenMatchedUpdate(set={"v.x": "1"}).execute(), "not the field"),
    (
        lambda t, s: _merge(t, s).whenMatchedUpdate(set={"id": "1", "t.ID": "2"}).execute(),
        "column 'id' gets two values, as 'id' and as 't.ID'",
    ),
    (lambda t, s: _merge(t, s).whenMatchedUpdate(set={"Size": "s.name"}).execute(), "cast it"),
    (lambda t, s: _merge(t, s).whenMatchedUpdateAll().execute(), "no column 'v'"),
    (lambda t, s: _merge(t, s).whenNotMatchedInsert("t.id > 1", {"id": "1"}).execute(), "'t.id'"),
    (lambda t, s: _merge(t, s).whenNotMatchedInsert(values={"id": "t.id"}).execute(), "'t.id'"),
    (
        lambda t, s: _merge(t, s).whenNotMatchedBySourceUpdate(set={"id": "s.id"}).execute(),
        "'s.id'",
    ),
]


@each_case(("call", "match"), BAD)
def test_bad_merges_are_refused_before_any_job(
    spark: SparkSession, path: Path, call: Callable[[LanceTable, DataFrame], object], match: str
) -> None:
    tracker = spark.sparkContext.statusTracker()
    new = spark.sql("SELECT 1 AS id, 'x' AS name, 0.5D AS size").alias("s")
    with pytest.raises(InvalidInputError, match=match):
        call(LanceTable.forPath(spark, path).alias("t"), new)
    assert not list(tracker.getJobIdsForGroup(f"merge {path}"))
    assert lance_core.dataset(str(path)).latest_version == 1
