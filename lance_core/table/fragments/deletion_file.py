"""``DeletionFile`` of a fragment (``table.proto``): the reference to its list of deleted rows.

The module ``deletion`` decodes and encodes the content of the file.
"""

from __future__ import annotations

import enum

from lance_core._pb import table_pb2
from lance_core.errors import UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass
from lance_core.table.manifest_parts import BasePath
from lance_core.table.paths import DELETIONS
from lance_core.table.unknown_fields import unknown_fields


class DeletionFileType(enum.Enum):
    """Encoding of a deletion file; the value is the extension of the file's name."""

    ARROW_ARRAY = "arrow"
    BITMAP = "bin"


_FROM_PROTO = {0: DeletionFileType.ARROW_ARRAY, 1: DeletionFileType.BITMAP}
_TO_PROTO = {
    DeletionFileType.ARROW_ARRAY: table_pb2.DeletionFile.ARROW_ARRAY,
    DeletionFileType.BITMAP: table_pb2.DeletionFile.BITMAP,
}


@dataclass(frozen=True, slots=True)
class DeletionFile:
    """A reference to the file of all deleted rows of a fragment.

    ``read_version`` and ``id`` only make the file's name unique. ``num_deleted_rows`` is None if
    unknown (tables of 0.8 and earlier).
    """

    file_type: DeletionFileType
    read_version: int
    id: int
    num_deleted_rows: int | None
    base_id: int | None = None
    unknown: bytes = b""

    def store_path(self, fragment_id: int, base: BasePath | None = None) -> str:
        """Path of the file below its base, the `BasePath` with ``base_id`` (None: this table)."""
        name = f"{fragment_id}-{self.read_version}-{self.id}.{self.file_type.value}"
        return f"{DELETIONS}/{name}" if base is None or base.is_dataset_root else name

    @classmethod
    def from_proto(cls, message: table_pb2.DeletionFile, keep_unknown: bool = True) -> DeletionFile:
        """Raises `UnsupportedFeatureError` for a file type that this library does not know."""
        file_type = _FROM_PROTO.get(message.file_type)
        if file_type is None:
            raise UnsupportedFeatureError(f"unsupported deletion file type {message.file_type}")
        return cls(
            file_type,
            message.read_version,
            message.id,
            message.num_deleted_rows or None,
            message.base_id if message.HasField("base_id") else None,
            unknown_fields(message) if keep_unknown else b"",
        )

    def to_proto(self) -> table_pb2.DeletionFile:
        message = table_pb2.DeletionFile(
            file_type=_TO_PROTO[self.file_type],
            read_version=self.read_version,
            id=self.id,
            num_deleted_rows=self.num_deleted_rows or 0,
        )
        if self.base_id is not None:
            message.base_id = self.base_id
        message.MergeFromString(self.unknown)
        return message
