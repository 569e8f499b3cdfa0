"""The page table of a 0.1 file: the position and length of each page, by column and batch.

An entry is two int64: the byte offset of the page and its number of values. This is the number of
rows, except for lists (one more) and for items of lists. The entries of a column are adjacent. The
column of a field is its id minus the first id of the table. Fields without pages of their own
(structs, ids that the file does not contain) have entries of zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lance_core.errors import CorruptFileError
from lance_core.hookspecs.stores import ByteRange
from lance_core_legacy.selection import select

if TYPE_CHECKING:
    from lance_core.hookspecs.arrays import Int64Array
    from lance_core.hookspecs.file_versions import DecodeContext, Decoding, Rows
    from lance_core_legacy.selection import BatchSelection

ENTRY = 16
"""Bytes of an entry."""

_MAX_VALUES = 1 << 48  # per page: products with the width of a value fit into 64 bits


class Pages(NamedTuple):
    """The pages of one column, one per batch: byte offsets and numbers of values."""

    positions: Int64Array
    lengths: Int64Array


class PageTable:
    """The page table at byte ``position``.

    ``edges`` has the first row of each batch, then the number of rows. Columns are read on first
    use and cached. Thread-safe.
    """

    __slots__ = ("_kept", "_selected", "edges", "num_rows", "position")

    def __init__(self, position: int, edges: Int64Array) -> None:
        self.position = position
        self.edges = edges
        self.num_rows = int(edges[-1])
        self._kept: dict[int, Pages] = {}
        self._selected: tuple[Rows, BatchSelection] | None = None

    def select(self, rows: Rows) -> BatchSelection:
        """Locate ``rows`` in batches. Caches the last result for the other columns of a read."""
        last = self._selected
        if last is None or last[0] is not rows:
            last = self._selected = (rows, select(rows, self.edges))
        return last[1]

    def pages(self, column: int, context: DecodeContext) -> Decoding[Pages]:
        """The pages of a column. Raises `CorruptFileError` for invalid entries."""
        pages = self._kept.get(column)
        if pages is not None:
            return pages
        size = ENTRY * (len(self.edges) - 1)
        start = self.position + column * size
        if column < 0 or start < 0 or start + size > context.file_size:
            raise CorruptFileError(
                f"column {column} of the page table is not within the {context.file_size} bytes of "
                "the file",
                offset=self.position,
            )
        (raw,) = yield [ByteRange(start, start + size)]
        entries = np.frombuffer(raw, "<i8").reshape(-1, 2)
        positions, lengths = entries[:, 0].copy(), entries[:, 1].copy()
        if (positions < 0).any() or (lengths < 0).any() or (lengths > _MAX_VALUES).any():
            raise CorruptFileError("the entries of a page table are not valid", offset=start)
        return self._kept.setdefault(column, Pages(positions, lengths))
