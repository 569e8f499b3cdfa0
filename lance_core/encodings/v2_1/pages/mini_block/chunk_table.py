"""The position and content of the chunks of a mini-block page (message ``MiniBlockLayout``).

See `lance_core.encodings.kernels.numpy.chunk_edges` for the chunk words.
Pages with lists have a repetition index. For each chunk it states the number of rows that end in
it, and the number of levels after that, which belong to a row that continues in the next chunk.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import MiniBlockLayout
from lance_core.encodings.arrow.spans import edges_of
from lance_core.encodings.decoding import Int64Array, RowIndices, RowRange, Rows
from lance_core.encodings.kernels import Kernels
from lance_core.encodings.kernels.numpy.chunk_edges import MAX_CHUNK_VALUES
from lance_core.encodings.v2_1.levels.repdef import BoolArray
from lance_core.errors import CorruptFileError
from lance_core.lazy_dataclass import dataclass

_MAX_ROWS = 1 << 48


class RowTable(NamedTuple):
    """The rows of the chunks of a page with lists.

    ``ended[c]``: number of rows that end before chunk c; one more entry has the number of all rows.
    ``continues[c]``: True if chunk c starts inside a row. ``first[c]``: the first row that starts
    in chunk c or later.
    """

    ended: Int64Array
    continues: BoolArray
    first: Int64Array

    def ends_of(self, rows: int | Int64Array) -> tuple[Any, Any]:
        """The chunk in which a row, or each of some rows, starts, and the one in which it ends."""
        first = self.first.searchsorted(rows, "right") - 1
        return first, self.ended[1:].searchsorted(rows, "right")


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
        table = self.rows
        if table is None:
            if isinstance(rows, RowIndices):
                return self.locate(rows.values, kernels)[0]
            first, last = self.values.searchsorted((rows.start, rows.stop - 1), "right")
            return np.arange(int(first) - 1, int(last))
        if isinstance(rows, RowRange):
            first, _ = table.ends_of(rows.start)
            _, last = table.ends_of(rows.stop - 1)
            return np.arange(int(first), int(last) + 1)
        # Count at each chunk how many rows cover it: +1 at the first chunk of a row, -1 after the
        # last.
        firsts, lasts = table.ends_of(rows.values)
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


def chunk_table(
    words: pa.Buffer,
    message: MiniBlockLayout,
    num_bytes: int,
    rows: RowTable | None,
    kernels: Kernels,
) -> ChunkTable:
    """The table from the chunk words of a page with ``num_bytes`` bytes of chunks.

    Raises `CorruptFileError` if the chunks do not add up to the page's values and bytes.
    """
    large = message.has_large_chunk
    edges, values = kernels.chunk_edges(words, large, message.num_items, num_bytes)
    if rows is not None and len(rows.ended) != len(values):
        raise CorruptFileError(
            f"the repetition index has {len(rows.first)} entries for {len(edges) - 1} chunks"
        )
    return ChunkTable(edges[:-1], edges[1:], values, rows)


def row_table(index: pa.Buffer, depth: int, num_rows: int) -> RowTable:
    """The row table from the repetition index. Raises `CorruptFileError`."""
    width = depth + 1
    if not index.size or index.size % (8 * width):
        raise CorruptFileError(
            f"the repetition index has {index.size} bytes, not a positive multiple of {8 * width}"
        )
    table = np.frombuffer(index, "<u8").reshape(-1, width)[:, :2]
    rows = _row_table(table)
    if int(rows.ended[-1]) != num_rows or table[-1, 1]:
        raise CorruptFileError(
            f"the repetition index covers {int(rows.ended[-1])} rows, but the page has {num_rows}"
        )
    return rows


def _row_table(table: npt.NDArray[np.uint64]) -> RowTable:
    """The row table from the rows that end in each chunk, and the levels after them."""
    if int(table.max()) > _MAX_ROWS:
        raise CorruptFileError("the repetition index has impossible counts")
    open_after = table[:, 1] > 0
    ended = edges_of(table[:, 0].astype(np.int64))
    if ended.min() < 0:
        raise CorruptFileError("the repetition index has impossible counts")
    if ((table[:, 0] == 0) & ~open_after).any():
        raise CorruptFileError("a chunk has no rows")
    continues = np.zeros(len(table), np.bool_)
    continues[1:] = open_after[:-1]
    return RowTable(ended, continues, ended[:-1] + continues)


class PageWords(NamedTuple):
    """What `tables_of_pages` needs of each page, in order.

    ``words``: the chunk words of all, of 4 bytes if ``large``, else 2; page p has ``sizes[p]``
    bytes. ``num_items``: its values or, with lists, levels. ``where``: the first and last byte
    position of its chunks. ``rep_index``: the repetition index of all and the bytes of each, None
    for pages without lists.
    """

    words: npt.NDArray[np.uint8]
    sizes: Int64Array
    large: bool
    num_items: Int64Array
    num_rows: Int64Array
    where: tuple[Int64Array, Int64Array]
    rep_index: tuple[npt.NDArray[np.uint8], Int64Array] | None


def tables_of_pages(pages: PageWords) -> tuple[ChunkTable, Int64Array]:
    """The chunks of several pages, and the number of chunks of each page.

    The table counts bytes like ``pages.where``. Raises `CorruptFileError` like `chunk_table` and
    `row_table`.
    """
    unit = np.dtype("<u4" if pages.large else "<u2")
    sizes = pages.sizes
    if (sizes == 0).any() or (sizes % unit.itemsize).any():
        raise CorruptFileError(
            "the buffer of chunk words is empty or ends within a word", field="MiniBlockLayout"
        )
    word = np.frombuffer(pages.words, unit).astype(np.int64)
    num_chunks = sizes // unit.itemsize
    ends = np.cumsum(num_chunks)
    firsts, lasts = ends - num_chunks, ends - 1
    # Positions as if all chunks were contiguous; then each page moves to its own place.
    lengths = ((word >> 4) + 1) * 8
    stops = np.cumsum(lengths)
    begins = stops[firsts] - lengths[firsts]
    if (stops[lasts] - begins > pages.where[1] - pages.where[0]).any():
        raise CorruptFileError("the chunks of a page have more bytes than the page")
    stops += np.repeat(pages.where[0] - begins, num_chunks)
    logs = word & 15
    counts = np.left_shift(1, logs)
    stated = counts[lasts]
    counts[lasts] = 0
    rest = pages.num_items - np.add.reduceat(counts, firsts)
    counts[lasts] = rest
    if not 0 < int(rest.min()) <= int(rest.max()) <= MAX_CHUNK_VALUES:
        raise CorruptFileError("the chunks of a page do not hold its values")
    if ((logs[lasts] != 0) & (stated != rest)).any():
        raise CorruptFileError("the last chunk of a page does not hold its other values")
    logs[lasts] = 1
    if not logs.all():
        raise CorruptFileError("only the last chunk may omit its number of values")
    values = edges_of(counts)
    rows = None
    if pages.rep_index is not None:
        rows = _rows_of_pages(*pages.rep_index, pages.num_rows, ends)
    return ChunkTable(stops - lengths, stops, values, rows), num_chunks


def _rows_of_pages(
    rep_index: npt.NDArray[np.uint8], sizes: Int64Array, num_rows: Int64Array, ends: Int64Array
) -> RowTable:
    """The rows of the chunks of several pages; page p has the chunks before ``ends[p]``.

    All indices have a depth of 1.
    """
    if (np.cumsum(sizes) != 16 * ends).any():
        raise CorruptFileError("a repetition index does not match the chunks of its page")
    table = np.frombuffer(rep_index, "<u8").reshape(-1, 2)
    rows = _row_table(table)
    rows_of_page = np.diff(rows.ended[ends], prepend=0)
    if (rows_of_page != num_rows).any() or table[ends - 1, 1].any():
        raise CorruptFileError("a repetition index does not match the rows of its page")
    return rows
