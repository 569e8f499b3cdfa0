"""Streaming writes of local files without copying the caller's buffers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from lance_core.byte_ranges import ByteRange, CopyRanges
from lance_core.concurrency.fork_safe import cached_property
from lance_core.errors import InvalidInputError
from lance_core.store.base import ObjectWriter, PutMode
from lance_core.store.buffers import byte_view
from lance_core.store.local.opened_file import OpenedFile
from lance_core.store.local.publish import Publisher, UnpublishedFile
from lance_core.store.process_reads import StoreTotals

if TYPE_CHECKING:
    from lance_core.store.local.range_copies import RangeCopies

FLUSH_BYTES = 1 << 20
"""Total bytes of buffers after which they are written by one call."""

FLUSH_VIEWS = 512

MIN_RESERVED_BYTES = 4 << 20
"""Minimum bytes to reserve: then it saves a tenth of the time of a copy, and costs a thousandth."""


class LocalWriter(ObjectWriter):
    """Writes a temporary file, which `close` moves into place. One writer is for one thread.

    Copies nothing; references buffers until they have `FLUSH_BYTES` bytes in total. Ranges of other
    files are copied by threads, until `close` at the latest.
    """

    def __init__(self, publisher: Publisher, path: str, totals: StoreTotals | None = None) -> None:
        self._draft: UnpublishedFile | None = None  # None: there is no file to remove
        self._publisher = publisher
        self._path = path
        self._gathered: list[memoryview] = []
        self._gathered_bytes = 0
        self._position = 0
        self._is_published = False
        self._totals = totals
        self._process = os.getpid()
        self._copies: RangeCopies | None = None
        self._copy_ranges: CopyRanges | None = None
        self._draft = publisher.start(path)

    def write(self, data: pa.Buffer | bytes | bytearray | memoryview) -> None:
        draft = self._open_draft()
        view = byte_view(data)
        self._gathered.append(view)
        self._gathered_bytes += view.nbytes
        self._position += view.nbytes
        if self._gathered_bytes >= FLUSH_BYTES or len(self._gathered) >= FLUSH_VIEWS:
            try:
                self._flush(draft)
            except BaseException:  # the file may contain a part of the data
                self.abort()
                raise

    def reserve(self, size: int) -> None:
        if size >= MIN_RESERVED_BYTES:
            self._publisher.reserve(self._open_draft(), self._position, size)

    def copy_with(self, copy_ranges: CopyRanges | None) -> None:
        self._copy_ranges = copy_ranges

    @cached_property
    def is_on_disk(self) -> bool:
        """False in the file system of a network, whose server may copy."""
        return self._publisher.is_on_disk(self._open_draft())

    def append_ranges(self, source: OpenedFile, ranges: Sequence[ByteRange]) -> None:
        """Append ranges of an open file; the error of a copy may also be raised by a later call."""
        draft = self._open_draft()
        if self._copies is None:
            from lance_core.store.local.range_copies import RangeCopies

            copy = self._publisher.copying(draft, self._copy_ranges)
            self._copies = RangeCopies(copy, needs_lock=self._copy_ranges is None)
        try:
            self._flush(draft)
            for requested in ranges:
                self._copies.add(source, requested, self._position)
                self._position += requested.length
        except BaseException:  # the file may contain a part of the ranges
            self.abort()
            raise

    def tell(self) -> int:
        return self._position

    def close(self) -> None:
        if self._is_published:
            return
        draft = self._open_draft()
        try:
            self._flush(draft)
            if self._copies is not None:
                self._copies.finish()
                self._copies = None
            self._publisher.finish(draft)
            self._publisher.publish(draft, PutMode.overwrite)
        except BaseException:
            self.abort()
            raise
        self._draft = None
        self._is_published = True
        if self._totals is not None:
            self._totals.count_write(self._position)

    def abort(self) -> None:
        draft, self._draft = self._draft, None
        if draft is not None and self._process == os.getpid():  # not a forked child's
            self._gathered.clear()
            if self._copies is not None:
                self._copies.cancel()
                self._copies = None  # it holds the file open
            self._publisher.discard(draft)

    def __del__(self) -> None:
        # A forked child has a copy of the writer, but the file belongs to its parent.
        if self._draft is not None and self._process == os.getpid():
            self.abort()

    def _open_draft(self) -> UnpublishedFile:
        if self._draft is None:
            raise InvalidInputError(f"the writer of {self._path!r} is closed")
        if self._process != os.getpid():
            raise InvalidInputError(f"the writer of {self._path!r} belongs to another process")
        return self._draft

    def _flush(self, draft: UnpublishedFile) -> None:
        self._publisher.write(draft, self._gathered, self._position - self._gathered_bytes)
        self._gathered.clear()
        self._gathered_bytes = 0
