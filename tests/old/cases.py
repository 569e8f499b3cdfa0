"""Tables of every kind that a 2.0 file holds. Needs pyarrow only: old environments run it."""

from __future__ import annotations

import datetime
import decimal

import pyarrow as pa

ROWS = 1500

SCALARS: dict[pa.DataType, list[object]] = {
    pa.bool_(): [True, False, True],
    pa.int8(): [-128, 0, 127],
    pa.int16(): [-32768, 1, 32767],
    pa.int32(): [-(2**31), 7, 2**31 - 1],
    pa.int64(): [-(2**63), 7, 2**63 - 1],
    pa.uint8(): [0, 1, 255],
    pa.uint16(): [0, 1, 65535],
    pa.uint32(): [0, 1, 2**32 - 1],
    pa.uint64(): [0, 1, 2**64 - 1],
    pa.float32(): [0.5, -1.25, float("inf")],
    pa.float64(): [0.1, -2.5, 1e300],
    pa.float16(): [0.5, -1.25, float("inf")],
    pa.date32(): [datetime.date(1969, 7, 20), datetime.date(2026, 11, 20)],
    pa.date64(): [datetime.date(1969, 7, 20), datetime.date(2026, 11, 20)],
    pa.time32("s"): [datetime.time(0, 0), datetime.time(23, 59, 59)],
    pa.time64("us"): [datetime.time(0, 0), datetime.time(23, 59, 59, 999999)],
    pa.timestamp("s"): [datetime.datetime(1969, 7, 20, 20, 17), datetime.datetime(2026, 1, 1)],
    pa.timestamp("us"): [datetime.datetime(1969, 7, 20, 20, 17), datetime.datetime(2026, 1, 1)],
    pa.timestamp("ns", "UTC"): [datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)],
    pa.duration("ms"): [datetime.timedelta(milliseconds=1), datetime.timedelta(days=3)],
    pa.duration("ns"): [datetime.timedelta(microseconds=1), datetime.timedelta(days=3)],
    pa.decimal128(20, 3): [decimal.Decimal("1.125"), decimal.Decimal("-99.000")],
    pa.decimal256(60, 2): [decimal.Decimal("1.25"), decimal.Decimal("-99.00")],
    pa.binary(3): [b"abc", b"\0\0\0"],
    pa.string(): ["", "Oslo", "æøå", "long " * 50],
    pa.binary(): [b"", b"\x00\xff", b"x" * 300],
    pa.large_string(): ["", "Bern", "é"],
    pa.large_binary(): [b"", b"\x01"],
}


def column(kind: pa.DataType, values: list[object], nulls: bool) -> pa.Array:
    repeated = [values[i % len(values)] for i in range(ROWS)]
    if nulls:
        repeated = [None if i % 7 == 3 else value for i, value in enumerate(repeated)]
    return pa.array(repeated, kind)


def nested(nulls: bool) -> dict[str, pa.Array]:
    numbers = [[*range(i % 4)] for i in range(ROWS)]
    names = [[f"n{i % 9}"] * (i % 3) for i in range(ROWS)]
    vectors = [[i, i + 0.5] for i in range(ROWS)]
    if nulls:
        numbers = [None if i % 5 == 2 else value for i, value in enumerate(numbers)]  # type: ignore[misc]
        names = [[None, *value] if i % 4 == 1 else value for i, value in enumerate(names)]  # type: ignore[list-item]
        vectors = [None if i % 6 == 1 else value for i, value in enumerate(vectors)]  # type: ignore[misc]
    return {
        "list": pa.array(numbers, pa.list_(pa.int32())),
        "large_list": pa.array(names, pa.large_list(pa.string())),
        "vector": pa.array(vectors, pa.list_(pa.float32(), 2)),
        "struct": pa.array(
            [{"a": i, "b": None if nulls and i % 3 == 0 else str(i)} for i in range(ROWS)],
            pa.struct({"a": pa.int64(), "b": pa.string()}),
        ),
        "dictionary": pa.array(
            [None if nulls and i % 8 == 0 else f"key {i % 20}" for i in range(ROWS)]
        ).dictionary_encode(),
        "unique": pa.array([f"value {i}" for i in range(ROWS)]),
    }


def numbered(start: int, stop: int) -> pa.Table:
    """Rows to change: a key and columns of several kinds."""
    keys = range(start, stop)
    return pa.table(
        {
            "key": pa.array(keys, pa.int64()),
            "text": [None if key % 9 == 4 else f"text {key % 50}" for key in keys],
            "items": pa.array([[key] * (key % 3) for key in keys], pa.list_(pa.int64())),
        }
    )


def tables() -> dict[str, pa.Table]:
    """What is written, by name; each becomes one Lance table."""
    made = {}
    for nulls in (False, True):
        suffix = "_nulls" if nulls else ""
        plain = {str(kind): column(kind, values, nulls) for kind, values in SCALARS.items()}
        made[f"scalars{suffix}"] = pa.table(plain)
        made[f"nested{suffix}"] = pa.table(nested(nulls))
    made["all_null"] = pa.table({"x": pa.array([None] * ROWS, pa.int32()), "y": pa.nulls(ROWS)})
    made["no_rows"] = made["scalars"].slice(0, 0)
    packed = pa.field(
        "packed",
        pa.struct([pa.field("a", pa.int32(), False), pa.field("b", pa.int64(), False)]),
        metadata={"packed": "true"},
    )
    rows = [{"a": i, "b": i * 3} for i in range(ROWS)]
    made["packed"] = pa.table([pa.array(rows, packed.type)], schema=pa.schema([packed]))
    for scheme in ("zstd", "fsst"):
        field = pa.field("text", pa.string(), metadata={"lance-encoding:compression": scheme})
        text = pa.array([f"compressed {scheme} text {i * 7919}" for i in range(ROWS)])
        made[scheme] = pa.table([text], schema=pa.schema([field]))
    return made
