"""Values of variable width (message ``Variable``): offsets, then bytes.

A chunk of a mini-block page has offsets that count from the start of its buffer, of 4 or 8 bytes
each, then the bytes, then 0x48 up to a multiple of the offsets' width. A block starts with two
words: the bits of an offset and where the bytes begin; its offsets count from 0. Words of a block
are as wide as its offsets. In full-zip pages there are only the bytes.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import CompressiveEncoding, Variable
from lance_core.encodings.codecs.chunks import chunk_bytes, spans
from lance_core.encodings.codecs.flat import flat_encoding, inner_flat
from lance_core.encodings.compressive import Block, Encoded, MiniBlockChunks, PerValue, Place
from lance_core.encodings.decoding import Int64Array
from lance_core.encodings.gather import MAX_OFFSET
from lance_core.encodings.values import Offsets, VariableWidth
from lance_core.errors import CorruptFileError, UnsupportedFeatureError

if TYPE_CHECKING:
    from lance_core.encodings.compressive import Source, Target
    from lance_core.encodings.decoding import DecodeContext
    from lance_core.encodings.values import Values

_MOST_VALUES = 2048
_PADDING = 0x48


def decode_variable(message: Variable, source: Source, context: DecodeContext) -> VariableWidth:
    """`CompressiveDecoder` of ``variable``."""
    if message.HasField("values"):
        raise UnsupportedFeatureError("values of variable width that are compressed themselves")
    if isinstance(source, PerValue):
        if not isinstance(source.payload, VariableWidth):
            raise CorruptFileError("values of variable width in a fixed one")
        return source.payload
    bits = offset_bits(message)
    if isinstance(source, Block):
        return _decode_block(source, bits // 8)
    return _decode_chunks(source.single(), bits // 8)


def offset_bits(message: Variable) -> int:
    """Bits of an offset: 32 or 64."""
    bits = inner_flat(message.offsets, "offsets")
    if bits not in (32, 64):
        raise CorruptFileError(f"offsets of {bits} bits", field="Variable.offsets")
    return bits


def _decode_chunks(chunks: MiniBlockChunks, width: int) -> VariableWidth:
    counts, sizes = chunks.counts, chunks.sizes[0]
    if not len(counts):
        return VariableWidth(np.zeros(1, np.int32), pa.py_buffer(b""))
    if counts.max() >= len(chunks.data):
        raise CorruptFileError("a chunk has fewer bytes than the offsets of its values")
    heads = (counts + 1) * width
    stored = np.frombuffer(chunk_bytes(chunks, 0, heads), f"<u{width}").astype(np.int64)
    ends = np.cumsum(counts + 1)
    last = stored[ends - 1]
    first = stored[ends - counts - 1]
    steps = np.diff(stored)
    steps[ends[:-1] - 1] = 0
    if (first != heads).any() or (last > sizes).any() or (steps < 0).any() or last.min() < 0:
        raise CorruptFileError("the offsets of a chunk do not ascend within it", field="Variable")
    lengths = last - first
    shift = np.cumsum(lengths) - lengths - first
    offsets = stored + np.repeat(shift, counts + 1)
    offsets = np.delete(offsets, ends[:-1] - 1)
    starts = chunks.starts[0]
    data = spans(chunks.data, starts + first, starts + last)
    return VariableWidth(_narrow(offsets, width), data)


def _decode_block(block: Block, width: int) -> VariableWidth:
    octets = np.frombuffer(block.data, np.uint8)
    head = (block.count + 3) * width
    if head > len(octets):
        raise CorruptFileError(f"{len(octets)} bytes for {block.count} values of variable width")
    words: npt.NDArray[np.unsignedinteger] = np.frombuffer(octets, f"<u{width}", block.count + 3)
    if words[0] != 8 * width or words[1] != head:
        raise CorruptFileError(f"a block of values starts with {words[0]}, {words[1]}")
    data = block.data.slice(head)
    if int(words[-1]) > data.size:
        raise CorruptFileError(f"a value ends at byte {words[-1]} of {data.size}")
    return VariableWidth.checked(_narrow(words[2:], width), data)


def _narrow(offsets: npt.NDArray[np.integer], width: int) -> Offsets:
    """As int32 if they came as such and fit."""
    if width == 4 and offsets[-1] <= MAX_OFFSET:
        return offsets.astype(np.int32)
    return offsets.astype(np.int64)


def encode_variable(values: Values, target: Target) -> Encoded:
    """`CompressiveEncoder` of ``variable``; offsets are stored as wide as they come."""
    if not isinstance(values, VariableWidth):
        raise UnsupportedFeatureError("variable encoding of values of a fixed width")
    bits = values.offset_bits
    encoding = CompressiveEncoding(variable=Variable(offsets=flat_encoding(bits)))
    if target.place is Place.PER_VALUE:
        return Encoded.per_value(encoding, values)
    offsets, width = values.offsets.astype(np.int64), bits // 8
    if target.place is Place.BLOCK:
        head = np.concatenate([[bits, (values.count + 3) * width], offsets])
        data = np.concatenate([head.astype(f"<u{width}").view(np.uint8), values.octets()])
        return Encoded.block(encoding, pa.py_buffer(data), values.count)
    return _encode_chunks(values, encoding, target.chunk_bytes)


def _encode_chunks(values: VariableWidth, encoding: CompressiveEncoding, limit: int) -> Encoded:
    width, octets = values.offset_bits // 8, values.octets()
    offsets = values.offsets
    edges = _edges(offsets, width, limit)
    starts, stops = edges[:-1], edges[1:]
    heads = (stops - starts + 1) * width
    lengths = offsets[stops].astype(np.int64) - offsets[starts]
    sizes = -(-(heads + lengths) // width) * width
    ends = np.cumsum(sizes)
    data = np.full(int(ends[-1]), _PADDING, np.uint8)
    words = data.view(offsets.dtype)
    spans = zip(starts.tolist(), stops.tolist(), (ends - sizes).tolist(), strict=True)
    for start, stop, place in spans:
        head = (stop - start + 1) * width
        first, last = offsets[start], offsets[stop]
        own = words[place // width : (place + head) // width]
        np.add(offsets[start : stop + 1], head - first, out=own)
        data[place + head : place + head + last - first] = octets[first:last]
    return Encoded(encoding, (pa.py_buffer(data),), sizes[None], stops - starts)


def _edges(offsets: Offsets, width: int, limit: int) -> Int64Array:
    """The first value of each chunk, then the number of values.

    A chunk doubles from two values on as long as its offsets and bytes are at most ``limit``; the
    last one may have any number of values.
    """
    count, edges = len(offsets) - 1, [0]
    # What chunks from the first value on would take, but for their last offset.
    ends = offsets + np.arange(count + 1, dtype=np.int64) * width
    while edges[-1] < count:
        start = edges[-1]
        most = int(ends[start]) + limit - width
        fit = bisect_right(ends, most, start, min(start + 2 * _MOST_VALUES, count + 1)) - 1 - start
        left = count - start
        if left <= 2 or (left <= fit and left < 2 * _MOST_VALUES):
            size = left
        else:
            size = max(2, 1 << (min(fit, _MOST_VALUES).bit_length() - 1)) if fit > 0 else 2
        edges.append(start + size)
    return np.array(edges if count else [0, 0], np.int64)
