"""Find the content of incompressible values: zstd frames whose blocks are all raw.

A frame is its magic number, a byte of flags, optional fields, then blocks. A block begins with a
header of three bytes, little endian: bit 0 is set in the last block, bits 1 and 2 are 0 in a raw
block, and the other bits are the size (RFC 8878, section 3.1.1). Only frames with the u64 size
before them are handled.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lance_core.encodings.decoding import Int64Array

# _MIN_BYTES: size prefix, magic number, flags, one byte of optional fields, one block header.
# The tables give the bytes of the dictionary id and of the content size by their flag bits.
_MAGIC = 0xFD2FB528
_PREFIX = 8
_MIN_BYTES = _PREFIX + 4 + 1 + 1 + 3
_CHECKSUM, _SINGLE_SEGMENT = 0x04, 0x20
_DICTIONARY_BYTES = np.array([0, 1, 2, 4])
_SIZE_BYTES = np.array([0, 2, 4, 8])


class RawBlocks(NamedTuple):
    """The ascending byte positions of the raw blocks of some values, and the size of each value."""

    starts: Int64Array
    stops: Int64Array
    sizes: Int64Array


def raw_blocks(
    data: npt.NDArray[np.uint8], starts: Int64Array, stops: Int64Array
) -> RawBlocks | None:
    """The blocks of the values at ``starts[i]`` to ``stops[i]``; None unless all blocks are raw.

    The result is checked: the blocks of a value fill it and have the size that it states.
    """
    if not len(starts) or (stops - starts < _MIN_BYTES).any():
        return None
    head = data[starts[:, None] + np.arange(_PREFIX + 5)]
    sizes = head[:, :_PREFIX].copy().view("<u8").ravel()
    magic = head[:, _PREFIX : _PREFIX + 4].copy().view("<u4").ravel()
    flags = head[:, _PREFIX + 4]
    if (magic != _MAGIC).any() or (flags & _CHECKSUM).any() or (sizes > len(data)).any():
        return None
    # A single-segment frame has no window descriptor byte, but always has a content size: code 0
    # then means one byte. Without the flag, code 0 means that there is no content size.
    single = (flags & _SINGLE_SEGMENT) != 0
    stated = _SIZE_BYTES[flags >> 6] + (single & (flags >> 6 == 0))
    at = starts + _PREFIX + 5 + ~single + _DICTIONARY_BYTES[flags & 3] + stated
    blocks = _blocks(data, at, stops)
    if blocks is None:
        return None
    values, begins, ends = blocks
    total_sizes = np.bincount(values, ends - begins, len(starts)).astype(np.int64)
    if not np.array_equal(total_sizes, sizes.astype(np.int64)):
        return None
    order = np.argsort(begins, kind="stable")
    return RawBlocks(begins[order], ends[order], total_sizes)


def _blocks(
    data: npt.NDArray[np.uint8], at: Int64Array, stops: Int64Array
) -> tuple[Int64Array, Int64Array, Int64Array] | None:
    """The value number, start and stop of each raw block; None if a block is not raw or not valid.

    Each iteration reads the next block of all values that have one.
    """
    values = np.arange(len(at))
    blocks = []
    while len(values):
        if (at + 3 > stops).any():
            return None
        header = data[at] | data[at + 1].astype(np.int64) << 8 | data[at + 2].astype(np.int64) << 16
        begins = at + 3
        ends = begins + (header >> 3)
        is_last = (header & 1) != 0
        if (header & 6).any() or (ends > stops).any() or (is_last & (ends != stops)).any():
            return None
        blocks.append((values, begins, ends))
        going_on = ~is_last
        values, at, stops = values[going_on], ends[going_on], stops[going_on]
    joined = [np.concatenate(parts) for parts in zip(*blocks, strict=True)]
    return joined[0], joined[1], joined[2]
