"""Data of a write as flat views of memory."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from lance_core.errors import InvalidInputError
from lance_core.store.base import Buffers


def byte_views(data: Buffers) -> list[memoryview]:
    """The bytes of ``data`` in order, without a copy.

    Raises `InvalidInputError` for objects without contiguous bytes, such as text.
    """
    if not isinstance(data, bytes | bytearray | memoryview | str) and isinstance(data, Sequence):
        return [byte_view(item) for item in data]
    return [byte_view(data)]


def byte_view(data: object) -> memoryview:
    """The bytes of one buffer, without a copy; raises like `byte_views`."""
    try:
        view = memoryview(data)  # type: ignore[arg-type]  # other types raise TypeError here
    except TypeError:
        raise InvalidInputError(f"{type(data).__name__} has no bytes to write") from None
    if not view.c_contiguous:
        raise InvalidInputError("the bytes to write are not contiguous")
    if view.nbytes == 0:
        return memoryview(b"")
    return view if view.format == "B" and view.ndim == 1 else view.cast("B")


def joined(data: Buffers) -> pa.Buffer:
    """A copy of all bytes of ``data`` in one new buffer."""
    return pa.py_buffer(b"".join(byte_views(data)))
