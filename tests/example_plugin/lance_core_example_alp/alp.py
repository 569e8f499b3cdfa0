"""Floating-point numbers as whole numbers of some decimal place, with exceptions.

After "ALP: Adaptive Lossless floating-Point Compression" (Afroozeh, Kuffo, Boncz, 2023), made
simpler: one power of ten for all values of a block, and a division, which is correctly rounded.
A block is

    u8 power of ten | u8 bits | u16 0 | u32 number of exceptions      or, if that does not help,
    u8 255 | u8 0 | u16 0 | u32 0 and the values as they are

then for each 1024 values their smallest whole number (i64), the differences to it in as few bits as
the largest needs, and of each exception its position (u32) and its bits.
"""

from __future__ import annotations

import struct
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import CorruptFileError
from lance_core.hookspecs.kernels import NUMPY

Floats = npt.NDArray[np.floating[Any]]

_HEADER = struct.Struct("<BBHI")
_VECTOR = 1024
_PLAIN = 255
_POWERS = 10.0 ** np.arange(18)
_EXACT = float(1 << 52)
_SAMPLE = 256


def encode(array: pa.Array) -> bytes:
    """A block of float32 or float64 values."""
    values = array.to_numpy()
    power = _best_power(values[:: -(-len(values) // _SAMPLE)])
    whole, exact = _whole_numbers(values, _POWERS[power])
    vectors = -(-len(values) // _VECTOR)
    base = np.full((vectors, _VECTOR), np.iinfo(np.int64).max)
    base.reshape(-1)[: len(values)][exact] = whole[exact]
    smallest = base.min(axis=1, keepdims=True)
    smallest[smallest == np.iinfo(np.int64).max] = 0
    differences = (np.where(base == np.iinfo(np.int64).max, smallest, base) - smallest).ravel()
    width = int(differences.max()).bit_length()
    exceptions = np.flatnonzero(~exact)
    plain: bytes = values.tobytes()
    size = 8 * vectors + _VECTOR // 8 * width * vectors
    if size + len(exceptions) * (4 + values.itemsize) >= len(plain):
        return _HEADER.pack(_PLAIN, 0, 0, 0) + plain
    return b"".join(
        [
            _HEADER.pack(power, width, 0, len(exceptions)),
            smallest.astype("<i8").tobytes(),
            NUMPY.pack_fastlanes(differences.astype(np.uint64), width).tobytes(),
            exceptions.astype("<u4").tobytes(),
            values[exceptions].tobytes(),
        ]
    )


def _whole_numbers(
    values: Floats, powers: Any
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Each value times a power of ten, rounded; and whether that gives back all of its bits.

    Of several ``powers``, a column of them, both have a row for each.
    """
    with np.errstate(all="ignore"):
        scaled = np.rint(values.astype(np.float64) * powers)
        fits = np.abs(scaled) < _EXACT
        whole = np.where(fits, scaled, 0).astype(np.int64)
        again = (whole / powers).astype(values.dtype)
    bits = f"u{values.itemsize}"
    return whole, fits & (again.view(bits) == np.ascontiguousarray(values).view(bits))


def _best_power(sample: Floats) -> int:
    """The power of ten that makes a sample smallest."""
    whole, exact = _whole_numbers(sample, _POWERS[:, None])
    limits = np.iinfo(np.int64)
    smallest = np.where(exact, whole, limits.max).min(axis=1).tolist()
    largest = np.where(exact, whole, limits.min).max(axis=1).tolist()
    exception_bits = 32 + 8 * sample.itemsize
    sizes = []
    for count, low, high in zip(exact.sum(axis=1).tolist(), smallest, largest, strict=True):
        bits = (high - low).bit_length() if count else 0
        sizes.append(bits * count + (len(sample) - count) * exception_bits)
    return int(np.argmin(sizes))


def decode(data: pa.Buffer, type_: pa.DataType, count: int) -> pa.Array:
    """The ``count`` values of a block; raises `CorruptFileError`."""
    dtype = np.dtype(f"<f{type_.bit_width // 8}")
    if data.size < _HEADER.size:
        raise CorruptFileError(f"a block of {data.size} bytes")
    power, width, zero, exceptions = _HEADER.unpack(data[: _HEADER.size])
    vectors = -(-count // _VECTOR)
    if power == _PLAIN:
        sizes = [8, count * dtype.itemsize]
    else:
        packed = _VECTOR // 8 * width * vectors
        sizes = [8, 8 * vectors, packed, 4 * exceptions, dtype.itemsize * exceptions]
    if sum(sizes) != data.size or zero or exceptions > count:
        raise CorruptFileError(f"a block of {data.size} bytes that should have {sum(sizes)}")
    edges = np.cumsum(sizes)
    octets = np.frombuffer(data, np.uint8)
    parts = [octets[a:b] for a, b in pairwise(edges.tolist())]
    if power == _PLAIN:
        return pa.Array.from_buffers(type_, count, [None, pa.py_buffer(parts[0].copy())], 0)
    if power >= len(_POWERS) or width > 64:
        raise CorruptFileError(f"whole numbers of {width} bits times 10^-{power}")
    whole = NUMPY.unpack_fastlanes(parts[1], width, 64, vectors).reshape(vectors, _VECTOR)
    whole = whole + parts[0].view("<i8").astype(np.uint64)[:, None]
    values = (whole.view(np.int64).ravel()[:count] / _POWERS[power]).astype(dtype)
    positions = parts[2].view("<u4")
    if len(positions) and int(positions.max()) >= count:
        raise CorruptFileError(f"exception {int(positions.max())} among {count} values")
    values.view(f"<u{dtype.itemsize}")[positions] = parts[3].view(f"<u{dtype.itemsize}")
    return pa.Array.from_buffers(type_, count, [None, pa.py_buffer(values)], 0)
