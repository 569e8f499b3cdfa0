"""Reads of tables with indices: the driver searches them, tasks read only the rows found."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import lance_core
import lance_core_spark as spark_lance
from lance_core_spark.scan.partitions import LancePartition
from lance_core_spark.scan.reader import LanceReader
from lance_core_spark.source import LanceSource
from tests.each_case import each_case

ROWS = 1000


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Ten indexed fragments, one without an index, and deleted rows."""
    uri = str(tmp_path_factory.mktemp("indexed") / "t.lance")
    ids = np.random.default_rng(0).permutation(ROWS)
    table = pa.table({"id": ids, "x": ids % 7, "s": [f"s{i}" for i in ids]})
    lance_core.write_dataset(table, uri, max_rows_per_file=100).create_scalar_index("id", "BTREE")
    more = table.set_column(0, "id", pa.array(ids + ROWS)).slice(0, 50)
    lance_core.write_dataset(more, uri, mode="append").delete("x = 3")
    return uri


def reader_of(uri: str, **options: object) -> LanceReader:
    source = LanceSource({"path": uri, **{name: str(value) for name, value in options.items()}})
    return source.reader(source.schema())


CASES = [
    ("id < 40", {}, 90),
    ("id < 300 AND x = 1", {"columns": "s", "with_row_address": True}, 350),
    ("id >= 20", {"rows_per_partition": 100, "columns": "id"}, 1030),
    ("id IN (1, 5, 70)", {"limit": 2, "columns": "x"}, 53),
    ("x = 1", {"columns": "id"}, 1050),
    ("id < 40 AND _rowid < 50", {"columns": "id"}, None),
]


@each_case(("condition", "options", "read"), CASES)
def test_partitions_have_the_rows_that_indices_find(
    uri: str, condition: str, options: dict[str, object], read: int | None
) -> None:
    reader = pickle.loads(pickle.dumps(reader_of(uri, filter=condition, **options)))
    partitions = pickle.loads(pickle.dumps(reader.partitions()))
    assert all(isinstance(one, LancePartition) and one.splits is not None for one in partitions)
    splits = [split for one in partitions for split in one.splits]
    assert read is None or sum(split.num_rows for split in splits) == read
    most = options.get("rows_per_partition")
    for one in partitions:
        assert most is None or sum(split.num_rows for split in one.splits) <= int(str(most))
    rows = pa.concat_tables(
        pa.Table.from_batches([batch]) for one in partitions for batch in reader.read(one)
    )
    plain = lance_core.dataset(uri).to_table(filter=condition, use_scalar_index=False)
    name = rows.column_names[0]
    assert rows[name].to_pylist() == plain[name].to_pylist()[: options.get("limit", ROWS)]


def test_reads_without_filter_or_index_are_planned_as_before(uri: str) -> None:
    for options in ({}, {"filter": "id < 40", "version": 1}):
        (partition,) = reader_of(uri, **options).partitions()
        assert isinstance(partition, LancePartition)
        assert partition.splits is None
        assert len(partition.ranges) == (10 if options else 11)


def test_data_frames_and_counts(spark: SparkSession, uri: str) -> None:
    frame = spark_lance.read(spark, uri, columns=["s"], filter="id IN (1, 5, 70, 1005)")
    assert sorted(row["s"] for row in frame.collect()) == ["s1", "s5", "s70"]


def test_a_count_that_indices_answer_reads_no_data_file(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t.lance"
    rows = pa.table({"id": range(100), "x": range(100)})
    dataset = lance_core.write_dataset(rows, str(path), max_rows_per_file=30)
    dataset.delete("x = 7")
    dataset.create_scalar_index("id", "BTREE")
    for file in (path / "data").iterdir():
        file.unlink()
    assert spark_lance.count_rows(spark, path, "id < 40") == 39
    assert spark_lance.count_rows(spark, path, "id < 0") == 0
