"""`LanceScanner`: a scan that runs when one of its methods is called."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import pyarrow as pa

from lance_core.dataset.arrow_class import ArrowInstance
from lance_core.dataset.expressions.zero_column_tables import sliced, zero_column_table
from lance_core.dataset.read import blob_frames, scan
from lance_core.dataset.read.scan_metrics import ScanMetrics
from lance_core.dataset.read.scan_options import (
    BLOBS_AS_BYTES,
    ScanOptions,
    not_negative,
    plan_scan,
)
from lance_core.dataset.read.sources.row_positions import Indices, as_indices
from lance_core.dataset.short_tracebacks import short_tracebacks
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.encodings.arrow.take import take_rows
from lance_core.errors import InvalidInputError, UnsupportedFeatureError, printable
from lance_core.imports.on_demand import lazy_module

if TYPE_CHECKING:
    import pandas as pd

    from lance_core.dataset.read import plan_text
    from lance_core.dataset.read.plan import ScanPlan
    from lance_core.dataset.read.plan_text import PlanText
    from lance_core.dataset.read.ranking import plan_ranking as rankings
    from lance_core.dataset.read.sources import scan_splits
    from lance_core.dataset.read.sources.scan_splits import ScanSplit
else:
    plan_text = lazy_module("lance_core.dataset.read.plan_text")
    rankings = lazy_module("lance_core.dataset.read.ranking.plan_ranking")
    scan_splits = lazy_module("lance_core.dataset.read.sources.scan_splits")

_log = logging.getLogger(__name__)


class TaggedRecordBatch(NamedTuple):
    """A batch, and the `LanceFragment` of its rows; None for a result that is sorted."""

    record_batch: pa.RecordBatch
    fragment: Any


@short_tracebacks
class LanceScanner(ArrowInstance):
    """A scan of one version, returned by `LanceDataset.scanner`. Each method call runs it again."""

    arrow_name = "Scanner"

    def __init__(
        self,
        snapshot: Snapshot,
        options: ScanOptions,
        fragment_of: Callable[[int], Any] | None = None,
    ) -> None:
        """``fragment_of``: the `LanceFragment` with an id, for `scan_batches`."""
        self._snapshot = snapshot
        self._fragment_of = fragment_of
        self._options = options
        self._ranked = None if options.search is None else rankings.plan_ranked(snapshot, options)
        self._plan = plan_scan(snapshot, options) if self._ranked is None else self._ranked.plan

    def __repr__(self) -> str:
        try:
            text = f"LanceScanner of {self._snapshot.root.redacted_uri}\n{self.explain_plan()}"
            return printable(text)
        except Exception:  # a traceback shows it, possibly half made or without descriptors left
            return "LanceScanner"

    @property
    def projected_schema(self) -> pa.Schema:
        """Schema of the result."""
        return self._plan.projection.schema if self._ranked is None else self._ranked.schema

    @property
    def dataset_schema(self) -> pa.Schema:
        """Schema of the table that is scanned."""
        return self._snapshot.schema.to_arrow()

    def to_table(self) -> pa.Table:
        """The whole result."""
        return self._table(self._plan)

    def _table(self, plan: ScanPlan) -> pa.Table:
        plan = self._measured(plan)
        if self._ranked is None:
            found = scan.scan_table(self._snapshot, plan)
        else:
            found = replace(self._ranked, plan=plan).table(self._snapshot)
        self._report(plan)
        return found

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The result as record batches; memory does not depend on the size of the table."""
        if self._ranked is not None:
            return iter(self._table(self._plan).to_batches(max_chunksize=self._plan.batch_size))
        if self._options.scan_stats_callback is None:
            return scan.scan_batches(self._snapshot, self._plan)
        return self._reported_batches()

    def _reported_batches(self) -> Iterator[pa.RecordBatch]:
        plan = self._measured(self._plan)
        yield from scan.scan_batches(self._snapshot, plan)
        self._report(plan)

    def _measured(self, plan: ScanPlan) -> ScanPlan:
        """``plan`` with new metrics if the caller wants statistics."""
        wanted = self._options.scan_stats_callback is not None
        return replace(plan, metrics=ScanMetrics()) if wanted else plan

    def _report(self, plan: ScanPlan) -> None:
        """Call the caller's callback, if any; log its errors."""
        callback = self._options.scan_stats_callback
        if callback is None or plan.metrics is None:
            return
        try:
            callback(plan.metrics.statistics())
        except Exception:
            _log.exception("scan_stats_callback failed")

    def to_reader(self) -> pa.RecordBatchReader:
        """The result as an Arrow stream."""
        return pa.RecordBatchReader.from_batches(self.projected_schema, self.to_batches())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The result as an Arrow C stream, for any library that reads one."""
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def scan_batches(self) -> Iterator[TaggedRecordBatch]:
        """Same as `to_batches`, each batch with the fragment of its rows."""
        plan, skip, left = self._plan, self._plan.offset, self._plan.limit
        if plan.order or self._ranked is not None:
            yield from (TaggedRecordBatch(batch, None) for batch in self.to_batches())
            return
        for span in plan.spans:
            if left == 0:
                return
            most = None if left is None else left + skip
            part = replace(plan.of_spans((span,)), offset=0, limit=most)
            fragment = self._fragment_of and self._fragment_of(span.fragment.id)
            for batch in scan.scan_batches(self._snapshot, part):
                kept = sliced(pa.Table.from_batches([batch]), skip) if skip else batch
                skip = max(0, skip - batch.num_rows)
                if left is not None:
                    left -= kept.num_rows
                for one in kept.to_batches() if isinstance(kept, pa.Table) else [kept]:
                    yield TaggedRecordBatch(one, fragment)

    def to_pandas(self, *, blob_mode: str = blob_frames.LAZY, **kwargs: Any) -> pd.DataFrame:
        """The whole result as a data frame; ``kwargs`` are those of `pyarrow.Table.to_pandas`.

        ``blob_mode``: the form of blobs: ``"lazy"`` (`BlobFile` objects), ``"bytes"``, or
        ``"descriptions"`` (as in `to_table`). Null blobs are None.
        """
        blob_frames.check_mode(blob_mode)
        has_blobs = blob_frames.has_described_blobs(self.projected_schema)
        if not has_blobs or blob_mode == blob_frames.DESCRIPTIONS:
            return self.to_table().to_pandas(**kwargs)
        if blob_mode == blob_frames.BYTES:
            options = replace(self._options, blob_handling=BLOBS_AS_BYTES)
            return LanceScanner(self._snapshot, options).to_table().to_pandas(**kwargs)
        return blob_frames.with_files(self._snapshot, self._plan, kwargs)

    def count_rows(self) -> int:
        """The number of rows of the result; reads only the columns that the filter needs."""
        if self._ranked is not None:
            return self._ranked.count(self._snapshot)
        return scan.count(self._snapshot, self._plan)

    def splits(self) -> list[ScanSplit]:
        """The rows to read, by fragment, for processes that each scan some of them.

        If the table has an index for the filter, it is searched now, and the splits have only the
        rows that it returns. A process scans splits, or parts of them, with the option ``splits``,
        the same version and the same filter, and searches no index. Limit, offset and order are
        ignored here. Raises `UnsupportedFeatureError` for a search.
        """
        if self._ranked is not None:
            raise UnsupportedFeatureError("the rows of a search have no splits")
        return list(scan_splits.splits_of(self._plan.rows))

    def head(self, num_rows: int) -> pa.Table:
        """The first rows of the result."""
        wanted = not_negative(num_rows, "Limit") or 0
        limit = wanted if self._plan.limit is None else min(wanted, self._plan.limit)
        return self._table(replace(self._plan, limit=limit))

    def take(self, indices: Indices) -> pa.Table:
        """Rows of the result by position."""
        table, rows = self.to_table(), as_indices(indices)
        if len(rows) and rows.max() >= table.num_rows:
            raise InvalidInputError(
                f"row {rows.max()} is out of range: the result has {table.num_rows} rows"
            )
        return (
            take_rows(table, from_numpy(rows))
            if table.num_columns
            else zero_column_table(len(rows))
        )

    def explain_plan(self, verbose: bool = False) -> PlanText:
        """The steps of the scan, the last one first.

        ``verbose``: also read the statistics of files and state how many stored batches they
        exclude.
        """
        return plan_text.PlanText.of(self._steps(self._plan, verbose))

    def analyze_plan(self, count_rows: bool = False) -> PlanText:
        """Run the scan, discard its result, and return the plan with metrics.

        Each step has its rows, bytes, requests and processing time, the sum over all threads.
        ``count_rows``: measure `count_rows` instead.
        """
        plan = replace(self._plan, metrics=ScanMetrics())
        start = time.perf_counter()
        if self._ranked is not None:
            replace(self._ranked, plan=plan).table(self._snapshot)
        elif count_rows:
            scan.count(self._snapshot, plan)
        else:
            for _ in scan.scan_batches(self._snapshot, plan):
                pass
        seconds = time.perf_counter() - start
        return plan_text.analyzed(self._steps(plan, count_rows=count_rows), plan, seconds)

    def _steps(
        self, plan: ScanPlan, verbose: bool = False, count_rows: bool = False
    ) -> list[plan_text.PlanStep]:
        if self._ranked is not None:
            return plan_text.ranked_steps(self._snapshot, self._ranked, self._options, verbose)
        return plan_text.plan_steps(self._snapshot, plan, self._options, verbose, count_rows)

    @staticmethod
    def from_dataset(*args: Any, **kwargs: Any) -> NoReturn:
        """Not supported; use `LanceDataset.scanner`."""
        raise UnsupportedFeatureError("from_dataset is not supported: use LanceDataset.scanner")

    @staticmethod
    def from_fragment(*args: Any, **kwargs: Any) -> NoReturn:
        """Not supported; use `LanceFragment.scanner`."""
        raise UnsupportedFeatureError("from_fragment is not supported: use LanceFragment.scanner")

    @staticmethod
    def from_batches(*args: Any, **kwargs: Any) -> NoReturn:
        """Not supported; a scanner reads a table."""
        raise UnsupportedFeatureError("from_batches: a scanner reads a table")
