"""Streaming writes of local files, from the memory of the caller."""

from __future__ import annotations

import os

import pyarrow as pa

from lance_core.errors import InvalidInputError
from lance_core.store.base import ObjectWriter, PutMode
from lance_core.store.buffers import byte_view
from lance_core.store.local.failures import preparing
from lance_core.store.local.publish import Publisher

FLUSH_BYTES = 1 << 20
"""Buffers are gathered until they hold this many bytes, and then written by one call."""

FLUSH_VIEWS = 512


class LocalWriter(ObjectWriter):
    """Writes a temporary file that `close` moves into place. Not to be shared by threads.

    Nothing is copied; buffers are held until `FLUSH_BYTES` of them are there.
    """

    def __init__(self, publisher: Publisher, path: str) -> None:
        self._descriptor: int | None = None
        self._publisher = publisher
        self._path = path
        self._gathered: list[memoryview] = []
        self._gathered_bytes = 0
        self._position = 0
        self._is_aborted = False
        self._process = os.getpid()
        self._temporary, self._descriptor = publisher.create_temporary(path)

    def write(self, data: pa.Buffer | bytes | bytearray | memoryview) -> None:
        self._check_open()
        view = byte_view(data)
        self._gathered.append(view)
        self._gathered_bytes += view.nbytes
        self._position += view.nbytes
        if self._gathered_bytes >= FLUSH_BYTES or len(self._gathered) >= FLUSH_VIEWS:
            self._flush()

    def tell(self) -> int:
        return self._position

    def close(self) -> None:
        if self._descriptor is None and not self._is_aborted:
            return
        try:
            self._flush()
            descriptor, self._descriptor = self._check_open(), None
            self._publisher.finish(self._path, descriptor)
            self._publisher.publish(self._temporary, self._path, PutMode.overwrite)
        except BaseException:
            self._is_aborted = True
            self._drop()
            raise

    def abort(self) -> None:
        if self._descriptor is not None:
            self._is_aborted = True
            self._drop()

    def __del__(self) -> None:
        # A forked child has a copy of the writer, but the file is its parent's.
        if self._descriptor is not None and self._process == os.getpid():
            self.abort()

    def _check_open(self) -> int:
        if self._descriptor is None:
            raise InvalidInputError(f"the writer of {self._path!r} is closed")
        return self._descriptor

    def _flush(self) -> None:
        descriptor = self._check_open()
        with preparing(self._path, self._publisher.root.path):
            self._publisher.disk.write(descriptor, self._gathered)
        self._gathered.clear()
        self._gathered_bytes = 0

    def _drop(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        self._gathered.clear()
        self._publisher.discard(self._temporary)
