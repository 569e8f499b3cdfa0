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
from lance_core.datafile.writer import FileWriter
from lance_core.encodings.decoding import RowRange, Rows, packed_rows
from lance_core.errors import CorruptFileError, InvalidInputError
from lance_core.schema import Schema, align_batch, wrap_chunks
from lance_core.store.temporary_folder import TemporaryFolder

if TYPE_CHECKING:
    from lance_core.encodings.registry import EncodingRegistry
    from lance_core.encodings.version import FileVersion
    from lance_core.store.base import ObjectStore

Progress = Callable[[str, int, int], None]
"""Called with the name of a stage, the rows done, and all rows of the stage."""


def no_progress(stage: str, done: int, total: int) -> None:
    """Ignore progress."""


class IndexFileReader:
    """An open file of an index. Thread-safe."""

    def __init__(self, reader: FileReader) -> None:
        self._reader = reader
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

    def taken_arrays(self, rows: npt.NDArray[np.int64], columns: Sequence[str]) -> list[pa.Array]:
        """Same as `take`, but one array for each column."""
        return list(map(_one_array, self._columns_of(columns, packed_rows(rows))))

    def global_buffer(self, number: int) -> pa.Buffer:
        """The bytes of a global buffer. Raises `CorruptFileError` if there is none."""
        try:
            return self._reader.read_global_buffer(number)
        except InvalidInputError as error:
            raise CorruptFileError(str(error), self._reader.path) from None

    def _table(self, names: Sequence[str] | None, rows: Rows) -> pa.Table:
        columns = self._reader.schema.names if names is None else names
        return pa.Table.from_arrays(self._columns_of(columns, rows), names=list(columns))

    def _columns_of(self, names: Sequence[str], rows: Rows) -> list[pa.ChunkedArray]:
        for name in names:
            if name not in self._fields:
                raise CorruptFileError("the column is missing", self._reader.path, field=name)
        fields = [self._fields[name] for name in names]
        columns = self._reader.read(fields, self._columns, rows)
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

    def reader(self, name: str) -> IndexFileReader:
        """The file ``name``, opened once. Raises `ObjectNotFoundError`, `CorruptFileError`."""
        return self._readers.get(name, lambda: self._open(name))

    def _open(self, name: str) -> IndexFileReader:
        size = self.sizes.get(name) or None
        path = f"{self._path}/{name}"
        return IndexFileReader(
            FileReader.open(self._store, path, registry=self._registry, size=size)
        )


class IndexFileWriter:
    """A new file of an index; `IndexOutput.create` opens it. A context manager."""

    def __init__(self, writer: FileWriter, close: Callable[[int], None]) -> None:
        self._writer = writer
        self._close = close

    def write(self, rows: pa.RecordBatch | pa.Table) -> None:
        """Append rows, which have the columns of the schema."""
        for batch in rows.to_batches() if isinstance(rows, pa.Table) else [rows]:
            self._writer.write_batch(align_batch(batch, self._writer.schema))

    def add_metadata(self, key: str, value: str) -> None:
        """Add a key and value to the metadata of the stored schema."""
        self._writer.add_schema_metadata(key, value)

    def add_global_buffer(self, data: bytes) -> int:
        """Store bytes beside the rows; returns their number."""
        return self._writer.add_global_buffer(data)

    def __enter__(self) -> IndexFileWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
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
