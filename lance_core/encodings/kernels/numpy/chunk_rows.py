"""Locate rows in chunks."""

from __future__ import annotations

import numpy as np

from lance_core.encodings.decoding import Int64Array
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
    # Flag the first row of each chunk. The running count of flags numbers the chunks in use.
    is_next = np.empty(len(chunk), np.bool_)
    is_next[0] = True
    np.not_equal(chunk[1:], chunk[:-1], out=is_next[1:])
    return chunk[is_next], is_next.cumsum() - 1, position
