"""lz4 or zstd compression around another encoding (message ``General``).

In mini-block pages the first value buffer of each chunk is compressed, in blocks the whole buffer,
in full-zip pages each value separately. See `lance_core.encodings.compression.general` for the
framing.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
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
from lance_core.encodings.arrow.spans import edges_of
from lance_core.encodings.compression.general import compress, decompress, decompress_spans
from lance_core.encodings.decoding import Int64Array
from lance_core.encodings.v2_1.codecs.base import (
    Block,
    Chunk,
    Codec,
    Encoded,
    MiniBlockChunks,
    PerValue,
    Place,
    ScalarAt,
    decode,
    encode,
    scalar_at,
)
from lance_core.encodings.v2_1.codecs.values import VariableWidth
from lance_core.encodings.v2_1.codecs.values_take import downcast_offsets
from lance_core.errors import CorruptFileError, UnsupportedFeatureError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.kernels import Kernels
    from lance_core.encodings.v2_1.codecs.base import Source, Target
    from lance_core.encodings.v2_1.codecs.values import Values

_SCHEMES = {COMPRESSION_ALGORITHM_LZ4: "lz4", COMPRESSION_ALGORITHM_ZSTD: "zstd"}
_NUMBERS = {name: number for number, name in _SCHEMES.items()}


class GeneralCodec(Codec):
    """Compresses the result of the remaining chain with ``target.scheme``."""

    key = "general"

    def decode(self, message: General, source: Source, context: DecodeContext) -> Values:
        """See `Codec`."""
        scheme = scheme_of(message)
        plain: Source
        if isinstance(source, Block):
            plain = replace(source, data=decompress(scheme, source.data))
        elif isinstance(source, MiniBlockChunks):
            plain = _plain_chunks(source, scheme, context.kernels)
        else:
            plain = replace(source, payload=_plain_values(source, scheme, context.kernels))
        return decode(message.values, plain, context)

    def encode(self, values: Values, target: Target) -> Encoded:
        """See `Codec`."""
        return compressed(encode(values, target), target.scheme, target.level)

    def scalar_at(
        self, message: General, place: Place, context: DecodeContext, depth: int
    ) -> ScalarAt | None:
        """See `Codec`."""
        inner, scheme = scalar_at(message.values, place, context, depth), scheme_of(message)
        if inner is None:
            return None

        def value(chunk: Chunk, position: int) -> bytes | memoryview:
            if not chunk.sizes:
                raise CorruptFileError("a compressed chunk has no buffer")
            parts = [chunk.data[a : a + size] for a, size in zip(*chunk[1:3], strict=True)]
            parts[0] = memoryview(decompress(scheme, pa.py_buffer(parts[0])))
            sizes = [len(part) for part in parts]
            starts = list(accumulate(sizes, initial=0))[:-1]
            data = parts[0] if len(parts) == 1 else memoryview(b"".join(parts))
            return inner(Chunk(data, starts, sizes, chunk.total), position)

        return value


def scheme_of(message: General) -> str:
    """The name of the compression scheme."""
    scheme = _SCHEMES.get(message.compression.scheme)
    if scheme is None:
        number = message.compression.scheme
        raise UnsupportedFeatureError(f"compression scheme {number} is not supported")
    return scheme


def _plain_chunks(chunks: MiniBlockChunks, scheme: str, kernels: Kernels) -> MiniBlockChunks:
    """Decompress the first buffer of each chunk; the other buffers are appended unchanged."""
    if not chunks.num_buffers:
        raise CorruptFileError("a compressed chunk has no buffer")
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
        raise CorruptFileError("compressed blocks contain values of fixed width")
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
    """Decompress the values at ascending ``spans`` of ``data``; spans may be empty."""
    starts, lengths = spans[0], spans[1] - spans[0]
    # A null value has an empty span, which is not a compressed buffer.
    filled = np.flatnonzero(lengths)
    plain, sizes = decompress_spans(scheme, data, starts[filled], lengths[filled], kernels)
    ends = np.zeros(len(lengths), np.int64)
    ends[filled] = sizes
    offsets = edges_of(ends)
    return VariableWidth(downcast_offsets(offsets, offset_bits), plain)


def compressed(inner: Encoded, scheme: str, level: int | None) -> Encoded:
    """``inner`` compressed by ``scheme``, even if that takes more bytes.

    Two kinds of values stay uncompressed: data with a compression ratio that a reader would reject
    as a decompression bomb, and fixed-width values in a full-zip page. Raises
    `UnsupportedFeatureError` for an unknown scheme.
    """
    payload = inner.payload
    if payload is None and not inner.buffers:
        return inner
    outer = _message(inner.encoding, scheme, level)
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
    data = parts[0] if len(parts) == 1 else pa.py_buffer(b"".join(parts))
    return Encoded(outer, (data, *inner.buffers[1:]), sizes, inner.counts)


def compressed_blocks(
    encoding: CompressiveEncoding, blocks: Sequence[pa.Buffer], scheme: str
) -> list[tuple[CompressiveEncoding, pa.Buffer]]:
    """Each of the ``blocks`` of ``encoding`` as `compressed` stores it, and what encodes it."""
    outer = _message(encoding, scheme, None)
    stored = []
    for block in blocks:
        part = compress(scheme, None, block)
        stored.append((encoding, block) if part is None else (outer, part))
    return stored


def _message(inner: CompressiveEncoding, scheme: str, level: int | None) -> CompressiveEncoding:
    how = BufferCompression(scheme=_number(scheme), level=level)
    return CompressiveEncoding(general=General(compression=how, values=inner))


def _number(scheme: str) -> CompressionScheme.ValueType:
    if scheme not in _NUMBERS:
        raise UnsupportedFeatureError(f"compression {scheme!r} is not supported")
    return _NUMBERS[scheme]


def _parts(
    scheme: str, level: int | None, data: pa.Buffer, sizes: Int64Array
) -> list[pa.Buffer] | None:
    """Each part compressed separately; None if any part must stay uncompressed."""
    parts, start = [], 0
    for size in sizes.tolist():
        part = compress(scheme, level, data.slice(start, size))
        if part is None:
            return None
        parts.append(part)
        start += size
    return parts
