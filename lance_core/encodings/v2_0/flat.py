"""Fixed-width values (message ``Flat``), with or without a validity bitmap.

Consecutive rows become views of the fetched buffers. Validity and values of an Arrow array share
one offset. So a range that starts inside a byte of the bitmap is read from the start of this byte,
and the array skips up to seven rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core._pb.encodings_v2_0_pb2 import ArrayEncoding, Flat
from lance_core.byte_ranges import ByteRange
from lance_core.encodings.arrow.coalesced_take import bit_ranges, bit_take, fixed_ranges, fixed_take
from lance_core.encodings.arrow.fixed_width import alignment, bit_width, bits_from, has_fixed_width
from lance_core.encodings.decoding import RowRange
from lance_core.encodings.v2_0.base import ArrayPlan, EncodeScope, PlanScope
from lance_core.encodings.v2_0.compressed_flat import CompressedPlan
from lance_core.encodings.v2_0.foreign import decode_foreign
from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, RowIndices, Rows

Build = Callable[[int, int, "pa.Buffer | None", pa.Buffer], pa.Array]
"""Builds an array from (rows, rows to skip before them, validity, values)."""


@dataclass(frozen=True, slots=True)
class FixedWidthPlan(ArrayPlan):
    """Decodes values of ``width`` bytes each, from byte ``start`` of the file.

    ``validity`` is the first byte of the bitmap, None if all values are valid. Values must be
    aligned to ``alignment`` bytes in memory; misaligned values are copied.
    """

    type: pa.DataType
    width: int
    start: int
    build: Build
    alignment: int
    validity: int | None = None

    def decode(self, rows: Rows, context: DecodeContext) -> Decoding[list[pa.Array]]:
        """See `ArrayPlan`."""
        if not isinstance(rows, RowRange):
            return (yield from self._take(rows, context))
        start, count, width = rows.start, rows.stop - rows.start, self.width
        if self.validity is None:
            (values,) = yield [
                ByteRange(self.start + start * width, self.start + rows.stop * width)
            ]
            return [self.build(count, 0, None, self._aligned(values))]
        skip = start & 7
        validity, values = yield [
            ByteRange(self.validity + (start >> 3), self.validity + (rows.stop + 7 >> 3)),
            ByteRange(self.start + (start - skip) * width, self.start + rows.stop * width),
        ]
        return [self.build(count, skip, validity, self._aligned(values))]

    def _take(self, rows: RowIndices, context: DecodeContext) -> Decoding[list[pa.Array]]:
        positions, gap = rows.values, context.coalesce_gap
        ranges, cuts = fixed_ranges(self.start, self.width, positions, gap)
        if self.validity is None:
            buffers, validity = (yield ranges), None
        else:
            bit, bit_cuts = bit_ranges(self.validity, positions, gap)
            both = yield ranges + bit
            buffers = both[: len(ranges)]
            validity = bit_take(both[len(ranges) :], bit_cuts, positions)
        values = pa.py_buffer(fixed_take(buffers, cuts, positions, self.width))
        return [self.build(len(positions), 0, validity, values)]

    def _aligned(self, values: pa.Buffer) -> pa.Buffer:
        if values.address % self.alignment == 0:
            return values
        return pa.py_buffer(np.frombuffer(values, np.uint8).copy())


@dataclass(frozen=True, slots=True)
class BitmapPlan(ArrayPlan):
    """Decodes a bitmap of booleans from byte ``start``; ``validity`` as in `FixedWidthPlan`."""

    start: int
    validity: int | None = None

    def decode(self, rows: Rows, context: DecodeContext) -> Decoding[list[pa.Array]]:
        """See `ArrayPlan`."""
        starts = [self.start] if self.validity is None else [self.start, self.validity]
        if isinstance(rows, RowRange):
            first, last = rows.start >> 3, rows.stop + 7 >> 3
            buffers = list((yield [ByteRange(at + first, at + last) for at in starts]))
            skip = rows.start & 7
        else:
            buffers = yield from self._take(starts, rows, context)
            skip = 0
        validity = buffers[1] if len(buffers) > 1 else None
        return [pa.Array.from_buffers(pa.bool_(), len(rows), [validity, buffers[0]], -1, skip)]

    @staticmethod
    def _take(
        starts: list[int], rows: RowIndices, context: DecodeContext
    ) -> Decoding[list[pa.Buffer]]:
        # Both bitmaps are cut alike: the ranges of the second are those of the first, moved.
        ranges, cuts = bit_ranges(starts[0], rows.values, context.coalesce_gap)
        offsets = [at - starts[0] for at in starts]
        buffers = yield [ByteRange(r.start + by, r.stop + by) for by in offsets for r in ranges]
        groups = [buffers[i : i + len(ranges)] for i in range(0, len(buffers), len(ranges))]
        return [bit_take(group, cuts, rows.values) for group in groups]


def with_validity(plan: ArrayPlan, validity: int) -> ArrayPlan | None:
    """``plan`` with a validity bitmap; None if this kind of plan does not support one."""
    if isinstance(plan, FixedWidthPlan | BitmapPlan) and plan.validity is None:
        return replace(plan, validity=validity)
    return None


def decode_flat(encoding: Flat, scope: PlanScope) -> ArrayPlan:
    """`ArrayDecoder` of ``flat``."""
    bits = encoding.bits_per_value
    if encoding.compression.scheme.startswith("/"):
        return decode_foreign(encoding, scope)
    if bits != bit_width(scope.type):
        raise CorruptFileError(f"values of type {scope.type} cannot have {bits} bits", field="Flat")
    byte_range = scope.buffer(encoding.buffer)
    scheme = encoding.compression.scheme if encoding.HasField("compression") else "none"
    if scheme != "none":
        size = (scope.num_values * bits + 7) // 8
        return CompressedPlan(byte_range, scheme, size, _plan(scope.type, bits, 0))
    if scope.num_values * bits > byte_range.length * 8:
        raise CorruptFileError(
            f"{scope.num_values} values of {bits} bits do not fit a buffer of "
            f"{byte_range.length} bytes",
            offset=byte_range.start,
        )
    return _plan(scope.type, bits, byte_range.start)


def _plan(type_: pa.DataType, bits: int, start: int) -> ArrayPlan:
    if bits == 1:
        return BitmapPlan(start)
    return FixedWidthPlan(type_, bits // 8, start, primitive_builder(type_), alignment(type_))


@lru_cache(maxsize=256)
def primitive_builder(type_: pa.DataType) -> Build:
    """A builder of arrays whose buffers are validity and values; one for all columns of a type."""

    def build(count: int, skip: int, validity: pa.Buffer | None, values: pa.Buffer) -> pa.Array:
        nulls = 0 if validity is None else -1
        return pa.Array.from_buffers(type_, count, [validity, values], nulls, skip)

    return build


def encode_flat(array: pa.Array, scope: EncodeScope) -> ArrayEncoding:
    """`ArrayEncoder` of ``flat``: encodes the values of an array and ignores its validity."""
    if not has_fixed_width(array.type):
        raise UnsupportedFeatureError(f"values of type {array.type} are of no fixed width")
    bits = array.type.bit_width
    _, values = array.buffers()
    if values is None:
        values = pa.py_buffer(b"")
    if bits == 1:
        data = bits_from(values, array.offset, len(array))
    elif bits % 8:
        raise UnsupportedFeatureError(f"values of {bits} bits cannot be stored")
    else:
        width = bits // 8
        data = values.slice(array.offset * width, len(array) * width)
    return ArrayEncoding(flat=Flat(bits_per_value=bits, buffer=scope.add(data)))
