"""Chunks of variable-width values.

A chunk of n values starts with n + 1 offsets of 4 or 8 bytes each, which count from the start of
the chunk. The bytes of the values follow, then padding bytes 0x48 up to a multiple of the offset
width.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lance_core.encodings.arrow.coalesced_take import MAX_OFFSET
from lance_core.encodings.decoding import Int64Array, Offsets
from lance_core.encodings.kernels.numpy.chunk_spans import Bytes, check_spans, joined_spans
from lance_core.encodings.kernels.numpy.single_packed import PackedPositions, bytes_at, check_places
from lance_core.errors import CorruptFileError, InvalidInputError

MAX_VALUES = 2048
"""Maximum values of a chunk; the last chunk may have up to twice as many."""

_PADDING = 0x48


class VariableChunks(NamedTuple):
    """Chunks of variable-width values in one array.

    Chunk i takes ``sizes[i]`` bytes at ``starts[i]`` of ``data`` and has ``counts[i]`` values.
    Offsets take ``width`` bytes, 4 or 8.
    """

    data: Bytes
    starts: Int64Array
    sizes: Int64Array
    counts: Int64Array
    width: int


def join_variable(chunks: VariableChunks) -> tuple[Offsets, pa.Buffer]:
    """See `lance_core.encodings.kernels.Kernels.join_variable`."""
    data, starts, sizes, counts, width = chunks
    if width not in (4, 8):
        raise CorruptFileError(f"offsets have {width} bytes instead of 4 or 8")
    check_spans(data, starts, sizes, counts)
    if not len(counts):
        return no_offsets(1, width == 4), pa.py_buffer(b"")
    if (counts >= sizes // width).any():
        raise CorruptFileError("a chunk has fewer bytes than the offsets of its values")
    heads = (counts + 1) * width
    stored: Int64Array = joined_spans(data, starts, heads).view(f"<u{width}").astype(np.int64)
    ends = np.cumsum(counts + 1)
    # Check the offsets of all chunks at once; the steps between chunks do not matter.
    first, last = stored[ends - counts - 1], stored[ends - 1]
    steps = np.diff(stored)
    steps[ends[:-1] - 1] = 0
    if (first != heads).any() or (last > sizes).any() or (steps < 0).any() or last.min() < 0:
        raise CorruptFileError("the offsets of a chunk do not ascend within it")
    lengths = last - first
    if lengths.sum() > len(data):
        raise CorruptFileError("chunks overlap")
    # Move the offsets of each chunk to the position of its values in the joined bytes. The last
    # offset of a chunk then equals the first one of the next chunk, so delete it.
    stored += np.repeat(np.cumsum(lengths) - lengths - first, counts + 1)
    offsets: Offsets = np.delete(stored, ends[:-1] - 1)
    if width == 4 and offsets[-1] <= MAX_OFFSET:
        offsets = offsets.astype(np.int32)
    text = joined_spans(data, starts + first, lengths)
    return offsets, pa.py_buffer(text if text.flags.c_contiguous else text.copy())


def pick_spans(chunks: VariableChunks, picked: PackedPositions) -> tuple[Int64Array, Int64Array]:
    """See `lance_core.encodings.kernels.Kernels.pick_spans`."""
    data, starts, sizes, counts, width = chunks
    if width not in (4, 8):
        raise CorruptFileError(f"offsets have {width} bytes instead of 4 or 8")
    check_spans(data, starts, sizes, counts)
    if (counts >= sizes // width).any():
        raise CorruptFileError("a chunk has fewer bytes than the offsets of its values")
    check_places(picked, counts)
    begins = starts.take(picked.chunk)
    # Load the offset of each value and the next one together.
    stored = bytes_at(data, begins + picked.position * width, 2 * width).view(f"<u{width}")
    first, last = stored.astype(np.int64).reshape(-1, 2).T
    heads = ((counts + 1) * width).take(picked.chunk)
    inside = (first >= heads) & (last >= first) & (last <= sizes.take(picked.chunk))
    if not inside.all():
        raise CorruptFileError("the offsets of a chunk do not ascend within it")
    return begins + first, begins + last


def no_offsets(count: int, narrow: bool) -> Offsets:
    """``count`` zero offsets, of 4 bytes if ``narrow``, else of 8 bytes."""
    return np.zeros(count, np.int32) if narrow else np.zeros(count, np.int64)


def split_variable(
    octets: Bytes, offsets: Int64Array, width: int, limit: int, columns: int = 1
) -> tuple[pa.Buffer, Int64Array, Int64Array]:
    """See `lance_core.encodings.kernels.Kernels.split_variable`."""
    check_strings(octets, offsets, width, limit, columns)
    edges = _edges(offsets, width, limit, columns)
    sizes, counts = chunk_sizes(offsets, edges, width)
    out = np.full(int(sizes.sum()), _PADDING, np.uint8)
    words = out.view(f"<u{width}")
    spans = zip(edges[:-1].tolist(), edges[1:].tolist(), np.cumsum(sizes).tolist(), strict=True)
    offset = 0
    for start, stop, end in spans:
        head = (stop - start + 1) * width
        first, last = offsets[start], offsets[stop]
        words[offset // width : (offset + head) // width] = offsets[start : stop + 1] + (
            head - first
        )
        out[offset + head : offset + head + last - first] = octets[first:last]
        offset = end
    return pa.py_buffer(out), sizes, counts


def check_strings(octets: Bytes, offsets: Int64Array, width: int, limit: int, columns: int) -> None:
    """Raise `InvalidInputError` for arguments that `split_variable` rejects."""
    if width not in (4, 8) or limit < 0:
        raise InvalidInputError(f"chunks of {limit} bytes with offsets of {width}")
    if not len(offsets) or offsets[0] < 0 or offsets[-1] > len(octets):
        raise InvalidInputError(f"strings are not within {len(octets)} bytes")
    if np.logical_or.reduce(offsets[1:] < offsets[:-1]):
        raise InvalidInputError("the offsets of strings descend")
    if columns < 1 or (len(offsets) - 1) % columns:
        raise InvalidInputError(f"{columns} columns do not have {len(offsets) - 1} strings")


def chunk_sizes(
    offsets: Int64Array, edges: Int64Array, width: int
) -> tuple[Int64Array, Int64Array]:
    """Bytes and values of each chunk. Raises `InvalidInputError` if 4-byte offsets overflow."""
    counts = edges[1:] - edges[:-1]
    sizes = (counts + 1) * width + offsets[edges[1:]] - offsets[edges[:-1]]
    if width == 4 and np.maximum.reduce(sizes) >= 1 << 32:
        raise InvalidInputError("a chunk of 4 GiB or more")
    return sizes + (-sizes) % width, counts


def _edges(offsets: Int64Array, width: int, limit: int, columns: int) -> Int64Array:
    """The first value of each chunk, then the number of values.

    Starting from two values, the size of a chunk doubles while its offsets and bytes take at most
    ``limit`` bytes. The last chunk of a column may have up to twice as many values as the others.
    """
    count, edges = len(offsets) - 1, [0]
    # The bytes of a chunk from value a to value b are ends[b] - ends[a] plus one offset.
    ends = offsets + np.arange(count + 1, dtype=np.int64) * width
    for column in range(1, columns + 1):
        stop = count // columns * column
        while edges[-1] < stop:
            start = edges[-1]
            most = int(ends[start]) + limit - width
            fit = bisect_right(ends, most, start, min(start + 2 * MAX_VALUES, stop + 1)) - 1 - start
            left = stop - start
            if left <= 2 or (left <= fit and left < 2 * MAX_VALUES):
                size = left
            else:
                size = max(2, 1 << (min(fit, MAX_VALUES).bit_length() - 1)) if fit > 0 else 2
            edges.append(start + size)
    return np.array(edges if count else [0, 0], np.int64)
