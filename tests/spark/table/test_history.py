"""History, description, restore, vacuum, clones and columns of a `LanceTable`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import lance as pylance
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import lance_core
from lance_core.errors import CorruptFileError, DatasetNotFoundError, InvalidInputError
from lance_core_spark import LanceTable
from tests.each_case import each_case

EARLY = datetime(1999, 1, 1, tzinfo=UTC)


def table_of(spark: SparkSession, path: Path) -> LanceTable:
    """Version 1: two rows; 2: three rows with a message; 3: a row is deleted; 4: one is updated."""
    write = lance_core.write_dataset
    write(pa.table({"id": [1, 2]}), str(path))
    write(pa.table({"id": [3]}), str(path), mode="append", commit_message="the third")
    dataset = lance_core.dataset(str(path))
    dataset.delete("id = 1")
    dataset.update({"id": "20"}, "id = 2")
    return LanceTable.forPath(spark, path)


def test_history_and_detail_are_data_frames(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    table = table_of(spark, path)
    rows = table.history().collect()
    assert [row["version"] for row in rows] == [4, 3, 2, 1]
    assert [row["operation"] for row in rows] == ["Update", "Delete", "Append", "Overwrite"]
    assert [row["readVersion"] for row in rows] == [3, 2, 1, 0]
    assert [row["userMetadata"] for row in rows] == [None, None, "the third", None]
    assert rows[1]["operationParameters"]["predicate"] == "id = 1"
    assert rows[2]["operationMetrics"]["numOutputRows"] == "1"
    assert rows[0]["operationMetrics"]["numAddedFragments"] == "1"
    expected = [one["timestamp"] for one in lance_core.dataset(str(path)).versions()]
    # Spark returns local times of the driver.
    assert [row["timestamp"] for row in reversed(rows)] == expected
    assert [row["version"] for row in table.history(2).collect()] == [4, 3]
    detail = table.detail().first()
    assert detail is not None
    assert (detail["format"], detail["location"], detail["version"]) == ("lance", str(path), 4)
    assert (detail["numRows"], detail["numDeletedRows"], detail["numFragments"]) == (2, 0, 2)
    sizes = [file.stat().st_size for file in (path / "data").iterdir()]
    assert detail["numFiles"] <= len(sizes)
    assert 0 < detail["sizeInBytes"] <= sum(sizes)


def test_older_versions_are_restored_and_removed(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    table = table_of(spark, path)
    second = lance_core.dataset(str(path), 2).get_version()["timestamp"].astimezone(UTC)
    table.restoreToVersion(1)
    assert lance_core.dataset(str(path)).to_table()["id"].to_pylist() == [1, 2]
    table.restoreToTimestamp(second)
    assert lance_core.dataset(str(path)).to_table()["id"].to_pylist() == [1, 2, 3]
    table.restoreToTimestamp(second.isoformat())
    assert lance_core.dataset(str(path)).latest_version == 7
    # Versions that were superseded minutes ago stay, whatever the retention is.
    with pytest.warns(UserWarning, match="minutes|recent|stay|kept"):
        stats = table.vacuum(1e-9)
    assert stats.old_versions == 0
    assert table.vacuum().old_versions == 0


def test_an_older_version_replaces_a_damaged_newest_one(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t.lance"
    table = table_of(spark, path)
    newest = min((path / "_versions").iterdir())  # Names descend with the number of the version.
    newest.write_bytes(b"damaged")
    with pytest.raises(CorruptFileError):
        lance_core.dataset(str(path))
    table.restoreToVersion(1)
    restored = lance_core.dataset(str(path))
    assert (restored.version, restored.to_table()["id"].to_pylist()) == (5, [1, 2])


def test_a_vacuum_keeps_versions_with_a_tag(spark: SparkSession, tmp_path: Path) -> None:
    uri = str(tmp_path / "t.lance")
    for number in range(3):
        lance_core.write_dataset(pa.table({"n": [number]}), uri, mode="append")
    lance_core.dataset(uri).tags.create("release", 1)
    LanceTable.forPath(spark, uri).vacuum(0)
    assert [version["version"] for version in lance_core.dataset(uri).versions()] == [1, 3]


def test_a_shallow_clone_reads_the_files_of_its_source(spark: SparkSession, tmp_path: Path) -> None:
    table = table_of(spark, tmp_path / "t.lance")
    clone = table.cloneShallow(tmp_path / "c.lance", 2)
    assert sorted(row["id"] for row in clone.toDF().collect()) == [1, 2, 3]
    assert clone.delete("id = 1") == 1
    assert sorted(row["id"] for row in clone.toDF().collect()) == [2, 3]
    assert lance_core.dataset(str(tmp_path / "t.lance")).latest_version == 4


BAD: list[tuple[Callable[[LanceTable], object], type[Exception], str]] = [
    (lambda t: t.history(0), InvalidInputError, "limit"),
    (lambda t: t.history("2"), InvalidInputError, "limit"),  # type: ignore[arg-type]
    (lambda t: t.restoreToVersion(0), InvalidInputError, "version"),
    (lambda t: t.restoreToVersion("1"), InvalidInputError, "version"),  # type: ignore[arg-type]
    (lambda t: t.restoreToVersion(99), DatasetNotFoundError, "99"),
    (lambda t: t.restoreToTimestamp("soon"), InvalidInputError, "soon"),
    (lambda t: t.restoreToTimestamp(7), InvalidInputError, "timestamp"),  # type: ignore[arg-type]
    (
        lambda t: t.restoreToTimestamp(datetime(1999, 1, 1, tzinfo=UTC)),
        DatasetNotFoundError,
        "1999",
    ),
    (lambda t: t.vacuum(-1), InvalidInputError, "retentionHours"),
    (lambda t: t.vacuum("1"), InvalidInputError, "retentionHours"),  # type: ignore[arg-type]
]


@each_case(("call", "error", "match"), BAD)
def test_bad_arguments_are_refused(
    spark: SparkSession,
    tmp_path: Path,
    call: Callable[[LanceTable], object],
    error: type[Exception],
    match: str,
) -> None:
    path = tmp_path / "t.lance"
    with pytest.raises(error, match=match):
        call(table_of(spark, path))
    assert pylance.dataset(str(path)).latest_version == 4
