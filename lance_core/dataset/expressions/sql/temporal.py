"""Functions of dates and timestamps. The parts of a timestamp with a zone are local times."""

from __future__ import annotations

import functools
import time

import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.expressions.sql.coerce import converted, is_text
from lance_core.dataset.expressions.sql.function import Function
from lance_core.dataset.expressions.sql.node import Constant, Datum, Kernel, Node, call
from lance_core.dataset.expressions.sql.value_text import check_years
from lance_core.errors import InvalidInputError, UnsupportedFeatureError

_PARTS: dict[str, Kernel] = {
    "year": pc.year,
    "quarter": pc.quarter,
    "month": pc.month,
    "week": pc.iso_week,
    "day": pc.day,
    "hour": pc.hour,
    "minute": pc.minute,
    "second": pc.second,
    "doy": pc.day_of_year,
    "dow": functools.partial(pc.day_of_week, count_from_zero=True, week_start=7),
}
"""Kernels of `date_part` by name. ``week`` is the ISO 8601 week; ``dow`` of Sunday is 0."""

_UNITS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond")


def date_part(part: Node, node: Node) -> Node:
    """A part of a date or timestamp as int32."""
    name = _unit("date_part", part, tuple(_PARTS))
    return call("date_part", functools.partial(_part, kernel=_PARTS[name]), _timestamp(node))


def date_trunc(unit: Node, node: Node) -> Node:
    """The start of the unit that contains a date or timestamp; weeks start on Monday."""
    name = _unit("date_trunc", unit, _UNITS)
    return call("date_trunc", functools.partial(_truncated, unit=name), _timestamp(node))


def _unit(what: str, node: Node, known: tuple[str, ...]) -> str:
    if not isinstance(node, Constant) or node.is_null or not is_text(node.type):
        raise UnsupportedFeatureError(f"{what} with a unit that is not a literal")
    name = str(node.value.as_py()).lower()
    if name not in known:
        raise UnsupportedFeatureError(f"{what} of {name!r}; known are {', '.join(known)}")
    return name


def _timestamp(node: Node) -> Node:
    if pa.types.is_date(node.type):
        return converted(node, pa.timestamp("us" if pa.types.is_date32(node.type) else "ms"))
    if not pa.types.is_timestamp(node.type):
        raise InvalidInputError(f"a date or timestamp is needed, not {node.type}")
    return node


def _part(value: Datum, kernel: Kernel) -> Datum:
    check_years(value)
    return pc.cast(kernel(value), pa.int32())


def _truncated(value: Datum, unit: str) -> Datum:
    check_years(value)
    return pc.floor_temporal(value, unit=unit)


def now() -> Node:
    """The current time, one value for a whole expression."""
    moment = pa.scalar(time.time_ns(), pa.timestamp("ns", "+00:00"))
    return Constant(moment)


def today() -> Node:
    """The current date in UTC."""
    return Constant(pc.cast(pa.scalar(time.time_ns(), pa.timestamp("ns")), pa.date32(), safe=False))


def to_unixtime(node: Node) -> Node:
    """The whole seconds since 1970 as int64."""
    seconds = functools.partial(pc.floor_temporal, unit="second")
    return call("to_unixtime", lambda value: _seconds(seconds(value)), _timestamp(node))


def from_seconds(node: Node) -> Node:
    """The timestamp ``node`` seconds after the start of 1970."""
    return converted(converted(node, pa.int64()), pa.timestamp("s"))


def from_millis(node: Node) -> Node:
    """The timestamp ``node`` milliseconds after the start of 1970."""
    return converted(converted(node, pa.int64()), pa.timestamp("ms"))


def _seconds(value: Datum) -> Datum:
    whole = pc.cast(value, pa.timestamp("s", value.type.tz))
    return pc.cast(whole, pa.int64())


FUNCTIONS = (
    Function(
        *("date_part", date_part, "text, time"),
        "A part of a date or timestamp: `year`, `quarter`, `month`, `week` (ISO 8601), `day`,"
        " `hour`, `minute`, `second`, `doy`, `dow` (0 is Sunday).",
        ("datepart",),
        infers_nullable=True,
    ),
    Function(
        *("date_trunc", date_trunc, "text, time"),
        "The start of the `year`, `quarter`, `month`, `week` (from Monday), `day`, `hour`,"
        " `minute`, `second` or `millisecond`.",
        ("datetrunc",),
        infers_nullable=True,
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
        "from_unixtime",
        from_seconds,
        "integer",
        "The timestamp so many seconds after the start of 1970.",
        ("to_timestamp_seconds",),
    ),
    Function(
        "to_timestamp_millis",
        from_millis,
        "integer",
        "The timestamp so many milliseconds after the start of 1970.",
    ),
)
