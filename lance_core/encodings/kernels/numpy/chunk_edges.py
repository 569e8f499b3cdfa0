"""Parse the chunk words of a mini-block page.

A chunk word is ``(bytes / 8 - 1) << 4 | log2(values)``; the last chunk has the remaining values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lance_core.errors import CorruptFileError

if TYPE_CHECKING:
    import pyarrow as pa

    from lance_core.encodings.decoding import Int64Array

MAX_CHUNK_VALUES = 1 << 15
"""Maximum values of a chunk: its word has four bits for their logarithm."""


def chunk_edges(
    words: pa.Buffer, large: bool, num_values: int, num_bytes: int
) -> tuple[Int64Array, Int64Array]:
    """See `lance_core.encodings.kernels.Kernels.chunk_edges`."""
    check_words(words, large)
    word = np.frombuffer(words, "<u4" if large else "<u2").astype(np.int64)
    edges, values = np.zeros((2, len(word) + 1), np.int64)
    (((word >> 4) + 1) * 8).cumsum(out=edges[1:])
    if edges[-1] > num_bytes:
        raise CorruptFileError(
            f"the chunks take {int(edges[-1])} bytes, but their buffer has {num_bytes}"
        )
    logs = word & 15
    if not logs[:-1].all():
        raise CorruptFileError("only the last chunk may omit its number of values")
    counts = np.left_shift(1, logs)
    counts[:-1].cumsum(out=values[1:-1])
    last = num_values - int(values[-2])
    if not 0 < last <= MAX_CHUNK_VALUES or (logs[-1] and counts[-1] != last):
        raise CorruptFileError(f"the chunks do not hold {num_values} values")
    values[-1] = num_values
    return edges, values


def check_words(words: pa.Buffer, large: bool) -> int:
    """The number of words. Raises `CorruptFileError` for a buffer that does not hold whole ones."""
    size = 4 if large else 2
    if not words.size or words.size % size:
        raise CorruptFileError(
            f"the buffer of chunk words has {words.size} bytes, not a positive multiple of {size}",
            field="MiniBlockLayout",
        )
    return int(words.size) // size
