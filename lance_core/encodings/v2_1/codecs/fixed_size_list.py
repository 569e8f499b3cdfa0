"""Fixed-size lists of flat values (message ``FixedSizeList``), possibly nested.

Items may be null: each level with null items has a bitmap. In mini-block pages the bitmaps are
value buffers before the buffer of values, outermost level first, and start anew in each chunk. In
full-zip pages each list has its bitmaps, padded to whole bytes, before its values.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from itertools import accumulate
from operator import mul
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import (
    CompressiveEncoding,
    Constant,
    FixedSizeList,
)
from lance_core.encodings.decoding import Int64Array
from lance_core.encodings.v2_1.codecs.base import (
    Block,
    ChunkPositions,
    Codec,
    Encoded,
    MiniBlockChunks,
    PerValue,
    Place,
    ScalarAt,
    unsupported_placement,
)
from lance_core.encodings.v2_1.codecs.chunks import chunk_bits, largest_chunk, split_sizes
from lance_core.encodings.v2_1.codecs.flat import (
    flat_chunks,
    flat_encoding,
    inner_flat,
    take_flat,
    whole_value,
)
from lance_core.encodings.v2_1.codecs.values import FixedSizeListValues, FixedWidth
from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.schema.logical_type import MAX_FIXED_SIZE_LIST_NESTING

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.v2_1.codecs.base import Source, Target
    from lance_core.encodings.v2_1.codecs.values import Values

_MAX_ITEMS = 1 << 31
Octets = npt.NDArray[np.uint8]


class _Shape(NamedTuple):
    """For each level of nesting the list size and whether items may be null; bits of a value.

    Values of 0 bits are all null and not stored.
    """

    dimensions: tuple[int, ...]
    nullable: tuple[bool, ...]
    bits: int

    @property
    def items(self) -> list[int]:
        """For each level, the number of items in one outermost list."""
        return list(accumulate(self.dimensions, mul))


def _shape(message: FixedSizeList) -> _Shape:
    dimensions, nullable = [], []
    while True:
        dimensions.append(message.items_per_value)
        nullable.append(message.has_validity)
        if not message.items_per_value or len(dimensions) > MAX_FIXED_SIZE_LIST_NESTING:
            raise CorruptFileError(
                "fixed-size lists have no items or are nested too deep", field="FixedSizeList"
            )
        if message.values.WhichOneof("compression") != "fixed_size_list":
            break
        message = message.values.fixed_size_list
    inner = message.values
    if inner.WhichOneof("compression") == "constant" and not inner.constant.value and nullable[-1]:
        shape = _Shape(tuple(dimensions), tuple(nullable), 0)
    else:
        bits = inner_flat(inner, "lists")
        if not bits:
            raise CorruptFileError(
                "the items of fixed-size lists have 0 bits", field="FixedSizeList"
            )
        shape = _Shape(tuple(dimensions), tuple(nullable), bits)
    if shape.items[-1] > _MAX_ITEMS:
        raise CorruptFileError(
            f"a fixed-size list has {shape.items[-1]} items", field="FixedSizeList"
        )
    return shape


@lru_cache(maxsize=64)
def _encoding(shape: _Shape) -> CompressiveEncoding:
    """The message for lists of ``shape``, which must not be changed: pages share it."""
    nothing = CompressiveEncoding(constant=Constant())
    encoding = flat_encoding(shape.bits) if shape.bits else nothing
    for size, has_nulls in reversed(list(zip(shape.dimensions, shape.nullable, strict=True))):
        message = FixedSizeList(items_per_value=size, values=encoding, has_validity=has_nulls)
        encoding = CompressiveEncoding(fixed_size_list=message)
    return encoding


class FixedSizeListCodec(Codec):
    """Encodes fixed-size lists of flat values."""

    key = "fixed_size_list"

    def decode(
        self, message: FixedSizeList, source: Source, context: DecodeContext
    ) -> FixedSizeListValues:
        """See `Codec`."""
        shape = _shape(message)
        if isinstance(source, PerValue):
            return _decode_rows(shape, source)
        chunks = source.as_chunk() if isinstance(source, Block) else source
        if not shape.bits:
            raise unsupported_placement("constant", source)
        if chunks.num_buffers != sum(shape.nullable) + 1:
            raise CorruptFileError(f"a chunk of fixed-size lists has {chunks.num_buffers} buffers")
        if len(chunks.counts) and int(chunks.counts.max()) * shape.items[-1] > 8 * len(chunks.data):
            raise CorruptFileError("a chunk has fewer bytes than its lists take")
        validity: list[pa.Buffer | None] = []
        for items, nullable in zip(shape.items, shape.nullable, strict=True):
            number = sum(bitmap is not None for bitmap in validity)
            validity.append(
                chunk_bits(chunks, number, chunks.counts * items, context.kernels)
                if nullable
                else None
            )
        counts = chunks.counts * shape.items[-1]
        last = replace(chunks.buffers(chunks.num_buffers - 1), counts=counts)
        values = flat_chunks(last, shape.bits, context.kernels)
        return FixedSizeListValues(tuple(validity), values, shape.dimensions, chunks.count)

    def encode(self, values: Values, target: Target) -> Encoded:
        """See `Codec`."""
        if not isinstance(values, FixedSizeListValues):
            raise UnsupportedFeatureError("fixed-size list encoding needs fixed-size lists")
        nullable = tuple(bitmap is not None for bitmap in values.validity)
        shape = _Shape(values.dimensions, nullable, values.values.bits)
        encoding = _encoding(shape)
        if target.place is Place.PER_VALUE:
            return Encoded.per_value(encoding, _encode_rows(values, shape))
        if target.place is Place.BLOCK:
            raise unsupported_placement("fixed_size_list", target)
        per_list = shape.items[-1] * shape.bits
        bitmaps = sum(_row_widths(shape)[:-1])
        counts, sizes = split_sizes(values.count, largest_chunk(per_list, bitmaps), per_list)
        buffers, all_sizes = [], []
        for bitmap, items in zip(values.validity, shape.items, strict=True):
            if bitmap is not None:
                # Each chunk begins with a new byte, so the bits of all but the first chunk move.
                all_sizes.append((counts * items + 7) // 8)
                buffers.append(pa.py_buffer(_chunk_bitmaps(bitmap, counts, items)))
        if shape.bits == 1:
            data = _chunk_bitmaps(values.values.data, counts, shape.items[-1])
        else:
            data = values.values.octets()
        table = np.stack([*all_sizes, sizes]) if all_sizes else sizes[None]
        return Encoded(encoding, (*buffers, pa.py_buffer(data)), table, counts)

    def take(
        self,
        message: FixedSizeList,
        chunks: MiniBlockChunks,
        at: ChunkPositions,
        context: DecodeContext,
    ) -> Values:
        """See `Codec`."""
        plain = plain_list(message)
        if plain is None:
            return super().take(message, chunks, at, context)
        size, bits = plain
        rows = take_flat(size * bits, chunks.single(), at)
        values = FixedWidth(rows.data, bits, rows.count * size)
        return FixedSizeListValues((None,), values, (size,), rows.count)

    def scalar_at(
        self, message: FixedSizeList, place: Place, context: DecodeContext, depth: int
    ) -> ScalarAt | None:
        """See `Codec`."""
        is_plain = place is Place.PER_VALUE and plain_list(message) is not None
        return whole_value if is_plain else None


def plain_list(message: FixedSizeList) -> tuple[int, int] | None:
    """List size and bits per item; None if lists have nulls or nested lists."""
    shape = _shape(message)
    if len(shape.dimensions) > 1 or any(shape.nullable) or shape.bits % 8 or not shape.bits:
        return None
    return shape.dimensions[0], shape.bits


def _decode_rows(shape: _Shape, source: PerValue) -> FixedSizeListValues:
    payload, count = source.payload, source.count
    if not isinstance(payload, FixedWidth):
        raise CorruptFileError("fixed-size lists are stored in values of variable width")
    widths = _row_widths(shape)
    if sum(widths) * 8 != payload.bits:
        raise CorruptFileError(
            f"fixed-size lists of {sum(widths)} bytes are stored in values of {payload.bits} bits"
        )
    rows = payload.octets().reshape(count, sum(widths))
    validity: list[pa.Buffer | None] = []
    at = 0
    for items, nullable in zip(shape.items, shape.nullable, strict=True):
        part = rows[:, at : at + (items + 7) // 8]
        validity.append(pa.py_buffer(_dense(part, items)) if nullable else None)
        at += part.shape[1] if nullable else 0
    total = count * shape.items[-1]
    octets = np.ascontiguousarray(rows[:, at:])
    if shape.bits == 1:
        octets = _dense(octets, shape.items[-1])
    values = FixedWidth(pa.py_buffer(octets.reshape(-1)), shape.bits, total)
    return FixedSizeListValues(tuple(validity), values, shape.dimensions, count)


def _row_widths(shape: _Shape) -> list[int]:
    """Bytes of one outermost list: of each bitmap, then of the values."""
    bitmaps = [
        (items + 7) // 8
        for items, nullable in zip(shape.items, shape.nullable, strict=True)
        if nullable
    ]
    return [*bitmaps, (shape.items[-1] * shape.bits + 7) // 8]


def _dense(rows: Octets, bits: int) -> Octets:
    """The first ``bits`` bits of each row, concatenated to one bitmap."""
    if bits % 8 == 0:
        return np.ascontiguousarray(rows).reshape(-1)
    unpacked = np.unpackbits(np.ascontiguousarray(rows), axis=1, bitorder="little", count=bits)
    return np.packbits(unpacked.reshape(-1), bitorder="little")


def _by_row(bitmap: pa.Buffer, rows: int, bits: int) -> Octets:
    """Cut a bitmap into rows of ``bits`` bits, each padded to whole bytes."""
    octets = np.frombuffer(bitmap, np.uint8, (rows * bits + 7) // 8)
    unpacked = np.unpackbits(octets, bitorder="little", count=rows * bits)
    return np.packbits(unpacked.reshape(rows, bits), axis=1, bitorder="little")


def _chunk_bitmaps(bitmap: pa.Buffer, counts: Int64Array, items: int) -> Octets:
    """``bitmap``, padded to whole bytes at the end of each chunk of ``counts`` lists."""
    if not len(counts):
        return np.empty(0, np.uint8)
    whole = int(counts[0])
    full = int((counts == whole).sum())
    first = _by_row(bitmap, full, whole * items).reshape(-1) if whole else np.empty(0, np.uint8)
    if full == len(counts):
        return first
    total = int(counts.sum()) * items
    octets = np.frombuffer(bitmap, np.uint8, (total + 7) // 8)
    rest = np.unpackbits(octets, bitorder="little", count=total)[full * whole * items :]
    return np.concatenate([first, np.packbits(rest, bitorder="little")])


def _encode_rows(values: FixedSizeListValues, shape: _Shape) -> FixedWidth:
    count = values.count
    parts = [
        _by_row(bitmap, count, items)
        for bitmap, items in zip(values.validity, shape.items, strict=True)
        if bitmap is not None
    ]
    if shape.bits == 1:
        parts.append(_by_row(values.values.data, count, shape.items[-1]))
    else:
        parts.append(values.values.octets().reshape(count, _row_widths(shape)[-1]))
    rows = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
    return FixedWidth(pa.py_buffer(rows.reshape(-1)), 8 * rows.shape[1], count)
