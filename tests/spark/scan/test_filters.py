"""Filters that are pushed down find what Spark finds."""

from __future__ import annotations

import datetime
import random
from decimal import Decimal
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import datasource as ds
from pyspark.sql import functions as sf

import lance_core
from lance_core_spark.scan.filters import condition, expression
from tests.examples import IS_FULL_RUN
from tests.spark.conftest import PUSH_DOWN, read

NAN, INF = float("nan"), float("inf")
DAY = datetime.date(2024, 1, 1)
NOON = datetime.datetime(2024, 1, 1, 12)
ROWS = 60

VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "i": (pa.int32(), [-1, 0, 1, 2]),
    "u": (pa.uint64(), [0, 1, 2**64 - 1]),
    "b": (pa.bool_(), [True, False]),
    "f": (pa.float32(), [NAN, -INF, INF, -0.0, 0.0, 1.5]),
    "d": (pa.float64(), [NAN, -INF, INF, -0.0, 0.0, 1.5]),
    "t": (pa.string(), ["", "a", "ab", "ba", "ä", "\U0001f40e"]),
    "x": (pa.binary(), [b"", b"\x00", b"\xff", b"a"]),
    "m": (pa.decimal128(6, 2), [Decimal("-1.50"), Decimal("0.00"), Decimal("1.50")]),
    "day": (pa.date32(), [DAY, DAY.replace(year=1950)]),
    "at": (pa.timestamp("us", "Asia/Kolkata"), [NOON.replace(tzinfo=datetime.UTC)]),
    "local": (pa.timestamp("us"), [NOON, NOON.replace(year=1950)]),
}
COMPARISONS = {
    ds.EqualTo: lambda c, v: c == v,
    ds.EqualNullSafe: lambda c, v: c.eqNullSafe(v),
    ds.GreaterThan: lambda c, v: c > v,
    ds.GreaterThanOrEqual: lambda c, v: c >= v,
    ds.LessThan: lambda c, v: c < v,
    ds.LessThanOrEqual: lambda c, v: c <= v,
}
SEARCHES = {
    ds.StringStartsWith: lambda c, v: c.startswith(v),
    ds.StringEndsWith: lambda c, v: c.endswith(v),
    ds.StringContains: lambda c, v: c.contains(v),
}


def some_table(dice: random.Random) -> pa.Table:
    columns = {
        name: pa.array([dice.choice([*values, None]) for _ in range(ROWS)], arrow)
        for name, (arrow, values) in VALUES.items()
    }
    inner = pa.array([dice.choice([0, 1, None]) for _ in range(ROWS)], pa.int64())
    columns["s"] = pa.StructArray.from_arrays([inner], names=["n"])
    return pa.table({"id": pa.array(range(ROWS)), **columns})


def literal(value: Any, name: str) -> Column:
    """A Spark literal of the column's own type."""
    if name == "u":
        return sf.lit(Decimal(value)).cast("decimal(20,0)")
    if name == "local":
        return sf.lit(str(value)).cast("timestamp_ntz")
    types = {"f": "float", "d": "double", "m": "decimal(6,2)"}
    return sf.lit(value).cast(types[name]) if name in types else sf.lit(value)


def some_filter(dice: random.Random) -> tuple[ds.Filter, Column]:
    """A filter as Spark hands it over, and the same as Spark computes it."""
    name = dice.choice([*VALUES, "s"])
    path = ("s", "n") if name == "s" else (name,)
    values = [0, 1] if name == "s" else VALUES[name][1]
    column, value = sf.col(".".join(path)), dice.choice(values)
    given = Decimal(value) if name == "u" else value
    kind = dice.choice([*COMPARISONS, ds.In, ds.IsNull, ds.IsNotNull, *SEARCHES])
    made: tuple[ds.Filter, Column]
    if kind in SEARCHES and name == "t":
        made = kind(path, value), SEARCHES[kind](column, value)
    elif kind is ds.In:
        several = [dice.choice(values) for _ in range(dice.randint(1, 3))]
        options = [Decimal(v) if name == "u" else v for v in several]
        made = ds.In(path, options), column.isin([literal(v, name) for v in several])
    elif kind is ds.IsNull:
        made = ds.IsNull(path), column.isNull()
    elif kind in COMPARISONS:
        made = kind(path, given), COMPARISONS[kind](column, literal(value, name))
    else:
        made = ds.IsNotNull(path), column.isNotNull()
    return (ds.Not(made[0]), ~made[1]) if dice.random() < 0.4 else made


