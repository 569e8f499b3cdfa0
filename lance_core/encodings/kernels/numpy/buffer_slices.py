"""Join slices of several buffers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from lance_core.encodings.arrow.memory_pool import empty
from lance_core.encodings.decoding import Int64Array
from lance_core.encodings.kernels.numpy.chunk_spans import Bytes
from lance_core.errors import CorruptFileError

SMALL_SLICE = 16 << 10
"""Mean bytes of slices up to which Python joins them faster than numpy: it copies with the
interpreter lock, but creates no array for each slice."""


def check_slices(owners: Int64Array, starts: Int64Array, stops: Int64Array) -> int:
    """The bytes of all slices. Raises `CorruptFileError` for slices that are no ranges."""
    if not len(owners) == len(starts) == len(stops):
        raise CorruptFileError("the numbers of slices, starts and stops differ")
    if not len(starts):
        return 0
    if starts.min() < 0 or (stops < starts).any():
        raise CorruptFileError("a slice starts before its buffer or after its end")
    return int((stops - starts).sum())


def join_slices(
    buffers: Sequence[pa.Buffer], owners: Int64Array, starts: Int64Array, stops: Int64Array
) -> Bytes:
    """See `lance_core.encodings.kernels.Kernels.join_slices`."""
    total = check_slices(owners, starts, stops)
    if not len(owners):
        return np.empty(0, np.uint8)
    if owners.min() < 0 or owners.max() >= len(buffers):
        raise CorruptFileError(f"a slice of another buffer than the {len(buffers)} that there are")
    sizes = np.fromiter(map(len, buffers), np.int64, len(buffers))
    if (stops > sizes[owners]).any():
        raise CorruptFileError("a slice ends after its buffer")
    views = [memoryview(buffer) for buffer in buffers]
    slices = zip(owners.tolist(), starts.tolist(), stops.tolist(), strict=True)
    parts = [views[owner][start:stop] for owner, start, stop in slices]
    if total <= SMALL_SLICE * len(parts):
        return np.frombuffer(b"".join(parts), np.uint8)
    joined: Bytes = empty(total, np.uint8)
    np.concatenate([np.frombuffer(part, np.uint8) for part in parts], out=joined)
    return joined
