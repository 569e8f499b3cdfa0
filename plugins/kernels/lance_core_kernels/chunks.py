"""Kernels for variable-width values, in chunks or contiguous, and for pieces of buffers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from lance_core.errors import CorruptFileError
from lance_core.hookspecs.arrays import MAX_OFFSET, Places, allocate, empty
from lance_core.hookspecs.kernels import (
    CHUNK,
    MAX_CHUNK_VALUES,
    Offsets,
    PackedPositions,
    PackedSlices,
    VariableChunks,
    check_packed,
    check_slices,
    check_strings,
    check_words,
    chunk_places,
    chunk_sizes,
    header_length,
)
from lance_core_kernels import _native
from lance_core_kernels.errors import CORRUPT, INVALID, Bytes, Int64Array, aligned, contiguous


def checked(
    chunks: VariableChunks,
) -> tuple[tuple[Bytes, Int64Array, Int64Array, Int64Array, int], int]:
    """Arguments of C functions for ``chunks``, and the bytes of all values.

    Raises `CorruptFileError` before memory is allocated for values.
    """
    data, starts, sizes, counts, width = chunks
    if width not in (4, 8):
        raise CorruptFileError(f"offsets have {width} bytes instead of 4 or 8")
    arguments = contiguous(data), aligned(starts), aligned(sizes), aligned(counts), width
    with CORRUPT:
        total = _native.variable_total(*arguments)
    if total > len(data):
        raise CorruptFileError("chunks overlap")
    return arguments, total


def join_variable(chunks: VariableChunks) -> tuple[Offsets, pa.Buffer]:
    """See `lance_core.encodings.kernels.Kernels.join_variable`."""
    arguments, total = checked(chunks)
    with CORRUPT:
        narrow = chunks.width == 4 and total <= MAX_OFFSET
        offset_type = np.int32 if narrow else np.int64
        offsets: Offsets = empty(int(chunks.counts.sum()) + 1, offset_type)
        text = allocate(total)
        _native.join_variable(*arguments, text, offsets, offsets.itemsize)
    return offsets, text


def split_variable(
    octets: Bytes, offsets: Int64Array, width: int, limit: int, columns: int = 1
) -> tuple[pa.Buffer, Int64Array, Int64Array]:
    """See `lance_core.encodings.kernels.Kernels.split_variable`."""
    check_strings(octets, offsets, width, limit, columns)
    octets, offsets = contiguous(octets), aligned(offsets)
    with INVALID:
        edges: Int64Array = empty(len(offsets) + 1, np.int64)
        count = _native.variable_edges(octets, offsets, columns, width, limit, edges)
        edges = edges[: count + 1]
        sizes, counts = chunk_sizes(offsets, edges, width)
        out = allocate(int(sizes.sum()))
        _native.split_variable(octets, offsets, edges, width, out)
    return out, sizes, counts


def gather_variable(
    data: Bytes, starts: Int64Array, stops: Int64Array
) -> tuple[pa.Buffer, Int64Array]:
    """See `lance_core.encodings.kernels.Kernels.gather_variable`."""
    data, starts, stops = contiguous(data), aligned(starts), aligned(stops)
    offsets = empty(len(starts) + 1, np.int64)
    with CORRUPT:
        total = _native.spans_total(data, starts, stops)
        if total > len(data):
            raise CorruptFileError("spans descend or overlap")
        text = allocate(total)
        _native.gather_variable(data, starts, stops, text, offsets)
    return text, offsets


def join_slices(
    buffers: Sequence[pa.Buffer], owners: Int64Array, starts: Int64Array, stops: Int64Array
) -> Bytes:
    """See `lance_core.encodings.kernels.Kernels.join_slices`."""
    out: Bytes = empty(check_slices(owners, starts, stops), np.uint8)
    with CORRUPT:
        _native.join_slices(list(buffers), aligned(owners), aligned(starts), aligned(stops), out)
    return out


def repack_chunks(chunks: PackedSlices, bits: int, large: bool) -> tuple[pa.Buffer, Int64Array]:
    """See `lance_core.encodings.kernels.Kernels.repack_chunks`."""
    number = check_packed(chunks, bits)
    buffers, owners, starts, stops, counts = chunks
    slices = aligned(owners), aligned(starts), aligned(stops)
    sizes = np.empty(number, np.int64)
    # A chunk has at most a header of 8 bytes, a width of as many, and values that are not packed.
    out = allocate(number * (16 + CHUNK * bits // 8))
    with CORRUPT:
        _native.repack_chunks(list(buffers), *slices, aligned(counts), bits, large, out, sizes)
    return out.slice(0, int(sizes.sum())), sizes


def locate_rows(edges: Int64Array, rows: Int64Array) -> tuple[Int64Array, Int64Array, Int64Array]:
    """See `lance_core.encodings.kernels.Kernels.locate_rows`."""
    used, which, position = np.empty((3, len(rows)), np.int64)
    with CORRUPT:
        count = _native.locate_rows(aligned(edges), aligned(rows), used, which, position)
    return used[:count], which, position


def pick_spans(chunks: VariableChunks, picked: PackedPositions) -> tuple[Int64Array, Int64Array]:
    """See `lance_core.encodings.kernels.Kernels.pick_spans`."""
    data, starts, sizes, counts, width = chunks
    if width not in (4, 8):
        raise CorruptFileError(f"offsets have {width} bytes instead of 4 or 8")
    where = contiguous(data), aligned(starts), aligned(sizes), aligned(counts)
    spans = np.empty((2, len(picked.chunk)), np.int64)
    with CORRUPT:
        _native.pick_spans(
            *where, width, aligned(picked.chunk), aligned(picked.position), spans[0], spans[1]
        )
    return spans[0], spans[1]


_ROOM = 64  # bytes that the C code may write after the end of taken strings


def take_variable(data: Bytes, offsets: Int64Array, places: Places) -> tuple[pa.Buffer, Offsets]:
    """See `lance_core.encodings.kernels.Kernels.take_variable`."""
    numbers = contiguous(places)
    arguments = contiguous(data), aligned(offsets), numbers, numbers.itemsize
    with CORRUPT:
        total = _native.taken_total(*arguments)
        text = allocate(total + _ROOM)
        taken = empty(len(places) + 1, np.int32 if total <= MAX_OFFSET else np.int64)
        _native.take_strings(*arguments, text, taken, taken.itemsize)
    return text.slice(0, total), taken


def interleave_chunks(
    buffers: Sequence[Bytes], sizes: Int64Array, align: int, fill: int
) -> tuple[pa.Buffer, Int64Array]:
    """See `lance_core.encodings.kernels.Kernels.interleave_chunks`."""
    targets, totals = chunk_places(buffers, sizes, align)
    out = allocate(int(totals.sum()))
    with INVALID:
        for buffer, lengths, begins in zip(buffers, sizes, targets, strict=True):
            _native.place_pieces(contiguous(buffer), aligned(lengths), begins, align, fill, out)
    return out, totals


def chunk_edges(
    words: pa.Buffer, large: bool, num_values: int, num_bytes: int
) -> tuple[Int64Array, Int64Array]:
    """See `lance_core.encodings.kernels.Kernels.chunk_edges`."""
    count = check_words(words, large)
    if not 0 <= num_values <= count * MAX_CHUNK_VALUES:
        raise CorruptFileError(f"the chunks do not hold {num_values} values")
    edges, values = np.empty((2, count + 1), np.int64)
    with CORRUPT:
        _native.chunk_edges(words, large, num_values, num_bytes, edges, values)
    return edges, values


def chunk_headers(
    data: Bytes, starts: Int64Array, sizes: Int64Array, levels: int, buffers: int, large: bool
) -> Int64Array:
    """See `lance_core.encodings.kernels.Kernels.chunk_headers`."""
    header_length(levels, buffers, large)
    table = np.empty((1 + 2 * (levels + buffers)) * len(starts), np.int64)
    with CORRUPT:
        _native.chunk_headers(
            contiguous(data), aligned(starts), aligned(sizes), levels, buffers, large, table
        )
    return table
