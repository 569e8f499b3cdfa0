"""Run a scan: the rows of its source, in windows, each of them in steps, to the output.

`lance_core.dataset.read.steps` has the steps of a window: `early` reads the columns that the filter
needs and tests it, `late` reads the other columns of the rows that satisfy it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa

from lance_core.concurrency.turns import MAX_ROWS, leave_turn
from lance_core.dataset.read.fragments.blob_sizes import described_blobs
from lance_core.dataset.read.fragments.live_rows import without_deleted
from lance_core.dataset.read.given_rows.take import gather
from lance_core.dataset.read.output.batches import BatchSizes, in_batches
from lance_core.dataset.read.plan import narrowed
from lance_core.dataset.read.scan_tuning import tuning
from lance_core.dataset.read.sources.fragment_spans import ends_of, num_rows
from lance_core.dataset.read.sources.pruning import rows_left
from lance_core.dataset.read.sources.row_positions import FragmentPositions
from lance_core.dataset.read.steps.early import (
    count_window,
    matching_offsets,
    read_window,
    window_batches,
)
from lance_core.dataset.read.steps.key_search import FindKeys, KeyMatches, search_window
from lance_core.dataset.read.steps.late import complete, completed
from lance_core.dataset.read.steps.results import ScannedRows, WindowResult
from lance_core.dataset.read.steps.scan_reads import ScanReads, scan_reads
from lance_core.dataset.read.windows.bounded_windows import BoundedWork
from lance_core.dataset.read.windows.scan_sizers import (
    Sizers,
    decode_limit,
    is_large,
    stream_sizers,
    table_sizers,
    tested_sizer,
)
from lance_core.dataset.read.windows.scan_windows import (
    has_few_chosen_rows,
    in_windows,
    is_one_window,
    run_windows,
    windows_of,
)
from lance_core.encodings.arrow.huge_pages import MAX_KEPT_BYTES
from lance_core.encodings.arrow.zero_column_tables import concatenated, sliced
from lance_core.encodings.decoding import packed_rows
from lance_core.fast_paths import FastPath, FastPaths
from lance_core.imports.on_demand import lazy_module

if TYPE_CHECKING:
    from lance_core.dataset.read.fragments.span import Span
    from lance_core.dataset.read.output import ordered_scan
    from lance_core.dataset.read.plan import ScanPlan
    from lance_core.dataset.read.windows.window_sizing import WindowSizer
    from lance_core.dataset.snapshot.snapshot import Snapshot
    from lance_core.encodings.decoding import Rows
    from lance_core.table.fragments.deletion import RowOffsets
    from lance_core.table.fragments.fragment import Fragment
else:
    ordered_scan = lazy_module("lance_core.dataset.read.output.ordered_scan")

T = TypeVar("T")


def scan_table(snapshot: Snapshot, plan: ScanPlan) -> pa.Table:
    """The whole result as one table."""
    if plan.order:
        parts = list(_ordered(snapshot, plan))
    else:
        parts = []
        for table, _, _ in _scanned(snapshot, plan, table_sizers):
            if table.num_rows:
                parts.append(table)  # a comprehension is one more call
    return concatenated(parts, plan.projection.schema)


def scan_batches(snapshot: Snapshot, plan: ScanPlan) -> Iterator[pa.RecordBatch]:
    """The result as a stream of batches.

    Each has rows of one fragment, unless ``plan.exact`` or there is an order.
    """
    enough_bytes = tuning().stream.max_bytes // 2
    sizes = BatchSizes(plan.batch_size, plan.exact, enough_bytes, plan.batch_bytes)
    if plan.order:
        parts = _ordered(snapshot, plan)
        rows = (ScannedRows(part, is_last=False) for part in parts)
        return in_batches(rows, plan.projection.schema, sizes)
    return in_batches(_streamed(snapshot, plan), plan.projection.schema, sizes)


def scan_windows(
    snapshot: Snapshot, plan: ScanPlan, sizer: WindowSizer | None = None
) -> Iterator[pa.RecordBatch]:
    """The result as a stream of batches with the rows of one window each, or of a part of it.

    For writers: it takes less time and memory than batches of a chosen size, and the iterator does
    not keep the batches that it returns. ``plan`` has no order, filter or limit. ``sizer``: chooses
    the windows; by default they are as small as their fixed cost allows.
    """
    sizer = stream_sizers(plan).read if sizer is None else sizer
    reads = scan_reads(snapshot, plan, sizer, low_retention=True)
    windows = windows_of(snapshot, plan, sizer, may_end=True)
    run = partial(run_windows, snapshot, plan, is_stream=True)
    work = BoundedWork(partial(window_batches, reads), decode_limit(plan), run)
    return _filled_batches(work.results(windows))


def count(snapshot: Snapshot, plan: ScanPlan) -> int:
    """The number of rows that the scan returns."""
    plan = narrowed(snapshot, plan)
    total = sum(_count(snapshot, part) for part in plan.sections()) - plan.offset
    return max(0, total if plan.limit is None else min(total, plan.limit))


def matching(snapshot: Snapshot, plan: ScanPlan) -> Iterator[tuple[Fragment, RowOffsets]]:
    """Ascending physical offsets of the live rows that satisfy the filter, for each window.

    Reads only the filter's columns, and ignores the plan's projection, limit and offset.
    """
    for part in plan.sections():
        yield from itertools.chain.from_iterable(_of_tested(snapshot, part, matching_offsets))


def search(snapshot: Snapshot, plan: ScanPlan, find: FindKeys) -> Iterator[KeyMatches]:
    """The live rows in which ``find`` finds keys, for each window.

    ``find`` gets the columns of the projection, which has stored fields only. ``plan`` has neither
    a filter nor a limit.
    """
    fields = plan.projection.fields
    sizer = tested_sizer(plan, fields)
    reads = scan_reads(snapshot, plan, sizer)
    return in_windows(snapshot, plan, fields, sizer, partial(search_window, reads, find))


def skipped_runs(snapshot: Snapshot, plan: ScanPlan) -> tuple[int, int]:
    """The number of runs of rows with statistics, and how many of them the filter excludes."""
    if plan.filter is None or not plan.use_statistics:
        return 0, 0
    skipped = [rows_left(snapshot, s.fragment, plan.filter, s.start, s.stop) for s in plan.spans]
    return sum(rows.num_runs for rows in skipped), sum(rows.num_skipped for rows in skipped)


def _tables(snapshot: Snapshot, plan: ScanPlan) -> Iterator[pa.Table]:
    """The whole result in parts, ignoring the order."""
    scanned = _scanned(snapshot, plan, table_sizers)
    return (rows.table for rows in scanned if rows.table.num_rows)


def _streamed(snapshot: Snapshot, plan: ScanPlan) -> Iterator[ScannedRows]:
    """The result in windows as small as their fixed cost allows; ``plan`` has no order."""
    return _scanned(snapshot, plan, stream_sizers, is_stream=True)


def _ordered(snapshot: Snapshot, plan: ScanPlan) -> Iterator[pa.Table]:
    def scan(unordered: ScanPlan) -> Iterator[pa.Table]:
        if ordered_scan.is_two_step(plan):
            return _tables(snapshot, unordered)
        # The windows of a stream are small, so that its memory is bounded.
        return (rows.table for rows in _streamed(snapshot, unordered) if rows.table.num_rows)

    return ordered_scan.ordered_rows(snapshot, plan, scan)


def _scanned(
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
    may_end = left is not None and whole.is_selective
    for part in whole.sections():
        if not is_stream and _is_take(snapshot, part):
            scanned = iter([ScannedRows(_taken(snapshot, part), is_last=True)])
        else:
            sizers = sizers_of(plan if part is whole else part)
            scanned = _uncut(snapshot, part, sizers, is_stream=is_stream, may_end=may_end)
        for table, is_last, edges in scanned:
            cut_table = sliced(table, skip, left)
            inner = None if edges is None else np.clip(edges - skip, 0, cut_table.num_rows)
            skip = max(0, skip - table.num_rows)
            if left is not None:
                left -= cut_table.num_rows
            if cut_table.num_rows or is_last:
                yield ScannedRows(cut_table, is_last, inner)
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
    if num_rows(plan.spans) > MAX_ROWS:
        leave_turn()
    low_retention = is_stream or (not snapshot.is_io_bound and is_large(plan))
    max_kept = 0 if is_stream else MAX_KEPT_BYTES
    reads = scan_reads(snapshot, plan, sizers.read, low_retention=low_retention, max_kept=max_kept)
    is_end = ends_of(plan.spans)

    def read(span: Span) -> WindowResult:
        is_last = is_end(span) if span.run is None else span.stop == span.run.starts[-1]
        return WindowResult(read_window(reads, span), bool(is_last))

    windows = windows_of(snapshot, plan, sizers.read, may_end=is_stream or may_end)
    run = partial(run_windows, snapshot, plan, is_stream=is_stream, may_end=may_end)
    limit = decode_limit(plan) if is_stream else None
    if is_stream or plan.filter is not None:
        bounded = BoundedWork(read, limit or tuning().decoded.table, run)
        parts = bounded.results(windows)
    else:
        parts = run(read, windows)
    return completed(parts, partial(complete, reads), lambda: reads.nothing, sizers.late, limit)


def _filled_batches(windows: Iterator[list[pa.RecordBatch]]) -> Iterator[pa.RecordBatch]:
    """The batches with rows; none of them is kept when the next one is requested."""
    for batches in windows:
        while batches:
            if batches[0].num_rows:
                yield batches.pop(0)
            else:
                batches.pop(0)


def _count(snapshot: Snapshot, plan: ScanPlan) -> int:
    """The number of rows, without limit and offset."""
    if plan.has_chosen_rows and not plan.is_selective and not snapshot.is_io_bound:
        return sum(
            span.num_rows
            if span.fragment.deletion_file is None
            else len(_live_chosen(snapshot, span))
            for span in plan.spans
        )
    return sum(_of_tested(snapshot, plan, count_window))


def _of_tested(
    snapshot: Snapshot, plan: ScanPlan, work: Callable[[ScanReads, Span], T]
) -> Iterator[T]:
    """``work`` of each window of a scan that reads only the filter's columns."""
    fields = plan.filter_fields
    if num_rows(plan.spans) > MAX_ROWS:
        leave_turn()
    sizer = tested_sizer(plan, fields)
    reads = scan_reads(snapshot, plan, sizer)
    return in_windows(snapshot, plan, fields, sizer, partial(work, reads))


