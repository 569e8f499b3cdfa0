"""Queries of TPC-H: by `aggregate`, and by data frames of `read` that Spark joins.

The tables have the columns of these queries, with values of the ranges that the benchmark defines.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Row
from pyspark.sql.functions import broadcast, expr

import lance_core
from benchmarks.bars import SPARK
from benchmarks.report import OURS
from benchmarks.spark.comparison import PARQUET, Comparison
from benchmarks.spark.session import FILES
from lance_core_spark import aggregate, read

ORDER_LINES, CUSTOMER_ORDERS = 4, 10
"""Lines of an order, and orders of a customer, on average."""

SHIPPED = "l_shipdate <= date '1998-09-02'"
REVENUE = "l_extendedprice * (1 - l_discount)"
DISCOUNTED = (
    "l_shipdate >= date '1994-01-01' AND l_shipdate < date '1995-01-01' "
    "AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24"
)
SEGMENT = "c_mktsegment = 'BUILDING'"
ORDERED, UNSHIPPED = "o_orderdate < date '1995-03-15'", "l_shipdate > date '1995-03-15'"
LATE = (
    "l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate "
    "AND l_shipdate < l_commitdate AND l_receiptdate >= date '1994-01-01' "
    "AND l_receiptdate < date '1995-01-01'"
)
SUMMARY = {
    "sum_qty": ("sum", "l_quantity"),
    "sum_base_price": ("sum", "l_extendedprice"),
    "sum_disc_price": ("sum", REVENUE),
    "sum_charge": ("sum", f"{REVENUE} * (1 + l_tax)"),
    "avg_qty": ("avg", "l_quantity"),
    "avg_price": ("avg", "l_extendedprice"),
    "avg_disc": ("avg", "l_discount"),
    "count_order": ("count", "*"),
}
FLAGS = ["l_returnflag", "l_linestatus"]
URGENT = "sum(CAST(o_orderpriority IN ('1-URGENT', '2-HIGH') AS int))"

Load = Callable[[str, Sequence[str], str], DataFrame]
"""The columns and rows of a table, as a data frame."""


def tpch(comparison: Comparison) -> None:
    """Queries 1 and 6 both ways, and 3 and 12, which join tables."""
    _write_tables(comparison)
    parquet, ours = partial(_parquet, comparison), partial(_ours, comparison)
    queries = {
        "TPC-H Q1 by read": _pricing,
        "TPC-H Q3 by read": _shipping,
        "TPC-H Q6 by read": _forecast,
        "TPC-H Q12 by read": _modes,
    }
    for label, query in queries.items():
        actions = {OURS: partial(query, ours), PARQUET: partial(query, parquet)}
        comparison.add(label, actions, SPARK[label])
    table = partial(aggregate, comparison.spark, comparison.path("lineitem.lance"))
    actions = {
        OURS: lambda: sorted(table(FLAGS, SUMMARY, filter=SHIPPED).collect()),
        PARQUET: partial(_pricing, parquet),
    }
    comparison.add("TPC-H Q1 by aggregate", actions, SPARK["TPC-H Q1 by aggregate"])
    revenue = {"revenue": ("sum", "l_extendedprice * l_discount")}
    actions = {
        OURS: lambda: table([], revenue, filter=DISCOUNTED).collect(),
        PARQUET: partial(_forecast, parquet),
    }
    comparison.add("TPC-H Q6 by aggregate", actions, SPARK["TPC-H Q6 by aggregate"])


def _pricing(load: Load) -> list[Row]:
    columns = [*FLAGS, "l_quantity", "l_extendedprice", "l_discount", "l_tax"]
    lines = load("lineitem", columns, SHIPPED)
    calls = [expr(f"{function}({text})") for function, text in SUMMARY.values()]
    return sorted(lines.groupBy(*FLAGS).agg(*calls).collect())


def _forecast(load: Load) -> list[Row]:
    lines = load("lineitem", ["l_extendedprice", "l_discount"], DISCOUNTED)
    return lines.selectExpr("sum(l_extendedprice * l_discount)").collect()


def _shipping(load: Load) -> list[Row]:
    customers = load("customer", ["c_custkey"], SEGMENT)
    order_columns = ["o_orderkey", "o_custkey", "o_orderdate", "o_shippriority"]
    orders = load("orders", order_columns, ORDERED)
    lines = load("lineitem", ["l_orderkey", "l_extendedprice", "l_discount"], UNSHIPPED)
    due = orders.join(broadcast(customers), orders.o_custkey == customers.c_custkey)
    joined = lines.join(due, lines.l_orderkey == orders.o_orderkey)
    grouped = joined.selectExpr(
        "l_orderkey", "o_orderdate", "o_shippriority", f"{REVENUE} AS revenue"
    ).groupBy("l_orderkey", "o_orderdate", "o_shippriority")
    summed = grouped.sum("revenue").toDF("key", "date", "priority", "revenue")
    return summed.orderBy(summed.revenue.desc(), "date", "key").limit(10).collect()


def _modes(load: Load) -> list[Row]:
    lines = load("lineitem", ["l_orderkey", "l_shipmode"], LATE)
    orders = load("orders", ["o_orderkey", "o_orderpriority"], "")
    joined = orders.join(lines, orders.o_orderkey == lines.l_orderkey)
    return sorted(joined.groupBy("l_shipmode").agg(expr(URGENT), expr("count(*)")).collect())


def _parquet(
    comparison: Comparison, name: str, columns: Sequence[str], condition: str
) -> DataFrame:
    frame = comparison.spark.read.parquet(comparison.path(f"{name}.parquet"))
    return (frame.where(condition) if condition else frame).select(*columns)


def _ours(comparison: Comparison, name: str, columns: Sequence[str], condition: str) -> DataFrame:
    path = comparison.path(f"{name}.lance")
    return read(comparison.spark, path, columns=columns, filter=condition or None)


def _write_tables(comparison: Comparison) -> None:
    """Write the same files of both formats."""
    for name, table in _tables(comparison.rows).items():
        rows = -(-table.num_rows // FILES)
        lance_core.write_dataset(table, comparison.path(f"{name}.lance"), max_rows_per_file=rows)
        folder = Path(comparison.path(f"{name}.parquet"))
        folder.mkdir()
        for number in range(FILES):
            pq.write_table(table.slice(number * rows, rows), folder / f"{number}.parquet")


def _tables(rows: int) -> dict[str, pa.Table]:
    random = np.random.default_rng(0)
    num_orders = max(1, rows // ORDER_LINES)
    customers = max(1, num_orders // CUSTOMER_ORDERS)

    def days(base: np.ndarray) -> pa.Array:
        return pa.array(base.astype(np.int32)).cast(pa.date32())

    def choice(values: list[str], count: int) -> pa.Array:
        return pa.array(np.array(values)[random.integers(0, len(values), count)])

    first = (datetime.date(1992, 1, 1) - datetime.date(1970, 1, 1)).days
    ordered = first + random.integers(0, 2406, num_orders)
    order = np.sort(random.integers(0, num_orders, rows))
    shipped = ordered[order] + random.integers(1, 122, rows)
    lines = {
        "l_orderkey": pa.array(order),
        "l_quantity": _money(100 * random.integers(1, 51, rows)),
        "l_extendedprice": _money(random.integers(90_000, 10_500_000, rows)),
        "l_discount": _money(random.integers(0, 11, rows)),
        "l_tax": _money(random.integers(0, 9, rows)),
        "l_returnflag": choice(["A", "N", "R"], rows),
        "l_linestatus": choice(["F", "O"], rows),
        "l_shipdate": days(shipped),
        "l_commitdate": days(ordered[order] + random.integers(30, 91, rows)),
        "l_receiptdate": days(shipped + random.integers(1, 31, rows)),
        "l_shipmode": choice(["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"], rows),
    }
    priorities = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"]
    orders = {
        "o_orderkey": pa.array(np.arange(num_orders)),
        "o_custkey": pa.array(random.integers(0, customers, num_orders)),
        "o_orderdate": days(ordered),
        "o_orderpriority": choice(priorities, num_orders),
        "o_shippriority": pa.array(np.zeros(num_orders, np.int32)),
    }
    segments = ["AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"]
    people = {
        "c_custkey": pa.array(np.arange(customers)),
        "c_mktsegment": choice(segments, customers),
    }
    tables = {"lineitem": lines, "orders": orders, "customer": people}
    return {name: pa.table(columns) for name, columns in tables.items()}


def _money(cents: np.ndarray) -> pa.Array:
    """Decimals of two digits behind the point, from cents that are not negative."""
    words = np.zeros((len(cents), 2), np.int64)
    words[:, 0] = cents
    return pa.Array.from_buffers(pa.decimal128(12, 2), len(cents), [None, pa.py_buffer(words)])
