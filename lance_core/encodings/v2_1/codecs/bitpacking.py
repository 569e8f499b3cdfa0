"""Integers in few bits, in the FastLanes order (`lance_core.encodings.kernels.numpy.bitpacking`).

Inline (message ``InlineBitpacking``): a chunk of up to 1024 values is a word with the packed width,
then the packed values, padded with zeros to 1024; words are as wide as values before packing. Out
of line (``OutOfLineBitpacking``): one width for a block, stated in the message; blocks of 1024
values, and the rest packed like one, or as it is where that takes no more bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import (
    CompressiveEncoding,
    InlineBitpacking,
    OutOfLineBitpacking,
)
from lance_core.encodings.decoding import Int64Array
from lance_core.encodings.kernels.numpy.bitpacking import CHUNK, WIDTHS, packed_bytes
from lance_core.encodings.v2_1.codecs.base import (
    MAX_UNBACKED_BYTES,
    Block,
    Encoded,
    PerValue,
    Place,
    unsupported_placement,
)
from lance_core.encodings.v2_1.codecs.chunks import split_sizes
from lance_core.encodings.v2_1.codecs.flat import flat_encoding, inner_flat
from lance_core.encodings.v2_1.codecs.values import FixedWidth, Words
from lance_core.errors import CorruptFileError, UnsupportedFeatureError

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.kernels import Kernels
    from lance_core.encodings.v2_1.codecs.base import Source, Target
    from lance_core.encodings.v2_1.codecs.values import Values


def decode_inline(message: InlineBitpacking, source: Source, context: DecodeContext) -> FixedWidth:
    """`CompressiveDecoder` of ``inline_bitpacking``: all chunks are unpacked together."""
    if isinstance(source, PerValue):
        raise unsupported_placement("inline_bitpacking", source)
    if message.HasField("values"):
        raise UnsupportedFeatureError("packed values that are compressed themselves")
    bits = _bits(message.uncompressed_bits_per_value)
    chunks = source.as_chunk() if isinstance(source, Block) else source.single()
    starts, sizes = chunks.starts[0], chunks.sizes[0]
    return FixedWidth.of(
        context.kernels.unpack_inline(chunks.data, starts, sizes, chunks.counts, bits)
    )


def decode_out_of_line(
    message: OutOfLineBitpacking, source: Source, context: DecodeContext
) -> FixedWidth:
    """`CompressiveDecoder` of ``out_of_line_bitpacking``, which occurs in blocks only."""
    if not isinstance(source, Block):
        raise unsupported_placement("out_of_line_bitpacking", source)
    bits = _bits(message.uncompressed_bits_per_value)
    width = inner_flat(message.values, "packed values", any_width=True)
    if width > bits or (width == 0 and source.count * bits > 8 * MAX_UNBACKED_BYTES):
        raise CorruptFileError(f"{source.count} values of {bits} bits packed to {width}")
    whole, rest = divmod(source.count, CHUNK)
    octets = np.frombuffer(source.data, np.uint8)
    body, raw = whole * packed_bytes(width), rest * bits // 8
    tail = len(octets) - body
    if tail < 0 or tail not in (raw, packed_bytes(width) if rest else 0):
        raise CorruptFileError(f"{source.count} packed values in {len(octets)} bytes")
    plain = context.kernels.unpack_fastlanes(octets[:body], width, bits, whole)
    if not rest:
        return FixedWidth.of(plain)
    if tail == raw:
        last = np.frombuffer(octets[body:].tobytes(), plain.dtype)
    else:
        last = context.kernels.unpack_fastlanes(octets[body:], width, bits, 1)[:rest]
    return FixedWidth.of(np.concatenate([plain, last]))


def encode_inline(values: Values, target: Target) -> Encoded:
    """`CompressiveEncoder` of ``inline_bitpacking``: each chunk as narrow as its largest value."""
    if target.place is Place.PER_VALUE:
        raise unsupported_placement("inline_bitpacking", target)
    words = _integers(values)
    bits = words.itemsize * 8
    if target.place is Place.BLOCK and len(words) > CHUNK:
        raise UnsupportedFeatureError(f"a block of more than {CHUNK} packed values")
    counts, _ = split_sizes(len(words), CHUNK, bits)
    packed, sizes = target.kernels.pack_inline(words)
    encoding = CompressiveEncoding(
        inline_bitpacking=InlineBitpacking(uncompressed_bits_per_value=bits)
    )
    return Encoded(encoding, (pa.py_buffer(packed),), sizes[None], counts)


def encode_out_of_line(values: Values, target: Target) -> Encoded:
    """`CompressiveEncoder` of ``out_of_line_bitpacking``: all as narrow as the largest value."""
    if target.place is not Place.BLOCK:
        raise unsupported_placement("out_of_line_bitpacking", target)
    words = _integers(values)
    bits = words.itemsize * 8
    width = max(target.packed_bits, int(words.max()).bit_length() if len(words) else 0)
    if width > bits:
        raise UnsupportedFeatureError(f"values of {bits} bits packed to {width}")
    rest = len(words) % CHUNK
    if packs_tail(width, bits, rest):
        octets = target.kernels.pack_fastlanes(_padded(words), width)
    else:
        whole = len(words) - rest
        packed = target.kernels.pack_fastlanes(words[:whole], width)
        octets = np.concatenate([packed, words[whole:].view(np.uint8)])
    packing = OutOfLineBitpacking(uncompressed_bits_per_value=bits, values=flat_encoding(width))
    encoding = CompressiveEncoding(out_of_line_bitpacking=packing)
    return Encoded.block(encoding, pa.py_buffer(octets), len(words))


def packed_levels(words: Words, counts: Int64Array, kernels: Kernels) -> Encoded:
    """A block for each ``counts`` of the words, all packed out of line to one width."""
    bits, width = words.itemsize * 8, int(words.max()).bit_length()
    whole, rest = np.divmod(counts, CHUNK)
    is_packed = packs_tail(width, bits, rest) & (rest > 0)
    units = whole + is_packed
    raw = np.where(is_packed, 0, rest) * words.itemsize
    packed = units * packed_bytes(width)
    sizes = packed + raw
    if not rest[:-1].any() and (not rest.size or is_packed[-1] or not rest[-1]):
        data = kernels.pack_fastlanes(_padded(words) if rest.any() else words, width)
    else:
        begins, taken = np.cumsum(counts) - counts, np.minimum(units * CHUNK, counts)
        spread = np.zeros(int(units.sum()) * CHUNK, words.dtype)
        firsts = (np.cumsum(units) - units) * CHUNK
        spread[_spans(firsts, taken)] = words[_spans(begins, taken)]
        data = np.empty(int(sizes.sum()), np.uint8)
        is_raw = np.repeat(np.tile([False, True], len(counts)), np.stack([packed, raw], 1).ravel())
        data[~is_raw] = kernels.pack_fastlanes(spread, width)
        data[is_raw] = words[_spans(begins + taken, counts - taken)].view(np.uint8)
    packing = OutOfLineBitpacking(uncompressed_bits_per_value=bits, values=flat_encoding(width))
    encoding = CompressiveEncoding(out_of_line_bitpacking=packing)
    return Encoded(encoding, (pa.py_buffer(data),), sizes[None], counts)


def _spans(starts: Int64Array, lengths: Int64Array) -> Int64Array:
    """The numbers of all spans, which start there."""
    before = np.cumsum(lengths) - lengths
    indices: Int64Array = np.repeat(starts - before, lengths) + np.arange(lengths.sum())
    return indices


@overload
def packs_tail(width: int, bits: int, rest: int) -> bool: ...
@overload
def packs_tail(width: int, bits: int, rest: Int64Array) -> npt.NDArray[np.bool_]: ...
def packs_tail(width: int, bits: int, rest: int | Int64Array) -> bool | npt.NDArray[np.bool_]:
    """Whether the last ``rest`` values, below 1024, take fewer bits when packed like 1024."""
    return width * (CHUNK - rest) < (bits - width) * rest


def _bits(bits: int) -> int:
    if bits not in WIDTHS:
        raise CorruptFileError(f"packed values of {bits} bits")
    return bits


def _integers(values: Values) -> Words:
    if not isinstance(values, FixedWidth) or values.bits not in WIDTHS:
        raise UnsupportedFeatureError("bitpacking of values that are not integers")
    return values.words()


def _padded(words: Words) -> Words:
    """With zeros up to whole chunks, at least one."""
    missing = -len(words) % CHUNK if len(words) else CHUNK
    return np.concatenate([words, np.zeros(missing, words.dtype)]) if missing else words
