"""Scans: windows of rows are read in order, filtered early and materialised late.

What a window is, and how it is read, is in `lance_core.dataset.read.scan_window`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from lance_core.concurrency.pools import in_order, num_threads
from lance_core.dataset.expressions.zero_column_tables import concatenated, sliced
from lance_core.dataset.read.batches import BatchSizes, ScannedRows, in_batches
from lance_core.dataset.read.blob_windows import SIZED_ROWS, cut_by_size, described_blobs
from lance_core.dataset.read.late_materialization import WindowResult, completed
from lance_core.dataset.read.live_rows import count_live, offsets_of
from lance_core.dataset.read.plan import ScanPlan, Span
from lance_core.dataset.read.prefetch import windows_ahead
from lance_core.dataset.read.projection import required
from lance_core.dataset.read.pruning import rows_left
from lance_core.dataset.read.scan_window import Window
from lance_core.dataset.read.window_sizing import (
    STREAM_WINDOW_BYTES,
    TABLE_WINDOW_ROWS,
    WindowSizer,
    count_sizer,
    fixed_bytes,
    late_pace,
    probable_bytes,
    stream_sizer,
)
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.encodings.decoding import RowRange
from lance_core.schema import Field
from lance_core.table.fragments.deletion import RowOffsets
from lance_core.table.fragments.fragment import Fragment

SEARCH_WINDOW_ROWS = 1 << 16
FILTER_WINDOW_ROWS = 1 << 18
WINDOW_BYTES = 4 << 20
WINDOWS_PER_THREAD = 4
LATE_ROWS = 1 << 15
LARGE_RESULT = 64 << 20


def scan_table(snapshot: Snapshot, plan: ScanPlan) -> pa.Table:
    """The whole result at once."""
    rows = SEARCH_WINDOW_ROWS if plan.filter and plan.limit is not None else _table_rows(plan)
    late = _wanted(plan, LATE_ROWS)
    found = _found(snapshot, plan, WindowSizer(rows, rows), WindowSizer(late, late))
    tables = [table for table, _ in found if table.num_rows]
    return concatenated(tables, plan.projection.schema)


def scan_batches(snapshot: Snapshot, plan: ScanPlan) -> Iterator[pa.RecordBatch]:
    """The result as a stream of batches; unless they are `exact`, none spans two fragments."""
    sizer = stream_sizer(_read_fields(plan), plan.batch_size)
    late = late_pace(plan.projection.fields, _wanted(plan, plan.batch_size))
    found = _found(snapshot, plan, sizer, late, is_stream=True)
    sizes = BatchSizes(plan.batch_size, plan.exact, STREAM_WINDOW_BYTES // 2)
    return in_batches(found, plan.projection.schema, sizes)


def count(snapshot: Snapshot, plan: ScanPlan) -> int:
    """How many rows the scan returns."""
    plan = _narrowed(snapshot, plan)
    sizer = count_sizer(_tested_fields(plan), plan.batch_size)
    window = Window(snapshot, plan, sizer)
    windows, ahead = sizer.windows(plan.spans), windows_ahead(snapshot)
    counts = in_order(window.count, windows, ahead, is_io_bound=snapshot.is_io_bound)
    total = sum(counts) - plan.offset
    return max(0, total if plan.limit is None else min(total, plan.limit))


def matching(snapshot: Snapshot, plan: ScanPlan) -> Iterator[tuple[Fragment, RowOffsets]]:
    """Physical offsets of the live rows that pass the filter, ascending, window by window.

    Only the filter's columns are read; projection, limit and offset do not count.
    """
    sizer = count_sizer(_tested_fields(plan), plan.batch_size)
    window = Window(snapshot, plan, sizer)
    windows, ahead = sizer.windows(plan.spans), windows_ahead(snapshot)
    return in_order(window.matching, windows, ahead, is_io_bound=snapshot.is_io_bound)


def _wanted(plan: ScanPlan, rows: int) -> int:
    """``rows``, or fewer if that is what the result ends after."""
    return rows if plan.limit is None else min(rows, plan.offset + plan.limit)


def _num_rows(plan: ScanPlan) -> int:
    """Physical rows that the scan goes over."""
    return sum(span.stop - span.start for span in plan.spans)


def _stored(plan: ScanPlan) -> int:
    """Bytes of the files that the rows of the scan are in."""
    return sum(
        file.file_size_bytes or 0
        for fragment in {span.fragment.id: span.fragment for span in plan.spans}.values()
        for file in fragment.files
    )


def _table_rows(plan: ScanPlan) -> int:
    """Rows of a window of a whole result: some for each thread, if there is enough to be done.

    Under a filter that is to look at rows, else to decode the bytes of the fields.
    """
    rows = _num_rows(plan)
    is_plain = plan.filter is None
    enough = _projected(plan) // WINDOW_BYTES if is_plain else rows // FILTER_WINDOW_ROWS
    windows = max(1, min(WINDOWS_PER_THREAD * num_threads(), enough))
    return max(1, min(TABLE_WINDOW_ROWS, -(-rows // windows)))


def _projected(plan: ScanPlan) -> int:
    """How many of the stored bytes are probably those of the projection.

    As large a part as it has of all fields, but no more than its fields take if their rows are of
    one width, and than other fields leave if not.
    """
    fields, among = plan.projection.fields, plan.schema.fields
    rows, stored = _num_rows(plan), _stored(plan)
    most = rows * probable_bytes(fields)
    if fixed_bytes(fields) is None:
        most = max(most, stored - rows * probable_bytes(among, others=0))
    return min(most, stored * len(fields) // max(1, len(among)))


def _is_large(plan: ScanPlan) -> bool:
    """Whether the whole result probably takes so much memory that no more should be added to it."""
    if plan.filter is not None:
        return False
    return _num_rows(plan) * probable_bytes(plan.projection.fields) >= LARGE_RESULT


def _tested_fields(plan: ScanPlan) -> tuple[Field, ...]:
    """What the filter looks at."""
    return () if plan.filter is None else required(plan.schema, plan.filter.columns)[0]


def _read_fields(plan: ScanPlan) -> tuple[Field, ...]:
    """What is read, some of it perhaps twice."""
    return plan.projection.fields + _tested_fields(plan)


def _found(
    snapshot: Snapshot,
    plan: ScanPlan,
    sizer: WindowSizer,
    late: WindowSizer,
    *,
    is_stream: bool = False,
) -> Iterator[ScannedRows]:
    """The result window by window, cut to offset and limit.

    For a stream, whose reader may keep nothing of it, and for a large result less is held in memory
    beside it, at some cost; not where what was read ahead is held, too.
    """
    plan = _narrowed(snapshot, plan)
    spares = is_stream or (not snapshot.is_io_bound and _is_large(plan))
    window = Window(snapshot, plan, sizer, spares=spares)
    skip, left = plan.offset, plan.limit
    if left == 0:
        return
    ends = {(span.fragment.id, span.stop) for span in plan.spans}

    def read(span: Span) -> WindowResult:
        return WindowResult(window.read(span), (span.fragment.id, span.stop) in ends)

    may_end = plan.filter is not None and plan.limit is not None
    ahead = windows_ahead(snapshot, is_stream=is_stream, may_end=may_end)
    windows = _read_windows(snapshot, plan, sizer)
    parts = in_order(read, windows, ahead, is_io_bound=snapshot.is_io_bound)
    for table, is_last in completed(parts, window, late):
        part = sliced(table, skip, left)
        skip = max(0, skip - table.num_rows)
        if left is not None:
            left -= part.num_rows
        if part.num_rows or is_last:
            yield ScannedRows(part, is_last)
        if left == 0:
            return


def _read_windows(snapshot: Snapshot, plan: ScanPlan, sizer: WindowSizer) -> Iterator[Span]:
    """The windows to read; of fewer rows where the result has the bytes of blobs."""
    described = described_blobs(snapshot, _read_fields(plan))
    if not described:
        return sizer.windows(plan.spans)
    sized = WindowSizer(SIZED_ROWS, SIZED_ROWS).windows(plan.spans)
    return cut_by_size(snapshot, sized, described, STREAM_WINDOW_BYTES)


def skipped_runs(snapshot: Snapshot, plan: ScanPlan) -> tuple[int, int]:
    """Of how many runs of rows there are statistics, and how many of them show to have no rows."""
    if plan.filter is None or not plan.use_statistics:
        return 0, 0
    found = [rows_left(snapshot, s.fragment, plan.filter, s.start, s.stop) for s in plan.spans]
    return sum(one.num_runs for one in found), sum(one.num_skipped for one in found)


def _narrowed(snapshot: Snapshot, plan: ScanPlan) -> ScanPlan:
    """Without a filter it is known where offset and limit fall: leave out the other rows."""
    if plan.filter is not None or (plan.limit is None and not plan.offset):
        return plan
    skip, left = plan.offset, plan.limit
    spans = []
    for span in plan.spans:
        rows = count_live(snapshot, span.fragment, RowRange(span.start, span.stop))
        if skip >= rows:
            skip -= rows
            continue
        if left == 0:
            break
        stop = rows if left is None else min(rows, skip + left)
        spans.append(_cut(snapshot, span, skip, stop))
        left = None if left is None else left - (stop - skip)
        skip = 0
    return replace(plan, spans=tuple(spans), offset=0)


def _cut(snapshot: Snapshot, span: Span, first: int, stop: int) -> Span:
    """The part of ``span`` from its live row ``first`` to before its live row ``stop``."""
    before = count_live(snapshot, span.fragment, RowRange(0, span.start))
    ends = np.array([before + first, before + stop - 1])
    start, last = offsets_of(snapshot, span.fragment, ends).tolist()
    return Span(span.fragment, start, last + 1)
