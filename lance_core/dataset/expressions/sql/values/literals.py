"""Literals: constants from the digits of numbers and the text between quotes."""

from __future__ import annotations

import datetime
import math
import re
from fractions import Fraction

import pyarrow as pa

from lance_core.dataset.expressions.sql.nodes.node import Constant, constant
from lance_core.encodings.arrow.numpy_values import to_scalar
from lance_core.errors import InvalidInputError

_EPOCH = datetime.date(1970, 1, 1).toordinal()

_DATE = r"(\d{4})-(\d{1,2})-(\d{1,2})"
_TIME = r"(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9})\d*)?)?"
_ZONE = r"\s*(Z|z|UTC|[+-]\d{2}(?::?\d{2})?)?"
_DATE_TEXT = re.compile(_DATE)
_TIME_TEXT = re.compile(_TIME)
_TIMESTAMP_TEXT = re.compile(rf"{_DATE}(?:[ T]{_TIME}{_ZONE})?")

_DIGITS = 400
"""Maximum absolute decimal exponent; the float of a larger one is infinite or zero."""


def number(text: str) -> Constant:
    """The number ``text``, which may have a sign, point and exponent: int64, uint64 or float64.

    The first of these types that holds the number is used. A float64 constant also has the exact
    value.
    """
    text = text.replace("_", "")
    if re.fullmatch(r"-?\d{1,40}", text):
        whole = int(text)
        if -(2**63) <= whole < 2**63:
            return constant(whole, pa.int64())
        if 0 <= whole < 2**64:
            return constant(whole, pa.uint64())
        return Constant(to_scalar(float(whole)), Fraction(whole))
    try:
        value = float(text)
    except ValueError:
        raise InvalidInputError(f"{text!r} is not a number") from None
    if not math.isfinite(value) or value == 0:
        return Constant(to_scalar(value))
    exponent = re.search(r"[eE]([+-]?\d+)$", text)
    if len(text) > _DIGITS or (exponent and abs(int(exponent[1])) > _DIGITS):
        return Constant(to_scalar(value))
    return Constant(to_scalar(value), Fraction(text))


def hexadecimal(digits: str) -> Constant:
    """``X'…'``: one byte for two digits; if their number is odd, the first digit is a byte."""
    try:
        return constant(bytes.fromhex("0" * (len(digits) % 2) + digits), pa.binary())
    except ValueError:
        raise InvalidInputError(f"X'{digits}' is not hexadecimal") from None


def date(text: str) -> Constant:
    """``2024-02-29`` as date32."""
    match = _DATE_TEXT.fullmatch(text.strip())
    if match is None:
        raise InvalidInputError(f"{text!r} is not a date like 2024-02-29")
    return Constant(to_scalar(_days(text, *match.groups()), pa.int32()).cast(pa.date32()))


def time(text: str) -> Constant:
    """``23:59:59.123`` as time64 in nanoseconds."""
    match = _TIME_TEXT.fullmatch(text.strip())
    if match is None:
        raise InvalidInputError(f"{text!r} is not a time like 23:59:59")
    return Constant(to_scalar(_clock(text, *match.groups()), pa.int64()).cast(pa.time64("ns")))


def timestamp(text: str, unit: str = "us") -> Constant:
    """``2024-02-29`` or ``2024-02-29 23:59:59.123`` (also with ``T``), with or without an offset.

    With an offset (``Z``, ``+01:00``) the constant is an instant in UTC. Without, it has no zone: a
    comparison interprets it in the zone of the other operand. Digits finer than ``unit`` are kept
    in the exact value.
    """
    match = _TIMESTAMP_TEXT.fullmatch(text.strip())
    if match is None:
        raise InvalidInputError(f"{text!r} is not a timestamp like 2024-02-29 23:59:59")
    year, month, day, *clock, zone = match.groups()
    total = _days(text, year, month, day) * 86_400_000_000_000
    total += _clock(text, *clock) if clock[0] else 0
    total -= _offset(text, zone) if zone else 0
    scale = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[unit]
    type_ = pa.timestamp(unit, "UTC" if zone else None)
    whole = total // scale
    if not -(2**63) <= whole < 2**63:
        raise InvalidInputError(f"timestamp {text!r} does not fit into 64 bits of {unit}")
    return Constant(to_scalar(whole, pa.int64()).cast(type_), Fraction(total))


def _days(text: str, year: str, month: str, day: str) -> int:
    try:
        return datetime.date(int(year), int(month), int(day)).toordinal() - _EPOCH
    except ValueError as error:
        raise InvalidInputError(f"{text!r} is not a date: {error}") from None


def _clock(text: str, hours: str, minutes: str, seconds: str | None, fraction: str | None) -> int:
    """Nanoseconds since midnight."""
    parts = int(hours), int(minutes), int(seconds or 0)
    if parts[0] > 23 or parts[1] > 59 or parts[2] > 59:
        raise InvalidInputError(f"{text!r} is not a time of a day")
    whole = parts[0] * 3600 + parts[1] * 60 + parts[2]
    return whole * 10**9 + int((fraction or "").ljust(9, "0"))


def _offset(text: str, zone: str) -> int:
    """Nanoseconds east of UTC."""
    if zone in ("Z", "z", "UTC"):
        return 0
    hours, minutes = int(zone[1:3]), int(zone[3:].lstrip(":") or 0)
    if hours > 23 or minutes > 59:
        raise InvalidInputError(f"{text!r} has no valid offset")
    return (hours * 60 + minutes) * 60 * 10**9 * (-1 if zone[0] == "-" else 1)
