"""Assign rows to the pages of a column, and name the page in errors."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from lance_core.encodings.decoding import RowIndices, RowRange, packed_rows
from lance_core.errors import CorruptFileError

if TYPE_CHECKING:
    from lance_core.encodings.decoding import Int64Array, Rows
    from lance_core.encodings.page import Column, Page


def with_page(error: CorruptFileError, page: Page, path: str) -> CorruptFileError:
    """``error`` with the position of the page and the path of the field added."""
    located = error.at(offset=page.buffers[0].start if page.buffers else None)
    inner = f" ({error.field})" if error.field else ""
    return CorruptFileError(error.reason + inner, error.path, located.offset, path)


def check_within(column: Column, rows: Rows, path: str) -> None:
    """Raise `CorruptFileError` if the column has too few rows for ``rows``."""
    if rows.last >= column.num_rows:
        raise CorruptFileError(
            f"row {rows.last} of a column that has {column.num_rows} rows", field=path
        )


def split_rows(column: Column, rows: Rows, path: str) -> list[tuple[int, Rows]]:
    """The index of each page that holds some of ``rows``, with these rows counted from its start.

    Raises `CorruptFileError` if the column has too few rows.
    """
    starts = column.starts
    check_within(column, rows, path)
    if len(starts) == 2:
        return [(0, rows)]
    if isinstance(rows, RowRange):
        return _split_range(starts, rows)
    edges = [*np.searchsorted(rows.values, starts[:-1]).tolist(), len(rows)]
    return [
        (page, RowIndices(rows.values[a:b] - starts[page]))
        for page, (a, b) in enumerate(pairwise(edges))
        if a < b
    ]


def _split_range(starts: list[int], rows: RowRange) -> list[tuple[int, Rows]]:
    parts: list[tuple[int, Rows]] = []
    start, page = rows.start, bisect_right(starts, rows.start) - 1
    while start < rows.stop:
        stop = min(rows.stop, starts[page + 1])
        if stop > start:  # a page may have no rows
            parts.append((page, RowRange(start - starts[page], stop - starts[page])))
        start, page = stop, page + 1
    return parts


def pages_of(starts: Int64Array, rows: Rows) -> tuple[Int64Array, Int64Array]:
    """The pages that hold some of ``rows``, and the cuts between the rows of each.

    ``starts`` are those of `Column`. Page ``pages[i]`` has the rows at the positions ``cuts[i]`` to
    ``cuts[i + 1]`` in ``rows``.
    """
    if isinstance(rows, RowIndices):
        if len(starts) > len(rows):
            owners = starts[:-1].searchsorted(rows.values, "right") - 1
            cuts = np.flatnonzero(np.diff(owners, prepend=-1))
            return owners[cuts], np.append(cuts, len(rows))
        edges = np.append(rows.values.searchsorted(starts[:-1]), len(rows))
        pages = np.flatnonzero(np.diff(edges))
        return pages, np.append(edges[pages], len(rows))
    first, last = starts[:-1].searchsorted([rows.start, rows.last], "right") - 1
    pages = np.arange(first, last + 1)
    pages = pages[starts[pages + 1] > starts[pages]]  # a page may have no rows
    ends = np.append(starts[pages], rows.stop)
    return pages, np.maximum(ends, rows.start) - rows.start


def rows_in_pages(column: Column, pages: Int64Array, rows: Rows) -> Rows:
    """``rows``, which are in ``pages`` only, counted as if the column had no other pages.

    All pages from the first to the last row of a range are among ``pages``, except empty ones.
    """
    if isinstance(rows, RowRange):
        return rows.moved(-column.starts[int(pages[0])])
    first, last = int(pages[0]), int(pages[-1])
    if last - first < len(pages):  # consecutive ones
        return packed_rows(rows.values - column.starts[first])
    starts = np.asarray(column.starts)
    firsts, counts = starts[pages], starts[pages + 1] - starts[pages]
    return packed_rows(positions_in_parts(rows.values, firsts, counts))


def positions_in_parts(values: Int64Array, firsts: Int64Array, counts: Int64Array) -> Int64Array:
    """The places of ascending ``values`` in parts that follow each other.

    Part ``i`` has the ``counts[i]`` numbers from ``firsts[i]`` on; each value is in a part.
    """
    edges = np.append(values.searchsorted(firsts), len(values))
    positions: Int64Array = values + np.repeat(np.cumsum(counts) - counts - firsts, np.diff(edges))
    return positions
