"""`IOStats`: what a dataset has read and written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lance_core.errors import UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass
from lance_core.store.process_reads import totals_of

if TYPE_CHECKING:
    from lance_core.dataset.snapshot.snapshot import TableRoot


@dataclass(frozen=True)
class IOStats:
    """Reads of byte ranges and objects, and written objects, both with their bytes."""

    read_iops: int
    read_bytes: int
    write_iops: int
    written_bytes: int


def io_stats(root: TableRoot, *, is_reset: bool) -> IOStats:
    """What this process has read and written in the table's folder.

    Counted since the first dataset of the session was opened, or since the last call with
    ``is_reset``. Raises `UnsupportedFeatureError` if the store does not count.
    """
    totals = totals_of(root.store)
    if totals is None:
        raise UnsupportedFeatureError(f"{root.store!r} does not count reads and writes")
    now = totals.numbers()
    starts = root.session.io_starts
    start = starts.get(totals, (0, 0, 0, 0))
    if is_reset:
        starts[totals] = now
    return IOStats(*(last - first for last, first in zip(now, start, strict=True)))
