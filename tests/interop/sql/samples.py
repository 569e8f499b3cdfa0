"""Edge values of each type, and the two tables that have them as columns.

A column ``x_TYPE`` has the values of a type. In the table of pairs, ``y_TYPE`` has them too, so
that each row is another pair of positions; each two values of any two types meet in a row.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

NUM_VALUES = 20
"""Rows of the table of single values; shorter lists of values are repeated."""

_MINUS_NAN = float(np.array([0xFFF8 << 48], np.uint64).view(np.float64)[0])

_TEXTS = [
    None,
    "",
    "a",
    "abcABC abc",
    "  padded\t",
    "straße ﬁn Σας",
    "ΑΣ ὈΔΥΣΣΕΎΣ Σ",
    "İıI i\u0307",  # noqa: RUF001
    "e\u0301\u0301x",
    "👩\u200d👧z日本",
    "ǆ Ǆ ǅ",
    "a\tb\nc",
    "\u00a0nbsp\u2003",
    "12",
    "-7.50",
    "2024-02-29",
    "1969-12-31 23:59:59.123456789",
    "NaN",
    "%_\\$1\\1${a}",
    "true",
]
_FLOATS = [
    *(None, 0.0, -0.0, math.nan, _MINUS_NAN, math.inf, -math.inf, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5),
    *(-2.5, 0.1, 1234.5678, -1e-7),
]


def _integers(bits: int, is_signed: bool) -> list[Any]:
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if is_signed else (0, 2**bits - 1)
    small = [0, 1, 2, 3, 7, 15, 25, 45, 100, high - 1, high // 2]
    return [None, low, high, *small, *([-1, -2, -7, -15, -25, low + 1] if is_signed else [])]


def _decimals(precision: int, scale: int) -> list[Any]:
    highest = 10**precision - 1
    counts = [0, 1, -1, highest, -highest, 10**scale, -(10**scale), 5 * 10**scale // 2]
    counts += [15 * 10**scale // 10, -(15 * 10**scale // 10), 10**scale // 3, 7, 49, 50, -50, 51]
    kept = [count for count in counts if abs(count) <= highest]
    return [None, *(Decimal((count < 0, _digits(count), -scale)) for count in kept)]


def _digits(count: int) -> tuple[int, ...]:
    return tuple(map(int, str(abs(count))))


_STAMPS = [
    None,
    dt.datetime(1970, 1, 1),
    dt.datetime(1969, 12, 31, 23, 59, 59),
    dt.datetime(2024, 2, 29, 1, 2, 3),
    dt.datetime(2023, 12, 31, 23, 0),
    dt.datetime(2024, 12, 30, 12, 30, 30),
    dt.datetime(2021, 1, 3, 6, 0),
    dt.datetime(2000, 1, 1),
    dt.datetime(1900, 3, 1, 12),
    dt.datetime(1582, 10, 15),
    dt.datetime(2024, 3, 10, 7, 30),
    dt.datetime(2024, 11, 3, 6, 30),
    dt.datetime(2036, 7, 4, 23, 59, 59),
]
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_EPOCH = dt.datetime(1970, 1, 1)


def _stamps(unit: str, zone: str | None = None) -> pa.Array:
    scale = _PER_SECOND[unit]
    counts: list[int | None] = [
        None if stamp is None else int((stamp - _EPOCH).total_seconds()) * scale
        for stamp in _STAMPS
    ]
    seconds = [count for count in counts if count is not None]
    counts += [count + scale // 3 for count in seconds[:4]] + [-1, 1]
    counts = [count for count in counts if count is None or abs(count) < 2**63]
    return pa.array(counts, pa.int64()).cast(pa.timestamp(unit, zone))


def _times(unit: str) -> pa.Array:
    scale = _PER_SECOND[unit]
    counts = [None, 0, 1, 59, 60 * scale, 3600 * scale, 86400 * scale - 1, 43200 * scale + 7]
    kind = pa.int32() if unit in ("s", "ms") else pa.int64()
    return pa.array(counts, kind).cast(pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit))


def _days() -> list[dt.date | None]:
    return [None if stamp is None else stamp.date() for stamp in _STAMPS]


_BYTES = [None, b"", b"\x00", b"abc", b"\xff\xfe", b"12", b"a\x00b", "ß".encode()]
_STRUCT = pa.struct([("a", pa.int64()), ("b", pa.string())])

VALUES: Mapping[str, pa.Array] = {
    **{
        f"{'i' if is_signed else 'u'}{bits}": pa.array(
            _integers(bits, is_signed), getattr(pa, f"{'' if is_signed else 'u'}int{bits}")()
        )
        for is_signed in (True, False)
        for bits in (8, 16, 32, 64)
    },
    "f16": pa.array(_FLOATS, pa.float16()),
    "f32": pa.array([*_FLOATS, 3.4028234663852886e38, 1e-45, 16777216.0], pa.float32()),
    "f64": pa.array([*_FLOATS, 1.7976931348623157e308, 5e-324, 9007199254740993.0], pa.float64()),
    "bool": pa.array([True, False, None]),
    "text": pa.array(_TEXTS, pa.string()),
    # Apart from "text", because pylance ends the process if the text of an error has a NUL.
    "nul": pa.array(["a\x00b", "\x00", None, "a\x00\x00A"], pa.string()),
    "large": pa.array(_TEXTS, pa.large_string()),
    "dict": pa.array(_TEXTS, pa.string()).dictionary_encode(),
    "bytes": pa.array(_BYTES, pa.binary()),
    "lbytes": pa.array(_BYTES, pa.large_binary()),
    "fixed": pa.array([None, b"abc", b"\x00\x00\x00", b"\xff12"], pa.binary(3)),
    "date": pa.array(_days(), pa.date32()),
    "date64": pa.array(_days(), pa.date64()),
    **{f"ts_{unit}": _stamps(unit) for unit in _PER_SECOND},
    "tz_us": _stamps("us", "UTC"),
    "tz_ny": _stamps("us", "America/New_York"),
    "tz_ms": _stamps("ms", "+05:30"),
    **{f"time_{unit}": _times(unit) for unit in _PER_SECOND},
    **{
        f"dur_{unit}": pa.array([None, 0, 1, -1, 1500, 86400 * 10**6, -(10**9)], pa.duration(unit))
        for unit in _PER_SECOND
    },
    "d9": pa.array(_decimals(9, 2), pa.decimal128(9, 2)),
    "d38": pa.array(_decimals(38, 0), pa.decimal128(38, 0)),
    "d38s": pa.array(_decimals(38, 10), pa.decimal128(38, 10)),
    "d50": pa.array(_decimals(50, 2), pa.decimal256(50, 2)),
    "d76": pa.array(_decimals(76, 38), pa.decimal256(76, 38)),
    "ints": pa.array(
        [None, [], [1], [3, 1, None, 2, 1], [None], [2, 2, 3], [-1, 5, 2**62]], pa.list_(pa.int64())
    ),
    "texts": pa.array([None, [], ["a", "b", None, "a"], [""], ["ß", "b"]], pa.list_(pa.string())),
    "fours": pa.array([None, [1.0, 2.0], [None, 3.5], [-0.0, 0.0]], pa.list_(pa.float32(), 2)),
    "nested": pa.array([None, [], [[1], [2, 3]], [[], None]], pa.list_(pa.list_(pa.int64()))),
    "record": pa.array([{"a": 1, "b": "x"}, {"a": None, "b": ""}, {"a": -5, "b": None}], _STRUCT),
}
"""The edge values of each type, by a short name of the type."""

_INTEGER_TYPES = tuple(name for name in VALUES if name[0] in "iu" and name[1:].isdecimal())
_DECIMAL_TYPES = ("d9", "d38", "d38s", "d50", "d76")
_MOMENT_TYPES = tuple(name for name in VALUES if name.startswith(("date", "ts_", "tz_")))

GROUPS: Mapping[str, Sequence[str]] = {
    "integer": _INTEGER_TYPES,
    "float": ("f16", "f32", "f64"),
    "decimal": _DECIMAL_TYPES,
    "number": (*_INTEGER_TYPES, "f16", "f32", "f64", *_DECIMAL_TYPES),
    "few": ("i8", "i32", "i64", "u8", "u64", "f32", "f64", "d9", "d38", "d38s", "d76"),
    "string": ("text", "nul", "large", "dict"),
    "binary": ("bytes", "lbytes", "fixed"),
    "moment": _MOMENT_TYPES,
    "clock": tuple(name for name in VALUES if name.startswith("time_")),
    "span": tuple(name for name in VALUES if name.startswith("dur_")),
    "list": ("ints", "texts", "fours", "nested"),
    "flat": tuple(
        name for name in VALUES if name not in ("nul", "ints", "texts", "fours", "nested", "record")
    ),
    "any": tuple(VALUES),
}
"""Types that templates name together."""


def _repeated(values: pa.Array, count: int) -> pa.Array:
    return values.take(pa.array(np.arange(count) % len(values)))


def singles() -> pa.Table:
    """A row for each value of a type."""
    columns = {f"x_{name}": _repeated(values, NUM_VALUES) for name, values in VALUES.items()}
    return pa.table({"row": pa.array(range(NUM_VALUES), pa.int64()), **columns})


def pairs() -> pa.Table:
    """A row for each two positions of values."""
    rows = np.arange(NUM_VALUES**2)
    first, second = pa.array(rows // NUM_VALUES), pa.array(rows % NUM_VALUES)
    columns: dict[str, pa.Array] = {"row": pa.array(rows)}
    for name, values in VALUES.items():
        repeated = _repeated(values, NUM_VALUES)
        columns[f"x_{name}"] = repeated.take(first)
        columns[f"y_{name}"] = repeated.take(second)
    return pa.table(columns)
