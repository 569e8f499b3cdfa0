"""A streaming writer for stores without one: it collects the data until it is closed."""

from __future__ import annotations

import contextlib
import mmap
import os
from tempfile import TemporaryFile
from typing import IO

import pyarrow as pa

from lance_core.byte_ranges import BytesLike
from lance_core.errors import InvalidInputError, StoreError
from lance_core.store.base import ObjectStore, ObjectWriter
from lance_core.store.buffers import byte_view
from lance_core.store.paths import check_path

MEMORY_LIMIT = 8 << 20
"""Maximum bytes that a writer keeps in memory; more are stored in a temporary file."""


class SpoolingWriter(ObjectWriter):
    """Writes the object at ``path`` with one ``store.put`` when it is closed.

    Up to ``memory_limit`` bytes are kept in memory, more in a temporary file without a name, which
    the OS removes with the process. `close` passes one buffer to the store, a view of that file: a
    store that sends it in pieces never holds all of it in memory. One writer is for one thread.
    `write` raises `StoreError` if this machine has no space; after that nothing can be published.
    """

    def __init__(self, store: ObjectStore, path: str, memory_limit: int = MEMORY_LIMIT) -> None:
        self._file: IO[bytes] | None = None
        self._store = store
        self._path = check_path(path)
        self._memory_limit = memory_limit
        self._memory = bytearray()
        self._position = 0
        self._state = "open"
        self._process = os.getpid()

    def write(self, data: BytesLike) -> None:
        self._check_open()
        view = byte_view(data)
        try:
            self._append(view)
        except OSError as error:
            self._end("incomplete")
            raise StoreError(
                f"{self._path!r} cannot be buffered in the temporary folder of this machine: "
                f"{error}"
            ) from error
        self._position += view.nbytes

    def tell(self) -> int:
        return self._position

    def close(self) -> None:
        if self._state == "closed":
            return
        self._check_open()
        try:
            self._store.put(self._path, self._content())
        except BaseException:
            self._end("failed")
            raise
        self._end("closed")

    def abort(self) -> None:
        if self._state == "open":
            self._end("aborted")

    def __del__(self) -> None:
        # Avoids the file's own warning; the object was never visible.
        if self._file is not None:
            self._end("aborted")

    def _append(self, view: memoryview) -> None:
        if self._file is None and self._position + view.nbytes > self._memory_limit:
            self._file = TemporaryFile()  # noqa: SIM115  # the writer closes it
            self._file.write(self._memory)
            self._memory = bytearray()
        if self._file is None:
            self._memory += view
        else:
            self._file.write(view)

    def _content(self) -> pa.Buffer:
        if self._file is None or not self._position:
            return pa.py_buffer(bytes(self._memory))
        try:
            self._file.flush()
            return pa.py_buffer(mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ))
        except OSError as error:
            raise StoreError(
                f"{self._path!r} cannot be buffered in the temporary folder of this machine: "
                f"{error}"
            ) from error

    def _check_open(self) -> None:
        if self._state != "open":
            raise InvalidInputError(f"the writer of {self._path!r} is {self._state}")
        if self._process != os.getpid():  # both processes would append to one file
            raise InvalidInputError(f"the writer of {self._path!r} belongs to another process")

    def _end(self, state: str) -> None:
        self._state = state
        self._memory = bytearray()
        file, self._file = self._file, None
        if file is not None:
            with contextlib.suppress(OSError):  # the unflushed data is not needed
                file.close()
