"""The folder of an index: read and write its files, which are Lance files.

An index type sees nothing else of the table.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.concurrency.lru_cache import LruCache
from lance_core.datafile.column_map import column_of
from lance_core.datafile.file_output import FileOptions
from lance_core.datafile.reader import FileReader
from lance_core.datafile.tail import TAIL_LENGTH, Tail
from lance_core.datafile.writer import FileWriter
from lance_core.encodings.decoding import RowRange, Rows, packed_rows
from lance_core.errors import CorruptFileError, InvalidInputError
from lance_core.schema import Schema, align_batch, wrap_chunks
from lance_core.store.temporary_folder import TemporaryFolder

if TYPE_CHECKING:
    from lance_core.encodings.registry import EncodingRegistry
    from lance_core.encodings.version import FileVersion
    from lance_core.schema import Field
    from lance_core.store.base import ObjectStore

Progress = Callable[[str, int, int], None]
"""Called with the name of a stage, the rows done, and all rows of the stage."""


def no_progress(stage: str, done: int, total: int) -> None:
    """Ignore progress."""


class IndexFileReader:
    """An open file of an index. Thread-safe."""

    def __init__(self, reader: FileReader, buffers: Mapping[int, pa.Buffer] | None = None) -> None:
        """``buffers``: the global buffers that are in memory, by number."""
        self._reader = reader
        self._buffers = dict(buffers or {})
        schema, version = reader.schema, reader.version
        self._fields = schema.tops
        self._columns = schema.derived(
            f"columns {version}", lambda: column_of(schema.fields, version)
        )

    @property
    def path(self) -> str:
        """The path of the file, for error messages."""
        return self._reader.path

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the file, with its metadata."""
        return self._reader.schema.to_arrow()

    @property
    def names(self) -> Collection[str]:
        """The names of the columns."""
        return self._fields

    @property
    def metadata(self) -> Mapping[str, str]:
        """The metadata of the stored schema."""
        return self._reader.schema.metadata

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return self._reader.num_rows

    def read(
        self, columns: Sequence[str] | None = None, start: int = 0, stop: int | None = None
    ) -> pa.Table:
        """Rows ``start`` to ``stop`` (exclusive; None: the end) of ``columns`` (None: all).

        Raises `CorruptFileError` for a column that does not exist and for a damaged file.
        """
        return self._table(columns, RowRange(start, self.num_rows if stop is None else stop))

    def take(self, rows: npt.NDArray[np.int64], columns: Sequence[str] | None = None) -> pa.Table:
        """The rows at ``rows``, which ascend strictly."""
        return self._table(columns, packed_rows(rows))

    def arrays(
        self, columns: Sequence[str], start: int = 0, stop: int | None = None
    ) -> list[pa.Array]:
        """Same as `read`, but one array for each column: tables take longer for a few rows."""
        rows = RowRange(start, self.num_rows if stop is None else stop)
        return list(map(_one_array, self._columns_of(columns, rows)))

    def adjacent_arrays(
        self, columns: Sequence[str], start: int, stop: int
    ) -> list[pa.Array] | None:
        """Same as `arrays`, in one request; None if that would read many other bytes."""
        rows = RowRange(start, stop)
        reader = self._reader.with_pages(self._fields_of(columns), self._columns, rows)
        if reader is None:
            return None
        return list(map(_one_array, self._columns_of(columns, rows, reader)))

    def are_adjacent(self, columns: Sequence[str], start: int, stop: int) -> bool:
        """True if `adjacent_arrays` would return arrays."""
        fields, rows = self._fields_of(columns), RowRange(start, stop)
        return self._reader.with_pages(fields, self._columns, rows) is not None

    def taken_arrays(self, rows: npt.NDArray[np.int64], columns: Sequence[str]) -> list[pa.Array]:
        """Same as `take`, but one array for each column."""
        return list(map(_one_array, self._columns_of(columns, packed_rows(rows))))

    def global_buffer(self, number: int) -> pa.Buffer:
        """The bytes of a global buffer. Raises `CorruptFileError` if there is none."""
        buffer = self._buffers.pop(number, None)  # which is rarely read again
        if buffer is not None:
            return buffer
        try:
            return self._reader.read_global_buffer(number)
        except InvalidInputError as error:
            raise CorruptFileError(str(error), self._reader.path) from None

    def _table(self, names: Sequence[str] | None, rows: Rows) -> pa.Table:
        columns = self._reader.schema.names if names is None else names
        return pa.Table.from_arrays(self._columns_of(columns, rows), names=list(columns))

    def _fields_of(self, names: Sequence[str]) -> list[Field]:
        for name in names:
            if name not in self._fields:
                raise CorruptFileError("the column is missing", self._reader.path, field=name)
        return [self._fields[name] for name in names]

    def _columns_of(
        self, names: Sequence[str], rows: Rows, reader: FileReader | None = None
    ) -> list[pa.ChunkedArray]:
        fields = self._fields_of(names)
        columns = (reader or self._reader).read(fields, self._columns, rows)
        return [wrap_chunks(c, f) for c, f in zip(columns, fields, strict=True)]


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    """The column as one array; `combine_chunks` copies even a single chunk."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


class IndexFolder:
    """The files of an existing index. ``sizes``: their bytes by name, as far as known."""

    def __init__(
        self,
        store: ObjectStore,
        path: str,
        sizes: Mapping[str, int],
        registry: EncodingRegistry,
        kind: pa.DataType,
        index_version: int,
    ) -> None:
        self._store = store
        self._path = path
        self._registry = registry
        self._readers: LruCache[str, IndexFileReader] = LruCache(16, made_once=True)
        self.sizes = sizes
        self.kind = kind
        """The type of the indexed column."""
        self.index_version = index_version

    def of_type(self, kind: pa.DataType) -> IndexFolder:
        """The same folder, of an index of values of type ``kind``; it shares open files."""
        folder = copy.copy(self)
        folder.kind = kind
        return folder

    def reader(
        self, name: str, tail_length: int = TAIL_LENGTH, whole_length: int = 0
    ) -> IndexFileReader:
        """The file ``name``, opened once.

        The first request reads its last ``tail_length`` bytes, or a whole file of up to
        ``whole_length`` bytes; the global buffers in these bytes need no request. Raises
        `ObjectNotFoundError` and `CorruptFileError`.
        """
        return self._readers.get(name, lambda: self._open(name, tail_length, whole_length))

    def _open(self, name: str, tail_length: int, whole_length: int) -> IndexFileReader:
        store, path = self._store, f"{self._path}/{name}"
        size = self.sizes.get(name) or store.head(path).size
        try:
            tail = Tail(store, path, size, size if size <= whole_length else tail_length)
        except CorruptFileError as error:
            raise error.at(path=path) from error
        reader = FileReader.open(store, path, registry=self._registry, tail=tail)
        return IndexFileReader(reader, _buffers_in(tail, reader))


def _buffers_in(tail: Tail, reader: FileReader) -> dict[int, pa.Buffer]:
    """The global buffers that are in ``tail``, by number, without the schema.

    None of a file that is in memory as a whole, and of one of version 0.1.
    """
    if tail.is_whole_file or not reader.version.has_column_metadata:
        return {}
    start = tail.size - tail.buffer.size
    return {
        number: tail.buffer.slice(buffer.start - start, buffer.length)
        for number, buffer in enumerate(reader.metadata.global_buffers)
        if number and buffer.start >= start
    }


class IndexFileWriter:
    """A new file of an index; `IndexOutput.create` opens it. A context manager."""

    def __init__(self, writer: FileWriter, close: Callable[[int], None]) -> None:
        self._writer = writer
        self._close = close
        self._buffers: list[bytes] = []

    def write(self, rows: pa.RecordBatch | pa.Table) -> None:
        """Append rows, which have the columns of the schema."""
        for batch in rows.to_batches() if isinstance(rows, pa.Table) else [rows]:
            self._writer.write_batch(align_batch(batch, self._writer.schema))

    def add_metadata(self, key: str, value: str) -> None:
        """Add a key and value to the metadata of the stored schema."""
        self._writer.add_schema_metadata(key, value)

    def end_pages(self) -> None:
        """End the pages of all columns, so that rows before and after have different ones."""
        self._writer.end_pages()

    def add_global_buffer(self, data: bytes) -> int:
        """Store bytes after all rows; returns their number."""
        self._buffers.append(data)
        return len(self._buffers)

    def __enter__(self) -> IndexFileWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            if self._buffers:  # next to the metadata, where the request that opens the file ends
                self._writer.end_pages()
                for data in self._buffers:
                    self._writer.add_global_buffer(data)
            self._close(self._writer.finish().size_bytes)
        else:
            self._writer.abort()


class IndexOutput:
    """The folder of a new index. A context manager, which removes the scratch folder.

    ``paths`` gets the path of each file before it is written, so that a failed change can remove
    it. ``sizes`` has the bytes of each complete file by name.
    """

    def __init__(
        self,
        store: ObjectStore,
        path: str,
        registry: EncodingRegistry,
        file_version: FileVersion,
        paths: list[str],
        progress: Progress = no_progress,
    ) -> None:
        self._store = store
        self._path = path
        self._registry = registry
        self._options = FileOptions(file_version)
        self._paths = paths
        self._scratch = TemporaryFolder("index")
        self.progress = progress
        self.sizes: dict[str, int] = {}

    def create(self, name: str, schema: pa.Schema) -> IndexFileWriter:
        """A new file; the metadata of ``schema`` is stored with it."""
        path = f"{self._path}/{name}"
        self._paths.append(path)
        target = self._store.open_writer(path)
        try:
            stored = Schema.from_arrow(schema)
            writer = FileWriter(target, stored, self._options, registry=self._registry)
        except BaseException:
            target.abort()
            raise

        def close(size: int) -> None:
            self.sizes[name] = size

        return IndexFileWriter(writer, close)

    def scratch(self) -> Path:
        """A temporary local folder for data that does not fit into memory.

        Raises `StoreError` if there can be none; wrap reads and writes of its files in
        `lance_core.store.temporary_folder.spill_errors`, so that a full disk raises it as well.
        """
        return self._scratch.file("")

    def __enter__(self) -> IndexOutput:
        return self

    def __exit__(self, *exception: object) -> None:
        self._scratch.close()
