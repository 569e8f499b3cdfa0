"""`SearchScan`: a scan whose result are the best rows of a search, best first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from lance_core.dataset.read import plan_text
from lance_core.dataset.read.columns.projection import META_FIELDS, ROW_ADDRESS, Output
from lance_core.dataset.read.ranking.plan_ranking import plan_ranked
from lance_core.errors import UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    import pyarrow as pa

    from lance_core.dataset.read.plan import ScanPlan
    from lance_core.dataset.read.ranking.plan_ranking import Run
    from lance_core.dataset.read.ranking.ranked_scan import RankedScan
    from lance_core.dataset.read.scan_options import ScanOptions
    from lance_core.dataset.snapshot.snapshot import Snapshot


@dataclass(frozen=True, slots=True, eq=False)
class SearchScan:
    """A `PlannedScan` of ranked rows. A search knows its result only as a whole."""

    snapshot: Snapshot
    options: ScanOptions
    ranked: RankedScan

    @classmethod
    def of(cls, snapshot: Snapshot, options: ScanOptions, run: Run) -> SearchScan:
        """The scan for the search of ``options``; see `plan_ranked`."""
        return cls(snapshot, options, plan_ranked(snapshot, options, run))

    @property
    def plan(self) -> ScanPlan:
        return self.ranked.plan

    @property
    def schema(self) -> pa.Schema:
        return self.ranked.schema

    def with_plan(self, plan: ScanPlan) -> SearchScan:
        return SearchScan(self.snapshot, self.options, replace(self.ranked, plan=plan))

    def with_addresses(self) -> SearchScan:
        wider = self.with_plan(self.plan.with_addresses())
        if ROW_ADDRESS in self.schema.names:
            return wider
        outputs = (*self.ranked.outputs, Output(META_FIELDS[ROW_ADDRESS], (ROW_ADDRESS,)))
        return replace(wider, ranked=replace(wider.ranked, outputs=outputs))

    def table(self) -> pa.Table:
        return self.ranked.table(self.snapshot)

    def batches(self) -> Iterator[pa.RecordBatch]:
        return iter(self.table().to_batches(max_chunksize=self.plan.batch_size))

    def fragment_batches(self) -> None:
        return None

    def count(self) -> int:
        return self.ranked.count(self.snapshot)

    def splits(self) -> NoReturn:
        raise UnsupportedFeatureError("the rows of a search have no splits")

    def run(self, *, is_count: bool) -> None:
        self.table()

    def steps(self, *, is_verbose: bool, is_count: bool) -> list[plan_text.PlanStep]:
        return plan_text.ranked_steps(self.snapshot, self.ranked, self.options, is_verbose)
