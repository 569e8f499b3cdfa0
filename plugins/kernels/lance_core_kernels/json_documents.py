"""Kernels for JSON documents."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from lance_core.hookspecs.arrays import empty
from lance_core_kernels import _native
from lance_core_kernels.errors import INVALID, Bytes, Int64Array, aligned, contiguous

_MAX_BINARY = 8
"""Maximum bytes of binary JSON, and of the parts that it is put together from, per letter."""

_MAX_TEXT = 7
"""Maximum letters of text per byte of binary JSON."""

_SCALAR = 64
"""Bytes besides, that a result may take, for each document."""


def encode_json(data: Bytes, offsets: Int64Array) -> tuple[pa.Buffer, Int64Array, Int64Array]:
    """See `lance_core.encodings.kernels.Kernels.encode_json`."""
    return _converted(_native.encode_json, data, offsets, _MAX_BINARY)


def decode_json(data: Bytes, offsets: Int64Array) -> tuple[pa.Buffer, Int64Array, Int64Array]:
    """See `lance_core.encodings.kernels.Kernels.decode_json`."""
    return _converted(_native.decode_json, data, offsets, _MAX_TEXT)


def _converted(
    loop: Callable[..., int], data: Bytes, offsets: Int64Array, growth: int
) -> tuple[pa.Buffer, Int64Array, Int64Array]:
    count = len(offsets) - 1
    # Pages that are never written use no memory; a document that finds no room is left out.
    buffer = empty(growth * len(data) + _SCALAR * max(0, count), np.uint8)
    edges, rest = np.empty(count + 1, np.int64), np.empty(max(0, count), np.int64)
    with INVALID:
        left = loop(contiguous(data), aligned(offsets), buffer, edges, rest)
    return pa.py_buffer(buffer[: int(edges[-1])].tobytes()), edges, rest[:left]
