"""`LanceScanner`: a scan that runs when one of its methods is called."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lance_core.dataset.expressions.zero_column_tables import zero_column_table
from lance_core.dataset.read import blob_frames, scan
from lance_core.dataset.read.scan_options import (
    BLOBS_AS_BYTES,
    ScanOptions,
    not_negative,
    plan_scan,
)
from lance_core.dataset.read.take import Indices, as_indices
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.encodings.arrow.take import take_rows
from lance_core.errors import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd


class LanceScanner:
    """A scan of one version, returned by `LanceDataset.scanner`. Each method call runs it again."""

    def __init__(self, snapshot: Snapshot, options: ScanOptions) -> None:
        self._snapshot = snapshot
        self._options = options
        self._plan = plan_scan(snapshot, options)

    @property
    def projected_schema(self) -> pa.Schema:
        """Schema of the result."""
        return self._plan.projection.schema

    @property
    def dataset_schema(self) -> pa.Schema:
        """Schema of the table that is scanned."""
        return self._snapshot.schema.to_arrow()

    def to_table(self) -> pa.Table:
        """The whole result."""
        return scan.scan_table(self._snapshot, self._plan)

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The result as record batches; memory does not depend on the size of the table."""
        return scan.scan_batches(self._snapshot, self._plan)

    def to_reader(self) -> pa.RecordBatchReader:
        """The result as an Arrow stream."""
        return pa.RecordBatchReader.from_batches(self.projected_schema, self.to_batches())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The result as an Arrow C stream, for any library that reads one."""
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def scan_batches(self) -> Iterator[pa.RecordBatch]:
        """Same as `to_batches`."""
        return self.to_batches()

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
        return scan.count(self._snapshot, self._plan)

    def head(self, num_rows: int) -> pa.Table:
        """The first rows of the result."""
        wanted = not_negative(num_rows, "Limit") or 0
        limit = wanted if self._plan.limit is None else min(wanted, self._plan.limit)
        return scan.scan_table(self._snapshot, replace(self._plan, limit=limit))

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

    def explain_plan(self, verbose: bool = False) -> str:
        """A description of the scan's steps for humans.

        ``verbose``: also read the statistics and state how many stored batches they exclude.
        """
        steps = [f"read {', '.join(f.name for f in self._plan.projection.fields) or 'no columns'}"]
        steps.append(f"of {len(self._plan.spans)} fragments of version {self._snapshot.version}")
        if self._plan.filter is not None:
            steps.append(f"where {self._options.filter}")
        if self._plan.limit is not None or self._plan.offset:
            steps.append(f"offset {self._plan.offset} limit {self._plan.limit}")
        if verbose:
            steps.append(f"batches of {self._plan.batch_size} rows")
            runs, skipped = scan.skipped_runs(self._snapshot, self._plan)
            if runs:
                steps.append(f"skipping {skipped} of {runs} stored batches by their statistics")
        return "LanceScan: " + ", ".join(steps)
