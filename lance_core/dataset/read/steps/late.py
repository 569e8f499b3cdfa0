"""Late materialisation: one read gets the other columns of rows from several filtered windows.

A read of few rows mostly consists of planning each column in Python, which does not scale with
threads. So windows with few matching rows wait for further windows of their fragment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core.dataset.read.steps.results import FoundRows, PendingRows, ScannedRows, WindowResult
from lance_core.encodings.arrow.decode_budget import BudgetExceededError, decode_budget

if TYPE_CHECKING:
    from lance_core.dataset.read.steps.early import Window
    from lance_core.dataset.read.windows.window_sizing import WindowSizer


def completed(
    parts: Iterable[WindowResult],
    window: Window,
    sizer: WindowSizer,
    budget: int | None = None,
) -> Iterator[ScannedRows]:
    """The rows of ``parts`` in order, with all columns.

    ``sizer`` determines the number of rows that one read completes, and observes their bytes.
    ``budget``: the maximum bytes that one read of several rows decodes; None for no limit.
    """
    waiting: list[PendingRows] = []
    for found, is_last in parts:
        if isinstance(found, PendingRows):
            waiting.append(found)
        table, edges = (window.nothing, None) if isinstance(found, PendingRows) else found
        is_enough = sum(len(chosen.offsets) for chosen in waiting) >= sizer.rows
        if waiting and (is_enough or is_last or table.num_rows):
            for part in _completed(waiting, window, sizer, budget):
                yield ScannedRows(part.table, False, part.edges)
            waiting = []
        if is_last or table.num_rows:
            yield ScannedRows(table, is_last, edges)


def _completed(
    waiting: Sequence[PendingRows], window: Window, sizer: WindowSizer, budget: int | None
) -> Iterator[FoundRows]:
    """The completed rows of one fragment or run, in parts of ``sizer.rows`` rows."""
    source = waiting[0].source
    offsets = np.concatenate([chosen.offsets for chosen in waiting])
    tested = pa.concat_tables([chosen.tested for chosen in waiting])
    start = 0
    while start < len(offsets):
        count = min(sizer.rows, len(offsets) - start)
        part = PendingRows(source, offsets[start : start + count], tested.slice(start, count))
        completed = _within(part, window, budget if count > 1 else None)
        if completed is None:
            assert budget is not None
            sizer.observe(count, budget)  # several times what it aims at, so fewer rows are next
            continue
        sizer.observe(count, completed.table.nbytes)
        yield completed
        start += count


def _within(rows: PendingRows, window: Window, budget: int | None) -> FoundRows | None:
    """The completed ``rows``; None if they take more than ``budget`` bytes."""
    if budget is None:
        return window.complete(rows)
    with suppress(BudgetExceededError), decode_budget(budget):
        return window.complete(rows)
    return None
