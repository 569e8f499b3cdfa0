"""lz4 or zstd around another encoding (message ``General``).

In mini-block pages the first value buffer of each chunk is compressed, in a block all of it, in
full-zip pages each value by itself. See `lance_core.encodings.compression.general` for the framing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import (
    COMPRESSION_ALGORITHM_LZ4,
    COMPRESSION_ALGORITHM_ZSTD,
    BufferCompression,
    CompressionScheme,
    CompressiveEncoding,
    General,
)
from lance_core.encodings.compression.general import compress, decompress, decompress_spans
from lance_core.encodings.decoding import Int64Array
from lance_core.encodings.v2_1.codecs.base import (
    Block,
    Encoded,
    MiniBlockChunks,
    PerValue,
    decode,
    encode,
)
from lance_core.encodings.v2_1.codecs.values import VariableWidth
from lance_core.encodings.v2_1.codecs.values_take import downcast_offsets
from lance_core.errors import CorruptFileError, UnsupportedFeatureError

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.kernels import Kernels
    from lance_core.encodings.v2_1.codecs.base import Source, Target
    from lance_core.encodings.v2_1.codecs.values import Values

_SCHEMES = {COMPRESSION_ALGORITHM_LZ4: "lz4", COMPRESSION_ALGORITHM_ZSTD: "zstd"}
_NUMBERS = {name: number for number, name in _SCHEMES.items()}


def decode_general(message: General, source: Source, context: DecodeContext) -> Values:
    """`CompressiveDecoder` of ``general``."""
    scheme = scheme_of(message)
    plain: Source
    if isinstance(source, Block):
        plain = replace(source, data=decompress(scheme, source.data))
    elif isinstance(source, MiniBlockChunks):
        plain = plain_chunks(source, scheme, context.kernels)
    else:
        plain = replace(source, payload=_plain_values(source, scheme, context.kernels))
    return decode(message.values, plain, context)


def scheme_of(message: General) -> str:
    """The name of the compression."""
    scheme = _SCHEMES.get(message.compression.scheme)
    if scheme is None:
        number = message.compression.scheme
        raise UnsupportedFeatureError(f"compression scheme {number} is not supported")
    return scheme


def plain_chunks(chunks: MiniBlockChunks, scheme: str, kernels: Kernels) -> MiniBlockChunks:
    """The first buffers decompressed, and behind them what the page had of the others."""
    if not chunks.num_buffers:
        raise CorruptFileError("compressed chunks without a buffer")
    plain, sizes = decompress_spans(scheme, chunks.data, chunks.starts[0], chunks.sizes[0], kernels)
    octets = np.frombuffer(plain, np.uint8)
    starts = np.cumsum(sizes) - sizes
    others = chunks.starts[1:]
    if len(others):
        others = others + len(octets)
        octets = np.concatenate([octets, chunks.data])
    return replace(
        chunks,
        data=octets,
        starts=np.concatenate([starts[None], others]),
        sizes=np.concatenate([sizes[None], chunks.sizes[1:]]),
    )


def _plain_values(source: PerValue, scheme: str, kernels: Kernels) -> VariableWidth:
    payload = source.payload
    if not isinstance(payload, VariableWidth):
        raise CorruptFileError("compressed values of a fixed width")
    offsets = payload.offsets.astype(np.int64)
    spans = offsets[:-1], offsets[1:]
    return plain_spans(scheme, payload.octets(), spans, payload.offset_bits, kernels)


def plain_spans(
    scheme: str,
    data: npt.NDArray[np.uint8],
    spans: tuple[Int64Array, Int64Array],
    offset_bits: int,
    kernels: Kernels,
) -> VariableWidth:
    """Values whose compressed bytes are at ascending ``spans`` of ``data``, some of no bytes."""
    starts, lengths = spans[0], spans[1] - spans[0]
    # A value that is null has no bytes, and none that are compressed.
    some = np.flatnonzero(lengths)
    plain, sizes = decompress_spans(scheme, data, starts[some], lengths[some], kernels)
    ends = np.zeros(len(lengths), np.int64)
    ends[some] = sizes
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(ends)])
    return VariableWidth(downcast_offsets(offsets, offset_bits), plain)


def encode_general(values: Values, target: Target) -> Encoded:
    """`CompressiveEncoder` of ``general``, by ``target.scheme`` around the rest of the chain."""
    return compressed(encode(values, target), target.scheme, target.level)


def compressed(inner: Encoded, scheme: str, level: int | None) -> Encoded:
    """``inner`` compressed by ``scheme``, also where that takes more bytes.

    What compresses so well that a reader could take it for a bomb is left as it is; so are values
    of a fixed width in a full-zip page. Raises `UnsupportedFeatureError` for another scheme.
    """
    payload = inner.payload
    if payload is None and not inner.buffers:
        return inner
    how = BufferCompression(scheme=_number(scheme), level=level)
    outer = CompressiveEncoding(general=General(compression=how, values=inner.encoding))
    if payload is not None:
        if not isinstance(payload, VariableWidth):
            return inner
        parts = _parts(scheme, level, payload.data, np.diff(payload.offsets))
        if parts is None:
            return inner
        ends = np.cumsum([0, *(part.size for part in parts)])
        stored = VariableWidth(
            downcast_offsets(ends, payload.offset_bits), pa.py_buffer(b"".join(parts))
        )
        return Encoded.per_value(outer, stored)
    parts = _parts(scheme, level, inner.buffers[0], inner.sizes[0])
    if parts is None:
        return inner
    sizes = inner.sizes.copy()
    sizes[0] = [part.size for part in parts]
    buffers = (pa.py_buffer(b"".join(parts)), *inner.buffers[1:])
    return Encoded(outer, buffers, sizes, inner.counts)


def _number(scheme: str) -> CompressionScheme.ValueType:
    if scheme not in _NUMBERS:
        raise UnsupportedFeatureError(f"compression {scheme!r} is not supported")
    return _NUMBERS[scheme]


def _parts(
    scheme: str, level: int | None, data: pa.Buffer, sizes: Int64Array
) -> list[pa.Buffer] | None:
    """Each part compressed by itself; None if one of them cannot be."""
    parts, start = [], 0
    for size in sizes.tolist():
        part = compress(scheme, level, data.slice(start, size))
        if part is None:
            return None
        parts.append(part)
        start += size
    return parts
