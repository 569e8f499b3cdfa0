"""date_part and date_trunc. The parts of a timestamp with a zone are local times."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.sql_functions import (
    Apply,
    Constant,
    Datum,
    Kernel,
    Node,
    as_local,
    call,
    cast,
    check_years,
    converted,
    is_text,
    null,
)

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def _within_minute(value: Datum, per_second: int) -> Datum:
    """The units of ``per_second`` since the start of the minute."""
    total = pc.multiply(pc.cast(pc.second(value), pa.int64()), per_second)
    for kernel, share in ((pc.millisecond, 10**3), (pc.microsecond, 10**6), (pc.nanosecond, 10**9)):
        if share <= per_second:
            total = pc.add(total, pc.multiply(kernel(value), per_second // share))
    return total


_DAY_PARTS: Mapping[str, Kernel] = {
    "hour": pc.hour,
    "minute": pc.minute,
    "second": pc.second,
    "millisecond": functools.partial(_within_minute, per_second=10**3),
    "microsecond": functools.partial(_within_minute, per_second=10**6),
    "nanosecond": functools.partial(_within_minute, per_second=10**9),
}
_PARTS: Mapping[str, Kernel] = {
    "year": pc.year,
    "isoyear": pc.iso_year,
    "quarter": pc.quarter,
    "month": pc.month,
    "week": pc.iso_week,
    "day": pc.day,
    "doy": pc.day_of_year,
    "dow": functools.partial(pc.day_of_week, count_from_zero=True, week_start=7),
    "isodow": functools.partial(pc.day_of_week, count_from_zero=False, week_start=1),
    **_DAY_PARTS,
}
"""Kernels of `date_part` by name. ``week`` is the ISO 8601 week; ``dow`` of Sunday is 0."""

_SECONDS = {"week": 604_800, "day": 86_400, "hour": 3600, "minute": 60, "second": 1}
_FRACTIONS = {"millisecond": 10**3, "microsecond": 10**6, "nanosecond": 10**9}
_SHORT_NAMES = {
    "year": ("years", "yr", "yrs", "y"),
    "quarter": ("quarters", "qtr"),
    "month": ("months", "mon", "mons"),
    "week": ("weeks", "w"),
    "day": ("days", "d"),
    "hour": ("hours", "hr", "hrs", "h"),
    "minute": ("minutes", "min", "mins", "m"),
    "second": ("seconds", "sec", "secs", "s"),
    "millisecond": ("milliseconds", "msec", "msecs", "ms"),
    "microsecond": ("microseconds", "usec", "usecs", "us"),
    "nanosecond": ("nanoseconds", "nsec", "nsecs", "ns"),
}
_NAMES = {short: name for name, shorts in _SHORT_NAMES.items() for short in shorts}
_DAY_UNITS = ("hour", "minute", "second", "millisecond", "microsecond", "nanosecond")
_UNITS = ("year", "quarter", "month", "week", "day", *_DAY_UNITS)


def date_part(part: Node, node: Node) -> Node:
    """A part of a date, timestamp, time or duration: int32 (nanoseconds int64, epoch float64)."""
    name = _name("date_part", part, (*_PARTS, "epoch"))
    node = _moment("date_part", node)
    operator = Apply("date_part", leading=(name,))
    if name == "epoch":
        return call(operator, _epoch, node)
    if pa.types.is_duration(node.type):
        kernel = functools.partial(_whole_units, name=name)
    else:
        kernel = functools.partial(_part, kernel=_PARTS[name], is_long=name == "nanosecond")
    if not _has_part(node.type, name):
        raise InvalidInputError(f"date_part of {name!r} does not work on {node.type}")
    return call(operator, kernel, node)


def date_trunc(unit: Node, node: Node) -> Node:
    """The start of the unit that contains a date, timestamp or time; weeks start on Monday."""
    name = _name("date_trunc", unit, _UNITS)
    node = _moment("date_trunc", node)
    if pa.types.is_date(node.type):
        node = converted(node, pa.timestamp("us" if pa.types.is_date32(node.type) else "ms"))
    is_time = pa.types.is_time(node.type)
    if pa.types.is_duration(node.type) or (is_time and name not in _DAY_UNITS):
        raise InvalidInputError(f"date_trunc to {name!r} does not work on {node.type}")
    kernel = _truncated_time if is_time else _truncated
    return call(Apply("date_trunc", leading=(name,)), functools.partial(kernel, unit=name), node)


def _name(what: str, node: Node, known: tuple[str, ...]) -> str:
    if not isinstance(node, Constant) or node.is_null or not is_text(node.type):
        raise UnsupportedFeatureError(f"{what} with a unit that is not a literal")
    text = str(node.value.as_py()).strip().lower()
    name = _NAMES.get(text, text)
    if name not in known:
        raise UnsupportedFeatureError(f"{what} of {text!r}; known are {', '.join(known)}")
    return name


def _moment(what: str, node: Node) -> Node:
    """The node; text as timestamps. Raises `InvalidInputError` for other types."""
    if pa.types.is_null(node.type):
        return null(pa.timestamp("us"))
    if is_text(node.type):
        return cast(node, pa.timestamp("us"))
    if not pa.types.is_temporal(node.type) or pa.types.is_interval(node.type):
        raise InvalidInputError(f"{what} needs a date, timestamp or time, not {node.type}")
    return node


def _has_part(data_type: pa.DataType, name: str) -> bool:
    if pa.types.is_duration(data_type):
        return name in _SECONDS or name in _FRACTIONS
    return name in _DAY_PARTS if pa.types.is_time(data_type) else True


def _part(value: Datum, kernel: Kernel, is_long: bool) -> Datum:
    if pa.types.is_date(value.type):
        value = pc.cast(value, pa.timestamp("us" if pa.types.is_date32(value.type) else "ms"))
    if not pa.types.is_time(value.type):
        check_years(value)
    if pa.types.is_timestamp(value.type) and value.type.tz is not None:
        # Arrow's kernels of minutes and seconds ignore offsets with seconds.
        value = pc.local_timestamp(value)
    return pc.cast(kernel(value), pa.int64() if is_long else pa.int32())


def _whole_units(value: Datum, name: str) -> Datum:
    """The number of whole units in a duration, rounded towards zero."""
    counts, per_second = pc.cast(value, pa.int64()), _PER_SECOND[value.type.unit]
    if name in _SECONDS:
        counts = pc.divide(counts, per_second * _SECONDS[name])
    elif _FRACTIONS[name] < per_second:
        counts = pc.divide(counts, per_second // _FRACTIONS[name])
    else:
        counts = pc.multiply_checked(counts, _FRACTIONS[name] // per_second)
    return pc.cast(counts, pa.int64() if name == "nanosecond" else pa.int32())


def _epoch(value: Datum) -> Datum:
    """The seconds since 1970, since midnight, or of a duration, as float64."""
    data_type = value.type
    if pa.types.is_date32(data_type):
        days = pc.cast(pc.cast(value, pa.int32()), pa.float64())
        return pc.multiply(days, _SECONDS["day"])
    unit = "ms" if pa.types.is_date64(data_type) else data_type.unit
    counts = pc.cast(value, pa.int32() if data_type.bit_width == 32 else pa.int64())
    return pc.divide(pc.cast(counts, pa.float64(), safe=False), float(_PER_SECOND[unit]))


def _truncated(value: Datum, unit: str) -> Datum:
    check_years(value)
    if unit in _FRACTIONS and _FRACTIONS[unit] >= _PER_SECOND[value.type.unit]:
        return value
    zone = value.type.tz
    if zone is None:
        return pc.floor_temporal(value, unit=unit)
    local = pc.local_timestamp(value)
    whole = pc.floor_temporal(local, unit=unit)
    if unit not in _DAY_UNITS:
        return as_local(whole, zone)
    # Within an hour the offset is the same, also where a local time occurs twice.
    return pc.subtract(value, pc.subtract(local, whole))


def _truncated_time(value: Datum, unit: str) -> Datum:
    per_second = _PER_SECOND[value.type.unit]
    step = per_second * _SECONDS[unit] if unit in _SECONDS else per_second // _FRACTIONS[unit]
    if step <= 1:
        return value
    counts = pa.int32() if value.type.bit_width == 32 else pa.int64()
    step = pa.scalar(step, counts)
    whole = pc.multiply(pc.divide(pc.cast(value, counts), step), step)
    return pc.cast(whole, value.type)
