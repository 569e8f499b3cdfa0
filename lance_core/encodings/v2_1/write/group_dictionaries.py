"""Store the dictionaries of many small columns, with the same bytes as one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import CompressiveEncoding, InlineBitpacking, Variable
from lance_core.encodings.kernels.numpy.bitpacking import CHUNK, WIDTHS, packed_bytes
from lance_core.encodings.v2_1.codecs.flat import flat_encoding
from lance_core.encodings.v2_1.codecs.values import FixedWidth
from lance_core.encodings.v2_1.pages.mini_block.writer import StoredDictionary
from lance_core.encodings.v2_1.selection.blocks import compress_dictionaries, encode_block
from lance_core.encodings.v2_1.selection.options import NO_OPTIONS

if TYPE_CHECKING:
    from lance_core.encodings.context import EncodeContext
    from lance_core.encodings.decoding import Int64Array
    from lance_core.encodings.v2_1.selection.columns import ColumnItems

_Block = tuple[CompressiveEncoding, pa.Buffer]


def stored_dictionaries(items: ColumnItems, context: EncodeContext) -> list[StoredDictionary]:
    """The encoded dictionary of each column."""
    blocks = _texts(items, context) if items.offset_bytes else _numbers(items, context)
    counts = np.diff(items.edges).tolist()
    return [
        StoredDictionary(encoding, data, count)
        for (encoding, data), count in zip(blocks, counts, strict=True)
    ]


def _texts(items: ColumnItems, context: EncodeContext) -> list[_Block]:
    """A block of values of variable width for each column; see `codecs.variable` for the layout."""
    width, counts = items.offset_bytes, np.diff(items.edges)
    heads, sizes = (counts + 3) * width, np.diff(items.offsets[items.edges])
    words = np.empty(int(heads.sum()) // width, f"<u{width}")
    firsts = (np.cumsum(heads) - heads) // width
    words[firsts], words[firsts + 1] = 8 * width, heads
    is_offset = np.ones(len(words), np.bool_)
    is_offset[firsts] = is_offset[firsts + 1] = False
    # Two columns that follow each other share an offset.
    column = np.repeat(np.arange(len(counts)), counts + 1)
    offsets = items.offsets[np.arange(len(column)) - column]
    words[is_offset] = offsets - items.offsets[items.edges[:-1]][column]
    stops = np.stack([np.cumsum(heads), np.cumsum(sizes)], axis=1)
    starts = stops - np.stack([heads, sizes], axis=1)
    owners = np.tile(np.arange(2), len(counts))
    buffers = [pa.py_buffer(words), items.data]
    joined = context.kernels.join_slices(buffers, owners, starts.reshape(-1), stops.reshape(-1))
    encoding = CompressiveEncoding(variable=Variable(offsets=flat_encoding(8 * width)))
    return compress_dictionaries(encoding, _cut(pa.py_buffer(joined), heads + sizes), context)


def _numbers(items: ColumnItems, context: EncodeContext) -> list[_Block]:
    """A block of values of fixed width for each column; no value of a column occurs twice."""
    sizes = np.diff(items.offsets[items.edges])
    bits = int(items.offsets[1]) * 8
    parts = _cut(items.data, sizes)
    if bits not in WIDTHS:
        return compress_dictionaries(flat_encoding(bits), parts, context)
    counts = np.diff(items.edges)
    blocks: dict[int, _Block] = {}
    for place in np.flatnonzero(counts > CHUNK).tolist():
        values = FixedWidth(parts[place], bits, int(counts[place]))
        blocks[place] = encode_block(values, NO_OPTIONS, context)
    few = np.flatnonzero(counts <= CHUNK)
    words = np.zeros((len(few), CHUNK), f"<u{bits // 8}")
    is_few = np.repeat(counts <= CHUNK, counts)
    words[np.arange(CHUNK) < counts[few, None]] = np.frombuffer(items.data, words.dtype)[is_few]
    widths = context.kernels.chunk_widths(words.reshape(-1))
    # Values that are all different have no runs, which would beat packing.
    packs = widths * packed_bytes(1) < sizes[few]
    if packs.any():
        packed, lengths = context.kernels.pack_inline(words[packs].reshape(-1))
        how = InlineBitpacking(uncompressed_bits_per_value=bits)
        encoding = CompressiveEncoding(inline_bitpacking=how)
        data = [(encoding, one) for one in _cut(pa.py_buffer(packed), lengths)]
        blocks |= zip(few[packs].tolist(), data, strict=True)
    flat = few[~packs].tolist()
    data = compress_dictionaries(flat_encoding(bits), [parts[place] for place in flat], context)
    blocks |= zip(flat, data, strict=True)
    return [blocks[place] for place in range(len(counts))]


def _cut(data: pa.Buffer, sizes: Int64Array) -> list[pa.Buffer]:
    """Consecutive parts of so many bytes."""
    stops = np.cumsum(sizes)
    return list(map(data.slice, (stops - sizes).tolist(), sizes.tolist()))
