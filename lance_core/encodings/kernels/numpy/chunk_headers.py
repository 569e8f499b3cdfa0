"""Parse the headers of mini-block chunks and locate the parts of each chunk.

A chunk starts with the number of levels (u16), the byte sizes of the repetition and definition
levels (u16 each, if the page has them) and the byte size of each value buffer (u16, or u32 with
large chunks). Each part starts at a multiple of 8 bytes from the start of the chunk.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from lance_core.encodings.decoding import Int64Array
from lance_core.encodings.kernels.numpy.chunk_spans import Bytes, check_spans, rows_at
from lance_core.errors import CorruptFileError

_MAX_PARTS = 64


def chunk_headers(
    data: Bytes, starts: Int64Array, sizes: Int64Array, levels: int, buffers: int, large: bool
) -> Int64Array:
    """See `lance_core.encodings.kernels.Kernels.chunk_headers`."""
    length = header_length(levels, buffers, large)
    check_spans(data, starts, sizes)
    if (sizes < length).any():
        raise CorruptFileError(f"a chunk is shorter than its header of {length} bytes")
    header = rows_at(data, starts, length)
    fixed = 2 * (1 + levels)
    numbers = header[:, :fixed].copy().view("<u2").T
    parts = levels + buffers
    # Rows of the table: the number of levels, the start of each part, the size of each part.
    table = np.empty((1 + 2 * parts, len(starts)), np.int64)
    # This also writes the level sizes into the rows of the starts; the loop below overwrites them.
    table[: 1 + levels] = numbers
    table[1 + parts : 1 + parts + levels] = numbers[1:]
    table[1 + parts + levels :] = header[:, fixed:].copy().view("<u4" if large else "<u2").T
    end = np.full(len(starts), length, np.int64)
    for number in range(parts):
        offset = (end + 7) // 8 * 8
        table[1 + number] = starts + offset
        end = offset + table[1 + parts + number]
    if (end > sizes).any():
        raise CorruptFileError("the parts of a chunk do not fit into it")
    return table.reshape(-1)


@lru_cache(maxsize=1024)
def header_length(levels: int, buffers: int, large: bool) -> int:
    """Bytes of a header. Raises `CorruptFileError` for numbers of parts that no page has."""
    if not 0 <= levels <= 2 or not 0 < buffers <= _MAX_PARTS:
        raise CorruptFileError(f"chunks cannot have {levels} kinds of levels and {buffers} buffers")
    return 2 * (1 + levels) + buffers * (4 if large else 2)
