"""What verbs record with their versions, changes that are made once, tags, and changed columns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import lance_core
from lance_core.dataset import LANCE_COMMIT_MESSAGE_KEY
from lance_core.errors import (
    InvalidInputError,
    RefNotFoundError,
    SchemaMismatchError,
    UnsupportedFeatureError,
)
from lance_core_spark import LanceTable
from tests.each_case import each_case


@pytest.fixture
def path(tmp_path: Path) -> Path:
    rows = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "n": pa.array([0, 0, 0], pa.int32())})
    lance_core.write_dataset(rows, str(tmp_path / "t.lance"), enable_stable_row_ids=True)
    return tmp_path / "t.lance"


@pytest.fixture
def table(spark: SparkSession, path: Path) -> LanceTable:
    return LanceTable.forPath(spark, path).alias("t")


def rows_of(path: Path) -> list[tuple[Any, ...]]:
    table = lance_core.dataset(str(path)).to_table()
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=str)


def test_the_history_has_conditions_counts_and_messages(
    spark: SparkSession, path: Path, table: LanceTable
) -> None:
    noted = table.withCommit("nightly")
    source = spark.createDataFrame([(3, 5), (4, 5)], "id long, n int").alias("s")
    merge = noted.merge(source, "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll()
    merge.execute()
    noted.update("id = 1", {"n": "n + 1"})
    noted.delete("id = 2")
    noted.restoreToVersion(1)
    history = table.history().collect()
    assert {row["userMetadata"] for row in history[:-1]} == {"nightly"}
    restored, deleted, updated, merged, _ = history
    assert restored["operationParameters"]["verb"] == "restore"
    assert deleted["operationParameters"]["predicate"] == "id = 2"
    assert updated["operationParameters"]["set"] == "n = n + 1"
    assert updated["operationMetrics"]["numUpdatedRows"] == "1"
    assert merged["operationParameters"]["predicate"] == "t.id = s.id"
    clauses = "whenMatchedUpdateAll, whenNotMatchedInsertAll"
    assert merged["operationParameters"]["clauses"] == clauses
    metrics = merged["operationMetrics"]
    assert [metrics[f"num{kind}Rows"] for kind in ("Inserted", "Updated", "Deleted")] == [
        *("1", "1", "0")
    ]
    assert rows_of(path) == [(1, 0), (2, 0), (3, 0)]


def test_a_change_of_an_application_is_made_once(path: Path, table: LanceTable) -> None:
    verbs: list[Callable[[LanceTable], object]] = [
        lambda t: t.update("id = 1", {"n": "n + 1"}),
        lambda t: t.addColumns({"m": "n"}),
        lambda t: t.optimize(),
        lambda t: t.createIndex("id", "BTREE"),
        lambda t: t.optimizeIndices(retrain=True),
        lambda t: t.dropIndex("id_idx"),
        lambda t: t.alterColumns({"m": {"name": "k"}}),
        lambda t: t.dropColumns(["k"]),
        lambda t: t.restoreToVersion(1),
    ]
    for number, verb in enumerate(verbs):
        before = lance_core.dataset(str(path)).version
        once = table.withCommit("job", txnAppId="job", txnVersion=number)
        verb(once)
        dataset = lance_core.dataset(str(path))
        assert dataset.version > before
        made = dataset.get_transactions(1)[0]
        assert made
        assert (made.transaction_properties or {})[LANCE_COMMIT_MESSAGE_KEY] == "job"
        verb(once)  # Nothing, and no error.
        assert lance_core.dataset(str(path)).version == dataset.version
    assert rows_of(path) == [(1, 0), (2, 0), (3, 0)]


def test_a_verb_that_another_driver_runs_meanwhile_is_run_once(
    path: Path, table: LanceTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = table.withCommit(txnAppId="job", txnVersion=1)
    newest = lance_core.dataset(str(path))
    once.alterColumns({"n": {"name": "m"}})
    with monkeypatch.context() as patch:  # The second run has opened the version before.
        patch.setattr(type(once._target.table), "open", lambda *_: newest)
        once.dropColumns(["n"])
    assert lance_core.dataset(str(path)).schema.names == ["id", "m"]


def test_a_change_that_another_driver_commits_meanwhile_is_made_once(
    path: Path, table: LanceTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = table.withCommit(txnAppId="job", txnVersion=7)
    newest = lance_core.dataset(str(path))
    assert once.update("id = 1", {"n": "1"}) == 1
    # The second run has opened the version before that commit.
    with monkeypatch.context() as patch:
        patch.setattr(type(once._target.table), "open", lambda *_: newest)
        assert once.update("id = 1", {"n": "1"}) == 0
        assert once.addColumns({"m": "n"}) is None
    assert lance_core.dataset(str(path)).version == 2


def test_tags_and_branches_are_made_and_restored(path: Path, table: LanceTable) -> None:
    table.createTag("first")
    table.update(None, {"n": "1"})
    table.createTag("second")
    table.createTag("second", 1, replace=True)
    table.createBranch("try", 2)
    tags = [tuple(row) for row in table.listTags().collect()]
    assert sorted(tags) == [("first", 1, None), ("second", 1, None)]
    table.restoreToTag("first")
    table.deleteTag("second")
    assert rows_of(path) == [(1, 0), (2, 0), (3, 0)]
    with pytest.raises(RefNotFoundError, match="second"):
        table.restoreToTag("second")
    lance_core.dataset(str(path)).tags.create("other", ("try", None))
    with pytest.raises(InvalidInputError, match="branch 'try'"):
        table.restoreToTag("other")


def test_columns_are_renamed_widened_and_dropped(path: Path, table: LanceTable) -> None:
    table.alterColumns({"n": {"name": "count", "type": "bigint"}, "id": {"nullable": True}})
    schema = lance_core.dataset(str(path)).schema
    assert schema == pa.schema({"id": pa.int64(), "count": pa.int64()})
    table.dropColumns(["count"])
    assert rows_of(path) == [(1,), (2,), (3,)]


def test_nothing_to_record_is_as_no_commit(path: Path, table: LanceTable) -> None:
    nothing = table.withCommit()
    nothing.dropColumns(["n"])
    assert nothing.delete() == 3
    nothing.restoreToVersion(2)
    assert rows_of(path) == [(1,), (2,), (3,)]
    newest = lance_core.dataset(str(path)).get_transactions(2)
    assert [one and one.transaction_properties for one in newest] == [{}, {}]


def test_conditions_name_ids_and_addresses_of_rows(
    spark: SparkSession, path: Path, table: LanceTable
) -> None:
    assert table.update("_rowid = 2", {"n": "_rowaddr + 5"}) == 1
    source = spark.createDataFrame([(1, 8)], "row long, n int").alias("s")
    merge = table.merge(source, "t._rowid = s.row").whenMatchedUpdate(set={"n": "s.n"})
    assert merge.execute()["num_updated_rows"] == 1
    assert rows_of(path) == [(1, 0), (2, 8), (3, 7)]


BAD: list[tuple[Callable[[LanceTable], object], type[Exception], str]] = [
    (lambda t: t.withCommit(7), InvalidInputError, "message"),  # type: ignore[arg-type]
    (lambda t: t.withCommit(txnAppId="a"), InvalidInputError, "both"),
    (lambda t: t.alterColumns({}), InvalidInputError, "columns"),
    (lambda t: t.alterColumns({"n": {"nme": "m"}}), InvalidInputError, "'nme'.*name"),
    (lambda t: t.alterColumns({"n": {"type": 3}}), TypeError, "'n'"),  # type: ignore[dict-item]
    (lambda t: t.withCommit("a").createTag("x"), UnsupportedFeatureError, "createTag.*message"),
    (lambda t: t.withCommit("a").vacuum(), UnsupportedFeatureError, "vacuum.*message"),
    (lambda t: t.alterColumns({"m": {"name": "k"}}), SchemaMismatchError, "m"),
]


@each_case(("call", "error", "match"), BAD)
def test_wrong_arguments_are_refused(
    table: LanceTable, call: Callable[[LanceTable], object], error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        call(table)
