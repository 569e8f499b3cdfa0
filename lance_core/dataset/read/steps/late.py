"""The second step of a window: the late columns of the rows that satisfy the filter.

A read of few rows mostly consists of planning each column in Python, which does not scale with
threads. So windows with few matching rows wait for further windows of their fragment, and one read
gets the late columns of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core.dataset.read.steps.column_reader import side_by_side
from lance_core.dataset.read.steps.results import (
    FoundRows,
    PendingRows,
    ScannedRows,
    WindowResult,
    fragment_edges,
)
from lance_core.encodings.arrow.decode_budget import BudgetExceededError, decode_budget
from lance_core.encodings.decoding import packed_rows

if TYPE_CHECKING:
    from lance_core.dataset.read.fragments.span import FragmentOrRun
    from lance_core.dataset.read.steps.scan_reads import ScanReads
    from lance_core.dataset.read.windows.window_sizing import WindowSizer
    from lance_core.encodings.decoding import Rows


def late_columns(reads: ScanReads, source: FragmentOrRun, rows: Rows, tested: pa.Table) -> pa.Table:
    """The early columns in ``tested``, and the late columns of ``rows``."""
    groups = reads.columns.late
    if not groups:
        return tested
    metrics = reads.metrics.late
    with metrics.timed(len(rows), source):
        parts = [reads.late.read(source, group, rows) for group in groups]
    if reads.plan.metrics is not None:
        metrics.returned(len(rows), sum(part.nbytes for part in parts))
    return side_by_side([tested, *parts])


def complete(reads: ScanReads, pending: PendingRows) -> FoundRows:
    """What `read_window` would have returned for the rows ``pending``."""
    rows = packed_rows(pending.offsets)
    with reads.memory():
        data = late_columns(reads, pending.source, rows, pending.tested)
        return FoundRows(reads.projected(data), fragment_edges(pending.source, rows))


Complete = Callable[[PendingRows], FoundRows]
"""A function that reads the late columns of rows."""


def completed(
    parts: Iterable[WindowResult],
    complete: Complete,
    nothing: Callable[[], pa.Table],
    sizer: WindowSizer,
    budget: int | None = None,
) -> Iterator[ScannedRows]:
    """The rows of ``parts`` in order, with all columns.

    ``nothing``: returns an empty table of the result. ``sizer`` determines the number of rows that
    one read completes, and observes their bytes. ``budget``: the maximum bytes that one read of
    several rows decodes; None for no limit.
    """
    waiting: list[PendingRows] = []
    for part, is_last in parts:
        if isinstance(part, PendingRows):
            waiting.append(part)
            table, edges = nothing(), None
        else:
            table, edges = part
        is_enough = sum(len(pending.offsets) for pending in waiting) >= sizer.rows
        if waiting and (is_enough or is_last or table.num_rows):
            for rows in _completed(waiting, complete, sizer, budget):
                yield ScannedRows(rows.table, False, rows.edges)
            waiting = []
        if is_last or table.num_rows:
            yield ScannedRows(table, is_last, edges)


def _completed(
    waiting: Sequence[PendingRows], complete: Complete, sizer: WindowSizer, budget: int | None
) -> Iterator[FoundRows]:
    """The completed rows of one fragment or run, in parts of ``sizer.rows`` rows."""
    source = waiting[0].source
    offsets = np.concatenate([pending.offsets for pending in waiting])
    tested = pa.concat_tables([pending.tested for pending in waiting])
    start = 0
    while start < len(offsets):
        count = min(sizer.rows, len(offsets) - start)
        part = PendingRows(source, offsets[start : start + count], tested.slice(start, count))
        completed = _within(part, complete, budget if count > 1 else None)
        if completed is None:
            assert budget is not None
            sizer.observe(count, budget)  # several times what it aims at, so fewer rows are next
            continue
        sizer.observe_data(count, completed.table)
        yield completed
        start += count


def _within(rows: PendingRows, complete: Complete, budget: int | None) -> FoundRows | None:
    """The completed ``rows``; None if they take more than ``budget`` bytes."""
    if budget is None:
        return complete(rows)
    with suppress(BudgetExceededError), decode_budget(budget):
        return complete(rows)
    return None
