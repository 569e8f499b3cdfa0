"""New files with the source's columns for the fragments that a merge updates.

This is the write mode ``rewrite_columns``: each updated fragment gets a file with the columns that
the source has besides the keys, with a value for each row. No row moves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from lance_core.dataset.read.columns.projection import ROW_ADDRESS
from lance_core.dataset.read.scan import scan_batches
from lance_core.dataset.read.scan_options import ScanOptions, plan_scan
from lance_core.dataset.write.discard_on_failure import NewFiles
from lance_core.dataset.write.merge_insert.decide import Decision
from lance_core.dataset.write.merge_insert.join import Join
from lance_core.dataset.write.merge_insert.new_values import merged_values
from lance_core.dataset.write.merge_insert.plan import Matched, MergePlan
from lance_core.dataset.write.merge_insert.target import by_fragment
from lance_core.dataset.write.schema_evolution.column_files import (
    BATCH_ROWS,
    ColumnFiles,
    plan_of_fragments,
)
from lance_core.encodings.arrow.combine_chunks import combine_chunks, fitting_parts
from lance_core.encodings.arrow.numpy_values import from_numpy, to_numpy
from lance_core.encodings.arrow.take import take_rows
from lance_core.encodings.kernels.numpy.integer_index import Int64Array
from lance_core.errors import MergeError
from lance_core.lazy_dataclass import replace
from lance_core.schema import Schema, is_blob_v2
from lance_core.schema.align import to_storage
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.indices.index_metadata import encode_fragment_ids
from lance_core.table.transactions.operations import Update
from lance_core.table.transactions.operations.update import UpdateMode


def check_can_rewrite_columns(plan: MergePlan, present: Schema, missing: Schema) -> None:
    """Raise `MergeError` with the reasons if a merge cannot be written as columns.

    ``present`` and ``missing``: the fields of the table that the source has, and the others.
    """
    names = [name for name in present.names if name not in plan.on]
    is_blob = any(part.is_blob or is_blob_v2(part) for part in present.walk())
    reasons = {
        "the source has every column of the table": not missing.fields,
        "inserting rows adds rows": plan.inserts,
        "deleting rows that the source does not have removes rows": plan.deletes_unmatched,
        "deleting matched rows removes rows": plan.matched is Matched.DELETE,
        "it updates no rows": not plan.updates,
        "the source has no column besides the keys": not names,
        "the source has a blob column": is_blob,
    }
    problems = "; ".join(reason for reason, holds in reasons.items() if holds)
    if problems:
        raise MergeError(
            f"write mode 'rewrite_columns' cannot express this merge insert: {problems}. "
            "Use 'auto' or 'rewrite_rows' instead"
        )


class NewColumns:
    """The new values of the columns of a merge, for each fragment that it updates."""

    def __init__(self, join: Join, files: NewFiles, decisions: Sequence[Decision]) -> None:
        self._snapshot, self._source = join.snapshot, join.source
        names = [name for name in join.source.schema.names if name not in join.plan.on]
        whole = {field.name: field for field in join.snapshot.schema.fields}
        self._fields = tuple(whole[name] for name in names)
        schema = replace(join.snapshot.schema, fields=self._fields)
        self._files = ColumnFiles(join.snapshot, files, schema, join.snapshot.schema)
        self._scan = plan_scan(
            join.snapshot,
            ScanOptions(columns=names, batch_size=BATCH_ROWS, with_row_address=True),
        )
        addresses = np.concatenate([decision.updates for decision in decisions])
        order = np.argsort(addresses)
        self._addresses = addresses[order]
        self._rows = np.concatenate([decision.update_rows for decision in decisions])[order]
        sizes = [len(decision.updates) for decision in decisions]
        self._parts = np.repeat(np.arange(len(decisions)), sizes)[order]

    def write(self) -> Update:
        """Write the files, and return the operation."""
        snapshot, rows = self._snapshot, by_fragment(self._addresses)
        fragments = snapshot.fragments(list(rows))
        written = self._files.write_all(fragments, self._values)
        offsets = {}
        if snapshot.manifest.uses_stable_row_ids:
            offsets = {
                id_: encode_fragment_ids(BitMap(offsets_of_fragment))
                for id_, offsets_of_fragment in rows.items()
            }
        return Update(
            (),
            written,
            (),
            fields_modified=tuple(part.id for field in self._fields for part in field.walk()),
            update_mode=UpdateMode.REWRITE_COLUMNS,
            updated_fragment_offsets=offsets,
        )

    def _values(self, fragment: Fragment) -> Iterator[pa.RecordBatch]:
        """The values for the live rows of ``fragment``."""
        scan = plan_of_fragments(self._scan, self._snapshot, fragment)
        for batch in scan_batches(self._snapshot, scan):
            # New values may be much larger than the old ones.
            yield from fitting_parts(pa.Table.from_batches([batch]), self._updated)

    def _updated(self, old_rows: pa.Table) -> pa.RecordBatch:
        (batch,) = old_rows.to_batches()  # scans return no empty batches
        rows = to_numpy(batch.column(ROW_ADDRESS))
        first = int(np.searchsorted(self._addresses, rows[0]))
        stop = int(np.searchsorted(self._addresses, rows[-1], side="right"))
        updated = np.searchsorted(rows, self._addresses[first:stop])
        chosen = self._new_rows(self._parts[first:stop], self._rows[first:stop])
        source = np.arange(len(rows))
        source[updated] = len(rows) + np.arange(stop - first)
        columns = []
        for field in self._fields:
            old = to_storage(batch.column(field.name), field)
            if stop > first:
                new = combine_chunks(chosen.column(field.name))
                merged = merged_values(field, new, take_rows(old, from_numpy(updated)))
                old = take_rows(_joined(old, merged), from_numpy(source))
            columns.append(old)
        return pa.RecordBatch.from_arrays(columns, names=[field.name for field in self._fields])

    def _new_rows(self, parts: Int64Array, rows: Int64Array) -> pa.Table:
        """The source rows with the numbers ``rows`` in ``parts``."""
        names = [field.name for field in self._fields]
        order = np.argsort(parts, kind="stable")
        tables = [self._source.part(0).select(names).slice(0, 0)]
        for number in np.unique(parts).tolist():
            table = self._source.part(number).select(names)
            tables.append(take_rows(table, from_numpy(rows[order][parts[order] == number])))
        positions = np.empty(len(order), np.int64)
        positions[order] = np.arange(len(order))
        return take_rows(pa.concat_tables(tables), from_numpy(positions))


def _joined(old: pa.Array, new: pa.Array) -> pa.Array:
    return combine_chunks(pa.chunked_array([old, new]))
