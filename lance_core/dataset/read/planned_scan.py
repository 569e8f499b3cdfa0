"""`PlannedScan`: what a scanner runs, either the rows of a table or the best rows of a search."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from lance_core.concurrency.turns import leave_turn
from lance_core.dataset.read import scan
from lance_core.dataset.read.scan_metrics import ScanMetrics
from lance_core.dataset.read.scan_options import plan_scan
from lance_core.encodings.arrow.zero_column_tables import sliced
from lance_core.imports.on_demand import lazy_module
from lance_core.lazy_dataclass import dataclass
from lance_core.observation import OBSERVERS, traced

if TYPE_CHECKING:
    from typing import Self

    from lance_core.dataset.read import plan_text, scan_reports, search_scan
    from lance_core.dataset.read.plan import ScanPlan
    from lance_core.dataset.read.scan_options import ScanOptions
    from lance_core.dataset.read.sources import scan_splits
    from lance_core.dataset.read.sources.scan_splits import ScanSplit
    from lance_core.dataset.snapshot.snapshot import Snapshot
else:
    plan_text = lazy_module("lance_core.dataset.read.plan_text")
    scan_reports = lazy_module("lance_core.dataset.read.scan_reports")
    scan_splits = lazy_module("lance_core.dataset.read.sources.scan_splits")
    search_scan = lazy_module("lance_core.dataset.read.search_scan")


_log = logging.getLogger(__name__)


class PlannedScan(Protocol):
    """A scan of one version that can be run, as often as its methods are called."""

    @property
    def plan(self) -> ScanPlan:
        """What is read of the table; its limit and offset count rows of the result."""

    @property
    def options(self) -> ScanOptions:
        """What the user has asked for."""

    @property
    def schema(self) -> pa.Schema:
        """The schema of the result."""

    def with_plan(self, plan: ScanPlan) -> Self:
        """This scan with another limit, with metrics, …; the columns stay."""

    def with_addresses(self) -> Self:
        """This scan with the addresses of its rows as a last column, unless it has them."""

    def table(self) -> pa.Table:
        """The whole result."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The result as a stream of batches."""

    def fragment_batches(self) -> Iterator[tuple[int, pa.RecordBatch]] | None:
        """Batches with the id of the fragment of their rows; None if batches mix fragments."""

    def count(self) -> int:
        """The number of rows of the result."""

    def splits(self) -> list[ScanSplit]:
        """The rows to read, by fragment; raises `UnsupportedFeatureError` for a search."""

    def run(self, *, is_count: bool) -> None:
        """Run the scan, or count its rows, and discard the result."""

    def steps(self, *, is_verbose: bool, is_count: bool) -> list[plan_text.PlanStep]:
        """The steps as `plan_text.plan_steps` describes them."""


def planned_scan(snapshot: Snapshot, options: ScanOptions) -> PlannedScan:
    """The scan that ``options`` describe.

    Raises `InvalidInputError`, and `PluginNotFoundError` if no plugin has the search.
    """
    if options.nearest is not None or options.other_search is not None:
        leave_turn()
        return search_scan.SearchScan.of(snapshot, options, scan_table)
    return TableScan(snapshot, options, plan_scan(snapshot, options))


def planned_table(planned: PlannedScan) -> pa.Table:
    """The whole result; see `reported`."""
    if not is_measured(planned):
        return planned.table()
    planned = measured(planned)
    with reported(planned):
        return planned.table()


def is_measured(planned: PlannedScan) -> bool:
    """True if the user wants statistics, or an observer gets reports."""
    return bool(OBSERVERS) or planned.options.scan_stats_callback is not None


def measured(planned: PlannedScan) -> PlannedScan:
    """``planned`` with new metrics."""
    return planned.with_plan(replace(planned.plan, metrics=ScanMetrics()))


@contextmanager
def reported(planned: PlannedScan) -> Iterator[None]:
    """Report the scan in a block to observers; call the user's ``scan_stats_callback`` after it."""
    if not OBSERVERS:
        yield
    else:
        with traced("lance.scan", is_current=False) as results:
            try:
                yield
            finally:
                metrics = planned.plan.metrics
                results.update(scan_reports.counted(metrics) if metrics is not None else {})
    _call_back(planned)


def _call_back(planned: PlannedScan) -> None:
    """Call the user's ``scan_stats_callback``, if any, after a scan; log its errors."""
    callback, metrics = planned.options.scan_stats_callback, planned.plan.metrics
    if callback is None or metrics is None:
        return
    leave_turn()  # the function of the user may wait
    try:
        callback(metrics.statistics())
    except Exception:
        _log.exception("scan_stats_callback failed")


def scan_table(snapshot: Snapshot, options: ScanOptions) -> pa.Table:
    """The result of the scan that ``options`` describe."""
    return planned_scan(snapshot, options).table()


@dataclass(frozen=True, slots=True, eq=False)
class TableScan:
    """A `PlannedScan` of rows in the order of the table, or sorted by columns."""

    snapshot: Snapshot
    options: ScanOptions
    plan: ScanPlan

    @property
    def schema(self) -> pa.Schema:
        return self.plan.projection.schema

    def with_plan(self, plan: ScanPlan) -> TableScan:
        return TableScan(self.snapshot, self.options, plan)

    def with_addresses(self) -> TableScan:
        return self.with_plan(self.plan.with_addresses())

    def table(self) -> pa.Table:
        return scan.scan_table(self.snapshot, self.plan)

    def batches(self) -> Iterator[pa.RecordBatch]:
        return scan.scan_batches(self.snapshot, self.plan)

    def fragment_batches(self) -> Iterator[tuple[int, pa.RecordBatch]] | None:
        return None if self.plan.order else self._fragment_batches()

    def _fragment_batches(self) -> Iterator[tuple[int, pa.RecordBatch]]:
        """One scan for each span of a fragment, each with what is left of limit and offset."""
        skip, left = self.plan.offset, self.plan.limit
        for span in self.plan.spans:
            if left == 0:
                return
            most = None if left is None else left + skip
            part = replace(self.plan.of_spans((span,)), offset=0, limit=most)
            for batch in scan.scan_batches(self.snapshot, part):
                rows = sliced(pa.Table.from_batches([batch]), skip) if skip else batch
                skip = max(0, skip - batch.num_rows)
                if left is not None:
                    left -= rows.num_rows
                for rest in rows.to_batches() if isinstance(rows, pa.Table) else [rows]:
                    yield span.fragment.id, rest

    def count(self) -> int:
        return scan.count(self.snapshot, self.plan)

    def splits(self) -> list[ScanSplit]:
        return list(scan_splits.splits_of(self.plan.rows))

    def run(self, *, is_count: bool) -> None:
        if is_count:
            self.count()
            return
        for _ in self.batches():
            pass

    def steps(self, *, is_verbose: bool, is_count: bool) -> list[plan_text.PlanStep]:
        return plan_text.plan_steps(self.snapshot, self.plan, self.options, is_verbose, is_count)
