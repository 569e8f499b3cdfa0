"""`LanceFileReader`: rows and metadata of one data file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from lance_core.datafile import FileReader
from lance_core.datafile.column_map import column_of, column_of_early
from lance_core.datafile.description import (
    LanceFileMetadata,
    LanceFileStatistics,
    describe,
    statistics,
)
from lance_core.encodings.arrow.combine_chunks import with_joined_chunks
from lance_core.encodings.decoding import RowIndices, RowRange, Rows
from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.file.place import StorageOptions, located
from lance_core.plugins import get_manager
from lance_core.schema import wrap_chunks
from lance_core.store.secret import hide_secrets

_WINDOW_BYTES = 16 << 20
"""Approximate bytes of a file that are decoded at once; batches are slices of the result."""


class ReaderResults:
    """The result of a read; rows are read on iteration. Can be used once."""

    def __init__(self, reader: pa.RecordBatchReader) -> None:
        self.reader = reader

    def to_batches(self) -> pa.RecordBatchReader:
        """The rows as a stream of record batches."""
        return self.reader

    def to_table(self) -> pa.Table:
        """All rows."""
        return self.reader.read_all()


class LanceFileReader:
    """Reads a data file.

    ``path``: a local path or a URI. ``columns``: names or dotted paths of the columns to read; None
    reads all. Raises `ObjectNotFoundError`, `CorruptFileError`, `UnsupportedFeatureError`, and
    `InvalidInputError` for a column that does not exist.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        storage_options: StorageOptions | None = None,
        columns: list[str] | None = None,
        *,
        namespace_client: object = None,
        table_id: list[str] | None = None,
        _inner_reader: FileReader | None = None,
    ) -> None:
        storage_options = hide_secrets(storage_options)
        if _inner_reader is None:
            store, name = located(path, storage_options, namespace_client, table_id)
            _inner_reader = FileReader.open(store, name, registry=get_manager().encodings)
        self._reader = _inner_reader
        schema = _inner_reader.schema
        metadata = _inner_reader.metadata
        self._column_of = column_of(schema.fields, metadata.version)
        columns_there, early = len(metadata.columns), None
        if len(self._column_of) != columns_there and metadata.version.may_have_byte_lists:
            early = column_of_early(schema.fields, metadata.version, metadata.columns)
        if early is not None:
            self._column_of = early
        elif len(self._column_of) != columns_there:
            # Some writers pack structs although the field's metadata says "false".
            raise UnsupportedFeatureError(
                f"the schema of {str(path)!r} needs {len(self._column_of)} columns, the file has "
                f"{columns_there}: the file does not record the field of each column"
            )
        if columns is not None:
            if not columns:
                raise InvalidInputError("at least one column must be read")
            schema = schema.project(columns)
        self._schema = schema

    def read_all(self, *, batch_size: int = 1024, batch_readahead: int = 16) -> ReaderResults:
        """All rows, in batches of ``batch_size``; ``batch_readahead`` has no effect."""
        return self.read_range(0, self.num_rows(), batch_size=batch_size)

    def read_range(
        self, start: int, num_rows: int, *, batch_size: int = 1024, batch_readahead: int = 16
    ) -> ReaderResults:
        """``num_rows`` rows from row ``start`` on; ``batch_readahead`` has no effect."""
        if start < 0 or num_rows < 0 or start + num_rows > self.num_rows():
            raise InvalidInputError(
                f"cannot read {num_rows} rows from row {start} of a file with {self.num_rows()}"
            )
        step, stop = self._window(batch_size), start + num_rows
        windows = (RowRange(at, min(at + step, stop)) for at in range(start, stop, step))
        return self._results(windows, batch_size)

    def take_rows(
        self, indices: Any, *, batch_size: int = 1024, batch_readahead: int = 16
    ) -> ReaderResults:
        """The rows at ``indices``, which must be strictly ascending.

        ``batch_readahead`` has no effect. Raises `InvalidInputError` for other indices.
        """
        numbers = indices.to_numpy() if isinstance(indices, pa.Array) else indices
        rows = np.asarray(numbers if len(numbers) else [], dtype=np.int64)
        if rows.ndim != 1 or (np.diff(rows) <= 0).any():
            raise InvalidInputError("row numbers must be sorted in ascending order, each once")
        if len(rows) and not 0 <= rows[0] <= rows[-1] < self.num_rows():
            raise InvalidInputError(
                f"cannot take rows {rows[0]} to {rows[-1]} of a file with {self.num_rows()}"
            )
        step = self._window(batch_size)
        windows = (RowIndices(rows[at : at + step]) for at in range(0, len(rows), step))
        return self._results(windows, batch_size)

    def metadata(self) -> LanceFileMetadata:
        """The schema, buffers, columns and pages of the file."""
        return describe(self._reader.metadata)

    def file_statistics(self) -> LanceFileStatistics:
        """The number of pages and bytes of each physical column."""
        return statistics(self._reader.metadata)

    def read_global_buffer(self, index: int) -> bytes:
        """The bytes of global buffer ``index``; number 0 contains the schema."""
        return bytes(self._reader.read_global_buffer(index))

    def num_rows(self) -> int:
        """The number of rows in the file."""
        return self._reader.num_rows

    def _window(self, batch_size: int) -> int:
        """Number of rows to decode at once: a multiple of ``batch_size``."""
        if batch_size < 1:
            raise InvalidInputError(f"batch_size must be at least 1, but is {batch_size}")
        metadata = self._reader.metadata
        row_bytes = max(1, metadata.num_data_bytes // max(1, metadata.num_rows))
        return max(1, _WINDOW_BYTES // row_bytes // batch_size) * batch_size

    def _results(self, windows: Iterable[Rows], batch_size: int) -> ReaderResults:
        if not self._schema.fields:
            raise InvalidInputError("at least one column must be read, the file has none")
        schema = self._schema.to_arrow()

        def batches() -> Iterator[pa.RecordBatch]:
            fields, kernels = self._schema.fields, get_manager().encodings.kernels
            for rows in windows:
                columns = self._reader.read(fields, self._column_of, rows)
                visible = [wrap_chunks(c, f, kernels) for c, f in zip(columns, fields, strict=True)]
                table = with_joined_chunks(pa.Table.from_arrays(visible, schema=schema))
                yield from table.to_batches(max_chunksize=batch_size)

        return ReaderResults(pa.RecordBatchReader.from_batches(schema, batches()))
