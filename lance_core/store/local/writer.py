"""Streaming writes of local files, from the memory of the caller."""

from __future__ import annotations

import os

import pyarrow as pa

from lance_core.errors import InvalidInputError
from lance_core.store.base import ObjectWriter, PutMode
from lance_core.store.buffers import byte_view
from lance_core.store.local.publish import Publisher, UnpublishedFile

FLUSH_BYTES = 1 << 20
"""Buffers are gathered until they hold this many bytes, and then written by one call."""

FLUSH_VIEWS = 512


class LocalWriter(ObjectWriter):
    """Writes a temporary file that `close` moves into place. Not to be shared by threads.

    Nothing is copied; buffers are held until `FLUSH_BYTES` of them are there.
    """

    def __init__(self, publisher: Publisher, path: str) -> None:
        self._draft: UnpublishedFile | None = None  # until there is one, nothing is to be removed
        self._publisher = publisher
        self._path = path
        self._gathered: list[memoryview] = []
        self._gathered_bytes = 0
        self._position = 0
        self._is_published = False
        self._process = os.getpid()
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
            except BaseException:  # a part of it may be in the file
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
            self._publisher.finish(draft)
            self._publisher.publish(draft, PutMode.overwrite)
        except BaseException:
            self.abort()
            raise
        self._draft = None
        self._is_published = True

    def abort(self) -> None:
        draft, self._draft = self._draft, None
        if draft is not None and self._process == os.getpid():  # else the file is the parent's
            self._gathered.clear()
            self._publisher.discard(draft)

    def __del__(self) -> None:
        # A forked child has a copy of the writer, but the file is its parent's.
        if self._draft is not None and self._process == os.getpid():
            self.abort()

    def _open_draft(self) -> UnpublishedFile:
        if self._draft is None:
            raise InvalidInputError(f"the writer of {self._path!r} is closed")
        if self._process != os.getpid():
            raise InvalidInputError(f"the writer of {self._path!r} belongs to another process")
        return self._draft

    def _flush(self, draft: UnpublishedFile) -> None:
        self._publisher.append(draft, self._gathered)
        self._gathered.clear()
        self._gathered_bytes = 0
