"""Arrays that are hard to encode, of every leaf type."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from decimal import Decimal

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from lance_core.hookspecs.arrays import numpy_dtype

TYPES: tuple[pa.DataType, ...] = (
    pa.bool_(),
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64()),
    *(pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
    *(pa.float16(), pa.float32(), pa.float64()),
    *(pa.decimal128(38, 10), pa.decimal256(76, 0)),
    *(pa.date32(), pa.date64(), pa.time32("s"), pa.time64("ns")),
    *(pa.timestamp("us"), pa.timestamp("ns", "UTC"), pa.duration("ms")),
    *(pa.string(), pa.large_string(), pa.binary(), pa.large_binary()),
    *(pa.binary(3), pa.list_(pa.float32(), 4), pa.list_(pa.uint8(), 3)),
)
"""Types that a column of values may have; an encoding accepts some of them."""

COUNTS = (1, 2, 7, 1023, 1024, 1025, 3000)

_EPOCH = dt.datetime(1970, 1, 1)

VALUES: dict[pa.DataType, st.SearchStrategy[object]] = {
    pa.bool_(): st.booleans(),
    pa.int8(): st.integers(-(1 << 7), (1 << 7) - 1),
    pa.uint16(): st.integers(0, (1 << 16) - 1),
    pa.int32(): st.integers(-(1 << 31), (1 << 31) - 1),
    pa.int64(): st.integers(-(1 << 63), (1 << 63) - 1),
    pa.uint64(): st.integers(0, (1 << 64) - 1),
    pa.float16(): st.floats(width=16, allow_nan=False),
    pa.float32(): st.floats(width=32, allow_nan=False),
    pa.float64(): st.floats(allow_nan=False),
    pa.decimal128(10, 2): st.integers(-(10**9), 10**9).map(lambda n: Decimal(n).scaleb(-2)),
    pa.decimal256(60, 0): st.integers(-(10**50), 10**50).map(Decimal),
    pa.date32(): st.integers(0, 20_000).map(lambda days: dt.date(1970, 1, 1) + dt.timedelta(days)),
    pa.timestamp("us"): st.integers(0, 10**15).map(lambda us: _EPOCH + dt.timedelta(0, 0, us)),
    pa.binary(3): st.binary(min_size=3, max_size=3),
    pa.string(): st.text(max_size=12),
    pa.large_string(): st.text(max_size=12),
    pa.binary(): st.binary(max_size=12),
    pa.large_binary(): st.binary(max_size=12),
}
"""Values of the types without children, for property tests."""


def hard_arrays(type_: pa.DataType) -> Iterator[tuple[str, pa.Array]]:
    """Arrays of ``type_`` without nulls, each with a name."""
    chance = np.random.default_rng(29)
    for count in COUNTS:
        yield f"{count} of any bits", _of_bits(type_, count, chance)
    for name, make in _PATTERNS.items():
        yield name, _from_numbers(type_, make(2000))
    if pa.types.is_floating(type_):
        yield "special floats", _special_floats(type_)


def _falling(count: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.arange(count)[::-1].copy()


_PATTERNS: dict[str, Callable[[int], np.ndarray[tuple[int], np.dtype[np.int64]]]] = {
    "all the same": lambda count: np.full(count, 42),
    "zeros": lambda count: np.zeros(count, np.int64),
    "rising": np.arange,
    "falling": _falling,
    "runs": lambda count: np.repeat(np.arange(-(-count // 100)), 100)[:count],
    "few outliers": lambda count: np.where(np.arange(count) % 97 == 0, 10**6, 1),
}


def _of_bits(type_: pa.DataType, count: int, chance: np.random.Generator) -> pa.Array:
    """Values with random bits, including unusual values."""
    if pa.types.is_fixed_size_list(type_):
        items = _of_bits(type_.value_type, count * type_.list_size, chance)
        return pa.FixedSizeListArray.from_arrays(items, type=type_)
    if _is_variable(type_):
        lengths = chance.integers(0, 20, count)
        letters = ["".join(map(chr, chance.integers(32, 0x2FF, size))) for size in lengths]
        return pa.array(letters, pa.string()).cast(type_)
    bits = chance.bytes((count * type_.bit_width + 7) // 8)
    if pa.types.is_decimal(type_):  # no more digits than the precision
        return _from_numbers(type_, chance.integers(-(10**9), 10**9, count))
    return pa.Array.from_buffers(type_, count, [None, pa.py_buffer(bits)], 0)


def _from_numbers(
    type_: pa.DataType, numbers: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> pa.Array:
    """Numbers as values of a type, truncated to its width in bits."""
    if pa.types.is_fixed_size_list(type_):
        items = _from_numbers(type_.value_type, np.repeat(numbers, type_.list_size))
        return pa.FixedSizeListArray.from_arrays(items, type=type_)
    if _is_variable(type_):
        return pa.array(map(str, numbers.tolist()), pa.string()).cast(type_)
    if pa.types.is_fixed_size_binary(type_):
        width = type_.byte_width
        return pa.array(
            [(n % 256**width).to_bytes(width, "little") for n in numbers.tolist()], type_
        )
    if pa.types.is_boolean(type_):
        return pa.array(numbers % 2 == 1)
    if pa.types.is_decimal(type_):
        return pa.array(numbers).cast(pa.decimal128(19, 0)).cast(type_)
    if pa.types.is_floating(type_):
        return pa.array((numbers / 100).astype(numpy_dtype(type_)))
    return pa.array(numbers.astype(f"i{type_.bit_width // 8}")).view(type_)


def _special_floats(type_: pa.DataType) -> pa.Array:
    """Both zeros, infinities, the smallest and largest numbers, and NaNs with any payload."""
    dtype = numpy_dtype(type_)
    limits = np.finfo(dtype)
    numbers = [0.0, -0.0, np.inf, -np.inf, limits.tiny, limits.smallest_subnormal, limits.max]
    values = np.array([*numbers, *(-n for n in numbers)], dtype)
    unsigned = np.dtype(f"u{dtype.itemsize}")
    quiet = np.array([np.nan], dtype).view(unsigned)[0]
    payloads = (quiet + np.arange(1, 9, dtype=unsigned)).view(dtype)
    return pa.array(np.tile(np.concatenate([values, payloads]), 50))


def _is_variable(type_: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(type_)
        or pa.types.is_large_string(type_)
        or pa.types.is_binary(type_)
        or pa.types.is_large_binary(type_)
    )
