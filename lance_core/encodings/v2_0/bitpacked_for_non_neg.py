"""Bit-packed integers in chunks of 1024 (message ``BitpackedForNonNeg``).

All chunks have the width of the largest value. No known writer uses it in 2.0 files; read only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core._pb.encodings_v2_0_pb2 import BitpackedForNonNeg
from lance_core.byte_ranges import ByteRange
from lance_core.encodings.arrow.coalesced_take import fixed_ranges, fixed_take
from lance_core.encodings.arrow.fixed_width import bit_width
from lance_core.encodings.decoding import RowRange
from lance_core.encodings.kernels.numpy.bitpacking import CHUNK, WIDTHS, packed_bytes
from lance_core.encodings.v2_0.base import ArrayPlan, PlanScope
from lance_core.errors import CorruptFileError
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Rows


@dataclass(frozen=True, slots=True)
class BitpackedPlan(ArrayPlan):
    """Decodes values packed to ``packed_bits`` bits each, from byte ``start`` of the file."""

    type: pa.DataType
    start: int
    packed_bits: int

    def decode(self, rows: Rows, context: DecodeContext) -> Decoding[list[pa.Array]]:
        """See `ArrayPlan`."""
        size = packed_bytes(self.packed_bits)
        if isinstance(rows, RowRange):
            first, last = rows.start // CHUNK, -(-rows.stop // CHUNK)
            (data,) = yield [ByteRange(self.start + first * size, self.start + last * size)]
            packed = np.frombuffer(data, np.uint8)
            values = self._unpack(packed, context)[
                rows.start - first * CHUNK : rows.stop - first * CHUNK
            ]
        else:
            # Bits of a value are spread over its whole chunk, so each chunk is unpacked, once.
            chunks, number = np.unique(rows.values // CHUNK, return_inverse=True)
            ranges, cuts = fixed_ranges(self.start, size, chunks, context.coalesce_gap)
            buffers = yield ranges
            packed = fixed_take(buffers, cuts, chunks, size).view(np.uint8)
            values = self._unpack(packed, context)[number * CHUNK + rows.values % CHUNK]
        buffer = pa.py_buffer(np.ascontiguousarray(values))
        return [pa.Array.from_buffers(self.type, len(rows), [None, buffer], 0)]

    def _unpack(self, packed: np.ndarray, context: DecodeContext) -> np.ndarray:
        chunks = len(packed) // packed_bytes(self.packed_bits)
        bits = self.type.bit_width
        return context.kernels.unpack_fastlanes(packed, self.packed_bits, bits, chunks)


def decode_bitpacked_for_non_neg(encoding: BitpackedForNonNeg, scope: PlanScope) -> ArrayPlan:
    """`ArrayDecoder` of ``bitpacked_for_non_neg``."""
    bits, packed_bits = encoding.uncompressed_bits_per_value, encoding.compressed_bits_per_value
    if bits != bit_width(scope.type) or bits not in WIDTHS:
        raise CorruptFileError(f"values of type {scope.type} cannot be packed from {bits} bits")
    if not 1 <= packed_bits <= bits:
        raise CorruptFileError(f"values of {bits} bits cannot be packed to {packed_bits} bits")
    byte_range = scope.buffer(encoding.buffer)
    needed = -(-scope.num_values // CHUNK) * packed_bytes(packed_bits)
    if needed > byte_range.length:
        raise CorruptFileError(
            f"{scope.num_values} packed values need {needed} bytes, but the buffer has "
            f"{byte_range.length}",
            offset=byte_range.start,
        )
    return BitpackedPlan(scope.type, byte_range.start, packed_bits)
