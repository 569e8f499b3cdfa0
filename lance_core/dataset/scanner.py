"""`LanceScanner`: a scan that runs when one of its methods is called."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import pyarrow as pa

from lance_core.dataset.arrow_class import ArrowInstance
from lance_core.dataset.read.planned_scan import (
    is_measured,
    measured,
    planned_scan,
    planned_table,
    reported,
)
from lance_core.dataset.read.scan_metrics import ScanMetrics
from lance_core.dataset.read.scan_options import BLOBS_AS_BYTES, ScanOptions, not_negative
from lance_core.dataset.read.sources.row_positions import Indices, as_indices
from lance_core.dataset.short_tracebacks import short_tracebacks
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.encodings.arrow.take import take_rows
from lance_core.encodings.arrow.zero_column_tables import zero_column_table
from lance_core.errors import InvalidInputError, UnsupportedFeatureError, printable
from lance_core.imports.on_demand import lazy_module

if TYPE_CHECKING:
    import pandas as pd

    from lance_core.dataset.read import blob_frames, plan_text
    from lance_core.dataset.read.plan_text import PlanText
    from lance_core.dataset.read.sources.scan_splits import ScanSplit
else:
    blob_frames = lazy_module("lance_core.dataset.read.blob_frames")
    plan_text = lazy_module("lance_core.dataset.read.plan_text")


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
        self._scan = planned_scan(snapshot, options)

    def __repr__(self) -> str:
        try:
            text = f"LanceScanner of {self._snapshot.root.redacted_uri}\n{self.explain_plan()}"
            return printable(text)
        except Exception:  # a traceback shows it, possibly half made or without descriptors left
            return "LanceScanner"

    @property
    def projected_schema(self) -> pa.Schema:
        """Schema of the result."""
        return self._scan.schema

    @property
    def dataset_schema(self) -> pa.Schema:
        """Schema of the table that is scanned."""
        return self._snapshot.schema.to_arrow()

    def to_table(self) -> pa.Table:
        """The whole result."""
        return planned_table(self._scan)

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The result as record batches; memory does not depend on the size of the table."""
        return self._reported_batches() if is_measured(self._scan) else self._scan.batches()

    def _reported_batches(self) -> Iterator[pa.RecordBatch]:
        planned = measured(self._scan)
        with reported(planned):
            yield from planned.batches()

    def to_reader(self) -> pa.RecordBatchReader:
        """The result as an Arrow stream."""
        return pa.RecordBatchReader.from_batches(self.projected_schema, self.to_batches())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The result as an Arrow C stream, for any library that reads one."""
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def scan_batches(self) -> Iterator[TaggedRecordBatch]:
        """Same as `to_batches`, each batch with the fragment of its rows."""
        of_fragments = self._scan.fragment_batches()
        if of_fragments is None:
            yield from (TaggedRecordBatch(batch, None) for batch in self.to_batches())
            return
        last_id, fragment = None, None
        for fragment_id, batch in of_fragments:
            if fragment_id != last_id:
                last_id = fragment_id
                fragment = self._fragment_of and self._fragment_of(fragment_id)
            yield TaggedRecordBatch(batch, fragment)

    def to_pandas(self, *, blob_mode: str = "lazy", **kwargs: Any) -> pd.DataFrame:
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
        return blob_frames.with_files(self._snapshot, self._scan, kwargs)

    def count_rows(self) -> int:
        """The number of rows of the result; reads only the columns that the filter needs."""
        return self._scan.count()

    def splits(self) -> list[ScanSplit]:
        """The rows to read, by fragment, for processes that each scan some of them.

        If the table has an index for the filter, it is searched now, and the splits have only the
        rows that it returns. A process scans splits, or parts of them, with the option ``splits``,
        the same version and the same filter, and searches no index. Limit, offset and order are
        ignored here. Raises `UnsupportedFeatureError` for a search.
        """
        return self._scan.splits()

    def head(self, num_rows: int) -> pa.Table:
        """The first rows of the result."""
        limit, plan = not_negative(num_rows, "Limit") or 0, self._scan.plan
        if plan.limit is not None:
            limit = min(limit, plan.limit)
        return planned_table(self._scan.with_plan(replace(plan, limit=limit)))

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
        return plan_text.PlanText.of(self._scan.steps(is_verbose=verbose, is_count=False))

    def analyze_plan(self, count_rows: bool = False) -> PlanText:
        """Run the scan, discard its result, and return the plan with metrics.

        Each step has its rows, bytes, requests and processing time, the sum over all threads.
        ``count_rows``: measure `count_rows` instead.
        """
        planned = self._scan.with_plan(replace(self._scan.plan, metrics=ScanMetrics()))
        start = time.perf_counter()
        planned.run(is_count=count_rows)
        seconds = time.perf_counter() - start
        steps = planned.steps(is_verbose=False, is_count=count_rows)
        return plan_text.analyzed(steps, planned.plan, seconds)

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
