"""Encode the values, levels and dictionaries of many small columns at once, and assemble pages.

The chunks of all columns follow each other. The bytes are those of
`lance_core.encodings.v2_1.pages.mini_block.writer`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import (
    CompressiveEncoding,
    MiniBlockLayout,
    PageLayout,
)
from lance_core.encodings.arrow.spans import edges_of, slices_between
from lance_core.encodings.kernels.numpy.bitpacking import CHUNK, WIDTHS, packed_bytes
from lance_core.encodings.page import EncodedPage
from lance_core.encodings.v2_1.codecs.bitpacking import inline_encoding, packed_blocks
from lance_core.encodings.v2_1.codecs.chunks import largest_chunk, split_sizes
from lance_core.encodings.v2_1.codecs.flat import flat_encoding
from lance_core.encodings.v2_1.codecs.rle import run_blocks, run_columns
from lance_core.encodings.v2_1.codecs.values import FixedWidth
from lance_core.encodings.v2_1.codecs.variable import variable_encoding
from lance_core.encodings.v2_1.fast.small_column_selection import values_mask
from lance_core.encodings.v2_1.pages.encoded_page import layers_of
from lance_core.encodings.v2_1.pages.mini_block.chunk_parts import ChunkForm
from lance_core.encodings.v2_1.pages.mini_block.chunk_writer import (
    ChunkPart,
    Chunks,
    chunk_bytes,
    chunk_words,
    chunks_fit,
)
from lance_core.encodings.v2_1.pages.mini_block.writer import (
    StoredDictionary,
    level_edges,
    repetition_index,
)
from lance_core.encodings.v2_1.selection.blocks import (
    compress_dictionaries,
    encode_block,
    encode_levels,
)
from lance_core.encodings.v2_1.selection.cost import CHUNK_VALUES
from lance_core.encodings.v2_1.selection.options import NO_OPTIONS
from lance_core.encodings.v2_1.selection.values import CHUNK_BYTES, mini_block_values
from lance_core.encodings.version import FileVersion

if TYPE_CHECKING:
    from lance_core.byte_ranges import BytesLike
    from lance_core.encodings.context import EncodeContext
    from lance_core.encodings.decoding import Int64Array
    from lance_core.encodings.kernels import Kernels
    from lance_core.encodings.v2_1.fast.leaf_columns import LeafColumns
    from lance_core.encodings.v2_1.fast.small_column_selection import ColumnItems, ColumnValues
    from lance_core.encodings.v2_1.levels.repdef import LevelArray

_Block = tuple[CompressiveEncoding, pa.Buffer]
"""An encoded dictionary."""


class GroupValues(NamedTuple):
    """Encoded values of columns. Column c has the chunks ``edges[c]`` to ``edges[c + 1]``.

    Chunk k takes the next ``sizes[b, k]`` bytes of buffer b and has ``counts[k]`` values.
    """

    encoding: CompressiveEncoding
    buffers: Sequence[pa.Buffer]
    sizes: Int64Array
    counts: Int64Array
    edges: Int64Array


def number_values(
    words: npt.NDArray[np.unsignedinteger],
    counts: Int64Array,
    codec: str,
    context: EncodeContext,
) -> GroupValues | None:
    """Encode rows of ``counts`` integers by one of `CODECS`; None if a chunk has too many runs.

    ``words`` is padded with zeros to as many whole chunks of 1024 values as each row needs.
    """
    bits = 8 * words.itemsize
    if codec == "inline_bitpacking":
        packed, sizes = context.kernels.pack_inline(words.reshape(-1))
        chunks, _, edges = column_chunks(counts, CHUNK, bits)
        buffers = [pa.py_buffer(packed)]
        return GroupValues(inline_encoding(bits), buffers, sizes[None], chunks, edges)
    values, is_value = words[:, : int(counts.max())], values_mask(counts)
    own = np.ascontiguousarray(values).reshape(-1) if is_value is None else values[is_value]
    if codec == "flat":
        return flat_values(flat_encoding(bits), pa.py_buffer(own), bits, counts)
    runs = run_columns(own, counts)
    if runs is None:
        return None
    edges = column_chunks(counts, CHUNK_VALUES, bits)[2]
    return GroupValues(runs.encoding, runs.buffers, runs.sizes, runs.counts, edges)


def flat_values(
    encoding: CompressiveEncoding, data: pa.Buffer, bits: int, counts: Int64Array
) -> GroupValues:
    """Store columns of ``counts`` values of ``bits`` bits as they are; each has whole bytes."""
    chunks, sizes, edges = column_chunks(counts, largest_chunk(bits), bits)
    return GroupValues(encoding, [data], sizes[None], chunks, edges)


def column_chunks(
    counts: Int64Array, per_chunk: int, bits: int
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """The values and bytes of the chunks of columns of ``counts`` values (`split_sizes`).

    Also returns the first chunk of each column and the number of all.
    """
    if len(counts) == 1 or values_mask(counts) is None:
        own, sizes = split_sizes(int(counts[0]), per_chunk, bits)
        number = len(counts)
        return np.tile(own, number), np.tile(sizes, number), np.arange(number + 1) * len(own)
    parts = [split_sizes(count, per_chunk, bits) for count in counts.tolist()]
    edges = edges_of(np.array([len(own) for own, _ in parts]))
    return np.concatenate([own for own, _ in parts]), np.concatenate([s for _, s in parts]), edges


def text_values(columns: ColumnValues, type_: pa.DataType, context: EncodeContext) -> GroupValues:
    """Encode columns of short texts of one type (`texts_are_short`)."""
    first = mini_block_values(columns.texts(0), type_, NO_OPTIONS, context)
    octets, offsets = columns.joined(context.kernels)
    width, split = columns.offset_bytes, context.kernels.split_variable
    stops = edges_of(columns.counts)
    if values_mask(columns.counts) is None:
        data, sizes, counts = split(octets, offsets, width, CHUNK_BYTES, len(stops) - 1)
    else:
        spans = [offsets[start : stop + 1] for start, stop in pairwise(stops.tolist())]
        parts = [split(octets, span, width, CHUNK_BYTES) for span in spans]
        data = pa.py_buffer(b"".join([part for part, _, _ in parts]))
        sizes, counts = (np.concatenate(own) for own in list(zip(*parts, strict=True))[1:])
    edges = np.searchsorted(edges_of(counts), stops)
    return GroupValues(first.encoding, [data], sizes[None], counts, edges)


def joined(parts: Sequence[GroupValues]) -> GroupValues:
    """Columns that have the same encoding, one after the other."""
    if len(parts) == 1:
        return parts[0]
    buffers = zip(*[part.buffers for part in parts], strict=True)
    counts = np.concatenate([part.counts for part in parts])
    return GroupValues(
        parts[0].encoding,
        [pa.py_buffer(b"".join(pieces)) for pieces in buffers],
        np.concatenate([part.sizes for part in parts], axis=1),
        counts,
        edges_of(np.concatenate([np.diff(part.edges) for part in parts])),
    )


def group_pages(
    values: GroupValues,
    columns: LeafColumns,
    dictionaries: Sequence[StoredDictionary | None],
    context: EncodeContext,
) -> list[EncodedPage] | None:
    """The pages of ``columns``; None if a chunk is too large.

    ``values`` are theirs. The levels of all columns have the same encoding (`level_codecs`).
    """
    large = context.version >= FileVersion.V2_2
    levels, lasts = columns.levels, values.edges[1:] - 1
    message = MiniBlockLayout(
        value_compression=values.encoding,
        layers=layers_of(levels),
        num_buffers=len(values.buffers),
        has_large_chunk=large,
    )
    parts = []
    num_levels = np.zeros(len(values.counts), np.int64)
    has_rep, has_definition = levels.rep is not None, levels.definition is not None
    if has_rep or has_definition:
        edges = level_edges(levels, values.counts)
        edges[lasts + 1] = columns.level_edges[1:]
        num_levels = np.diff(edges)
        first = edges[: values.edges[1] + 1]
        if levels.rep is not None:
            parts.append(_levels(levels.rep, edges, first, message.rep_compression, context))
            message.repetition_index_depth = 1
        if levels.definition is not None:
            parts.append(_levels(levels.definition, edges, first, message.def_compression, context))
    form = ChunkForm(has_rep, has_definition, len(values.buffers), large)
    data = [ChunkPart(*part) for part in zip(values.buffers, values.sizes, strict=True)]
    chunks = Chunks(num_levels, parts, data)
    if not chunks_fit(form, chunks):
        return None
    octets, totals = chunk_bytes(form, chunks, context.kernels)
    table = chunk_words(totals, values.counts, large, lasts)
    buffers = [
        slices_between(table, values.edges * (4 if large else 2)),
        slices_between(octets, edges_of(totals)[values.edges]),
    ]
    if levels.rep is not None:
        index = repetition_index(levels.rep == levels.kinds.max_rep, edges)
        buffers.append(slices_between(index, values.edges * 16))
    return _pages(message, columns, list(zip(*buffers, strict=True)), dictionaries)


def _pages(
    message: MiniBlockLayout,
    columns: LeafColumns,
    buffers: Sequence[tuple[BytesLike, ...]],
    dictionaries: Sequence[StoredDictionary | None],
) -> list[EncodedPage]:
    """A page of each column; ``message`` has what the layouts of all have in common."""
    pages = []
    raw, count = b"", -1
    counts = np.diff(columns.edges).tolist()
    for data, number, dictionary in zip(buffers, counts, dictionaries, strict=True):
        own = data
        if dictionary is not None:
            message.dictionary.CopyFrom(dictionary.encoding)
            message.num_dictionary_items = dictionary.count
            own = (*data[:2], dictionary.data, *data[2:])
        if dictionary is not None or number != count:
            message.num_items = count = number
            raw = PageLayout(mini_block_layout=message).SerializeToString()
        pages.append(EncodedPage(0, own, raw, columns.rows, 0))
    return pages


def _levels(
    levels: LevelArray,
    edges: Int64Array,
    first: Int64Array,
    message: CompressiveEncoding,
    context: EncodeContext,
) -> ChunkPart:
    """Encode the levels of all chunks, as `encode_levels` does for each column.

    ``edges`` of chunks; ``first``: those of the first column, whose encoding ``message`` gets.
    """
    encoding = encode_levels(levels[: first[-1]], first, context)[0]
    message.CopyFrom(encoding)
    counts = np.diff(edges)
    codec, kernels = encoding.WhichOneof("compression"), context.kernels
    if codec == "flat":
        return ChunkPart(pa.py_buffer(levels), counts * 2)
    if codec == "rle":
        runs = run_blocks(levels, counts)
        return ChunkPart(runs.buffers[0], runs.sizes[0])
    if codec == "out_of_line_bitpacking":
        packed = packed_blocks(levels, counts, int(levels.max()).bit_length(), kernels)
        return ChunkPart(packed.buffers[0], packed.sizes[0])
    assert codec == "inline_bitpacking"  # each chunk is packed alone
    spread = np.zeros((len(counts), CHUNK), np.uint16)
    spread[np.arange(CHUNK) < counts[:, None]] = levels
    data, sizes = kernels.pack_inline(spread.reshape(-1))
    return ChunkPart(pa.py_buffer(data), sizes)


def stored_dictionaries(items: ColumnItems, context: EncodeContext) -> list[StoredDictionary]:
    """The encoded dictionary of each column."""
    blocks = _text_blocks(items, context) if items.offset_bytes else _number_blocks(items, context)
    counts = np.diff(items.edges).tolist()
    return [
        StoredDictionary(encoding, data, count)
        for (encoding, data), count in zip(blocks, counts, strict=True)
    ]


def _text_blocks(items: ColumnItems, context: EncodeContext) -> list[_Block]:
    """A block of values of variable width for each column."""
    encoding, data, edges = _variable_blocks(
        items.data, items.offsets, items.edges, items.offset_bytes, context.kernels
    )
    return compress_dictionaries(encoding, slices_between(data, edges), context)


def _number_blocks(items: ColumnItems, context: EncodeContext) -> list[_Block]:
    """A block of values of fixed width for each column; no value of a column occurs twice."""
    sizes = np.diff(items.offsets[items.edges])
    bits = int(items.offsets[1]) * 8
    parts = slices_between(items.data, items.offsets[items.edges])
    if bits not in WIDTHS:
        return compress_dictionaries(flat_encoding(bits), parts, context)
    counts = np.diff(items.edges)
    blocks: dict[int, _Block] = {}
    fits = counts <= CHUNK
    for column in np.flatnonzero(~fits).tolist():
        values = FixedWidth(parts[column], bits, int(counts[column]))
        blocks[column] = encode_block(values, NO_OPTIONS, context)
    few = np.flatnonzero(fits)
    words = np.zeros((len(few), CHUNK), f"<u{bits // 8}")
    stored = np.frombuffer(items.data, words.dtype)
    words[np.arange(CHUNK) < counts[few, None]] = stored[np.repeat(fits, counts)]
    widths = context.kernels.chunk_widths(words.reshape(-1))
    # As `Integers.packs_in_block`; values that are all different have no runs, which would win.
    packs = widths * packed_bytes(1) < sizes[few]
    if packs.any():
        packed, lengths = context.kernels.pack_inline(words[packs].reshape(-1))
        encoding = inline_encoding(bits)
        data = [
            (encoding, part) for part in slices_between(pa.py_buffer(packed), edges_of(lengths))
        ]
        blocks |= zip(few[packs].tolist(), data, strict=True)
    flat = few[~packs].tolist()
    data = compress_dictionaries(flat_encoding(bits), [parts[column] for column in flat], context)
    blocks |= zip(flat, data, strict=True)
    return [blocks[column] for column in range(len(counts))]


def _variable_blocks(
    data: pa.Buffer, offsets: Int64Array, edges: Int64Array, width: int, kernels: Kernels
) -> tuple[CompressiveEncoding, pa.Buffer, Int64Array]:
    """Encode many blocks, with offsets of ``width`` bytes, as `VariableCodec` encodes each.

    Value i is ``data[offsets[i]:offsets[i + 1]]``; block b has the values ``edges[b]`` to
    ``edges[b + 1]``. Returns what encodes them, their bytes, and the edges of the blocks in these.
    """
    counts, sizes = np.diff(edges), np.diff(offsets[edges])
    heads = (counts + 3) * width
    words = np.empty(int(heads.sum()) // width, f"<u{width}")
    firsts = (np.cumsum(heads) - heads) // width
    words[firsts], words[firsts + 1] = 8 * width, heads
    is_offset = np.ones(len(words), np.bool_)
    is_offset[firsts] = is_offset[firsts + 1] = False
    # Two blocks that follow each other share an offset.
    block = np.repeat(np.arange(len(counts)), counts + 1)
    words[is_offset] = offsets[np.arange(len(block)) - block] - offsets[edges[:-1]][block]
    stops = np.stack([np.cumsum(heads), np.cumsum(sizes)], axis=1)
    starts = stops - np.stack([heads, sizes], axis=1)
    owners = np.tile(np.arange(2), len(counts))
    buffers = [pa.py_buffer(words), data]
    joined = kernels.join_slices(buffers, owners, starts.reshape(-1), stops.reshape(-1))
    encoding = variable_encoding(8 * width)
    return encoding, pa.py_buffer(joined), edges_of(heads + sizes)
