"""Structs with children of any width, stored value by value (message ``VariablePackedStruct``).

A value of a full-zip page has its children in order: a fixed-width child as its bytes, any other
child as its length and its bytes. Each child may be compressed, value by value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import CompressiveEncoding, VariablePackedStruct
from lance_core.encodings.arrow.coalesced_take import MAX_OFFSET
from lance_core.encodings.arrow.spans import edges_of
from lance_core.encodings.decoding import Int64Array, Offsets
from lance_core.encodings.v2_1.codecs.base import (
    Codec,
    Encoded,
    PerValue,
    Place,
    decode,
    encode,
    unsupported_placement,
)
from lance_core.encodings.v2_1.codecs.values import (
    FixedSizeListValues,
    FixedWidth,
    StructValues,
    VariableWidth,
)
from lance_core.encodings.version import FileVersion
from lance_core.errors import CorruptFileError, UnsupportedFeatureError

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.v2_1.codecs.base import Source, Target
    from lance_core.encodings.v2_1.codecs.values import Values

_KEYS: dict[type, str] = {
    VariableWidth: "variable",
    FixedSizeListValues: "fixed_size_list",
}
_Field = VariablePackedStruct.FieldEncoding


class VariablePackedStructCodec(Codec):
    """Stores the children of each struct in order; writes flat, variable and list children."""

    key = "variable_packed_struct"
    min_file_version = FileVersion.V2_2

    def decode(
        self, message: VariablePackedStruct, source: Source, context: DecodeContext
    ) -> StructValues:
        """See `Codec`."""
        if not isinstance(source, PerValue):
            raise unsupported_placement("variable_packed_struct", source)
        payload, count = source.payload, source.count
        if not isinstance(payload, VariableWidth):
            raise CorruptFileError("a packed struct of fixed width has children of variable width")
        octets = payload.octets()
        offsets = payload.offsets.astype(np.int64)
        at, ends = offsets[:-1], offsets[1:]
        children = []
        for field in message.fields:
            inner, at = _field(field, octets, (at, ends), context)
            children.append(decode(field.value, PerValue(inner, source.depth), context))
        if not children or (at != ends).any():
            raise CorruptFileError("a packed struct is longer than its children")
        return StructValues(tuple(children), count)

    def encode(self, values: Values, target: Target) -> Encoded:
        """See `Codec`."""
        if target.place is not Place.PER_VALUE:
            raise unsupported_placement("variable_packed_struct", target)
        if not isinstance(values, StructValues) or not values.children:
            raise UnsupportedFeatureError("packed struct encoding needs structs")
        children = [
            encode(child, target.with_chain(_KEYS.get(type(child), "flat")))
            for child in values.children
        ]
        return packed_per_value(children, values.count)


def _field(
    field: _Field,
    octets: npt.NDArray[np.uint8],
    spans: tuple[Int64Array, Int64Array],
    context: DecodeContext,
) -> tuple[FixedWidth | VariableWidth, Int64Array]:
    """The values of a child that starts ``at`` in each struct, and the starts of the next child."""
    at, ends = spans
    kind = field.WhichOneof("layout")
    if kind == "bits_per_value":
        bits = field.bits_per_value
        if bits % 8 or bits > 1 << 35 or (len(at) and bits // 8 > len(octets)):
            raise CorruptFileError(f"{len(octets)} bytes cannot hold a packed child of {bits} bits")
        stops = at + bits // 8
        return FixedWidth(_gather(octets, (at, stops), ends, context), bits, len(at)), stops
    if kind != "bits_per_length" or field.bits_per_length not in (8, 16, 32, 64):
        raise CorruptFileError("the width of a packed child is missing")
    width = field.bits_per_length // 8
    begins = at + width
    prefixes = np.frombuffer(_gather(octets, (at, begins), ends, context), f"<u{width}", len(at))
    if (prefixes > len(octets)).any():
        raise CorruptFileError("a packed child is longer than all values together")
    lengths = prefixes.astype(np.int64)
    data = _gather(octets, (begins, begins + lengths), ends, context)
    offsets: Offsets = edges_of(lengths)
    if width <= 4 and offsets[-1] <= MAX_OFFSET:
        offsets = offsets.astype(np.int32)
    return VariableWidth(offsets, data), begins + lengths


def _gather(
    octets: npt.NDArray[np.uint8],
    spans: tuple[Int64Array, Int64Array],
    ends: Int64Array,
    context: DecodeContext,
) -> pa.Buffer:
    if (spans[1] > ends).any():
        raise CorruptFileError("a packed struct is shorter than its children")
    return context.kernels.gather_variable(octets, *spans)[0]


def packed_per_value(children: Sequence[Encoded], count: int) -> Encoded:
    """Pack ``count`` structs of at least one child; the children are encoded value by value."""
    fields = []
    pieces: list[tuple[npt.NDArray[np.uint8], int | Int64Array]] = []
    for child in children:
        payload = child.payload
        if isinstance(payload, VariableWidth):
            bits = payload.offset_bits
            edges = payload.offsets.astype(np.int64)
            lengths = edges[1:] - edges[:-1]
            pieces.append((lengths.astype(f"<u{bits // 8}").view(np.uint8), bits // 8))
            pieces.append((payload.octets(), lengths))
            fields.append(_Field(value=child.encoding, bits_per_length=bits))
        elif payload is not None:
            pieces.append((payload.octets(), payload.bits // 8))
            fields.append(_Field(value=child.encoding, bits_per_value=payload.bits))
    encoding = CompressiveEncoding(variable_packed_struct=VariablePackedStruct(fields=fields))
    return Encoded.per_value(encoding, _interleaved(count, pieces))


def _interleaved(
    count: int, pieces: list[tuple[npt.NDArray[np.uint8], int | Int64Array]]
) -> VariableWidth:
    """Concatenate for each value its part of each piece; ``pieces`` has (bytes, size per value)."""
    lengths = np.stack([np.broadcast_to(np.asarray(size), count) for _, size in pieces], axis=1)
    flat = lengths.reshape(-1)
    # starts[i, number]: the position in the result of the part of piece ``number`` in value i.
    ends = np.cumsum(flat)
    starts = (ends - flat).reshape(count, len(pieces))
    data = np.empty(int(ends[-1]) if len(ends) else 0, np.uint8)
    for number, (octets, _) in enumerate(pieces):
        sizes = lengths[:, number]
        first = np.cumsum(sizes) - sizes
        data[np.repeat(starts[:, number] - first, sizes) + np.arange(len(octets))] = octets
    offsets: Offsets = edges_of(lengths.sum(axis=1))
    if offsets[-1] <= MAX_OFFSET:
        offsets = offsets.astype(np.int32)
    return VariableWidth(offsets, pa.py_buffer(data))
