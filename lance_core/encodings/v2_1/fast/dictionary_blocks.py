"""Decode many small blocks with one encoding at once: the dictionaries of the pages of a column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import CompressiveEncoding
from lance_core.byte_ranges import BufferSlices
from lance_core.encodings.arrow.coalesced_take import MAX_OFFSET
from lance_core.encodings.arrow.memory_pool import concat_arrays
from lance_core.encodings.arrow.spans import edges_of, spans_index
from lance_core.encodings.compression.general import decompress
from lance_core.encodings.v2_1.codecs.base import Block, decode
from lance_core.encodings.v2_1.codecs.general import scheme_of
from lance_core.encodings.v2_1.codecs.values import VariableWidth
from lance_core.encodings.v2_1.codecs.variable import offset_bits
from lance_core.errors import CorruptFileError

if TYPE_CHECKING:
    from collections.abc import Callable

    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Int64Array
    from lance_core.encodings.v2_1.codecs.values import Values


class Blocks(NamedTuple):
    """Blocks of values; block b has ``counts[b]`` values."""

    data: Sequence[pa.Buffer]
    counts: Int64Array


def block_array(
    encoding: CompressiveEncoding,
    blocks: Blocks,
    to_arrow: Callable[[Values], pa.Array],
    context: DecodeContext,
) -> pa.Array:
    """The values of all blocks as an array. Raises `CorruptFileError`."""
    data = blocks.data
    if encoding.WhichOneof("compression") == "general":
        scheme = scheme_of(encoding.general)
        data = [decompress(scheme, buffer) for buffer in data]
        encoding = encoding.general.values
    is_variable = encoding.WhichOneof("compression") == "variable"
    if len(data) > 1 and is_variable and not encoding.variable.HasField("values"):
        width = offset_bits(encoding.variable) // 8
        values = _joined_variable(BufferSlices.of(data), blocks.counts, width, context)
        if values.offsets[-1] <= MAX_OFFSET:
            return to_arrow(values)
    parts = [
        to_arrow(decode(encoding, Block(buffer, count), context))
        for buffer, count in zip(data, blocks.counts.tolist(), strict=True)
    ]
    return concat_arrays(parts)


def _joined_variable(
    data: BufferSlices, counts: Int64Array, width: int, context: DecodeContext
) -> VariableWidth:
    """The values of blocks of variable width; see `codecs.variable` for the layout."""
    sizes = data.sizes
    octets = data.joined(context.kernels.join_slices)
    starts = np.cumsum(sizes) - sizes
    heads = (counts + 3) * width
    if (counts < 0).any() or (heads > sizes).any():
        raise CorruptFileError("a block of values of variable width is shorter than its offsets")
    head = octets[spans_index(starts, starts + heads)]
    words = head.view(f"<u{width}").astype(np.int64)
    firsts = np.cumsum(counts + 3) - (counts + 3)
    if (words[firsts] != 8 * width).any() or (words[firsts + 1] != heads).any():
        raise CorruptFileError("a block of values does not start with its widths")
    # Leave out the two words at the start of each block; offsets of each block count from 0.
    is_offset = np.ones(len(words), bool)
    is_offset[firsts] = is_offset[firsts + 1] = False
    offsets = words[is_offset]
    edges = np.cumsum(counts + 1)
    lengths = np.diff(offsets)
    begins = edges - (counts + 1)
    inner = np.delete(lengths, edges[:-1] - 1)
    lasts = offsets[edges - 1]
    if (offsets[begins] != 0).any() or (inner < 0).any() or (lasts > sizes - heads).any():
        raise CorruptFileError("the offsets of values do not ascend from 0 within their block")
    bodies = starts + heads
    text, _ = context.kernels.gather_variable(octets, bodies, bodies + lasts)
    ends = edges_of(inner)
    is_short = width == 4 and ends[-1] <= MAX_OFFSET
    return VariableWidth(ends.astype(np.int32) if is_short else ends, text)
