"""Replace damaged columns of fragments by nulls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import pyarrow as pa

from lance_core import LanceDataset, LanceOperation
from lance_core.errors import UnsupportedFeatureError
from lance_core.fragment import FragmentMetadata, LanceFragment
from lance_core_cli.fields import nested
from lance_core_cli.stored_rows import stored_batches


def with_nulls(table: LanceDataset, columns: Iterable[tuple[LanceFragment, str]]) -> LanceDataset:
    """Write fragments again with nulls in place of columns, and commit that as one version.

    The other columns are read, also of deleted rows, so that all rows keep their addresses and ids.
    Indices of the columns do not cover the fragments any more. Raises `UnsupportedFeatureError` for
    blobs of version 2 in the other columns, the errors of reading them, and those of a commit.
    """
    by_fragment: dict[int, tuple[LanceFragment, list[str]]] = {}
    for fragment, name in columns:
        by_fragment.setdefault(fragment.fragment_id, (fragment, []))[1].append(name)
    written = [_written_again(table, *damaged) for damaged in by_fragment.values()]
    names = {name for _, damaged in by_fragment.values() for name in damaged}
    changed = [field for field in table.lance_schema.fields() if field.name() in names]
    fields = [part.id() for _, part in nested(changed)]
    operation = LanceOperation.Update(
        updated_fragments=written, fields_modified=fields, update_mode="rewrite_columns"
    )
    return LanceDataset.commit(table, operation, table.version)


def _written_again(
    table: LanceDataset, fragment: LanceFragment, nulls: list[str]
) -> FragmentMetadata:
    schema = table.schema
    whole = [name for name in schema.names if name not in nulls]
    batches = _batches(stored_batches(fragment, whole), schema)
    reader = pa.RecordBatchReader.from_batches(schema, batches)
    new = LanceFragment.create(
        table, reader, fragment.fragment_id, schema, data_storage_version=table.data_storage_version
    )
    return replace(fragment.metadata, files=new.files)


def _batches(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        columns = [_column(batch, field) for field in schema]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _column(batch: pa.RecordBatch, field: pa.Field) -> pa.Array:
    """The column of a field, or nulls."""
    if field.name not in batch.schema.names:
        return pa.nulls(batch.num_rows, field.type)
    column = batch.column(field.name)
    if column.type != field.type:
        raise UnsupportedFeatureError(
            f"the fragment cannot be written again: column {field.name!r} has blobs of version 2"
        )
    return column
