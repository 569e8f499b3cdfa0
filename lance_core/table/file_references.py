"""List all files that a version refers to, for copies, checks and cleanup.

A new message field that refers to a file must be added here: `PATH_FIELDS` lists all such fields,
and a test compares the list with the message definitions.
"""

from __future__ import annotations

import enum
import uuid
from collections.abc import Iterator

from lance_core._pb import table_pb2
from lance_core.errors import CorruptFileError
from lance_core.lazy_dataclass import dataclass
from lance_core.table.fragments.data_file import DataFile, ExternalFile
from lance_core.table.fragments.deletion_file import DeletionFile
from lance_core.table.fragments.fragment import Fragment, Sequence
from lance_core.table.manifest.file import ManifestFile
from lance_core.table.manifest.manifest import Manifest
from lance_core.table.paths import (
    DATA,
    DELETIONS,
    INDICES,
    check_relative,
    transaction_path,
)
from lance_core.table.unknown_fields import parse

PATH_FIELDS = {
    "lance.table.DataFile.path": "data file, and a folder for its blobs",
    "lance.table.DeletionFile.id": "deletion file, together with the fragment's id",
    "lance.table.ExternalFile.path": "row ids and row versions outside of the manifest",
    "lance.table.Manifest.transaction_file": "transaction file",
    "lance.table.IndexMetadata.uuid": "folder of an index",
    "lance.table.IndexFile.path": "inside the folder of the index",
}
"""Fields in ``Manifest`` and ``IndexSection`` messages that determine the path of a file."""


class ReferenceKind(enum.Enum):
    """The role of a file in the table."""

    DATA = "data"
    BLOBS = "blobs"
    OVERLAY = "overlay"
    DELETION = "deletion"
    ROW_LINEAGE = "row lineage"
    TRANSACTION = "transaction"
    INDEX = "index"


@dataclass(frozen=True, slots=True)
class Reference:
    """A file or, if ``is_folder``, all files in a folder, which may not exist.

    ``path`` is validated; it is relative to the table's root, or to the base path ``base_id`` if
    that is not None.
    """

    kind: ReferenceKind
    path: str
    is_folder: bool = False
    base_id: int | None = None


def references(file: ManifestFile) -> Iterator[Reference]:
    """All files that a version refers to; a file with several references appears several times.

    Raises `CorruptFileError` for a path that leaves the table and for a base path that the manifest
    does not list.
    """
    manifest = file.manifest
    if manifest.transaction_file:
        path = transaction_path(manifest.transaction_file)
        yield Reference(ReferenceKind.TRANSACTION, path)
    for fragment in manifest.fragments:
        yield from fragment_references(manifest, fragment)
    yield from index_references(file)


def index_references(file: ManifestFile) -> Iterator[Reference]:
    """The folders of the indices of a version; raises like `references`."""
    if file.index_section is not None:
        section = parse(table_pb2.IndexSection, file.index_section, "IndexSection")
        for index in section.indices:
            yield _index(file.manifest, index)


def fragment_references(manifest: Manifest, fragment: Fragment) -> Iterator[Reference]:
    """The files of one fragment; raises like `references`."""
    for file in fragment.files:
        yield from _data_file(manifest, file, ReferenceKind.DATA)
    for overlay in fragment.overlays:
        message = parse(table_pb2.DataOverlayFile, overlay, "DataFragment.overlays")
        data_file = DataFile.from_proto(message.data_file)
        yield from _data_file(manifest, data_file, ReferenceKind.OVERLAY)
    if fragment.deletion_file is not None:
        yield _deletion_file(manifest, fragment.id, fragment.deletion_file)
    sequences: tuple[Sequence, ...] = (
        fragment.row_ids,
        fragment.last_updated_at_versions,
        fragment.created_at_versions,
    )
    for sequence in sequences:
        if isinstance(sequence, ExternalFile):
            yield Reference(ReferenceKind.ROW_LINEAGE, sequence.store_path())


def has_other_files(fragment: Fragment) -> bool:
    """True if a fragment may refer to files besides data files."""
    return bool(
        fragment.overlays
        or fragment.deletion_file
        or fragment.row_ids
        or fragment.last_updated_at_versions
        or fragment.created_at_versions
    )


def _data_file(manifest: Manifest, file: DataFile, kind: ReferenceKind) -> Iterator[Reference]:
    name = check_relative(file.path, "DataFile.path")
    path = _in_folder(manifest, file.base_id, DATA, name)
    yield Reference(kind, path, base_id=file.base_id)
    stem = path.removesuffix(".lance")
    if stem != path:
        yield Reference(ReferenceKind.BLOBS, stem, is_folder=True, base_id=file.base_id)


def _deletion_file(manifest: Manifest, fragment_id: int, file: DeletionFile) -> Reference:
    name = f"{fragment_id}-{file.read_version}-{file.id}.{file.file_type.value}"
    path = _in_folder(manifest, file.base_id, DELETIONS, name)
    return Reference(ReferenceKind.DELETION, path, base_id=file.base_id)


def _index(manifest: Manifest, index: table_pb2.IndexMetadata) -> Reference:
    if len(index.uuid.uuid) != 16:
        raise CorruptFileError(
            f"the UUID of an index has {len(index.uuid.uuid)} bytes, expected 16",
            field="IndexMetadata.uuid",
        )
    for file in index.files:
        check_relative(file.path, "IndexFile.path")
    base_id = index.base_id if index.HasField("base_id") else None
    name = str(uuid.UUID(bytes=index.uuid.uuid))
    path = _in_folder(manifest, base_id, INDICES, name)
    return Reference(ReferenceKind.INDEX, path, is_folder=True, base_id=base_id)


def _in_folder(manifest: Manifest, base_id: int | None, folder: str, name: str) -> str:
    """Path below the root that ``base_id`` selects, with ``folder`` if that is a table's root."""
    if base_id is None:
        return f"{folder}/{name}"
    base = next((base for base in manifest.base_paths if base.id == base_id), None)
    if base is None:
        raise CorruptFileError(f"base path {base_id} is not listed", field="Manifest.base_paths")
    return f"{folder}/{name}" if base.is_dataset_root else name
