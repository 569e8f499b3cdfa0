"""Merge mini-block pages of numbers: their chunks are unpacked, and packed again by the same codec.

All chunks of a page but the last have a power of two of values, so the chunks of two pages are not
those of one page.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import MiniBlockLayout, PageLayout
from lance_core.encodings.context import DecodeContext
from lance_core.encodings.decoding import Int64Array
from lance_core.encodings.kernels.numpy.bitpacking import CHUNK
from lance_core.encodings.kernels.numpy.repacked_chunks import PackedSlices
from lance_core.encodings.v2_1.codecs.base import Place, Target, decode, encode
from lance_core.encodings.v2_1.codecs.chunks import split_sizes
from lance_core.encodings.v2_1.codecs.values import FixedWidth, as_fixed
from lance_core.encodings.v2_1.pages.mini_block.chunk_parts import ChunkForm, chunk_parts
from lance_core.encodings.v2_1.pages.mini_block.chunk_table import (
    ChunkTable,
    PageWords,
    tables_of_pages,
)
from lance_core.encodings.v2_1.pages.mini_block.chunk_writer import (
    ChunkPart,
    Chunks,
    chunk_bytes,
    chunk_words,
)
from lance_core.store.range_arrays import BufferSlices


class NumberPages(NamedTuple):
    """The buffers of several pages: the ``words`` of all, of ``word_bytes[p]``, and their chunks.

    Page p has ``num_values[p]`` values.
    """

    words: npt.NDArray[np.uint8]
    word_bytes: Int64Array
    chunks: BufferSlices
    num_values: Int64Array

    def table(self, large: bool) -> tuple[ChunkTable, Int64Array]:
        """The chunks at their places in the buffers, and the number of chunks of each page."""
        place = self.chunks.starts, self.chunks.stops
        values = self.num_values
        return tables_of_pages(
            PageWords(self.words, self.word_bytes, large, values, values, place, None)
        )


class NumberCodec(NamedTuple):
    """The codec of the values of a page that can be merged, and the bits of each value."""

    name: str
    bits: int


def number_codec(page: MiniBlockLayout) -> NumberCodec | None:
    """None for a page with nulls, lists, a dictionary or values that are not packed or flat."""
    if page.HasField("rep_compression") or page.HasField("def_compression"):
        return None
    values = page.value_compression
    codec = values.WhichOneof("compression")
    if page.HasField("dictionary"):
        return None
    if codec == "inline_bitpacking" and not values.inline_bitpacking.HasField("values"):
        return NumberCodec(codec, values.inline_bitpacking.uncompressed_bits_per_value)
    if codec == "flat" and not values.flat.HasField("data"):
        return NumberCodec(codec, values.flat.bits_per_value)
    return None


def repacked_page(
    message: MiniBlockLayout, pages: NumberPages, context: DecodeContext
) -> tuple[PageLayout, list[pa.Buffer]]:
    """A page with the packed values of ``pages``, like `number_page` of `numbers_of`.

    One kernel does it, which takes half the time.
    """
    large = message.has_large_chunk
    table, num_chunks = pages.table(large)
    bits = message.value_compression.inline_bitpacking.uncompressed_bits_per_value
    owners = np.repeat(pages.chunks.owners, num_chunks)
    chunks = PackedSlices(pages.chunks.buffers, owners, table.starts, table.stops, table.counts)
    data, sizes = context.kernels.repack_chunks(chunks, bits, large)
    total = int(pages.num_values.sum())
    counts, _ = split_sizes(total, CHUNK, bits)
    return _layout(message, total), [chunk_words(sizes, counts, large), data]


def numbers_of(message: MiniBlockLayout, pages: NumberPages, context: DecodeContext) -> FixedWidth:
    """The values of ``pages``, whose messages equal ``message`` but for their numbers of values.

    Raises `CorruptFileError` if the bytes contradict it.
    """
    kernels, large = context.kernels, message.has_large_chunk
    table, num_chunks = pages.table(large)
    data = pages.chunks.joined(kernels.join_slices)
    lengths = pages.chunks.sizes
    starts = table.starts + np.repeat(
        np.cumsum(lengths) - lengths - pages.chunks.starts, num_chunks
    )
    parts = chunk_parts(_form(large), data, starts, table.stops - table.starts, kernels)
    return as_fixed(decode(message.value_compression, parts.values(table.counts), context))


def number_page(
    message: MiniBlockLayout, values: FixedWidth, context: DecodeContext
) -> tuple[PageLayout, list[pa.Buffer]]:
    """A page like that of ``message`` with other values, and its buffers."""
    codec = message.value_compression.WhichOneof("compression")
    assert codec is not None
    target = Target(Place.MINI_BLOCK, context.registry)
    encoded = encode(values, target.with_chain(codec))
    part = ChunkPart(encoded.buffers[0], encoded.sizes[0])
    chunks = Chunks(np.zeros(len(encoded.counts), np.int64), (), [part])
    large = message.has_large_chunk
    data, sizes = chunk_bytes(_form(large), chunks, context.kernels)
    return _layout(message, values.count), [chunk_words(sizes, encoded.counts, large), data]


def joined_numbers(parts: Sequence[FixedWidth]) -> FixedWidth:
    """Values of the same whole bytes, one part after the other."""
    if len(parts) == 1:
        return parts[0]
    octets = np.concatenate([part.octets() for part in parts])
    return FixedWidth(pa.py_buffer(octets), parts[0].bits, sum(part.count for part in parts))


def _layout(message: MiniBlockLayout, num_values: int) -> PageLayout:
    layout = PageLayout()
    layout.mini_block_layout.CopyFrom(message)
    layout.mini_block_layout.num_items = num_values
    return layout


def _form(large: bool) -> ChunkForm:
    return ChunkForm(has_rep=False, has_def=False, num_buffers=1, large=large)
