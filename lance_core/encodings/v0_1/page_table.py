"""The page table of a 0.1 file: for each column and batch, where the page is and how long.

An entry is two int64, the byte offset of the page and its number of values, which is the number of
rows except for lists (one more) and items of lists. The entries of a column lie side by side; the
column of a field is its id, counted from the first id of the table. What has no page of its own
(structs, ids that the file does not hold) has entries of zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lance_core.encodings.v0_1.selection import select
from lance_core.errors import CorruptFileError
from lance_core.store.base import ByteRange

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Int64Array, Rows
    from lance_core.encodings.v0_1.selection import BatchSelection

ENTRY = 16
"""Bytes of an entry."""

_MOST_VALUES = 1 << 48  # of a page; products with the width of a value are computed exactly


class Pages(NamedTuple):
    """The pages of one column, one for each batch: byte offsets, and numbers of values."""

    positions: Int64Array
    lengths: Int64Array


class PageTable:
    """The table that starts at byte ``position``; ``edges`` are the first rows of the batches.

    The last entry of ``edges`` is the number of rows. Columns are read when they are first asked
    for, and kept. Thread-safe.
    """

    __slots__ = ("_kept", "_selected", "edges", "num_rows", "position")

    def __init__(self, position: int, edges: Int64Array) -> None:
        self.position = position
        self.edges = edges
        self.num_rows = int(edges[-1])
        self._kept: dict[int, Pages] = {}
        self._selected: tuple[Rows, BatchSelection] | None = None

    def select(self, rows: Rows) -> BatchSelection:
        """Where ``rows`` are. The columns of a read ask for the same: the last answer is kept."""
        last = self._selected
        if last is None or last[0] is not rows:
            last = self._selected = (rows, select(rows, self.edges))
        return last[1]

    def pages(self, column: int, context: DecodeContext) -> Decoding[Pages]:
        """The pages of a column; `CorruptFileError` for what no page can be."""
        kept = self._kept.get(column)
        if kept is not None:
            return kept
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
        if (positions < 0).any() or (lengths < 0).any() or (lengths > _MOST_VALUES).any():
            raise CorruptFileError("not the entries of a page table", offset=start)
        return self._kept.setdefault(column, Pages(positions, lengths))
