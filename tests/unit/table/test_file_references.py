from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from lance_core._pb import table_pb2
from lance_core.errors import CorruptFileError
from lance_core.schema.tree import Schema
from lance_core.table.file_references import PATH_FIELDS, Reference, ReferenceKind, references
from lance_core.table.fragments.data_file import DataFile, ExternalFile
from lance_core.table.fragments.deletion_file import DeletionFile, DeletionFileType
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.fragments.fragment_list import FragmentList
from lance_core.table.manifest.file import ManifestFile, parse_manifest_file
from lance_core.table.manifest.manifest import Manifest
from lance_core.table.manifest_parts import BasePath
from tests.each_case import each_case

# Text and bytes that name no file. A base path is a root, not a file.
NO_PATHS = {
    "lance.file.Field.name",
    "lance.file.Field.logical_type",
    "lance.file.Field.extension_name",
    "lance.file.Field.MetadataEntry.key",
    "lance.file.Field.MetadataEntry.value",
    "lance.table.Manifest.SchemaMetadataEntry.key",
    "lance.table.Manifest.SchemaMetadataEntry.value",
    "lance.table.Manifest.tag",
    "lance.table.Manifest.WriterVersion.library",
    "lance.table.Manifest.WriterVersion.version",
    "lance.table.Manifest.WriterVersion.prerelease",
    "lance.table.Manifest.WriterVersion.build_metadata",
    "lance.table.Manifest.DataStorageFormat.file_format",
    "lance.table.Manifest.DataStorageFormat.version",
    "lance.table.Manifest.ConfigEntry.key",
    "lance.table.Manifest.ConfigEntry.value",
    "lance.table.Manifest.TableMetadataEntry.key",
    "lance.table.Manifest.TableMetadataEntry.value",
    "lance.table.Manifest.branch",
    "lance.table.Manifest.fragment_tree",  # refused when read
    "lance.table.Manifest.clustering",
    "lance.table.BasePath.name",
    "lance.table.BasePath.path",
    "lance.table.DataFragment.inline_row_ids",
    "lance.table.DataFragment.inline_last_updated_at_versions",
    "lance.table.DataFragment.inline_created_at_versions",
    "lance.table.DataOverlayFile.shared_offset_bitmap",
    "lance.table.FieldCoverage.offset_bitmaps",
    "lance.table.IndexMetadata.name",
    "lance.table.IndexMetadata.fragment_bitmap",
    "lance.table.UUID.uuid",  # as IndexMetadata.uuid
    "google.protobuf.Any.type_url",
    "google.protobuf.Any.value",  # details of an index: its files are in its folder
}

TEXT = (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES)


def fields(message: Descriptor, seen: set[str]) -> Iterator[FieldDescriptor]:
    """All fields of a message and of the messages inside it."""
    if message.full_name in seen:
        return
    seen.add(message.full_name)
    for field in message.fields:
        yield field
        if field.message_type is not None:
            yield from fields(field.message_type, seen)


def stored_fields() -> list[FieldDescriptor]:
    seen: set[str] = set()
    roots = (table_pb2.Manifest.DESCRIPTOR, table_pb2.IndexSection.DESCRIPTOR)
    return [field for root in roots for field in fields(root, seen)]


def test_every_field_that_can_name_a_file_is_enumerated_or_known_not_to() -> None:
    names = {field.full_name for field in stored_fields() if field.type in TEXT}
    assert names - NO_PATHS <= set(PATH_FIELDS)
    assert not NO_PATHS & set(PATH_FIELDS)
    assert names >= NO_PATHS
    assert {field.full_name for field in stored_fields()} >= set(PATH_FIELDS)


def test_every_message_that_holds_a_path_is_visited() -> None:
    """A new place for a file or an external sequence needs an entry in `references`."""
    holders = {
        field.full_name
        for field in stored_fields()
        if field.message_type is not None
        and field.message_type.name
        in ("DataFile", "DeletionFile", "ExternalFile", "IndexFile", "UUID")
    }
    assert holders == {
        "lance.table.DataFragment.files",
        "lance.table.DataFragment.deletion_file",
        "lance.table.DataFragment.external_row_ids",
        "lance.table.DataFragment.external_last_updated_at_versions",
        "lance.table.DataFragment.external_created_at_versions",
        "lance.table.DataOverlayFile.data_file",
        "lance.table.IndexMetadata.uuid",
        "lance.table.IndexMetadata.files",
    }


def data_file(path: str, base_id: int | None = None) -> DataFile:
    return DataFile(path, (0,), (0,), 2, 0, None, base_id)


