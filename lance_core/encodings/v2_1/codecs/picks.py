"""Single values out of the chunks of a mini-block page, without decoding what is around them.

A picker gives what the decoder of its encoding gives at some places, and checks what of a chunk it
uses. Encodings without one, as those of plugins are, are decoded whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import (
    ByteStreamSplit,
    CompressiveEncoding,
    FixedSizeList,
    Flat,
    Fsst,
    General,
    InlineBitpacking,
    PackedStruct,
    Rle,
    Variable,
)
from lance_core.encodings.decoding import Int64Array
from lance_core.encodings.kernels.numpy.bitpacking import WIDTHS
from lance_core.encodings.kernels.numpy.single_packed import PackedPositions, bytes_at
from lance_core.encodings.v2_1.codecs.base import (
    MAX_NESTING,
    MiniBlockChunks,
    decode,
    find_compressive,
)
from lance_core.encodings.v2_1.codecs.bitpacking import decode_inline
from lance_core.encodings.v2_1.codecs.byte_stream_split import decode_byte_stream_split, stream_bits
from lance_core.encodings.v2_1.codecs.fixed_size_list import decode_fixed_size_list, plain_list
from lance_core.encodings.v2_1.codecs.flat import decode_flat, flat_bits
from lance_core.encodings.v2_1.codecs.fsst import decode_fsst, expanded
from lance_core.encodings.v2_1.codecs.general import decode_general, plain_chunks, scheme_of
from lance_core.encodings.v2_1.codecs.packed_struct import decode_packed_struct, split_rows
from lance_core.encodings.v2_1.codecs.rle import decode_rle, run_chunks
from lance_core.encodings.v2_1.codecs.values import (
    FixedSizeListValues,
    FixedWidth,
    StructValues,
    Values,
    VariableWidth,
    as_fixed,
    as_variable,
)
from lance_core.encodings.v2_1.codecs.values_take import downcast_offsets, take_values
from lance_core.encodings.v2_1.codecs.variable import decode_variable, offset_bits, variable_chunks
from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext


@dataclass(frozen=True, slots=True, eq=False)
class ChunkPositions:
    """Single values of chunks: of chunk ``chunk[i]`` the value at ``position[i]``, below its count.

    They ascend, first by chunk, then by position. ``depth``: how many encodings are around.
    """

    chunks: MiniBlockChunks
    chunk: Int64Array
    position: Int64Array
    depth: int = 0

    def within(self) -> ChunkPositions:
        """The same for an encoding that is one level deeper."""
        return ChunkPositions(self.chunks, self.chunk, self.position, self.depth + 1)

    @property
    def picked(self) -> PackedPositions:
        return PackedPositions(self.chunk, self.position)

    def places(self) -> Int64Array:
        """Where they are among the values of all chunks."""
        counts = self.chunks.counts
        places: Int64Array = (np.cumsum(counts) - counts).take(self.chunk) + self.position
        return places


def pick(encoding: CompressiveEncoding, picks: ChunkPositions, context: DecodeContext) -> Values:
    """The values that are picked; raises as `lance_core.encodings.v2_1.codecs.base.decode` does."""
    if picks.depth >= MAX_NESTING:
        raise CorruptFileError(f"more than {MAX_NESTING} encodings within each other")
    key, decoder = find_compressive(encoding, context)
    picker = _PICKERS.get(decoder)
    values = None
    if picker is not None:
        values = picker(getattr(encoding, key), picks.within(), context)
    if values is None:
        return take_values(decode(encoding, picks.chunks, context), picks.places(), context.kernels)
    if values.count != len(picks.chunk):
        raise CorruptFileError(f"{values.count} values where there should be {len(picks.chunk)}")
    return values


def pick_flat(message: Flat, picks: ChunkPositions, context: DecodeContext) -> FixedWidth:
    """Of ``flat``."""
    bits, chunks = flat_bits(message), picks.chunks.single()
    if ((chunks.counts * bits + 7) // 8 > chunks.sizes[0]).any():
        raise CorruptFileError("a chunk has fewer bytes than its values take")
    starts = chunks.starts[0].take(picks.chunk)
    if bits == 1:
        octets = bytes_at(chunks.data, starts + (picks.position >> 3), 1)
        found = (octets >> (picks.position & 7).astype(np.uint8)) & 1
        return FixedWidth(pa.py_buffer(np.packbits(found, bitorder="little")), 1, len(starts))
    octets = bytes_at(chunks.data, starts + picks.position * (bits // 8), bits // 8)
    return FixedWidth(pa.py_buffer(octets), bits, len(starts))


def pick_inline(
    message: InlineBitpacking, picks: ChunkPositions, context: DecodeContext
) -> FixedWidth:
    """Of ``inline_bitpacking``."""
    bits, chunks = message.uncompressed_bits_per_value, picks.chunks.single()
    if bits not in WIDTHS or message.HasField("values"):
        raise UnsupportedFeatureError(f"packed values of {bits} bits")
    place = chunks.starts[0], chunks.sizes[0], chunks.counts
    return FixedWidth.of(context.kernels.pick_inline(chunks.data, *place, picks.picked, bits))


def pick_variable(
    message: Variable, picks: ChunkPositions, context: DecodeContext
) -> VariableWidth:
    """Of ``variable``."""
    if message.HasField("values"):
        raise UnsupportedFeatureError("values of variable width that are compressed themselves")
    bits = offset_bits(message)
    chunks = variable_chunks(picks.chunks, bits // 8)
    starts, stops = context.kernels.pick_spans(chunks, picks.picked)
    data, offsets = context.kernels.gather_variable(chunks.data, starts, stops)
    return VariableWidth(downcast_offsets(offsets, bits), data)


def pick_fsst(message: Fsst, picks: ChunkPositions, context: DecodeContext) -> VariableWidth:
    """Of ``fsst``."""
    return expanded(message, as_variable(pick(message.values, picks, context)), context)


def pick_rle(message: Rle, picks: ChunkPositions, context: DecodeContext) -> FixedWidth:
    """Of ``rle``: only the lengths of runs are looked at as a whole."""
    chunks, bits, lengths = run_chunks(message, picks.chunks, context.kernels)
    ends = np.cumsum(lengths, dtype=np.int64)
    begins = np.cumsum(chunks.counts) - chunks.counts
    runs = np.searchsorted(ends, begins.take(picks.chunk) + picks.position, side="right")
    before = np.cumsum(chunks.sizes[1]) - chunks.sizes[1]
    within = runs - before.take(picks.chunk)
    at = chunks.starts[0].take(picks.chunk) + within * (bits // 8)
    return FixedWidth(pa.py_buffer(bytes_at(chunks.data, at, bits // 8)), bits, len(at))


def pick_byte_stream_split(
    message: ByteStreamSplit, picks: ChunkPositions, context: DecodeContext
) -> FixedWidth:
    """Of ``byte_stream_split``."""
    bits, chunks = stream_bits(message), picks.chunks.single()
    width = bits // 8
    if (chunks.counts * width > chunks.sizes[0]).any():
        raise CorruptFileError("a chunk has fewer bytes than its values take")
    first = chunks.starts[0].take(picks.chunk) + picks.position
    steps = chunks.counts.take(picks.chunk)
    octets = chunks.data[first[:, None] + steps[:, None] * np.arange(width)]
    return FixedWidth(pa.py_buffer(octets.reshape(-1)), bits, len(first))


def pick_general(message: General, picks: ChunkPositions, context: DecodeContext) -> Values:
    """Of ``general``: the chunks of the picked values are decompressed."""
    plain = plain_chunks(picks.chunks, scheme_of(message), context.kernels)
    return pick(message.values, replace(picks, chunks=plain), context)


def pick_fixed_size_list(
    message: FixedSizeList, picks: ChunkPositions, context: DecodeContext
) -> FixedSizeListValues | None:
    """Of ``fixed_size_list``, if it is not nested and no item can be null."""
    plain = plain_list(message)
    if plain is None:
        return None
    size, bits = plain
    rows = pick_flat(Flat(bits_per_value=size * bits), picks, context)
    values = FixedWidth(rows.data, bits, rows.count * size)
    return FixedSizeListValues((None,), values, (size,), rows.count)


def pick_packed_struct(
    message: PackedStruct, picks: ChunkPositions, context: DecodeContext
) -> StructValues:
    """Of ``packed_struct``."""
    return split_rows(message, as_fixed(pick(message.values, picks, context)))


_PICKERS: dict[
    Callable[..., Any], Callable[[Any, ChunkPositions, DecodeContext], Values | None]
] = {
    decode_flat: pick_flat,
    decode_inline: pick_inline,
    decode_variable: pick_variable,
    decode_fsst: pick_fsst,
    decode_rle: pick_rle,
    decode_byte_stream_split: pick_byte_stream_split,
    decode_general: pick_general,
    decode_fixed_size_list: pick_fixed_size_list,
    decode_packed_struct: pick_packed_struct,
}
"""By decoder. None is returned where only all values of chunks can be decoded."""
