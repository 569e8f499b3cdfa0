"""Kernels for integers: bit packing, run-length encoding and byte stream split."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lance_core.errors import CorruptFileError, InvalidInputError
from lance_core.hookspecs.arrays import empty
from lance_core.hookspecs.kernels import (
    CHUNK,
    MAX_RUN,
    WIDTHS,
    PackedPositions,
    RunRule,
    check_inline,
    check_packed_levels,
    check_places,
    check_rule,
    check_runs,
    check_streams,
)
from lance_core_kernels import _native
from lance_core_kernels.errors import (
    CORRUPT,
    INVALID,
    Bytes,
    Int64Array,
    LevelArray,
    Words,
    aligned,
    contiguous,
)

if TYPE_CHECKING:
    from lance_core.hookspecs.kernels import IntegerIndex, ValueMatches


def unpack_fastlanes(data: Bytes, width: int, bits: int, chunks: int) -> Words:
    """See `lance_core.encodings.kernels.Kernels.unpack_fastlanes`."""
    if (
        bits not in WIDTHS
        or not 0 <= width <= bits
        or chunks < 0
        or len(data) != chunks * CHUNK * width // 8
    ):
        raise CorruptFileError(
            f"{chunks} chunks of values of {bits} bits packed to {width} in {len(data)} bytes"
        )
    values = empty(chunks * CHUNK, f"<u{bits // 8}")
    with CORRUPT:
        _native.unpack_fastlanes(contiguous(data), width, bits, chunks, values)
    return values


def pack_fastlanes(values: Words, width: int) -> Bytes:
    """See `lance_core.encodings.kernels.Kernels.pack_fastlanes`."""
    bits = values.dtype.itemsize * 8
    if bits not in WIDTHS or not 0 <= width <= bits:
        raise InvalidInputError(f"values of {bits} bits cannot be packed to {width} bits")
    if len(values) % CHUNK:
        raise InvalidInputError(f"{len(values)} values are not whole chunks of {CHUNK}")
    chunks = len(values) // CHUNK
    packed: Bytes = empty(chunks * CHUNK * width // 8, np.uint8)
    with INVALID:
        _native.pack_fastlanes(np.ascontiguousarray(values), width, bits, chunks, packed)
    return packed


def unpack_inline(
    data: Bytes, starts: Int64Array, sizes: Int64Array, counts: Int64Array, bits: int
) -> Words:
    """See `lance_core.encodings.kernels.Kernels.unpack_inline`."""
    total = int(counts.sum())
    if bits not in WIDTHS or not 0 <= total <= CHUNK * len(counts):
        check_inline(data, starts, sizes, counts, bits)  # raises with the exact reason
        raise CorruptFileError(f"{total} packed values in {len(counts)} chunks")
    values = empty(total, f"<u{bits // 8}")
    chunks = contiguous(data), aligned(starts), aligned(sizes), aligned(counts)
    with CORRUPT:
        _native.unpack_inline(*chunks, bits, values)
    return values


def pick_inline(
    data: Bytes,
    starts: Int64Array,
    sizes: Int64Array,
    counts: Int64Array,
    picked: PackedPositions,
    bits: int,
) -> Words:
    """See `lance_core.encodings.kernels.Kernels.pick_inline`."""
    if bits not in WIDTHS:
        raise CorruptFileError(f"packed values cannot have {bits} bits")
    values = empty(len(picked.position), f"<u{bits // 8}")
    chunks = contiguous(data), aligned(starts), aligned(sizes), aligned(counts)
    with CORRUPT:
        _native.pick_inline(*chunks, aligned(picked.chunk), aligned(picked.position), bits, values)
    return values


def find_inline(
    data: Bytes,
    starts: Int64Array,
    sizes: Int64Array,
    counts: Int64Array,
    bits: int,
    index: IntegerIndex,
) -> ValueMatches:
    """See `lance_core.encodings.kernels.Kernels.find_inline`."""
    check_inline(data, starts, sizes, counts, bits)
    # Allocate for the maximum of rows; pages that are never written use no memory.
    rows, members = np.empty((2, int(counts.sum())), np.int64)
    chunks = contiguous(data), aligned(starts), aligned(sizes), aligned(counts)
    with CORRUPT:
        count = _native.find_inline(*chunks, bits, *index.slots, rows, members)
    # Copy the results, so that the rest of the allocation can be freed.
    return rows[:count].copy(), members[:count].copy()


def find_integers(values: Int64Array, index: IntegerIndex) -> ValueMatches:
    """See `lance_core.encodings.kernels.Kernels.find_integers`."""
    rows, members = np.empty((2, len(values)), np.int64)
    with INVALID:
        count = _native.find_integers(aligned(values), *index.slots, rows, members)
    return rows[:count].copy(), members[:count].copy()


def unpack_levels(
    data: Bytes, starts: Int64Array, sizes: Int64Array, counts: Int64Array, width: int
) -> LevelArray:
    """See `lance_core.encodings.kernels.Kernels.unpack_levels`."""
    check_packed_levels(data, starts, sizes, counts, width)
    levels = empty(int(counts.sum()), np.uint16)
    chunks = contiguous(data), aligned(starts), aligned(sizes), aligned(counts)
    with CORRUPT:
        _native.unpack_levels(*chunks, width, levels)
    return levels


def pick_levels(
    data: Bytes,
    starts: Int64Array,
    sizes: Int64Array,
    counts: Int64Array,
    picked: PackedPositions,
    width: int,
) -> LevelArray:
    """See `lance_core.encodings.kernels.Kernels.pick_levels`.

    Unpacks all levels: in C that is faster than locating single levels.
    """
    levels = unpack_levels(data, starts, sizes, counts, width)
    check_places(picked, counts)
    return levels.take((np.cumsum(counts) - counts).take(picked.chunk) + picked.position)


def chunk_widths(words: Words) -> Int64Array:
    """See `lance_core.encodings.kernels.Kernels.chunk_widths`."""
    widths = np.empty(max(1, -(-len(words) // CHUNK)), np.int64)
    with INVALID:
        _native.chunk_widths(np.ascontiguousarray(words), words.itemsize * 8, widths)
    return widths


def pack_inline(words: Words) -> tuple[Bytes, Int64Array]:
    """See `lance_core.encodings.kernels.Kernels.pack_inline`."""
    widths = chunk_widths(words)
    sizes = words.itemsize + CHUNK // 8 * widths
    packed = empty(int(sizes.sum()), np.uint8)
    with INVALID:
        _native.pack_inline(np.ascontiguousarray(words), words.itemsize * 8, widths, packed)
    return packed, sizes


def expand_runs(
    data: Bytes, starts: Int64Array, sizes: Int64Array, counts: Int64Array, bits: int
) -> Words:
    """See `lance_core.encodings.kernels.Kernels.expand_runs`."""
    total = int(counts.sum())
    # The loop checks each chunk; this bounds the memory before it is allocated.
    if bits not in WIDTHS or len(starts) != 2 or not 0 <= total <= MAX_RUN * len(data):
        check_runs(data, starts, sizes, counts, bits)
    values = empty(total, f"<u{bits // 8}")
    chunks = contiguous(data), aligned(starts), aligned(sizes), aligned(counts)
    with CORRUPT:
        _native.expand_runs(*chunks, bits // 8, values)
    return values


def count_runs(words: Words, per_chunk: int) -> Int64Array:
    """See `lance_core.encodings.kernels.Kernels.count_runs`."""
    if per_chunk < 1:
        raise InvalidInputError(f"chunks of {per_chunk} values")
    runs = np.empty(-(-len(words) // per_chunk), np.int64)
    with INVALID:
        _native.count_runs(np.ascontiguousarray(words), words.itemsize, per_chunk, runs)
    return runs


def encode_runs(words: Words, rule: RunRule) -> tuple[Words, Bytes, Int64Array, Int64Array]:
    """See `lance_core.encodings.kernels.Kernels.encode_runs`."""
    check_rule(rule)
    # Allocate for the maximum number of runs; pages that are never written use no memory.
    values, lengths = np.empty(len(words), words.dtype), np.empty(len(words), np.uint8)
    most_chunks = len(words) // min(rule.least, CHUNK) + 1
    runs, counts = np.empty(most_chunks, np.int64), np.empty(most_chunks, np.int64)
    words = np.ascontiguousarray(words)
    with INVALID:
        total, chunks = _native.encode_runs(
            words, words.itemsize, *rule, values, lengths, counts, runs
        )
    # Copy the results, so that the rest of the allocation can be freed.
    return values[:total].copy(), lengths[:total].copy(), runs[:chunks], counts[:chunks]


def join_streams(
    data: Bytes, starts: Int64Array, sizes: Int64Array, counts: Int64Array, width: int
) -> Bytes:
    """See `lance_core.encodings.kernels.Kernels.join_streams`."""
    check_streams(data, starts, sizes, counts, width)
    values = empty(int(counts.sum()) * width, np.uint8)
    chunks = contiguous(data), aligned(starts), aligned(sizes), aligned(counts)
    with CORRUPT:
        _native.join_streams(*chunks, width, values)
    return values


def split_streams(octets: Bytes, width: int, per_chunk: int) -> Bytes:
    """See `lance_core.encodings.kernels.Kernels.split_streams`."""
    streams: Bytes = empty(len(octets), np.uint8)
    with INVALID:
        _native.split_streams(contiguous(octets), width, per_chunk, streams)
    return streams
