"""`LanceFragment.update_columns`: new values for columns of matching rows, in a new data file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from lance_core.dataset.read.columns.projection import META_COLUMNS
from lance_core.dataset.read.fragments.live_rows import offsets_of
from lance_core.dataset.read.scan import scan_batches
from lance_core.dataset.read.scan_options import ScanOptions, plan_scan
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.write.discard_on_failure import discard_on_failure
from lance_core.dataset.write.schema_evolution.column_files import (
    BATCH_ROWS,
    ColumnFiles,
    nullable_batches,
    plan_of_fragments,
)
from lance_core.dataset.write.schema_evolution.join import LeftKeys, RightRows, right_column
from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.encodings.arrow.take import take_rows
from lance_core.errors import SchemaMismatchError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass
from lance_core.schema import Schema, is_blob_v2
from lance_core.table.fragments.deletion import RowOffsets
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.indices.index_metadata import encode_fragment_ids
from lance_core.table.manifest.feature_flags import check_writable


@dataclass(frozen=True, slots=True)
class UpdatedColumns:
    """A fragment with new values of some columns, not committed.

    ``fields``: ids of the fields in the new file. ``offsets``: physical offsets of the rows that
    the other data has.
    """

    fragment: Fragment
    fields: tuple[int, ...]
    offsets: RowOffsets

    def offsets_bitmap(self) -> bytes:
        """`offsets` as a Roaring bitmap."""
        return encode_fragment_ids(BitMap(self.offsets))


def update_columns(
    snapshot: Snapshot,
    fragment: Fragment,
    reader: pa.RecordBatchReader,
    left_on: str,
    right_on: str,
) -> UpdatedColumns:
    """Write a file with the columns of ``reader``; see `LanceFragment.update_columns`.

    Raises `SchemaMismatchError` for a column that the table does not have or that has another type,
    and `UnsupportedFeatureError` for columns of blobs and files of version 0.1.
    """
    check_writable(snapshot.manifest.flags)
    schema = _schema(snapshot, reader.schema, right_on)
    other = RightRows.of(reader, right_on)
    (positions,) = LeftKeys.of(snapshot, left_on, other).positions([fragment]).values()
    plan = plan_scan(snapshot, ScanOptions(columns=schema.names, batch_size=BATCH_ROWS))
    old = scan_batches(snapshot, plan_of_fragments(plan, snapshot, fragment))
    with discard_on_failure(snapshot.root) as files:
        column_files = ColumnFiles(snapshot, files, schema, snapshot.schema)
        written = column_files.write(fragment, _updated(old, other, positions))
    live = np.flatnonzero(np.asarray(positions.is_valid()))
    offsets = offsets_of(snapshot, fragment, live).astype(np.uint32)
    fields = (
        field
        for written_fragment in files.data
        for file in written_fragment.files
        for field in file.fields
    )
    return UpdatedColumns(written, tuple(fields), offsets)


def _schema(snapshot: Snapshot, schema_of_data: pa.Schema, right_on: str) -> Schema:
    """The fields of the table that ``schema_of_data`` has new values for."""
    version = snapshot.storage_version
    if not version.has_partial_files:
        raise UnsupportedFeatureError(
            f"columns of a table of file version {version} cannot be updated"
        )
    keys = right_column(schema_of_data, right_on)
    names = [name for name in schema_of_data.names if name != keys]
    for name in names:
        if name in META_COLUMNS:
            raise SchemaMismatchError(
                f"Column {name} is a reserved metadata column and cannot be updated"
            )
        if name not in snapshot.schema.names:
            raise SchemaMismatchError(
                f"Column {name} in right side fragment does not exist in left side fragment"
            )
    schema = snapshot.schema.project(names)
    for field in schema.fields:
        type_ = schema_of_data.field(field.name).type
        if any(part.is_blob or is_blob_v2(part) for part in field.walk()):
            raise UnsupportedFeatureError(f"the blobs of column {field.name!r} cannot be updated")
        if type_ != field.arrow_type:
            raise SchemaMismatchError(
                f"column {field.name!r} is of type {field.arrow_type}, but the data has {type_}"
            )
    return schema


def _updated(
    batches: Iterable[pa.RecordBatch], other: RightRows, positions: pa.Array
) -> Iterator[pa.RecordBatch]:
    """``batches`` with the values of ``other`` at ``positions`` that are not null."""
    start = 0
    for batch in batches:
        matches = positions.slice(start, batch.num_rows)
        start += batch.num_rows
        matched = np.asarray(matches.is_valid())
        new = take_rows(other.columns.select(batch.schema.names), matches.drop_null())
        source = np.arange(batch.num_rows)
        source[matched] = batch.num_rows + np.arange(new.num_rows)
        columns = [
            pa.chunked_array([old, *values.chunks])
            for old, values in zip(batch.columns, new.columns, strict=True)
        ]
        both = pa.Table.from_arrays(columns, schema=batch.schema)
        yield from nullable_batches(take_rows(both, from_numpy(source)))
