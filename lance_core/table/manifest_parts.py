"""``WriterVersion``, ``DataStorageFormat`` and ``BasePath`` of a ``Manifest`` (``table.proto``)."""

from __future__ import annotations

from collections.abc import Iterable

from lance_core._pb import table_pb2
from lance_core._version import __version__
from lance_core.file_version import canonical_name
from lance_core.lazy_dataclass import dataclass
from lance_core.table.unknown_fields import unknown_fields


@dataclass(frozen=True, slots=True)
class WriterVersion:
    """The library that wrote a version; readers may work around known defects of a writer."""

    library: str
    version: str
    prerelease: str | None = None
    build_metadata: str | None = None
    unknown: bytes = b""

    @classmethod
    def from_proto(cls, message: table_pb2.Manifest.WriterVersion) -> WriterVersion:
        return cls(
            message.library,
            message.version,
            message.prerelease if message.HasField("prerelease") else None,
            message.build_metadata if message.HasField("build_metadata") else None,
            unknown_fields(message),
        )

    def to_proto(self) -> table_pb2.Manifest.WriterVersion:
        message = table_pb2.Manifest.WriterVersion(
            library=self.library,
            version=self.version,
            prerelease=self.prerelease,
            build_metadata=self.build_metadata,
        )
        message.MergeFromString(self.unknown)
        return message


THIS_LIBRARY = WriterVersion("lance-core", __version__)
"""The ``writer_version`` of manifests that this library writes."""


@dataclass(frozen=True, slots=True)
class DataFormat:
    """Format of a table's data files; ``file_format`` is "lance", or "" in some older tables."""

    version: str
    file_format: str = "lance"
    unknown: bytes = b""

    @property
    def file_version(self) -> str:
        """Canonical name of the version, such as "2.0"; unknown names are returned unchanged."""
        return canonical_name(self.version)

    @classmethod
    def from_proto(cls, message: table_pb2.Manifest.DataStorageFormat) -> DataFormat:
        return cls(message.version, message.file_format, unknown_fields(message))

    def to_proto(self) -> table_pb2.Manifest.DataStorageFormat:
        message = table_pb2.Manifest.DataStorageFormat(
            file_format=self.file_format or "lance", version=self.version
        )
        message.MergeFromString(self.unknown)
        return message


@dataclass(frozen=True, slots=True)
class BasePath:
    """An additional root for files of a table; ``path`` is absolute and not validated.

    If ``is_dataset_root``, the path is the root of a table, with files in the folders data,
    _deletions and so on. Otherwise files are directly below the path.
    """

    id: int
    path: str
    is_dataset_root: bool = False
    name: str | None = None
    unknown: bytes = b""

    @classmethod
    def from_proto(cls, message: table_pb2.BasePath) -> BasePath:
        return cls(
            message.id,
            message.path,
            message.is_dataset_root,
            message.name if message.HasField("name") else None,
            unknown_fields(message),
        )

    def to_proto(self) -> table_pb2.BasePath:
        message = table_pb2.BasePath(
            id=self.id, path=self.path, is_dataset_root=self.is_dataset_root, name=self.name
        )
        message.MergeFromString(self.unknown)
        return message


def next_base_id(bases: Iterable[BasePath], first: int = 1) -> int:
    """The id of the next base path; ``first`` if ``bases`` is empty."""
    return max((base.id + 1 for base in bases), default=first)