INDEX_ID = uuid.UUID(int=7)
OVERLAY = table_pb2.DataOverlayFile(data_file=data_file("overlay.lance").to_proto())
FRAGMENT = Fragment(
    5,
    (data_file("a.lance"), data_file("odd name"), data_file("b.lance", 1), data_file("c.lance", 2)),
    DeletionFile(DeletionFileType.ARROW_ARRAY, 3, 9, 1),
    10,
    ExternalFile("lineage/ids", 0, 1),
    ExternalFile("lineage/updated", 0, 1),
    ExternalFile("lineage/created", 0, 1),
    (OVERLAY.SerializeToString(),),
)


def index_section(**changes: object) -> bytes:
    index = table_pb2.IndexMetadata(name="i", files=[table_pb2.IndexFile(path="x.lance")])
    index.uuid.uuid = INDEX_ID.bytes
    index.MergeFrom(table_pb2.IndexMetadata(**changes))  # type: ignore[arg-type]
    return table_pb2.IndexSection(indices=[index]).SerializeToString()


def file(fragment: Fragment = FRAGMENT, section: bytes | None = None) -> ManifestFile:
    manifest = Manifest(
        4,
        Schema(),
        FragmentList.of([fragment]),
        transaction_file="3-u.txn",
        base_paths=(BasePath(1, "/table", True), BasePath(2, "/folder")),
    )
    return ManifestFile(manifest, section)


def test_all_kinds_of_files_are_enumerated() -> None:
    kind = ReferenceKind
    assert set(references(file(section=index_section()))) == {
        Reference(kind.TRANSACTION, "_transactions/3-u.txn"),
        Reference(kind.DATA, "data/a.lance"),
        Reference(kind.BLOBS, "data/a", is_folder=True),
        Reference(kind.DATA, "data/odd name"),
        Reference(kind.DATA, "data/b.lance", base_id=1),
        Reference(kind.BLOBS, "data/b", is_folder=True, base_id=1),
        Reference(kind.DATA, "c.lance", base_id=2),
        Reference(kind.BLOBS, "c", is_folder=True, base_id=2),
        Reference(kind.OVERLAY, "data/overlay.lance"),
        Reference(kind.BLOBS, "data/overlay", is_folder=True),
        Reference(kind.DELETION, "_deletions/5-3-9.arrow"),
        Reference(kind.ROW_LINEAGE, "lineage/ids"),
        Reference(kind.ROW_LINEAGE, "lineage/updated"),
        Reference(kind.ROW_LINEAGE, "lineage/created"),
        Reference(kind.INDEX, f"_indices/{INDEX_ID}", is_folder=True),
    }


@each_case("path", ["../a", "/a", "", "a//b", "s3://b/k", "a\\b"])
def test_a_reference_never_leaves_the_table(path: str) -> None:
    overlay = table_pb2.DataOverlayFile(data_file=data_file(path).to_proto()).SerializeToString()
    wrong = [
        file(dataclasses.replace(FRAGMENT, files=(data_file(path),))),
        file(dataclasses.replace(FRAGMENT, row_ids=ExternalFile(path, 0, 1))),
        file(dataclasses.replace(FRAGMENT, created_at_versions=ExternalFile(path, 0, 1))),
        file(dataclasses.replace(FRAGMENT, last_updated_at_versions=ExternalFile(path, 0, 1))),
        file(dataclasses.replace(FRAGMENT, overlays=(overlay,))),
        file(section=index_section(files=[table_pb2.IndexFile(path=path)])),
    ]
    if path:
        manifest = dataclasses.replace(file().manifest, transaction_file=path)
        wrong.append(ManifestFile(manifest))
    for case in wrong:
        with pytest.raises(CorruptFileError):
            list(references(case))


def test_what_cannot_be_located_is_corrupt() -> None:
    for case in (
        file(dataclasses.replace(FRAGMENT, files=(data_file("a", 9),))),
        file(section=index_section(base_id=9)),
        file(section=index_section(uuid=table_pb2.UUID(uuid=b"short"))),
        file(section=b"\xff"),
    ):
        with pytest.raises(CorruptFileError):
            list(references(case))


def test_every_file_of_a_foreign_table_is_named_by_some_version(
    foreign_table: Path, history: list[tuple[bytes, ManifestFile]]
) -> None:
    named = {reference for _, file in history for reference in references(file)}
    files = {reference.path for reference in named if not reference.is_folder}
    folders = {reference.path for reference in named if reference.is_folder}
    for path in foreign_table.rglob("*"):
        relative = path.relative_to(foreign_table).as_posix()
        if path.is_file() and not relative.startswith("_versions/"):
            assert relative in files or path.parent.relative_to(foreign_table).as_posix() in folders
    for _, file_ in history[-1:]:
        for reference in references(file_):
            if not reference.is_folder:
                assert (foreign_table / reference.path).is_file()
    assert parse_manifest_file(history[0][0]) == history[0][1]
