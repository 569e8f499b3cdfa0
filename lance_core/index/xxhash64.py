"""XXH64 with seed 0 of all values of an array, as the Bloom filters of Parquet use it.

Layout rules: the xxHash specification, version 0.1.1, section "XXH64 algorithm description". A
value is hashed as its little-endian bytes in its own width, strings and binary values as they are.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings.arrow.strings import is_variable, offset_dtype

UInt64Array = npt.NDArray[np.uint64]
_Lengths = npt.NDArray[np.int64]

_MASK = 0xFFFFFFFFFFFFFFFF
_PRIME_1 = 0x9E3779B185EBCA87
_PRIME_2 = 0xC2B2AE3D27D4EB4F
_PRIME_3 = 0x165667B19E3779F9
_PRIME_4 = 0x85EBCA77C2B2AE63
_PRIME_5 = 0x27D4EB2F165667C5
_P1, _P2, _P3, _P4, _P5 = map(np.uint64, (_PRIME_1, _PRIME_2, _PRIME_3, _PRIME_4, _PRIME_5))

_BLOCK = 16384
"""Values hashed at a time; their intermediate results stay in the processor's cache."""

_FEW = 24
"""With at most this many long values, Python's integers are faster than numpy's arrays."""

_STRIPE = struct.Struct("<4Q")


def hash_array(values: pa.Array) -> UInt64Array:
    """The hash of each of ``values``, which have no nulls and a fixed width of bytes or are binary.

    The widths are 1, 2, 4 and 8 bytes.
    """
    hashes = np.empty(len(values), np.uint64)
    read = _variable_block if is_variable(values.type) else _fixed_block
    for start in range(0, len(values), _BLOCK):
        hashes[start : start + _BLOCK] = read(values[start : start + _BLOCK])
    return hashes


def _fixed_block(values: pa.Array) -> UInt64Array:
    width: int = values.type.bit_width // 8
    words = np.frombuffer(values.buffers()[1], f"<u{width}", len(values), values.offset * width)
    hashes = np.full(len(values), _P5 + np.uint64(width))
    if width == 8:
        hashes = _add_eight_bytes(hashes, words)
    elif width == 4:
        hashes = _add_four_bytes(hashes, words)
    else:
        for octets in words.view(np.uint8).reshape(-1, width).T:
            hashes = _add_byte(hashes, octets)
    return _avalanche(hashes)