def test_random_filters_find_no_less_than_spark(spark: SparkSession, tmp_path: Path) -> None:
    dice = random.Random(7)
    dataset = lance_core.write_dataset(some_table(dice), tmp_path / "t.lance")
    pairs = [some_filter(dice) for _ in range(300 if IS_FULL_RUN else 100)]
    columns = [column.alias(str(i)) for i, (_, column) in enumerate(pairs)]
    truth = read(spark, tmp_path / "t.lance").select("id", *columns).toArrow().sort_by("id")
    known = exact = 0
    for i, (asked, _) in enumerate(pairs):
        found = expression(asked, dataset.schema)
        if found is None:
            continue
        known += 1
        ids = set(dataset.to_table(["id"], filter=found)["id"].to_pylist())
        wanted = {row for row, holds in enumerate(truth[str(i)].to_pylist()) if holds}
        assert ids >= wanted, (asked, found)
        exact += ids == wanted
    assert known > 0.8 * len(pairs)
    assert exact > 0.9 * known


def test_filters_are_joined_by_and() -> None:
    schema = pa.schema([("a", pa.int64()), ("b", pa.string())])
    filters = [ds.EqualTo(("a",), 1), ds.EqualTo(("unknown",), 1), ds.IsNotNull(("b",))]
    found = condition(filters, schema)
    table = pa.table({"a": [1, 1, 2], "b": ["x", None, "y"]})
    assert table.filter(found).to_pylist() == [{"a": 1, "b": "x"}]
    assert condition(filters[1:2], schema) is None


@pytest.mark.parametrize(
    ("arrow", "value"),
    [
        (pa.timestamp("ns"), NOON),
        (pa.timestamp("s"), NOON),
        (pa.dictionary(pa.int8(), pa.string()), "a"),
        (pa.float16(), 1.0),
        (pa.duration("us"), datetime.timedelta(1)),
        (pa.int8(), 1000),
        (pa.int8(), 1.5),
        (pa.string(), 1),
    ],
    ids=str,
)
def test_what_cannot_be_compared_exactly_is_left_to_spark(arrow: pa.DataType, value: Any) -> None:
    schema = pa.schema([("c", arrow)])
    assert expression(ds.EqualTo(("c",), value), schema) is None
    assert expression(ds.In(("c",), [value]), schema) is None


CLAUSES = [
    "i between 0 and 1 and t like 'a%'",
    "not (d > 1) and day <= date '2000-01-01'",
    "s.n = 1 or u is null",
    "at = timestamp '2024-01-01 07:00:00' and local > timestamp_ntz '2000-01-01 00:00:00'",
    "u = 18446744073709551615 and f >= float('nan')",
    "i not in (1, 2) and s.n <=> null",
]


def ids(frame: DataFrame) -> list[int]:
    return sorted(row["id"] for row in frame.collect())


def rows_scanned(frame: DataFrame) -> int:
    """How many rows the scan gave to Spark."""
    frame.collect()
    scan = frame._jdf.queryExecution().executedPlan().collectLeaves().head()
    return int(scan.metrics().get("numOutputRows").get().value())


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> str:
    uri = str(tmp_path_factory.mktemp("filters") / "t.lance")
    lance_core.write_dataset(some_table(random.Random(3)), uri)
    return uri


@pytest.fixture(scope="module")
def truth(spark: SparkSession, uri: str) -> list[Row]:
    """What Spark computes of each clause for each row."""
    columns = [sf.expr(clause).alias(clause) for clause in CLAUSES]
    return read(spark, uri).select("id", *columns).collect()


@pytest.mark.parametrize("push", ["true", "false"])
def test_a_narrowed_scan_finds_the_same(
    spark: SparkSession, uri: str, truth: list[Row], push: str
) -> None:
    spark.conf.set(PUSH_DOWN, push)
    try:
        # Each clause narrows a frame of its own; one job runs them all.
        frames = [
            read(spark, uri, pushDownFilters="true").where(clause).select(sf.lit(clause), "id")
            for clause in CLAUSES
        ]
        found: dict[str, list[int]] = {clause: [] for clause in CLAUSES}
        for clause, row_id in reduce(DataFrame.union, frames).collect():
            found[clause].append(row_id)
        for clause in CLAUSES:
            assert sorted(found[clause]) == [row["id"] for row in truth if row[clause]]
        narrowed = read(spark, uri, pushDownFilters="true").where("id < 3")
        assert rows_scanned(narrowed) == (3 if push == "true" else ROWS)
    finally:
        spark.conf.unset(PUSH_DOWN)


def test_a_frame_can_be_used_with_several_filters(
    spark: SparkSession, uri: str, push_down: None
) -> None:
    frame = read(spark, uri)
    assert ids(frame.where("id < 3").union(frame.where("id > 57"))) == [0, 1, 2, 58, 59]
    assert frame.where("id < 3").join(frame.where("id > 1"), "id").count() == 1
    assert frame.count() == ROWS
