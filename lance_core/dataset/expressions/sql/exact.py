"""Exact arithmetic on constants, so that a literal is compared by its value and not by its type.

Values of ordered types that are whole multiples of a step (integers, decimals, dates, times,
durations) are compared as such: ``u8 < 300`` and ``i32 > 0.5`` have exact answers.
Units: numbers as they are; dates, timestamps, times and durations in nanoseconds.
"""

from __future__ import annotations

import decimal
import math
from fractions import Fraction

import numpy as np
import pyarrow as pa

from lance_core.dataset.expressions.sql.node import Constant
from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.lazy_dataclass import dataclass

DAY = 86_400_000_000_000
"""Nanoseconds."""

_UNITS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}


@dataclass(frozen=True, slots=True)
class Grid:
    """The values of a type: ``step`` times an integer from ``low`` to ``high``."""

    step: Fraction
    low: int
    high: int


def grid(kind: pa.DataType) -> Grid | None:
    """The grid of a type, None for types that have none (floats, text, …)."""
    if pa.types.is_integer(kind):
        return Grid(Fraction(1), *_integer_range(kind))
    if pa.types.is_decimal(kind):
        most = 10**kind.precision - 1
        return Grid(Fraction(10) ** -kind.scale, -most, most)
    step = _nanoseconds(kind)
    return None if step is None else Grid(Fraction(step), *_signed_range(kind.bit_width))


def _integer_range(kind: pa.DataType) -> tuple[int, int]:
    if pa.types.is_unsigned_integer(kind):
        return 0, 2**kind.bit_width - 1
    return _signed_range(kind.bit_width)


def _signed_range(bits: int) -> tuple[int, int]:
    return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1


def _nanoseconds(kind: pa.DataType) -> int | None:
    """What 1 in the stored integers of a temporal type stands for."""
    if pa.types.is_date32(kind):
        return DAY
    if pa.types.is_date64(kind):
        return _UNITS["ms"]
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind) or pa.types.is_duration(kind):
        return _UNITS[kind.unit]
    return None


def exact_value(constant: Constant) -> Fraction | float | None:
    """The value of a number or temporal constant; an infinity or NaN stays a float.

    None for types that are neither. The constant must not be null.
    """
    if constant.exact is not None:
        return constant.exact
    kind = constant.type
    if pa.types.is_floating(kind):
        number = float(constant.value.as_py())
        return Fraction(number) if math.isfinite(number) else number
    if pa.types.is_integer(kind) or pa.types.is_decimal(kind):
        return Fraction(constant.value.as_py())
    step = _nanoseconds(kind)
    return None if step is None else Fraction(constant.value.value * step)


def steps(grid: Grid, value: Fraction) -> tuple[int, bool]:
    """How many whole steps fit below ``value``, and whether they reach it exactly."""
    if grid.step == 1 and value.denominator == 1:
        return value.numerator, True
    quotient = value / grid.step
    below = math.floor(quotient)
    return below, below == quotient


def at(kind: pa.DataType, count: int) -> pa.Scalar:
    """The value of a grid type that lies ``count`` steps from zero; it must be in range."""
    if pa.types.is_integer(kind):
        return from_numpy(np.array([count], kind.to_pandas_dtype()))[0]
    if pa.types.is_decimal(kind):
        with decimal.localcontext(prec=100):
            return pa.scalar(decimal.Decimal(count).scaleb(-kind.scale), kind)
    stored = np.int32 if kind.bit_width == 32 else np.int64
    return from_numpy(np.array([count], stored)).view(kind)[0]


def fitted(constant: Constant, kind: pa.DataType) -> Constant | None:
    """The constant as a value of a grid or float type, None if that type does not have it.

    Floats take the nearest value they have.
    """
    value = exact_value(constant)
    if value is None:
        return None
    if pa.types.is_floating(kind):
        return Constant(pa.scalar(_nearest(value), pa.float64()).cast(kind, safe=False))
    where = grid(kind)
    if where is None or not isinstance(value, Fraction):
        return None
    count, reached = steps(where, value)
    return Constant(at(kind, count)) if reached and where.low <= count <= where.high else None


def _nearest(value: Fraction | float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
