"""Streaming queries of Spark that read and write tables."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import lance_core
from lance_core_spark import upsert_batches
from lance_core_spark.stream.sink import EPOCH_ID, QUERY_ID
from tests.examples import only_on_spark_in_full
from tests.spark.stream.micro_batches import append


def read(spark: SparkSession, uri: Path, **options: Any) -> DataFrame:
    return spark.readStream.format("lance").options(**options).load(str(uri))


def run(frame: DataFrame, target: Path) -> None:
    """Write all rows that are there."""
    writer = frame.writeStream.format("lance")
    writer = writer.option("checkpointLocation", f"{target}-checkpoint")
    writer.trigger(availableNow=True).start(str(target)).awaitTermination()


def ids(uri: Path) -> list[int]:
    return sorted(lance_core.dataset(uri).to_table()["id"].to_pylist())


def batches(uri: Path) -> list[tuple[str, str]]:
    """The query and the number of each committed micro-batch, newest first."""
    found = lance_core.dataset(uri).get_transactions()
    properties = [one.transaction_properties or {} for one in found if one is not None]
    return [(one[QUERY_ID], one[EPOCH_ID]) for one in properties]


@only_on_spark_in_full
def test_rows_go_from_table_to_table_exactly_once(spark: SparkSession, tmp_path: Path) -> None:
    source, target = tmp_path / "source.lance", tmp_path / "target.lance"
    append(source, 1, 2)
    append(source, 3, 4)
    tries = tmp_path / "tries"

    def fail_once(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from rows
        if not tries.exists():
            tries.touch()
            raise RuntimeError("the first attempt of the first task fails after all rows")

    frame = read(spark, source, starting_version=1, max_rows_per_trigger=3)
    run(frame.mapInArrow(fail_once, frame.schema), target)
    assert ids(target) == [1, 2, 3, 4]
    (query, last), (same_query, first) = batches(target)
    assert query == same_query
    assert (first, last) == ("0", "1")

    # Spark does not know that the last batch was committed: it runs the batch again.
    for name in ("1", ".1.crc"):
        Path(f"{target}-checkpoint", "commits", name).unlink()
    append(source, 5)
    run(frame, target)
    assert ids(target) == [1, 2, 3, 4, 5]
    assert [number for _, number in batches(target)] == ["2", "1", "0"]
    # A new checkpoint is a new query.
    shutil.rmtree(f"{target}-checkpoint")
    run(read(spark, source, starting_version=3), target)
    assert ids(target) == [1, 2, 3, 4, 5, 5]
    assert batches(target)[0][0] != query

    source_changes = lance_core.dataset(source)
    source_changes.delete("id = 1")
    with pytest.raises(StreamingQueryException, match="version 4 was committed by Delete"):
        run(read(spark, source, starting_version=3), target)


def test_batches_are_upserted(spark: SparkSession, tmp_path: Path) -> None:
    source, target = tmp_path / "source.lance", tmp_path / "target.lance"
    append(source, 1, 2)
    append(target, 2, 3)
    lance_core.dataset(target).update({"value": "9"})
    upsert = upsert_batches(target, "id", query_id="upserts")
    frame = read(spark, source, starting_version="earliest")
    checkpoint = tmp_path / "checkpoint"
    for restart in (False, True):
        if restart:  # the last batch was merged, but Spark does not know it
            shutil.rmtree(checkpoint / "commits")
            lance_core.dataset(target).update({"value": "7"}, "id = 1")
        writer = frame.writeStream.foreachBatch(upsert).trigger(availableNow=True)
        writer.option("checkpointLocation", str(checkpoint)).start().awaitTermination()
        found = lance_core.dataset(target).to_table(["id", "value"]).to_pylist()
        assert sorted(tuple(row.values()) for row in found) == [(1, 7 * restart), (2, 0), (3, 9)]
