"""Scans: read windows of rows in order, with an early filter and late materialisation.

`lance_core.dataset.read.steps.early` defines a window and reads it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from lance_core.concurrency.pools import in_order, num_threads
from lance_core.dataset.expressions.zero_column_tables import concatenated, sliced
from lance_core.dataset.read.columns.projection import required
from lance_core.dataset.read.columns.widths import fixed_bytes, num_columns, probable_bytes
from lance_core.dataset.read.fragments.blob_sizes import described_blobs
from lance_core.dataset.read.fragments.live_rows import without_deleted
from lance_core.dataset.read.fragments.span import Span
from lance_core.dataset.read.given_rows.take import MANY_ROWS, gather
from lance_core.dataset.read.output.batches import BatchSizes, in_batches
from lance_core.dataset.read.plan import ScanPlan, narrowed
from lance_core.dataset.read.sources.fragment_spans import ends_of, num_rows, stored_bytes
from lance_core.dataset.read.sources.pruning import rows_left
from lance_core.dataset.read.sources.row_positions import FragmentPositions
from lance_core.dataset.read.steps.early import Window
from lance_core.dataset.read.steps.key_search import FindKeys, KeyMatches
from lance_core.dataset.read.steps.late import completed
from lance_core.dataset.read.steps.results import ScannedRows, WindowResult
from lance_core.dataset.read.windows.blob_windows import SIZED_ROWS, cut_by_size
from lance_core.dataset.read.windows.bounded_windows import BoundedWork
from lance_core.dataset.read.windows.join_fragments import in_runs
from lance_core.dataset.read.windows.read_ahead import windows_ahead
from lance_core.dataset.read.windows.window_sizing import (
    STREAM_WINDOW_BYTES,
    TABLE_WINDOW_ROWS,
    WindowSizer,
    count_sizer,
    late_sizer,
    most_bytes,
    stream_sizer,
)
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.encodings.arrow.huge_pages import MAX_KEPT_BYTES
from lance_core.encodings.decoding import Rows, packed_rows
from lance_core.on_demand import lazy_module
from lance_core.schema import Field
from lance_core.table.fragments.deletion import RowOffsets
from lance_core.table.fragments.fragment import Fragment

if TYPE_CHECKING:
    from lance_core.dataset.read.output import ordered_scan
else:
    ordered_scan = lazy_module("lance_core.dataset.read.output.ordered_scan")

T = TypeVar("T")


class Sizers(NamedTuple):
    """The sizers of the windows of a scan, and of late materialisation."""

    read: WindowSizer
    late: WindowSizer


SEARCH_WINDOW_ROWS = 1 << 16
"""Rows of a window of a whole result under a filter and a limit."""

FILTER_WINDOW_ROWS = 1 << 19
SEARCH_ROWS = 1 << 20
"""Maximum rows of a window in which keys are searched."""

WINDOW_BYTES = 4 << 20
COLUMN_BYTES = 128 << 10
"""Minimum rows (under a filter) or stored bytes of a window, and of each column in it."""

WINDOWS_PER_THREAD, UNEVEN = 1, 2
"""Maximum windows of a whole result for each thread, and how many times as many if the spans cannot
be divided evenly among threads."""

LATE_ROWS = 1 << 15
"""Maximum rows of a whole result that one read materialises late."""

MIN_CHOSEN_ROWS = 1 << 10
"""Minimum rows of a window of rows that an index returned, some of which may be deleted."""

SMALL_SPAN_ROWS = 1 << 12
SMALL_SPAN_BYTES = 1 << 18
"""Average rows and stored bytes of spans below which threads make a scan slower.

