"""Read ranges of many files, as if they were one file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from lance_core.hookspecs.concurrency import cached_property
from lance_core.hookspecs.stored_pages import (
    BufferSlices,
    Ints,
    JoinedRanges,
    RangeArrays,
    populate,
)
from lance_core.hookspecs.stores import ByteRange, ObjectStore, slice_ranges
from lance_core_compaction.page_copy.source_pages import SourcePages


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A data file from which pages are copied.

    ``batch_bytes``: maximum bytes that are read at once if the store does not copy them itself.
    ``content``: the bytes of the file, if they are a view that was read before.
    """

    store: ObjectStore
    path: str
    batch_bytes: int
    content: pa.Buffer | None = None


class FileBytes:
    """The data of ``files``: position p of a file is that file's base (`JoinedRanges`) + p.

    ``has_views``: True if all files are mapped or in memory, so that reading copies nothing.
    """

    def __init__(self, table: SourcePages, files: Sequence[SourceFile]) -> None:
        self._table = table
        self.files = files
        self.ranges = JoinedRanges(table.data_ends)
        self._expected = 0
        self.has_views = all(file.store.has_views for file in files)

    def path(self, number: int) -> str:
        """The path of a file."""
        return self.files[number].path

    def get(self, ranges: Sequence[ByteRange]) -> BufferSlices:
        """The bytes of ``ranges``; see `JoinedRanges.get`."""
        if self.has_views:
            return self.ranges.slices(ranges, self._views)
        return self.ranges.get(ranges, self._read)

    def slices(self, files: Ints, starts: Ints, sizes: Ints) -> BufferSlices:
        """The ``sizes[i]`` bytes at position ``starts[i]`` of each file ``files[i]``.

        The numbers of the files ascend.
        """
        if not self.has_views:
            starts = starts + self.ranges.bases[files]
            return self.get(RangeArrays(starts, starts + sizes))
        return BufferSlices(self._read_views, files, starts, starts + sizes)

    def expect(self, size: int) -> None:
        """Prepare for reads of ``size`` bytes in total by `slices`."""
        self._expected = size

    def _read(self, number: int, ranges: Sequence[ByteRange]) -> Sequence[pa.Buffer]:
        file = self.files[number]
        return file.store.get_ranges(file.path, ranges)

    @cached_property
    def _views(self) -> list[pa.Buffer]:
        """The data of each file, as views of memory."""
        views: list[pa.Buffer] = []
        for file, end in zip(self.files, self._table.data_ends.tolist(), strict=True):
            ranges = [ByteRange(0, end)]
            if file.content is None:
                views += file.store.get_ranges(file.path, ranges)
            else:
                views += slice_ranges(file.content, ranges, file.path)
        return views

    @cached_property
    def _read_views(self) -> list[pa.Buffer]:
        """The same views; all their pages are mapped at once if much of the files is expected."""
        if self._expected >= self.ranges.end // 2:
            for view in self._views:
                populate(view)
        return self._views
