"""How many rows the windows of a scan have, from what is known of its rows before it reads them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from lance_core.concurrency.pools import num_threads
from lance_core.dataset.read.columns.widths import fixed_bytes, num_columns, probable_bytes
from lance_core.dataset.read.scan_tuning import tuning
from lance_core.dataset.read.sources.fragment_spans import num_rows, stored_bytes
from lance_core.dataset.read.windows.window_sizing import (
    WindowSizer,
    count_sizer,
    late_sizer,
    most_bytes,
    stream_sizer,
)

if TYPE_CHECKING:
    from lance_core.dataset.read.plan import ScanPlan
    from lance_core.schema import Field


class Sizers(NamedTuple):
    """The sizers of the windows of a scan, and of late materialisation."""

    read: WindowSizer
    late: WindowSizer


def table_sizers(plan: ScanPlan) -> Sizers:
    """The sizers of a whole result: as few windows as its threads need."""
    limits = tuning()
    is_search = plan.is_selective and plan.limit is not None
    rows = limits.table.search_rows if is_search else _table_rows(plan)
    if plan.has_chosen_rows:
        rows = min(rows, max(limits.table.chosen_rows, plan.up_to(rows)))
    late = plan.up_to(limits.columns.late_rows)
    return Sizers(WindowSizer(rows, rows), WindowSizer(late, late))


def stream_sizers(plan: ScanPlan) -> Sizers:
    """The sizers of a stream: windows as small as their fixed cost allows."""
    late = late_sizer(plan.projection.fields, plan.up_to(plan.batch_size))
    fields = plan.read_fields
    stored = partial(_row_bytes, plan, fields)
    return Sizers(stream_sizer(fields, plan.batch_size, stored), late)


def tested_sizer(plan: ScanPlan, fields: Sequence[Field]) -> WindowSizer:
    """The sizer of a count, or another scan that only tests ``fields`` and keeps none of them."""
    return count_sizer(fields, plan.batch_size, partial(_row_bytes, plan, fields))


def decode_limit(plan: ScanPlan) -> int:
    """Maximum bytes that a window of a stream decodes."""
    decoded = tuning().decoded
    return max(decoded.min_stream, decoded.stream_windows * most_bytes(plan.read_fields))


def has_small_spans(plan: ScanPlan) -> bool:
    """True if Python is the main cost of a window, so that threads only wait for each other."""
    count, limits = len(plan.spans), tuning().table
    has_few_rows = num_rows(plan.spans) < limits.small_span_rows * count
    return has_few_rows and stored_bytes(plan.spans) < limits.small_span_bytes * count


def is_large(plan: ScanPlan) -> bool:
    """True if the whole result is estimated to take at least `large_result` bytes."""
    if plan.filter is not None:
        return False
    size = num_rows(plan.spans) * probable_bytes(plan.projection.fields)
    return size >= tuning().table.large_result


def _table_rows(plan: ScanPlan) -> int:
    """Rows of a window of a whole result: up to `per_thread` windows for each thread.

    There is one if no other threads are used, since each window has a fixed cost for each column.
    There are fewer windows if they would have less than `filter_rows` under a filter, or less than
    `stored_bytes` of the projection or `column_bytes` of a column without one. There are more, in
    equal number for each thread, if one would have more than `max_rows`.
    """
    limits = tuning().table
    rows, spans = num_rows(plan.spans), len(plan.spans)
    threads = 1 if has_small_spans(plan) else num_threads()
    if plan.filter is None:
        fields = plan.projection.fields
        least = max(limits.stored_bytes, num_columns(fields) * limits.column_bytes)
        enough = _stored_bytes(plan, fields) // least
    else:
        enough = -(-rows // limits.filter_rows)
    is_even = spans == 1 or spans % threads == 0
    most = threads * limits.per_thread * (1 if is_even else limits.uneven)
    windows = max(1, min(most, enough))
    fewest = -(-rows // limits.max_rows)
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
