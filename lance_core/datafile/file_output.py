"""Base class and options of the file writers of all versions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeVar

import pyarrow as pa

from lance_core.encodings.version import FileVersion
from lance_core.errors import InvalidInputError, SchemaMismatchError
from lance_core.lazy_dataclass import dataclass
from lance_core.schema import Schema
from lance_core.store.base import ObjectWriter
from lance_core.table import storage_version

T = TypeVar("T")

DEFAULT_VERSION = FileVersion(storage_version.DEFAULT)


def check_positive(name: str, limit: object) -> None:
    """Raise `InvalidInputError` unless ``limit`` is an integer of at least 1."""
    if not isinstance(limit, int) or limit < 1:
        raise InvalidInputError(f"{name} must be at least 1, got {limit!r}")


@dataclass(frozen=True, slots=True)
class FileOptions:
    """Layout options of a data file, passed from the API to the writers.

    ``data_cache_bytes`` and ``max_page_bytes`` limit the size of pages, see `page_limits`;
    ``max_rows_per_group`` is the number of rows in a batch of a 0.1 file. ``batches_stay``: True if
    the memory of all batches stays in use anyway until the file is finished, as that of a table
    does; then rows that wait for others of their page are not copied. Raises `InvalidInputError`
    for a value that is not an integer and for ``max_rows_per_group`` below 1.
    """

    version: FileVersion = DEFAULT_VERSION
    data_cache_bytes: int | None = None
    max_page_bytes: int | None = None
    max_rows_per_group: int = 1024
    batches_stay: bool = False

    def __post_init__(self) -> None:
        check_positive("max_rows_per_group", self.max_rows_per_group)
        for name in ("data_cache_bytes", "max_page_bytes"):
            limit = getattr(self, name)
            if limit is not None and not isinstance(limit, int):
                raise InvalidInputError(f"{name} must be a whole number, got {limit!r}")


DEFAULT_FILE_OPTIONS = FileOptions()


@dataclass(frozen=True, slots=True)
class FileWriteResult:
    """The attributes of a finished file that a manifest's ``DataFile`` stores.

    ``field_ids[i]`` is the field of physical column ``column_indices[i]``.
    """

    num_rows: int
    size_bytes: int
    field_ids: tuple[int, ...]
    column_indices: tuple[int, ...]
    version: FileVersion

    @property
    def major(self) -> int:
        """The value of ``DataFile.file_major_version``."""
        return self.version.data_file[0]

    @property
    def minor(self) -> int:
        """The value of ``DataFile.file_minor_version``."""
        return self.version.data_file[1]


class FileOutput(ABC):
    """A writer of one data file. Not thread-safe.

    The file is not visible before `finish` returns. A writer is aborted by its first error and
    cannot be used again. A subclass calls `_check_open` first, and writes only inside `_guarded`.
    """

    def __init__(self, writer: ObjectWriter, schema: Schema, version: FileVersion) -> None:
        self.version = version
        self.schema = schema
        self.num_rows = 0
        self._writer = writer
        self._is_open = True

    @abstractmethod
    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Append the rows of ``batch``, which has the columns of `Schema.storage_schema`."""

    @abstractmethod
    def tell(self) -> int:
        """Number of bytes written so far, without buffered rows."""

    def finish(self) -> FileWriteResult:
        """Write the buffered rows and the metadata, and make the file visible.

        Raises the errors of the store; after `OutcomeUnknownError` the file may exist.
        """
        self._check_open()
        return self._guarded(self._finish)

    def abort(self) -> None:
        """Discard the written bytes. Does nothing after `finish`."""
        if self._is_open:
            self._is_open = False
            self._writer.abort()

    @abstractmethod
    def _finish(self) -> FileWriteResult:
        """Write the rest of the file, and then call `_close`."""

    def _close(self) -> None:
        """Make the file visible."""
        self._is_open = False
        self._writer.close()

    def _guarded(self, action: Callable[[], T]) -> T:
        """Return the result of ``action``; if it raises, abort the file."""
        try:
            return action()
        except BaseException:
            self.abort()
            raise

    def _check_open(self) -> None:
        if not self._is_open:
            raise InvalidInputError("this file was finished, aborted or failed before")

    def _check_columns(self, schema: pa.Schema) -> None:
        """Raise `SchemaMismatchError` if columns are not of the types that files store."""
        if schema.equals(self.schema.storage_schema()):
            return
        fields = self.schema.fields
        if len(schema) != len(fields):
            raise SchemaMismatchError(f"{len(schema)} columns were given, not {len(fields)}")
        for type_, field in zip(schema.types, fields, strict=True):
            if type_ != field.storage_type:
                raise SchemaMismatchError(
                    f"column {field.name!r} is of type {type_}, not {field.storage_type}"
                )
