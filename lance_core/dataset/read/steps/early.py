"""The first step of a window: its early columns for all rows, and the filter.

With a filter, only the filter's columns are read for all rows of a window; the other columns are
read for the rows that satisfy the filter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.dataset.read.scan_tuning import tuning
from lance_core.dataset.read.steps.late import late_columns
from lance_core.dataset.read.steps.results import FoundRows, PendingRows, fragment_edges
from lance_core.dataset.read.steps.window_rows import subset, window_rows
from lance_core.encodings.arrow.combine_chunks import fitting_batches
from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.encodings.arrow.take import take_rows
from lance_core.encodings.decoding import RowIndices

if TYPE_CHECKING:
    from lance_core.dataset.read.fragments.span import Span
    from lance_core.dataset.read.steps.column_steps import StepColumns
    from lance_core.dataset.read.steps.scan_reads import ScanReads
    from lance_core.encodings.decoding import Rows
    from lance_core.table.fragments.deletion import RowOffsets
    from lance_core.table.fragments.fragment import Fragment


def read_window(reads: ScanReads, span: Span) -> FoundRows | PendingRows:
    """The rows of ``span`` that satisfy the filter; perhaps `PendingRows` if they are few."""
    with reads.memory():
        if reads.plan.filter is None:
            return _all_rows(reads, span)
        return _filtered_rows(reads, span)


def window_batches(reads: ScanReads, span: Span) -> list[pa.RecordBatch]:
    """The rows of ``span`` in as few batches as can hold them; the plan has no filter."""
    with reads.memory():
        table = _all_rows(reads, span).table
        return list(fitting_batches(table, reads.plan.projection.schema))


def count_window(reads: ScanReads, span: Span) -> int:
    """The number of live rows that satisfy the filter; reads only the filter's columns."""
    rows = window_rows(reads.snapshot, reads.plan, span)
    if reads.plan.filter is None or len(rows) == 0:
        return len(rows)
    return int(np.count_nonzero(_mask(reads, span, rows)))


def matching_offsets(reads: ScanReads, span: Span) -> list[tuple[Fragment, RowOffsets]]:
    """The fragments, and the offsets of the span's live rows that satisfy the filter.

    Without a run, the list has the fragment even if no row does.
    """
    rows = window_rows(reads.snapshot, reads.plan, span)
    if reads.plan.filter is not None and len(rows):
        rows = subset(rows, np.flatnonzero(_mask(reads, span, rows)))
    parts = [(span.fragment, rows)] if span.run is None else span.run.parts(rows)
    return [(fragment, matches.numbers.astype(np.uint32)) for fragment, matches in parts]


def _all_rows(reads: ScanReads, span: Span) -> FoundRows:
    rows = window_rows(reads.snapshot, reads.plan, span)
    if len(rows) == 0:
        return FoundRows(reads.nothing)
    data = _read_early(reads, span, reads.columns.early, rows)
    reads.sizer.observe_data(span.num_rows, data)
    return FoundRows(reads.projected(data), fragment_edges(span.source, rows))


def _filtered_rows(reads: ScanReads, span: Span) -> FoundRows | PendingRows:
    rows = window_rows(reads.snapshot, reads.plan, span)
    if len(rows) == 0:
        return FoundRows(reads.nothing)
    columns, limits = reads.columns, tuning().columns
    size = columns.at_once_bytes
    is_whole = size is not None and len(rows) * size <= limits.at_once_bytes
    early = columns.early
    if is_whole:
        early = early._replace(fields=early.fields + columns.late_fields)
    tested = _read_early(reads, span, early, rows)
    mask = reads.mask(tested)
    if not mask.any():
        reads.sizer.observe_data(span.num_rows, tested)
        return FoundRows(reads.nothing)
    positions = np.flatnonzero(mask)
    passed = subset(rows, positions)
    matches = tested if len(positions) == len(rows) else take_rows(tested, from_numpy(positions))
    if columns.may_wait and not is_whole and len(positions) * limits.sparse <= len(rows):
        reads.sizer.observe_data(span.num_rows, tested)
        return PendingRows(span.source, passed.numbers, matches)
    data, read = matches, [tested]
    if not is_whole:
        # The window is observed once, with all columns: those of the filter alone would make the
        # windows far too large that other threads begin meanwhile.
        data = late_columns(reads, span.source, passed, matches)
        read.append(data)
    reads.sizer.observe_data(span.num_rows, *read)
    return FoundRows(reads.projected(data), fragment_edges(span.source, passed))


def _mask(reads: ScanReads, span: Span, rows: Rows) -> npt.NDArray[np.bool_]:
    """True for those of ``rows`` that satisfy the filter, of which only its columns are read."""
    tested = _read_early(reads, span, reads.columns.early, rows)
    reads.sizer.observe_data(span.num_rows, tested)
    return reads.mask(tested)


def _read_early(reads: ScanReads, span: Span, columns: StepColumns, rows: Rows) -> pa.Table:
    """The columns for ``rows``, none of which is excluded by the filter yet."""
    is_some = reads.plan.filter is not None and isinstance(rows, RowIndices)
    reader = reads.some_rows if is_some else reads.all_rows
    with reads.metrics.read.timed(len(rows), span.source):
        data = reader.read(span.source, columns, rows)
    if reads.plan.metrics is not None:
        reads.metrics.read.returned(data.num_rows, data.nbytes)
    return data
