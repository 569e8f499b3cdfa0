"""Encode the values, levels and dictionaries of many small columns at once, and assemble pages.

All columns have the same number of rows, and the chunks of all columns follow each other. The bytes
are those of `lance_core.encodings.v2_1.pages.mini_block.writer`.
"""

from __future__ import annotations

from collections.abc import Sequence
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
from lance_core.encodings.v2_1.codecs.base import Encoded, Place, Target, encode
from lance_core.encodings.v2_1.codecs.bitpacking import inline_encoding, packed_blocks
from lance_core.encodings.v2_1.codecs.flat import flat_encoding
from lance_core.encodings.v2_1.codecs.rle import run_blocks, run_columns
from lance_core.encodings.v2_1.codecs.values import FixedWidth
from lance_core.encodings.v2_1.codecs.variable import variable_encoding
from lance_core.encodings.v2_1.levels.repdef import ItemLayer, LevelArray, ravel
from lance_core.encodings.v2_1.pages.encoded_page import layers_of
from lance_core.encodings.v2_1.pages.mini_block.chunk_parts import ChunkForm
from lance_core.encodings.v2_1.pages.mini_block.chunk_writer import (
    ChunkPart,
    Chunks,
    chunk_bytes,
    chunk_words,
    chunks_fit,
)
from lance_core.encodings.v2_1.pages.mini_block.writer import StoredDictionary
from lance_core.encodings.v2_1.selection.blocks import (
    compress_dictionaries,
    encode_block,
    encode_levels,
)
from lance_core.encodings.v2_1.selection.options import NO_OPTIONS
from lance_core.encodings.v2_1.selection.values import CHUNK_BYTES, mini_block_values
from lance_core.encodings.version import FileVersion

