"""``DataFile`` and ``ExternalFile`` of a fragment (``table.proto``)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from lance_core._pb import table_pb2
from lance_core.errors import CorruptFileError
from lance_core.file_version import VersionFacts, facts_of_pair
from lance_core.lazy_dataclass import dataclass
from lance_core.table.manifest_parts import BasePath
from lance_core.table.paths import check_relative, data_file_path
from lance_core.table.storage_version import name_of_pair
from lance_core.table.unknown_fields import unknown_fields

TOMBSTONE = -2
"""Field id of a column that is stored but no longer used."""
NO_COLUMN = -1
"""Column index of a field that is stored within another column."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file that holds some columns of all rows of a fragment.

    ``path`` is relative to the data folder and not validated: open `store_path` instead.
    ``file_size_bytes`` is None if unknown. ``base_id`` is the id of a ``BasePath``; None means the
    table's root. ``unknown`` holds fields of the message that this library does not know.
    """

    path: str
    fields: tuple[int, ...]
    column_indices: tuple[int, ...]
    file_major_version: int
    file_minor_version: int
    file_size_bytes: int | None = None
    base_id: int | None = None
    unknown: bytes = b""

    @property
    def file_version(self) -> str:
        """Canonical name such as "2.0"; "<major>.<minor>" for an unknown pair."""
        return name_of_pair(self.file_major_version, self.file_minor_version)

    @property
    def version_facts(self) -> VersionFacts:
        """The facts of the file version; an unknown version is taken for one like 2.2."""
        return facts_of_pair(self.file_major_version, self.file_minor_version)

    @property
    def trusted_size(self) -> int | None:
        """File size in bytes that readers can rely on; None if unknown or not reliable.

        Releases around 1.0 recorded a size for 0.1 files that excludes the metadata of pages.
        """
        facts = facts_of_pair(self.file_major_version, self.file_minor_version)
        return self.file_size_bytes if facts.has_file_sizes else None

    def store_path(self, base: BasePath | None = None) -> str:
        """Path of the file below its base, the `BasePath` with ``base_id`` (None: this table).

        This is ``data/<path>`` if the base is the root of a table, else ``<path>``. Raises
        `CorruptFileError` for a path that would leave the data folder.
        """
        path = data_file_path(self.path)
        return path if base is None or base.is_dataset_root else self.path

    def columns(self) -> Mapping[int, int]:
        """Column index by field id; fields without a column of their own are left out.

        In 0.1 files the index is a row of the page table: the field id minus the first field id.
        Raises `CorruptFileError` if ``fields`` and ``column_indices`` contradict each other.
        """
        if not self.column_indices and not self.version_facts.has_column_indices:
            return {id_: id_ - self.fields[0] for id_ in self.fields if id_ >= self.fields[0] >= 0}
        if len(self.fields) != len(self.column_indices):
            raise CorruptFileError(
                f"data file {self.path!r} has {len(self.fields)} fields and "
                f"{len(self.column_indices)} column indices",
                field="DataFile.column_indices",
            )
        columns = _columns_of(self.fields, self.column_indices)
        if columns is None:
            raise CorruptFileError(
                f"data file {self.path!r} names a field or a column twice, or a negative column",
                field="DataFile.column_indices",
            )
        return columns

    @classmethod
    def from_proto(cls, message: table_pb2.DataFile, keep_unknown: bool = True) -> DataFile:
        """Decode a message; pass ``keep_unknown=False`` only if it has no unknown fields."""
        return cls(
            message.path,
            tuple(message.fields[:]),
            tuple(message.column_indices[:]),
            message.file_major_version,
            message.file_minor_version,
            message.file_size_bytes or None,
            message.base_id if message.HasField("base_id") else None,
            unknown_fields(message) if keep_unknown else b"",
        )

    def to_proto(self) -> table_pb2.DataFile:
        message = table_pb2.DataFile(
            path=self.path,
            fields=self.fields,
            column_indices=self.column_indices,
            file_major_version=self.file_major_version,
            file_minor_version=self.file_minor_version,
            file_size_bytes=self.file_size_bytes or 0,
        )
        if self.base_id is not None:
            message.base_id = self.base_id
        if self.unknown:
            message.MergeFromString(self.unknown)
        return message


@lru_cache(maxsize=32)
def _columns_of(fields: tuple[int, ...], columns: tuple[int, ...]) -> Mapping[int, int] | None:
    """Column by field; None for a duplicate or a negative column.

    Cached, because most files of a table have the same fields and columns.
    """
    pairs = [
        (field, column)
        for field, column in zip(fields, columns, strict=True)
        if field != TOMBSTONE and column != NO_COLUMN
    ]
    by_field = dict(pairs)
    twice = len(by_field) < len(pairs) or len(set(by_field.values())) < len(by_field)
    if twice or any(column < 0 for column in by_field.values()):
        return None
    return MappingProxyType(by_field)


@dataclass(frozen=True, slots=True)
class ExternalFile:
    """``size`` bytes from ``offset`` of a file; ``path`` is relative to the table's root."""

    path: str
    offset: int
    size: int
    unknown: bytes = b""

    def store_path(self) -> str:
        """``path`` after validation by `check_relative`, which raises `CorruptFileError`."""
        return check_relative(self.path, "ExternalFile.path")

    @classmethod
    def from_proto(cls, message: table_pb2.ExternalFile) -> ExternalFile:
        return cls(message.path, message.offset, message.size, unknown_fields(message))

    def to_proto(self) -> table_pb2.ExternalFile:
        message = table_pb2.ExternalFile(path=self.path, offset=self.offset, size=self.size)
        if self.unknown:
            message.MergeFromString(self.unknown)
        return message
