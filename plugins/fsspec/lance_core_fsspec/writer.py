"""A streaming writer that writes to the file system when it is closed.

Until then the data is kept in a local file. fsspec's own writers would send it at once, but some
make incomplete objects visible, and all publish an incomplete object if they are garbage-collected
before they are closed.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from lance_core.errors import InvalidInputError, StoreError
from lance_core.hookspecs.stores import BytesLike, ObjectWriter, byte_view


class SpoolWriter(ObjectWriter):
    """Collects the object at ``path`` in a local file, and passes the complete file to ``finish``.

    ``finish`` raises like `ObjectStore.put`.
    """

    def __init__(self, path: str, finish: Callable[[Path], None]) -> None:
        self._path = path
        self._finish = finish
        self._position = 0
        self._state = "open"
        self._process = os.getpid()
        try:
            self._folder = TemporaryDirectory(prefix="lance-core-", ignore_cleanup_errors=True)
            self._name = Path(self._folder.name, "object")
            self._file = self._name.open("wb")
        except OSError as error:
            raise StoreError(f"a temporary file for {path!r} cannot be created: {error}") from error

    def write(self, data: BytesLike) -> None:
        self._check(self._state == "open")
        view = byte_view(data)
        try:
            self._file.write(view)
        except OSError as error:
            self._drop("failed")  # the file may contain a part of the data
            raise StoreError(
                f"{self._path!r} cannot be buffered in the temporary folder of this machine: "
                f"{error}"
            ) from error
        self._position += view.nbytes

    def tell(self) -> int:
        return self._position

    def close(self) -> None:
        self._check(self._state in {"open", "closed"})
        if self._state == "closed":
            return
        self._state = "failed"
        try:
            try:
                self._file.close()
            except OSError as error:
                text = f"no room on this machine for {self._path!r}: {error}"
                raise StoreError(text) from error
            self._finish(self._name)
            self._state = "closed"
        finally:
            self._folder.cleanup()

    def abort(self) -> None:
        if self._state == "open" and self._process == os.getpid():
            self._drop("aborted")

    def _drop(self, state: str) -> None:
        self._state = state
        with contextlib.suppress(OSError):
            self._file.close()
        self._folder.cleanup()

    def _check(self, is_allowed: bool) -> None:
        if not is_allowed:
            raise InvalidInputError(f"the writer of {self._path!r} is {self._state}")
        if self._process != os.getpid():
            raise InvalidInputError(f"the writer of {self._path!r} belongs to another process")