def _variable_block(values: pa.Array) -> UInt64Array:
    """Reads the bytes of all values at once: first their whole stripes of 32, then the rest."""
    width = np.dtype(offset_dtype(values.type))
    _, ends, data = values.buffers()
    offsets = np.frombuffer(ends, width, len(values) + 1, values.offset * width.itemsize)
    lengths = np.diff(offsets).astype(np.int64)
    at = offsets[:-1].astype(np.int64)
    octets = np.frombuffer(b"" if data is None else data, np.uint8)
    hashes = np.full(len(values), _P5)
    long = np.flatnonzero(lengths >= 32)
    if len(long):
        hashes[long] = _hash_stripes(octets, at[long], lengths[long] // 32)
    hashes += lengths.astype(np.uint64)
    at += lengths & ~31
    rest = lengths & 31
    for size, add in ((8, _add_eight_bytes), (4, _add_four_bytes), (1, _add_byte)):
        while len(long_enough := np.flatnonzero(rest >= size)):
            # A slice of all values is faster than a selection of all of them.
            which: Any = slice(None) if len(long_enough) == len(rest) else long_enough
            hashes[which] = add(hashes[which], _unaligned(octets, size)[at[which]])
            at[which] += size
            rest[which] -= size
    return _avalanche(hashes)


def _unaligned(octets: npt.NDArray[np.uint8], size: int) -> npt.NDArray[Any]:
    """The little-endian number of ``size`` bytes at each byte of ``octets``, without a copy."""
    count = max(0, len(octets) - size + 1)
    return np.ndarray((count,), f"<u{size}", octets, strides=(1,))


def _hash_stripes(octets: npt.NDArray[np.uint8], at: _Lengths, counts: _Lengths) -> UInt64Array:
    """The converged accumulators of the ``counts`` stripes, at least one, from each of ``at``."""
    order = np.argsort(-counts, kind="stable")
    counts, at = counts[order], at[order]
    words = _unaligned(octets, 8)
    start = ((_PRIME_1 + _PRIME_2) & _MASK, _PRIME_2, 0, -_PRIME_1 & _MASK)
    lanes = np.repeat(np.array(start, np.uint64)[:, None], len(at), axis=1)
    done = 0
    # Values with more stripes come first, so that those with a further stripe are a prefix.
    while (active := int(np.searchsorted(-counts, -done))) > _FEW:
        for lane in range(4):
            read = words[at[:active] + (32 * done + 8 * lane)]
            lanes[lane, :active] = _round(lanes[lane, :active], read)
        done += 1
    for value in range(active):
        _add_stripes(lanes, value, octets[at[value] :].data, done, int(counts[value]))
    hashes = np.empty(len(at), np.uint64)
    hashes[order] = _converge(lanes)
    return hashes


def _add_stripes(
    lanes: npt.NDArray[np.uint64], value: int, data: memoryview, done: int, count: int
) -> None:
    """Add the stripes from ``done`` to ``count`` of one value, which is at the start of data."""
    a, b, c, d = lanes[:, value].tolist()
    for words in _STRIPE.iter_unpack(data[32 * done : 32 * count]):
        a = (a + words[0] * _PRIME_2) & _MASK
        a = (((a << 31) | (a >> 33)) * _PRIME_1) & _MASK
        b = (b + words[1] * _PRIME_2) & _MASK
        b = (((b << 31) | (b >> 33)) * _PRIME_1) & _MASK
        c = (c + words[2] * _PRIME_2) & _MASK
        c = (((c << 31) | (c >> 33)) * _PRIME_1) & _MASK
        d = (d + words[3] * _PRIME_2) & _MASK
        d = (((d << 31) | (d >> 33)) * _PRIME_1) & _MASK
    lanes[:, value] = a, b, c, d


def _converge(lanes: npt.NDArray[np.uint64]) -> UInt64Array:
    a, b, c, d = lanes
    hashes = _rotated(a, 1) + _rotated(b, 7) + _rotated(c, 12) + _rotated(d, 18)
    for lane in lanes:
        hashes ^= _round(np.zeros(len(lane), np.uint64), lane)
        hashes *= _P1
        hashes += _P4
    return hashes


def _rotated(words: UInt64Array, bits: int) -> UInt64Array:
    high = words << np.uint64(bits)
    high |= words >> np.uint64(64 - bits)
    return high


def _round(lane: UInt64Array, words: npt.NDArray[Any]) -> UInt64Array:
    mixed = words * _P2
    mixed += lane
    mixed = _rotated(mixed, 31)
    mixed *= _P1
    return mixed


def _add_eight_bytes(hashes: UInt64Array, words: npt.NDArray[Any]) -> UInt64Array:
    mixed = _rotated(words * _P2, 31)
    mixed *= _P1
    mixed ^= hashes
    mixed = _rotated(mixed, 27)
    mixed *= _P1
    mixed += _P4
    return mixed


def _add_four_bytes(hashes: UInt64Array, words: npt.NDArray[Any]) -> UInt64Array:
    mixed = _rotated(hashes ^ (words * _P1), 23)
    mixed *= _P2
    mixed += _P3
    return mixed


def _add_byte(hashes: UInt64Array, octets: npt.NDArray[Any]) -> UInt64Array:
    mixed = _rotated(hashes ^ (octets * _P5), 11)
    mixed *= _P1
    return mixed


def _avalanche(hashes: UInt64Array) -> UInt64Array:
    hashes ^= hashes >> np.uint64(33)
    hashes *= _P2
    hashes ^= hashes >> np.uint64(29)
    hashes *= _P3
    hashes ^= hashes >> np.uint64(32)
    return hashes
