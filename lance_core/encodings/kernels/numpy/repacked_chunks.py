"""Move packed numbers to other chunks of mini-block pages, which have no levels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lance_core.encodings.decoding import Int64Array
from lance_core.encodings.kernels.numpy.bitpacking import (
    CHUNK,
    WIDTHS,
    pack_inline,
    unpack_inline,
)
from lance_core.encodings.kernels.numpy.buffer_slices import check_slices, join_slices
from lance_core.encodings.kernels.numpy.chunk_headers import chunk_headers
from lance_core.encodings.kernels.numpy.chunk_spans import interleave_chunks
from lance_core.errors import CorruptFileError

# Of the parts of chunks, as the format and pylance have them: docs/format/file-2.1.md.
_ALIGNMENT, _FILL = 8, 0xFE


class PackedSlices(NamedTuple):
    """Chunks in several buffers; chunk i has ``counts[i]`` values.

    It is the slice ``starts[i]`` to ``stops[i]`` of ``buffers[owners[i]]``.
    """

    buffers: Sequence[pa.Buffer]
    owners: Int64Array
    starts: Int64Array
    stops: Int64Array
    counts: Int64Array


def repack_chunks(chunks: PackedSlices, bits: int, large: bool) -> tuple[pa.Buffer, Int64Array]:
    """See `lance_core.encodings.kernels.Kernels.repack_chunks`."""
    check_packed(chunks, bits)
    buffers, owners, starts, stops, counts = chunks
    data = join_slices(buffers, owners, starts, stops)
    sizes = stops - starts
    table = chunk_headers(data, np.cumsum(sizes) - sizes, sizes, 0, 1, large).reshape(3, -1)
    words = unpack_inline(data, table[1], table[2], counts, bits)
    packed, packed_sizes = pack_inline(words)
    headers = np.zeros(len(packed_sizes), [("levels", "<u2"), ("size", "<u4" if large else "<u2")])
    headers["size"] = packed_sizes
    lengths = np.stack([np.full(len(headers), headers.itemsize), packed_sizes])
    return interleave_chunks([headers.view(np.uint8), packed], lengths, _ALIGNMENT, _FILL)


def check_packed(chunks: PackedSlices, bits: int) -> int:
    """The number of chunks of all values. Raises as `repack_chunks` does."""
    counts = chunks.counts
    check_slices(chunks.owners, chunks.starts, chunks.stops)
    if len(counts) != len(chunks.owners) or bits not in WIDTHS:
        raise CorruptFileError(f"{len(counts)} chunks of values of {bits} bits cannot be packed")
    if len(counts) and not 0 <= counts.min() <= counts.max() <= CHUNK:
        raise CorruptFileError("a chunk has more values than are packed together")
    return max(1, -(-int(counts.sum()) // CHUNK))
