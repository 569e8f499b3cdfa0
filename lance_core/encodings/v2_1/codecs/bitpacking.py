"""Bit-packed integers in FastLanes order (`lance_core.encodings.kernels.numpy.bitpacking`).

Inline (message ``InlineBitpacking``): a chunk of up to 1024 values is a word with the packed width,
then the packed values, padded with zeros to 1024. The word has the width of an unpacked value. Out
of line (``OutOfLineBitpacking``): the message states one width for the whole block. The block has
packed units of 1024 values. The remaining values are packed as a unit, or raw if that is not
larger.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
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
from lance_core.encodings.kernels.numpy.bitpacking import (
    CHUNK,
    WIDTHS,
    packed_bytes,
)
from lance_core.encodings.kernels.numpy.single_packed import rows_and_lanes
from lance_core.encodings.v2_1.codecs.base import (
    MAX_UNBACKED_BYTES,
    Block,
    Chunk,
    ChunkPositions,
    Codec,
    Encoded,
    MiniBlockChunks,
    PerValue,
    Place,
    ScalarAt,
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


Octets = npt.NDArray[np.uint8]

_FEW_BLOCKS = 8
"""Most blocks that are packed one by one: numpy takes longer to arrange so few as one."""


class InlineBitpackingCodec(Codec):
    """Packs each chunk to the width of its largest value; unpacks all chunks with one call."""

    key = "inline_bitpacking"

    def decode(
        self, message: InlineBitpacking, source: Source, context: DecodeContext
    ) -> FixedWidth:
        """See `Codec`."""
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

    def encode(self, values: Values, target: Target) -> Encoded:
        """See `Codec`."""
        if target.place is Place.PER_VALUE:
            raise unsupported_placement("inline_bitpacking", target)
        words = _integers(values)
        bits = words.itemsize * 8
        if target.place is Place.BLOCK and len(words) > CHUNK:
            raise UnsupportedFeatureError(f"a block has more than {CHUNK} packed values")
        counts, _ = split_sizes(len(words), CHUNK, bits)
        packed, sizes = target.kernels.pack_inline(words)
        return Encoded(inline_encoding(bits), (pa.py_buffer(packed),), sizes[None], counts)

    def take(
        self,
        message: InlineBitpacking,
        chunks: MiniBlockChunks,
        at: ChunkPositions,
        context: DecodeContext,
    ) -> FixedWidth:
        """See `Codec`."""
        bits, chunk = message.uncompressed_bits_per_value, chunks.single()
        if bits not in WIDTHS or message.HasField("values"):
            raise UnsupportedFeatureError(f"packed values cannot have {bits} bits")
        span = chunk.starts[0], chunk.sizes[0], chunk.counts
        return FixedWidth.of(context.kernels.pick_inline(chunk.data, *span, at.packed, bits))

    def scalar_at(
        self, message: InlineBitpacking, place: Place, context: DecodeContext, depth: int
    ) -> ScalarAt | None:
        """See `Codec`."""
        bits = message.uncompressed_bits_per_value
        if place is Place.PER_VALUE or bits not in WIDTHS or message.HasField("values"):
            return None
        word = bits // 8

        def value(chunk: Chunk, position: int) -> bytes:
            chunk.check_size(word)
            start = chunk.starts[0]
            width = int.from_bytes(chunk.data[start : start + word], "little")
            if width > bits or position >= CHUNK:
                raise CorruptFileError(f"values of {bits} bits cannot be packed to {width} bits")
            chunk.check_size(word + packed_bytes(width))
            return _unpacked(chunk.data, start + word, width, bits, position)

        return value


class OutOfLineBitpackingCodec(Codec):
    """Packs all values of a block to the width of the largest one."""

    key = "out_of_line_bitpacking"

    def decode(
        self, message: OutOfLineBitpacking, source: Source, context: DecodeContext
    ) -> FixedWidth:
        """See `Codec`."""
        if not isinstance(source, Block):
            raise unsupported_placement("out_of_line_bitpacking", source)
        bits = _bits(message.uncompressed_bits_per_value)
        width = inner_flat(message.values, "packed values", any_width=True)
        if width > bits or (width == 0 and source.count * bits > 8 * MAX_UNBACKED_BYTES):
            raise CorruptFileError(
                f"{source.count} values of {bits} bits cannot be packed to {width} bits"
            )
        whole, rest = divmod(source.count, CHUNK)
        octets = np.frombuffer(source.data, np.uint8)
        body, raw = whole * packed_bytes(width), rest * bits // 8
        tail = len(octets) - body
        if tail < 0 or tail not in (raw, packed_bytes(width) if rest else 0):
            raise CorruptFileError(f"{len(octets)} bytes cannot hold {source.count} packed values")
        plain = context.kernels.unpack_fastlanes(octets[:body], width, bits, whole)
        if not rest:
            return FixedWidth.of(plain)
        if tail == raw:
            last = np.frombuffer(octets[body:].tobytes(), plain.dtype)
        else:
            last = context.kernels.unpack_fastlanes(octets[body:], width, bits, 1)[:rest]
        return FixedWidth.of(np.concatenate([plain, last]))

    def encode(self, values: Values, target: Target) -> Encoded:
        """See `Codec`."""
        if target.place is not Place.BLOCK:
            raise unsupported_placement("out_of_line_bitpacking", target)
        words = _integers(values)
        bits = words.itemsize * 8
        width = max(target.packed_bits, int(words.max()).bit_length() if len(words) else 0)
        if width > bits:
            raise UnsupportedFeatureError(f"values of {bits} bits cannot be packed to {width} bits")
        return packed_blocks(words, np.array([len(words)]), width, target.kernels)

    def scalar_at(
        self, message: OutOfLineBitpacking, place: Place, context: DecodeContext, depth: int
    ) -> ScalarAt | None:
        """See `Codec`."""
        bits = message.uncompressed_bits_per_value
        width = inner_flat(message.values, "packed values", any_width=True)
        if place is not Place.BLOCK or bits not in WIDTHS or width > bits:
            return None
        word, unit = bits // 8, packed_bytes(width)

        def value(chunk: Chunk, position: int) -> bytes | memoryview:
            whole, rest = divmod(chunk.total, CHUNK)
            tail = chunk.sizes[0] - whole * unit
            if tail not in (rest * word, unit if rest else 0):
                raise CorruptFileError("a chunk does not have the stated number of packed values")
            number, within = divmod(position, CHUNK)
            start = chunk.starts[0] + number * unit
            if number == whole and tail == rest * word:
                return chunk.data[start + within * word : start + (within + 1) * word]
            return _unpacked(chunk.data, start, width, bits, within)

        return value


@lru_cache(maxsize=4)
def inline_encoding(bits: int) -> CompressiveEncoding:
    """The message for packed values of ``bits`` bits; pages share it: it must not be changed."""
    return CompressiveEncoding(inline_bitpacking=InlineBitpacking(uncompressed_bits_per_value=bits))


def packed_blocks(words: Words, counts: Int64Array, width: int, kernels: Kernels) -> Encoded:
    """Pack ``words`` out of line to ``width`` bits, as one block for each of ``counts``.

    The levels of all chunks of a page share one message, so they share the width.
    """
    if len(counts) <= _FEW_BLOCKS:
        return _few_blocks(words, counts.tolist(), width, kernels)
    units, raw = _parts_of_blocks(words, counts, width)
    packed = units * packed_bytes(width)
    sizes = packed + raw
    octets, size = words.view(np.uint8), words.itemsize
    begins, taken = np.cumsum(counts) - counts, np.minimum(units * CHUNK, counts)
    # Pad the packed words of each block to a multiple of 1024, so that one call packs all.
    padding = np.zeros(CHUNK * size, np.uint8)
    spread = _alternating(
        (octets, begins * size, taken * size),
        (padding, np.zeros_like(taken), (units * CHUNK - taken) * size),
        kernels,
    )
    packed_words = kernels.pack_fastlanes(spread.view(words.dtype), width)
    starts = (np.cumsum(units) - units) * packed_bytes(width)
    data = _alternating(
        (packed_words, starts, packed), (octets, (begins + taken) * size, raw), kernels
    )
    return Encoded(_out_of_line(words, width), (pa.py_buffer(data),), sizes[None], counts)


def _alternating(
    first: tuple[Octets, Int64Array, Int64Array],
    second: tuple[Octets, Int64Array, Int64Array],
    kernels: Kernels,
) -> Octets:
    """In turn a slice of the bytes of one and of the other, given by their starts and sizes."""
    owners = np.tile([0, 1], len(first[1]))
    starts = np.stack([first[1], second[1]], axis=1).reshape(-1)
    sizes = np.stack([first[2], second[2]], axis=1).reshape(-1)
    buffers = [pa.py_buffer(first[0]), pa.py_buffer(second[0])]
    return kernels.join_slices(buffers, owners, starts, starts + sizes)


def _few_blocks(words: Words, counts: Sequence[int], width: int, kernels: Kernels) -> Encoded:
    """`packed_blocks`, block by block."""
    bits, sizes, start = words.itemsize * 8, [], 0
    parts: list[memoryview] = []
    for count in counts:
        whole, rest = divmod(count, CHUNK)
        units = whole + packs_tail(width, bits, rest)
        block, packed = words[start : start + count], units * CHUNK
        if packed > count:
            spread = np.zeros(packed, words.dtype)
            spread[:count] = block
            parts.append(kernels.pack_fastlanes(spread, width).data)
        else:
            if packed:
                parts.append(kernels.pack_fastlanes(block[:packed], width).data)
            parts.append(block[packed:].data)
        sizes.append(units * packed_bytes(width) + max(0, count - packed) * words.itemsize)
        start += count
    joined = pa.py_buffer(b"".join(parts))
    table = np.array([sizes, counts], np.int64)
    return Encoded(_out_of_line(words, width), (joined,), table[:1], table[1])


def _parts_of_blocks(words: Words, counts: Int64Array, width: int) -> tuple[Int64Array, Int64Array]:
    """The units of 1024 values that are packed in each block, and its bytes of other values."""
    whole, rest = np.divmod(counts, CHUNK)
    # The levels after whole units are packed only if that takes fewer bytes, see `packs_tail`.
    is_packed = packs_tail(width, words.itemsize * 8, rest)
    return whole + is_packed, np.where(is_packed, 0, rest) * words.itemsize


def _out_of_line(words: Words, width: int) -> CompressiveEncoding:
    return _out_of_line_encoding(words.itemsize * 8, width)


@lru_cache(maxsize=64)
def _out_of_line_encoding(bits: int, width: int) -> CompressiveEncoding:
    packing = OutOfLineBitpacking(uncompressed_bits_per_value=bits, values=flat_encoding(width))
    return CompressiveEncoding(out_of_line_bitpacking=packing)


@overload
def packs_tail(width: int, bits: int, rest: int) -> bool: ...
@overload
def packs_tail(width: int, bits: int, rest: Int64Array) -> npt.NDArray[np.bool_]: ...
def packs_tail(width: int, bits: int, rest: int | Int64Array) -> bool | npt.NDArray[np.bool_]:
    """True if the last ``rest`` values, below 1024, take fewer bits packed as a unit than raw."""
    return width * (CHUNK - rest) < (bits - width) * rest


def _bits(bits: int) -> int:
    if bits not in WIDTHS:
        raise CorruptFileError(f"packed values cannot have {bits} bits")
    return bits


def _integers(values: Values) -> Words:
    if not isinstance(values, FixedWidth) or values.bits not in WIDTHS:
        raise UnsupportedFeatureError("bitpacking needs integers")
    return values.words()


def _unpacked(data: memoryview, start: int, width: int, bits: int, position: int) -> bytes:
    """One of the 1024 values that are packed at byte ``start``.

    Each lane is a bit stream of values, cut into words. Word k of all lanes takes 128 bytes and is
    followed by word k + 1 of all lanes.
    """
    word = bits // 8
    rows, lanes = rows_and_lanes(bits)
    number, shift = divmod(rows.item(position) * width, bits)
    at = start + number * 128 + lanes.item(position) * word
    if shift + width <= bits:
        word_bits = int.from_bytes(data[at : at + word], "little") >> shift
    else:  # the value continues in the next word of its lane
        high = int.from_bytes(data[at + 128 : at + 128 + word], "little")
        word_bits = int.from_bytes(data[at : at + word], "little") >> shift | high << (bits - shift)
    return (word_bits & ((1 << width) - 1)).to_bytes(word, "little")
