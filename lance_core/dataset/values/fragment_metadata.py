"""Fragment metadata that the writers of fragments pass to the process that commits them."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass
from lance_core.table.fragments import data_file as stored
from lance_core.table.fragments import fragment as table_fragment
from lance_core.table.fragments.deletion_file import DeletionFile as StoredDeletionFile
from lance_core.table.fragments.deletion_file import DeletionFileType


class CallablePath(str):
    """A path. Calling it returns it, with a warning: old releases of pylance have a method here."""

    __slots__ = ()

    def __call__(self) -> str:
        warnings.warn(
            "DataFile.path() is deprecated: use DataFile.path", DeprecationWarning, stacklevel=2
        )
        return str(self)


@dataclass
class DataFile:
    """A data file of a fragment, the field ids that it holds, and their columns in the file."""

    path: str
    fields: list[int]
    column_indices: list[int] = field(default_factory=list)
    file_major_version: int = 0
    file_minor_version: int = 0
    file_size_bytes: int | None = None
    base_id: int | None = None

    def __post_init__(self) -> None:
        self.path = CallablePath(self.path)

    def field_ids(self) -> list[int]:
        """Ids of the fields in the file."""
        return self.fields


@dataclass
class DeletionFile:
    """The file that lists the deleted rows of a fragment.

    ``file_type``: ``"array"`` (an Arrow file of row offsets) or ``"bitmap"`` (a Roaring bitmap).
    """

    read_version: int
    id: int
    file_type: str
    num_deleted_rows: int
    base_id: int | None = None

    def asdict(self) -> dict[str, Any]:
        """The attributes as a dict."""
        return dict(vars(self))


@dataclass
class FragmentMetadata:
    """The metadata that a commit needs for a fragment whose files are written.

    ``id`` is 0 until the fragment is committed. ``row_id_meta`` and the two version sequences are
    serialized protobuf messages of the format.
    """

    id: int
    files: list[DataFile]
    physical_rows: int
    deletion_file: DeletionFile | None = None
    row_id_meta: bytes | None = None
    created_at_version_meta: bytes | None = None
    last_updated_at_version_meta: bytes | None = None

    @property
    def num_deletions(self) -> int:
        """The number of deleted rows."""
        return self.deletion_file.num_deleted_rows if self.deletion_file else 0

    @property
    def num_rows(self) -> int:
        """The number of rows that are not deleted."""
        return self.physical_rows - self.num_deletions

    def data_files(self) -> list[DataFile]:
        """The files that hold the fragment's columns."""
        return self.files

    def to_json(self) -> dict[str, Any]:
        """The metadata as a dict for JSON, with pylance's keys; `from_json` parses its text."""
        deletion = self.deletion_file
        return {
            "id": self.id,
            "files": [dict(vars(file)) for file in self.files],
            "overlays": [],
            "physical_rows": self.physical_rows,
            "deletion_file": dict(vars(deletion)) if deletion else None,
            "row_id_meta": _tree(self.row_id_meta, "Inline"),
            "created_at_version_meta": _tree(self.created_at_version_meta, "inline"),
            "last_updated_at_version_meta": _tree(self.last_updated_at_version_meta, "inline"),
        }

    @staticmethod
    def from_json(json_data: str) -> FragmentMetadata:
        """Parse the JSON text of `to_json`.

        Raises `InvalidInputError` for any other text, `UnsupportedFeatureError` for data overlays.
        """
        try:
            tree = json.loads(json_data)
            deletion = tree.get("deletion_file")
            if tree.get("overlays"):
                raise UnsupportedFeatureError("fragments with data overlays are not supported")
            return FragmentMetadata(
                id=int(tree["id"]),
                files=[DataFile(**file) for file in tree["files"]],
                physical_rows=int(tree["physical_rows"]),
                deletion_file=DeletionFile(**deletion) if deletion else None,
                row_id_meta=_bytes(tree.get("row_id_meta")),
                created_at_version_meta=_bytes(tree.get("created_at_version_meta")),
                last_updated_at_version_meta=_bytes(tree.get("last_updated_at_version_meta")),
            )
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise InvalidInputError(f"not the JSON form of a fragment: {error}") from error

    @classmethod
    def of(cls, fragment: table_fragment.Fragment, physical_rows: int) -> FragmentMetadata:
        """The public value for a fragment of a manifest."""
        return cls(
            fragment.id,
            [file_of(file) for file in fragment.files],
            physical_rows,
            _deletion_of(fragment.deletion_file),
            _inline(fragment.row_ids),
            _inline(fragment.created_at_versions),
            _inline(fragment.last_updated_at_versions),
        )

    def to_fragment(self) -> table_fragment.Fragment:
        """The value that a manifest holds."""
        return table_fragment.Fragment(
            id=self.id,
            files=tuple(stored_file(file) for file in self.files),
            deletion_file=_stored_deletion(self.deletion_file),
            physical_rows=self.physical_rows,
            row_ids=self.row_id_meta,
            created_at_versions=self.created_at_version_meta,
            last_updated_at_versions=self.last_updated_at_version_meta,
        )


def _tree(data: bytes | None, key: str) -> dict[str, list[int]] | None:
    return None if data is None else {key: list(data)}


def _bytes(tree: Mapping[str, list[int]] | None) -> bytes | None:
    if tree is None:
        return None
    ((key, data),) = tree.items()
    if key.lower() != "inline":
        raise ValueError(f"a row sequence that is {key!r} is not supported")
    return bytes(data)


def _inline(sequence: table_fragment.Sequence) -> bytes | None:
    if sequence is None or isinstance(sequence, bytes):
        return sequence
    raise UnsupportedFeatureError("row ids outside of the manifest are not supported")


def file_of(file: stored.DataFile) -> DataFile:
    """The public value for a data file of a manifest or transaction."""
    return DataFile(
        file.path,
        list(file.fields),
        list(file.column_indices),
        file.file_major_version,
        file.file_minor_version,
        file.file_size_bytes,
        file.base_id,
    )


def stored_file(file: DataFile) -> stored.DataFile:
    """The value that a manifest holds."""
    return stored.DataFile(
        path=file.path,
        fields=tuple(file.fields),
        column_indices=tuple(file.column_indices),
        file_major_version=file.file_major_version,
        file_minor_version=file.file_minor_version,
        file_size_bytes=file.file_size_bytes,
        base_id=file.base_id,
    )


_KINDS = {DeletionFileType.ARROW_ARRAY: "array", DeletionFileType.BITMAP: "bitmap"}


def _deletion_of(file: StoredDeletionFile | None) -> DeletionFile | None:
    if file is None:
        return None
    count = file.num_deleted_rows or 0
    return DeletionFile(file.read_version, file.id, _KINDS[file.file_type], count, file.base_id)


def _stored_deletion(file: DeletionFile | None) -> StoredDeletionFile | None:
    if file is None:
        return None
    kinds = {text: kind for kind, text in _KINDS.items()}
    if file.file_type not in kinds:
        raise InvalidInputError(f"unknown type of deletion file {file.file_type!r}")
    return StoredDeletionFile(
        file_type=kinds[file.file_type],
        read_version=file.read_version,
        id=file.id,
        num_deleted_rows=file.num_deleted_rows,
        base_id=file.base_id,
    )
