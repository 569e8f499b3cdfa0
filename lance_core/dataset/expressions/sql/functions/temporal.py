"""Functions that make dates and timestamps from other values, and the current time."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.expressions.sql.functions import date_parts
from lance_core.dataset.expressions.sql.functions.function import Function
from lance_core.dataset.expressions.sql.nodes.node import Constant, Datum, Node, call, constant
from lance_core.dataset.expressions.sql.operators import arithmetic
from lance_core.dataset.expressions.sql.values import intervals
from lance_core.dataset.expressions.sql.values.casts import cast
from lance_core.dataset.expressions.sql.values.coerce import converted, is_number, is_text
from lance_core.dataset.expressions.sql.values.conversions import caster
from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.errors import InvalidInputError, UnsupportedFeatureError

_MAX_YEAR = 262_142
"""The largest year, before and after 0, of pylance's calendar."""


def now() -> Node:
    """The current time, one value for a whole expression."""
    moment = pa.scalar(time.time_ns(), pa.timestamp("ns", "+00:00"))
    return Constant(moment)


def today() -> Node:
    """The current date in UTC."""
    return Constant(pc.cast(pa.scalar(time.time_ns(), pa.timestamp("ns")), pa.date32(), safe=False))


def to_unixtime(node: Node) -> Node:
    """The whole seconds since 1970 as int64, rounded towards zero; numbers are seconds."""
    if pa.types.is_integer(node.type) or pa.types.is_floating(node.type):
        return cast(node, pa.int64())
    return cast(_in_unit("to_unixtime", node, "s"), pa.int64())


def from_unixtime(node: Node, zone: Node | None = None) -> Node:
    """The timestamp ``node`` seconds after the start of 1970, in a zone if one is stated."""
    if not pa.types.is_integer(node.type) and not pa.types.is_null(node.type):
        raise InvalidInputError(f"from_unixtime needs an integer, not {node.type}")
    if zone is None:
        return cast(node, pa.timestamp("s"))
    if not isinstance(zone, Constant) or not is_text(zone.type) or zone.is_null:
        raise UnsupportedFeatureError("from_unixtime with a zone that is not a literal")
    kind = pa.timestamp("s", zone.value.as_py())
    try:
        pc.local_timestamp(pa.scalar(0, kind))
    except pa.ArrowInvalid as error:
        raise InvalidInputError(f"from_unixtime: {error}") from error
    return converted(cast(node, pa.timestamp("s", "UTC")), kind)


def to_timestamp(node: Node) -> Node:
    """The value as timestamp in nanoseconds; numbers are seconds since 1970."""
    kind = pa.timestamp("ns")
    if pa.types.is_integer(node.type):
        return cast(cast(node, pa.timestamp("s")), kind)
    if pa.types.is_floating(node.type) or pa.types.is_decimal(node.type):
        return cast(arithmetic.binary("*", node, constant(10**9)), kind)
    return _in_unit("to_timestamp", node, "ns")


def in_unit(name: str, unit: str) -> Callable[[Node], Node]:
    """The function ``name``: the value as timestamp in ``unit``; numbers are counts of it."""

    def plan(node: Node) -> Node:
        if is_number(node.type):
            return cast(node, pa.timestamp(unit))
        return _in_unit(name, node, unit)

    return plan


def _in_unit(name: str, node: Node, unit: str) -> Node:
    if pa.types.is_timestamp(node.type) and node.type.tz is not None:
        node = converted(node, pa.timestamp(node.type.unit, "UTC"))
    is_moment = pa.types.is_timestamp(node.type) or pa.types.is_date(node.type)
    if not (is_moment or is_text(node.type) or pa.types.is_null(node.type)):
        raise InvalidInputError(f"{name} does not work on {node.type}")
    if is_text(node.type):  # also a literal with an offset becomes a timestamp without a zone
        return call(name, caster(pa.timestamp(unit), strict=True), node)
    return cast(node, pa.timestamp(unit))


def to_date(node: Node) -> Node:
    """The value as a date; numbers are days since 1970, without their fraction."""
    if pa.types.is_floating(node.type) or pa.types.is_decimal(node.type):
        node = cast(node, pa.int64())
    return cast(node, pa.date32())


