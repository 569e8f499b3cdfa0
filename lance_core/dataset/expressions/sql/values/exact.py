"""Exact arithmetic on constants, so that a comparison depends on a literal's value, not its type.

The values of integers, decimals, dates, times and durations are integer multiples of a step (a
grid). Comparisons use these multiples, so ``u8 < 300`` and ``i32 > 0.5`` have exact results.
Units: dates, timestamps, times and durations are in nanoseconds; numbers have no unit.
"""

from __future__ import annotations

import decimal
import math
from fractions import Fraction

import numpy as np
import pyarrow as pa

from lance_core.dataset.expressions.sql.nodes.node import Constant
from lance_core.encodings.arrow.numpy_values import from_numpy, numpy_dtype, to_scalar
from lance_core.lazy_dataclass import dataclass

DAY = 86_400_000_000_000
"""Nanoseconds of a day."""

_MAX_DIGITS = 76
_UNITS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}


@dataclass(frozen=True, slots=True)
class Grid:
    """The values of a type: ``step`` times each integer from ``low`` to ``high``."""

    step: Fraction
    low: int
    high: int


def grid(type_: pa.DataType) -> Grid | None:
    """The grid of a type, None for types that have none (floats, text, …)."""
    if pa.types.is_integer(type_):
        return Grid(Fraction(1), *_integer_range(type_))
    if pa.types.is_decimal(type_):
        most = 10**type_.precision - 1
        return Grid(Fraction(10) ** -type_.scale, -most, most)
    step = _nanoseconds(type_)
    return None if step is None else Grid(Fraction(step), *_signed_range(type_.bit_width))


def _integer_range(type_: pa.DataType) -> tuple[int, int]:
    if pa.types.is_unsigned_integer(type_):
        return 0, 2**type_.bit_width - 1
    return _signed_range(type_.bit_width)


def _signed_range(bits: int) -> tuple[int, int]:
    return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1


def _nanoseconds(type_: pa.DataType) -> int | None:
    """The nanoseconds in one unit of a temporal type's stored integers."""
    if pa.types.is_date32(type_):
        return DAY
    if pa.types.is_date64(type_):
        return _UNITS["ms"]
    if pa.types.is_timestamp(type_) or pa.types.is_time(type_) or pa.types.is_duration(type_):
        return _UNITS[type_.unit]
    return None


def exact_value(constant: Constant) -> Fraction | float | None:
    """The exact value of a numeric or temporal constant; infinities and NaN stay floats.

    Returns None for other types. The constant must not be null.
    """
    if constant.exact is not None:
        return constant.exact
    type_ = constant.type
    if pa.types.is_floating(type_):
        number = float(constant.value.as_py())
        return Fraction(number) if math.isfinite(number) else number
    if pa.types.is_integer(type_) or pa.types.is_decimal(type_):
        return Fraction(constant.value.as_py())
    step = _nanoseconds(type_)
    return None if step is None else Fraction(constant.value.value * step)


def steps(grid: Grid, value: Fraction) -> tuple[int, bool]:
    """``value`` in steps of ``grid``, rounded down, and True if the rounding changed nothing."""
    if grid.step == 1 and value.denominator == 1:
        return value.numerator, True
    quotient = value / grid.step
    below = math.floor(quotient)
    return below, below == quotient


def at(type_: pa.DataType, count: int) -> pa.Scalar:
    """The value of ``type_`` that is ``count`` steps; it must be in the range of the type."""
    if pa.types.is_integer(type_):
        return from_numpy(np.array([count], numpy_dtype(type_)))[0]
    if pa.types.is_decimal(type_):
        with decimal.localcontext(prec=100):
            return to_scalar(decimal.Decimal(count).scaleb(-type_.scale), type_)
    stored = np.int32 if type_.bit_width == 32 else np.int64
    return from_numpy(np.array([count], stored)).view(type_)[0]


def fitted(constant: Constant, type_: pa.DataType) -> Constant | None:
    """The constant as a value of ``type_``, None if no value of this type equals it.

    ``type_`` has a grid or is a float type; a float type takes the nearest value.
    """
    value = exact_value(constant)
    if value is None:
        return None
    if pa.types.is_floating(type_):
        return Constant(to_scalar(_nearest(value), pa.float64()).cast(type_, safe=False))
    where = grid(type_)
    if where is None or not isinstance(value, Fraction):
        return None
    count, reached = steps(where, value)
    return Constant(at(type_, count)) if reached and where.low <= count <= where.high else None


def exact_decimal(constant: Constant) -> Constant | None:
    """An integer, a decimal or a literal such as ``0.5`` as the shortest decimal that equals it.

    None for other constants, and for numbers of more than 76 digits.
    """
    type_ = constant.type
    is_exact = constant.exact is not None if pa.types.is_floating(type_) else _is_exact(type_)
    value = None if constant.is_null or not is_exact else exact_value(constant)
    if not isinstance(value, Fraction):
        return None
    twos = (value.denominator & -value.denominator).bit_length() - 1
    fives = round(math.log(value.denominator >> twos, 5))
    scale = max(twos, fives)
    if scale > _MAX_DIGITS or value.denominator != 2**twos * 5**fives:
        return None
    integer = value.numerator * 10**scale // value.denominator
    digits = max(len(str(abs(integer))), scale, 1)
    if digits > _MAX_DIGITS:
        return None
    make = pa.decimal128 if digits <= 38 else pa.decimal256
    return Constant(at(make(digits, scale), integer))


def _is_exact(type_: pa.DataType) -> bool:
    return bool(pa.types.is_integer(type_) or pa.types.is_decimal(type_))


def _nearest(value: Fraction | float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
