"""The steps of a day: orders and their lines are loaded, merged, streamed, restored, vacuumed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.streaming.query import StreamingQuery

import lance_core
from lance_core_spark import (
    aggregate,
    create_index,
    lookup_join,
    read,
    sql,
    table_changes,
    upsert_batches,
)
from tests.spark.day.kill import killing_once
from tests.spark.day.packages import packages_of_executors
from tests.spark.day.tables import Tables, digest

DAYS = 3
LINES_OF_ORDER = 4

ORDER = (
    "id",
    "pmod(hash(id, 1), 500) AS customer",
    "CAST(pmod(hash(id, 2), 10000000) / 100 AS decimal(12, 2)) AS total",
    "date_add(DATE '2026-01-01', CAST(pmod(hash(id, 3), 90) AS int)) AS day",
    "concat('note ', pmod(hash(id, 4), 1000)) AS note",
    "IF(pmod(hash(id, 5), 10) = 0, NULL, 'open') AS status",
)
LINE = (
    "id DIV 4 AS order_id",
    "CAST(id % 4 AS int) AS line",
    "CAST(pmod(hash(id, 6), 1000000) / 100 AS decimal(12, 2)) AS price",
    "CAST(pmod(hash(id, 7), 11) / 100 AS decimal(4, 2)) AS discount",
    "rand(8) AS weight",
)
REVENUE = "price * (1 - discount)"


@dataclass
class Day:
    """A pipeline over ``rows`` orders. Each step changes tables, and the Parquet files likewise."""

    tables: Tables
    rows: int

    @property
    def steps(self) -> list[Callable[[], list[str]]]:
        """The steps in their order; each returns what is wrong with its own results."""
        return [
            self.packages,
            self.load,
            self.index,
            *[self.merge] * DAYS,
            self.update,
            self.delete,
            self.stream,
            self.upsert,
            self.change_feed,
            self.evolve,
            self.restore_after_a_mistake,
            self.compact,
            self.vacuum,
            self.report,
        ]

    def packages(self) -> list[str]:
        """Every process that runs tasks has the same packages, the plugin among them."""
        found = packages_of_executors(self.tables.spark, 12)
        versions = {packages for _, _, packages in found}
        wrong = len(versions) != 1 or "lance-core-spark" not in versions.pop()
        return [f"the executors have {found}"] * wrong

    def load(self) -> list[str]:
        spark = self.tables.spark
        self.tables.create("orders", spark.range(self.rows).selectExpr(*ORDER))
        lines = spark.range(LINES_OF_ORDER * self.rows).selectExpr(*LINE)
        self.tables.create("lines", lines)
        return []

    def index(self) -> list[str]:
        """Orders that an index finds, and their lines."""
        tables = self.tables
        create_index(tables.spark, tables.uri("orders"), "id", "BTREE")
        create_index(tables.spark, tables.uri("lines"), "order_id", "BTREE", num_segments=2)
        few = tables.spark.range(0, self.rows, 97).selectExpr("id AS order_id")
        joined = lookup_join(few, tables.uri("lines"), "order_id")
        expected = few.join(tables.parquet("lines"), "order_id")
        return _unequal("lookup_join", joined, expected)

    def merge(self) -> list[str]:
        """Changed, cancelled and new orders; a process is killed while it is at work on them."""
        tables, number = self.tables, self.table_version("orders")
        changed = f"id % 50 = {number % 50}"
        new = tables.spark.range(10**6 * number, 10**6 * number + self.rows // 100)
        ids = tables.spark.range(self.rows).where(changed).union(new)
        rows = ids.selectExpr(*ORDER).withColumn("note", sf.lit(f"merge {number}"))
        rows = rows.withColumn("gone", sf.expr("pmod(hash(id, 9), 7) = 0"))
        marker = tables.folder / f"killed-{number}"
        source = rows.repartition(3).mapInArrow(killing_once(str(marker)), rows.schema).alias("s")
        merge = tables.table("orders").alias("t").merge(source, "t.id = s.id")
        kept = {name: f"s.{name}" for name in tables.parquet("orders").columns}
        merge = merge.whenMatchedDelete("s.gone").whenMatchedUpdate(None, kept)
        merge.whenNotMatchedInsert("NOT s.gone", kept).execute()
        old = tables.parquet("orders").join(rows.select("id"), "id", "left_anti")
        tables.replace("orders", old.unionByName(rows.where("NOT gone").drop("gone")))
        return [] if marker.exists() else ["no process was killed"]

    def update(self) -> list[str]:
        tables = self.tables
        condition, price = "order_id % 10 = 3", "CAST(price * 2 AS decimal(12, 2))"
        tables.table("lines").update(condition, {"price": price})
        changed = f"IF({condition}, {price}, price)"
        tables.replace("lines", tables.parquet("lines").withColumn("price", sf.expr(changed)))
        return []

    def delete(self) -> list[str]:
        tables = self.tables
        sql(tables.spark, f"DELETE FROM lance.`{tables.uri('lines')}` WHERE price < 100")
        tables.replace("lines", tables.parquet("lines").where("NOT price < 100"))
        return []

    def stream(self) -> list[str]:
        """Rows of two days stream into a copy, which has them once."""
        tables = self.tables
        first = tables.spark.range(self.rows).selectExpr("id", "id % 100 AS account", "id AS at")
        tables.create("events", first)
        for _ in range(2):
            self._copy_events()
            later = first.withColumn("at", sf.col("at") + self.rows)
            tables.append("events", later)
        self._copy_events()
        copied = read(tables.spark, tables.uri("copied"))
        return _unequal("the copied stream", copied, tables.parquet("events"))

    def _copy_events(self) -> None:
        events = self.tables.spark.readStream.format("lance").option("starting_version", 1)
        writer = events.load(self.tables.uri("events")).writeStream.format("lance")
        writer = writer.option("path", self.tables.uri("copied"))
        self._finish(writer.option("checkpointLocation", str(self.tables.folder / "copying")))

    def upsert(self) -> list[str]:
        """The newest event of each account, by a stream that is upserted."""
        tables = self.tables
        empty = tables.spark.range(0).selectExpr("id AS account", "id AS at")
        empty.write.format("lance").mode("append").save(tables.uri("accounts"))
        events = tables.spark.readStream.format("lance").option("starting_version", 1)
        newest = events.load(tables.uri("events")).groupBy("account").agg(sf.max("at").alias("at"))
        batches = upsert_batches(tables.uri("accounts"), on="account", query_id="accounts")
        writer = newest.writeStream.outputMode("update").foreachBatch(batches)
        self._finish(writer.option("checkpointLocation", str(tables.folder / "upserting")))
        expected = tables.parquet("events").groupBy("account").agg(sf.max("at").alias("at"))
        return _unequal("the upserted stream", read(tables.spark, tables.uri("accounts")), expected)

    def _finish(self, writer: object) -> None:
        query: StreamingQuery = writer.trigger(availableNow=True).start()  # type: ignore[attr-defined]
        query.awaitTermination()

    def change_feed(self) -> list[str]:
        """The first version and all changes since then make the newest one."""
        tables = self.tables
        changes = table_changes(tables.spark, tables.uri("orders"), 2).cache()
        columns = tables.parquet("orders").columns
        rank = "struct(_commit_version, _change_type = 'update_postimage', *)"
        kinds = changes.where("_change_type != 'update_preimage'")
        last = kinds.selectExpr("id AS k", f"{rank} AS c").groupBy("k").agg(sf.max("c").alias("c"))
        kept = last.where("c._change_type != 'delete'").selectExpr(*(f"c.{n}" for n in columns))
        first = read(tables.spark, tables.uri("orders"), version=1)
        rest = first.join(last.selectExpr("k AS id"), "id", "left_anti").select(*columns)
        wrong = _unequal("the change feed", rest.unionByName(kept), tables.parquet("orders"))
        changes.unpersist()
        return wrong

    def evolve(self) -> list[str]:
        """New columns, one with another name, and one less."""
        tables = self.tables
        value = "CAST(total * 2 AS decimal(14, 2))"
        orders = tables.table("orders")
        orders.addColumns({"doubled": value})
        orders.alterColumns({"note": {"name": "remark"}})
        orders.dropColumns(["status"])
        rows = tables.parquet("orders").withColumn("doubled", sf.expr(value))
        tables.replace("orders", rows.withColumnRenamed("note", "remark").drop("status"))
        return []

    def restore_after_a_mistake(self) -> list[str]:
        orders = self.tables.table("orders")
        orders.createTag("good")
        orders.update(None, {"total": "CAST(0 AS decimal(12, 2))"})
        orders.delete("customer > 250")
        orders.restoreToTag("good")
        return []

    def compact(self) -> list[str]:
        for name in ("orders", "lines"):
            self.tables.table(name).optimize(target_rows_per_fragment=self.rows)
        return []

    def vacuum(self) -> list[str]:
        """What is left are the newest versions and the tagged one."""
        tables = self.tables
        for name in ("orders", "lines"):
            tables.table(name).vacuum(retentionHours=0)
        tagged = read(tables.spark, tables.uri("orders"), tag="good")
        versions = len(lance_core.dataset(tables.uri("lines")).versions())
        wrong = _unequal("the tagged version", tagged, tables.parquet("orders"))
        return wrong + [f"{versions} versions of lines stay"] * (versions != 1)

    def report(self) -> list[str]:
        """The revenue of each customer, by tasks that read and by Spark."""
        tables = self.tables
        sums = {"revenue": ("sum", REVENUE), "n": ("count", "*"), "top": ("max", "price")}
        ours = aggregate(tables.spark, tables.uri("lines"), {"o": "order_id % 500"}, sums)
        lines = tables.parquet("lines").selectExpr("order_id % 500 AS o", "*")
        calls = [
            sf.expr(f"{function}({text}) AS {name}") for name, (function, text) in sums.items()
        ]
        theirs = lines.groupBy("o").agg(*calls)
        same_type = f"CAST(revenue AS {theirs.schema['revenue'].dataType.simpleString()})"
        ours = ours.withColumn("revenue", sf.expr(same_type))
        history = tables.table("orders").history().count()
        return _unequal("aggregate", ours, theirs) + ["no history"] * (history == 0)

    def table_version(self, name: str) -> int:
        return lance_core.dataset(self.tables.uri(name)).version


def _unequal(what: str, ours: DataFrame, expected: DataFrame) -> list[str]:
    found, wanted = digest(ours), digest(expected)
    return [] if found == wanted else [f"{what}: {found} instead of {wanted}"]
