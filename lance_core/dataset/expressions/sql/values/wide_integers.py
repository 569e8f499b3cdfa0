"""Decimals as integers of any size, so that arithmetic on them is exact.

A decimal is stored as an integer (its value times ``10 ** scale``) of 128 or 256 bits. These
integers are numpy arrays of int64 if all of them fit, otherwise of Python integers (dtype
``object``), which numpy's operators take as well. NULL becomes 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.encodings.arrow.numpy_values import from_numpy, to_scalar

Integers = npt.NDArray[Any]

_LOW = (1 << 64) - 1
_LIMIT = 1 << 62
"""Integers below this limit are computed in 64 bits: their sums cannot overflow."""

_EXACT = 1 << 53
"""All integers up to this one are floats."""
_MAX_POWER = 22
"""The largest power of ten that is a float."""


def stored_integers(values: pa.Array) -> Integers:
    """The integers that the decimals or integers ``values`` store."""
    type_ = values.type
    if not pa.types.is_decimal(type_):
        numbers = np.asarray(pc.fill_null(values, 0) if values.null_count else values)
        return numbers.astype(object if type_ == pa.uint64() else np.int64)
    if type_.bit_width < 128:
        return stored_integers(values.cast(pa.decimal128(type_.precision, type_.scale)))
    words = type_.bit_width // 64
    data = np.frombuffer(values.buffers()[1], np.int64, words * (values.offset + len(values)))
    limbs = data.reshape(-1, words)[values.offset :]
    if values.null_count:
        limbs = np.where(np.asarray(values.is_valid())[:, None], limbs, 0)
    low = limbs[:, 0]
    if (limbs[:, 1:] == (low >> 63)[:, None]).all():
        return low
    result = limbs[:, -1].astype(object)
    for word in range(words - 2, -1, -1):
        result = (result << 64) | limbs[:, word].view(np.uint64).astype(object)
    return result


def stored_decimals(
    integers: Integers, missing: pa.Array | None, data_type: pa.DataType
) -> pa.Array:
    """The decimals of type ``data_type`` that store ``integers``; NULL where ``missing`` is true.

    The integers must have at most as many digits as ``data_type``.
    """
    words = data_type.bit_width // 64
    limbs = np.empty((len(integers), words), np.int64)
    if integers.dtype != object:
        limbs[:, 0] = integers
        limbs[:, 1:] = (integers >> 63)[:, None]
    else:
        for word in range(words):
            limb = (integers >> (64 * word)) & _LOW
            limbs[:, word] = limb.astype(np.uint64).view(np.int64)
    decimals = pa.Array.from_buffers(data_type, len(limbs), [None, pa.py_buffer(limbs)])
    if missing is None:
        return decimals
    return pc.if_else(missing, to_scalar(None, data_type), decimals)


def largest(integers: Integers) -> int:
    """The largest absolute value, 0 for no integers."""
    if not len(integers):
        return 0
    return max(int(integers.max()), -int(integers.min()))


def sized(limit: int, *arrays: Integers) -> list[Integers]:
    """The arrays with a dtype that holds results up to ``limit``."""
    if limit < _LIMIT:
        return list(arrays)
    return [array.astype(object) for array in arrays]


def scaled(integers: Integers, exponent: int) -> Integers:
    """``integers`` times ``10 ** exponent``; ``exponent`` must not be negative."""
    if not exponent:
        return integers
    factor: int = 10**exponent
    (integers,) = sized(max(largest(integers), 1) * factor, integers)
    return integers * factor


def quotients(dividends: Integers, divisors: Integers) -> Integers:
    """The quotients rounded towards zero; no divisor may be 0."""
    dividends, divisors = sized(largest(dividends) + largest(divisors), dividends, divisors)
    negative = (dividends < 0) != (divisors < 0)
    sizes = np.abs(dividends) // np.abs(divisors)
    return np.where(negative, -sizes, sizes)


def remainders(dividends: Integers, divisors: Integers) -> Integers:
    """The remainders with the signs of the dividends; no divisor may be 0."""
    dividends, divisors = sized(largest(dividends) + largest(divisors), dividends, divisors)
    sizes = np.abs(dividends) % np.abs(divisors)
    return np.where(dividends < 0, -sizes, sizes)


def without_digits(integers: Integers, digits: int, mode: str) -> Integers:
    """``integers`` divided by ``10 ** digits`` (0 or more).

    ``mode``: ``"half"`` (to the nearest integer, halves away from zero), ``"trunc"`` (towards
    zero), ``"floor"`` or ``"ceil"``.
    """
    if not digits:
        return integers
    divisor: int = 10**digits
    (integers,) = sized(largest(integers) + divisor, integers)
    if mode == "floor":
        return integers // divisor
    if mode == "ceil":
        return -(-integers // divisor)
    sizes = np.abs(integers)
    if mode == "half":
        sizes = sizes + divisor // 2
    return np.where(integers < 0, -(sizes // divisor), sizes // divisor)


def beyond(integers: Integers, digits: int) -> npt.NDArray[np.bool_] | None:
    """True for the integers with more than ``digits`` digits; None if there are none."""
    most = 10**digits - 1
    if largest(integers) <= most:
        return None
    above: npt.NDArray[np.bool_] = np.asarray((integers > most) | (integers < -most), np.bool_)
    return above


def nearest_floats(decimals: pa.Array) -> pa.Array:
    """The float64 nearest to each decimal; Arrow's own cast may be one step off."""
    integers, scale = stored_integers(decimals), decimals.type.scale
    if integers.dtype != object and largest(integers) <= _EXACT and 0 <= scale <= _MAX_POWER:
        floats = integers / 10.0**scale
    else:
        # The quotient of two Python integers is rounded once.
        ratio = integers.astype(object) * 10 ** max(-scale, 0) / 10 ** max(scale, 0)
        floats = ratio.astype(np.float64)
    if not decimals.null_count:
        return from_numpy(floats)
    return pc.if_else(decimals.is_null(), to_scalar(None, pa.float64()), from_numpy(floats))
