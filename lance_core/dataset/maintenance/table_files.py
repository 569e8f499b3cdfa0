"""The files of a table: those that are there, and those that its versions refer to."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa

from lance_core.commits.base import ManifestLocation
from lance_core.commits.history import read_version
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.table.file_references import Reference, ReferenceKind, references

BATCH_ROWS = 8192
"""Maximum files of a batch."""

PRESENT = pa.schema(
    [
        pa.field("base_uri", pa.dictionary(pa.int32(), pa.string()), False),
        pa.field("path", pa.string(), False),
        pa.field("size_bytes", pa.int64(), False),
        pa.field("last_modified", pa.timestamp("us", "UTC"), False),
    ]
)
"""The columns of `present_files`."""

REFERENCED = pa.schema(
    [
        pa.field("version", pa.int64(), False),
        pa.field("base_uri", pa.dictionary(pa.int32(), pa.string()), False),
        pa.field("path", pa.string(), False),
        pa.field("type", pa.dictionary(pa.int8(), pa.string()), False),
    ]
)
"""The columns of `referenced_files`."""

Progress = Callable[[int, int | None], object]
"""Called with the number of manifests that are done, and of all."""

_TYPES = {
    ReferenceKind.DATA: "data file",
    ReferenceKind.BLOBS: "data file",
    ReferenceKind.OVERLAY: "data file",
    ReferenceKind.DELETION: "deletion file",
    ReferenceKind.ROW_LINEAGE: "data file",
    ReferenceKind.TRANSACTION: "transaction file",
    ReferenceKind.INDEX: "index file",
}
"""pylance's words."""

Row = tuple[object, ...]


def present_files(snapshot: Snapshot) -> pa.RecordBatchReader:
    """Every file below the table's root, with its size and time; see `LanceDataset.all_files`."""
    root = snapshot.root
    rows = ((root.uri, m.path, m.size, m.last_modified) for m in root.store.list(""))
    return _reader(PRESENT, rows)


def referenced_files(
    snapshot: Snapshot, min_version: int | None = None, progress: Progress | None = None
) -> pa.RecordBatchReader:
    """The files that versions refer to; see `LanceDataset.tracked_files`.

    Raises `ValueError` if ``progress`` cannot be called.
    """
    if progress is not None and not callable(progress):
        raise ValueError("progress must be callable")
    versions = [
        location
        for location in snapshot.root.handler.list_versions()
        if min_version is None or location.version >= min_version
    ]
    return _reader(REFERENCED, _of_versions(snapshot, versions, progress))


def _of_versions(
    snapshot: Snapshot, versions: list[ManifestLocation], progress: Progress | None
) -> Iterator[Row]:
    uri, folders = snapshot.root.uri, dict[str, list[str]]()
    for done, location in enumerate(versions, 1):
        file = read_version(snapshot.root.store, location).file
        bases: dict[int | None, str] = {base.id: base.path for base in file.manifest.base_paths}
        bases[None] = uri
        yield location.version, uri, location.path, "manifest"
        for reference in references(file):
            base = bases[reference.base_id]
            for path in _paths(snapshot, reference, base, folders):
                yield location.version, base, path, _TYPES[reference.kind]
        if progress is not None:
            progress(done, len(versions))


def _paths(
    snapshot: Snapshot, reference: Reference, base: str, folders: dict[str, list[str]]
) -> list[str]:
    """The file, or the files of a folder: each folder is listed once."""
    if not reference.is_folder:
        return [reference.path]
    key = f"{base}/{reference.path}"
    if key not in folders:
        store = snapshot.store_of(snapshot.base(reference.base_id))
        folders[key] = [meta.path for meta in store.list(reference.path)]
    return folders[key]


def _reader(schema: pa.Schema, rows: Iterator[Row]) -> pa.RecordBatchReader:
    def batches() -> Iterator[pa.RecordBatch]:
        part: list[Row] = []
        for row in rows:
            part.append(row)
            if len(part) == BATCH_ROWS:
                yield _batch(schema, part)
                part = []
        if part:
            yield _batch(schema, part)

    return pa.RecordBatchReader.from_batches(schema, batches())


def _batch(schema: pa.Schema, rows: list[Row]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [_array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _array(values: tuple[object, ...], type_: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(type_):
        return pa.array(values, type_.value_type).dictionary_encode().cast(type_)
    return pa.array(values, type_)
