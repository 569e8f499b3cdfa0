"""Intervals: their literals, and dates and timestamps shifted by them.

An interval has months, days and nanoseconds. Months and days are added on the calendar (of the zone
of a timestamp): a day that its month does not have becomes the last day of the month.
"""

from __future__ import annotations

import functools
import re
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.expressions.sql.nodes.node import Apply, Constant, Datum, Node, call, null
from lance_core.dataset.expressions.sql.parser.syntax import INTERVAL_UNITS
from lance_core.dataset.expressions.sql.values.coerce import as_local, converted, is_text
from lance_core.encodings.arrow.numpy_values import from_numpy, to_scalar
from lance_core.errors import InvalidInputError, UnsupportedFeatureError

Integers = npt.NDArray[np.int64]
Months = npt.NDArray[Any]
"""numpy's datetime64 in months."""

DAY_NANOSECONDS = 86_400 * 10**9
UNIT_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}

_PART = re.compile(r"\s*([+-]?\d+(?:\.\d*)?|[+-]?\.\d+)\s*([a-zA-Z]+)\s*,?")
_MAX_DIGITS = 20


class Interval(NamedTuple):
    """Months, days and nanoseconds; each may be negative."""

    months: int
    days: int
    nanoseconds: int

    def negated(self) -> Interval:
        """The interval in the other direction."""
        return Interval(-self.months, -self.days, -self.nanoseconds)


def literal(text: str) -> Constant:
    """``1 day 2.5 hours`` as an interval; raises `InvalidInputError` for other text.

    The fraction of a month counts 30 days, that of a day 24 hours.
    """
    months, days, nanoseconds = Fraction(0), Fraction(0), Fraction(0)
    position, lower = 0, text.lower().rstrip()
    while position < len(lower):
        match = _PART.match(lower, position)
        if match is None or match[2] not in INTERVAL_UNITS or len(match[1]) > _MAX_DIGITS:
            raise InvalidInputError(f"{text!r} is not an interval like '1 day 2 hours'")
        number, unit = Fraction(match[1]), INTERVAL_UNITS[match[2]]
        months += number * unit[0]
        days += number * unit[1]
        nanoseconds += number * unit[2]
        position = match.end()
    if not position:
        raise InvalidInputError("an interval needs a number and a unit, as in '1 day'")
    days += (months - int(months)) * 30
    nanoseconds += (days - int(days)) * DAY_NANOSECONDS
    parts = int(months), int(days), int(nanoseconds)
    if max(abs(parts[0]), abs(parts[1])) >= 2**31 or abs(parts[2]) >= 2**63:
        raise InvalidInputError(f"the interval {text!r} is too long")
    return Constant(pa.scalar(parts, pa.month_day_nano_interval()))


def interval_of(what: str, node: Node) -> Interval:
    """The interval that a literal is; text is read as one.

    Raises `UnsupportedFeatureError` for other values.
    """
    if isinstance(node, Constant) and not node.is_null:
        if is_text(node.type):
            node = literal(node.value.as_py())
        if pa.types.is_interval(node.type):
            return Interval(*node.value.as_py())
        if pa.types.is_duration(node.type):
            return Interval(0, 0, node.value.value * UNIT_NANOSECONDS[node.type.unit])
    raise UnsupportedFeatureError(f"{what} with an interval that is not a literal")


def as_duration(constant: Constant) -> Constant:
    """An interval without months as a duration, whose days have 24 hours."""
    interval = interval_of("a comparison", constant)
    if interval.months:
        raise InvalidInputError("an interval of months has no fixed duration")
    total = interval.days * DAY_NANOSECONDS + interval.nanoseconds
    unit = next(unit for unit, size in UNIT_NANOSECONDS.items() if total % size == 0)
    count = total // UNIT_NANOSECONDS[unit]
    if abs(count) >= 2**63:
        raise InvalidInputError("the interval is too long")
    return Constant(to_scalar(count, pa.int64()).cast(pa.duration(unit)), Fraction(total))


