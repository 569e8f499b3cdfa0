"""Read the columns of a step for rows: only these, or all around them if that is faster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core.dataset.read.columns.projection import ROW_ADDRESS, ROW_ID
from lance_core.dataset.read.columns.widths import fixed_bytes, probable_bytes
from lance_core.dataset.read.fragments.blob_sizes import described_blobs
from lance_core.dataset.read.fragments.run_reader import deleted_offsets, read_rows
from lance_core.dataset.read.scan_tuning import tuning
from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.encodings.arrow.take import take_rows
from lance_core.encodings.decoding import RowIndices, RowRange, Rows
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from lance_core.dataset.read.fragments.span import FragmentOrRun
    from lance_core.dataset.read.steps.column_steps import StepColumns
    from lance_core.dataset.snapshot.snapshot import Snapshot
    from lance_core.schema import Field


@dataclass(frozen=True, slots=True, eq=False)
class ColumnReader:
    """Reads the columns of one step.

    ``snapshot``: reads ahead and counts for this step. ``includes_deleted``: True if the rows
    include deleted ones, which get null as row id and row address.
    """

    snapshot: Snapshot
    includes_deleted: bool = False

    def read(self, source: FragmentOrRun, columns: StepColumns, rows: Rows) -> pa.Table:
        """The columns for ``rows``."""
        fields, meta = columns.fields, columns.meta
        dense = self._dense_fields(source, columns, rows) if isinstance(rows, RowIndices) else ()
        if not dense or not isinstance(rows, RowIndices):
            return self._stored(source, fields, meta, rows)
        is_sparse = {field.id for field in fields}.difference(field.id for field in dense)
        sparse = tuple(field for field in fields if field.id in is_sparse)
        first, stop = rows.first, rows.last + 1
        # Without requests to combine, few fields at a time take least memory.
        groups = [dense] if self.snapshot.is_io_bound else _groups(dense, stop - first)
        selected = from_numpy(rows.values - first)
        parts = [self._stored(source, sparse, meta, rows)] if sparse or meta else []
        for group in groups:
            whole = self._stored(source, group, (), RowRange(first, stop))
            # For one column Arrow's take is several times faster than its filter.
            parts.append(take_rows(whole, selected))
        return side_by_side(parts)

    def _dense_fields(
        self, source: FragmentOrRun, columns: StepColumns, rows: RowIndices
    ) -> tuple[Field, ...]:
        """The fields that are decoded for all rows around ``rows``."""
        fields = columns.fields
        if not fields or columns.is_dense is False:
            return ()
        if columns.is_dense is None:
            share = (rows.last + 1 - rows.first) / len(rows)
            fields = tuple(f for f in fields if share <= _dense(self.snapshot, source, f))
        return () if described_blobs(self.snapshot, fields) else fields

    def _stored(
        self,
        source: FragmentOrRun,
        fields: tuple[Field, ...],
        meta: tuple[str, ...],
        rows: Rows,
    ) -> pa.Table:
        """The fields as stored, and the meta columns; null for the ids of deleted rows."""
        data = read_rows(self.snapshot, source, fields, meta, rows)
        deleted = deleted_offsets(self.snapshot, source) if self.includes_deleted else None
        if deleted is None:
            return data
        is_deleted = np.isin(rows.numbers, deleted)
        for name in {ROW_ID, ROW_ADDRESS}.intersection(meta):
            position = data.schema.get_field_index(name)
            ids = np.asarray(data.column(position))
            data = data.set_column(position, name, pa.array(ids, mask=is_deleted))
        return data


def _dense(snapshot: Snapshot, source: FragmentOrRun, field: Field) -> float:
    """The rows of which one must be selected so that decoding all is faster for ``field``."""
    limits = tuning().columns
    files = source.files
    if not files or snapshot.is_io_bound or field.children:
        return limits.dense
    version = files[0].version_facts
    if version.has_batches:
        return limits.dense
    if fixed_bytes((field,)) is None:
        return limits.dense if version.has_values_in_place else limits.dense_texts
    if pa.types.is_fixed_size_list(field.storage_type):
        return limits.dense
    return 0 if version.has_values_in_place else limits.dense_numbers


def _groups(fields: tuple[Field, ...], num_rows: int) -> Iterator[tuple[Field, ...]]:
    """``fields`` in groups whose ``num_rows`` rows take about `group_bytes`, or of one field."""
    max_bytes = tuning().columns.group_bytes
    group: list[Field] = []
    size = 0
    for field in fields:
        size += num_rows * probable_bytes((field,))
        if group and size > max_bytes:
            yield tuple(group)
            group, size = [], num_rows * probable_bytes((field,))
        group.append(field)
    if group:
        yield tuple(group)


def side_by_side(tables: Sequence[pa.Table]) -> pa.Table:
    """The columns of all ``tables``, which have the same rows; the last of each name counts."""
    columns: dict[str, tuple[pa.Field, pa.ChunkedArray]] = {}
    for table in tables:
        for field, column in zip(table.schema, table.columns, strict=True):
            columns.pop(field.name, None)
            columns[field.name] = field, column
    schema = pa.schema([field for field, _ in columns.values()])
    return pa.Table.from_arrays([column for _, column in columns.values()], schema=schema)
