"""Rows of small columns of a file that wait, to be encoded together at its end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from lance_core.datafile.waiting_rows import NumberedPage, WaitingRows
from lance_core.encodings.fast.version_paths import flush_together, small_columns
from lance_core.fast_paths import FastPath, FastPaths
from lance_core.schema.blobs.views import blob_fields

if TYPE_CHECKING:
    import pyarrow as pa

    from lance_core.encodings.context import EncodeContext, FieldEncoder
    from lance_core.encodings.v2_1.fast.small_columns import SmallColumns
    from lance_core.schema import Schema

MIN_SHARED = 3
"""Minimum number of small columns, less the number of their types, to encode them together."""


class WaitingColumns(WaitingRows):
    """The small ``columns`` are encoded together, the other fields alone."""

    def __init__(self, columns: SmallColumns, num_fields: int, context: EncodeContext) -> None:
        super().__init__(num_fields)
        self._columns = columns
        self._context = context

    @classmethod
    def of(cls, schema: Schema, context: EncodeContext) -> WaitingColumns | None:
        """None if few columns are small; or if there are blobs, which are encoded first."""
        if blob_fields(schema):
            return None
        columns = small_columns(schema, context, MIN_SHARED)
        return None if columns is None else cls(columns, schema.num_fields, context)

    @property
    def numbers(self) -> Sequence[int]:
        """See `WaitingRows`; columns that become large leave."""
        numbers: list[int] = self._columns.numbers.tolist()
        return numbers

    def num_columns(self, number: int) -> int:
        """See `WaitingRows`."""
        root = self._columns.roots.get(number)
        return 1 if root is None else root.num_leaves

    def add(self, batch: pa.RecordBatch) -> Mapping[int, Sequence[pa.Array]]:
        """See `WaitingRows`."""
        if not len(self._columns.numbers):  # all columns became large
            return super().add(batch)
        return self._columns.add(batch)

    def parts(self) -> Mapping[int, Sequence[pa.Array]]:
        """See `WaitingRows`."""
        return self._columns.parts()

    def flush(self, encoder_of: Callable[[int], FieldEncoder]) -> Iterable[Sequence[NumberedPage]]:
        """See `WaitingRows`."""
        return flush_together(self._columns, encoder_of, self._context)


WAITING_ROWS = FastPaths(FastPath.of(WaitingColumns.of))
"""Whether rows of a file, or of a group of its fields, wait.

Without it, writing 3,000 columns of 100 rows takes 8.2 times the processor time, and writing 2,000
nested columns of 1,000 rows 2.7 times.
"""
