"""Buffered list ends that wait until they fill a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core._pb.encodings_v2_0_pb2 import ArrayEncoding, List
from lance_core.encodings.page import EncodedPage
from lance_core.encodings.v2_0.base import EncodeScope

if TYPE_CHECKING:
    from lance_core.encodings.registry import EncodingRegistry
    from lance_core.encodings.v2_0.offsets import UInt64Array, Valid


class PendingLists:
    """Lists of one page. ``size`` is the memory they take, in bytes."""

    __slots__ = ("_ends", "_items", "_valid", "row", "size")

    def __init__(self) -> None:
        self.size = 0
        self.row = 0
        self._items = 0
        self._ends: list[UInt64Array] = []
        self._valid: list[Valid] = []

    def __bool__(self) -> bool:
        return bool(self._ends)

    def add(self, array: pa.Array, row: int) -> pa.Array:
        """Append lists, the first of which is in top-level row ``row``; return their items."""
        dtype = np.dtype(np.int32 if pa.types.is_list(array.type) else np.int64)
        buffer = array.buffers()[1]
        if buffer is None or not len(array):
            offsets = np.zeros(1, dtype)
        else:
            offsets = np.frombuffer(buffer, dtype, len(array) + 1, array.offset * dtype.itemsize)
        first, last = int(offsets[0]), int(offsets[-1])
        if not self._ends:
            self.row = row
        ends = np.subtract(offsets[1:], first - self._items, dtype=np.int64)
        self._ends.append(ends.view(np.uint64))
        self._valid.append(np.asarray(array.is_valid()) if array.null_count else None)
        self._items += last - first
        self.size += len(array) * dtype.itemsize + (len(array) + 7) // 8
        return array.values.slice(first, last - first)

    def page(self, column: int, registry: EncodingRegistry) -> EncodedPage:
        """The encoded page of these lists."""
        # An end beyond all items marks a null list; less this number it is the real end.
        adjustment = self._items + 1
        marked = [
            ends if valid is None else ends + np.where(valid, 0, adjustment).astype(np.uint64)
            for ends, valid in zip(self._ends, self._valid, strict=True)
        ]
        ends = marked[0] if len(marked) == 1 else np.concatenate(marked)
        scope = EncodeScope(registry)
        values = pa.Array.from_buffers(pa.uint64(), len(ends), [None, pa.py_buffer(ends)], 0)
        message = List(
            offsets=scope.encode("nullable", values),
            null_offset_adjustment=adjustment,
            num_items=self._items,
        )
        encoding = ArrayEncoding(list=message).SerializeToString()
        return EncodedPage(column, scope.buffers, encoding, len(ends), self.row)
