"""Data files that somebody else has written into the table's data folder, and their fragments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lance_core.datafile.column_map import column_of
from lance_core.datafile.reader import FileReader
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.schema import Field, append_schema
from lance_core.schema.blobs.views import as_stored
from lance_core.table.fragments.data_file import DataFile
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.paths import data_file_path


def fragment_of_file(snapshot: Snapshot, name: str, fragment_id: int) -> Fragment:
    """The fragment with the rows of the file ``name``; raises like `described_file`."""
    file, rows = described_file(snapshot, name)
    return Fragment(fragment_id, (file,), physical_rows=rows)


def described_file(
    snapshot: Snapshot, name: str, base_id: int | None = None
) -> tuple[DataFile, int]:
    """The metadata of the file ``name``, whose columns are matched by name, and its rows.

    ``base_id``: the base path that it is in, by default the table. Raises `SchemaMismatchError` for
    columns that the table does not have, `UnsupportedFeatureError` for a file of version 0.1, and
    `ObjectNotFoundError` without such a file.
    """
    base = snapshot.base(base_id)
    path = data_file_path(name) if base is None or base.is_dataset_root else name
    reader = FileReader.open(snapshot.store_of(base), path, registry=snapshot.root.registry)
    metadata, stored = reader.metadata, reader.schema
    append_schema(as_stored(snapshot.schema), stored.to_arrow())
    columns = column_of(stored.fields, metadata.version)
    pairs = [(own, columns.get(id_)) for id_, own in _ids(stored.fields, snapshot.schema.fields)]
    stored_columns = [(own, column) for own, column in pairs if column is not None]
    major, minor = metadata.version.data_file
    file = DataFile(
        path=name,
        fields=tuple(own for own, _ in stored_columns),
        column_indices=tuple(column for _, column in stored_columns),
        file_major_version=major,
        file_minor_version=minor,
        file_size_bytes=metadata.size,
        base_id=base_id,
    )
    return file, reader.num_rows


def _ids(stored: Sequence[Field], table: Sequence[Field]) -> Iterator[tuple[int, int]]:
    """The id in the file and in the table for each field; members of structs match by name."""
    by_name = {field.name: field for field in table}
    for number, field in enumerate(stored):
        own = by_name.get(field.name, table[min(number, len(table) - 1)])
        yield field.id, own.id
        yield from _ids(field.children, own.children)
