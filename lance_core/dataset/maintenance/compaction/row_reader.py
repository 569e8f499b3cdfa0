"""Read live rows of fragments as arrays of the types that files store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from lance_core.dataset.expressions.combine_chunks import combine_chunks
from lance_core.dataset.read.fragment_reader import read_fields
from lance_core.dataset.read.live_rows import live
from lance_core.dataset.read.plan import Span
from lance_core.dataset.read.window_sizing import WindowBytes, WindowSizer, fixed_bytes
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.encodings.decoding import RowRange
from lance_core.schema import Field, to_storage

READ_BYTES = 4 << 20
"""Target bytes of the rows that are read at once."""

_FIRST_ROWS = 1 << 13
_MAX_ROWS = 1 << 18
"""Rows that are read at first if their width is unknown, and at most."""


def read_spans(
    snapshot: Snapshot, fields: Sequence[Field], spans: Sequence[Span]
) -> Iterator[list[pa.Array]]:
    """The live rows of ``spans``, a few megabytes at a time: one array for each field."""
    width = fixed_bytes(fields)
    first = _FIRST_ROWS if width is None else READ_BYTES // width
    sizer = WindowSizer(first, _MAX_ROWS, 1, WindowBytes(READ_BYTES, READ_BYTES))
    waiting: list[Span] = []
    rows = 0
    for window in sizer.windows(spans):
        waiting.append(window)
        rows += window.stop - window.start
        if rows >= sizer.rows:
            yield _observed(_read(snapshot, fields, waiting), sizer)
            waiting, rows = [], 0
    if waiting:
        yield _read(snapshot, fields, waiting)


def _observed(arrays: list[pa.Array], sizer: WindowSizer) -> list[pa.Array]:
    if arrays:
        sizer.observe(len(arrays[0]), sum(array.nbytes for array in arrays))
    return arrays


def _read(snapshot: Snapshot, fields: Sequence[Field], spans: Sequence[Span]) -> list[pa.Array]:
    parts = []
    for span in spans:
        rows = live(snapshot, span.fragment, RowRange(span.start, span.stop))
        if len(rows):
            parts.append(read_fields(snapshot, span.fragment, fields, rows))
    return [
        to_storage(_joined([part[number] for part in parts], field), field)
        for number, field in enumerate(fields)
    ]


def _joined(columns: Sequence[pa.ChunkedArray], field: Field) -> pa.Array:
    chunks = [chunk for column in columns for chunk in column.chunks]
    return combine_chunks(pa.chunked_array(chunks, field.arrow_type))
