"""A store in one SQLite file: a table of paths and bytes.

SQLite has what commits need: a unique key, transactions, and locks between processes. Every call
opens the file anew, so a store can be used from many threads and survives a fork, which waits for
the calls of other threads.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from lance_core.errors import (
    InvalidInputError,
    ObjectExistsError,
    ObjectNotFoundError,
    OutcomeUnknownError,
    StoreError,
)
from lance_core.hookspecs import ObjectStore, StoreCapabilities, StoreUrl
from lance_core.hookspecs.options import Secret
from lance_core.hookspecs.stores import (
    Buffers,
    ByteRange,
    BytesLike,
    ObjectMeta,
    ObjectWriter,
    PutMode,
    check_folder,
    check_path,
    joined,
    slice_ranges,
)
from lance_core_example_vault import CAPABILITIES

CREATE = """create table if not exists objects (
    id integer primary key autoincrement, path text unique not null, data blob, written integer)"""
INSERT = {
    PutMode.create: "insert into objects (path, data, written)",
    PutMode.overwrite: "insert or replace into objects (path, data, written)",
}

# SQLite has locks of its own, which a forked child inherits as they are: fork between calls only.
_CALLS = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_CALLS.acquire, after_in_parent=_CALLS.release, after_in_child=_CALLS.release
    )


def open_vault(url: StoreUrl, options: Mapping[str, str | Secret]) -> ObjectStore:
    """The store of ``vault:///folder/name``: the file ``/folder/name.vault``."""
    if url.netloc or not url.path:
        raise InvalidInputError(f"{url}: write vault:///folder/name")
    try:
        return VaultStore(Path(f"/{url.path}.vault"), float(str(options.get("vault_timeout", 30))))
    except ValueError:
        raise InvalidInputError("vault_timeout is a number of seconds") from None


class VaultStore(ObjectStore):
    """The objects in one SQLite file, which the first write makes."""

    def __init__(self, file: Path, timeout: float) -> None:
        self._file = file
        self._timeout = timeout

    @property
    def capabilities(self) -> StoreCapabilities:
        return CAPABILITIES

    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        return slice_ranges(self.get(path), ranges, path)

    def get(self, path: str) -> pa.Buffer:
        for (data,) in self._rows("select data from objects where path = ?", check_path(path)):
            return pa.py_buffer(data)
        raise ObjectNotFoundError(path)

    def head(self, path: str) -> ObjectMeta:
        query = "select path, length(data), written, id from objects where path = ?"
        for row in self._rows(query, check_path(path)):
            return _meta(*row)
        raise ObjectNotFoundError(path)

    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        values = (check_path(path), bytes(joined(data)), time.time_ns())
        self._write(path, f"{INSERT[mode]} values (?, ?, ?)", *values)

    def open_writer(self, path: str) -> ObjectWriter:
        return VaultWriter(self, check_path(path))

    def list(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectMeta]:
        first = f"{check_folder(prefix)}/" if prefix else ""
        last = f"{prefix}0" if prefix else chr(0x10FFFF)  # "0" is what sorts next to "/"
        query = (
            "select path, length(data), written, id from objects"
            " where path > ? and path > ? and path < ? order by path"
        )
        return (_meta(*row) for row in self._rows(query, first, start_after or "", last))

    def delete(self, path: str) -> None:
        if self._file.exists():
            self._write(path, "delete from objects where path = ?", check_path(path))

    def copy(self, source: str, target: str, mode: PutMode = PutMode.overwrite) -> None:
        query = f"{INSERT[mode]} select ?, data, ? from objects where path = ?"
        values = (check_path(target), time.time_ns(), check_path(source))
        if not self._write(target, query, *values):
            raise ObjectNotFoundError(source)

    def rename_if_absent(self, source: str, target: str) -> None:
        query = "update objects set path = ? where path = ?"
        if not self._write(target, query, check_path(target), check_path(source)):
            raise ObjectNotFoundError(source)

    def _rows(self, query: str, *values: str) -> Iterator[tuple[object, ...]]:
        if not self._file.exists():
            return iter(())
        with self._connection() as connection:
            return iter(connection.execute(query, values).fetchall())

    def _write(self, target: str, query: str, *values: str | bytes | int) -> int:
        """Run one statement as a transaction of its own; how many objects it wrote."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._connection() as connection:
            try:
                return connection.execute(query, values).rowcount
            except sqlite3.IntegrityError:
                raise ObjectExistsError(target) from None

    @contextlib.contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        try:
            with _CALLS, contextlib.closing(self._connect()) as connection:
                connection.execute(CREATE)
                yield connection
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorname.startswith("SQLITE_BUSY")
            kind = StoreError if busy else OutcomeUnknownError
            raise kind(f"{self._file}: {error}") from error

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(
            self._file, timeout=self._timeout, isolation_level=None, check_same_thread=False
        )


class VaultWriter(ObjectWriter):
    """Collects an object (SQLite takes up to 1 GB) and writes it when it is closed."""

    def __init__(self, store: VaultStore, path: str) -> None:
        self._store = store
        self._path = path
        self._parts: list[bytes] = []
        self._state = "open"

    def write(self, data: BytesLike) -> None:
        self._check(self._state == "open")
        self._parts.append(bytes(joined(data)))

    def tell(self) -> int:
        return sum(map(len, self._parts))

    def close(self) -> None:
        self._check(self._state != "aborted")
        if self._state == "open":
            self._store.put(self._path, b"".join(self._parts))
        self._state = "closed"

    def abort(self) -> None:
        if self._state == "open":
            self._state = "aborted"

    def _check(self, is_allowed: bool) -> None:
        if not is_allowed:
            raise InvalidInputError(f"the writer of {self._path!r} is {self._state}")


def _meta(path: object, size: object, written: object, number: object) -> ObjectMeta:
    date = datetime.fromtimestamp(int(str(written)) / 1e9, UTC)
    return ObjectMeta(str(path), int(str(size)), date, str(number))
