"""Scans: windows of rows are read in order, filtered early and materialised late.

A window is a run of physical rows of one fragment. Under a filter only the filter's columns are
read for all rows of a window; the other columns are read for the rows that passed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.dataset.batches import BatchSizes, Found, in_batches
from lance_core.dataset.blobs.windows import SIZED_ROWS, cut_by_size, described_blobs
from lance_core.dataset.columnless import concatenated, sliced
from lance_core.dataset.expression import Filter
from lance_core.dataset.fragment_read import read_rows
from lance_core.dataset.live_rows import count_live, live, offsets_of, within
from lance_core.dataset.pace import (
    STREAM_WINDOW_BYTES,
    TABLE_WINDOW_ROWS,
    Pace,
    count_pace,
    probable_bytes,
    stream_pace,
)
from lance_core.dataset.projection import Projection, required
from lance_core.dataset.read_ahead import reading_ahead, windows_ahead
from lance_core.dataset.skipping import rows_left
from lance_core.dataset.snapshot import Snapshot
from lance_core.dataset.threads import in_order, num_threads
from lance_core.encodings.choose_rows import filter_rows
from lance_core.encodings.decoding import RowIndices, RowRange, Rows
from lance_core.encodings.room import give_back, sparing
from lance_core.schema import Field, Schema
from lance_core.table.deletion import RowOffsets
from lance_core.table.fragment import Fragment

DEFAULT_BATCH_SIZE = 8192
SEARCH_WINDOW_ROWS = 1 << 16
FILTER_WINDOW_ROWS = 1 << 18
WINDOW_BYTES = 4 << 20
WINDOWS_PER_THREAD = 4
LARGE_RESULT = 64 << 20
DENSE = 4
"""From one selected row in this many on, decoding all rows and filtering is cheaper."""


@dataclass(frozen=True, slots=True)
class Span:
    """Physical rows ``start`` (inclusive) to ``stop`` (exclusive) of a fragment."""

    fragment: Fragment
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class ScanPlan:
    """What a scan returns. ``limit`` and ``offset`` count rows that are live and pass the filter.

    ``spans``: where to read, in the order of the result. ``batch_size`` is the most rows that a
    batch has; with ``exact`` all batches but the last have that many. ``schema`` has the stored
    fields that projection and filter may name. ``use_statistics``: whether files may tell which
    rows cannot pass the filter.
    """

    projection: Projection
    spans: tuple[Span, ...]
    schema: Schema
    filter: Filter | None = None
    limit: int | None = None
    offset: int = 0
    batch_size: int = DEFAULT_BATCH_SIZE
    exact: bool = False
    use_statistics: bool = True


def all_spans(snapshot: Snapshot) -> tuple[Span, ...]:
    """Every row of the table."""
    return tuple(
        Span(fragment, 0, snapshot.physical_rows(fragment))
        for fragment in snapshot.manifest.fragments
    )


def scan_table(snapshot: Snapshot, plan: ScanPlan) -> pa.Table:
    """The whole result at once."""
    rows = SEARCH_WINDOW_ROWS if plan.filter and plan.limit is not None else _table_rows(plan)
    tables = [table for table, _ in _found(snapshot, plan, Pace(rows, rows)) if table.num_rows]
    return concatenated(tables, plan.projection.schema)


def scan_batches(snapshot: Snapshot, plan: ScanPlan) -> Iterator[pa.RecordBatch]:
    """The result as a stream of batches; unless they are `exact`, none spans two fragments."""
    pace = stream_pace(_read_fields(plan), plan.batch_size)
    found = _found(snapshot, plan, pace, is_stream=True)
    sizes = BatchSizes(plan.batch_size, plan.exact, STREAM_WINDOW_BYTES // 2)
    return in_batches(found, plan.projection.schema, sizes)


def count(snapshot: Snapshot, plan: ScanPlan) -> int:
    """How many rows the scan returns."""
    plan = _narrowed(snapshot, plan)
    pace = count_pace(_tested_fields(plan), plan.batch_size)
    window = _Window(snapshot, plan, pace)
    windows, ahead = pace.windows(plan.spans), windows_ahead(snapshot)
    counts = in_order(window.count, windows, ahead, waits=snapshot.waits)
    total = sum(counts) - plan.offset
    return max(0, total if plan.limit is None else min(total, plan.limit))


def matching(snapshot: Snapshot, plan: ScanPlan) -> Iterator[tuple[Fragment, RowOffsets]]:
    """Physical offsets of the live rows that pass the filter, ascending, window by window.

    Only the filter's columns are read; projection, limit and offset do not count.
    """
    pace = count_pace(_tested_fields(plan), plan.batch_size)
    window = _Window(snapshot, plan, pace)
    windows, ahead = pace.windows(plan.spans), windows_ahead(snapshot)
    return in_order(window.matching, windows, ahead, waits=snapshot.waits)


def _stored(plan: ScanPlan) -> tuple[int, int]:
    """Rows of the scan, and the bytes of the files that they are in."""
    rows = sum(span.stop - span.start for span in plan.spans)
    stored = sum(
        file.file_size_bytes or 0
        for fragment in {span.fragment.id: span.fragment for span in plan.spans}.values()
        for file in fragment.files
    )
    return rows, stored


def _table_rows(plan: ScanPlan) -> int:
    """Rows of a window of a whole result: some for each thread, if there is enough to be done.

    Under a filter that is to look at rows, else to decode the bytes of the fields, about as many of
    all bytes as they are of all fields.
    """
    rows, stored = _stored(plan)
    share = len(plan.projection.fields) / max(1, len(plan.schema.fields))
    if plan.filter is None:
        enough = int(stored * share) // WINDOW_BYTES
    else:
        enough = rows // FILTER_WINDOW_ROWS
    windows = max(1, min(WINDOWS_PER_THREAD * num_threads(), enough))
    return max(1, min(TABLE_WINDOW_ROWS, -(-rows // windows)))


def _is_large(plan: ScanPlan) -> bool:
    """Whether the whole result probably takes so much memory that no more should be added to it."""
    if plan.filter is not None:
        return False
    rows = sum(span.stop - span.start for span in plan.spans)
    return rows * probable_bytes(plan.projection.fields) >= LARGE_RESULT


def _tested_fields(plan: ScanPlan) -> tuple[Field, ...]:
    """What the filter looks at."""
    return () if plan.filter is None else required(plan.schema, plan.filter.columns)[0]


def _read_fields(plan: ScanPlan) -> tuple[Field, ...]:
    """What is read, some of it perhaps twice."""
    return plan.projection.fields + _tested_fields(plan)


def _found(
    snapshot: Snapshot, plan: ScanPlan, pace: Pace, *, is_stream: bool = False
) -> Iterator[Found]:
    """The result window by window, cut to offset and limit.

    For a stream, whose reader may keep nothing of it, and for a large result less is held in memory
    beside it, at some cost.
    """
    plan = _narrowed(snapshot, plan)
    window = _Window(snapshot, plan, pace)
    skip, left = plan.offset, plan.limit
    if left == 0:
        return
    ends = {(span.fragment.id, span.stop) for span in plan.spans}

    spares = is_stream or _is_large(plan)

    def read(span: Span) -> Found:
        if spares:
            with sparing():
                table = window.read(span)
            give_back()
        else:
            table = window.read(span)
        return Found(table, (span.fragment.id, span.stop) in ends)

    may_end = plan.filter is not None and plan.limit is not None
    ahead = windows_ahead(snapshot, is_stream=is_stream, may_end=may_end)
    windows = _read_windows(snapshot, plan, pace)
    for table, is_last in in_order(read, windows, ahead, waits=snapshot.waits):
        part = sliced(table, skip, left)
        skip = max(0, skip - table.num_rows)
        if left is not None:
            left -= part.num_rows
        if part.num_rows or is_last:
            yield Found(part, is_last)
        if left == 0:
            return


def _read_windows(snapshot: Snapshot, plan: ScanPlan, pace: Pace) -> Iterator[Span]:
    """The windows to read; of fewer rows where the result has the bytes of blobs."""
    described = described_blobs(snapshot, _read_fields(plan))
    if not described:
        return pace.windows(plan.spans)
    sized = Pace(SIZED_ROWS, SIZED_ROWS).windows(plan.spans)
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


class _Window:
    """How one window is read; shared by the threads of a scan."""

    def __init__(self, snapshot: Snapshot, plan: ScanPlan, pace: Pace) -> None:
        self._snapshot = self._chosen_snapshot = snapshot
        if plan.filter is None or plan.limit is None:
            self._snapshot, self._chosen_snapshot = reading_ahead(snapshot, plan.spans)
        self._pace = pace
        self._projection = projection = plan.projection
        self._filter = plan.filter
        self._use_statistics = plan.use_statistics
        if plan.filter is not None:
            self._tested, self._tested_meta = required(plan.schema, plan.filter.columns)
            self._rest = _others(projection.fields, self._tested)
            self._rest_meta = tuple(m for m in projection.meta if m not in self._tested_meta)

    def read(self, span: Span) -> pa.Table:
        rows = self._rows(span)
        if len(rows) == 0:
            return self._projection.schema.empty_table()
        projection = self._projection
        if self._filter is None:
            data = self._fetch(span, projection.fields, projection.meta, rows)
            self._pace.saw(span.stop - span.start, data.nbytes)
        else:
            tested = self._tested_of(span, rows)
            mask = self._filter.mask(tested)
            if not mask.any():
                return projection.schema.empty_table()
            data = self._passing(span, rows, tested, mask)
            self._pace.saw(span.stop - span.start, tested.nbytes + data.nbytes)
        return projection.apply(data)

    def count(self, span: Span) -> int:
        """How many live rows of the span the filter accepts; reads only the filter's columns."""
        rows = self._rows(span)
        if self._filter is None or len(rows) == 0:
            return len(rows)
        tested = self._tested_of(span, rows)
        return int(np.count_nonzero(self._filter.mask(tested)))

    def matching(self, span: Span) -> tuple[Fragment, RowOffsets]:
        """The fragment, and which live rows of the span the filter accepts."""
        rows = self._rows(span)
        if self._filter is not None and len(rows):
            tested = self._tested_of(span, rows)
            rows = _subset(rows, np.flatnonzero(self._filter.mask(tested)))
        if isinstance(rows, RowIndices):
            return span.fragment, rows.values.astype(np.uint32)
        return span.fragment, np.arange(rows.start, rows.stop, dtype=np.uint32)

    def _tested_of(self, span: Span, rows: Rows) -> pa.Table:
        """What the filter looks at."""
        tested = self._fetch(span, self._tested, self._tested_meta, rows)
        self._pace.saw(span.stop - span.start, tested.nbytes)
        return tested

    def _rows(self, span: Span) -> Rows:
        """The live rows of the span, without such that are known not to pass the filter."""
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

    def _passing(
        self, span: Span, rows: Rows, tested: pa.Table, mask: npt.NDArray[np.bool_]
    ) -> pa.Table:
        """The projection's fields of the rows where ``mask`` is set."""
        chosen = np.flatnonzero(mask)
        kept = tested if len(chosen) == len(rows) else filter_rows(tested, pa.array(mask))
        if self._rest or self._rest_meta:
            rest = self._fetch(span, self._rest, self._rest_meta, _subset(rows, chosen))
            for name in rest.column_names:
                if name in kept.column_names:
                    kept = kept.drop_columns(name)
                kept = kept.append_column(rest.schema.field(name), rest.column(name))
        return kept

    def _fetch(
        self, span: Span, fields: tuple[Field, ...], meta: tuple[str, ...], rows: Rows
    ) -> pa.Table:
        """Fields for ``rows``; nearly complete row lists are decoded whole and then filtered."""
        snapshot, fragment = self._snapshot, span.fragment
        if self._filter is not None and isinstance(rows, RowIndices):
            snapshot = self._chosen_snapshot
        if isinstance(rows, RowIndices) and not described_blobs(snapshot, fields):
            first, stop = int(rows.values[0]), int(rows.values[-1]) + 1
            if len(rows) * DENSE >= stop - first:
                whole = read_rows(snapshot, fragment, fields, meta, RowRange(first, stop))
                keep = np.zeros(stop - first, bool)
                keep[rows.values - first] = True
                return filter_rows(whole, pa.array(keep))
        return read_rows(snapshot, fragment, fields, meta, rows)


def _others(fields: tuple[Field, ...], tested: tuple[Field, ...]) -> tuple[Field, ...]:
    """The fields that the filter's columns do not already hold completely."""
    have = {field.id: field for field in tested}
    return tuple(field for field in fields if have.get(field.id) != field)


def _subset(rows: Rows, chosen: npt.NDArray[np.intp]) -> Rows:
    """The rows at positions ``chosen`` of ``rows``."""
    if len(chosen) == len(rows):
        return rows
    if isinstance(rows, RowIndices):
        return RowIndices(rows.values[chosen])
    return RowIndices(chosen + rows.start)