Each file of a small span needs Python's global lock several times. Two threads that hand it over
take twice the processor time of one, which is more than they save, also for joined fragments.
"""

BUDGET_WINDOWS = 4
"""Maximum bytes that a window of a stream decodes, as a multiple of those that it aims at: rows may
be longer than those before, and dividing a window costs the time of reading a part of it again."""

MIN_BUDGET = 1 << 20
"""Minimum of these bytes: a chunk of a page is decoded whole, however few of its rows are read."""

TABLE_BUDGET = 64 << 20
"""Maximum bytes that a window of a whole result decodes under a filter, which may drop them."""

LARGE_RESULT = 64 << 20
"""Estimated bytes of a result from which a scan saves memory at the cost of time."""


def scan_table(snapshot: Snapshot, plan: ScanPlan) -> pa.Table:
    """The whole result as one table."""
    parts = _ordered(snapshot, plan) if plan.order else _tables(snapshot, plan)
    return concatenated(list(parts), plan.projection.schema)


def _tables(snapshot: Snapshot, plan: ScanPlan) -> Iterator[pa.Table]:
    """The whole result in parts, ignoring the order."""
    found = _found(snapshot, plan, _table_sizers)
    return (rows.table for rows in found if rows.table.num_rows)


def _table_sizers(plan: ScanPlan) -> Sizers:
    rows = SEARCH_WINDOW_ROWS if plan.is_selective and plan.limit is not None else _table_rows(plan)
    if plan.has_chosen_rows:
        rows = min(rows, max(MIN_CHOSEN_ROWS, plan.up_to(rows)))
    late = plan.up_to(LATE_ROWS)
    return Sizers(WindowSizer(rows, rows), WindowSizer(late, late))


def _ordered(snapshot: Snapshot, plan: ScanPlan) -> Iterator[pa.Table]:
    def scan(some: ScanPlan) -> Iterator[pa.Table]:
        if ordered_scan.is_two_step(plan):
            return _tables(snapshot, some)
        # The windows of a stream are small, so that its memory is bounded.
        return (rows.table for rows in _streamed(snapshot, some) if rows.table.num_rows)

    return ordered_scan.ordered_rows(snapshot, plan, scan)


def scan_batches(snapshot: Snapshot, plan: ScanPlan) -> Iterator[pa.RecordBatch]:
    """The result as a stream of batches.

    Each has rows of one fragment, unless ``plan.exact`` or there is an order.
    """
    sizes = BatchSizes(plan.batch_size, plan.exact, STREAM_WINDOW_BYTES // 2, plan.batch_bytes)
    if plan.order:
        parts = _ordered(snapshot, plan)
        found = (ScannedRows(part, is_last=False) for part in parts)
        return in_batches(found, plan.projection.schema, sizes)
    return in_batches(_streamed(snapshot, plan), plan.projection.schema, sizes)


def scan_windows(
    snapshot: Snapshot, plan: ScanPlan, sizer: WindowSizer | None = None
) -> Iterator[pa.RecordBatch]:
    """The result as a stream of batches with the rows of one window each, or of a part of it.

    For writers: it takes less time and memory than batches of a chosen size, and the iterator does
    not keep the batches that it returns. ``plan`` has no order, filter or limit. ``sizer``: chooses
    the windows; by default they are as small as their fixed cost allows.
    """
    sizer = _stream_sizers(plan).read if sizer is None else sizer
    window = Window(snapshot, plan, sizer, low_retention=True)
    windows = _read_windows(snapshot, plan, sizer, may_end=True)
    run = partial(_of_windows, snapshot, plan, is_stream=True)
    return _filled_batches(BoundedWork(window.batches, _budget(plan), run).results(windows))


def _filled_batches(windows: Iterator[list[pa.RecordBatch]]) -> Iterator[pa.RecordBatch]:
    """The batches with rows; none of them is kept when the next one is requested."""
    for batches in windows:
        while batches:
            if batches[0].num_rows:
                yield batches.pop(0)
            else:
                batches.pop(0)


def _streamed(snapshot: Snapshot, plan: ScanPlan) -> Iterator[ScannedRows]:
    """The result in windows as small as their fixed cost allows; ``plan`` has no order."""
    return _found(snapshot, plan, _stream_sizers, is_stream=True)


def _stream_sizers(plan: ScanPlan) -> Sizers:
    late = late_sizer(plan.projection.fields, plan.up_to(plan.batch_size))
    fields = plan.read_fields
    stored = partial(_row_bytes, plan, fields)
    return Sizers(stream_sizer(fields, plan.batch_size, stored), late)


def count(snapshot: Snapshot, plan: ScanPlan) -> int:
    """The number of rows that the scan returns."""
    plan = narrowed(snapshot, plan)
    total = sum(_count(snapshot, part) for part in plan.sections()) - plan.offset
    return max(0, total if plan.limit is None else min(total, plan.limit))


def _count(snapshot: Snapshot, plan: ScanPlan) -> int:
    """The number of rows, without limit and offset."""
    if plan.has_chosen_rows and not plan.is_selective and not snapshot.is_io_bound:
        return sum(
            span.num_rows
            if span.fragment.deletion_file is None
            else len(_live_chosen(snapshot, span))
            for span in plan.spans
        )
    return sum(_of_tested(snapshot, plan, Window.count))


def _live_chosen(snapshot: Snapshot, span: Span) -> Rows:
    """The live rows among the chosen ones of a span."""
    return without_deleted(snapshot.deleted_offsets(span.fragment), packed_rows(span.chosen_rows))


def matching(snapshot: Snapshot, plan: ScanPlan) -> Iterator[tuple[Fragment, RowOffsets]]:
    """Ascending physical offsets of the live rows that satisfy the filter, for each window.

    Reads only the filter's columns, and ignores the plan's projection, limit and offset.
    """
    for part in plan.sections():
        yield from itertools.chain.from_iterable(_of_tested(snapshot, part, Window.matching))


def search(snapshot: Snapshot, plan: ScanPlan, find: FindKeys) -> Iterator[KeyMatches]:
    """The live rows in which ``find`` finds keys, for each window.

    ``find`` gets the columns of the projection, which has stored fields only. ``plan`` has neither
    a filter nor a limit.
    """
    fields = plan.projection.fields
    stored = partial(_row_bytes, plan, fields)
    sizer = count_sizer(fields, plan.batch_size, stored, SEARCH_ROWS)
    window = Window(snapshot, plan, sizer)
    windows = sizer.windows(in_runs(snapshot, plan.spans, fields, sizer))
    run = partial(_of_windows, snapshot, plan)
    return BoundedWork(partial(window.search, find), _budget(plan), run).results(windows)


def _of_tested(
    snapshot: Snapshot, plan: ScanPlan, work: Callable[[Window, Span], T]
) -> Iterator[T]:
    """``work`` of each window of a scan that reads only the filter's columns."""
    fields = plan.filter_fields
    sizer = count_sizer(fields, plan.batch_size, partial(_row_bytes, plan, fields))
    window = Window(snapshot, plan, sizer)
    windows = sizer.windows(in_runs(snapshot, plan.spans, fields, sizer))
    run = partial(_of_windows, snapshot, plan)
    return BoundedWork(partial(work, window), _budget(plan), run).results(windows)


