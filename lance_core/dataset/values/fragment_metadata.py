"""Fragment metadata that the writers of fragments pass to the process that commits them."""

from __future__ import annotations

import json
import warnings
from dataclasses import field
from typing import Any, Self, TypeVar

from lance_core.dataset.values.row_metadata import (
    RowDatasetVersionMeta,
    RowIdMeta,
    RowMetadata,
)
from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass
from lance_core.table.fragments import data_file as stored
from lance_core.table.fragments import fragment as table_fragment
from lance_core.table.fragments.deletion_file import DeletionFile as StoredDeletionFile
from lance_core.table.fragments.deletion_file import DeletionFileType

M = TypeVar("M", bound=RowMetadata)


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
    column_indices: list[int] = None  # type: ignore[assignment]  # pylance's default; none are []
    file_major_version: int = 0
    file_minor_version: int = 0
    file_size_bytes: int | None = None
    base_id: int | None = None

    def __post_init__(self) -> None:
        self.path = CallablePath(self.path)
        self.column_indices = self.column_indices or []

    @classmethod
    def create(cls, dataset: Any, path: str, *, base_id: int | None = None) -> Self:
        """What a `LanceOperation.DataReplacement` needs of a file that has been written.

        ``path``: below the data folder of ``dataset``, or of its base path ``base_id``. Raises
        `SchemaMismatchError` for columns that the table does not have.
        """
        file: Self = dataset._ds.data_file(path, base_id)  # noqa: SLF001  # which reads it
        return file

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

    def json(self) -> str:
        """The JSON text of `asdict`, which `from_json` parses."""
        return json.dumps(self.asdict(), separators=(",", ":"))

    @classmethod
    def from_json(cls, json_data: str) -> Self:
        """Parse the text of `json`; raises `InvalidInputError` for another."""
        try:
            return cls(**json.loads(json_data))
        except (ValueError, TypeError) as error:
            raise InvalidInputError(f"not the JSON form of a deletion file: {error}") from error

    def path(self, fragment_id: int, base_uri: str | None = None) -> str:
        """The path of the file below the table's root, which ``base_uri`` is put before."""
        path = self.to_stored().store_path(fragment_id)
        return path if base_uri is None else f"{base_uri.rstrip('/')}/{path}"

    @classmethod
    def of(cls, file: StoredDeletionFile) -> Self:
        """The public value for a deletion file of a manifest."""
        count = file.num_deleted_rows or 0
        return cls(file.read_version, file.id, _KINDS[file.file_type], count, file.base_id)

    def to_stored(self) -> StoredDeletionFile:
        """The value that a manifest holds; raises `InvalidInputError` for an unknown type."""
        kinds = {text: kind for kind, text in _KINDS.items()}
        if self.file_type not in kinds:
            raise InvalidInputError(f"unknown type of deletion file {self.file_type!r}")
        return StoredDeletionFile(
            file_type=kinds[self.file_type],
            read_version=self.read_version,
            id=self.id,
            num_deleted_rows=self.num_deleted_rows,
            base_id=self.base_id,
        )


@dataclass
class FragmentMetadata:
    """The metadata that a commit needs for a fragment whose files are written.

    ``id`` is 0 until the fragment is committed. ``row_id_meta`` and the two version sequences are
    serialized protobuf messages of the format. ``overlays`` are not supported: it is empty.
    """

    id: int
    files: list[DataFile]
    physical_rows: int
    deletion_file: DeletionFile | None = None
    row_id_meta: bytes | None = None
    created_at_version_meta: bytes | None = None
    last_updated_at_version_meta: bytes | None = None
    overlays: list[Any] = field(default_factory=list)

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
            "row_id_meta": _tree(RowIdMeta, self.row_id_meta),
            "created_at_version_meta": _tree(RowDatasetVersionMeta, self.created_at_version_meta),
            "last_updated_at_version_meta": _tree(
                RowDatasetVersionMeta, self.last_updated_at_version_meta
            ),
        }

    @staticmethod
    def from_json(json_data: str) -> FragmentMetadata:
        """Parse the JSON text of `to_json`.

        Raises `InvalidInputError` for any other text, `UnsupportedFeatureError` for data overlays.
        """
        try:
            tree = json.loads(json_data)
            deletion = tree.get("deletion_file")
            _refuse_overlays(tree.get("overlays"))
            return FragmentMetadata(
                id=int(tree["id"]),
                files=[DataFile(**file) for file in tree["files"]],
                physical_rows=int(tree["physical_rows"]),
                deletion_file=DeletionFile(**deletion) if deletion else None,
                row_id_meta=_parsed(RowIdMeta, tree.get("row_id_meta")),
                created_at_version_meta=_parsed(
                    RowDatasetVersionMeta, tree.get("created_at_version_meta")
                ),
                last_updated_at_version_meta=_parsed(
                    RowDatasetVersionMeta, tree.get("last_updated_at_version_meta")
                ),
            )
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise InvalidInputError(f"not the JSON form of a fragment: {error}") from error

    @classmethod
    def of(cls, fragment: table_fragment.Fragment, physical_rows: int) -> FragmentMetadata:
        """The public value for a fragment of a manifest.

        Raises `UnsupportedFeatureError` for row ids in a file of their own, and for data overlays.
        """
        _refuse_overlays(fragment.overlays)
        deletion = fragment.deletion_file
        return cls(
            fragment.id,
            [file_of(file) for file in fragment.files],
            physical_rows,
            None if deletion is None else DeletionFile.of(deletion),
            _inline(RowIdMeta, fragment.row_ids),
            _inline(RowDatasetVersionMeta, fragment.created_at_versions),
            _inline(RowDatasetVersionMeta, fragment.last_updated_at_versions),
        )

    def to_fragment(self) -> table_fragment.Fragment:
        """The value that a manifest holds; raises `UnsupportedFeatureError` for overlays."""
        _refuse_overlays(self.overlays)
        return table_fragment.Fragment(
            id=self.id,
            files=tuple(stored_file(file) for file in self.files),
            deletion_file=self.deletion_file.to_stored() if self.deletion_file else None,
            physical_rows=self.physical_rows,
            row_ids=self.row_id_meta,
            created_at_versions=self.created_at_version_meta,
            last_updated_at_versions=self.last_updated_at_version_meta,
        )


def _tree(meta: type[RowMetadata], data: bytes | None) -> dict[str, list[int]] | None:
    return None if data is None else meta(data).asdict()


def _parsed(meta: type[M], tree: Any) -> M | None:
    return None if tree is None else meta.from_dict(tree)


def _inline(meta: type[M], sequence: table_fragment.Sequence) -> M | None:
    if sequence is None or isinstance(sequence, bytes):
        return None if sequence is None else meta(sequence)
    raise UnsupportedFeatureError("row ids outside of the manifest are not supported")


def _refuse_overlays(overlays: Any) -> None:
    if overlays:
        raise UnsupportedFeatureError("fragments with data overlays are not supported")


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
