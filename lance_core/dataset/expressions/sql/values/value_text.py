"""CAST of values to text, in the format of DataFusion.

A float has the fewest digits that identify it. Dates and timestamps have the form of RFC 3339. The
fraction of a second has 3, 6 or 9 digits, or none if it is zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.expressions.sql.nodes.chunks import by_chunk
from lance_core.dataset.expressions.sql.nodes.node import Datum, Kernel
from lance_core.encodings.arrow.numpy_values import to_scalar
from lance_core.errors import InvalidInputError

Rewrites = tuple[tuple[str, str], ...]
"""(pattern, replacement of the first match), applied one after another."""

# Arrow writes an exponent from 1e10 on, DataFusion from 1e16 on (float32: from 1e13 on).
# Arrow writes an exponent below 1e-6, DataFusion below 1e-5 (float32: below 1e-6 as well).
_DOUBLE_EXPANDED, _SINGLE_EXPANDED = range(10, 16), range(10, 13)
_SINGLE: Rewrites = ((r"e\+", "e"), (r"^(-?\d+)$", r"\1.0"), ("nan", "NaN"))
_DOUBLE: Rewrites = (
    (r"^(-?)0\.00000([1-9])(\d*)$", r"\1\2.\3e-6"),
    (r"\.e", "e"),
    *_SINGLE,
)
_HALF: Rewrites = (
    # DataFusion never writes an exponent for half floats; the smallest one is 6e-8.
    (r"^(-?\d)(?:\.(\d+))?e-7$", r"0.000000\1\2"),
    (r"^(-?\d)(?:\.(\d+))?e-8$", r"0.0000000\1\2"),
    (r"^(0\.0+)-", r"-\1"),
    ("nan", "NaN"),
)
_FRACTION: Rewrites = (
    (r"(\.\d*?)(?:000)+(Z|[+-]\d{4})?$", r"\1\2"),
    (r"\.(Z|[+-]\d{4})?$", r"\1"),
)
_DATE: Rewrites = ((r"^(\d{5})", r"+\1"),)
_TIMESTAMP: Rewrites = (
    *_DATE,
    (" ", "T"),
    *_FRACTION,
    (r"[+-]0000$", "Z"),
    (r"([+-]\d{2})(\d{2})$", r"\1:\2"),
)

_LAST_YEAR = 32767
"""The last year that Arrow formats correctly: it counts years in 16 bits."""
_YEAR_ENDS = [
    int((np.datetime64(0, "Y") + np.timedelta64(year - 1970, "Y")).astype("M8[D]").astype(int))
    for year in (-_LAST_YEAR, _LAST_YEAR + 1)
]
_A_DAY = {"day": 1, "s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


def text_kernel(type_: pa.DataType) -> Kernel | None:
    """The kernel that formats values of ``type_``; None if Arrow's cast has the same format."""
    if pa.types.is_floating(type_):
        return by_chunk({16: _half, 32: _single, 64: _double}[type_.bit_width])
    if pa.types.is_time(type_):
        return _time
    if pa.types.is_date(type_) or pa.types.is_timestamp(type_):
        return _moment
    if pa.types.is_decimal(type_):
        return by_chunk(_decimal)
    return by_chunk(_duration) if pa.types.is_duration(type_) else None


def _rewritten(value: Datum, rewrites: Rewrites) -> Datum:
    return _replaced(pc.cast(value, pa.string()), rewrites)


def _replaced(text: Datum, rewrites: Rewrites) -> Datum:
    for pattern, replacement in rewrites:
        text = pc.replace_substring_regex(text, pattern, replacement, max_replacements=1)
    return text


def _double(values: pa.Array) -> pa.Array:
    return _expanded(_rewritten(values, _DOUBLE), _DOUBLE_EXPANDED)


def _single(values: pa.Array) -> pa.Array:
    return _expanded(_rewritten(values, _SINGLE), _SINGLE_EXPANDED)


def _expanded(text: pa.Array, exponents: range) -> pa.Array:
    """The texts, with numbers that have one of ``exponents`` written without an exponent."""
    for exponent in exponents:
        has = pc.fill_null(pc.ends_with(text, f"e{exponent}"), False)
        if pc.any(has).as_py():
            rewrites = (
                (r"^(-?\d)(?:\.(\d+))?e\d+$", r"\1\2" + "0" * exponent),
                (rf"^(-?\d{{{exponent + 1}}})(\d*?)0*$", r"\1.\2"),
                (r"\.$", ".0"),
            )
            text = pc.replace_with_mask(text, has, _replaced(text.filter(has), rewrites))
    return text


def _half(values: pa.Array) -> pa.Array:
    text = _rewritten(values.cast(pa.float32()), _HALF)
    # Of two shortest texts DataFusion takes the greater number, Arrow the one with an even digit.
    exact = _rewritten(values.cast(pa.float64()), _HALF)
    is_tie = pc.and_(
        pc.equal(pc.add(pc.binary_length(text), 1), pc.binary_length(exact)),
        pc.match_substring_regex(exact, r"[02468]5$"),
    )
    up = tuple((f"{even}5$", str(even + 1)) for even in range(0, 10, 2))
    return pc.if_else(is_tie, _replaced(exact, up), text)


