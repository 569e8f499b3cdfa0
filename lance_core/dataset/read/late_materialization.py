"""Late materialisation: rows that a filter chose in several windows are completed by one read.

A read of few rows is mostly planning, in Python, for each column, by which threads only hinder each
other. So windows in which few rows passed wait for others of their fragment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from lance_core.dataset.read.batches import ScannedRows
from lance_core.dataset.read.scan_window import PendingRows

if TYPE_CHECKING:
    from lance_core.dataset.read.scan_window import Window
    from lance_core.dataset.read.window_sizing import WindowSizer


class WindowResult(NamedTuple):
    """What a window found; ``is_last``: no others of the same span come after it."""

    found: pa.Table | PendingRows
    is_last: bool


def completed(
    parts: Iterable[WindowResult], window: Window, sizer: WindowSizer
) -> Iterator[ScannedRows]:
    """The parts in their order, with all columns.

    ``sizer`` says how many chosen rows are completed at a time, and is told what they took.
    """
    waiting: list[PendingRows] = []
    for found, is_last in parts:
        if isinstance(found, PendingRows):
            waiting.append(found)
            table = window.nothing
        else:
            table = found
        is_enough = sum(len(chosen.offsets) for chosen in waiting) >= sizer.rows
        if waiting and (is_enough or is_last or table.num_rows):
            for part in _completed(waiting, window, sizer):
                yield ScannedRows(part, is_last=False)
            waiting = []
        if is_last or table.num_rows:
            yield ScannedRows(table, is_last)


def _completed(
    waiting: Sequence[PendingRows], window: Window, sizer: WindowSizer
) -> Iterator[pa.Table]:
    """Rows of one fragment, as many at a time as the sizer says."""
    fragment = waiting[0].fragment
    offsets = np.concatenate([chosen.offsets for chosen in waiting])
    tested = pa.concat_tables([chosen.tested for chosen in waiting])
    start = 0
    while start < len(offsets):
        count = min(sizer.rows, len(offsets) - start)
        part = PendingRows(fragment, offsets[start : start + count], tested.slice(start, count))
        table = window.complete(part)
        sizer.observe(count, table.nbytes)
        yield table
        start += count
