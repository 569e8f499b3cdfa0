"""Byte k of all values together, for each k (message ``ByteStreamSplit``), chunk by chunk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import ByteStreamSplit, CompressiveEncoding
from lance_core.encodings.codecs.chunks import chunk_bytes, split_sizes
from lance_core.encodings.codecs.flat import flat_encoding, inner_flat
from lance_core.encodings.compressive import Encoded, MiniBlockChunks, Place, not_here
from lance_core.encodings.values import FixedWidth
from lance_core.errors import UnsupportedFeatureError

if TYPE_CHECKING:
    from lance_core.encodings.compressive import Source, Target
    from lance_core.encodings.decoding import DecodeContext
    from lance_core.encodings.values import Values

_VALUES = {32: 1024, 64: 512}


def decode_byte_stream_split(
    message: ByteStreamSplit, source: Source, context: DecodeContext
) -> FixedWidth:
    """`CompressiveDecoder` of ``byte_stream_split``; chunks of one size are turned together."""
    if not isinstance(source, MiniBlockChunks):
        raise not_here("byte_stream_split", source)
    bits = stream_bits(message)
    width, counts = bits // 8, source.single().counts
    octets = np.frombuffer(chunk_bytes(source, 0, counts * width), np.uint8)
    return FixedWidth(pa.py_buffer(_turned(octets, counts, width, True)), bits, source.count)


def stream_bits(message: ByteStreamSplit) -> int:
    """Bits of each value."""
    bits = inner_flat(message.values, "byte streams")
    if bits not in _VALUES:
        raise UnsupportedFeatureError(f"byte streams of values of {bits} bits")
    return bits


def encode_byte_stream_split(values: Values, target: Target) -> Encoded:
    """`CompressiveEncoder` of ``byte_stream_split``, for values of 32 or 64 bits."""
    if target.place is not Place.MINI_BLOCK:
        raise not_here("byte_stream_split", target)
    if not isinstance(values, FixedWidth) or values.bits not in _VALUES:
        raise UnsupportedFeatureError("byte streams of values that are not 32 or 64 bits")
    counts, sizes = split_sizes(values.count, _VALUES[values.bits], values.bits)
    data = _turned(values.octets(), counts, values.bits // 8, False)
    message = ByteStreamSplit(values=flat_encoding(values.bits))
    encoding = CompressiveEncoding(byte_stream_split=message)
    return Encoded(encoding, (pa.py_buffer(data),), sizes[None], counts)


def _turned(octets: np.ndarray, counts: np.ndarray, width: int, join: bool) -> np.ndarray:
    """Streams of chunks as values, or the reverse."""
    result = np.empty(len(octets), np.uint8)
    edges = np.concatenate([np.zeros(1, np.int64), np.flatnonzero(np.diff(counts)) + 1])
    starts = (np.cumsum(counts) - counts) * width
    for first, stop in zip(edges, [*edges[1:], len(counts)], strict=True):
        if stop == first:
            continue
        count, begin = int(counts[first]), int(starts[first])
        end = begin + int(stop - first) * count * width
        shape = (-1, width, count) if join else (-1, count, width)
        if end > begin:
            part = octets[begin:end].reshape(shape).transpose(0, 2, 1)
            result[begin:end].reshape(part.shape)[...] = part
    return result
