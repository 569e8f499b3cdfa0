"""Functions that make dates and timestamps from other values, and the current time."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.hookspecs.arrays import from_numpy, to_scalar
from lance_core.sql_functions import (
    Constant,
    Datum,
    Node,
    arithmetic,
    call,
    cast,
    caster,
    constant,
    converted,
    is_number,
    is_text,
)

_MAX_YEAR = 262_142
"""The largest year, before and after 0, of pylance's calendar."""


def now() -> Node:
    """The current time, one value for a whole expression."""
    return Constant(to_scalar(time.time_ns(), pa.timestamp("ns", "+00:00")))


def today() -> Node:
    """The current date in UTC."""
    moment = to_scalar(time.time_ns(), pa.timestamp("ns"))
    return Constant(pc.cast(moment, pa.date32(), safe=False))


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
    data_type = pa.timestamp("s", zone.value.as_py())
    try:
        pc.local_timestamp(pa.scalar(0, data_type))
    except pa.ArrowInvalid as error:
        raise InvalidInputError(f"from_unixtime: {error}") from error
    return converted(cast(node, pa.timestamp("s", "UTC")), data_type)


def to_timestamp(node: Node) -> Node:
    """The value as timestamp in nanoseconds; numbers are seconds since 1970."""
    data_type = pa.timestamp("ns")
    if pa.types.is_integer(node.type):
        return cast(cast(node, pa.timestamp("s")), data_type)
    if pa.types.is_floating(node.type) or pa.types.is_decimal(node.type):
        return cast(arithmetic.binary("*", node, constant(10**9)), data_type)
    return _in_unit("to_timestamp", node, "ns")


def _to_timestamp_in(name: str, unit: str) -> Callable[[Node], Node]:
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


to_timestamp_seconds = _to_timestamp_in("to_timestamp_seconds", "s")
to_timestamp_millis = _to_timestamp_in("to_timestamp_millis", "ms")
to_timestamp_micros = _to_timestamp_in("to_timestamp_micros", "us")
to_timestamp_nanos = _to_timestamp_in("to_timestamp_nanos", "ns")


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
