"""Values that zstd could not compress: frames of raw blocks, whose bytes are there to be copied.

A frame is its magic number, a byte of flags, optional fields, then blocks; a block begins with
three bytes, little endian: bit 0 is set in the last one, bits 1 and 2 are 0 if it is raw, and the
others are its size (RFC 8878, section 3.1.1). Only values behind their size (u64) are looked at.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lance_core.encodings.decoding import Int64Array

_MAGIC = 0xFD2FB528
_PREFIX = 8
_LEAST = _PREFIX + 4 + 1 + 1 + 3
_CHECKSUM, _SINGLE_SEGMENT = 0x04, 0x20
_DICTIONARY_BYTES = np.array([0, 1, 2, 4])
_SIZE_BYTES = np.array([0, 2, 4, 8])


class RawBlocks(NamedTuple):
    """Where the blocks of some values are, ascending; and how many bytes each value has."""

    starts: Int64Array
    stops: Int64Array
    sizes: Int64Array


def raw_blocks(
    data: npt.NDArray[np.uint8], starts: Int64Array, stops: Int64Array
) -> RawBlocks | None:
    """The blocks of the values from ``starts[i]`` to ``stops[i]``; None unless all are raw.

    What is found has been checked: a value's blocks fill it and are as long as it says.
    """
    if not len(starts) or (stops - starts < _LEAST).any():
        return None
    head = data[starts[:, None] + np.arange(_PREFIX + 5)]
    sizes = head[:, :_PREFIX].copy().view("<u8").ravel()
    magic = head[:, _PREFIX : _PREFIX + 4].copy().view("<u4").ravel()
    flags = head[:, _PREFIX + 4]
    if (magic != _MAGIC).any() or (flags & _CHECKSUM).any() or (sizes > len(data)).any():
        return None
    single = (flags & _SINGLE_SEGMENT) != 0
    stated = _SIZE_BYTES[flags >> 6] + (single & (flags >> 6 == 0))
    at = starts + _PREFIX + 5 + ~single + _DICTIONARY_BYTES[flags & 3] + stated
    blocks = _blocks(data, at, stops)
    if blocks is None:
        return None
    values, begins, ends = blocks
    found = np.bincount(values, ends - begins, len(starts)).astype(np.int64)
    if not np.array_equal(found, sizes.astype(np.int64)):
        return None
    order = np.argsort(begins, kind="stable")
    return RawBlocks(begins[order], ends[order], found)


def _blocks(
    data: npt.NDArray[np.uint8], at: Int64Array, stops: Int64Array
) -> tuple[Int64Array, Int64Array, Int64Array] | None:
    """The value, start and stop of each raw block; the next one of all values at a time."""
    values = np.arange(len(at))
    found = []
    while len(values):
        if (at + 3 > stops).any():
            return None
        header = data[at] | data[at + 1].astype(np.int64) << 8 | data[at + 2].astype(np.int64) << 16
        begins = at + 3
        ends = begins + (header >> 3)
        is_last = (header & 1) != 0
        if (header & 6).any() or (ends > stops).any() or (is_last & (ends != stops)).any():
            return None
        found.append((values, begins, ends))
        going_on = ~is_last
        values, at, stops = values[going_on], ends[going_on], stops[going_on]
    joined = [np.concatenate(parts) for parts in zip(*found, strict=True)]
    return joined[0], joined[1], joined[2]
