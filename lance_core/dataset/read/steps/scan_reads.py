"""What all windows of a scan share: its plan, the columns of each step, and who reads them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.concurrency.fork_safe import cached_property
from lance_core.dataset.read.scan_metrics import UNMEASURED
from lance_core.dataset.read.steps.column_reader import ColumnReader
from lance_core.dataset.read.steps.column_steps import column_steps
from lance_core.dataset.read.windows.read_ahead import reading_ahead
from lance_core.encodings.arrow.memory_pool import low_retention_pool, release_unused
from lance_core.lazy_dataclass import dataclass
from lance_core.schema.empty_arrays import empty_table

if TYPE_CHECKING:
    from lance_core.dataset.read.plan import ScanPlan
    from lance_core.dataset.read.scan_metrics import ScanMetrics
    from lance_core.dataset.read.steps.column_steps import ColumnSteps
    from lance_core.dataset.read.windows.window_sizing import WindowSizer
    from lance_core.dataset.snapshot.snapshot import Snapshot


@dataclass(frozen=True, eq=False)
class ScanReads:
    """The reads of one scan, used by all its threads.

    ``snapshot``: for what is not a column, such as deleted rows. ``all_rows`` and ``some_rows``
    read early columns, for ranges of rows and for rows that indices or statistics selected;
    ``late`` reads the columns of rows that satisfy the filter. ``sizer``: observes the bytes of
    windows. ``low_retention``: True returns unused memory to the system after each window, which
    costs time; ``max_kept``: but not so many bytes of large columns, which the next scan uses.
    """

    plan: ScanPlan
    columns: ColumnSteps
    metrics: ScanMetrics
    all_rows: ColumnReader
    some_rows: ColumnReader
    late: ColumnReader
    sizer: WindowSizer
    low_retention: bool = False
    max_kept: int = 0

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot whose reads count as early."""
        return self.all_rows.snapshot

    @cached_property
    def nothing(self) -> pa.Table:
        """An empty table with the schema of the result."""
        return empty_table(self.plan.projection.schema)

    def mask(self, tested: pa.Table) -> npt.NDArray[np.bool_]:
        """True for the rows of ``tested`` that satisfy the filter of the plan."""
        assert self.plan.filter is not None
        with self.metrics.filter.timed(tested.num_rows):
            mask = self.plan.filter.mask(tested)
        if self.plan.metrics is not None:
            self.metrics.filter.returned(int(np.count_nonzero(mask)), 0)
        return mask

    def projected(self, data: pa.Table) -> pa.Table:
        """The columns of the result."""
        with self.metrics.result.timed(data.num_rows):
            result = self.plan.projection.apply(data, self.snapshot.root.registry.kernels)
        if self.plan.metrics is not None:
            self.metrics.result.returned(result.num_rows, result.nbytes)
        return result

    @contextmanager
    def memory(self) -> Iterator[None]:
        """Allocate the columns of a window as ``low_retention`` says."""
        if not self.low_retention:
            yield
            return
        with low_retention_pool(max_kept=self.max_kept):
            yield
        release_unused()


def scan_reads(
    snapshot: Snapshot,
    plan: ScanPlan,
    sizer: WindowSizer,
    *,
    low_retention: bool = False,
    max_kept: int = 0,
) -> ScanReads:
    """The reads of ``plan``, with read-ahead if it reads all of its rows."""
    metrics = plan.metrics or UNMEASURED
    first = late = snapshot
    if plan.metrics is not None:
        first, late = replace(snapshot, reads=metrics.read), replace(snapshot, reads=metrics.late)
    if not plan.has_chosen_rows and (plan.filter is None or plan.limit is None):
        first, late = reading_ahead(first, late, plan.spans)
    all_rows = ColumnReader(first, plan.includes_deleted)
    others = all_rows if late is first else ColumnReader(late, plan.includes_deleted)
    some_rows = others
    if plan.metrics is not None:
        some_rows = ColumnReader(replace(late, reads=metrics.read), plan.includes_deleted)
    columns = column_steps(snapshot, plan)
    readers = all_rows, some_rows, others
    return ScanReads(plan, columns, metrics, *readers, sizer, low_retention, max_kept)
