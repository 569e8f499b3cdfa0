"""Values of variable width in chunks, each with offsets of its own.

A chunk has one offset more than values, of 4 or 8 bytes each, which count from its start; then the
bytes of the values; then 0x48 up to a multiple of the offsets' width.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings.compression.chunk_spans import Bytes, check_spans, joined_spans
from lance_core.encodings.decoding import Int64Array
from lance_core.encodings.gather import MAX_OFFSET
from lance_core.errors import CorruptFileError, InvalidInputError

Offsets = npt.NDArray[np.int32] | npt.NDArray[np.int64]

MOST_VALUES = 4096
"""Values that a chunk has at most, but for the last one."""

_PADDING = 0x48


class VariableChunks(NamedTuple):
    """Chunks of ``counts[i]`` values in ``sizes[i]`` bytes at ``starts[i]`` of ``data``.

    Offsets are of ``width`` bytes, 4 or 8.
    """

    data: Bytes
    starts: Int64Array
    sizes: Int64Array
    counts: Int64Array
    width: int


def join_variable(chunks: VariableChunks) -> tuple[Offsets, pa.Buffer]:
    """See `lance_core.encodings.kernels.join_variable`."""
    data, starts, sizes, counts, width = chunks
    if width not in (4, 8):
        raise CorruptFileError(f"offsets of {width} bytes")
    check_spans(data, starts, sizes, counts)
    if not len(counts):
        return no_offsets(1, width == 4), pa.py_buffer(b"")
    if (counts >= sizes // width).any():
        raise CorruptFileError("a chunk has fewer bytes than the offsets of its values")
    heads = (counts + 1) * width
    stored: Int64Array = joined_spans(data, starts, heads).view(f"<u{width}").astype(np.int64)
    ends = np.cumsum(counts + 1)
    first, last = stored[ends - counts - 1], stored[ends - 1]
    steps = np.diff(stored)
    steps[ends[:-1] - 1] = 0
    if (first != heads).any() or (last > sizes).any() or (steps < 0).any() or last.min() < 0:
        raise CorruptFileError("the offsets of a chunk do not ascend within it")
    lengths = last - first
    if lengths.sum() > len(data):
        raise CorruptFileError("chunks overlap")
    stored += np.repeat(np.cumsum(lengths) - lengths - first, counts + 1)
    offsets: Offsets = np.delete(stored, ends[:-1] - 1)
    if width == 4 and offsets[-1] <= MAX_OFFSET:
        offsets = offsets.astype(np.int32)
    text = joined_spans(data, starts + first, lengths)
    return offsets, pa.py_buffer(text if text.flags.c_contiguous else text.copy())


def no_offsets(count: int, narrow: bool) -> Offsets:
    """Offsets that are 0, of 4 or 8 bytes."""
    return np.zeros(count, np.int32) if narrow else np.zeros(count, np.int64)


def split_variable(
    octets: Bytes, offsets: Int64Array, width: int, limit: int
) -> tuple[pa.Buffer, Int64Array, Int64Array]:
    """See `lance_core.encodings.kernels.split_variable`."""
    check_strings(octets, offsets, width, limit)
    edges = _edges(offsets, width, limit)
    sizes, counts = chunk_sizes(offsets, edges, width)
    out = np.full(int(sizes.sum()), _PADDING, np.uint8)
    heads = (counts + 1) * width
    begins = np.cumsum(sizes) - sizes
    moved = offsets[edges[:-1]] - heads
    for start, stop, begin, head, move in zip(
        edges[:-1].tolist(),
        edges[1:].tolist(),
        begins.tolist(),
        heads.tolist(),
        moved.tolist(),
        strict=True,
    ):
        inner = (offsets[start : stop + 1] - move).astype(f"<u{width}")
        out[begin : begin + head] = inner.view(np.uint8)
        text = octets[offsets[start] : offsets[stop]]
        out[begin + head : begin + head + len(text)] = text
    return pa.py_buffer(out), sizes, counts


def check_strings(octets: Bytes, offsets: Int64Array, width: int, limit: int) -> None:
    """Raise `InvalidInputError` unless strings can be put into chunks like that."""
    if width not in (4, 8) or limit < 0:
        raise InvalidInputError(f"chunks of {limit} bytes with offsets of {width}")
    if not len(offsets) or offsets[0] < 0 or offsets[-1] > len(octets):
        raise InvalidInputError(f"strings are not within {len(octets)} bytes")
    if (offsets[1:] < offsets[:-1]).any():
        raise InvalidInputError("the offsets of strings descend")


def chunk_sizes(
    offsets: Int64Array, edges: Int64Array, width: int
) -> tuple[Int64Array, Int64Array]:
    """Bytes and values of each chunk; raises `InvalidInputError` if offsets cannot reach."""
    counts = np.diff(edges)
    sizes = (counts + 1) * width + offsets[edges[1:]] - offsets[edges[:-1]]
    if width == 4 and sizes.max() >= 1 << 32:
        raise InvalidInputError("a chunk of 4 GiB or more")
    return sizes + (-sizes) % width, counts


def _edges(offsets: Int64Array, width: int, limit: int) -> Int64Array:
    """The first value of each chunk, then the number of values."""
    # What a value adds to the size of a chunk is what these numbers step by.
    places = (offsets + np.arange(0, len(offsets) * width, width)).tolist()
    count, start, edges = len(offsets) - 1, 0, [0]
    while start < count:
        most, size = places[start] + limit - width, 1
        while size < MOST_VALUES:
            step = min(2 * size, count - start)
            if places[start + step] > most:
                break
            size = step
            if start + step == count:
                break
        start += min(size, count - start)
        edges.append(start)
    return np.array(edges if count else [0, 0], np.int64)
