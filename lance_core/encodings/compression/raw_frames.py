"""Find the content of incompressible values: zstd frames whose blocks are all raw.

The blocks of a frame follow its header (see `zstd_frames`). A block begins with a header of three
bytes, little endian: bit 0 is set in the last block, bits 1 and 2 are 0 in a raw block, and the
other bits are the size (RFC 8878, section 3.1.1).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lance_core.encodings.compression.zstd_frames import frame_headers
from lance_core.encodings.decoding import Int64Array

_CHECKSUM = 0x04


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
    headers = frame_headers(data, starts, stops)
    if headers is None or (headers.flags & _CHECKSUM).any():
        return None
    blocks = _blocks(data, headers.blocks_at, stops)
    if blocks is None:
        return None
    values, begins, ends = blocks
    total_sizes = np.bincount(values, ends - begins, len(starts)).astype(np.int64)
    if not np.array_equal(total_sizes, headers.sizes.astype(np.int64)):
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
