"""Assemble the chunks of a mini-block page from their parts.

The reverse of `lance_core.encodings.v2_1.pages.mini_block.chunk_parts` and ``chunk_table``.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.byte_ranges import BytesLike
from lance_core.encodings.decoding import Int64Array
from lance_core.encodings.kernels import Kernels
from lance_core.encodings.v2_1.pages.mini_block.chunk_parts import ChunkForm

Bytes = npt.NDArray[np.uint8]

Sizes = TypeVar("Sizes", int, Int64Array)

_FILL = 0xFE
_ALIGNMENT = 8
_FILLS = [bytes([_FILL]) * size for size in range(_ALIGNMENT)]
MOST_LEVELS = _MAX_LEVEL_BYTES = (1 << 16) - 1
"""Maximum levels of a chunk, and bytes of its levels: the header stores both in 16 bits."""
_MAX_SMALL = 1 << 15
_MAX_LARGE = (1 << 31) - 1

_FEW_CHUNKS = 16
"""Maximum number of chunks to arrange one by one: a kernel takes longer, even for two chunks."""


class ChunkPart(NamedTuple):
    """One part of all chunks, concatenated; ``sizes`` are its bytes in each chunk."""

    data: pa.Buffer
    sizes: Int64Array


class Chunks(NamedTuple):
    """The number of levels of each chunk, the parts of levels, and the parts of values."""

    num_levels: Int64Array
    levels: Sequence[ChunkPart]
    values: Sequence[ChunkPart]


def header_bytes(form: ChunkForm) -> int:
    """Bytes of the header of each chunk."""
    return 2 * (1 + form.has_rep + form.has_def) + form.num_buffers * (4 if form.large else 2)


def values_fit(form: ChunkForm, values: Sequence[ChunkPart]) -> bool:
    """True if chunks with these values, but without levels, do not exceed the maximum size."""
    return _fit(form, values[0].sizes, values)


def chunks_fit(form: ChunkForm, chunks: Chunks) -> bool:
    """True if the header and chunk word fields can hold all sizes."""
    if chunks.levels and np.maximum.reduce(chunks.num_levels) > MOST_LEVELS:
        return False
    for part in chunks.levels:
        if part.sizes.max() > _MAX_LEVEL_BYTES:
            return False
    return _fit(form, chunks.num_levels, (*chunks.levels, *chunks.values))


def chunk_buffers(
    form: ChunkForm, chunks: Chunks, counts: Int64Array, kernels: Kernels
) -> list[pa.Buffer]:
    """Buffers 0 and 1 of a page: the words and the bytes of its chunks, which must fit.

    Chunk c has ``counts[c]`` values.
    """
    if len(counts) > _FEW_CHUNKS:
        data, sizes = chunk_bytes(form, chunks, kernels)
        return [chunk_words(sizes, counts, form.large), data]
    data, totals = _few_chunks(form, chunks)
    # As `chunk_words`, which takes longer for so few.
    logs = [max(count, 1).bit_length() - 1 for count in counts.tolist()]
    logs[-1] = 0
    words = [(total // _ALIGNMENT - 1) << 4 | log for total, log in zip(totals, logs, strict=True)]
    packed = struct.pack(f"<{len(words)}{'I' if form.large else 'H'}", *words)
    return [pa.py_buffer(packed), data]


def chunk_bytes(form: ChunkForm, chunks: Chunks, kernels: Kernels) -> tuple[pa.Buffer, Int64Array]:
    """The bytes of all chunks, which must fit (`chunks_fit`), and the size of each."""
    if len(chunks.num_levels) <= _FEW_CHUNKS:
        data, totals = _few_chunks(form, chunks)
        return data, np.array(totals)
    header = _header(form, chunks)
    heads = np.full(len(header), header.shape[1], np.int64)
    parts = [*chunks.levels, *chunks.values]
    octets = [np.frombuffer(part.data, np.uint8)[: int(part.sizes.sum())] for part in parts]
    sizes = np.stack([heads, *(part.sizes for part in parts)])
    return kernels.interleave_chunks([header.reshape(-1), *octets], sizes, _ALIGNMENT, _FILL)


def _few_chunks(form: ChunkForm, chunks: Chunks) -> tuple[pa.Buffer, list[int]]:
    """`chunk_bytes` of a page of at most `_FEW_CHUNKS` chunks."""
    parts = (*chunks.levels, *chunks.values)
    views = [memoryview(part.data) for part in parts]
    unit = f"{len(chunks.values)}{'I' if form.large else 'H'}"
    fields = f"<{1 + len(chunks.levels)}H{unit}"
    pieces: list[BytesLike] = []
    totals = []
    starts = [0] * len(parts)
    columns = [chunks.num_levels.tolist(), *[part.sizes.tolist() for part in parts]]
    for numbers in zip(*columns, strict=True):
        head = struct.pack(fields, *numbers)
        fill = -len(head) % _ALIGNMENT
        pieces += (head, _FILLS[fill])
        total = len(head) + fill
        for i, size in enumerate(numbers[1:]):
            start, fill = starts[i], -size % _ALIGNMENT
            starts[i] = stop = start + size
            pieces.append(views[i][start:stop])
            if fill:
                pieces.append(_FILLS[fill])
            total += size + fill
        totals.append(total)
    return pa.py_buffer(b"".join(pieces)), totals


def chunk_words(
    sizes: Int64Array, counts: Int64Array, large: bool, lasts: Int64Array | int = -1
) -> pa.Buffer:
    """The chunk words (page buffer 0) for chunks of ``sizes`` bytes and ``counts`` values.

    ``lasts``: the last chunk of the page, or of each of several pages.
    """
    logs = np.log2(np.maximum(counts, 1)).astype(np.int64)
    # The last chunk has the rest of the page, which need not be a power of two of values.
    logs[lasts] = 0
    # Sizes are in units of 8 bytes, of which there is at least one, above the 4 bits of the log.
    words = (sizes // _ALIGNMENT - 1) << 4 | logs
    return pa.py_buffer(words.astype("<u4" if large else "<u2"))


def _fit(form: ChunkForm, like: Int64Array, parts: Sequence[ChunkPart]) -> bool:
    """True if chunks, with padding, fit their words; ``like`` has an entry for each of them."""
    limit = _MAX_LARGE if form.large else _MAX_SMALL
    # All fit if one chunk could hold the bytes of all, with padding after the header and each part.
    total = header_bytes(form) + _ALIGNMENT * (1 + len(parts))
    for part in parts:
        total += part.data.size
    if total <= limit:
        return True
    sizes = np.zeros(len(like), np.int64)
    sizes += _aligned(header_bytes(form))
    for part in parts:
        sizes += _aligned(part.sizes)
    return bool(sizes.max() <= limit)


def _header(form: ChunkForm, chunks: Chunks) -> Bytes:
    columns = [chunks.num_levels, *(part.sizes for part in chunks.levels)]
    # A row of bytes for each chunk, so that fields of 2 and of 4 bytes can follow each other.
    pieces = [column.astype("<u2")[:, None].view(np.uint8) for column in columns]
    unit = "<u4" if form.large else "<u2"
    pieces += [part.sizes.astype(unit)[:, None].view(np.uint8) for part in chunks.values]
    return np.concatenate(pieces, axis=1)


def _aligned(positions: Sizes) -> Sizes:
    return (positions + (_ALIGNMENT - 1)) // _ALIGNMENT * _ALIGNMENT
