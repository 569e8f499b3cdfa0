"""Bit packing of unsigned integers in the FastLanes order.

A chunk packs 1024 values of T bits (8, 16, 32 or 64) to W bits each. It has 1024 / T lanes of T
values. A lane is a stream of bits: row r occupies the W bits from bit r * W on. The stream is cut
into words of T bits. The chunk stores word 0 of all lanes, then word 1 of all lanes, and so on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from lance_core.encodings.arrow.memory_pool import empty
from lance_core.encodings.decoding import Int64Array
from lance_core.encodings.kernels.numpy.chunk_spans import Bytes, check_spans, rows_at
from lance_core.errors import CorruptFileError, InvalidInputError, LanceError

if TYPE_CHECKING:
    from lance_core.encodings.decoding import ValueMatches
    from lance_core.encodings.kernels.numpy.integer_index import IntegerIndex

Words = npt.NDArray[np.unsignedinteger[Any]]

CHUNK = 1024
"""Values per packed chunk."""

WIDTHS = (8, 16, 32, 64)
"""Possible widths in bits of a value before it is packed."""

_MAX_LEVELS = 1 << 16
"""Maximum levels of a chunk with packed width 0, which takes no bytes and could claim any count."""

# Rows 8k to 8k + 7 hold block _ORDER[k] of the eight blocks of 16 values in each 128 values.
_ORDER = (0, 4, 2, 6, 1, 5, 3, 7)


def packed_bytes(packed_bits: int) -> int:
    """Bytes of a chunk of 1024 values with ``packed_bits`` each."""
    return CHUNK * packed_bits // 8


def unpack_fastlanes(
    data: npt.NDArray[np.uint8], width: int, bits: int, chunks: int
) -> npt.NDArray[np.unsignedinteger]:
    """See `lance_core.encodings.kernels.Kernels.unpack_fastlanes`."""
    _check_width(width, bits, CorruptFileError)
    if chunks < 0 or len(data) != chunks * packed_bytes(width):
        raise CorruptFileError(f"{chunks} chunks packed to {width} bits in {len(data)} bytes")
    word_type = np.dtype(f"<u{bits // 8}").type
    if width == 0:
        return np.zeros(chunks * CHUNK, word_type)
    lanes = CHUNK // bits
    words = np.ascontiguousarray(data).view(word_type).reshape(chunks, width, lanes)
    mask = word_type((1 << width) - 1)
    values = empty(chunks * CHUNK, word_type).reshape(chunks, CHUNK)
    # Each iteration unpacks one row of all lanes of all chunks.
    for row, first in enumerate(places_of_rows(bits)):
        word, shift = divmod(row * width, bits)
        value = words[:, word] >> word_type(shift)
        # The value continues in the next word of the lane.
        if shift + width > bits:
            value |= words[:, word + 1] << word_type(bits - shift)
        values[:, first : first + lanes] = value & mask
    return values.ravel()


def pack_fastlanes(values: npt.NDArray[np.unsignedinteger], width: int) -> npt.NDArray[np.uint8]:
    """See `lance_core.encodings.kernels.Kernels.pack_fastlanes`."""
    bits = values.dtype.itemsize * 8
    _check_width(width, bits, InvalidInputError)
    if len(values) % CHUNK:
        raise InvalidInputError(f"{len(values)} values are not whole chunks of {CHUNK}")
    if len(values) and int(values.max()) >> width:
        raise InvalidInputError(f"a value does not fit into {width} bits")
    lanes = CHUNK // bits
    chunks = values.reshape(-1, CHUNK)
    word_type = values.dtype.type
    words = np.zeros((len(chunks), width, lanes), values.dtype)
    if width:
        for row, first in enumerate(places_of_rows(bits)):
            word, shift = divmod(row * width, bits)
            value = chunks[:, first : first + lanes]
            words[:, word] |= value << word_type(shift)
            if shift + width > bits:
                words[:, word + 1] |= value >> word_type(bits - shift)
    return words.reshape(-1).view(np.uint8)


def unpack_inline(
    data: Bytes, starts: Int64Array, sizes: Int64Array, counts: Int64Array, bits: int
) -> Words:
    """See `lance_core.encodings.kernels.Kernels.unpack_inline`."""
    check_inline(data, starts, sizes, counts, bits)
    word = bits // 8
    stated = rows_at(data, starts, word).view(f"<u{word}").reshape(-1)
    if (stated > bits).any():
        raise CorruptFileError(f"values of {bits} bits cannot be packed to {stated.max()} bits")
    widths = stated.astype(np.int64)
    if (word + widths * (CHUNK // 8) > sizes).any():
        raise CorruptFileError("a chunk has fewer bytes than its packed values")
    if len(widths) and (widths == widths[0]).all() and (counts[:-1] == CHUNK).all():
        # All chunks have the same width and are full: unpack them with one call.
        width = int(widths[0])
        packed = rows_at(data, starts + word, packed_bytes(width)) if width else data[:0]
        plain = unpack_fastlanes(packed.reshape(-1), width, bits, len(widths))
        return plain[: int(counts.sum())]
    values = empty(len(counts) * CHUNK, stated.dtype).reshape(-1, CHUNK)
    for width in np.unique(widths).tolist():
        # Otherwise unpack all chunks of the same width with one call.
        where = np.flatnonzero(widths == width)
        packed = rows_at(data, starts[where] + word, packed_bytes(width)) if width else data[:0]
        values[where] = unpack_fastlanes(packed.reshape(-1), width, bits, len(where)).reshape(
            -1, CHUNK
        )
    if (counts[:-1] == CHUNK).all():
        return values.reshape(-1)[: int(counts.sum())]
    # Drop the padding at the end of each chunk that is not full.
    return values[np.arange(CHUNK) < counts[:, None]]


def find_inline(
    data: Bytes,
    starts: Int64Array,
    sizes: Int64Array,
    counts: Int64Array,
    bits: int,
    index: IntegerIndex,
) -> ValueMatches:
    """See `lance_core.encodings.kernels.Kernels.find_inline`."""
    words = unpack_inline(data, starts, sizes, counts, bits)
    return find_integers(words.view(f"<i{bits // 8}").astype(np.int64, copy=False), index)


def find_integers(values: Int64Array, index: IntegerIndex) -> ValueMatches:
    """See `lance_core.encodings.kernels.Kernels.find_integers`."""
    return index.find(values)


def check_inline(
    data: Bytes, starts: Int64Array, sizes: Int64Array, counts: Int64Array, bits: int
) -> None:
    """Raise `CorruptFileError` unless the chunks can hold a width and values of ``bits`` bits."""
    if bits not in WIDTHS:
        raise CorruptFileError(f"packed values cannot have {bits} bits")
    check_spans(data, starts, sizes, counts)
    if len(counts) and (counts.max() > CHUNK or sizes.min() < bits // 8):
        raise CorruptFileError(f"a chunk has more than {CHUNK} packed values, or no bytes")


def unpack_levels(
    data: Bytes, starts: Int64Array, sizes: Int64Array, counts: Int64Array, width: int
) -> npt.NDArray[np.uint16]:
    """See `lance_core.encodings.kernels.Kernels.unpack_levels`."""
    check_packed_levels(data, starts, sizes, counts, width)
    units, raw = level_units(sizes, counts, width)
    unit = packed_bytes(width)
    # Unpack the units of all chunks with one call. ``first`` is the first unit of each chunk.
    first = np.cumsum(units) - units
    where = _each(starts, units, unit)
    packed = rows_at(data, where, unit).reshape(-1) if unit else data[:0]
    plain = unpack_fastlanes(packed, width, 16, len(where)).astype(np.uint16, copy=False)
    parts: list[npt.NDArray[np.uint16]] = []
    for number in range(len(counts)):
        taken = min(int(units[number]) * CHUNK, int(counts[number]))
        begin = int(first[number]) * CHUNK
        parts.append(plain[begin : begin + taken])
        if taken < counts[number]:
            stop = int(starts[number] + sizes[number])
            parts.append(data[stop - int(raw[number]) : stop].view("<u2"))
    return np.concatenate([plain[:0], *parts])


def level_units(sizes: Int64Array, counts: Int64Array, width: int) -> tuple[Int64Array, Int64Array]:
    """For each chunk the packed units, and the bytes of the raw levels after them.

    Levels after the last whole unit of 1024 are either raw (2 bytes each) or one more packed unit;
    the size of the chunk tells which. Raises `CorruptFileError` if it fits neither.
    """
    units, rest = np.divmod(counts, CHUNK)
    unit, raw = packed_bytes(width), 2 * rest
    tail = sizes - units * unit
    is_packed = (rest > 0) & (tail != raw)
    raw[is_packed] = 0
    units += is_packed
    if (sizes != units * unit + raw).any():
        raise CorruptFileError("a chunk does not have the stated number of packed levels")
    return units, raw


def check_packed_levels(
    data: Bytes, starts: Int64Array, sizes: Int64Array, counts: Int64Array, width: int
) -> None:
    """Raise `CorruptFileError` for chunks that are too small for their number of levels."""
    if not 0 <= width <= 16:
        raise CorruptFileError(f"levels cannot be packed to {width} bits")
    check_spans(data, starts, sizes, counts)
    most = sizes * 8 // width if width else _MAX_LEVELS
    if len(counts) and (counts > most).any():
        raise CorruptFileError("a chunk has fewer bytes than its packed levels")


def _each(starts: Int64Array, times: Int64Array, step: int) -> Int64Array:
    """For each i the ``times[i]`` numbers from ``starts[i]`` on, ``step`` apart."""
    within = np.arange(int(times.sum())) - np.repeat(np.cumsum(times) - times, times)
    numbers: Int64Array = np.repeat(starts, times) + within * step
    return numbers


def chunk_widths(words: Words) -> Int64Array:
    """See `lance_core.encodings.kernels.Kernels.chunk_widths`."""
    _check_width(0, words.itemsize * 8, InvalidInputError)
    if not len(words):
        return np.zeros(1, np.int64)
    # The bitwise OR of a chunk has the same bit length as its largest value. frexp returns the bit
    # length as the exponent.
    tops = np.bitwise_or.reduceat(words, np.arange(0, len(words), CHUNK))
    if words.itemsize < 8:
        return np.frexp(tops.astype(np.float64))[1].astype(np.int64)
    # A float64 would round a 64-bit number, perhaps up to a power of two. Both halves are exact.
    high, low = (np.frexp((half).astype(np.float64))[1] for half in (tops >> 32, tops & 0xFFFFFFFF))
    return np.where(high > 0, high + 32, low).astype(np.int64)


def pack_inline(words: Words) -> tuple[Bytes, Int64Array]:
    """See `lance_core.encodings.kernels.Kernels.pack_inline`."""
    widths = chunk_widths(words)
    word = words.itemsize
    sizes = word + packed_bytes(1) * widths
    begins = np.cumsum(sizes) - sizes
    padded = np.zeros(len(widths) * CHUNK, words.dtype)
    padded[: len(words)] = words
    chunks = padded.reshape(-1, CHUNK)
    out = np.empty(int(sizes.sum()), np.uint8)
    for width in np.unique(widths).tolist():
        where = np.flatnonzero(widths == width)
        # A window per byte position makes each chunk one row, so one assignment writes all chunks.
        rows = np.lib.stride_tricks.sliding_window_view(
            out, word + packed_bytes(width), writeable=True
        )
        heads = np.full((len(where), 1), width, words.dtype).view(np.uint8)
        packed = pack_fastlanes(chunks[where].reshape(-1), width).reshape(len(where), -1)
        rows[begins[where]] = np.concatenate([heads, packed], axis=1)
    return out, sizes


def _check_width(width: int, bits: int, error: type[LanceError]) -> None:
    if bits not in WIDTHS or not 0 <= width <= bits:
        raise error(f"values of {bits} bits cannot be packed to {width} bits")


def places_of_rows(bits: int) -> list[int]:
    """For each row the index of its value in lane 0; the values of the other lanes follow it."""
    return [_ORDER[row // 8] * 16 + row % 8 * 128 for row in range(bits)]
