"""Blob columns (message ``Blob``): pages of (position, size), payloads elsewhere in the file.

Position 1 with size 0 stands for null, position 0 with size 0 for an empty value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from lance_core.encodings.arrow.memory_pool import concat_arrays
from lance_core.encodings.arrow.strings import taken_arrays
from lance_core.encodings.blob_payloads import DESCRIPTION, payloads
from lance_core.encodings.v2_0.column import ColumnPlan, FieldPlan
from lance_core.errors import CorruptFileError

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Rows
    from lance_core.encodings.page import Column


class BlobPlan(FieldPlan):
    """Reads the payloads of a blob column as large_binary."""

    __slots__ = ("descriptions",)

    def __init__(self, column: Column, path: str) -> None:
        self.descriptions = ColumnPlan(column, DESCRIPTION, path)

    def decode(self, rows: Rows, context: DecodeContext) -> Decoding[list[pa.Array]]:
        """See `FieldPlan`."""
        arrays = yield from self.descriptions.decode(rows, context)
        whole = concat_arrays(arrays)
        members = [whole.field(i) for i in range(2)]
        if any(member.null_count for member in (whole, *members)):
            raise CorruptFileError("where a blob lies is null", field=self.descriptions.path)
        positions, sizes = (member.to_numpy() for member in members)
        valid = ~((positions == 1) & (sizes == 0))
        try:
            taken = yield from payloads(positions, sizes, context)
        except CorruptFileError as error:
            raise error.at(field=self.descriptions.path) from error
        return taken_arrays(pa.large_binary(), taken, None if valid.all() else valid, False)
