"""The rows of a window that are read: live, allowed, and not excluded by statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from lance_core.dataset.read.columns.projection import ROW_ID
from lance_core.dataset.read.fragments.live_rows import within, without_deleted
from lance_core.dataset.read.fragments.run_reader import deleted_offsets, live, meta_values
from lance_core.dataset.read.scan_tuning import tuning
from lance_core.dataset.read.sources.pruning import rows_left
from lance_core.encodings.decoding import RowIndices, RowRange, Rows, packed_rows

if TYPE_CHECKING:
    from lance_core.dataset.read.fragments.span import Span
    from lance_core.dataset.read.plan import ScanPlan
    from lance_core.dataset.snapshot.snapshot import Snapshot


def window_rows(snapshot: Snapshot, plan: ScanPlan, span: Span) -> Rows:
    """The rows of ``span`` that a scan reads, before the filter."""
    rows = _live_rows(snapshot, plan, span)
    if plan.mask is None or len(rows) == 0:
        return rows
    ids = meta_values(snapshot, span.source, ROW_ID, rows)
    return subset(rows, np.flatnonzero(plan.mask.keep(ids)))


def _live_rows(snapshot: Snapshot, plan: ScanPlan, span: Span) -> Rows:
    source = span.source
    if plan.includes_deleted:
        return RowRange(span.start, span.stop)
    if span.chosen is not None:
        return without_deleted(deleted_offsets(snapshot, source), packed_rows(span.chosen_rows))
    if plan.filter is None or not plan.use_statistics or span.run is not None:
        return live(snapshot, source, RowRange(span.start, span.stop))
    ranges = rows_left(snapshot, span.fragment, plan.filter, span.start, span.stop).ranges
    if not ranges:
        return RowRange(span.start, span.start)
    hull = RowRange(ranges[0][0], ranges[-1][1])
    rows = live(snapshot, source, hull)
    num_left = sum(stop - start for start, stop in ranges)
    # Where most rows are left, it is faster to test those between them, too.
    if num_left * tuning().columns.dense >= len(hull):
        return rows
    return within(rows, ranges)


def subset(rows: Rows, chosen: npt.NDArray[np.intp]) -> Rows:
    """The rows at positions ``chosen`` of ``rows``."""
    if len(chosen) == len(rows):
        return rows
    if isinstance(rows, RowIndices):
        return RowIndices(rows.values[chosen])
    return RowIndices(chosen + rows.start)
