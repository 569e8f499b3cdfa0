"""`LanceDataset.merge`: add the columns of other data by a left join; the same for a fragment."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from lance_core.commits.environment import SYSTEM, Environment
from lance_core.commits.options import CommitOptions
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.write.commit_change import new_transaction
from lance_core.dataset.write.discard_on_failure import NewFiles, discard_on_failure
from lance_core.dataset.write.schema_evolution.add_columns import AddedColumns
from lance_core.dataset.write.schema_evolution.column_files import (
    BATCH_ROWS,
    Batches,
    nullable_batches,
)
from lance_core.dataset.write.schema_evolution.join import LeftKeys, RightRows
from lance_core.encodings.arrow.take import take_rows
from lance_core.errors import SchemaMismatchError
from lance_core.file_version import FileVersion, NullableTypes
from lance_core.schema.evolution import ExtendedSchema
from lance_core.schema.extension import storage_of
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.manifest.feature_flags import check_writable
from lance_core.table.transactions.operations import Merge


def merge(
    snapshot: Snapshot,
    reader: pa.RecordBatchReader,
    left_on: str,
    right_on: str,
    environment: Environment = SYSTEM,
) -> Snapshot:
    """Commit the columns of ``reader`` as new columns; see `LanceDataset.merge`."""
    check_writable(snapshot.manifest.flags)
    age = environment.stopwatch()
    snapshot.root.check_can_commit()
    with discard_on_failure(snapshot.root) as files:
        joining = _Joining(snapshot, files, reader, left_on, right_on)
        operation = Merge(joining.all(), joining.added.schema, joining.preserves_nullability)
        transaction = new_transaction(snapshot, operation, environment)
        return files.commit(snapshot, transaction, CommitOptions(age_of_files=age))


def merge_fragment(
    snapshot: Snapshot,
    fragment: Fragment,
    reader: pa.RecordBatchReader,
    left_on: str,
    right_on: str,
) -> tuple[Fragment, ExtendedSchema]:
    """Like `merge` for one fragment: the fragment and the schema to commit."""
    check_writable(snapshot.manifest.flags)
    with discard_on_failure(snapshot.root) as files:
        joining = _Joining(snapshot, files, reader, left_on, right_on)
        (written,) = joining.group([fragment])
        return written, joining.added


class _Joining(AddedColumns):
    """The new columns of a join."""

    def __init__(
        self,
        snapshot: Snapshot,
        files: NewFiles,
        reader: pa.RecordBatchReader,
        left_on: str,
        right_on: str,
    ) -> None:
        other = RightRows.of(reader, right_on)
        self._keys = LeftKeys.of(snapshot, left_on, other)
        for name in other.columns.column_names:
            if name in snapshot.schema.names:
                raise SchemaMismatchError(f"Column {name} exists in both sides of the dataset")
        super().__init__(snapshot, files, other.columns.schema)
        self._other = other

    def all(self) -> list[Fragment]:
        """All fragments with a new file each."""
        return [fragment for group in self._keys.groups() for fragment in self.group(group)]

    def group(self, fragments: Sequence[Fragment]) -> list[Fragment]:
        """``fragments`` with a new file each."""
        positions = self._keys.positions(fragments)
        return self._files.write_all(fragments, lambda fragment: self._rows(positions[fragment.id]))

    def _rows(self, positions: pa.Array) -> Batches:
        for start in range(0, len(positions), BATCH_ROWS):
            rows = take_rows(self._other.columns, positions.slice(start, BATCH_ROWS))
            _check_nulls(rows, self._snapshot.storage_version)
            # Nulls of rows without a match are checked when the file is written.
            yield from nullable_batches(rows)


def _check_nulls(rows: pa.Table, version: FileVersion) -> None:
    """Raise `SchemaMismatchError` for a null that files of ``version`` cannot store."""
    nullable = version.stores.nulls
    if nullable is NullableTypes.ALL:
        return
    for field, column in zip(rows.schema, rows.columns, strict=True):
        arrow = storage_of(field.type)
        if nullable is NullableTypes.TEXTS:
            stores_nulls = any(test(arrow) for test in _TEXTS)
        else:
            stores_nulls = not pa.types.is_struct(arrow)
        if column.null_count and not stores_nulls:
            raise SchemaMismatchError(
                f"column {field.name!r} of type {field.type} has nulls, which files of version "
                f"{version.value} cannot store"
            )


_TEXTS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary)
