"""Kernels for the bytes of files."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence

import numpy as np

from lance_core_kernels import _native

_ENDED = -1
"""What the C code returns if a file ends before a range."""


def copy_ranges(
    ranges: Sequence[tuple[int, int, int, int]], target: int, buffer: bytearray
) -> None:
    """See `lance_core.encodings.kernels.Kernels.copy_ranges`."""
    code = _native.copy_ranges(np.array(ranges, np.int64).reshape(-1, 4), target, buffer)
    if code == _ENDED:
        raise OSError(errno.EIO, "a file ended before the end of a range")
    if code:
        raise OSError(code, os.strerror(code))
