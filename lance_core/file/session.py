"""`LanceFileSession`: access to several files below one folder through one store."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from lance_core.byte_ranges import ByteRange
from lance_core.datafile import FileReader
from lance_core.errors import InvalidInputError, ObjectNotFoundError
from lance_core.file.place import StorageOptions, open_folder
from lance_core.file.reader import LanceFileReader
from lance_core.file.writer import LanceFileWriter
from lance_core.lazy_dataclass import dataclass
from lance_core.plugins import get_manager
from lance_core.store.base import ObjectStore
from lance_core.store.secret import hide_secrets

_COPY_BYTES = 8 << 20


@dataclass
class ListResult:
    """The folders and files directly in a folder, as paths relative to the session's base."""

    common_prefixes: list[str]
    objects: list[str]


class LanceFileSession:
    """Reads and writes files below one folder, ``base_path``: a local path or a URI.

    The paths in method arguments are relative to ``base_path``.
    """

    def __init__(
        self,
        base_path: str | os.PathLike[str],
        storage_options: StorageOptions | None = None,
        namespace_client: object = None,
        table_id: list[str] | None = None,
    ) -> None:
        storage_options = hide_secrets(storage_options)
        self._store = open_folder(base_path, storage_options, namespace_client, table_id)

    @classmethod
    def of(cls, store: ObjectStore) -> LanceFileSession:
        """A session for the files of an open store."""
        session = cls.__new__(cls)
        session._store = store  # noqa: SLF001 - one of its own
        return session

    def open_reader(self, path: str, columns: list[str] | None = None) -> LanceFileReader:
        """A reader for a data file."""
        inner = FileReader.open(self._store, path, registry=get_manager().encodings)
        return LanceFileReader("", columns=columns, _inner_reader=inner)

    def open_writer(
        self,
        path: str,
        *,
        schema: pa.Schema | None = None,
        data_cache_bytes: int | None = None,
        version: str | None = None,
        keep_original_array: bool | None = None,
        max_page_bytes: int | None = None,
    ) -> LanceFileWriter:
        """A writer for a new data file; the arguments are those of `LanceFileWriter`."""
        return LanceFileWriter(
            path,
            schema,
            data_cache_bytes=data_cache_bytes,
            version=version,
            max_page_bytes=max_page_bytes,
            _store=self._store,
        )

    def open_packed_blob_writer(self, path: str, blob_id: int) -> Any:
        """A writer of the side file ``blob_id``, with several blobs, of the data file at ``path``.

        Needs the extra ``arrays``. An existing side file with this number is replaced.
        """
        return _writer("PackedBlobWriter", self._store, path, blob_id)

    def open_dedicated_blob_writer(self, path: str, blob_id: int) -> Any:
        """As `open_packed_blob_writer`, for a side file with one blob."""
        return _writer("DedicatedBlobWriter", self._store, path, blob_id)

    def check_file(self, path: str) -> int:
        """Check a data or index file against its checksums; returns the bytes of pages with some.

        Raises `CorruptFileError`, naming column, page and offset, also if it is no such file.
        """
        return FileReader.open(self._store, path, registry=get_manager().encodings).check_pages()

    def contains(self, path: str) -> bool:
        """True if a file exists at ``path``."""
        try:
            self._store.head(path)
        except ObjectNotFoundError:
            return False
        return True

    def list(self, path: str | None = None) -> list[str]:
        """The paths of all files below the folder ``path``, at any depth."""
        return [file.path for file in self._store.list(_folder(path))]

    def file_sizes(self, path: str | None = None) -> dict[str, int]:
        """The bytes of all files below the folder ``path``, at any depth, by path."""
        return {file.path: file.size for file in self._store.list(_folder(path))}

    def list_with_delimiter(self, path: str | None = None) -> ListResult:
        """The folders and files directly in the folder ``path``."""
        folder = _folder(path)
        start = len(folder) + 1 if folder else 0
        prefixes: dict[str, None] = {}
        objects = []
        for file in self.list(folder):
            name, slash, _ = file[start:].partition("/")
            if slash:
                prefixes[file[:start] + name] = None
            else:
                objects.append(file)
        return ListResult(list(prefixes), objects)

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """``length`` bytes of a file from byte ``offset`` on."""
        if offset < 0 or length < 0:
            raise InvalidInputError(f"cannot read {length} bytes from byte {offset}")
        (buffer,) = self._store.get_ranges(path, [ByteRange(offset, offset + length)])
        return bytes(buffer)

    def delete_file(self, path: str) -> None:
        """Remove a file. Raises `ObjectNotFoundError` if it does not exist."""
        self._store.head(path)
        self._store.delete(path)

    def copy_file(self, path: str, target: LanceFileSession) -> None:
        """Copy a file to the same path of another session, 8 MiB at a time."""
        with target._store.open_writer(path) as writer:
            for part in self._parts(path):
                writer.write(part)

    def upload_file(self, local_path: str | Path, remote_path: str) -> None:
        """Copy a local file to ``remote_path``."""
        with Path(local_path).open("rb") as source, self._store.open_writer(remote_path) as target:
            while part := source.read(_COPY_BYTES):
                target.write(part)

    def download_file(self, remote_path: str, local_path: str | Path) -> None:
        """Copy the file at ``remote_path`` to the local file ``local_path``."""
        with Path(local_path).open("wb") as target:
            for part in self._parts(remote_path):
                target.write(part)

    def _parts(self, path: str) -> Iterator[pa.Buffer]:
        size = self._store.head(path).size
        for start in range(0, size, _COPY_BYTES):
            byte_range = ByteRange(start, min(start + _COPY_BYTES, size))
            yield from self._store.get_ranges(path, [byte_range])


def _writer(name: str, store: ObjectStore, path: str, blob_id: int) -> Any:
    make: Any = get_manager().tool(name)
    return make(store, path, blob_id)


def _folder(path: str | None) -> str:
    return (path or "").strip("/")
