"""Kernels for strings: FSST and dictionaries."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from lance_core.errors import CorruptFileError, InvalidInputError
from lance_core.hookspecs.arrays import MAX_OFFSET, allocate, empty, memory_pool
from lance_core.hookspecs.kernels import Offsets, SymbolTables, VariableChunks, check_tables
from lance_core_kernels import _native
from lance_core_kernels.chunks import checked
from lance_core_kernels.errors import (
    CORRUPT,
    INVALID,
    Bytes,
    Codes,
    Int64Array,
    aligned,
    contiguous,
)

MAX_SYMBOLS = 255
"""Maximum symbols of an FSST table."""

_ROOM = 128  # bytes that the C decoder may write after the end of its result


def fsst_decode(
    codes: Bytes, offsets: Int64Array, symbols: bytes, lengths: bytes
) -> tuple[pa.Buffer, Int64Array]:
    """See `lance_core.encodings.kernels.Kernels.fsst_decode`."""
    if not len(offsets) or not 0 <= offsets[0] <= offsets[-1] <= len(codes):
        raise CorruptFileError("offsets of FSST strings are not within the codes")
    codes, edges = contiguous(codes[offsets[0] : offsets[-1]]), offsets - offsets[0]
    with CORRUPT:
        text = allocate(_native.fsst_bound(codes, symbols, lengths) + _ROOM)
        text_offsets = empty(len(edges), np.int64)
        size = _native.fsst_decode(codes, aligned(edges), symbols, lengths, text, text_offsets)
    return text.slice(0, size), text_offsets


def fsst_decode_chunks(
    chunks: VariableChunks, tables: SymbolTables
) -> tuple[pa.Buffer, Offsets, bool]:
    """See `lance_core.encodings.kernels.Kernels.fsst_decode_chunks`."""
    check_tables(tables, len(chunks.counts))
    where, _ = checked(chunks)
    symbols, lengths, sizes, edges, keeps_escapes = tables
    with CORRUPT:
        arguments = *where, symbols, lengths, aligned(sizes), aligned(edges), keeps_escapes
        bound = _native.fsst_chunks_bound(*arguments)
        text = allocate(bound + _ROOM)
        narrow = chunks.width == 4 and text.size <= MAX_OFFSET
        offsets = empty(int(np.add.reduce(chunks.counts)) + 1, np.int32 if narrow else np.int64)
        size, is_ascii = _native.fsst_decode_chunks(*arguments, text, offsets, offsets.itemsize)
    if chunks.width == 4 and not narrow and size <= MAX_OFFSET:
        offsets = offsets.astype(np.int32)
    return text.slice(0, size), offsets, is_ascii


def fsst_encode(
    data: Bytes, starts: Int64Array, stops: Int64Array, symbols: bytes, lengths: bytes
) -> tuple[pa.Buffer, Int64Array]:
    """See `lance_core.encodings.kernels.Kernels.fsst_encode`."""
    data, starts, stops = contiguous(data), aligned(starts), aligned(stops)
    with INVALID:
        total = _native.spans_total(data, starts, stops)
        codes = pa.allocate_buffer(2 * total + 2, memory_pool(), resizable=True)
        offsets: Int64Array = empty(len(starts) + 1, np.int64)
        size = _native.fsst_encode(data, starts, stops, symbols, lengths, codes, offsets)
    codes.resize(size, shrink_to_fit=True)
    return codes, offsets


def fsst_train(sample: Sequence[bytes]) -> tuple[bytes, ...]:
    """See `lance_core.encodings.kernels.Kernels.fsst_train`."""
    offsets = np.zeros(len(sample) + 1, np.int64)
    np.cumsum(list(map(len, sample)), out=offsets[1:])
    symbols, lengths = bytearray(8 * MAX_SYMBOLS), bytearray(MAX_SYMBOLS)
    with INVALID:
        count = _native.fsst_train(b"".join(sample), offsets, symbols, lengths)
    stored = bytes(symbols)
    ends = zip(range(0, 8 * count, 8), lengths, strict=False)
    return tuple([stored[start : start + length] for start, length in ends])


def dictionary_codes(
    data: Bytes, edges: Int64Array, columns: int, places: Int64Array, most: int
) -> tuple[Codes, Int64Array, Int64Array]:
    """See `lance_core.encodings.kernels.Kernels.dictionary_codes`."""
    if columns < 0 or most < 0:
        raise InvalidInputError(f"{columns} columns with {most} items")
    if not columns and len(edges):
        raise InvalidInputError("edges without columns")
    max_items = min(most, len(places))
    slots = np.empty(1 << (2 * max_items + 2).bit_length(), np.uint64)
    codes, counts = np.empty(columns * len(places), np.uint32), np.empty(columns, np.int64)
    # Allocate for the maximum of items; pages that are never written use no memory.
    firsts = np.empty(columns * max_items, np.int64)
    values = contiguous(data), aligned(edges), aligned(places)
    with INVALID:
        total = _native.dictionary_codes(*values, most, slots, codes, counts, firsts)
    return codes, counts, firsts[:total].copy()
