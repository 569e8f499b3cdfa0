"""Structs: a header column without data (message ``SimpleStruct``), then the columns of members.

2.0 files do not store which structs are null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lance_core.encodings.arrow.structs import struct_arrays
from lance_core.encodings.decoding import run_interleaved
from lance_core.encodings.page_rows import check_within
from lance_core.encodings.v2_0.column import FieldPlan

if TYPE_CHECKING:
    import pyarrow as pa

    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Rows
    from lance_core.encodings.page import Column


class StructPlan(FieldPlan):
    """Decodes a struct field, optionally with only some of its members."""

    __slots__ = ("header", "members", "path", "type")

    def __init__(
        self, header: Column, type_: pa.StructType, members: list[FieldPlan], path: str
    ) -> None:
        self.header = header
        self.type = type_
        self.members = members
        self.path = path

    def decode(self, rows: Rows, context: DecodeContext) -> Decoding[list[pa.Array]]:
        """See `FieldPlan`."""
        check_within(self.header, rows, self.path)
        columns = yield from run_interleaved(
            [member.decode(rows, context) for member in self.members]
        )
        return struct_arrays(self.type, columns, len(rows))
