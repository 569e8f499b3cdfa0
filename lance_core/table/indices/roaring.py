"""Check the bytes of a 32-bit Roaring bitmap before the library deserialises them.

The library trusts the counts of a bitmap: damaged ones give wrong sets or overrun its buffers. The
layout is that of the Roaring format specification: a cookie, a header of (key, cardinality - 1) for
each container, the byte offsets of the containers, and the containers. A container is an array of
at most 4,096 numbers (16 bits each), a bitset of 8,192 bytes, or runs of (first, length - 1).
"""

from __future__ import annotations

import struct

import numpy as np
import numpy.typing as npt

ARRAYS_COOKIE = 12346
"""The first 32 bits of a bitmap without containers of runs."""
MAX_ARRAY = 4096
"""The most numbers of an array container; containers with more are bitsets."""
BITSET_BYTES = 8192
"""Bytes of a container that is a bitset: one bit for each of 65,536 numbers."""

_RUNS_COOKIE = 12347
_MIN_CONTAINERS_WITH_OFFSETS = 4
_MAX_CONTAINERS = 1 << 16

_Units = npt.NDArray[np.uint16]


def checked_end(data: bytes, start: int = 0) -> int:
    """Where the bitmap that begins at ``start`` ends. Raises ValueError if it is damaged."""
    try:
        (cookie,) = struct.unpack_from("<I", data, start)
        if cookie == ARRAYS_COOKIE:
            (count,) = struct.unpack_from("<I", data, start + 4)
            header, flags, has_offsets = start + 8, None, True
        elif cookie & 0xFFFF == _RUNS_COOKIE:
            count = (cookie >> 16) + 1
            size = (count + 7) // 8
            flags = np.frombuffer(data, np.uint8, size, start + 4)
            header, has_offsets = start + 4 + size, count >= _MIN_CONTAINERS_WITH_OFFSETS
        else:
            raise ValueError(f"a bitmap begins with the unknown cookie {cookie}")
    except struct.error:
        raise ValueError("a bitmap ends too early") from None
    if count > _MAX_CONTAINERS:
        raise ValueError(f"a bitmap has {count} containers")
    headers = _units(data, header, 2 * count)
    _require(_ascends(headers[::2]), "the containers of a bitmap do not ascend")
    counts = headers[1::2].astype(np.int64) + 1
    position: int = header + 4 * count * (2 if has_offsets else 1)
    if flags is None:
        return _check_containers(data, position, counts)
    are_runs = np.unpackbits(flags, count=count, bitorder="little").tolist()
    for number, is_run in enumerate(are_runs):
        if is_run:
            position = _check_runs(data, position, int(counts[number]))
        else:
            position = _check_containers(data, position, counts[number : number + 1])
    return position


def _check_containers(data: bytes, start: int, counts: npt.NDArray[np.int64]) -> int:
    """Check adjacent arrays and bitsets of ``counts`` numbers; returns their end."""
    sizes = np.where(counts > MAX_ARRAY, BITSET_BYTES // 2, counts)
    ends = np.cumsum(sizes)
    units = _units(data, start, int(sizes.sum()))
    if len(units) < 2:
        return start + units.nbytes
    ascends = units[1:] > units[:-1]
    ascends[ends[:-1] - 1] = True
    for number in np.flatnonzero(counts > MAX_ARRAY).tolist():
        stop = int(ends[number])
        bits = units[stop - BITSET_BYTES // 2 : stop]
        ascends[stop - len(bits) : stop - 1] = True
        count = int(np.unpackbits(bits.view(np.uint8)).sum())
        _require(count == counts[number], "a bitset of a bitmap has another number of bits")
    _require(bool(ascends.all()), "an array of a bitmap does not ascend")
    return start + units.nbytes


def _check_runs(data: bytes, start: int, cardinality: int) -> int:
    count = int(_units(data, start, 1)[0])
    runs = _units(data, start + 2, 2 * count).astype(np.int64)
    first, last = runs[::2], runs[::2] + runs[1::2]
    fits = not count or last[-1] < 1 << 16
    _require(fits and bool((first[1:] > last[:-1]).all()), "the runs of a bitmap overlap")
    total = int((last - first + 1).sum())
    _require(total == cardinality, "the runs of a bitmap have another number of values")
    return start + 2 + 4 * count


def _units(data: bytes, start: int, count: int) -> _Units:
    _require(start + 2 * count <= len(data), "a bitmap ends too early")
    return np.frombuffer(data, "<u2", count, start)


def _ascends(units: _Units) -> bool:
    return bool((units[1:] > units[:-1]).all())


def _require(condition: bool, problem: str) -> None:
    if not condition:
        raise ValueError(problem)
