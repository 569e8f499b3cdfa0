"""Structs of fixed-width children, stored row by row (message ``PackedStruct``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import CompressiveEncoding, PackedStruct
from lance_core.encodings.v2_1.codecs.base import (
    ChunkPositions,
    Codec,
    MiniBlockChunks,
    Place,
    decode,
    encode,
    take,
    unsupported_placement,
)
from lance_core.encodings.v2_1.codecs.values import FixedWidth, StructValues, as_fixed
from lance_core.errors import CorruptFileError, UnsupportedFeatureError

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.v2_1.codecs.base import Encoded, Source, Target
    from lance_core.encodings.v2_1.codecs.values import Values


class PackedStructCodec(Codec):
    """Packs the children of each struct into one row; the remaining chain stores the rows."""

    key = "packed_struct"

    def decode(self, message: PackedStruct, source: Source, context: DecodeContext) -> StructValues:
        """See `Codec`."""
        if not isinstance(source, MiniBlockChunks):
            raise unsupported_placement("packed_struct", source)
        return _split_rows(message, as_fixed(decode(message.values, source, context)))

    def encode(self, values: Values, target: Target) -> Encoded:
        """See `Codec`."""
        if target.place is not Place.MINI_BLOCK:
            raise unsupported_placement("packed_struct", target)
        if not isinstance(values, StructValues) or not values.children:
            raise UnsupportedFeatureError("packed struct encoding needs structs")
        columns, widths = [], []
        for child in values.children:
            if not isinstance(child, FixedWidth) or not child.bits or child.bits % 8:
                raise UnsupportedFeatureError(
                    "packed struct encoding of children that do not have whole bytes"
                )
            columns.append(child.octets().reshape(values.count, child.bits // 8))
            widths.append(child.bits)
        rows = np.concatenate(columns, axis=1).reshape(-1)
        inner = encode(FixedWidth(pa.py_buffer(rows), sum(widths), values.count), target)
        message = PackedStruct(bits_per_value=widths, values=inner.encoding)
        return inner.within(CompressiveEncoding(packed_struct=message))

    def take(
        self,
        message: PackedStruct,
        chunks: MiniBlockChunks,
        at: ChunkPositions,
        context: DecodeContext,
    ) -> StructValues:
        """See `Codec`."""
        return _split_rows(message, as_fixed(take(message.values, chunks, at, context)))


def _split_rows(message: PackedStruct, rows: FixedWidth) -> StructValues:
    """The children of structs that are stored as ``rows``."""
    widths = list(message.bits_per_value)
    if not widths or not all(widths):
        raise CorruptFileError(
            f"the children of a packed struct have invalid widths: {widths} bits"
        )
    if any(bits % 8 for bits in widths):
        raise UnsupportedFeatureError(
            f"the children of a packed struct must have whole bytes, got {widths} bits"
        )
    if rows.bits != sum(widths):
        raise CorruptFileError(
            f"the children of a packed struct have {sum(widths)} bits together, but the struct has "
            f"{rows.bits}"
        )
    octets = rows.octets().reshape(rows.count, rows.bits // 8)
    children, at = [], 0
    for bits in widths:
        child = np.ascontiguousarray(octets[:, at : at + bits // 8]).reshape(-1)
        children.append(FixedWidth(pa.py_buffer(child), bits, rows.count))
        at += bits // 8
    return StructValues(tuple(children), rows.count)
