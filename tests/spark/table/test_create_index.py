"""Indices that tasks of Spark build: segments of fragments, one commit."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import lance as pylance
import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import lance_core
from lance_core import LanceOperation
from lance_core.errors import (
    ColumnNotFoundError,
    IndexNameError,
    IndexNotFoundError,
    IndexWarning,
    InvalidInputError,
    InvalidTypeError,
    LanceError,
    UnsupportedFeatureError,
)
from lance_core.indices import IndexConfig
from lance_core_spark import LanceTable, create_index
from tests.each_case import each_case
from tests.spark.table.test_merge import table_of


def found(path: Path, condition: str) -> pa.Table:
    """The rows of a condition, which both implementations find with an index."""
    dataset, theirs = lance_core.dataset(str(path)), pylance.dataset(str(path))
    assert "ScalarIndexQuery" in str(dataset.scanner(filter=condition).explain_plan())
    assert "ScalarIndexQuery" in theirs.scanner(filter=condition).explain_plan()
    rows = dataset.to_table(filter=condition)
    assert dataset.to_table(filter=condition, use_scalar_index=False) == rows
    assert theirs.to_table(filter=condition) == rows
    return rows


def described(table: LanceTable) -> list[tuple[Any, ...]]:
    return [tuple(row)[:6] for row in table.listIndices().collect()]


def test_tasks_build_segments_and_one_commit_has_them(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    table_of(path, enable_stable_row_ids=True)
    lance_core.dataset(str(path)).delete("id IN (0, 9, 15)")
    table = LanceTable.forPath(spark, path)
    table.createIndex("id", "BTREE", numSegments=3)
    dataset = lance_core.dataset(str(path))
    (made,) = dataset.get_transactions(1)
    assert dataset.version == 3
    assert made is not None
    assert isinstance(made.operation, LanceOperation.CreateIndex)
    assert described(table) == [("id_idx", "BTree", ["id"], 1, 4, 37)]
    assert found(path, "id >= 8 AND id < 17").num_rows == 7
    assert found(path, "id IS NULL").num_rows == 1

    table.createIndex("name", IndexConfig("bitmap"), "names", numSegments=9, mergeSegments=False)
    assert described(table)[1] == ("names", "Bitmap", ["name"], 4, 4, 37)
    assert found(path, "name IN ('n3', 'n33', 'n9')").num_rows == 2
    create_index(spark, path, "name", "zonemap", "names", rows_per_zone=8)
    assert described(table)[1] == ("names", "ZoneMap", ["name"], 1, 4, 37)
    assert found(path, "name = 'n33'").num_rows == 1
    lance_core.write_dataset(dataset.to_table(limit=1), str(path), mode="append")
    assert described(table)[0][4:] == (4, 37)
    table.optimizeIndices(["id_idx"])
    assert described(table)[0][4:] == (5, 38)
    table.dropIndex("id_idx")
    assert [row[0] for row in described(table)] == ["names"]
    with pytest.raises(IndexNotFoundError, match="id_idx"):
        table.dropIndex("id_idx")

    empty = tmp_path / "e.lance"
    lance_core.write_dataset(pa.table({"a": pa.array([], pa.int64())}), str(empty))
    create_index(spark, empty, "a", "BTREE")
    assert described(LanceTable.forPath(spark, empty)) == [("a_idx", "BTree", ["a"], 1, 0, 0)]


def test_tasks_encode_vectors_with_one_training(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    vectors = np.random.default_rng(0).random((900, 8), np.float32)
    column = pa.FixedSizeListArray.from_arrays(vectors.ravel(), 8)
    rows = pa.table({"id": range(900), "v": column})
    lance_core.write_dataset(rows, str(path), max_rows_per_file=300)
    table = LanceTable.forPath(spark, path)
    options = {"metric": "cosine", "num_partitions": 2, "num_sub_vectors": 4, "num_bits": 4}
    table.createIndex("v", "IVF_PQ", numSegments=3, mergeSegments=False, **options)
    assert described(table) == [("v_idx", "IVF_PQ", ["v"], 3, 3, 900)]
    nearest = {"column": "v", "q": vectors[7], "k": 5, "nprobes": 2, "refine_factor": 20}
    exact = rows_of(path, nearest | {"use_index": False, "metric": "cosine"})
    assert exact[0] == 7
    assert rows_of(path, nearest) == exact

    table.createIndex("v", "IVF_PQ", numSegments=3, **options)
    assert described(table) == [("v_idx", "IVF_PQ", ["v"], 1, 3, 900)]
    assert rows_of(path, nearest) == exact
    theirs = pylance.dataset(str(path))
    near = theirs.to_table(columns=["id"], nearest=nearest)["id"].to_pylist()
    assert near == exact
    assert "ANNSubIndex" in theirs.scanner(nearest=nearest).explain_plan()

    few = tmp_path / "few.lance"
    lance_core.write_dataset(rows.slice(0, 5), str(few))
    with pytest.warns(IndexWarning, match="5"):
        create_index(spark, few, "v", "IVF_PQ", **options)
    assert described(LanceTable.forPath(spark, few))[0][5] == 0


@pytest.mark.parametrize("merged", [False, True])
def test_tasks_build_graphs(spark: SparkSession, tmp_path: Path, merged: bool) -> None:
    path = tmp_path / "t.lance"
    vectors = np.random.default_rng(0).random((600, 8), np.float32)
    column = pa.FixedSizeListArray.from_arrays(vectors.ravel(), 8)
    rows = pa.table({"id": range(600), "v": column})
    lance_core.write_dataset(rows, str(path), max_rows_per_file=300)
    table = LanceTable.forPath(spark, path)
    nearest = {"column": "v", "q": vectors[7], "k": 5, "nprobes": 2, "refine_factor": 20}
    exact = rows_of(path, nearest | {"use_index": False})
    for kind, more in (
        ("IVF_HNSW_FLAT", {}),
        ("IVF_HNSW_SQ", {}),
        ("IVF_HNSW_PQ", {"num_sub_vectors": 4, "num_bits": 4}),
    ):
        options = {"num_partitions": 2, "m": 8, "ef_construction": 40, **more}
        table.createIndex("v", kind, numSegments=2, mergeSegments=merged, **options)
        assert described(table) == [("v_idx", kind, ["v"], 1 if merged else 2, 2, 600)]
        assert rows_of(path, nearest) == exact
    theirs = pylance.dataset(str(path))
    assert theirs.to_table(columns=["id"], nearest=nearest)["id"].to_pylist() == exact


def rows_of(path: Path, nearest: dict[str, Any]) -> list[int]:
    found: list[int] = (
        lance_core.dataset(str(path)).to_table(["id"], nearest=nearest)["id"].to_pylist()
    )
    return found


def test_a_failed_task_leaves_no_index_but_files_for_a_cleanup(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t.lance"
    table_of(path)
    dataset = lance_core.dataset(str(path))
    (last,) = dataset.get_fragments()[-1].data_files()
    file = path / "data" / last.path
    data = file.read_bytes()
    file.unlink()
    with pytest.raises(PySparkException, match=last.path):
        create_index(spark, path, "id", "BTREE", num_segments=2)
    file.write_bytes(data)
    assert lance_core.dataset(str(path)).latest_version == 1
    assert not lance_core.dataset(str(path)).has_index
    assert len(list((path / "_indices").rglob("*.lance"))) == 2  # of the task that has finished

    table = LanceTable.forPath(spark, path)
    table.createIndex("id", "BTREE", numSegments=2)
    dataset = lance_core.dataset(str(path))
    assert len(list((path / "_indices").rglob("*.lance"))) == 8
    dataset.cleanup_old_versions(timedelta(0), delete_unverified=True)
    assert len(list((path / "_indices").rglob("*.lance"))) == 2
    assert found(path, "id = 33").num_rows == 1


def test_an_index_is_built_again_if_its_rows_are_replaced(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.lance"
    table_of(path)
    commit, compacted = lance_core.LanceDataset.commit_existing_index_segments, []

    def late(dataset: lance_core.LanceDataset, *arguments: Any) -> object:
        if not compacted:
            compacted.append(lance_core.dataset(str(path)).optimize.compact_files())
        return commit(dataset, *arguments)

    monkeypatch.setattr(lance_core.LanceDataset, "commit_existing_index_segments", late)
    table = LanceTable.forPath(spark, path)
    table.createIndex("id", "BTREE")
    assert described(table) == [("id_idx", "BTree", ["id"], 1, 1, 40)]
    assert found(path, "id = 33").num_rows == 1


BAD: list[tuple[Callable[[LanceTable], object], type[LanceError], str]] = [
    (lambda t: t.createIndex("idd", "BTREE"), ColumnNotFoundError, "did you mean 'id'"),
    (lambda t: t.createIndex(["id", "name"], "BTREE"), UnsupportedFeatureError, "one column"),
    (lambda t: t.createIndex("id", "BTREEE"), UnsupportedFeatureError, "BTREE"),
    (lambda t: t.createIndex("id", "RTREE"), UnsupportedFeatureError, "RTREE"),
    (lambda t: t.createIndex("id", "NGRAM"), InvalidTypeError, "int32"),
    (lambda t: t.createIndex("id", "BTREE", zone_sise=4), InvalidInputError, "zone_sise"),
    (lambda t: t.createIndex("Size", "BTREE", "old"), IndexNameError, "different fields"),
    (lambda t: t.createIndex("id", "BTREE", "old", False), IndexNameError, "already exists"),
    (lambda t: t.createIndex("id", "BTREE", "__lance_frag_reuse"), IndexNameError, "reserved"),
    (lambda t: t.createIndex("id", "BTREE", numSegments=0), InvalidInputError, "num_segments"),
]


@each_case(("call", "error", "match"), BAD)
def test_bad_arguments_are_refused_before_a_job(
    spark: SparkSession,
    tmp_path: Path,
    call: Callable[[LanceTable], object],
    error: type[LanceError],
    match: str,
) -> None:
    path = tmp_path / "t.lance"
    table_of(path)
    lance_core.dataset(str(path)).create_scalar_index("id", "BTREE", "old")
    before = set((path / "_indices").iterdir())
    with pytest.raises(error, match=match):
        call(LanceTable.forPath(spark, path))
    assert set((path / "_indices").iterdir()) == before
    assert lance_core.dataset(str(path)).latest_version == 2
