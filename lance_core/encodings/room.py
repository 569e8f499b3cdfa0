"""Memory for results: large arrays from Arrow's pool.

The pool hands out again what was freed. What numpy allocates is mapped anew each time, and the
system then clears every page of it, which costs more than most decoders do. In return the pool
keeps twice as much as is in use, or more.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_LARGE = 64 << 10
_TOO_LARGE = 1 << 40
"""Bytes from which on it pays, and from which on there is none: numpy says so."""


def room(count: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """An array of ``count`` elements that are still to be filled in; as `numpy.empty`.

    Raises `MemoryError` if there is not enough memory.
    """
    kind = np.dtype(dtype)
    size = count * kind.itemsize
    if not _LARGE <= size < _TOO_LARGE:
        return np.empty(count, kind)
    return np.frombuffer(pa.allocate_buffer(size), kind)


def give_back() -> None:
    """Return to the system what the pool keeps of memory that was freed; nothing in use changes.

    Also what the calling thread keeps for itself: call it in the thread that decodes.
    """
    pa.default_memory_pool().release_unused()
