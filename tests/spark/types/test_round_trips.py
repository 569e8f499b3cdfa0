"""Every type goes from Lance to Spark and back, and pylance agrees with both."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import lance as pylance
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

import lance_core
from tests.spark.conftest import read, write

NOON = datetime.datetime(2024, 2, 29, 12, 30, 15, 123456)
BEFORE_1970 = datetime.datetime(1969, 12, 31, 23, 59, 59, 999999)
ZONE = "Asia/Kolkata"


@dataclass(frozen=True)
class Case:
    """A column, the Spark type it is read as, and its values there if they are other ones."""

    array: pa.Array
    spark: str
    seen: list[Any] | None = None


def zoned(value: datetime.datetime) -> datetime.datetime:
    return value.replace(tzinfo=datetime.UTC)


def vectors(item: pa.DataType) -> pa.Array:
    return pa.array([[1, 2, 3], None, [4, 5, 6]], pa.list_(item, 3))


CASES = {
    "null": Case(pa.nulls(3), "void"),
    "bool": Case(pa.array([True, None, False]), "boolean"),
    "int8": Case(pa.array([-128, None, 127], pa.int8()), "tinyint"),
    "int16": Case(pa.array([-(2**15), None, 1], pa.int16()), "smallint"),
    "int32": Case(pa.array([-(2**31), None, 1], pa.int32()), "int"),
    "int64": Case(pa.array([-(2**63), None, 1], pa.int64()), "bigint"),
    "uint8": Case(pa.array([255, None, 1], pa.uint8()), "smallint"),
    "uint16": Case(pa.array([2**16 - 1, None, 1], pa.uint16()), "int"),
    "uint32": Case(pa.array([2**32 - 1, None, 1], pa.uint32()), "bigint"),
    "uint64": Case(
        pa.array([2**64 - 1, None, 1], pa.uint64()),
        "decimal(20,0)",
        [Decimal(2**64 - 1), None, Decimal(1)],
    ),
    "float16": Case(pa.array([1.5, None, -0.25], pa.float16()), "float"),
    "float32": Case(pa.array([1.5, None, float("inf")], pa.float32()), "float"),
    "float64": Case(pa.array([1e300, None, -0.0]), "double"),
    "string": Case(pa.array(["", None, "žluťoučký \U0001f40e"]), "string"),
    "large_string": Case(pa.array(["a", None, "b"], pa.large_string()), "string"),
    "binary": Case(pa.array([b"", None, b"\x00\xff"]), "binary"),
    "large_binary": Case(pa.array([b"a", None, b"b"], pa.large_binary()), "binary"),
    "fixed_size_binary": Case(pa.array([b"abc", None, b"def"], pa.binary(3)), "binary"),
    "date32": Case(pa.array([NOON.date(), None, datetime.date(1, 1, 1)], pa.date32()), "date"),
    "date64": Case(pa.array([NOON.date(), None, NOON.date()], pa.date64()), "date"),
    "timestamp_s": Case(
        pa.array([NOON.replace(microsecond=0), None, None], pa.timestamp("s")), "timestamp_ntz"
    ),
    "timestamp_ms": Case(
        pa.array([zoned(NOON.replace(microsecond=5000)), None, None], pa.timestamp("ms", "UTC")),
        "timestamp",
    ),
    "timestamp_us": Case(pa.array([NOON, None, BEFORE_1970]), "timestamp_ntz"),
    "timestamp_zone": Case(
        pa.array([zoned(NOON), None, zoned(BEFORE_1970)], pa.timestamp("us", ZONE)), "timestamp"
    ),
    "timestamp_ns": Case(pa.array([NOON, None, BEFORE_1970], pa.timestamp("ns")), "timestamp_ntz"),
    "time32": Case(
        pa.array([NOON.time().replace(microsecond=0), None, None], pa.time32("s")), "time(6)"
    ),
    "time64_us": Case(pa.array([NOON.time(), None, None], pa.time64("us")), "time(6)"),
    "time64_ns": Case(pa.array([NOON.time(), None, None], pa.time64("ns")), "time(6)"),
    "duration_s": Case(
        pa.array([datetime.timedelta(1, 2), None, None], pa.duration("s")), "interval day to second"
    ),
    "duration_us": Case(
        pa.array([datetime.timedelta(-1, 2, 3), None, None], pa.duration("us")),
        "interval day to second",
    ),
    "decimal128": Case(
        pa.array([Decimal("-1.23"), None, Decimal("999.99")], pa.decimal128(5, 2)), "decimal(5,2)"
    ),
    "decimal256": Case(
        pa.array([Decimal("-1.23"), None, Decimal("999.99")], pa.decimal256(38, 2)),
        "decimal(38,2)",
    ),
    "dictionary": Case(pa.array(["a", None, "b"]).dictionary_encode(), "string"),
    "vector": Case(vectors(pa.float32()), "array<float>"),
    "half_vector": Case(vectors(pa.float16()), "array<float>"),
    "byte_vector": Case(vectors(pa.uint8()), "array<smallint>"),
    "list": Case(pa.array([[1, None], None, []], pa.list_(pa.int32())), "array<int>"),
    "large_list": Case(
        pa.array([["x", None], None, []], pa.large_list(pa.large_string())), "array<string>"
    ),
    "struct": Case(
        pa.array(
            [
                {"a": 1, "b": {"c": [7, None]}},
                {"a": None, "b": {"c": []}},
                {"a": 3, "b": {"c": [1]}},
            ],
            pa.struct([("a", pa.uint8()), ("b", pa.struct([("c", pa.list_(pa.uint16()))]))]),
        ),
        "struct<a:smallint,b:struct<c:array<int>>>",
    ),
    "list_of_struct": Case(
        pa.array(
            [[{"x": 1.0, "y": "p"}], None, [{"x": None, "y": None}, {"x": 2.0, "y": "q"}]],
            pa.list_(pa.struct([("x", pa.float16()), ("y", pa.large_string())])),
        ),
        "array<struct<x:float,y:string>>",
    ),
    "uuid": Case(
        pa.array([bytes(16), None, bytes(range(16))], pa.binary(16)).cast(pa.uuid()),
        "binary",
        [bytes(16), None, bytes(range(16))],
    ),
}
TABLE = pa.table({name: case.array for name, case in CASES.items()})
FIELDS = [
    pa.field("number", pa.int64(), nullable=False),
    pa.field("vector", pa.list_(pa.float32(), 2), nullable=False),
    pa.field("point", pa.struct([pa.field("x", pa.uint8(), nullable=False)]), nullable=False),
    pa.field("many", pa.list_(pa.field("item", pa.string(), nullable=False)), nullable=True),
    pa.field("noted", pa.string(), metadata={"unit": "m/s"}),
]
STRICT = pa.table(
    {
        "number": [1, 2],
        "vector": pa.array([[1, 2], [3, 4]], pa.list_(pa.float32(), 2)),
        "point": pa.array([{"x": 1}, {"x": 2}], FIELDS[2].type),
        "many": pa.array([["a"], None], FIELDS[3].type),
        "noted": ["a", None],
    },
    schema=pa.schema(FIELDS),
)

Write = Callable[[pa.Table, str], object]
WRITERS: dict[str, Write] = {
    "lance_core": lance_core.write_dataset,
    "pylance": lambda table, uri: pylance.write_dataset(table, uri, data_storage_version="2.0"),
}


@pytest.fixture(scope="module", params=list(WRITERS))
def stored(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    uri = str(tmp_path_factory.mktemp("stored") / "all.lance")
    WRITERS[request.param](TABLE, uri)
    return uri


def expected(name: str) -> list[Any]:
    case = CASES[name]
    return case.array.to_pylist() if case.seen is None else case.seen


def test_spark_reads_every_type(spark: SparkSession, stored: str) -> None:
    frame = read(spark, stored)
    assert {f.name: f.dataType.simpleString() for f in frame.schema} == {
        name: case.spark for name, case in CASES.items()
    }
    seen = frame.toArrow()
    different = {
        name: (seen.column(name).to_pylist(), expected(name))
        for name in CASES
        if not same(seen.column(name).to_pylist(), expected(name))
    }
    assert different == {}


def same(left: list[Any], right: list[Any]) -> bool:
    return [in_utc(v) for v in left] == [in_utc(v) for v in right]


def in_utc(value: Any) -> Any:
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return value.astimezone(datetime.UTC)
    return value


def test_what_was_read_is_written_as_it_was(
    spark: SparkSession, stored: str, tmp_path: Path
) -> None:
    write(read(spark, stored), tmp_path / "copy.lance")
    for opened in (
        lance_core.dataset(tmp_path / "copy.lance"),
        pylance.dataset(tmp_path / "copy.lance"),
    ):
        copy = opened.to_table()
        assert copy.schema.equals(TABLE.schema)
        for name in TABLE.column_names:
            assert copy.column(name).to_pylist() == TABLE.column(name).to_pylist(), name


def test_what_was_read_is_appended_to_its_table(spark: SparkSession, tmp_path: Path) -> None:
    uri = str(tmp_path / "all.lance")
    lance_core.write_dataset(TABLE, uri)
    write(read(spark, uri), uri)
    pylance.write_dataset(TABLE, uri, mode="append")
    table = pylance.dataset(uri).to_table()
    assert table.num_rows == 9
    assert table.schema.equals(TABLE.schema)
    for name in TABLE.column_names:
        assert table.column(name).to_pylist() == 3 * TABLE.column(name).to_pylist(), name
        assert lance_core.dataset(uri).to_table([name]).column(0).to_pylist() == (
            table.column(name).to_pylist()
        )


def test_nullability_and_field_metadata_survive(spark: SparkSession, tmp_path: Path) -> None:
    lance_core.write_dataset(STRICT, tmp_path / "strict.lance")
    frame = read(spark, tmp_path / "strict.lance")
    assert [f.nullable for f in frame.schema] == [False, False, False, True, True]
    assert not frame.schema["point"].dataType["x"].nullable  # type: ignore[index]
    assert not frame.schema["many"].dataType.containsNull  # type: ignore[attr-defined]
    write(frame, tmp_path / "copy.lance")
    copy = lance_core.dataset(tmp_path / "copy.lance")
    original = lance_core.dataset(tmp_path / "strict.lance")
    assert copy.schema.equals(original.schema, check_metadata=True)
    assert copy.to_table().equals(original.to_table())


def test_types_that_only_spark_makes_are_stored(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.sql(
        """
        select id, cast(id as decimal(10, 3)) as price, timestamp_micros(id) as at,
               timestamp_ntz '2024-01-01 00:00:00.5' as local, date '2024-01-01' as day,
               interval '1 02:03:04.5' day to second as span, time '10:11:12.5' as clock,
               array(named_struct('a', id)) as items, cast(null as string) as nothing
        from range(3)
        """
    )
    write(frame, tmp_path / "t.lance")
    table = pylance.dataset(tmp_path / "t.lance").to_table().sort_by("id")
    assert table.schema.field("at").type == pa.timestamp("us", "UTC")
    assert table.schema.field("items").type == pa.list_(
        pa.field("item", pa.struct([pa.field("a", pa.int64(), False)]), False)
    )
    assert table.drop_columns(["id", "price", "at", "items"]).to_pylist() == 3 * [
        {
            "local": datetime.datetime(2024, 1, 1, 0, 0, 0, 500000),
            "day": datetime.date(2024, 1, 1),
            "span": datetime.timedelta(1, 7384, 500000),
            "clock": datetime.time(10, 11, 12, 500000),
            "nothing": None,
        }
    ]
    assert table.column("price").to_pylist() == [Decimal(0), Decimal(1), Decimal(2)]
    moments = [value.astimezone(ZoneInfo("UTC")).microsecond for value in table["at"].to_pylist()]
    assert moments == [0, 1, 2]


def test_metadata_asks_for_vectors(spark: SparkSession, tmp_path: Path) -> None:
    numbers = spark.range(4).select(
        sf.array(sf.col("id").cast("float"), sf.lit(1.0).cast("float")).alias(
            "v", metadata={"arrow.fixed-size-list.size": 2}
        ),
        sf.array(sf.col("id").cast("float"), sf.lit(1.0).cast("float")).alias(
            "h", metadata={"arrow.fixed-size-list.size": 2, "arrow.float16": "true"}
        ),
    )
    write(numbers, tmp_path / "v.lance")
    schema = pylance.dataset(tmp_path / "v.lance").schema
    assert schema.field("v").type == pa.list_(pa.field("item", pa.float32()), 2)
    assert schema.field("h").type == pa.list_(pa.field("item", pa.float16()), 2)


@pytest.mark.parametrize("query", ["interval '1-2' year to month", "parse_json('1')"])
def test_types_that_lance_has_not_are_refused_by_name(
    spark: SparkSession, tmp_path: Path, query: str
) -> None:
    frame = spark.sql(f"select named_struct('inner', {query}) as outer")
    with pytest.raises(Exception, match=r"outer\.inner"):
        write(frame, tmp_path / "t.lance")
    assert not (tmp_path / "t.lance").exists()


def test_types_that_spark_has_not_are_refused_by_name(spark: SparkSession, tmp_path: Path) -> None:
    big = pa.array([[Decimal(10**40)]], pa.list_(pa.decimal256(50, 0)))
    lance_core.write_dataset(pa.table({"id": [1], "big": big}), tmp_path / "t.lance")
    with pytest.raises(Exception, match=r"column big\.element: Spark has no type"):
        read(spark, tmp_path / "t.lance")
    assert read(spark, tmp_path / "t.lance", columns="id").collect() == [(1,)]
