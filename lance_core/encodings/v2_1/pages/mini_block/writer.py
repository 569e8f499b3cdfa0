"""Write mini-block pages (message ``MiniBlockLayout``) from levels and encoded values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import CompressiveEncoding, MiniBlockLayout, PageLayout
from lance_core.encodings.arrow.spans import edges_of
from lance_core.encodings.decoding import Int64Array
from lance_core.encodings.kernels import Kernels
from lance_core.encodings.v2_1.codecs.base import Encoded
from lance_core.encodings.v2_1.levels.repdef import LevelArray, Levels
from lance_core.encodings.v2_1.pages.encoded_page import LayoutPage, layers_of
from lance_core.encodings.v2_1.pages.mini_block.chunk_parts import ChunkForm
from lance_core.encodings.v2_1.pages.mini_block.chunk_writer import (
    SURELY_FITS,
    ChunkPart,
    Chunks,
    chunk_bytes,
    chunk_words,
    chunks_fit,
    values_fit,
)
from lance_core.lazy_dataclass import dataclass

LevelEncoder = Callable[[LevelArray, Int64Array], tuple[CompressiveEncoding, pa.Buffer, Int64Array]]
"""Encodes levels, cut into chunks at edges, to a message, bytes, and the bytes per chunk."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredDictionary:
    """The encoded dictionary of a page, with ``count`` items."""

    encoding: CompressiveEncoding
    data: pa.Buffer
    count: int


def mini_block_can_hold(levels: Levels, values: Encoded, large: bool) -> bool:
    """True if chunks of these values, without their levels, fit into a page."""
    size = sum(map(len, values.buffers))
    return size < SURELY_FITS or values_fit(_form(levels, values, large), _parts(values))


def mini_block_page(
    levels: Levels,
    values: Encoded,
    encode_levels: LevelEncoder,
    large: bool,
    kernels: Kernels,
    dictionary: StoredDictionary | None = None,
) -> LayoutPage | None:
    """A page of at least one value; None if a chunk has too many levels.

    ``large``: True for chunks with 32-bit sizes (2.2).
    """
    edges = level_edges(levels, values.counts)
    message = MiniBlockLayout(
        value_compression=values.encoding,
        layers=layers_of(levels),
        num_buffers=len(values.buffers),
        num_items=int(np.add.reduce(values.counts)),
        has_large_chunk=large,
    )
    parts = []
    if levels.rep is not None:
        encoding, data, sizes = encode_levels(levels.rep, edges)
        message.rep_compression.CopyFrom(encoding)
        parts.append(ChunkPart(data, sizes))
    if levels.definition is not None:
        encoding, data, sizes = encode_levels(levels.definition, edges)
        message.def_compression.CopyFrom(encoding)
        parts.append(ChunkPart(data, sizes))
    num_levels = edges[1:] - edges[:-1] if parts else np.zeros(len(values.counts), np.int64)
    form, chunks = _form(levels, values, large), Chunks(num_levels, parts, _parts(values))
    if not chunks_fit(form, chunks):
        return None
    data, sizes = chunk_bytes(form, chunks, kernels)
    buffers = [chunk_words(sizes, values.counts, large), data]
    if dictionary is not None:
        message.dictionary.CopyFrom(dictionary.encoding)
        message.num_dictionary_items = dictionary.count
        buffers.append(dictionary.data)
    if levels.rep is not None:
        message.repetition_index_depth = 1
        buffers.append(_repetition_index(levels.rep == levels.kinds.max_rep, edges))
    return LayoutPage(PageLayout(mini_block_layout=message), buffers)


def level_edges(levels: Levels, counts: Int64Array) -> Int64Array:
    """The first level of each chunk of ``counts`` values, then the number of levels.

    A chunk ends with the level of its last value. Levels without a value that follow belong to the
    next chunk, or to the last chunk if there is no next one.
    """
    edges = edges_of(counts)
    visible = levels.visible()
    if visible is not None:
        positions = np.flatnonzero(visible)
        edges[1:-1] = positions[edges[1:-1] - 1] + 1
    edges[-1] = levels.count
    return edges


def _form(levels: Levels, values: Encoded, large: bool) -> ChunkForm:
    has_rep, has_def = levels.rep is not None, levels.definition is not None
    return ChunkForm(has_rep, has_def, len(values.buffers), large)


def _parts(values: Encoded) -> list[ChunkPart]:
    return [ChunkPart(*part) for part in zip(values.buffers, values.sizes, strict=True)]


def _repetition_index(is_start: np.ndarray, edges: Int64Array) -> pa.Buffer:
    """For each chunk the number of rows that end in it, and of levels of the row that continues."""
    starts = np.flatnonzero(is_start)
    before = np.searchsorted(starts, edges)
    first_starts = is_start[edges[:-1]]
    # A row ends where the next one starts. A start at the first level of a chunk ends a row of the
    # chunk before; this is added below, and for the last chunk the end of the page.
    rows = np.diff(before) - first_starts
    begun = np.maximum(starts[before[1:] - 1], edges[:-1])
    left = edges[1:] - begun
    ends = np.append(first_starts[1:], True)
    rows[ends] += 1
    left[ends] = 0
    return pa.py_buffer(np.stack([rows, left], axis=1).astype("<u8"))
