"""Evaluate SQL expressions over tables in memory."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from lance_core.dataset.expressions.filters import as_filter, as_value

NAN, INF = math.nan, math.inf


def table(**columns: Any) -> pa.Table:
    return pa.table({name: pa.array(values) for name, values in columns.items()})


def rows(text: str, data: pa.Table) -> list[int]:
    """The rows that fulfil a condition, read through just the columns that it asks for."""
    condition = as_filter(text, data.schema)
    mask = condition.mask(needed(data, condition.columns))
    assert mask.dtype == bool
    assert len(mask) == data.num_rows
    return [int(row) for row in np.flatnonzero(mask)]


def values(text: str, data: pa.Table) -> list[Any]:
    value = as_value(text, data.schema)
    result = value.evaluate(needed(data, value.columns))
    assert result.type == value.type
    return list(result.to_pylist())


def needed(data: pa.Table, columns: tuple[tuple[str, ...], ...]) -> pa.Table:
    return data.select(list(dict.fromkeys(path[0] for path in columns)))


NUMBERS = table(
    i=pa.array([1, -2, 2147483647, None, 0], pa.int32()),
    l=pa.array([1, -2, 2**63 - 1, None, 0], pa.int64()),
    u=pa.array([1, 255, 3, None, 0], pa.uint8()),
    w=pa.array([1, 2**64 - 1, 3, None, 0], pa.uint64()),
    f=[1.5, -0.0, NAN, None, INF],
    h=pa.array([1.5, -2, NAN, None, 0], pa.float16()),
    r=pa.array([0.1, -0.0, NAN, None, 0], pa.float32()),
    d=pa.array([Decimal(x) if x else None for x in ("1.50", "-2.25", "100", "", "0")]),
    b=[True, False, True, None, False],
    s=["abc", "", "a%c_x", None, "Zé"],
)


INNER = pa.struct([("z", pa.float64())])
STRUCTS = pa.table(
    {
        "st": pa.array(
            [
                {"x": 1, "Y y": "p", "in": {"z": 1.0}},
                {"x": None, "Y y": "q", "in": None},
                None,
                {"x": 5, "Y y": None, "in": {"z": 9.0}},
            ],
            pa.struct([("x", pa.int32()), ("Y y", pa.string()), ("in", INNER)]),
        )
    }
)
