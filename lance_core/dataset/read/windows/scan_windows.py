"""The windows of a scan, one after the other, and the threads that work on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from lance_core.concurrency.pools import in_order, num_threads
from lance_core.dataset.read.fragments.blob_sizes import blob_sizes, described_blobs, size_cuts
from lance_core.dataset.read.scan_tuning import tuning
from lance_core.dataset.read.sources.fragment_spans import num_rows
from lance_core.dataset.read.windows.bounded_windows import BoundedWork
from lance_core.dataset.read.windows.join_fragments import in_runs
from lance_core.dataset.read.windows.read_ahead import windows_ahead
from lance_core.dataset.read.windows.scan_sizers import decode_limit, has_small_spans
from lance_core.dataset.read.windows.window_sizing import WindowSizer
from lance_core.encodings.decoding import RowRange, Rows, packed_rows

if TYPE_CHECKING:
    from lance_core.dataset.read.fragments.span import Span
    from lance_core.dataset.read.plan import ScanPlan
    from lance_core.dataset.snapshot.snapshot import Snapshot
    from lance_core.schema import Field

T = TypeVar("T")


def windows_of(
    snapshot: Snapshot, plan: ScanPlan, sizer: WindowSizer, *, may_end: bool
) -> Iterator[Span]:
    """The windows of ``plan``, with fewer rows if the result contains the bytes of blobs.

    ``may_end``: the reader may want the first rows only.
    """
    fields = plan.read_fields
    described = described_blobs(snapshot, fields)
    if not described:
        return sizer.windows(in_runs(snapshot, plan.spans, fields, sizer, may_end=may_end))
    rows = tuning().blobs.sized_rows
    sized = WindowSizer(rows, rows).windows(plan.spans)
    return _cut_by_size(snapshot, sized, described, tuning().stream.max_bytes)


def _cut_by_size(
    snapshot: Snapshot, spans: Iterable[Span], described: tuple[Field, ...], most_bytes: int
) -> Iterator[Span]:
    """Split ``spans`` to at most ``most_bytes`` of blobs each; a single row may have more."""
    for span in spans:
        if span.chosen is None:
            rows: Rows = RowRange(span.start, span.stop)
        else:
            rows = packed_rows(span.chosen_rows)
        sizes = blob_sizes(snapshot, span.fragment, described, rows)
        edges = np.append(rows.numbers, span.stop).tolist()
        edges[0] = span.start
        for first, stop in size_cuts(sizes, most_bytes):
            yield replace(span, start=edges[first], stop=edges[stop])


def in_windows(
    snapshot: Snapshot,
    plan: ScanPlan,
    fields: tuple[Field, ...],
    sizer: WindowSizer,
    work: Callable[[Span], T],
) -> Iterator[T]:
    """``work`` of each window of a scan that reads ``fields`` and returns no columns."""
    windows = sizer.windows(in_runs(snapshot, plan.spans, fields, sizer))
    run = partial(run_windows, snapshot, plan)
    return BoundedWork(work, decode_limit(plan), run).results(windows)


def run_windows(
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
        if is_alone or has_few_chosen_rows(snapshot, plan) or has_small_spans(plan):
            return map(work, windows)
    ahead = windows_ahead(snapshot, is_stream=is_stream, may_end=may_end)
    return in_order(work, windows, ahead, is_io_bound=snapshot.is_io_bound)


def is_one_window(spans: Sequence[Span]) -> bool:
    """True if all rows of ``spans`` are so few that one window would have them."""
    numbers = tuning()
    if len(spans) >= numbers.runs.fewest:
        return False
    rows, size = 0, 0.0
    for span in spans:
        physical, count = span.fragment.physical_rows, span.stop - span.start
        if not physical:
            return False
        for file in span.fragment.files:
            if not file.file_size_bytes:
                return False
            size += file.file_size_bytes / physical * count
        rows += count
    return rows < numbers.rows.threads_from and size < numbers.table.stored_bytes


def has_few_chosen_rows(snapshot: Snapshot, plan: ScanPlan) -> bool:
    """True if indices returned so few rows that threads gain nothing."""
    rows = plan.rows
    if not rows.are_chosen or snapshot.is_io_bound:
        return False
    return num_rows(rows.spans) < tuning().rows.threads_from
