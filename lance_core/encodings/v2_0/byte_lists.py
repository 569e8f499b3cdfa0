"""Strings and binary values stored as lists of bytes, as in 2.0 files of early releases.

Releases up to 0.13 store such a field in two columns: the ends of its values, in pages with
encoding ``List``, and the bytes of all values in the next column. The schema has no field for the
second column, so the columns of later fields are shifted by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings.arrow.strings import check_utf8, is_text, offset_dtype
from lance_core.encodings.v2_0.column import ColumnPlan, FieldPlan
from lance_core.encodings.v2_0.list import ListPlan
from lance_core.errors import CorruptFileError

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Rows
    from lance_core.encodings.page import Column


class ByteListPlan(FieldPlan):
    """Decodes a string or binary field from a column of ends and a column of bytes."""

    __slots__ = ("_lists", "path", "type")

    def __init__(self, ends: Column, data: Column, type_: pa.DataType, path: str) -> None:
        byte = pa.uint8()
        large = offset_dtype(type_) is np.int64
        lists = pa.large_list(byte) if large else pa.list_(byte)
        self._lists = ListPlan(ends, lists, ColumnPlan(data, byte, path), path)
        self.type = type_
        self.path = path

    def decode(self, rows: Rows, context: DecodeContext) -> Decoding[list[pa.Array]]:
        """See `FieldPlan`."""
        lists = yield from self._lists.decode(rows, context)
        return [self._values(array, context.validate_utf8) for array in lists]

    def _values(self, lists: pa.Array, validate_utf8: bool) -> pa.Array:
        """The string or binary values whose bytes are the items of ``lists``."""
        bitmap, offsets = lists.buffers()[:2]
        items = lists.values
        if items.null_count:
            raise CorruptFileError("a byte of a value is null", field=self.path)
        stored = items.buffers()[1]
        data = pa.py_buffer(b"") if stored is None else stored.slice(items.offset, len(items))
        if validate_utf8 and is_text(self.type):
            dtype = offset_dtype(self.type)
            edges: npt.NDArray[Any] = np.frombuffer(offsets, dtype, len(lists) + 1)
            try:
                check_utf8(edges, data)
            except CorruptFileError as error:
                raise CorruptFileError(error.reason, field=self.path) from error
        buffers = [bitmap, offsets, data]
        return pa.Array.from_buffers(self.type, len(lists), buffers, lists.null_count)
