"""date_bin: the start of the interval that contains a moment."""

from __future__ import annotations

import functools

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.hookspecs.arrays import from_numpy
from lance_core.sql_functions import (
    Apply,
    Constant,
    Datum,
    Node,
    call,
    converted,
    intervals,
    is_text,
    literals,
)

_LIMIT = 2**62


def date_bin(stride: Node, node: Node, origin: Node | None = None) -> Node:
    """The start of the bin of length ``stride`` that contains a moment; a bin starts at ``origin``.

    ``stride``: more than zero, of months only or without months. ``origin``: a date or timestamp
    without a zone (1970-01-01).
    """
    interval = intervals.interval_of("date_bin", stride)
    length = interval.days * intervals.DAY_NANOSECONDS + interval.nanoseconds
    if length and interval.months:
        raise UnsupportedFeatureError("date_bin with months and a part of months")
    if length + interval.months <= 0:
        raise InvalidInputError("date_bin needs an interval that is longer than zero")
    if is_text(node.type) or pa.types.is_date(node.type):
        node = converted(node, pa.timestamp("us"))
    start = 0 if origin is None else _nanoseconds(origin)
    data_type = node.type
    if pa.types.is_time(data_type) and length:
        kernel = functools.partial(_bins, length=length, start=start % intervals.DAY_NANOSECONDS)
    elif pa.types.is_timestamp(data_type) and length:
        kernel = functools.partial(_bins, length=length, start=start)
    elif pa.types.is_timestamp(data_type):
        kernel = functools.partial(_month_bins, months=interval.months, start=start)
    else:
        raise InvalidInputError(f"date_bin does not work on {data_type}")
    return call(Apply("date_bin", leading=(interval,)), kernel, node, kind=data_type)


def _nanoseconds(origin: Node) -> int:
    if isinstance(origin, Constant) and is_text(origin.type) and not origin.is_null:
        origin = literals.timestamp(origin.value.as_py())
    if isinstance(origin, Constant) and not origin.is_null and pa.types.is_date32(origin.type):
        return int(origin.value.value) * intervals.DAY_NANOSECONDS
    if isinstance(origin, Constant) and not origin.is_null and pa.types.is_timestamp(origin.type):
        return int(origin.value.value) * intervals.UNIT_NANOSECONDS[origin.type.unit]
    raise UnsupportedFeatureError("date_bin with an origin that is not a literal")


def _bins(value: Datum, length: int, start: int) -> Datum:
    if isinstance(value, pa.Scalar):
        return _bins(pa.repeat(value, 1), length, start)[0]
    data_type = value.type
    size = intervals.UNIT_NANOSECONDS[data_type.unit]
    counts = pc.cast(
        value.view(pa.int32() if data_type.bit_width == 32 else pa.int64()), pa.int64()
    )
    moments = intervals.filled(counts)
    if length % size or start % size or abs(start // size) > _LIMIT:
        # Parts of the unit: exact with Python's integers, which numpy computes with as well.
        moments = moments.astype(object) * size
    else:
        length, start = length // size, start // size
        size = 1
    bins = (moments - start) // length * length + start
    result = from_numpy((bins // size).astype(np.int64))
    narrow = pc.cast(result, pa.int32()) if data_type.bit_width == 32 else result
    return intervals.with_nulls(narrow, value).view(data_type)


def _month_bins(value: Datum, months: int, start: int) -> Datum:
    if isinstance(value, pa.Scalar):
        return _month_bins(pa.repeat(value, 1), months, start)[0]
    data_type = value.type
    per_day = intervals.DAY_NANOSECONDS // intervals.UNIT_NANOSECONDS[data_type.unit]
    moments = intervals.filled(value.view(pa.int64()))
    first_day, rest = (
        start // intervals.DAY_NANOSECONDS,
        start % intervals.DAY_NANOSECONDS // intervals.UNIT_NANOSECONDS[data_type.unit],
    )
    first_month = np.datetime64(first_day, "D").astype("M8[M]")
    day = first_day - int(first_month.astype("M8[D]").astype(np.int64))
    passed = np.floor_divide(moments, per_day).astype("M8[D]").astype("M8[M]") - first_month
    bins = passed.astype(np.int64) // months

    def starts(bins: intervals.Integers) -> intervals.Integers:
        return intervals.day_in_month(first_month + bins * months, day) * per_day + rest

    # A moment before the day and time of the origin in its month is in the bin before.
    result = starts(bins - (starts(bins) > moments))
    return intervals.with_nulls(from_numpy(result), value).view(data_type)