if TYPE_CHECKING:
    from lance_core.byte_ranges import BytesLike
    from lance_core.encodings.context import EncodeContext
    from lance_core.encodings.decoding import Int64Array
    from lance_core.encodings.kernels import Kernels
    from lance_core.encodings.v2_1.fast.small_column_selection import ColumnItems, ColumnValues

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
    words: npt.NDArray[np.unsignedinteger], count: int, codec: str, context: EncodeContext
) -> GroupValues | None:
    """Encode rows of ``count`` integers by one of `CODECS`; None if a chunk has too many runs.

    ``words`` is padded with zeros to whole chunks of 1024 values.
    """
    values = words[:, :count]
    if codec == "flat":
        octets = np.ascontiguousarray(values).view(np.uint8)
        return flat_values(octets, 8 * words.itemsize, count, context)
    target = Target(Place.MINI_BLOCK, context.registry, (codec,))
    if codec == "rle":
        runs = run_columns(values)
        if runs is None:
            return None
        edges = np.arange(len(words) + 1) * (len(runs.counts) // len(words))
        return GroupValues(runs.encoding, runs.buffers, runs.sizes, runs.counts, edges)
    first = encode(FixedWidth.of(values[0]), target)
    packed, sizes = context.kernels.pack_inline(words.reshape(-1))
    return _alike(first, len(words), pa.py_buffer(packed), sizes)


def flat_values(
    octets: npt.NDArray[np.uint8], bits: int, count: int, context: EncodeContext
) -> GroupValues:
    """Store ``count`` values of ``bits`` bits of each row of bytes as they are."""
    target = Target(Place.MINI_BLOCK, context.registry, ("flat",))
    first = encode(FixedWidth(pa.py_buffer(octets[0]), bits, count), target)
    data = pa.py_buffer(octets.reshape(-1))
    return _alike(first, len(octets), data, np.tile(first.sizes[0], len(octets)))


def text_values(columns: ColumnValues, type_: pa.DataType, context: EncodeContext) -> GroupValues:
    """Encode columns of short texts of one type (`texts_are_short`)."""
    first = mini_block_values(columns.texts(0), type_, NO_OPTIONS, context)
    octets, offsets = columns.joined(context.kernels)
    data, sizes, counts = context.kernels.split_variable(
        octets, offsets, columns.offset_bytes, CHUNK_BYTES, len(columns.edges)
    )
    rows = columns.edges.shape[1] - 1
    stops = np.arange(len(columns.edges) + 1) * rows
    edges = np.searchsorted(edges_of(counts), stops)
    return GroupValues(first.encoding, [data], sizes[None], counts, edges)


def _alike(first: Encoded, count: int, data: pa.Buffer, sizes: Int64Array) -> GroupValues:
    """The values of ``count`` columns with as many values in each chunk as ``first`` has."""
    edges = np.arange(count + 1) * len(first.counts)
    return GroupValues(first.encoding, [data], sizes[None], np.tile(first.counts, count), edges)


def group_pages(
    values: GroupValues,
    definition: npt.NDArray[np.uint16] | None,
    dictionaries: Sequence[StoredDictionary | None],
    count: int,
    context: EncodeContext,
) -> list[EncodedPage] | None:
    """The pages of columns of ``count`` rows; None if a chunk is too large.

    ``definition`` has a row of levels for each column: zeros and ones, which all have runs
    (`levels_have_runs`), or none.
    """
    large = context.version >= FileVersion.V2_2
    valid = None if definition is None else definition[0] == 0
    message = MiniBlockLayout(
        value_compression=values.encoding,
        layers=layers_of(ravel((ItemLayer(count, valid),))),
        num_buffers=len(values.buffers),
        num_items=count,
        has_large_chunk=large,
    )
    levels = []
    if definition is not None:
        encoding, part = _levels(definition, values, context)
        message.def_compression.CopyFrom(encoding)
        levels.append(part)
    form = ChunkForm(False, bool(levels), len(values.buffers), large)
    num_levels = values.counts if levels else np.zeros(len(values.counts), np.int64)
    parts = [ChunkPart(*part) for part in zip(values.buffers, values.sizes, strict=True)]
    chunks = Chunks(num_levels, levels, parts)
    if not chunks_fit(form, chunks):
        return None
    joined, totals = chunk_bytes(form, chunks, context.kernels)
    table = chunk_words(totals, values.counts, large, values.edges[1:] - 1)
    stops = edges_of(totals)[values.edges]
    words = values.edges * (4 if large else 2)
    buffers = zip(slices_between(table, words), slices_between(joined, stops), strict=True)
    return _pages(message, list(buffers), dictionaries)


def _pages(
    message: MiniBlockLayout,
    buffers: Sequence[tuple[pa.Buffer, pa.Buffer]],
    dictionaries: Sequence[StoredDictionary | None],
) -> list[EncodedPage]:
    """A page of each column; ``message`` has what the layouts of all have in common."""
    count = message.num_items
    if not any(dictionaries):
        raw = PageLayout(mini_block_layout=message).SerializeToString()
        return [EncodedPage(0, pair, raw, count, 0) for pair in buffers]
    pages = []
    for pair, dictionary in zip(buffers, dictionaries, strict=True):
        own: tuple[BytesLike, ...] = pair
        if dictionary is not None:
            message.dictionary.CopyFrom(dictionary.encoding)
            message.num_dictionary_items = dictionary.count
            own = (*pair, dictionary.data)
        raw = PageLayout(mini_block_layout=message).SerializeToString()
        pages.append(EncodedPage(0, own, raw, count, 0))
    return pages


def _levels(
    definition: npt.NDArray[np.uint16], values: GroupValues, context: EncodeContext
) -> tuple[CompressiveEncoding, ChunkPart]:
    """Encode the levels of all chunks, as `encode_levels` does for each column."""
    counts, own = values.counts, values.counts[: values.edges[1]]
    first = edges_of(own)
    encoding = encode_levels(definition[0], first, context)[0]
    levels: LevelArray = definition.reshape(-1)
    codec, kernels = encoding.WhichOneof("compression"), context.kernels
    if codec == "flat":
        return encoding, ChunkPart(pa.py_buffer(levels), counts * 2)
    if codec == "rle":
        runs = run_blocks(levels, counts)
        return encoding, ChunkPart(runs.buffers[0], runs.sizes[0])
    if codec == "out_of_line_bitpacking":
        packed = packed_blocks(levels, counts, 1, kernels)
        return encoding, ChunkPart(packed.buffers[0], packed.sizes[0])
    assert codec == "inline_bitpacking"  # each chunk is packed alone
    spread = np.zeros((len(counts), CHUNK), np.uint16)
    spread[np.arange(CHUNK) < counts[:, None]] = levels
    data, sizes = kernels.pack_inline(spread.reshape(-1))
    return encoding, ChunkPart(pa.py_buffer(data), sizes)


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
