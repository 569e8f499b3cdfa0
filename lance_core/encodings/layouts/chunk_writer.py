"""The bytes of the chunks of a mini-block page, put together from their parts.

The reverse of `lance_core.encodings.layouts.chunk_parts` and ``chunk_table``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings.decoding import Int64Array
from lance_core.encodings.layouts.chunk_parts import ChunkForm

Bytes = npt.NDArray[np.uint8]

_FILL = 0xFE
_ALIGNMENT = 8
_MOST_LEVELS = _MOST_LEVEL_BYTES = (1 << 16) - 1
_MOST_SMALL = 1 << 15
_MOST_LARGE = (1 << 31) - 1


class ChunkPart(NamedTuple):
    """What all chunks have of one kind, one after the other; ``sizes``: bytes of each chunk."""

    data: pa.Buffer
    sizes: Int64Array


class Chunks(NamedTuple):
    """Chunks of a page: their number of levels, the parts of levels, those of values."""

    num_levels: Int64Array
    levels: Sequence[ChunkPart]
    values: Sequence[ChunkPart]


def header_bytes(form: ChunkForm) -> int:
    """Bytes at the start of each chunk."""
    return 2 * (1 + form.has_rep + form.has_def) + form.num_buffers * (4 if form.large else 2)


def values_fit(form: ChunkForm, values: Sequence[ChunkPart]) -> bool:
    """Whether chunks of these values alone, without levels, are not too large."""
    sizes, _ = _places(form, Chunks(values[0].sizes, (), values))
    return _within(sizes, form.large)


def chunks_fit(form: ChunkForm, chunks: Chunks) -> bool:
    """Whether all sizes can be written."""
    if int(chunks.num_levels.max()) > _MOST_LEVELS:
        return False
    if any(int(part.sizes.max()) > _MOST_LEVEL_BYTES for part in chunks.levels):
        return False
    sizes, _ = _places(form, chunks)
    return _within(sizes, form.large)


def chunk_bytes(form: ChunkForm, chunks: Chunks) -> tuple[pa.Buffer, Int64Array]:
    """The chunks, which fit, and the bytes of each."""
    sizes, places = _places(form, chunks)
    parts = [*chunks.levels, *chunks.values]
    header = _header(form, chunks)
    octets = [np.frombuffer(part.data, np.uint8) for part in parts]
    whole = np.full(int(sizes.sum()), _FILL, np.uint8)
    alike = _number_alike([part.sizes for part in parts])
    stride = int(sizes[0])
    table = whole[: alike * stride].reshape(alike, stride)
    table[:, : header.shape[1]] = header[:alike]
    for part, data, at in zip(parts, octets, places, strict=True):
        size, first = int(part.sizes[0]), int(at[0])
        table[:, first : first + size] = data[: alike * size].reshape(alike, size)
    starts = (np.cumsum(sizes) - sizes)[alike:]
    for start, one in zip(starts.tolist(), header[alike:], strict=True):
        whole[start : start + len(one)] = one
    for part, data, at in zip(parts, octets, places, strict=True):
        begin = np.cumsum(part.sizes) - part.sizes
        spans = zip(
            (starts + at[alike:]).tolist(),
            begin[alike:].tolist(),
            part.sizes[alike:].tolist(),
            strict=True,
        )
        for to, source, size in spans:
            whole[to : to + size] = data[source : source + size]
    return pa.py_buffer(whole), sizes


def chunk_words(sizes: Int64Array, counts: Int64Array, large: bool) -> pa.Buffer:
    """What page buffer 0 says of chunks of ``sizes`` bytes and ``counts`` values."""
    logs = np.log2(np.maximum(counts, 1)).astype(np.int64)
    logs[-1] = 0
    words = (sizes // _ALIGNMENT - 1) << 4 | logs
    return pa.py_buffer(words.astype("<u4" if large else "<u2"))


def _places(form: ChunkForm, chunks: Chunks) -> tuple[Int64Array, list[Int64Array]]:
    """The bytes of each chunk, and for each part where it begins in each chunk."""
    place = _aligned(np.full(len(chunks.num_levels), header_bytes(form)))
    places = []
    for part in (*chunks.levels, *chunks.values):
        places.append(place)
        place = _aligned(place + part.sizes)
    return place, places


def _header(form: ChunkForm, chunks: Chunks) -> Bytes:
    columns = [chunks.num_levels, *(part.sizes for part in chunks.levels)]
    pieces = [column.astype("<u2")[:, None].view(np.uint8) for column in columns]
    unit = "<u4" if form.large else "<u2"
    pieces += [part.sizes.astype(unit)[:, None].view(np.uint8) for part in chunks.values]
    return np.concatenate(pieces, axis=1)


def _number_alike(sizes: Sequence[Int64Array]) -> int:
    """How many chunks from the first one on have parts of the same sizes."""
    same = np.ones(len(sizes[0]), np.bool_)
    for each in sizes:
        same &= each == each[0]
    return len(same) if same.all() else int(np.argmin(same))


def _within(sizes: Int64Array, large: bool) -> bool:
    return int(np.max(sizes)) <= (_MOST_LARGE if large else _MOST_SMALL)


def _aligned(place: Int64Array) -> Int64Array:
    return (place + (_ALIGNMENT - 1)) // _ALIGNMENT * _ALIGNMENT
