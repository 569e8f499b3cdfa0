"""Write mini-block pages (message ``MiniBlockLayout``) from levels and encoded values."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import CompressiveEncoding, MiniBlockLayout, PageLayout
from lance_core.encodings.arrow.spans import edges_of
from lance_core.encodings.decoding import Int64Array
from lance_core.encodings.kernels import Kernels
from lance_core.encodings.v2_1.codecs.base import Encoded
from lance_core.encodings.v2_1.levels.repdef import LevelArray, Levels
from lance_core.encodings.v2_1.pages.encoded_page import LayoutPage
from lance_core.encodings.v2_1.pages.mini_block.chunk_parts import ChunkForm
from lance_core.encodings.v2_1.pages.mini_block.chunk_writer import (
    ChunkPart,
    Chunks,
    chunk_buffers,
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
    return values_fit(_form(levels, values, large), _parts(values))


class _LayoutFacts(NamedTuple):
    """What the message of a page says. Encodings are serialized, and empty if there are none."""

    kinds: tuple[int, ...]
    values: bytes
    num_buffers: int
    num_items: int
    large: bool
    repetition: bytes
    definition: bytes
    dictionary: bytes
    num_dictionary_items: int


@lru_cache(maxsize=128)
def _layout(facts: _LayoutFacts) -> PageLayout:
    """The message of a page, which must not be changed: the pages of many files have the same."""
    message = MiniBlockLayout(
        layers=facts.kinds,  # type: ignore[arg-type]  # numbers of an enumeration
        num_buffers=facts.num_buffers,
        num_items=facts.num_items,
        has_large_chunk=facts.large,
    )
    message.value_compression.MergeFromString(facts.values)
    if facts.repetition:
        message.rep_compression.MergeFromString(facts.repetition)
        message.repetition_index_depth = 1
    if facts.definition:
        message.def_compression.MergeFromString(facts.definition)
    if facts.dictionary:
        message.dictionary.MergeFromString(facts.dictionary)
        message.num_dictionary_items = facts.num_dictionary_items
    return PageLayout(mini_block_layout=message)


def mini_block_page(
    levels: Levels,
    values: Encoded,
    encode_levels: LevelEncoder,
    large: bool,
    kernels: Kernels,
    dictionary: StoredDictionary | None = None,
) -> LayoutPage | None:
    """A page of at least one value; None if a chunk is too large or has too many levels.

    ``large``: True for chunks with 32-bit sizes (2.2).
    """
    rep, definition, counts = levels.rep, levels.definition, values.counts
    encodings, parts = [], []
    num_levels = np.zeros(len(counts), np.int64)
    if rep is not None or definition is not None:
        edges = level_edges(levels, counts)
        num_levels = edges[1:] - edges[:-1]
        for stream in (rep, definition):
            if stream is not None:
                encoding, data, sizes = encode_levels(stream, edges)
                encodings.append(encoding.SerializeToString())
                parts.append(ChunkPart(data, sizes))
    form, chunks = _form(levels, values, large), Chunks(num_levels, parts, _parts(values))
    if not chunks_fit(form, chunks):
        return None
    buffers = chunk_buffers(form, chunks, counts, kernels)
    items, num_items = b"", 0
    if dictionary is not None:
        items, num_items = dictionary.encoding.SerializeToString(), dictionary.count
        buffers.append(dictionary.data)
    if rep is not None:
        buffers.append(repetition_index(rep == levels.kinds.max_rep, edges))
    facts = _LayoutFacts(
        levels.kinds.kinds,
        values.encoding.SerializeToString(),
        len(values.buffers),
        int(np.add.reduce(counts)),
        large,
        encodings[0] if rep is not None else b"",
        encodings[-1] if definition is not None else b"",
        items,
        num_items,
    )
    return LayoutPage(_layout(facts), buffers)


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


def repetition_index(is_start: np.ndarray, edges: Int64Array) -> pa.Buffer:
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
