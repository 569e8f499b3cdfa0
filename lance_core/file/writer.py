"""`LanceFileWriter`: write record batches to one data file."""

from __future__ import annotations

import os
from types import TracebackType

import pyarrow as pa

from lance_core.datafile import FileWriter
from lance_core.datafile.file_output import DEFAULT_VERSION, FileOptions
from lance_core.encodings.version import FileVersion
from lance_core.errors import InvalidInputError
from lance_core.file.place import StorageOptions, located
from lance_core.plugins import get_manager
from lance_core.schema import Schema, align_batch
from lance_core.store.base import ObjectStore
from lance_core.store.secret import hide_secrets


def stable_version() -> str:
    """The file version that `LanceFileWriter` writes by default."""
    return str(DEFAULT_VERSION)


class LanceFileWriter:
    """Writes a data file. As a context manager it closes the file, or aborts on an exception.

    ``path``: a local path or a URI. ``schema``: None takes the schema of the first batch.
    ``data_cache_bytes``: memory for buffered rows, divided evenly among the top-level columns (8
    MiB per column if None). ``max_page_bytes``: larger pages are split.
    ``keep_original_array`` has no effect: buffered rows are never copied. ``size_bytes`` is the
    size of the closed file, None before.
    """

    def __init__(  # noqa: PLR0913 (the arguments are those of pylance)
        self,
        path: str | os.PathLike[str],
        schema: pa.Schema | None = None,
        *,
        data_cache_bytes: int | None = None,
        version: str | None = None,
        storage_options: StorageOptions | None = None,
        namespace_client: object = None,
        table_id: list[str] | None = None,
        max_page_bytes: int | None = None,
        keep_original_array: bool | None = None,
        _store: ObjectStore | None = None,
    ) -> None:
        storage_options = hide_secrets(storage_options)
        file_version = FileVersion.from_selector(version) if version else DEFAULT_VERSION
        self._options = FileOptions(file_version, data_cache_bytes, max_page_bytes)
        if _store:
            self._target = _store, os.fspath(path)
        else:
            self._target = located(path, storage_options, namespace_client, table_id)
        self._writer: FileWriter | None = None
        self._metadata: dict[str, str] = {}
        self._buffers: list[bytes] = []
        self.closed = False
        self.size_bytes: int | None = None
        if schema is not None:
            self._start(schema)

    def write_batch(self, batch: pa.RecordBatch | pa.Table) -> None:
        """Append rows. Columns are matched by name; columns that the schema lacks are ignored.

        Raises `SchemaMismatchError` or `InvalidInputError` if the rows do not fit the schema.
        """
        writer = self._writer if self._writer is not None else self._start(batch.schema)
        batches = batch.to_batches() if isinstance(batch, pa.Table) else [batch]
        kernels = get_manager().encodings.kernels
        for part in batches:
            writer.write_batch(align_batch(part, writer.schema, kernels))

    def close(self) -> int | None:
        """Write buffered rows and metadata; returns the number of rows, None if already closed."""
        if self.closed:
            return None
        self.closed = True
        if self._writer is None:
            raise InvalidInputError(
                "no schema and no data were given. Schema is unknown and file cannot be created"
            )
        result = self._writer.finish()
        self.size_bytes = result.size_bytes
        return result.num_rows

    def abort(self) -> None:
        """Discard the written bytes and create no file. Does nothing after `close`."""
        self.closed = True
        if self._writer is not None:
            self._writer.abort()

    def add_schema_metadata(self, key: str, value: str) -> None:
        """Add a key and value to the metadata of the stored schema."""
        if self._writer is None:
            self._metadata[key] = value
        else:
            self._writer.add_schema_metadata(key, value)

    def add_global_buffer(self, data: bytes) -> int:
        """Store bytes beside the rows; returns the number for `read_global_buffer`, from 1 on."""
        if self._writer is not None:
            return self._writer.add_global_buffer(data)
        self._buffers.append(data)
        return len(self._buffers)

    def __enter__(self) -> LanceFileWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    def _start(self, schema: pa.Schema) -> FileWriter:
        if self.closed:
            raise InvalidInputError("this file was closed before")
        stored = Schema.from_arrow(schema)
        store, name = self._target
        target = store.open_writer(name)
        try:
            writer = FileWriter(target, stored, self._options, registry=get_manager().encodings)
        except BaseException:
            target.abort()
            raise
        for key, value in self._metadata.items():
            writer.add_schema_metadata(key, value)
        for data in self._buffers:
            writer.add_global_buffer(data)
        self._writer = writer
        return writer
