"""Memory for results: large arrays from Arrow's pool.

The pool hands out again what was freed. What numpy allocates is mapped anew each time, and the
system then clears every page of it, which costs more than most decoders do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_LARGE = 64 << 10
"""Bytes from which on it pays."""


def room(count: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """An array of ``count`` elements that are still to be filled in; as `numpy.empty`."""
    kind = np.dtype(dtype)
    size = count * kind.itemsize
    if size < _LARGE:
        return np.empty(count, kind)
    return np.frombuffer(pa.allocate_buffer(size), kind)
