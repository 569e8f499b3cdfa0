"""FSST encoding: all strings advance in parallel, one code per iteration.

Long strings are cut into segments, which advance like separate strings. No symbol crosses the
end of a segment.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings.arrow.coalesced_take import Cuts, span_take
from lance_core.encodings.decoding import Int64Array
from lance_core.encodings.kernels.numpy.fsst_decode import ESCAPE, check_symbols
from lance_core.errors import InvalidInputError

# _SEGMENT bounds the number of iterations, in bytes. The hash of three bytes takes the upper 12
# bits of a product with 2^64 divided by the golden ratio, so there are 2^12 slots.
_SEGMENT = 256
_SLOTS = 1 << 12
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


class _Matcher(NamedTuple):
    """Lookup tables for the longest symbol at the start of a text; -1 stands for no symbol.

    ``slot``: by the hash of three bytes, the code of a symbol of three or more bytes. ``pair``: by
    two bytes, the code of a symbol of two bytes, else of one byte. ``single``: by one byte, the
    code of a symbol of one byte.
    """

    words: npt.NDArray[np.uint64]
    masks: npt.NDArray[np.uint64]
    lengths: Int64Array
    slot: npt.NDArray[np.int16]
    pair: npt.NDArray[np.int16]
    single: npt.NDArray[np.int16]


def fsst_encode(
    data: npt.NDArray[np.uint8],
    starts: Int64Array,
    stops: Int64Array,
    symbols: bytes,
    lengths: bytes,
) -> tuple[pa.Buffer, Int64Array]:
    """See `lance_core.encodings.kernels.Kernels.fsst_encode`."""
    check_symbols(symbols, lengths, InvalidInputError)
    _check_strings(len(data), starts, stops)
    matcher = _prepare(symbols, lengths)
    first, owners = _segments(starts, stops)
    if not len(first):
        return pa.py_buffer(b""), np.zeros(len(starts) + 1, np.int64)
    last = np.minimum(first + _SEGMENT, stops[owners])
    # Eight more bytes let every position load a whole word of 8 bytes.
    octets = np.concatenate([data, np.zeros(8, np.uint8)])
    # In the worst case each byte takes two codes. Encode into regions of that size, then pack them.
    regions = np.concatenate([[0], np.cumsum(2 * (last - first))])
    codes = np.empty(int(regions[-1]), np.uint8)
    filled = _encode(matcher, octets, (first, last), codes, regions[:-1])
    buffer = pa.py_buffer(codes)
    packed = span_take([buffer], Cuts([0, len(first)], [0]), regions[:-1], filled, large=True)
    edges = np.frombuffer(packed.buffers()[1], np.int64, len(packed) + 1)
    # A string ends where its last segment ends; strings without bytes have no segment.
    per_string = np.searchsorted(owners, np.arange(len(starts)), side="right")
    offsets = np.concatenate([np.zeros(1, np.int64), edges[per_string]])
    return packed.buffers()[2].slice(0, int(edges[-1])), offsets


def _check_strings(size: int, starts: Int64Array, stops: Int64Array) -> None:
    if len(starts) != len(stops):
        raise InvalidInputError(f"{len(starts)} strings start and {len(stops)} stop")
    if len(starts) and (starts.min() < 0 or stops.max() > size or (starts > stops).any()):
        raise InvalidInputError(f"a string is not within the {size} bytes of all")


def _segments(starts: Int64Array, stops: Int64Array) -> tuple[Int64Array, Int64Array]:
    """The start of each segment, and the number of the string that contains it."""
    counts = -(-(stops - starts) // _SEGMENT)
    owners = np.repeat(np.arange(len(starts)), counts)
    within = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
    return starts[owners] + within * _SEGMENT, owners


def _encode(
    matcher: _Matcher,
    octets: npt.NDArray[np.uint8],
    segments: tuple[Int64Array, Int64Array],
    codes: npt.NDArray[np.uint8],
    begins: Int64Array,
) -> Int64Array:
    """Write the codes of each segment from its place on; return the end of each."""
    # words[i] holds the 8 bytes from position i on: overlapping windows, viewed as integers.
    words = np.lib.stride_tricks.as_strided(
        octets.view(), (len(octets) - 7, 8), (1, 1), writeable=False
    ).view(np.uint64)[:, 0]
    at, last = segments[0].copy(), segments[1]
    written = begins.copy()
    active = np.arange(len(at))
    while len(active):
        position = at[active]
        left = last[active] - position
        code, length = _longest(matcher, words[position], left)
        written_to = written[active]
        escaped = code < 0
        codes[written_to] = np.where(escaped, ESCAPE, code)
        # Write the literal byte after each escape.
        where = np.flatnonzero(escaped)
        codes[written_to[where] + 1] = octets[position[where]]
        written[active] = written_to + 1 + escaped
        at[active] = position + length
        # Continue with the segments that have bytes left.
        active = active[left > length]
    return written


def _longest(
    matcher: _Matcher, word: npt.NDArray[np.uint64], left: Int64Array
) -> tuple[npt.NDArray[np.int16], Int64Array]:
    """The code of the longest symbol at the start of each word (-1 if none), and its length."""
    short = np.where(left > 1, matcher.pair[word & 0xFFFF], matcher.single[word & 0xFF])
    long = matcher.slot[_hash(word)]
    # The slot may belong to another text with the same hash: compare all bytes of the symbol. A
    # slot of -1 reads the last row of the tables, and the last condition rejects it.
    fits = (word & matcher.masks[long]) == matcher.words[long]
    fits &= (matcher.lengths[long] <= left) & (long >= 0)
    code = np.where(fits, long, short)
    return code, np.where(code < 0, 1, matcher.lengths[code])


def _hash(word: npt.NDArray[np.uint64]) -> npt.NDArray[np.intp]:
    return (((word & 0xFFFFFF) * _FACTOR) >> np.uint64(52)).astype(np.intp)


def _prepare(symbols: bytes, lengths: bytes) -> _Matcher:
    sizes = np.array([*lengths, 1], np.int64)
    masks = np.array([(1 << 8 * int(n)) - 1 for n in sizes], np.uint64)
    words = np.frombuffer(symbols + bytes(8), "<u8") & masks
    slot = np.full(_SLOTS, -1, np.int16)
    single = np.full(256, -1, np.int16)
    for code in reversed(range(len(lengths))):  # codes are sorted by gain: the lowest code wins
        if sizes[code] >= 3:
            slot[_hash(words[code : code + 1])] = code
        elif sizes[code] == 1:
            single[int(words[code])] = code
    # One-byte symbols first; two-byte symbols then overwrite their pairs.
    pair = single[np.arange(1 << 16) & 0xFF]
    for code in reversed(range(len(lengths))):
        if sizes[code] == 2:
            pair[int(words[code])] = code
    return _Matcher(words, masks, sizes, slot, pair, single)