def shifted(operator: str, left: Node, right: Node) -> Node:
    """``left operator right`` (+ or -) where one is an interval; the other is a date or timestamp.

    A date stays a date if the interval has no hours or smaller units.
    """
    if pa.types.is_interval(left.type):
        if operator == "-" or pa.types.is_interval(right.type):
            raise InvalidInputError(f"{operator} does not work on {left.type}, {right.type}")
        left, right = right, left
    if isinstance(right, Constant) and right.is_null:
        return null(left.type)
    interval = interval_of(operator, right)
    if operator == "-":
        interval = interval.negated()
    type_ = left.type
    if pa.types.is_date(type_) and (interval.nanoseconds or pa.types.is_date64(type_)):
        left = converted(left, pa.timestamp("us"))
    if pa.types.is_timestamp(left.type):
        left = converted(left, _fine_enough(left.type, interval.nanoseconds))
    elif not pa.types.is_date(left.type):
        raise InvalidInputError(f"{operator} does not work on {type_}, an interval")
    kernel = functools.partial(_shift, interval=interval)
    return call(Apply(operator, (interval,)), kernel, left, kind=left.type)


def _fine_enough(type_: pa.DataType, nanoseconds: int) -> pa.DataType:
    """The timestamp type with the coarsest unit, at least as fine, that holds ``nanoseconds``."""
    units = [unit for unit in UNIT_NANOSECONDS if nanoseconds % UNIT_NANOSECONDS[unit] == 0]
    return pa.timestamp(min(type_.unit, units[0], key=UNIT_NANOSECONDS.__getitem__), type_.tz)


def _shift(value: Datum, interval: Interval) -> Datum:
    if isinstance(value, pa.Scalar):
        return _shift(pa.repeat(value, 1), interval)[0]
    type_ = value.type
    if pa.types.is_date32(type_):
        days = filled(value.view(pa.int32())).astype(np.int64)
        days = _months_later(days, interval.months) + interval.days
        return with_nulls(pc.cast(from_numpy(days), pa.int32()), value).view(type_)
    step = interval.nanoseconds // UNIT_NANOSECONDS[type_.unit]
    moments = value
    if interval.months or interval.days:
        local = moments if type_.tz is None else pc.local_timestamp(moments)
        per_day = DAY_NANOSECONDS // UNIT_NANOSECONDS[type_.unit]
        days, rest = np.divmod(filled(local.view(pa.int64())), per_day)
        days = _months_later(days, interval.months) + interval.days
        counts = pc.add_checked(pc.multiply_checked(from_numpy(days), per_day), from_numpy(rest))
        moments = with_nulls(counts, value).view(local.type)
        moments = moments if type_.tz is None else as_local(moments, type_.tz)
    return pc.add_checked(moments.view(pa.int64()), step).view(type_)


def _months_later(days: Integers, months: int) -> Integers:
    """Days since 1970, as many months later, at most at the end of the month."""
    if not months:
        return days
    month = days.astype("M8[D]").astype("M8[M]")
    day = days - _first_day(month)
    return day_in_month(month + months, day)


def day_in_month(month: Months, day: Integers | int) -> Integers:
    """The days since 1970 of day ``day`` (from 0) of each month, at most its last day."""
    first = _first_day(month)
    return np.asarray(first + np.minimum(day, _first_day(month + 1) - first - 1))


def _first_day(months: Months) -> Integers:
    return months.astype("M8[D]").astype(np.int64)


def filled(counts: pa.Array) -> npt.NDArray[Any]:
    """The numbers, with 0 for NULL."""
    return np.asarray(pc.fill_null(counts, 0) if counts.null_count else counts)


def with_nulls(counts: pa.Array, value: pa.Array) -> pa.Array:
    """``counts``, with NULL where ``value`` is NULL."""
    if not value.null_count:
        return counts
    return pc.if_else(pc.is_null(value), to_scalar(None, counts.type), counts)