def _is_take(snapshot: Snapshot, plan: ScanPlan) -> bool:
    """True if the plan only reads few rows, which needs no windows."""
    if plan.is_selective or plan.metrics is not None:
        return False
    if plan.has_chosen_rows:
        is_short = has_few_chosen_rows(snapshot, plan)
    else:
        is_short = SHORT_READS.first(snapshot, plan) is not None
    return is_short and not described_blobs(snapshot, plan.projection.fields)


def _is_short_read(snapshot: Snapshot, plan: ScanPlan) -> bool | None:
    """True if one window has all rows, and reading it takes no requests; None otherwise."""
    if plan.includes_deleted or not snapshot.root.store.has_views:
        return None
    return is_one_window(plan.rows.spans) or None


SHORT_READS = FastPaths(FastPath.of(_is_short_read))
"""Reads of few rows of local tables without windows.

Without it, a page of 100 rows makes twice as many calls of Python functions.
"""


def _taken(snapshot: Snapshot, plan: ScanPlan) -> pa.Table:
    """The live rows of the spans."""
    picks = []
    for span in plan.rows.spans:
        if span.fragment.deletion_file is None:
            offsets = span.chosen_rows
        else:
            offsets = _live_chosen(snapshot, span).numbers
        if len(offsets):
            picks.append(FragmentPositions(span.fragment, offsets))
    return gather(snapshot, picks, None, plan.projection)


def _live_chosen(snapshot: Snapshot, span: Span) -> Rows:
    """The live rows among the chosen ones of a span."""
    return without_deleted(snapshot.deleted_offsets(span.fragment), packed_rows(span.chosen_rows))
