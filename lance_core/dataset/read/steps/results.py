"""What the windows of a scan return, before and after their late columns are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from lance_core.dataset.read.fragments.span import FragmentRun

if TYPE_CHECKING:
    from lance_core.dataset.read.fragments.span import FragmentOrRun
    from lance_core.encodings.decoding import Int64Array, Rows


class PendingRows(NamedTuple):
    """Ascending physical rows of a fragment, or of a run, that satisfy the filter.

    ``tested`` contains the filter's columns for these rows; the other columns are not read yet.
    """

    source: FragmentOrRun
    offsets: Int64Array
    tested: pa.Table


class FoundRows(NamedTuple):
    """Rows that satisfy the filter; ``edges`` has the meaning of `ScannedRows.edges`."""

    table: pa.Table
    edges: Int64Array | None = None


class WindowResult(NamedTuple):
    """The result of a window; ``is_last``: True for the last window of the span."""

    rows: FoundRows | PendingRows
    is_last: bool


class ScannedRows(NamedTuple):
    """Rows of one fragment, or of a run of fragments.

    ``is_last``: True for the last rows of the span. ``edges``: for rows of a run, the first row of
    each fragment but the first in ``table``; None for rows of one fragment.
    """

    table: pa.Table
    is_last: bool
    edges: Int64Array | None = None


def fragment_edges(source: FragmentOrRun, rows: Rows) -> Int64Array | None:
    """The position in ``rows`` of the first row of each fragment but the first; None for one."""
    if not isinstance(source, FragmentRun):
        return None
    edges: Int64Array = np.cumsum(source.counts(rows))[:-1]
    return edges
