"""The parts of the benchmark of Spark that need no session."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pyarrow as pa
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

from benchmarks.bars import SPARK
from benchmarks.spark.arrow_hop import SampleReader
from benchmarks.spark.comparison import _is_same
from benchmarks.spark.processes import _is_worker, _processes, processor_seconds


def test_the_empty_reader_delivers_the_rows_and_columns_that_are_asked_for(tmp_path: Path) -> None:
    batch = pa.record_batch({"a": [1, 2, 3], "b": ["x", "y", "z"], "c": pa.array([7, 8, 9])})
    path = tmp_path / "sample.arrow"
    with pa.ipc.new_file(path, batch.schema) as writer:
        writer.write_batch(batch)
    schema = StructType([StructField("c", LongType()), StructField("a", IntegerType())])
    reader = SampleReader(schema, str(path), 11, 4)
    tasks = [list(reader.read(partition)) for partition in reader.partitions()]
    assert [sum(read.num_rows for read in task) for task in tasks] == [2, 3, 3, 3]
    assert {read.schema for task in tasks for read in task} == {
        pa.schema([("c", pa.int64()), ("a", pa.int32())])
    }


def test_the_processor_time_of_this_process_and_its_children_is_counted() -> None:
    before, own = processor_seconds(), time.process_time()
    while time.process_time() < own + 0.1:
        pass
    assert processor_seconds() - before >= 0.05
    assert os.getpid() in dict(_processes())
    assert not _is_worker(os.getpid())


def test_results_are_equal_up_to_the_order_of_sums() -> None:
    assert _is_same([(1, 0.1 + 0.2, "a")], [(1, 0.3, "a")])
    assert not _is_same([(1, 0.3, "a")], [(1, 0.3, "b")])
    assert not _is_same([(1, 0.3)], [(2, 0.3)])
    assert not _is_same([1], [1, 2])


def test_the_bars_have_the_names_of_figures() -> None:
    modules = Path(__file__).parents[2] / "benchmarks" / "spark"
    text = "".join(path.read_text("utf-8") for path in modules.glob("*.py"))
    assert all(f'"{name}"' in text for name in SPARK)
