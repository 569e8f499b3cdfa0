"""The kernel of CAST and TRY_CAST: values of one type as values of another.

A value that does not fit is an error, or NULL in a TRY_CAST. Numbers lose their fraction where the
target is an integer, and are rounded (halves away from zero) where it is a decimal. Timestamps and
durations are numbers of their unit, dates are days.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.expressions.sql.nodes.node import Datum
from lance_core.dataset.expressions.sql.values import text_values, wide_integers
from lance_core.dataset.expressions.sql.values.coerce import as_local, cast_value, is_bytes, is_text
from lance_core.dataset.expressions.sql.values.decimals import number_text
from lance_core.dataset.expressions.sql.values.value_text import text_kernel
from lance_core.encodings.arrow.numpy_values import from_numpy, to_scalar
from lance_core.errors import InvalidInputError

Mask = npt.NDArray[np.bool_]

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_DAY_SECONDS = 86_400
_UTF8 = (
    r"\A(?:[\x00-\x7F]|[\xC2-\xDF][\x80-\xBF]|\xE0[\xA0-\xBF][\x80-\xBF]"
    r"|[\xE1-\xEC\xEE\xEF][\x80-\xBF]{2}|\xED[\x80-\x9F][\x80-\xBF]"
    r"|\xF0[\x90-\xBF][\x80-\xBF]{2}|[\xF1-\xF3][\x80-\xBF]{3}|\xF4[\x80-\x8F][\x80-\xBF]{2})*\z"
)
"""A pattern of the bytes that are UTF-8; Arrow matches patterns of bytes byte by byte."""


def convert(value: Datum, type_: pa.DataType, strict: bool) -> Datum:
    """``value`` as ``type_``; a value that does not fit is an error if ``strict``, otherwise NULL.

    Raises `InvalidInputError` for types that cannot be converted, even without values.
    """
    if isinstance(value, pa.Scalar):
        return convert(pa.repeat(value, 1), type_, strict)[0]
    if pa.types.is_null(value.type):
        return pa.nulls(len(value), type_)
    if pa.types.is_string_view(value.type):
        value = pc.cast(value, pa.string())  # Arrow has no kernels of patterns for views
    if pa.types.is_dictionary(type_):
        return convert(value, type_.value_type, strict).dictionary_encode().cast(type_)
    if pa.types.is_nested(type_) and pa.types.is_nested(value.type):
        return _nested(value, type_)
    for is_kind, sources, rule in _rules():
        if is_kind(type_):
            if value.type != type_ and not any(is_source(value.type) for is_source in sources):
                break
            return rule(value, type_, strict)
    raise InvalidInputError(f"{value.type} cannot be cast to {type_}")


def _nested(value: Datum, type_: pa.DataType) -> Datum:
    """Lists and structs as ones of other types; a fraction of a number is dropped, as elsewhere."""
    try:
        return pc.cast(value, options=pc.CastOptions(type_, allow_float_truncate=True))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InvalidInputError(f"{value.type} cannot be cast to {type_}: {error}") from error


_Check = Callable[[pa.DataType], bool]
_Rule = Callable[[pa.Array, pa.DataType, bool], pa.Array]


@functools.cache
def _rules() -> tuple[tuple[_Check, tuple[_Check, ...], _Rule], ...]:
    """For each kind of target: the kinds of values that are cast to it, and how."""
    types = pa.types
    numbers = (types.is_integer, types.is_floating, types.is_decimal, is_text)
    counts = (types.is_timestamp, types.is_duration)
    moments = (types.is_date, types.is_timestamp, is_text)
    times = (types.is_date, types.is_time, types.is_boolean)
    return (
        (types.is_integer, (*numbers, *counts, *times), _integers),
        (types.is_floating, (*numbers, *counts, types.is_boolean), _floats),
        (types.is_decimal, (*numbers, *counts), _decimals),
        (types.is_boolean, numbers, _booleans),
        (types.is_date, (*moments, types.is_integer), _dates),
        (types.is_timestamp, (*numbers, *moments), _timestamps),
        (types.is_time, (types.is_time, types.is_integer, types.is_timestamp, is_text), _times),
        (types.is_duration, (types.is_integer, types.is_duration), _durations),
        (is_text, (*numbers, *counts, *times, is_bytes), _texts),
        (is_bytes, (is_text, is_bytes), _bytes),
    )


def _checked(values: pa.Array, wrong: Mask, type_: pa.DataType, strict: bool) -> pa.Array | None:
    """The mask of results that are NULL; raises `InvalidInputError` for a wrong value."""
    wrong = wrong & np.asarray(values.is_valid())
    if strict and wrong.any():
        value = values[int(np.argmax(wrong))]
        why = "cannot be parsed" if is_text(value.type) else "is not in range"
        raise InvalidInputError(f"CAST: {_shown(value)} {why} as {type_}")
    if not values.null_count and not wrong.any():
        return None
    return from_numpy(wrong | np.asarray(values.is_null()))


def _shown(value: pa.Scalar) -> str:
    if pa.types.is_decimal(value.type):
        stored = wide_integers.stored_integers(pa.repeat(value, 1))
        return number_text(int(stored[0]), value.type.scale)
    try:
        return repr(str(value)) if is_text(value.type) else str(value)
    except (OverflowError, ValueError):  # a moment beyond the years of Python
        return f"{value.value} {value.type}"


def _with_nulls(values: pa.Array, missing: pa.Array | None) -> pa.Array:
    if missing is None:
        return values
    return pc.if_else(missing, to_scalar(None, values.type), values)


def _integers(values: pa.Array, type_: pa.DataType, strict: bool) -> pa.Array:
    dtype = np.dtype(f"{'u' if pa.types.is_unsigned_integer(type_) else ''}int{type_.bit_width}")
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    if pa.types.is_boolean(values.type):
        return pc.cast(values, type_)
    if pa.types.is_floating(values.type):
        floats = np.trunc(_numpy(values).astype(np.float64))
        wrong = ~((floats >= low) & (floats < float(high + 1)))
        numbers: Any = np.where(wrong, 0, floats)
    else:
        numbers, unread = _whole_numbers(values)
        wrong = np.asarray((numbers < low) | (numbers > high), np.bool_) | unread
        if not wrong.any() and numbers.dtype == dtype and not values.null_count:
            return from_numpy(numbers)
        numbers = np.where(wrong, 0, numbers)
    missing = _checked(values, wrong, type_, strict)
    return _with_nulls(from_numpy(numbers.astype(dtype)), missing)


def _whole_numbers(values: pa.Array) -> tuple[wide_integers.Integers, Mask]:
    """The values as integers (0 for NULL and what is no number), and what is no number."""
    unread = np.zeros(len(values), np.bool_)
    type_ = values.type
    if is_text(type_):
        values, unread = text_values.parse_integers(values)
        return wide_integers.stored_integers(values), unread
    if pa.types.is_decimal(type_):
        stored = wide_integers.stored_integers(values)
        return wide_integers.without_digits(stored, type_.scale, "trunc"), unread
    if not pa.types.is_integer(type_):
        values = values.view(pa.int32() if type_.bit_width == 32 else pa.int64())
    return wide_integers.stored_integers(values), unread


def _floats(values: pa.Array, type_: pa.DataType, strict: bool) -> pa.Array:
    if is_text(values.type):
        floats, wrong = text_values.parse_floats(values, type_)
        return _with_nulls(floats, _checked(values, wrong, type_, strict))
    if pa.types.is_timestamp(values.type) or pa.types.is_duration(values.type):
        values = values.view(pa.int64())
    return cast_value(values, type_)


def _decimals(values: pa.Array, type_: pa.DataType, strict: bool) -> pa.Array:
    if type_.bit_width < 128:
        return pc.cast(
            _decimals(values, pa.decimal128(type_.precision, type_.scale), strict), type_
        )
    source = values.type
    if is_text(source):
        stored, wrong = text_values.parse_decimals(values, type_.scale)
    elif pa.types.is_floating(source):
        stored, wrong = _scaled_floats(_numpy(values).astype(np.float64), type_)
    else:
        if not (pa.types.is_integer(source) or pa.types.is_decimal(source)):
            values = values.view(pa.int64())
        scale = source.scale if pa.types.is_decimal(source) else 0
        stored = wide_integers.stored_integers(values)
        stored = wide_integers.scaled(stored, max(type_.scale - scale, 0))
        stored = wide_integers.without_digits(stored, max(scale - type_.scale, 0), "half")
        wrong = np.zeros(len(values), np.bool_)
    above = wide_integers.beyond(stored, type_.precision)
    if above is not None:
        wrong = wrong | above
        stored = np.where(above, 0, stored)
    missing = _checked(values, wrong, type_, strict)
    return wide_integers.stored_decimals(stored, missing, type_)


def _scaled_floats(
    floats: npt.NDArray[np.float64], type_: pa.DataType
) -> tuple[wide_integers.Integers, Mask]:
    """Floats times ``10 ** scale``, rounded as `rounding.rounded` does, and those without a value.

    Products above 2**53 are computed exactly, as their rounding would change digits.
    """
    with np.errstate(all="ignore"):
        products = floats * 10.0**type_.scale
        wrong = ~(np.abs(products) < 10.0 ** (type_.precision + 1))
        products = np.where(wrong, 0, products)
        whole = np.trunc(products)
        whole += np.where(np.abs(products - whole) >= 0.5, np.sign(products), 0)
    is_long = np.abs(whole) >= 2.0**53
    if not is_long.any():
        return whole.astype(np.int64), wrong
    stored = np.where(is_long, 0, whole).astype(np.int64).astype(object)
    stored[is_long] = _exact_products(floats[is_long], type_.scale)
    return stored, wrong


def _exact_products(floats: npt.NDArray[np.float64], scale: int) -> wide_integers.Integers:
    fractions, exponents = np.frexp(floats)
    mantissas = (fractions * 2.0**53).astype(np.int64).astype(object)
    shifts = exponents.astype(np.int64).astype(object) - 53
    sizes = np.abs(mantissas) * 10**scale
    down = np.maximum(-shifts, 0)
    sizes = sizes << np.maximum(shifts, 0)
    half = np.where(down > 0, 1, 0) << np.maximum(down - 1, 0)
    sizes = (sizes + half) >> down
    products: wide_integers.Integers = np.where(mantissas < 0, -sizes, sizes)
    return products


def _numpy(values: pa.Array) -> npt.NDArray[Any]:
    numbers: npt.NDArray[Any] = np.asarray(pc.fill_null(values, 0) if values.null_count else values)
    return numbers


def _booleans(values: pa.Array, type_: pa.DataType, strict: bool) -> pa.Array:
    if is_text(values.type):
        booleans, wrong = text_values.parse_booleans(values)
        return _with_nulls(booleans, _checked(values, wrong, type_, strict))
    if pa.types.is_decimal(values.type):
        return pc.not_equal(pc.sign(values), 0)
    if pa.types.is_float16(values.type):
        values = pc.cast(values, pa.float32())
    return pc.cast(values, type_)


def _dates(values: pa.Array, type_: pa.DataType, strict: bool) -> pa.Array:
    if pa.types.is_date64(type_):
        if pa.types.is_integer(values.type):
            return _integers(values, pa.int64(), strict).view(type_)
        return pc.cast(_dates(values, pa.date32(), strict), type_)
    if pa.types.is_integer(values.type):
        return _integers(values, pa.int32(), strict).view(type_)
    if is_text(values.type):
        plain = _plain_moments(values, type_)
        if plain is not None:
            return plain
        seconds, _, _, wrong = text_values.parse_moments(values)
        days = from_numpy((seconds // _DAY_SECONDS).astype(np.int32))
        return _with_nulls(days, _checked(values, wrong, type_, strict)).view(type_)
    return pc.cast(values, type_, safe=False)


def _timestamps(values: pa.Array, type_: pa.DataType, strict: bool) -> pa.Array:
    source = values.type
    if is_text(source):
        return _parsed_timestamps(values, type_, strict)
    if pa.types.is_date32(source):
        days = _integers(values, pa.int64(), strict)
        values = _counts(values, days, _DAY_SECONDS * _PER_SECOND[type_.unit], type_, strict)
        return _in_zone(values, type_)
    if pa.types.is_date64(source):
        return _timestamps(values.view(pa.timestamp("ms")), type_, strict)
    if not pa.types.is_timestamp(source):
        return _in_zone(_integers(values, pa.int64(), strict), type_)
    factor = _PER_SECOND[type_.unit] // _PER_SECOND[source.unit]
    own = pa.timestamp(type_.unit, source.tz)
    if factor > 1:
        values = _counts(values, values.view(pa.int64()), factor, type_, strict).view(own)
    else:
        values = pc.cast(values, own, safe=False)
    if source.tz is None:
        return _in_zone(values, type_)
    return pc.cast(values, type_)


def _counts(
    values: pa.Array, counts: pa.Array, factor: int, type_: pa.DataType, strict: bool
) -> pa.Array:
    """``counts`` times ``factor`` as int64."""
    numbers = _numpy(counts)
    most = np.iinfo(np.int64).max // factor
    wrong = (numbers > most) | (numbers < -most)
    missing = _checked(values, wrong, type_, strict)
    return _with_nulls(from_numpy(np.where(wrong, 0, numbers) * factor), missing)


def _in_zone(values: pa.Array, type_: pa.DataType) -> pa.Array:
    """Counts or local times as ``type_``."""
    local = values.view(pa.timestamp(type_.unit))
    return local if type_.tz is None else as_local(local, type_.tz)


def _plain_moments(texts: pa.Array, type_: pa.DataType) -> pa.Array | None:
    """Text in the usual form, which Arrow reads ten times as fast; None for other text."""
    lengths = pc.binary_length(texts)
    if pc.any(pc.equal(lengths, to_scalar(len("2000-01-01 00"), lengths.type))).as_py():
        return None  # Arrow takes an hour without minutes
    try:
        return pc.cast(texts, type_)
    except pa.ArrowInvalid:
        return None


def _parsed_timestamps(texts: pa.Array, type_: pa.DataType, strict: bool) -> pa.Array:
    plain = _plain_moments(texts, type_) if type_.tz is None else None
    if plain is not None:
        return plain
    seconds, nanoseconds, has_zone, wrong = text_values.parse_moments(texts)
    per_second = _PER_SECOND[type_.unit]
    most = np.iinfo(np.int64).max // per_second - 1
    wrong |= np.abs(seconds) > most
    counts = np.where(wrong, 0, seconds) * per_second + nanoseconds // (10**9 // per_second)
    missing = _checked(texts, wrong, type_, strict)
    moments = _with_nulls(from_numpy(counts), missing).view(pa.timestamp(type_.unit))
    if type_.tz is None:
        return moments
    instants = pc.cast(moments.view(pa.timestamp(type_.unit, "UTC")), type_)
    return pc.if_else(from_numpy(has_zone), instants, as_local(moments, type_.tz))


def _times(values: pa.Array, type_: pa.DataType, strict: bool) -> pa.Array:
    counts = pa.int32() if type_.bit_width == 32 else pa.int64()
    if is_text(values.type):
        nanoseconds, wrong = text_values.parse_times(values)
        numbers = from_numpy(nanoseconds // (10**9 // _PER_SECOND[type_.unit])).cast(counts)
        return _with_nulls(numbers, _checked(values, wrong, type_, strict)).view(type_)
    if pa.types.is_integer(values.type):
        numbers, _ = _whole_numbers(values)
        wrong = np.asarray(
            (numbers < 0) | (numbers >= _DAY_SECONDS * _PER_SECOND[type_.unit]), np.bool_
        )
        missing = _checked(values, wrong, type_, strict)
        times = from_numpy(np.where(wrong, 0, numbers).astype(np.int64)).cast(counts)
        return _with_nulls(times, missing).view(type_)
    if pa.types.is_timestamp(values.type) and values.type.unit != type_.unit:
        values = pc.cast(values, pa.time64("ns" if values.type.unit == "ns" else "us"), safe=False)
    return pc.cast(values, type_, safe=False)


def _durations(values: pa.Array, type_: pa.DataType, strict: bool) -> pa.Array:
    if pa.types.is_integer(values.type):
        return _integers(values, pa.int64(), strict).view(type_)
    factor = _PER_SECOND[type_.unit] // _PER_SECOND[values.type.unit]
    if factor <= 1:
        return pc.cast(values, type_, safe=False)
    return _counts(values, values.view(pa.int64()), factor, type_, strict).view(type_)


def _texts(values: pa.Array, type_: pa.DataType, strict: bool) -> pa.Array:
    if is_bytes(values.type):
        # Arrow has kernels neither of patterns nor of casts to text for all types of bytes.
        values = pc.cast(values, pa.large_binary())
        wrong = ~_numpy_booleans(pc.match_substring_regex(values, _UTF8))
        values = _with_nulls(values, _checked(values, wrong, type_, strict))
    write = text_kernel(values.type)
    return pc.cast(values if write is None else write(values), type_)


def _bytes(values: pa.Array, type_: pa.DataType, strict: bool) -> pa.Array:
    if pa.types.is_fixed_size_binary(type_) and values.type != type_:
        values = pc.cast(values, pa.binary())
        wrong = _numpy(pc.binary_length(values)) != type_.byte_width
        values = _with_nulls(values, _checked(values, wrong, type_, strict))
    return pc.cast(values, type_)


def _numpy_booleans(values: pa.BooleanArray) -> Mask:
    mask: Mask = pc.fill_null(values, False).to_numpy(zero_copy_only=False)
    return mask


def caster(kind: pa.DataType, strict: bool) -> functools.partial[Datum]:
    """The kernel that casts to ``kind``."""
    return functools.partial(convert, type_=kind, strict=strict)
