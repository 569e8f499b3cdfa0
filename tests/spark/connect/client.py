"""What a client of Spark Connect does with tables; prints JSON.

``sys.argv``: the folder, the address of the server or ``local[1]`` for one of its own, and
``all`` for what is searched, compacted and streamed as well.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import lance_core
from lance_core_spark import (
    LanceTable,
    aggregate,
    create_index,
    nearest_join,
    search,
    upsert_batches,
)
from tests.spark.stream.micro_batches import append


def main() -> None:
    spark = SparkSession.builder.remote(sys.argv[2]).getOrCreate()
    folder = Path(sys.argv[1])
    uri = str(folder / "t.lance")
    spark.range(10).write.format("lance").mode("append").save(uri)

    def read(**options: Any) -> DataFrame:
        return spark.read.format("lance").options(**options).load(uri)

    told = {"module": type(spark).__module__, "count": read().where("id > 6").count()}
    told["filter"] = [row["id"] for row in read(filter="id < 2", columns="id").collect()]
    LanceTable.forPath(spark, uri).createIndex("id", "BTREE")
    told["indexed"] = [row["id"] for row in read(filter="id IN (3, 12)").collect()]
    calls = {"n": ("count", "*"), "total": ("sum", "id"), "mean": ("avg", "id")}
    told["groups"] = [
        list(row) for row in aggregate(spark, uri, {"big": "id > 7"}, calls).collect()
    ]
    if sys.argv[3] == "all":
        told |= searched_and_streamed(spark, folder)
    table, new = LanceTable.forPath(spark, uri).alias("t"), spark.range(8, 13).alias("s")
    merge = table.merge(new, "t.id = s.id").whenMatchedDelete().whenNotMatchedInsertAll()
    told["changed"] = merge.execute()
    spark.stop()
    sys.stdout.write(json.dumps(told) + "\n")


def searched_and_streamed(spark: SparkSession, folder: Path) -> dict[str, Any]:
    """What searches, a compaction and streams of the table make."""
    uri, copy, merged = (str(folder / f"{name}.lance") for name in ("t", "copy", "merged"))
    told: dict[str, Any] = {}
    bounds = {"n": ("count", "id"), "least": ("min", "id"), "most": ("max", "id")}
    told["bounds"] = list(aggregate(spark, uri, [], bounds).first() or ())
    told["near"] = nearest_rows(spark, str(folder / "vectors.lance"))
    told["texts"] = best_texts(spark, str(folder / "texts.lance"))
    small = str(folder / "small.lance")
    for ids in (range(3), range(3, 5)):
        append(Path(small), *ids)
    metrics = LanceTable.forPath(spark, small).optimize()
    rows = lance_core.dataset(small).to_table()["id"].to_pylist()
    told["compacted"] = [metrics.fragments_removed, metrics.fragments_added, rows]
    stream = spark.readStream.format("lance").load(uri)
    writer = stream.writeStream.format("lance").option("checkpointLocation", str(folder / "c1"))
    writer.trigger(availableNow=True).start(copy).awaitTermination()
    told["copy"] = spark.read.format("lance").load(copy).count()
    append(Path(merged), 1, 99)
    batches = stream.selectExpr("id", "id AS value").writeStream
    batches = batches.foreachBatch(upsert_batches(merged, "id", query_id="connected"))
    batches = batches.option("checkpointLocation", str(folder / "c2"))
    batches.trigger(availableNow=True).start().awaitTermination()
    found = spark.read.format("lance").load(merged).selectExpr("count(*)", "sum(value)").first()
    told["merged"] = list(found)
    return told


def nearest_rows(spark: SparkSession, uri: str) -> list[list[Any]]:
    """Pairs of rows that a join with an index of vectors returns."""
    vectors = "array(cast(id AS float), cast(id % 3 AS float))"
    rows = spark.range(300).selectExpr("id", f"{vectors} AS v")
    kind = {"v.arrow.fixed-size-list.size": 2}
    rows.write.format("lance").mode("append").options(**kind).save(uri)
    table = LanceTable.forPath(spark, uri)
    table.createIndex("v", "IVF_PQ", num_partitions=2, num_sub_vectors=2, num_bits=4)
    left = spark.range(7, 9).selectExpr("id AS n", f"{vectors} AS v")
    found = nearest_join(left, uri, "v", 1, refine_factor=30).orderBy("n").collect()
    return [[row["n"], row["id"]] for row in found]


def best_texts(spark: SparkSession, uri: str) -> list[int]:
    """The rows that a search with an index of texts returns, best first."""
    rows = spark.range(30).selectExpr("id", "concat('w', id % 3, ' w', id % 7) AS t")
    rows.repartition(2).write.format("lance").mode("append").save(uri)
    create_index(spark, uri, "t", "INVERTED", num_segments=2)
    found = search(spark, uri, "w5 w2", 2, columns=["id"], filter="id > 4")
    return sorted(row["id"] for row in found.collect())


if __name__ == "__main__":
    main()
