"""The write of a table, and a merge of new rows into it."""

from __future__ import annotations

import os
import shutil
from functools import partial
from pathlib import Path

import lance_core
from benchmarks.bars import SPARK
from benchmarks.report import OURS
from benchmarks.spark.comparison import HOP, PARQUET, Comparison
from benchmarks.spark.session import changes, few_rows, rows
from lance_core_spark import LanceTable, create_table
from lance_core_spark.arrow_batches import limited_by_rows


def writes(comparison: Comparison) -> None:
    """Write all rows as a new table; the last tables that were written are kept for reads."""
    frame = rows(comparison.spark, comparison.rows)
    paths = {OURS: comparison.lance, PARQUET: comparison.parquet}

    def prepare(name: str) -> None:
        shutil.rmtree(paths.get(name, ""), ignore_errors=True)

    def drain() -> None:
        frame.write.format("drain").mode("append").save()

    def drain_limited_by_rows() -> None:
        with limited_by_rows(frame):
            drain()

    parquet = partial(frame.write.parquet, comparison.parquet)
    plain = partial(frame.write.format("lance").mode("append").save, comparison.lance)
    actions = {OURS: plain, PARQUET: parquet, HOP: drain}
    comparison.add("write, plain", actions, SPARK["write, plain"], prepare)
    _write_small_partitions(comparison)
    create = partial(create_table, frame, comparison.lance)
    actions = {OURS: create, PARQUET: parquet, HOP: drain_limited_by_rows}
    comparison.add("write", actions, SPARK["write"], prepare)


def _write_small_partitions(comparison: Comparison) -> None:
    """Write few rows from many partitions; Parquet's tasks cost much less than those of Python."""
    few = few_rows(comparison.spark)
    paths = {OURS: comparison.path("few.lance"), PARQUET: comparison.path("few.parquet")}

    def prepare(name: str) -> None:
        shutil.rmtree(paths[name], ignore_errors=True)

    label = "write, 500 small partitions"
    actions = {
        OURS: lambda: create_table(few, paths[OURS]),
        PARQUET: lambda: few.write.parquet(paths[PARQUET]),
    }
    comparison.add(label, actions, SPARK[label], prepare)


def merges(comparison: Comparison) -> None:
    """Merge 1 % of the rows; Parquet files are written again, without what a join replaces."""
    label = "merge of 1 %"
    spark = comparison.spark
    new = comparison.path("changes.parquet")
    changes(spark, comparison.rows).write.parquet(new)
    merged = {OURS: comparison.path("merged.lance"), PARQUET: comparison.path("merged.parquet")}

    def prepare(name: str) -> None:
        shutil.rmtree(merged[name], ignore_errors=True)
        if name == OURS:  # Changes only add files.
            shutil.copytree(comparison.lance, merged[name], copy_function=os.link)

    def merge() -> None:
        table = LanceTable.forPath(spark, merged[OURS]).alias("old")
        merging = table.merge(spark.read.parquet(new).alias("new"), "old.id = new.id")
        merging.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()

    def rewrite() -> None:
        changed = spark.read.parquet(new)
        ids = changed.select("id").hint("broadcast")
        kept = spark.read.parquet(comparison.parquet).join(ids, "id", "left_anti")
        kept.union(changed).write.parquet(merged[PARQUET])

    comparison.add(label, {OURS: merge, PARQUET: rewrite}, SPARK[label], prepare)
    expected = spark.read.parquet(merged[PARQUET]).count()
    assert lance_core.dataset(merged[OURS]).count_rows() == expected
    for path in merged.values():
        shutil.rmtree(Path(path))
