"""A table of all types, and the rows of it that a condition selects here and in pylance."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from pathlib import Path

import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lance_core.dataset.expressions.filters import as_filter

MINUS_NAN = float(np.array([0xFFF8 << 48], np.uint64).view(np.float64)[0])

DAYS = [(2020, 1, 1), (1969, 12, 31), (2024, 2, 29), None, (1970, 1, 1), (1999, 9, 9)]
STAMPS = [
    (2020, 1, 1, 12),
    (1969, 12, 31),
    (2024, 2, 29, 1, 2, 3, 4),
    None,
    (1970, 1, 1),
    (1999, 9, 9, 9, 9, 9, 900_000),
]
MOMENTS = [None if stamp is None else dt.datetime(*stamp) for stamp in STAMPS]
SECONDS = [None if moment is None else moment.replace(microsecond=0) for moment in MOMENTS]
STRUCT = pa.struct(
    [("x", pa.int32()), ("y", pa.string()), ("in", pa.struct([("z", pa.float64())]))]
)


def decimals(*texts: str | None) -> list[Decimal | None]:
    return [None if text is None else Decimal(text) for text in texts]


def days() -> list[dt.date | None]:
    return [None if day is None else dt.date(*day) for day in DAYS]


COLUMNS: dict[str, pa.Array] = {
    "i8": pa.array([1, -128, 127, None, 0, 5], pa.int8()),
    "i16": pa.array([1, -2, 300, None, 0, 5], pa.int16()),
    "i32": pa.array([1, -2, 2147483647, None, 0, 5], pa.int32()),
    "i64": pa.array([1, -2, 2**63 - 1, None, 0, 5], pa.int64()),
    "u8": pa.array([1, 255, 3, None, 0, 5], pa.uint8()),
    "u16": pa.array([1, 65535, 3, None, 0, 5], pa.uint16()),
    "u32": pa.array([1, 2**32 - 1, 3, None, 0, 5], pa.uint32()),
    "u64": pa.array([1, 2**64 - 1, 3, None, 0, 5], pa.uint64()),
    "f16": pa.array([1.5, -2, math.nan, None, 0, 5], pa.float16()),
    "f32": pa.array([1.5, -0.0, math.nan, None, 0.1, 5], pa.float32()),
    "f64": pa.array([1.5, -0.0, math.nan, None, math.inf, -7.25], pa.float64()),
    "nan": pa.array([MINUS_NAN, -0.0, 1.0, None, 0.0, math.nan], pa.float64()),
    "b": pa.array([True, False, True, None, False, True]),
    "s": pa.array(["abc", "", "a%c_x", None, "Zé", "b\\d"]),
    "ls": pa.array(["abc", "", "a%c_x", None, "Zé", "b"], pa.large_string()),
    "bin": pa.array([b"\x00\x01", b"", b"abc", None, b"\xff", b"zz"]),
    "fsb": pa.array([b"\x00\x01", b"zz", b"ab", None, b"\xff\xff", b"zz"], pa.binary(2)),
    "d": pa.array(days(), pa.date32()),
    "d64": pa.array(days(), pa.date64()),
    "ts": pa.array(MOMENTS, pa.timestamp("us")),
    "tss": pa.array(SECONDS, pa.timestamp("s")),
    "tns": pa.array(MOMENTS, pa.timestamp("ns")),
    "tz": pa.array(MOMENTS, pa.timestamp("us", "America/New_York")),
    "t32": pa.array([0, 1, 86399, None, 5, 6], pa.time32("s")),
    "t64": pa.array([0, 1, 86399 * 10**6, None, 5, 6], pa.time64("us")),
    "dur": pa.array([0, 1, -5, None, 5, 6], pa.duration("us")),
    "dec": pa.array(decimals("1.50", "-2.25", "100", None, "0", "5"), pa.decimal128(10, 2)),
    "dec2": pa.array(decimals("1.5", "-2.2", "100", None, "0", "5"), pa.decimal256(40, 1)),
    "dic": pa.array(["x", "y", "x", None, "z", "x"]).dictionary_encode(),
    # File version 2.0 knows no null structs.
    "st": pa.array(
        [
            {"x": 1, "y": "p", "in": {"z": 1.0}},
            {"x": 2, "y": None, "in": {"z": None}},
            {"x": None, "y": "q", "in": {"z": None}},
            {"x": None, "y": None, "in": {"z": None}},
            {"x": 5, "y": "r", "in": {"z": 9.0}},
            {"x": 5, "y": "abc", "in": {"z": -9.0}},
        ],
        STRUCT,
    ),
    "li": pa.array([[1, 2], [], [3, None], None, [5], [1, 2, 3]], pa.list_(pa.int64())),
    "fsl": pa.array([[1, 2], [0, 0], [3, 4], None, [5, 6], [7, 8]], pa.list_(pa.float32(), 2)),
    "Case": pa.array([1, 2, 3, None, 5, 6]),
    "sp ace": pa.array([1, 2, 3, None, 5, 6]),
    "nl": pa.nulls(6),
}
DATA = pa.table(COLUMNS)
META = dict.fromkeys(("_rowid", "_rowaddr", "_rowoffset"), pa.array(range(6), pa.uint64()))
EVERYTHING = pa.table(COLUMNS | META)


def written(request: pytest.FixtureRequest, folder: Path) -> lance.LanceDataset:
    """`DATA` as pylance writes it, in the version of files that a fixture has as parameter."""
    return lance.write_dataset(DATA, folder / "t.lance", data_storage_version=request.param)


Rows = list[int]


def there(reference: lance.LanceDataset, condition: str | pc.Expression) -> Rows | str:
    """The rows that pylance selects, or its complaint."""
    try:
        found = reference.to_table(columns=["i8"], filter=condition, with_row_id=True)
    except BaseException as error:  # a panic in Rust is no Exception
        return f"refused: {error}"
    return list(found["_rowid"].to_pylist())


def here(condition: str | pc.Expression) -> Rows:
    """The rows that we select, from just the columns that the condition asks for."""
    planned = as_filter(condition, EVERYTHING.schema)
    names = dict.fromkeys(path[0] for path in planned.columns)
    return [int(row) for row in np.flatnonzero(planned.mask(EVERYTHING.select(list(names))))]
