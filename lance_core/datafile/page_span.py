"""Read adjacent pages of several columns in one request, and what decoders need from memory."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from lance_core.byte_ranges import ByteRange

if TYPE_CHECKING:
    from lance_core.datafile.metadata import FileMetadata
    from lance_core.encodings.decoding import RowRange
    from lance_core.schema import Field
    from lance_core.store.base import ObjectStore

_MAX_GROWTH = 2
_SLACK = 64 << 10
"""How many times the bytes of some rows, and how many more, are read to save requests."""


def page_span(
    content: FileMetadata, fields: Sequence[Field], column_of: Mapping[int, int], rows: RowRange
) -> ByteRange | None:
    """The bytes from the first to the last page with ``rows`` of ``fields``.

    None if they are many more than those of the rows, and for fields with children. Raises
    `CorruptFileError` for invalid metadata.
    """
    start, stop, used = content.size, 0, 0.0
    for field in fields:
        if field.children or field.id not in column_of:
            return None
        column = content.columns[column_of[field.id]]
        for number in range(bisect_right(column.starts, rows.start) - 1, len(column.pages)):
            first, page = column.starts[number], column.pages[number]
            if first >= rows.stop:
                break
            if not page.buffers:
                continue
            start = min(start, *(buffer.start for buffer in page.buffers))
            stop = max(stop, *(buffer.stop for buffer in page.buffers))
            num_rows = min(rows.stop, first + page.num_rows) - max(rows.start, first)
            size = sum(buffer.length for buffer in page.buffers)
            used += size * num_rows / max(1, page.num_rows)
    if not start < stop <= content.size or stop - start > _MAX_GROWTH * used + _SLACK:
        return None
    return ByteRange(start, stop)


class PagesInMemory:
    """The bytes ``span`` of a file, read when the first of them are needed. Not thread-safe."""

    def __init__(self, store: ObjectStore, span: ByteRange) -> None:
        self._store = store
        self._span = span
        self._bytes: pa.Buffer | None = None

    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> Sequence[pa.Buffer]:
        """See `ObjectStore.get_ranges`."""
        first, last = self._span
        if any(start < first or stop > last for start, stop in ranges):
            return self._store.get_ranges(path, ranges)
        if self._bytes is None:
            (self._bytes,) = self._store.get_ranges(path, [self._span])
        return [self._bytes.slice(start - first, stop - start) for start, stop in ranges]
