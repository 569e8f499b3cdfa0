"""Encode the values and levels of many small columns at once, and assemble a page of each.

All columns have the same number of rows, and the chunks of all columns follow each other. The bytes
are those of `lance_core.encodings.v2_1.pages.mini_block.writer`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import CompressiveEncoding, MiniBlockLayout, PageLayout
from lance_core.encodings.kernels.numpy.bitpacking import CHUNK
from lance_core.encodings.page import EncodedPage
from lance_core.encodings.v2_1.codecs.base import Place, Target, encode
from lance_core.encodings.v2_1.codecs.bitpacking import packed_blocks
from lance_core.encodings.v2_1.codecs.values import FixedWidth, VariableWidth
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
from lance_core.encodings.v2_1.selection.blocks import encode_levels
from lance_core.encodings.v2_1.selection.cost import Integers
from lance_core.encodings.v2_1.selection.options import NO_OPTIONS
from lance_core.encodings.v2_1.selection.values import mini_block_values
from lance_core.encodings.version import FileVersion

if TYPE_CHECKING:
    from lance_core.encodings.context import EncodeContext
    from lance_core.encodings.decoding import Int64Array
    from lance_core.encodings.v2_1.pages.mini_block.writer import StoredDictionary
    from lance_core.store.base import BytesLike


class GroupValues(NamedTuple):
    """Encoded values of columns. Column c has the chunks ``edges[c]`` to ``edges[c + 1]``.

    Chunk k takes the next ``sizes[k]`` bytes of ``data`` and has ``counts[k]`` values.
    ``encodings`` has one item for each column, or a single one for all.
    """

    encodings: Sequence[CompressiveEncoding]
    data: pa.Buffer
    sizes: Int64Array
    counts: Int64Array
    edges: Int64Array


def fixed_values(
    words: npt.NDArray[np.unsignedinteger], count: int, key: str, context: EncodeContext
) -> GroupValues:
    """Encode rows of ``count`` values by the codec ``key``, ``inline_bitpacking`` or ``flat``.

    ``words`` is padded with zeros to whole chunks of 1024 values.
    """
    values = words[:, :count]
    one = encode(FixedWidth.of(values[0]), Target(Place.MINI_BLOCK, context.registry, (key,)))
    if key == "flat":
        data = pa.py_buffer(np.ascontiguousarray(values))
        sizes = np.tile(one.sizes[0], len(words))
    else:
        packed, sizes = context.kernels.pack_inline(words.reshape(-1))
        data = pa.py_buffer(packed)
    edges = np.arange(len(words) + 1) * len(one.counts)
    return GroupValues([one.encoding], data, sizes, np.tile(one.counts, len(words)), edges)


def text_values(
    columns: Sequence[VariableWidth], type_: pa.DataType, context: EncodeContext
) -> GroupValues:
    """Encode columns of texts of one type, each as `mini_block_values` selects it."""
    parts = [mini_block_values(values, type_, NO_OPTIONS, context) for values in columns]
    data = pa.py_buffer(np.concatenate([np.frombuffer(one.buffers[0], np.uint8) for one in parts]))
    sizes = np.concatenate([one.sizes[0] for one in parts])
    counts = np.concatenate([one.counts for one in parts])
    edges = np.cumsum([0, *(len(one.counts) for one in parts)])
    return GroupValues([one.encoding for one in parts], data, sizes, counts, edges)


def may_have_runs(
    definition: npt.NDArray[np.uint16], context: EncodeContext
) -> npt.NDArray[np.bool_]:
    """For each row of levels, of which one is 1, if it may be run-length encoded."""
    if context.version < FileVersion.V2_2:
        return np.zeros(len(definition), np.bool_)
    count = definition.shape[1]
    widths = np.ones(-(-count // CHUNK), np.int64)
    first = Integers(definition[0], widths, context.kernels)
    runs = 1 + np.count_nonzero(definition[:, 1:] != definition[:, :-1], axis=1)
    return np.asarray(runs <= first.most_block_runs)


def group_pages(
    values: GroupValues,
    definition: npt.NDArray[np.uint16] | None,
    dictionaries: Sequence[StoredDictionary | None],
    count: int,
    context: EncodeContext,
) -> list[EncodedPage] | None:
    """The pages of columns of ``count`` rows; None if a chunk is too large.

    ``definition`` has a row of levels for each column; each row has zeros and ones, and none
    `may_have_runs`.
    """
    large = context.version >= FileVersion.V2_2
    valid = None if definition is None else definition[0] == 0
    message = MiniBlockLayout(
        value_compression=values.encodings[0],
        layers=layers_of(ravel((ItemLayer(count, valid),))),
        num_buffers=1,
        num_items=count,
        has_large_chunk=large,
    )
    levels = []
    if definition is not None:
        encoding, part = _levels(definition, values, context)
        message.def_compression.CopyFrom(encoding)
        levels.append(part)
    form = ChunkForm(False, bool(levels), 1, large)
    num_levels = values.counts if levels else np.zeros(len(values.counts), np.int64)
    chunks = Chunks(num_levels, levels, [ChunkPart(values.data, values.sizes)])
    if not chunks_fit(form, chunks):
        return None
    joined, totals = chunk_bytes(form, chunks, context.kernels)
    table = chunk_words(totals, values.counts, large, values.edges[1:] - 1)
    stops = np.concatenate([np.zeros(1, np.int64), totals.cumsum()])[values.edges]
    words = values.edges * (4 if large else 2)
    buffers = zip(_slices(table, words), _slices(joined, stops), strict=True)
    return _pages(message, list(buffers), values.encodings, dictionaries)


def _pages(
    message: MiniBlockLayout,
    buffers: Sequence[tuple[memoryview, memoryview]],
    encodings: Sequence[CompressiveEncoding],
    dictionaries: Sequence[StoredDictionary | None],
) -> list[EncodedPage]:
    """A page of each column; ``message`` has what the layouts of all have in common."""
    count = message.num_items
    if len(encodings) == 1 and not any(dictionaries):
        raw = PageLayout(mini_block_layout=message).SerializeToString()
        return [EncodedPage(0, pair, raw, count, 0) for pair in buffers]
    pages = []
    for place, (pair, dictionary) in enumerate(zip(buffers, dictionaries, strict=True)):
        own: tuple[BytesLike, ...] = pair
        if len(encodings) > 1:
            message.value_compression.CopyFrom(encodings[place])
        if dictionary is not None:
            message.dictionary.CopyFrom(dictionary.encoding)
            message.num_dictionary_items = dictionary.count
            own = (*pair, dictionary.data)
        raw = PageLayout(mini_block_layout=message).SerializeToString()
        pages.append(EncodedPage(0, own, raw, count, 0))
    return pages


def _slices(data: pa.Buffer, edges: Int64Array) -> list[memoryview]:
    """The bytes between consecutive edges."""
    view, places = memoryview(data), edges.tolist()
    return [view[start:stop] for start, stop in pairwise(places)]


def _levels(
    definition: npt.NDArray[np.uint16], values: GroupValues, context: EncodeContext
) -> tuple[CompressiveEncoding, ChunkPart]:
    """Encode the levels of all chunks, as `encode_levels` does for each column."""
    counts, own = values.counts, values.counts[: values.edges[1]]
    first = np.concatenate([np.zeros(1, np.int64), own.cumsum()])
    encoding = encode_levels(definition[0], first, context)[0]
    levels: LevelArray = definition.reshape(-1)
    codec = encoding.WhichOneof("compression")
    if codec == "flat":
        return encoding, ChunkPart(pa.py_buffer(levels), counts * 2)
    if codec == "out_of_line_bitpacking":
        packed = packed_blocks(levels, counts, 1, context.kernels)
        return encoding, ChunkPart(packed.buffers[0], packed.sizes[0])
    assert codec == "inline_bitpacking"  # each chunk is packed alone
    spread = np.zeros((len(counts), CHUNK), np.uint16)
    spread[np.arange(CHUNK) < counts[:, None]] = levels
    data, sizes = context.kernels.pack_inline(spread.reshape(-1))
    return encoding, ChunkPart(pa.py_buffer(data), sizes)
