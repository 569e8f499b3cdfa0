"""Variable-width values (message ``Binary``): u64 end offsets, and the bytes of all values.

The stored end of a null is its real end plus ``null_adjustment``, which exceeds any real end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core._pb.encodings_v2_0_pb2 import ArrayEncoding, Binary, Flat, Nullable
from lance_core._pb.encodings_v2_0_pb2 import Compression as CompressionMessage
from lance_core.byte_ranges import ByteRange
from lance_core.encodings.arrow.coalesced_take import Cuts, span_ranges, span_take
from lance_core.encodings.arrow.decode_budget import spend
from lance_core.encodings.arrow.strings import (
    Spans,
    is_variable,
    offset_dtype,
    single_value,
    taken_arrays,
    variable_arrays,
)
from lance_core.encodings.compression import general
from lance_core.encodings.decoding import RowRange
from lance_core.encodings.v2_0.base import ArrayPlan, EncodeScope, PlanScope, plan_array
from lance_core.encodings.v2_0.offsets import Ends, UInt64Array, adjusted, not_ascending
from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Int64Array, Rows


@dataclass(frozen=True, slots=True)
class BinaryPlan(ArrayPlan):
    """Decodes values with the bytes in ``byte_range``; ``scheme`` compresses them unless empty."""

    type: pa.DataType
    num_values: int
    ends: Ends
    byte_range: ByteRange
    scheme: str

    def decode(self, rows: Rows, context: DecodeContext) -> Decoding[list[pa.Array]]:
        """See `ArrayPlan`."""
        if not isinstance(rows, RowRange):
            return (yield from self._take(rows.values, context))
        start = self.ends.start
        if start is not None and rows.stop - rows.start == 1 and not self.scheme:
            return (yield from self._read_one(start, rows.start, context))
        if start is not None and len(rows) == self.num_values:
            spans, data = yield from self._read_all(start)
        else:
            spans, data = yield from self._read(rows, context)
        return variable_arrays(self.type, spans, data, context.validate_utf8)

    def _read_one(self, start: int, row: int, context: DecodeContext) -> Decoding[list[pa.Array]]:
        """A single value. Same result as `_read`, but without the overhead of numpy calls."""
        first = start + 8 * max(0, row - 1)
        (ends,) = yield [ByteRange(first, start + 8 * (row + 1))]
        stored = int.from_bytes(ends.slice(ends.size - 8), "little")
        stop, is_null = self.ends.real_end(stored, self.byte_range.length)
        begin = 0
        if row:
            stored = int.from_bytes(ends.slice(0, 8), "little")
            begin, _ = self.ends.real_end(stored, self.byte_range.length)
        if begin > stop:
            raise not_ascending()
        (data,) = yield [ByteRange(self.byte_range.start + begin, self.byte_range.start + stop)]
        return [single_value(self.type, data, is_null, context.validate_utf8)]

    def _read_all(self, start: int) -> Decoding[tuple[Spans, pa.Buffer]]:
        """All values; requests the ends and the bytes in one round."""
        ends, data = yield [ByteRange(start, start + 8 * self.num_values), self.byte_range]
        if self.scheme:
            data = general.decompress(self.scheme, data)
        real, valid = self.ends.real(np.frombuffer(ends, np.uint64), data.size)
        spend(int(real[-1]))
        return Spans(0, real, valid), data.slice(0, int(real[-1]))

    def _read(self, rows: RowRange, context: DecodeContext) -> Decoding[tuple[Spans, pa.Buffer]]:
        stored = yield from self.ends.read(rows, context)
        plain = (yield from self._decompressed()) if self.scheme else None
        real, valid = self.ends.real(
            stored, self.byte_range.length if plain is None else plain.size
        )
        before = 1 if rows.start else 0
        begin, last = int(real[0]) if before else 0, int(real[-1])
        if not begin <= last == int(real.max()):
            raise not_ascending()
        spend(last - begin)
        if plain is None:
            (data,) = yield [ByteRange(self.byte_range.start + begin, self.byte_range.start + last)]
        else:
            data = plain.slice(begin, last - begin)
        return Spans(begin, real[before:], None if valid is None else valid[before:]), data

    def _take(self, positions: Int64Array, context: DecodeContext) -> Decoding[list[pa.Array]]:
        stored = yield from self.ends.pick(positions, context)
        plain = (yield from self._decompressed()) if self.scheme else None
        size = self.byte_range.length if plain is None else plain.size
        starts, stops, valid = self.ends.real_spans(stored, positions[0] == 0, size)
        spend(int((stops - starts).sum()))
        if plain is None:
            ranges, cuts = span_ranges(self.byte_range.start, starts, stops, context.coalesce_gap)
            buffers = yield ranges
        else:
            buffers, cuts = [plain], Cuts([0, len(starts)], [0])
        large = offset_dtype(self.type) is np.int64
        taken = span_take(buffers, cuts, starts, stops, large)
        return taken_arrays(self.type, taken, valid, context.validate_utf8)

    def _decompressed(self) -> Decoding[pa.Buffer]:
        (data,) = yield [self.byte_range]
        return general.decompress(self.scheme, data)


def decode_binary(encoding: Binary, scope: PlanScope) -> ArrayPlan:
    """`ArrayDecoder` of ``binary``."""
    if not is_variable(scope.type):
        raise CorruptFileError(f"a column of type {scope.type} has values of variable width")
    content = encoding.bytes
    if content.WhichOneof("array_encoding") == "nullable":
        content = content.nullable.no_nulls.values
    if content.WhichOneof("array_encoding") != "flat" or content.flat.bits_per_value != 8:
        raise UnsupportedFeatureError("binary values whose bytes are not flat")
    flat = content.flat
    scheme = flat.compression.scheme if flat.HasField("compression") else "none"
    return BinaryPlan(
        scope.type,
        scope.num_values,
        Ends.of(plan_array(encoding.indices, scope.inner(pa.uint64())), encoding.null_adjustment),
        scope.buffer(flat.buffer),
        "" if scheme == "none" else scheme,
    )


def encode_binary(array: pa.Array, scope: EncodeScope) -> ArrayEncoding:
    """`ArrayEncoder` of ``binary``; compresses the bytes if the scope requests it."""
    if not is_variable(array.type):
        raise UnsupportedFeatureError(f"{array.type} is not of variable width")
    begin, ends = _ends(array)
    size = int(ends[-1]) if len(ends) else 0
    # A null's stored end is its end + adjustment; size + 1 exceeds every real end, so readers can
    # tell nulls apart.
    adjustment = size + 1 if len(ends) else 0
    ends = adjusted(ends, array, adjustment)
    data = array.buffers()[2]
    content = pa.py_buffer(b"") if data is None else data.slice(begin, size)
    indices = Flat(bits_per_value=64, buffer=scope.add(pa.py_buffer(ends)))
    return ArrayEncoding(
        binary=Binary(
            indices=ArrayEncoding(
                nullable=Nullable(no_nulls=Nullable.NoNull(values=ArrayEncoding(flat=indices)))
            ),
            bytes=ArrayEncoding(flat=_encode_bytes(content, scope)),
            null_adjustment=adjustment,
        )
    )


def _ends(array: pa.Array) -> tuple[int, UInt64Array]:
    """The start of the values of ``array`` in its data buffer, and the ends relative to it."""
    buffer = array.buffers()[1]
    if len(array) == 0 or buffer is None:
        return 0, np.empty(0, np.uint64)
    dtype = np.dtype(offset_dtype(array.type))
    offsets = np.frombuffer(buffer, dtype, len(array) + 1, array.offset * dtype.itemsize)
    begin = int(offsets[0])
    if begin == 0 and dtype.itemsize == 8:
        return 0, offsets[1:].view(np.uint64)
    return begin, np.subtract(offsets[1:], begin, dtype=np.int64).view(np.uint64)


def _encode_bytes(content: pa.Buffer, scope: EncodeScope) -> Flat:
    if scope.compression is None:
        return Flat(bits_per_value=8, buffer=scope.add(content))
    scheme, level = scope.compression.scheme, scope.compression.level
    if scheme != "none":
        packed = general.compress(scheme, level, content)
        scheme, content = (scheme, packed) if packed is not None else ("none", content)
    message = CompressionMessage(scheme=scheme, level=level)
    return Flat(bits_per_value=8, buffer=scope.add(content), compression=message)