def _decimal(values: pa.Array) -> pa.Array:
    """All digits after the point; Arrow writes small numbers with an exponent."""
    text, scale = pc.cast(values, pa.string()), values.type.scale
    has_exponent = pc.fill_null(pc.match_substring(text, "E"), False)
    if scale <= 0 or not pc.any(has_exponent).as_py():
        return text
    exponential = values.filter(has_exponent)
    whole = pa.decimal128 if exponential.type.bit_width <= 128 else pa.decimal256
    stored = pa.Array.from_buffers(
        whole(exponential.type.precision, 0),
        len(exponential),
        exponential.buffers(),
        offset=exponential.offset,
    )
    digits = pc.utf8_lpad(pc.utf8_ltrim(stored.cast(pa.string()), "-"), scale + 1, padding="0")
    numbers = pc.utf8_replace_slice(digits, -scale, -scale, ".")
    signs = pc.if_else(pc.less(pc.sign(exponential), 0), "-", "")
    plain = pc.binary_join_element_wise(signs, numbers, "")
    return pc.replace_with_mask(text, has_exponent, plain)


def _time(value: Datum) -> Datum:
    return _rewritten(value, _FRACTION)


def _moment(value: Datum) -> Datum:
    check_years(value)
    if pa.types.is_date32(value.type):
        return _rewritten(value, _DATE)
    if pa.types.is_date64(value.type):
        value = pc.cast(value, pa.timestamp("ms"))
    if isinstance(value, pa.Scalar):
        return _rewritten(value, _TIMESTAMP)
    return by_chunk(_timestamp)(value)


def _timestamp(values: pa.Array) -> pa.Array:
    """The texts of an array; those of the years 0 to 9999 have one width, and numpy cuts them."""
    digits = {"s": 0, "ms": 3, "us": 6, "ns": 9}[values.type.unit]
    point, stop = 19, 19 + (digits and 1 + digits)
    filled = pc.fill_null(values, to_scalar(0, values.type)) if values.null_count else values
    table = _table(pc.cast(filled, pa.string()), stop + (values.type.tz is not None))
    if table is None or (values.type.tz is not None and (table[:, -1] != ord("Z")).any()):
        return _rewritten(values, _TIMESTAMP)
    table[:, 10] = ord("T")
    is_kept = np.ones(table.shape, np.bool_)
    for first in range(point + 1, stop, 3):
        is_zero = (table[:, first:stop] == ord("0")).all(axis=1)
        is_kept[is_zero, first - (first == point + 1) : stop] = False
    ends = np.zeros(len(table) + 1, np.int32)
    is_kept.sum(axis=1).cumsum(out=ends[1:])
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(table[is_kept])]
    text = pa.Array.from_buffers(pa.string(), len(table), buffers)
    return pc.if_else(values.is_valid(), text, None) if values.null_count else text


def _table(text: pa.StringArray, width: int) -> npt.NDArray[np.uint8] | None:
    """A row with the bytes of each text, if each has ``width``; else None."""
    offsets = np.frombuffer(text.buffers()[1] or bytes(4), np.int32)[text.offset :]
    offsets = offsets[: len(text) + 1]
    if not len(text) or (offsets[1:] - offsets[:-1] != width).any():
        return None
    data = np.frombuffer(text.buffers()[2], np.uint8)[offsets[0] : offsets[-1]]
    return data.reshape(-1, width).copy()


def check_years(value: Datum) -> None:
    """Raise `InvalidInputError` for dates and timestamps beyond the years that Arrow supports."""
    if isinstance(value, pa.Scalar):
        value = pa.array([value])
    type_ = value.type
    unit = type_.unit if pa.types.is_timestamp(type_) else "day" if type_.bit_width == 32 else "ms"
    # One day less on both sides, because a time zone may add a day.
    low, high = (_A_DAY[unit] * day for day in (_YEAR_ENDS[0] + 1, _YEAR_ENDS[1] - 1))
    counts = value.cast(pa.int32() if type_.bit_width == 32 else pa.int64())
    ends = pc.min_max(counts).as_py()
    if ends["min"] is not None and (ends["min"] < low or ends["max"] >= high):
        raise InvalidInputError(f"a {type_} lies beyond the years ±{_LAST_YEAR}")


def _duration(values: pa.Array) -> pa.Array:
    """The durations as ``-1 days 0 hours -2 mins -3.500 secs``: each part has the sign."""
    unit = values.type.unit
    digits = {"s": 0, "ms": 3, "us": 6, "ns": 9}[unit]
    counts = np.asarray(pc.fill_null(values.cast(pa.int64()), 0))
    # uint64 also holds the absolute value of the smallest int64.
    sizes = np.where(counts < 0, -counts.view(np.uint64), counts.view(np.uint64))
    seconds, fraction = np.divmod(sizes, np.uint64(10**digits))
    minutes, seconds = np.divmod(seconds, np.uint64(60))
    hours, minutes = np.divmod(minutes, np.uint64(60))
    days, hours = np.divmod(hours, np.uint64(24))
    parts = [(days, " days "), (hours, " hours "), (minutes, " mins "), (seconds, "")]
    pieces: list[Any] = []
    for number, name in parts:
        is_below = (counts < 0) & ((number > 0) | ((fraction > 0) & (name == "")))
        pieces.append(pc.if_else(pa.array(is_below), "-", ""))
        pieces += [pa.array(number).cast(pa.string()), name]
    if digits:
        pieces += [".", pc.utf8_lpad(pa.array(fraction).cast(pa.string()), digits, padding="0")]
    text = pc.binary_join_element_wise(*pieces, " secs", "")
    return pc.if_else(values.is_valid(), text, to_scalar(None, pa.string()))
