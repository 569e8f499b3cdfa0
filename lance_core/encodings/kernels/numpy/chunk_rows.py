"""Locate rows in chunks."""

from __future__ import annotations

from lance_core.encodings.decoding import Int64Array
from lance_core.encodings.kernels.numpy.runs import run_begins
from lance_core.errors import CorruptFileError


def locate_rows(edges: Int64Array, rows: Int64Array) -> tuple[Int64Array, Int64Array, Int64Array]:
    """See `lance_core.encodings.kernels.Kernels.locate_rows`."""
    if not len(edges):
        raise CorruptFileError("chunks without edges")
    if not len(rows):
        return rows, rows, rows
    if rows[0] < edges[0] or rows[-1] >= edges[-1] or (rows[1:] < rows[:-1]).any():
        raise CorruptFileError("rows descend, or are not within their chunks")
    chunk = edges.searchsorted(rows, "right") - 1
    position = rows - edges.take(chunk)
    # The running count of the first row of each chunk numbers the chunks in use.
    is_next = run_begins(chunk)
    return chunk[is_next], is_next.cumsum() - 1, position