def _of_windows(
    snapshot: Snapshot,
    plan: ScanPlan,
    work: Callable[[Span], T],
    windows: Iterator[Span],
    *,
    is_stream: bool = False,
    may_end: bool = False,
) -> Iterator[T]:
    """``work`` of each window, in order; in the threads of a pool if they make it faster."""
    if not snapshot.is_io_bound:
        is_alone = num_threads() == 1 and not is_stream  # the reader of a stream may wait, too
        if is_alone or _has_few_chosen_rows(snapshot, plan) or _has_small_spans(plan):
            return map(work, windows)
    ahead = windows_ahead(snapshot, is_stream=is_stream, may_end=may_end)
    return in_order(work, windows, ahead, is_io_bound=snapshot.is_io_bound)


def _has_few_chosen_rows(snapshot: Snapshot, plan: ScanPlan) -> bool:
    """True if indices returned so few rows that threads gain nothing."""
    if not plan.has_chosen_rows or snapshot.is_io_bound:
        return False
    return num_rows(plan.spans) < MANY_ROWS


def _has_small_spans(plan: ScanPlan) -> bool:
    """True if Python is the main cost of a window, so that threads only wait for each other."""
    count = len(plan.spans)
    has_few_rows = num_rows(plan.spans) < SMALL_SPAN_ROWS * count
    return has_few_rows and stored_bytes(plan.spans) < SMALL_SPAN_BYTES * count


