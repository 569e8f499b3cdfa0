"""Write values of columns for the rows of existing fragments, as one new data file each.

A data file has a value for each physical row of its fragment. Values are computed for live rows
only; a deleted row gets the value of a live row near it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

import numpy as np
import pyarrow as pa

from lance_core.concurrency.pools import IO_THREADS, in_order, num_threads
from lance_core.datafile.file_output import FileOptions
from lance_core.dataset.read.columns.projection import Projection, stored_field_output
from lance_core.dataset.read.columns.widths import fixed_bytes
from lance_core.dataset.read.fragments.live_rows import offsets_of
from lance_core.dataset.read.fragments.span import Span
from lance_core.dataset.read.plan import ScanPlan
from lance_core.dataset.read.scan import scan_table
from lance_core.dataset.read.scan_options import ScanOptions, plan_scan
from lance_core.dataset.read.windows.window_sizing import WindowBytes, WindowSizer
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.values.progress_bar import progress_bar
from lance_core.dataset.write.discard_on_failure import NewFiles
from lance_core.dataset.write.fragment_writer import (
    NO_LIMIT,
    BlobOptions,
    WriteOptions,
    write_fragments,
)
from lance_core.encodings.arrow.combine_chunks import fitting_batches
from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.errors import SchemaMismatchError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass, replace
from lance_core.schema import Schema, check_storable
from lance_core.table.fragments.data_file import TOMBSTONE, DataFile
from lance_core.table.fragments.fragment import Fragment

Batches = Iterable[pa.RecordBatch]

BATCH_ROWS = 1 << 16
"""Maximum rows of a batch of computed columns: large enough to make the cost of a batch small."""

BATCH_BYTES = 8 << 20
FIRST_ROWS = 1 << 13
MAX_ROWS = 1 << 18
"""Bytes of a batch of new values, its rows if their width is unknown, and its maximum rows."""


def plan_of_fragments(plan: ScanPlan, snapshot: Snapshot, *fragments: Fragment) -> ScanPlan:
    """``plan`` for the rows of these fragments."""
    spans = (Span(fragment, 0, snapshot.physical_rows(fragment)) for fragment in fragments)
    return plan.of_spans(tuple(spans))


def read_fields(snapshot: Snapshot, fields: Schema, batch_size: int = BATCH_ROWS) -> ScanPlan:
    """The plan that reads ``fields``, which may be pruned structs."""
    outputs = [stored_field_output(field, (field.name,)) for field in fields.fields]
    plan = plan_scan(snapshot, ScanOptions(columns=[], batch_size=batch_size))
    return replace(plan, projection=Projection.of(fields, outputs), schema=fields)


@dataclass(frozen=True, slots=True)
class ColumnFiles:
    """A writer of data files with the fields ``schema`` for fragments of ``snapshot``.

    ``after``: the table's schema after the change. Files are added to ``files``.
    """

    snapshot: Snapshot
    files: NewFiles
    schema: Schema
    after: Schema

    def check(self) -> None:
        """Raise `UnsupportedFeatureError` if files of the table's version cannot store the fields.

        Also raises `InvalidInputError` for a reserved name.
        """
        version = self.snapshot.storage_version
        check_storable(self.schema, version.value)
        if version.has_table_dictionaries:
            for field in self.schema.walk():
                if field.logical_type.startswith("dict:"):
                    raise UnsupportedFeatureError(
                        f"column {field.name!r}: a dictionary column cannot be added to a table of "
                        f"file version {version}"
                    )

    def write_all(
        self, fragments: Iterable[Fragment], values: Callable[[Fragment], Batches]
    ) -> list[Fragment]:
        """``fragments`` with a new file each, written in parallel.

        ``values`` returns the rows of a fragment in order, without deleted ones; threads call it.
        """
        failed: list[BaseException] = []

        def write(fragment: Fragment) -> Fragment | None:
            if failed:
                return None
            try:
                return self.write(fragment, _until(failed, values(fragment)))
            except BaseException as error:  # raised again after all threads have finished
                failed.append(error)
                return None

        is_io_bound = self.snapshot.is_io_bound
        ahead = IO_THREADS if is_io_bound else num_threads()
        written = []
        with progress_bar("write columns") as advance:
            for fragment in in_order(write, fragments, ahead, is_io_bound=is_io_bound):
                if fragment is not None:
                    written.append(fragment)
                    advance(self.snapshot.physical_rows(fragment))
        if failed:
            raise failed[0]
        return written

    def write(self, fragment: Fragment, values: Batches) -> Fragment:
        """``fragment`` with a new file with ``values`` for its live rows.

        Raises `SchemaMismatchError` for another number of rows.
        """
        if not self.schema.fields:
            return self.with_new(fragment, ())
        rows = self._for_all_rows(fragment, values)
        made = write_fragments(self.snapshot.root, rows, self.schema, self._options(fragment))
        self.files.data += made
        return self.with_new(fragment, [file for part in made for file in part.files])

    def _options(self, fragment: Fragment) -> WriteOptions:
        snapshot = self.snapshot
        files = FileOptions(snapshot.storage_version)
        if files.version.has_batches:
            # Readers read the same batch from all files of a fragment.
            rows = snapshot.reader(fragment.files[0]).rows_per_group
            files = replace(files, max_rows_per_group=rows or files.max_rows_per_group)
        blobs = BlobOptions.of_moved_rows(snapshot.manifest.base_paths)
        return WriteOptions(files, NO_LIMIT, NO_LIMIT, blobs=blobs)

    def with_new(self, fragment: Fragment, new: Sequence[DataFile]) -> Fragment:
        """``fragment`` with the files ``new``; see `with_files`."""
        rows = self.snapshot.physical_rows(fragment)
        return with_files(replace(fragment, physical_rows=rows), new, self.after)

    def _for_all_rows(self, fragment: Fragment, values: Batches) -> Iterator[pa.RecordBatch]:
        """``values`` with rows for deleted rows."""
        total = self.snapshot.live_rows(fragment)
        has_deleted = total < self.snapshot.physical_rows(fragment)
        first = 0
        for batch in values:
            last = first + batch.num_rows
            if last > total:
                break
            if batch.num_rows:
                yield self._spread(fragment, batch, first) if has_deleted else batch
            first = last
        else:
            last = first
        if last != total:
            raise SchemaMismatchError(
                f"fragment {fragment.id} has {total} rows, but there are "
                f"{'more' if last > total else last} rows with values for it"
            )

    def _spread(self, fragment: Fragment, batch: pa.RecordBatch, first: int) -> pa.RecordBatch:
        """``batch``, the live rows from number ``first`` on, with rows for the deleted ones.

        These are the deleted rows after each of its rows, and those before row 0.
        """
        snapshot, last = self.snapshot, first + batch.num_rows
        start, stop = 0, snapshot.physical_rows(fragment)
        if first > 0:
            (start,) = offsets_of(snapshot, fragment, np.array([first])).tolist()
        if last < snapshot.live_rows(fragment):
            (stop,) = offsets_of(snapshot, fragment, np.array([last])).tolist()
        if stop - start == batch.num_rows:
            return batch
        deleted = snapshot.deleted_offsets(fragment)
        assert deleted is not None
        low, high = np.searchsorted(deleted, [start, stop])
        is_live = np.ones(stop - start, np.int64)
        is_live[deleted[low:high].astype(np.int64) - start] = 0
        numbers = np.maximum(np.cumsum(is_live) - 1, 0)
        return batch.take(from_numpy(numbers))


def with_files(fragment: Fragment, new: Sequence[DataFile], schema: Schema) -> Fragment:
    """``fragment`` with the files ``new``, whose fields become `TOMBSTONE` in its other files.

    Files without any field of ``schema`` are removed.
    """
    replaced = frozenset(field for file in new for field in file.fields)
    known = frozenset(schema.field_ids)
    remaining = []
    for file in fragment.files:
        fields = tuple(TOMBSTONE if field in replaced else field for field in file.fields)
        if not known.isdisjoint(fields):
            remaining.append(file if fields == file.fields else replace(file, fields=fields))
    return replace(fragment, files=(*remaining, *new))


def scan_fragment(snapshot: Snapshot, plan: ScanPlan) -> Callable[[Fragment], Batches]:
    """A function that returns the result of ``plan`` for one fragment.

    Batches have about `BATCH_BYTES`: larger ones than those of a stream take less time for each
    row.
    """

    def read(span: Span) -> list[pa.RecordBatch]:
        table = scan_table(snapshot, plan.of_spans((span,)))
        sizer.observe_data(span.stop - span.start, table)
        return list(fitting_batches(table, table.schema))

    width = fixed_bytes(plan.projection.fields)
    first = FIRST_ROWS if width is None else BATCH_BYTES // width
    sizer = WindowSizer(first, MAX_ROWS, 1, WindowBytes(BATCH_BYTES, BATCH_BYTES))

    def batches(fragment: Fragment) -> Batches:
        spans = sizer.windows(plan_of_fragments(plan, snapshot, fragment).spans)
        parts = in_order(read, spans, num_threads(), is_io_bound=snapshot.is_io_bound)
        return chain.from_iterable(parts)

    return batches


def _until(failed: Sequence[BaseException], batches: Batches) -> Iterator[pa.RecordBatch]:
    """``batches``; raises the first of ``failed`` once there is one."""
    for batch in batches:
        if failed:
            raise failed[0]
        yield batch


def nullable_batches(rows: pa.Table) -> Iterator[pa.RecordBatch]:
    """``rows`` in few batches whose columns may have nulls, also those that are not nullable."""
    schema = pa.schema([field.with_nullable(True) for field in rows.schema])
    return fitting_batches(rows, schema)
