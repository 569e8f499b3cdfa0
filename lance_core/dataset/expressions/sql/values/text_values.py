"""CAST of text to values, as DataFusion reads them: the counterpart of `value_text`.

Each function returns the values, and True for the texts that have none (their values are NULL).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.expressions.sql.values import wide_integers
from lance_core.dataset.expressions.sql.values.decimals import MAX_DIGITS
from lance_core.encodings.arrow.numpy_values import to_scalar

Mask = npt.NDArray[np.bool_]
Parsed = tuple[pa.Array, Mask]

_NUMBER = r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_INTEGER_TEXT = rf"^[+-]?\d{{1,{MAX_DIGITS}}}$"
_FLOAT_TEXT = rf"^[+-]?(?:{_NUMBER}|(?i:inf|infinity|nan))$"
_DECIMAL_TEXT = rf"^\s*[+-]?{_NUMBER}\s*$"
_TRUE = ("t", "tr", "tru", "true", "y", "ye", "yes", "on", "1")
_FALSE = ("f", "fa", "fal", "fals", "false", "n", "no", "of", "off", "0")

_DATE = r"(?P<year>\d{4}|[+-]\d{4,6})-(?P<month>\d{1,2})-(?P<day>\d{1,2})"
_CLOCK = r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.(?P<fraction>\d+))?)?"
_ZONE = r"\s*(?:Z|z|UTC|(?P<sign>[+-])(?P<zone_hour>\d{2}):?(?P<zone_minute>\d{2})?)"
_MOMENT_TEXT = rf"^{_DATE}(?:[ Tt]{_CLOCK}(?P<zone>{_ZONE})?)?$"
_CLOCK_TEXT = rf"^{_CLOCK}$"
_COMPACT_DATE = (r"^(\d{4})(\d{2})(\d{2})$", r"\1-\2-\3")

_SECOND = 10**9
_LAST_YEAR = 292_277
"""About the last year of timestamps in microseconds."""


def parse_integers(texts: pa.Array) -> Parsed:
    """Integers in decimal digits, as ``decimal256(76, 0)``."""
    texts, wrong = _matching(texts, _INTEGER_TEXT)
    return pc.cast(texts, pa.decimal256(MAX_DIGITS, 0)), wrong


def parse_floats(texts: pa.Array, type_: pa.DataType) -> Parsed:
    """Floats: digits with point and exponent, ``inf``, ``infinity`` and ``nan`` in any case."""
    texts, wrong = _matching(texts, _FLOAT_TEXT)
    texts = pc.utf8_lower(_unsigned_plus(texts))
    return pc.cast(pc.cast(texts, pa.float64()), type_, safe=False), wrong


def parse_booleans(texts: pa.Array) -> Parsed:
    """``true``, ``yes``, ``on``, ``1``, their opposites and their first letters, in any case."""
    lower = pc.utf8_lower(pc.utf8_trim_whitespace(texts))
    is_true = pc.is_in(lower, pa.array(_TRUE, lower.type))
    is_known = pc.or_(is_true, pc.is_in(lower, pa.array(_FALSE, lower.type)))
    values = pc.if_else(is_known, is_true, to_scalar(None, pa.bool_()))
    return values, _wrong(texts, is_known)


def parse_decimals(texts: pa.Array, digits: int) -> tuple[wide_integers.Integers, Mask]:
    """Numbers times ``10 ** digits``, halves rounded away from zero; 0 for NULL.

    A text is wrong if its number has more than 76 digits.
    """
    texts, wrong = _matching(texts, _DECIMAL_TEXT)
    texts = pc.utf8_trim_whitespace(texts)
    # Arrow does not check the number of digits: it must get at most 76.
    before = pc.replace_substring_regex(texts, r"^[+-]?0*(\d*).*$", r"\1")
    has_exponent = pc.match_substring_regex(texts, "[eE]")
    sizes = pc.if_else(
        has_exponent,
        pc.add(pc.ceil(pc.log10(pc.abs(pc.cast(texts, pa.float64())))), 1),
        pc.cast(pc.binary_length(before), pa.float64()),
    )
    lengths = pc.if_else(has_exponent, pc.binary_length(texts), 0)
    is_long = pc.or_(pc.greater(sizes, MAX_DIGITS - digits), pc.greater(lengths, MAX_DIGITS))
    wrong |= np.asarray(pc.fill_null(is_long, False))
    texts = pc.if_else(is_long, to_scalar(None, texts.type), texts)
    # The digit after the last one decides how to round; 76 digits do not include it.
    scale = digits + 1 if pc.all(pc.less(sizes, MAX_DIGITS - digits)).as_py() else digits
    texts = pc.replace_substring_regex(texts, rf"(\.\d{{{scale}}})\d+$", r"\1")
    options = pc.CastOptions(
        target_type=pa.decimal256(MAX_DIGITS, scale), allow_decimal_truncate=True
    )
    stored = wide_integers.stored_integers(pc.cast(texts, options=options))
    return wide_integers.without_digits(stored, scale - digits, "half"), wrong


def parse_times(texts: pa.Array) -> tuple[npt.NDArray[np.int64], Mask]:
    """Times such as ``23:59:59.5`` in nanoseconds since midnight; 0 for NULL."""
    texts, wrong = _matching(texts, _CLOCK_TEXT)
    seconds, nanoseconds, beyond = _clock(_fields(texts, _CLOCK_TEXT))
    return seconds * _SECOND + nanoseconds, wrong | beyond


def parse_moments(
    texts: pa.Array,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Mask, Mask]:
    """Dates and timestamps: seconds since 1970, nanoseconds of the second, both 0 for NULL.

    Also returns which texts have an offset from UTC (these are instants), and which are wrong.
    """
    texts = pc.replace_substring_regex(texts, *_COMPACT_DATE)
    texts, wrong = _matching(texts, _MOMENT_TEXT)
    fields = _fields(texts, _MOMENT_TEXT)
    year, month, day = (_number(fields[name], 1970 if name == "year" else 1) for name in _YMD)
    months = (year - 1970) * 12 + month - 1
    first = months.astype("M8[M]").astype("M8[D]").astype(np.int64)
    following = (months + 1).astype("M8[M]").astype("M8[D]").astype(np.int64)
    wrong |= (month < 1) | (month > 12) | (day < 1) | (day > following - first)
    wrong |= np.abs(year) > _LAST_YEAR
    seconds, nanoseconds, beyond = _clock(fields)
    hours, minutes = _number(fields["zone_hour"]), _number(fields["zone_minute"])
    offset = (hours * 60 + minutes) * 60
    offset = np.where(np.asarray(pc.equal(fields["sign"], "-")), -offset, offset)
    wrong |= beyond | (hours > 23) | (minutes > 59)
    has_zone = np.asarray(pc.not_equal(fields["zone"], ""))
    return (first + day - 1) * 86_400 + seconds - offset, nanoseconds, has_zone, wrong


_YMD = ("year", "month", "day")


def _clock(fields: Mapping[str, pa.Array]) -> tuple[Any, Any, Mask]:
    """Seconds since midnight, nanoseconds of the second, and which times do not exist."""
    hour, minute, second = (_number(fields[name]) for name in ("hour", "minute", "second"))
    fraction = pc.utf8_rpad(pc.utf8_slice_codeunits(fields["fraction"], 0, 9), 9, padding="0")
    beyond = (hour > 23) | (minute > 59) | (second > 59)
    return (hour * 60 + minute) * 60 + second, _number(fraction), beyond


def _fields(texts: pa.Array, pattern: str) -> Mapping[str, pa.Array]:
    """The groups of ``pattern`` by name; empty for NULL and for groups without a match."""
    groups = pc.extract_regex(pc.cast(texts, pa.string()), pattern)
    return {
        field.name: pc.fill_null(pc.struct_field(groups, field.name), "") for field in groups.type
    }


def _number(digits: pa.Array, default: int = 0) -> npt.NDArray[np.int64]:
    filled = pc.if_else(pc.equal(digits, ""), str(default), digits)
    return np.asarray(pc.cast(_unsigned_plus(filled), pa.int64()))


def _matching(texts: pa.Array, pattern: str) -> Parsed:
    """The texts, NULL instead of those that do not match, which are True in the mask."""
    matches = pc.match_substring_regex(texts, pattern)
    return pc.if_else(matches, texts, to_scalar(None, texts.type)), _wrong(texts, matches)


def _wrong(texts: pa.Array, is_value: pa.Array) -> Mask:
    wrong = pc.and_(pc.is_valid(texts), pc.invert(pc.fill_null(is_value, False)))
    return np.array(wrong, np.bool_)


def _unsigned_plus(texts: pa.Array) -> pa.Array:
    """The texts without a plus at their start, which Arrow does not read in integers."""
    return pc.replace_substring_regex(texts, r"^\+", "")
