"""One window of a scan: a run of physical rows of one fragment, filtered early, materialised late.

With a filter, only the filter's columns are read for all rows of a window; the other columns are
read for the rows that satisfy the filter.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.dataset.read.blob_windows import described_blobs
from lance_core.dataset.read.fragment_reader import read_rows
from lance_core.dataset.read.live_rows import live, within
from lance_core.dataset.read.prefetch import reading_ahead
from lance_core.dataset.read.projection import required
from lance_core.dataset.read.pruning import rows_left
from lance_core.encodings.arrow.memory_pool import low_retention_pool, release_unused
from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.encodings.arrow.take import filter_rows
from lance_core.encodings.decoding import RowIndices, RowRange, Rows, packed_rows
from lance_core.schema.empty_arrays import empty_table

if TYPE_CHECKING:
    from lance_core.dataset.read.plan import ScanPlan, Span
    from lance_core.dataset.read.window_sizing import WindowSizer
    from lance_core.dataset.snapshot.snapshot import Snapshot
    from lance_core.encodings.decoding import Int64Array
    from lance_core.schema import Field
    from lance_core.table.fragments.deletion import RowOffsets
    from lance_core.table.fragments.fragment import Fragment

DENSE = 4
"""If at least one row in `DENSE` is selected, decoding all rows and filtering is faster."""

SPARSE = 96
"""If at most one row in `SPARSE` satisfies the filter, one read may get the other columns for
several windows: the fixed cost of a read then exceeds the cost of its rows."""


class PendingRows(NamedTuple):
    """Ascending physical rows of a fragment that satisfy the filter.

    ``tested`` contains the filter's columns for these rows; the other columns are not read yet.
    """

    fragment: Fragment
    offsets: Int64Array
    tested: pa.Table


class Window:
    """The reader of all windows of a scan, shared by its threads.

    ``low_retention``: True returns unused memory to the system after each window, which costs time.
    ``nothing``: an empty table with the schema of the result.
    """

    def __init__(
        self, snapshot: Snapshot, plan: ScanPlan, sizer: WindowSizer, *, low_retention: bool = False
    ) -> None:
        self._snapshot = self._chosen_snapshot = snapshot
        if plan.filter is None or plan.limit is None:
            self._snapshot, self._chosen_snapshot = reading_ahead(snapshot, plan.spans)
        self._sizer = sizer
        self._low_retention = low_retention
        self._projection = projection = plan.projection
        self._filter = plan.filter
        self._use_statistics = plan.use_statistics
        self.nothing = empty_table(projection.schema)
        if plan.filter is not None:
            self._tested, self._tested_meta = required(plan.schema, plan.filter.columns)
            self._rest = _others(projection.fields, self._tested)
            self._rest_meta = tuple(m for m in projection.meta if m not in self._tested_meta)
            # I/O-bound windows are read concurrently; windows with blobs are sized by their bytes.
            self._is_late = not (snapshot.is_io_bound or described_blobs(snapshot, self._rest))

    def read(self, span: Span) -> pa.Table | PendingRows:
        """The rows of ``span`` that satisfy the filter; perhaps `PendingRows` if they are few."""
        with self._memory():
            return self._read(span)

    def complete(self, chosen: PendingRows) -> pa.Table:
        """The table that `read` would have returned for the rows ``chosen``."""
        rows = packed_rows(chosen.offsets)
        with self._memory():
            data = self._materialised(chosen.fragment, rows, chosen.tested)
            return self._projection.apply(data)

    def count(self, span: Span) -> int:
        """The number of live rows that satisfy the filter; reads only the filter's columns."""
        rows = self._rows(span)
        if self._filter is None or len(rows) == 0:
            return len(rows)
        tested = self._tested_of(span, rows)
        return int(np.count_nonzero(self._filter.mask(tested)))

    def matching(self, span: Span) -> tuple[Fragment, RowOffsets]:
        """The fragment, and the offsets of the span's live rows that satisfy the filter."""
        rows = self._rows(span)
        if self._filter is not None and len(rows):
            tested = self._tested_of(span, rows)
            rows = _subset(rows, np.flatnonzero(self._filter.mask(tested)))
        return span.fragment, _offsets(rows).astype(np.uint32)

    def _read(self, span: Span) -> pa.Table | PendingRows:
        rows = self._rows(span)
        if len(rows) == 0:
            return self.nothing
        projection = self._projection
        if self._filter is None:
            data = self._fetch(span.fragment, projection.fields, projection.meta, rows)
            self._sizer.observe(span.stop - span.start, data.nbytes)
            return projection.apply(data)
        tested = self._tested_of(span, rows)
        mask = self._filter.mask(tested)
        if not mask.any():
            return self.nothing
        number = np.flatnonzero(mask)
        kept = tested if len(number) == len(rows) else filter_rows(tested, from_numpy(mask))
        passed = _subset(rows, number)
        if self._is_late and len(number) * SPARSE <= len(rows):
            return PendingRows(span.fragment, _offsets(passed), kept)
        data = self._materialised(span.fragment, passed, kept)
        self._sizer.observe(span.stop - span.start, tested.nbytes + data.nbytes)
        return projection.apply(data)

    @contextmanager
    def _memory(self) -> Iterator[None]:
        if not self._low_retention:
            yield
            return
        with low_retention_pool():
            yield
        release_unused()

    def _tested_of(self, span: Span, rows: Rows) -> pa.Table:
        """The columns that the filter needs, for ``rows``."""
        tested = self._fetch(span.fragment, self._tested, self._tested_meta, rows)
        self._sizer.observe(span.stop - span.start, tested.nbytes)
        return tested

    def _rows(self, span: Span) -> Rows:
        """The live rows of the span, without rows that statistics exclude."""
        snapshot, fragment = self._snapshot, span.fragment
        if self._filter is None or not self._use_statistics:
            return live(snapshot, fragment, RowRange(span.start, span.stop))
        ranges = rows_left(snapshot, fragment, self._filter, span.start, span.stop).ranges
        if not ranges:
            return RowRange(span.start, span.start)
        hull = RowRange(ranges[0][0], ranges[-1][1])
        rows = live(snapshot, fragment, hull)
        if sum(stop - start for start, stop in ranges) * DENSE >= len(hull):
            return rows
        return within(rows, ranges)

    def _materialised(self, fragment: Fragment, rows: Rows, tested: pa.Table) -> pa.Table:
        """The projection's fields for ``rows``; ``tested`` has the columns read before."""
        data = tested
        if self._rest or self._rest_meta:
            rest = self._fetch(fragment, self._rest, self._rest_meta, rows)
            for name in rest.column_names:
                if name in data.column_names:
                    data = data.drop_columns(name)
                data = data.append_column(rest.schema.field(name), rest.column(name))
        return data

    def _fetch(
        self, fragment: Fragment, fields: tuple[Field, ...], meta: tuple[str, ...], rows: Rows
    ) -> pa.Table:
        """The fields for ``rows``; for dense rows (`DENSE`), decodes all rows and then filters."""
        snapshot = self._snapshot
        if self._filter is not None and isinstance(rows, RowIndices):
            snapshot = self._chosen_snapshot
        if isinstance(rows, RowIndices) and not described_blobs(snapshot, fields):
            first, stop = rows.first, rows.last + 1
            if len(rows) * DENSE >= stop - first:
                whole = read_rows(snapshot, fragment, fields, meta, RowRange(first, stop))
                keep = np.zeros(stop - first, bool)
                keep[rows.values - first] = True
                return filter_rows(whole, from_numpy(keep))
        return read_rows(snapshot, fragment, fields, meta, rows)


def _others(fields: tuple[Field, ...], tested: tuple[Field, ...]) -> tuple[Field, ...]:
    """The fields that ``tested`` does not contain completely."""
    have = {field.id: field for field in tested}
    return tuple(field for field in fields if have.get(field.id) != field)


def _subset(rows: Rows, chosen: npt.NDArray[np.intp]) -> Rows:
    """The rows at positions ``chosen`` of ``rows``."""
    if len(chosen) == len(rows):
        return rows
    if isinstance(rows, RowIndices):
        return RowIndices(rows.values[chosen])
    return RowIndices(chosen + rows.start)


def _offsets(rows: Rows) -> Int64Array:
    if isinstance(rows, RowIndices):
        return rows.values
    return np.arange(rows.start, rows.stop)
