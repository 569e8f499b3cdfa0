"""Kernels for the bytes of files."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence

import numpy as np

from lance_core_kernels import _native

ROOM_BYTES = 512 << 10
"""Bytes to read at once: they are still in the cache of a processor when they are written."""

_MAX_SPARE = 4
"""Maximum number of buffers that are kept for the next copy."""

_ENDED = -1

_spare: list[bytearray] = []
"""Buffers that no thread uses."""


def copy_ranges(ranges: Sequence[tuple[int, int, int, int]], target: int) -> None:
    """See `lance_core.encodings.kernels.Kernels.copy_ranges`."""
    places = np.array(ranges, np.int64).reshape(-1, 4)
    try:
        room = _spare.pop()
    except IndexError:
        room = bytearray(ROOM_BYTES)
    code = _native.copy_ranges(places, target, room)
    if len(_spare) < _MAX_SPARE:
        _spare.append(room)
    if code == _ENDED:
        raise OSError(errno.EIO, "a file ended before the end of a range")
    if code:
        raise OSError(code, os.strerror(code))