def _table_rows(plan: ScanPlan) -> int:
    """Rows of a window of a whole result: up to `WINDOWS_PER_THREAD` for each thread.

    There is one if no other threads are used, since each window has a fixed cost for each column.
    There are fewer windows if they would have less than `FILTER_WINDOW_ROWS` under a filter, or
    less than `WINDOW_BYTES` of the projection or `COLUMN_BYTES` of a column without one. There are
    more, in equal number for each thread, if one would have more than `TABLE_WINDOW_ROWS`.
    """
    rows, spans = num_rows(plan.spans), len(plan.spans)
    threads = 1 if _has_small_spans(plan) else num_threads()
    if plan.filter is None:
        least = max(WINDOW_BYTES, num_columns(plan.projection.fields) * COLUMN_BYTES)
        enough = _stored_bytes(plan, plan.projection.fields) // least
    else:
        enough = -(-rows // FILTER_WINDOW_ROWS)
    is_even = spans == 1 or spans % threads == 0
    most = threads * WINDOWS_PER_THREAD * (1 if is_even else UNEVEN)
    windows = max(1, min(most, enough))
    fewest = -(-rows // TABLE_WINDOW_ROWS)
    if windows < fewest:
        windows = -(-fewest // threads) * threads
    return max(1, -(-rows // windows))


def _row_bytes(plan: ScanPlan, fields: Sequence[Field]) -> int:
    """An estimate of the stored bytes of a row of ``fields``; see `_stored_bytes`."""
    return _stored_bytes(plan, fields) // max(1, num_rows(plan.spans))


def _stored_bytes(plan: ScanPlan, fields: Sequence[Field]) -> int:
    """An estimate of the stored bytes of ``fields``.

    Assumes that all fields have the same size, with an upper limit: the fields' estimated bytes in
    memory or, for variable widths, the bytes that the table's fixed-width fields leave if more.
    """
    among = plan.schema.fields
    rows, stored = num_rows(plan.spans), stored_bytes(plan.spans)
    most = rows * probable_bytes(fields)
    if fixed_bytes(fields) is None:
        most = max(most, stored - rows * probable_bytes(among, others=0))
    return min(most, stored * len(fields) // max(1, len(among)))


def _is_large(plan: ScanPlan) -> bool:
    """True if the whole result is estimated to take at least `LARGE_RESULT` bytes."""
    if plan.filter is not None:
        return False
    return num_rows(plan.spans) * probable_bytes(plan.projection.fields) >= LARGE_RESULT


def _tested_fields(plan: ScanPlan) -> tuple[Field, ...]:
    """The stored fields that the filter needs."""
    return () if plan.filter is None else required(plan.schema, plan.filter.columns)[0]


def _read_fields(plan: ScanPlan) -> tuple[Field, ...]:
    """The stored fields of projection and filter; some may occur twice."""
    return plan.projection.fields + plan.filter_fields


def _found(
    snapshot: Snapshot,
    plan: ScanPlan,
    sizers_of: Callable[[ScanPlan], Sizers],
    *,
    is_stream: bool = False,
) -> Iterator[ScannedRows]:
    """The result window by window, cut to offset and limit."""
    whole = narrowed(snapshot, plan)
    skip, left = whole.offset, whole.limit
    if left == 0:
        return
    may_end = whole.is_selective and left is not None
    for part in whole.sections():
        if not is_stream and _is_take(snapshot, part):
            found = iter([ScannedRows(_taken(snapshot, part), is_last=True)])
        else:
            sizers = sizers_of(plan if part is whole else part)
            found = _uncut(snapshot, part, sizers, is_stream=is_stream, may_end=may_end)
        for table, is_last, edges in found:
            kept = sliced(table, skip, left)
            inner = None if edges is None else np.clip(edges - skip, 0, kept.num_rows)
            skip = max(0, skip - table.num_rows)
            if left is not None:
                left -= kept.num_rows
            if kept.num_rows or is_last:
                yield ScannedRows(kept, is_last, inner)
            if left == 0:
                return


def _uncut(
    snapshot: Snapshot, plan: ScanPlan, sizers: Sizers, *, is_stream: bool, may_end: bool
) -> Iterator[ScannedRows]:
    """The result window by window, without limit and offset.

    For a stream and for a large result, windows save memory at the cost of time: they use
    ``low_retention``. An I/O-bound scan of a whole result does not, because it also keeps
    read-ahead data in memory. The memory of a whole result is kept for the next one.
    """
    low_retention = is_stream or (not snapshot.is_io_bound and _is_large(plan))
    max_kept = 0 if is_stream else MAX_KEPT_BYTES
    window = Window(snapshot, plan, sizers.read, low_retention=low_retention, max_kept=max_kept)
    is_end = ends_of(plan.spans)

    def read(span: Span) -> WindowResult:
        is_last = is_end(span) if span.run is None else span.stop == span.run.starts[-1]
        return WindowResult(window.read(span), bool(is_last))

    windows = _read_windows(snapshot, plan, sizers.read, may_end=is_stream or may_end)
    run = partial(_of_windows, snapshot, plan, is_stream=is_stream, may_end=may_end)
    budget = _budget(plan) if is_stream else None
    if is_stream or plan.filter is not None:
        parts = BoundedWork(read, budget or TABLE_BUDGET, run).results(windows)
    else:
        parts = run(read, windows)
    return completed(parts, window, sizers.late, budget)


def _budget(plan: ScanPlan) -> int:
    """Maximum bytes that a window of a stream decodes."""
    return max(MIN_BUDGET, BUDGET_WINDOWS * most_bytes(plan.read_fields))


def _is_take(snapshot: Snapshot, plan: ScanPlan) -> bool:
    """True if the plan only reads few rows by position, which needs no windows."""
    if plan.is_selective or plan.metrics is not None or not _has_few_chosen_rows(snapshot, plan):
        return False
    return not described_blobs(snapshot, plan.projection.fields)


def _taken(snapshot: Snapshot, plan: ScanPlan) -> pa.Table:
    """The live rows among the chosen ones."""
    picks = []
    for span in plan.spans:
        live = _live_chosen(snapshot, span)
        if len(live):
            picks.append(FragmentPositions(span.fragment, live.numbers))
    return gather(snapshot, picks, None, plan.projection)


def _read_windows(
    snapshot: Snapshot, plan: ScanPlan, sizer: WindowSizer, *, may_end: bool
) -> Iterator[Span]:
    """The windows to read, with fewer rows if the result contains the bytes of blobs."""
    described = described_blobs(snapshot, plan.read_fields)
    if not described:
        fields = plan.read_fields
        return sizer.windows(in_runs(snapshot, plan.spans, fields, sizer, may_end=may_end))
    sized = WindowSizer(SIZED_ROWS, SIZED_ROWS).windows(plan.spans)
    return cut_by_size(snapshot, sized, described, STREAM_WINDOW_BYTES)


def skipped_runs(snapshot: Snapshot, plan: ScanPlan) -> tuple[int, int]:
    """The number of runs of rows with statistics, and how many of them the filter excludes."""
    if plan.filter is None or not plan.use_statistics:
        return 0, 0
    found = [rows_left(snapshot, s.fragment, plan.filter, s.start, s.stop) for s in plan.spans]
    return sum(one.num_runs for one in found), sum(one.num_skipped for one in found)