def make_date(year: Node, month: Node, day: Node) -> Node:
    """The date of a year, a month and a day; an error if there is none."""
    parts = [cast(part, pa.int32()) for part in (year, month, day)]
    return call("make_date", _date, *parts, kind=pa.date32())


def _date(*parts: Datum) -> Datum:
    lengths = [len(part) for part in parts if not isinstance(part, pa.Scalar)]
    if not lengths:
        return _date(*[pa.repeat(part, 1) for part in parts])[0]
    columns = [pa.repeat(p, lengths[0]) if isinstance(p, pa.Scalar) else p for p in parts]
    missing = functools.reduce(pc.or_, [pc.is_null(column) for column in columns])
    filled = [pc.if_else(missing, 1, column) for column in columns]
    year, month, day = (np.asarray(column).astype(np.int64) for column in filled)
    months = (year - 1970) * 12 + month - 1
    first, following = (_first_day(months + later) for later in (0, 1))
    wrong = (month < 1) | (month > 12) | (day < 1) | (day > following - first)
    wrong |= np.abs(year) > _MAX_YEAR
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InvalidInputError(f"make_date({year[row]}, {month[row]}, {day[row]}) is not a date")
    days = from_numpy((first + day - 1).astype(np.int32)).view(pa.date32())
    return pc.if_else(missing, pa.scalar(None, pa.date32()), days)


def _first_day(months: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return months.astype("M8[M]").astype("M8[D]").astype(np.int64)


FUNCTIONS = (
    Function(
        *("date_part", date_parts.date_part, "text, time"),
        "A part of a date, timestamp, time or duration: `year`, `isoyear`, `quarter`, `month`,"
        " `week` (ISO 8601), `day`, `doy`, `dow` (0 is Sunday), `isodow` (1 is Monday), `hour`,"
        " `minute`, `second`; `millisecond`, `microsecond`, `nanosecond` (since the start of the"
        " minute), `epoch` (seconds since 1970, as float). As `extract(part FROM time)`, too.",
        ("datepart",),
        infers_nullable=True,
    ),
    Function(
        *("date_trunc", date_parts.date_trunc, "text, time"),
        "The start of the `year`, `quarter`, `month`, `week` (from Monday), `day`, `hour`,"
        " `minute`, `second`, `millisecond`, `microsecond` or `nanosecond`.",
        ("datetrunc",),
        infers_nullable=True,
    ),
    Function(
        *("date_bin", intervals.date_bin, "interval, time, [time]"),
        "The start of the interval that contains the time; intervals are counted from the third"
        " argument (default 1970-01-01).",
    ),
    Function(
        "now",
        now,
        "",
        "The current time, one value for a whole expression.",
        ("current_timestamp",),
    ),
    Function("current_date", today, "", "The current date in UTC.", ("today",)),
    Function("to_unixtime", to_unixtime, "time", "The whole seconds since 1970."),
    Function(
        *("from_unixtime", from_unixtime, "integer, [text]"),
        "The timestamp so many seconds after the start of 1970, in a zone.",
    ),
    Function(
        *("to_timestamp", to_timestamp, "any"),
        "The timestamp in nanoseconds of a text, a date or a number of seconds since 1970.",
    ),
    Function(
        *("to_timestamp_seconds", in_unit("to_timestamp_seconds", "s"), "any"),
        "The timestamp in seconds of a text, a date or a number of seconds since 1970.",
    ),
    Function(
        *("to_timestamp_millis", in_unit("to_timestamp_millis", "ms"), "any"),
        "The timestamp in milliseconds of a text, a date or a number of milliseconds since 1970.",
    ),
    Function(
        *("to_timestamp_micros", in_unit("to_timestamp_micros", "us"), "any"),
        "The timestamp in microseconds of a text, a date or a number of microseconds since 1970.",
    ),
    Function(
        *("to_timestamp_nanos", in_unit("to_timestamp_nanos", "ns"), "any"),
        "The timestamp in nanoseconds of a text, a date or a number of nanoseconds since 1970.",
    ),
    Function(
        *("to_date", to_date, "any"),
        "The date of a text, a timestamp or a number of days since 1970.",
    ),
    Function(
        *("make_date", make_date, "integer, integer, integer"),
        "The date of a year, a month and a day.",
    ),
)
