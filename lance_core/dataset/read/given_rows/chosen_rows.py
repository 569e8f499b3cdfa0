"""Read given rows of many fragments as a stream, to write them again with other values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lance_core.concurrency.pools import in_order
from lance_core.dataset.read.fragments.blob_sizes import blob_sizes, described_blobs, size_cuts
from lance_core.dataset.read.fragments.fragment_reader import read_rows
from lance_core.dataset.read.scan_tuning import tuning
from lance_core.dataset.read.windows.read_ahead import windows_ahead
from lance_core.dataset.read.windows.window_sizing import late_sizer
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.encodings.arrow.take import filter_rows
from lance_core.encodings.decoding import Int64Array, RowIndices, RowRange, packed_rows
from lance_core.schema import Field
from lance_core.table.fragments.deletion import RowOffsets
from lance_core.table.fragments.fragment import Fragment


class _Piece(NamedTuple):
    """Ascending physical offsets of a fragment, to be read at once."""

    fragment: Fragment
    offsets: Int64Array


def read_chosen(
    snapshot: Snapshot, fields: Sequence[Field], rows: Mapping[int, RowOffsets]
) -> Iterator[pa.Table]:
    """The ``fields`` of ``rows`` (ascending physical offsets by fragment id), in their order.

    Each table has rows of one fragment. Memory is bounded by a few tables of at most
    `GivenRows.rewritten_rows` rows and about `StreamWindows.max_bytes`, or of one larger row.
    """
    fields = tuple(fields)
    described = described_blobs(snapshot, fields)
    most = tuning().blobs.sized_rows if described else tuning().rows.rewritten_rows
    sizer = late_sizer(fields, most)

    def pieces() -> Iterator[_Piece]:
        for fragment_id, offsets in rows.items():
            fragment, start = snapshot.fragment(fragment_id), 0
            while start < len(offsets):
                part = offsets[start : start + sizer.rows].astype(np.int64)
                start += len(part)
                yield from _cut(snapshot, _Piece(fragment, part), described)

    def read(piece: _Piece) -> pa.Table:
        table = _read(snapshot, fields, piece, is_sparse=bool(described))
        sizer.observe_data(table.num_rows, table)
        return table

    ahead = windows_ahead(snapshot, is_stream=True)
    return in_order(read, pieces(), ahead, is_io_bound=snapshot.is_io_bound)


def _cut(snapshot: Snapshot, piece: _Piece, described: tuple[Field, ...]) -> Iterator[_Piece]:
    """The rows of ``piece`` in pieces whose blobs are not too large."""
    if not described:
        yield piece
        return
    sizes = blob_sizes(snapshot, piece.fragment, described, packed_rows(piece.offsets))
    for first, stop in size_cuts(sizes, tuning().stream.max_bytes):
        yield _Piece(piece.fragment, piece.offsets[first:stop])


def _read(
    snapshot: Snapshot, fields: tuple[Field, ...], piece: _Piece, is_sparse: bool
) -> pa.Table:
    """The rows of ``piece``; for dense rows (`dense`), decodes all rows and then filters."""
    rows = packed_rows(piece.offsets)
    if is_sparse or not isinstance(rows, RowIndices):
        return read_rows(snapshot, piece.fragment, fields, (), rows)
    first, stop = rows.first, rows.last + 1
    if len(rows) * tuning().columns.dense < stop - first:
        return read_rows(snapshot, piece.fragment, fields, (), rows)
    whole = read_rows(snapshot, piece.fragment, fields, (), RowRange(first, stop))
    keep = np.zeros(stop - first, bool)
    keep[rows.values - first] = True
    return filter_rows(whole, from_numpy(keep))
