"""A session with a Hive metastore: ``python -m tests.spark.catalog.metastore STEP FOLDER``.

The metastore is a Derby database in ``FOLDER``, which one process opens at a time.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession

import lance_core
from lance_core_spark import LanceTable, create_table, register_table, sql, unregister_table


def start(folder: Path) -> SparkSession:
    return (
        SparkSession.builder.master("local[1]")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config(
            "spark.hadoop.javax.jdo.option.ConnectionURL",
            f"jdbc:derby:;databaseName={folder / 'metastore'};create=true",
        )
        .enableHiveSupport()
        .getOrCreate()
    )


def register(spark: SparkSession, path: str) -> None:
    """Register a table, its first version and its tag in a database of their own."""
    create_table(spark.range(3).selectExpr("id", "CAST(id AS decimal(20,2)) AS price"), path)
    LanceTable.forPath(spark, path).createTag("good")
    spark.sql("CREATE DATABASE shop")
    register_table(spark, "shop.orders", path)
    register_table(spark, "shop.orders_v1", path, version=1)
    register_table(spark, "shop.orders_good", path, tag="good", columns=["id"])
    assert spark.sql("SELECT sum(price) FROM shop.orders").first()[0] == 3


def use(spark: SparkSession, path: str) -> None:
    """Query and change what another session has registered."""
    names = {table.name for table in spark.catalog.listTables("shop")}
    assert {"orders", "orders_v1", "orders_good"} <= names
    sql(spark, "INSERT INTO shop.orders VALUES (7, 7)")
    merged = sql(
        spark,
        "MERGE WITH SCHEMA EVOLUTION INTO shop.orders t USING (SELECT 1 AS id, 'x' AS note) s "
        "ON t.id = s.id WHEN MATCHED THEN UPDATE SET *",
    )
    assert merged.first()["num_updated_rows"] == 1
    assert spark.table("shop.orders").columns == ["id", "price", "note"]
    rows = spark.sql("SELECT id, note FROM shop.orders ORDER BY id").collect()
    assert [tuple(row) for row in rows] == [(0, None), (1, "x"), (2, None), (7, None)]
    assert spark.table("shop.orders_v1").count() == 3
    assert [row.id for row in spark.table("shop.orders_good").collect()] == [0, 1, 2]
    assert sql(spark, "DESCRIBE HISTORY shop.orders").first()["version"] == 4


def remove(spark: SparkSession, path: str) -> None:
    """Remove the names; the table stays."""
    assert spark.table("shop.orders").columns == ["id", "price", "note"]
    for name in ("orders", "orders_v1", "orders_good"):
        unregister_table(spark, f"shop.{name}")
    assert not spark.catalog.listTables("shop")
    assert lance_core.dataset(path).count_rows() == 4


STEPS = {"register": register, "use": use, "remove": remove}


if __name__ == "__main__":
    session = start(Path(sys.argv[2]))
    session.sparkContext.setLogLevel("OFF")
    STEPS[sys.argv[1]](session, str(Path(sys.argv[2], "orders.lance")))
    session.stop()
