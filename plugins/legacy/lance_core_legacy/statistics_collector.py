"""Collect page statistics of written batches: null counts, and bounds of the non-null values.

Integers, dates and decimals have their minimum and maximum, or the limits of the type if all
values are null. NaN is ignored; without any other value, floats have infinite bounds. A bound of
zero has the sign that bounds both zeros. Strings and bytes have bounds of at most 64 bytes, and
null as bound if all values are null or no such bound is large enough.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lance_core.hookspecs.arrays import above_text, is_text, is_variable, numpy_dtype
from lance_core_legacy.bounds import MAX_BYTES, above_bytes, cut

if TYPE_CHECKING:
    from lance_core.hookspecs.file_versions import Field

_DECIMAL_LIMIT = 1 << 127


def is_covered(type_: pa.DataType) -> bool:
    """True if statistics are written for values of this type."""
    tests = (
        pa.types.is_boolean,
        pa.types.is_integer,
        pa.types.is_float32,
        pa.types.is_float64,
        pa.types.is_date,
        pa.types.is_decimal128,
        is_variable,
    )
    return any(test(type_) for test in tests)


def covered(fields: tuple[Field, ...]) -> Iterator[Field]:
    """The fields with statistics: top-level fields and members of structs, but no list items."""
    for member in fields:
        if member.is_struct:
            yield from covered(member.children)
        elif not member.children and is_covered(member.storage_type):
            yield member


@dataclass(slots=True)
class Collector:
    """The statistics of one field, one value per batch. Bounds are the stored bytes."""

    type: pa.DataType
    null_counts: list[int] = field(default_factory=list)
    lowest: list[Any] = field(default_factory=list)
    highest: list[Any] = field(default_factory=list)

    def add(self, array: pa.Array) -> None:
        """Add the batch with the values ``array``."""
        self.null_counts.append(array.null_count)
        low, high = _bounds(array)
        self.lowest.append(low)
        self.highest.append(high)

    def columns(self) -> tuple[pa.Array, pa.Array, pa.Array]:
        """Null counts, lower bounds and upper bounds of all batches."""
        counts = pa.array(self.null_counts, pa.int64())
        return counts, self._array(self.lowest), self._array(self.highest)

    def _array(self, bounds: list[Any]) -> pa.Array:
        if is_variable(self.type):
            return pa.array(bounds, pa.large_binary()).cast(self.type)
        if pa.types.is_boolean(self.type):
            return pa.array(bounds, self.type)
        if pa.types.is_decimal(self.type):
            raw = b"".join(bound.to_bytes(16, "little", signed=True) for bound in bounds)
        else:
            raw = np.array(bounds, _stored_type(self.type)).tobytes()
        return pa.Array.from_buffers(self.type, len(bounds), [None, pa.py_buffer(raw)], 0)


def _bounds(array: pa.Array) -> tuple[Any, Any]:
    type_ = array.type
    if is_variable(type_):
        return _text_bounds(array)
    if pa.types.is_boolean(type_):
        any_true, any_false = array.true_count > 0, array.false_count > 0
        return any_true and not any_false, any_true or not any_false
    if pa.types.is_decimal(type_):
        return _decimal_bounds(array)
    values = np.frombuffer(array.buffers()[1], _stored_type(type_), len(array) + array.offset)
    values = values[array.offset :]
    if array.null_count:
        values = values[np.asarray(array.is_valid())]
    if pa.types.is_floating(type_):
        return _float_bounds(values)
    if not len(values):
        limits = np.iinfo(values.dtype)
        return limits.min, limits.max
    return values.min(), values.max()


def _stored_type(type_: pa.DataType) -> np.dtype[Any]:
    """The numpy type of the column's values in a file."""
    if pa.types.is_date32(type_):
        return np.dtype("<i4")
    if pa.types.is_date64(type_):
        return np.dtype("<i8")
    return numpy_dtype(type_)


def _float_bounds(values: Any) -> tuple[Any, Any]:
    if not len(values):
        return -math.inf, math.inf
    low, high = np.fmin.reduce(values), np.fmax.reduce(values)
    if np.isnan(low):
        return -math.inf, math.inf
    return (-0.0 if low == 0 else low), (0.0 if high == 0 else high)


def _decimal_bounds(array: pa.Array) -> tuple[int, int]:
    import pyarrow.compute as pc

    extremes = pc.min_max(array)
    if not extremes["min"].is_valid:
        return -_DECIMAL_LIMIT, _DECIMAL_LIMIT - 1
    both = pa.array([extremes["min"].as_py(), extremes["max"].as_py()], array.type)
    raw = both.buffers()[1].to_pybytes()
    low, high = raw[:16], raw[16:32]
    return int.from_bytes(low, "little", signed=True), int.from_bytes(high, "little", signed=True)


def _text_bounds(array: pa.Array) -> tuple[bytes | None, bytes | None]:
    import pyarrow.compute as pc

    extremes = pc.min_max(array.view(_binary_of(array.type)))
    if not extremes["min"].is_valid:
        return None, None
    text = is_text(array.type)
    low: bytes = extremes["min"].as_py()
    high: bytes | None = cut(extremes["max"].as_py(), text)
    if high is not None and pc.max(pc.binary_length(array)).as_py() > MAX_BYTES:
        high = above_text(high) if text else above_bytes(high)
    return cut(low, text), high


def _binary_of(type_: pa.DataType) -> pa.DataType:
    large = pa.types.is_large_string(type_) or pa.types.is_large_binary(type_)
    return pa.large_binary() if large else pa.binary()
