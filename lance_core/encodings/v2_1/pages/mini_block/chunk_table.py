"""The position and content of the chunks of a mini-block page (message ``MiniBlockLayout``).

A chunk word is ``(bytes / 8 - 1) << 4 | log2(values)``; the last chunk has the remaining values.
Pages with lists have a repetition index. For each chunk it states the number of rows that end in
it, and the number of levels after that, which belong to a row that continues in the next chunk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lance_core.encodings.decoding import Int64Array, RowIndices, RowRange, Rows
from lance_core.encodings.kernels import Kernels
from lance_core.encodings.v2_1.levels.repdef import BoolArray
from lance_core.errors import CorruptFileError
from lance_core.lazy_dataclass import dataclass

_MOST_VALUES = 1 << 15
_MOST_ROWS = 1 << 48


class RowTable(NamedTuple):
    """The rows of the chunks of a page with lists.

    ``ended[c]``: number of rows that end before chunk c; one more entry has the number of all rows.
    ``continues[c]``: True if chunk c starts inside a row. ``first[c]``: the first row that starts
    in chunk c or later.
    """

    ended: Int64Array
    continues: BoolArray
    first: Int64Array


@dataclass(frozen=True, slots=True, eq=False)
class ChunkTable:
    """The chunks of one page, or of several consecutive pages.

    ``starts`` and ``stops``: the bytes of each chunk, counted from a common origin. ``values``: the
    first value of each chunk, then the total. ``counts``: the number of values of each chunk.
    """

    starts: Int64Array
    stops: Int64Array
    values: Int64Array
    rows: RowTable | None
    counts: Int64Array = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", self.values[1:] - self.values[:-1])

    def chunks_of(self, rows: Rows, kernels: Kernels) -> Int64Array:
        """The ascending numbers of the chunks that hold ``rows``."""
        if isinstance(rows, RowIndices) and self.rows is None:
            return self.locate(rows.values, kernels)[0]
        if isinstance(rows, RowRange):
            return np.arange(self._first_of(rows.start), self._last_of(rows.stop - 1) + 1)
        # Count at each chunk how many rows cover it: +1 at the first chunk of a row, -1 after the
        # last.
        firsts, lasts = self._first(rows.values), self._last(rows.values)
        changes = np.zeros(len(self.values), np.int64)
        np.add.at(changes, firsts, 1)
        np.add.at(changes, lasts + 1, -1)
        return np.flatnonzero(np.cumsum(changes) > 0)

    def locate(
        self, rows: Int64Array, kernels: Kernels
    ) -> tuple[Int64Array, Int64Array, Int64Array]:
        """Locate single rows of a page without lists.

        Returns the ascending numbers of the chunks in use, and for each row the index into these
        numbers and the position of its value within the chunk.
        """
        return kernels.locate_rows(self.values, rows)

    def _first_of(self, row: int) -> int:
        """The chunk in which a row starts."""
        firsts = self.values if self.rows is None else self.rows.first
        return int(firsts.searchsorted(row, "right")) - 1

    def _last_of(self, row: int) -> int:
        """The chunk in which a row ends."""
        if self.rows is None:
            return self._first_of(row)
        return int(self.rows.ended[1:].searchsorted(row, "right"))

    def _first(self, rows: Int64Array) -> Int64Array:
        """The chunk in which each row starts."""
        if self.rows is None:
            return np.searchsorted(self.values, rows, side="right") - 1
        first: Int64Array = np.searchsorted(self.rows.first, rows, side="right") - 1
        return first

    def _last(self, rows: Int64Array) -> Int64Array:
        """The chunk in which each row ends."""
        if self.rows is None:
            return self._first(rows)
        return np.searchsorted(self.rows.ended[1:], rows, side="right")


def chunk_table(
    words: pa.Buffer, large: bool, num_values: int, num_bytes: int, rows: RowTable | None
) -> ChunkTable:
    """The table from the chunk words, for ``num_values`` values in ``num_bytes`` bytes.

    Raises `CorruptFileError` if the chunks do not add up to these totals.
    """
    unit = np.dtype("<u4" if large else "<u2")
    if not words.size or words.size % unit.itemsize:
        raise CorruptFileError(f"{words.size} bytes of chunk words", field="MiniBlockLayout")
    word = np.frombuffer(words, unit).astype(np.int64)
    starts = np.zeros(len(word) + 1, np.int64)
    (((word >> 4) + 1) * 8).cumsum(out=starts[1:])
    if starts[-1] > num_bytes:
        raise CorruptFileError(f"chunks of {int(starts[-1])} bytes in {num_bytes} bytes")
    logs = word & 15
    if not logs[:-1].all():
        raise CorruptFileError("only the last chunk may omit its number of values")
    counts = np.left_shift(1, logs)
    values = np.zeros(len(word) + 1, np.int64)
    counts[:-1].cumsum(out=values[1:-1])
    last = num_values - int(values[-2])
    if not 0 < last <= _MOST_VALUES or (logs[-1] and counts[-1] != last):
        raise CorruptFileError(f"the chunks do not hold {num_values} values")
    values[-1] = num_values
    if rows is not None and len(rows.ended) != len(values):
        raise CorruptFileError(f"a repetition index of {len(rows.first)} for {len(word)} chunks")
    return ChunkTable(starts[:-1], starts[1:], values, rows)


def row_table(index: pa.Buffer, depth: int, num_rows: int) -> RowTable:
    """The row table from the repetition index. Raises `CorruptFileError`."""
    width = depth + 1
    if not index.size or index.size % (8 * width):
        raise CorruptFileError(f"a repetition index of {index.size} bytes")
    table = np.frombuffer(index, "<u8").reshape(-1, width)
    if int(table[:, :2].max()) > _MOST_ROWS:
        raise CorruptFileError("a repetition index with impossible counts")
    open_after = table[:, 1] > 0
    ended = np.zeros(len(table) + 1, np.int64)
    np.cumsum(table[:, 0].astype(np.int64), out=ended[1:])
    if int(ended[-1]) != num_rows or ended.min() < 0 or open_after[-1]:
        raise CorruptFileError(f"a repetition index for {int(ended[-1])} rows, not {num_rows}")
    continues = np.zeros(len(table), np.bool_)
    continues[1:] = open_after[:-1]
    if ((table[:, 0] == 0) & ~open_after).any():
        raise CorruptFileError("a chunk without rows")
    return RowTable(ended, continues, ended[:-1] + continues)


def joined_tables(tables: Sequence[ChunkTable], bases: Sequence[int]) -> ChunkTable:
    """The chunks of consecutive pages; table i counts bytes from ``bases[i]``."""
    pairs = list(zip(tables, bases, strict=True))
    starts = np.concatenate([table.starts + base for table, base in pairs])
    stops = np.concatenate([table.stops + base for table, base in pairs])
    values = _joined_counts([table.values for table in tables])
    found = [table.rows for table in tables if table.rows is not None]
    rows = None
    if found:
        firsts = accumulate((int(one.ended[-1]) for one in found), initial=0)
        rows = RowTable(
            _joined_counts([one.ended for one in found]),
            np.concatenate([one.continues for one in found]),
            np.concatenate([one.first + base for one, base in zip(found, firsts, strict=False)]),
        )
    return ChunkTable(starts, stops, values, rows)


def _joined_counts(counts: Sequence[Int64Array]) -> Int64Array:
    """Concatenate running totals, each of which starts with 0 and ends with its total."""
    bases = accumulate((int(one[-1]) for one in counts), initial=0)
    parts = [one[:-1] + base for one, base in zip(counts, bases, strict=False)]
    total = sum(int(one[-1]) for one in counts)
    return np.concatenate([*parts, np.array([total])])
