"""Scans with ``order_by``.

With a limit, the first step reads only the columns to sort by and keeps the best rows so far, so
its memory is bounded by the limit; the second step takes the other columns of the rows that win.
Without a limit, or with a large one, all rows are read and sorted: in memory, or by sorted runs in
a temporary folder if they need more than a memory budget.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from lance_core.dataset.read.columns.projection import ROW_ADDRESS, Output, Projection, select
from lance_core.dataset.read.given_rows.take import take_addresses
from lance_core.dataset.read.output.sort_keys import may_precede, row_bytes, sort_order
from lance_core.dataset.read.scan_metrics import UNMEASURED, ScanMetrics
from lance_core.dataset.read.scan_tuning import tuning
from lance_core.dataset.read.sources.fragment_spans import num_rows, stored_bytes
from lance_core.encodings.arrow.combine_chunks import combine_chunks, fitting_parts
from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.encodings.arrow.take import filter_rows, take_rows
from lance_core.encodings.arrow.zero_column_tables import (
    concatenated,
    sliced,
    zero_column_table,
)
from lance_core.index.external_sort import ExternalSort
from lance_core.index.runs import MemoryShares
from lance_core.store.temporary_folder import TemporaryFolder, memory_budget

if TYPE_CHECKING:
    from lance_core.dataset.read.fragments.span import Span
    from lance_core.dataset.read.plan import ScanPlan
    from lance_core.dataset.snapshot.snapshot import Snapshot


MEMORY_VARIABLE = "LANCE_CORE_SORT_MEMORY_BYTES"
"""The environment variable that replaces `Sorting.memory`."""


Scan: TypeAlias = "Callable[[ScanPlan], Iterator[pa.Table]]"
"""A function that runs a plan without order, and returns the result in parts."""


def ordered_rows(snapshot: Snapshot, plan: ScanPlan, scan: Scan) -> Iterator[pa.Table]:
    """The result of a plan with an order, in parts."""
    metrics = plan.metrics or UNMEASURED
    if plan.limit == 0:
        parts: Iterable[pa.Table] = ()
    elif is_two_step(plan):
        parts = [_best_rows(snapshot, plan, scan, metrics)]
    else:
        parts = _sorted_rows(plan, scan, metrics)
    for part in parts:
        if plan.metrics is not None:
            metrics.result.returned(part.num_rows, part.nbytes)
        yield part


def _sorted_rows(plan: ScanPlan, scan: Scan, metrics: ScanMetrics) -> Iterator[pa.Table]:
    """Sort all rows: in memory, or on disk if they need more than the memory budget."""
    columns = Projection.of(plan.schema, [*plan.projection.outputs, *_key_outputs(plan)])
    inner = None if plan.metrics is None else metrics.before_order(metrics.late)
    budget = memory_budget(MEMORY_VARIABLE, tuning().sort.memory)
    whole_scan = _without_order(plan, columns, inner)
    tables = (table for part in _parts(whole_scan, budget) for table in scan(part))
    memory = int(budget * tuning().sort.memory_share)
    run_bytes = min(MemoryShares(memory).run, tuning().sort.max_run_bytes)
    first_tables, size = [], 0
    for table in tables:
        first_tables.append(table)
        size += table.nbytes
        if size > run_bytes:
            yield from _sorted_on_disk(plan, _released(first_tables, tables), memory, metrics)
            return
    whole = concatenated(first_tables, columns.schema)
    count = len(plan.projection.outputs)
    stop = None if plan.limit is None else plan.offset + plan.limit
    with metrics.sort.timed(whole.num_rows):
        order = sort_order(whole.columns[count:], [by for by, _ in plan.order])
        rows = from_numpy(order[plan.offset : stop])
        chosen = take_rows(whole.select(list(range(count))), rows) if count else whole
        result = _result(plan, len(rows), chosen.columns[:count])
    metrics.sort.returned(result.num_rows, result.nbytes)
    yield result


def _result(plan: ScanPlan, num_rows: int, columns: Sequence[Any]) -> pa.Table:
    """The columns as a table with the schema of the result."""
    schema = plan.projection.schema
    if not columns:
        return zero_column_table(num_rows, schema)
    return pa.Table.from_arrays(columns, schema=schema)


def _sorted_on_disk(
    plan: ScanPlan, tables: Iterator[pa.Table], memory: int, metrics: ScanMetrics
) -> Iterator[pa.Table]:
    """Sort the rows of ``tables`` by sorted runs in a temporary folder."""
    count = len(plan.projection.outputs)
    names = [str(number) for number in range(count + 1)]
    skip, left = plan.offset, plan.limit

    def with_keys(rows: pa.Table) -> pa.RecordBatch:
        keys = row_bytes(rows.columns[count:], [by for by, _ in plan.order])
        arrays = [combine_chunks(column) for column in rows.columns[:count]]
        return pa.RecordBatch.from_arrays([keys, *arrays], names)

    with TemporaryFolder("sort") as folder:
        sort = ExternalSort(lambda: folder.file(""), memory)
        for table in tables:
            with metrics.sort.timed(table.num_rows):
                for batch in fitting_parts(table, with_keys):
                    sort.add(batch)
        for batch in sort.batches():
            result = sliced(_result(plan, batch.num_rows, batch.columns[1:]), skip, left)
            skip = max(0, skip - batch.num_rows)
            if not result.num_rows:
                continue
            metrics.sort.returned(result.num_rows, result.nbytes)
            yield result
            if left is not None:
                left -= result.num_rows
                if not left:
                    return


def _parts(plan: ScanPlan, budget: int) -> Iterator[ScanPlan]:
    """``plan`` in parts, so that the windows of a scan fit into a small budget; else as a whole.

    A scan has several windows in memory, each of up to `StreamWindows.max_bytes`.
    """
    if budget >= tuning().sort.small_memory or plan.filter is not None or not plan.spans:
        yield plan
        return
    width = -(-stored_bytes(plan.spans) // max(1, num_rows(plan.spans)))
    most = max(tuning().sort.min_part_rows, budget // 4 // max(1, width))
    spans: list[Span] = []
    rows = 0
    for span in plan.spans:
        is_whole = span.run is not None or span.chosen is not None
        step = max(1, span.stop - span.start) if is_whole else most
        for start in range(span.start, span.stop, step):
            spans.append(replace(span, start=start, stop=min(span.stop, start + step)))
            rows += spans[-1].num_rows
            if rows >= most:
                yield plan.of_spans(tuple(spans))
                spans, rows = [], 0
    if spans:
        yield plan.of_spans(tuple(spans))


def _released(first_tables: list[pa.Table], tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """All tables; those in ``first_tables`` leave the list, so that they do not stay in memory."""
    while first_tables:
        yield first_tables.pop(0)
    yield from tables


def _without_order(plan: ScanPlan, projection: Projection, metrics: ScanMetrics | None) -> ScanPlan:
    return replace(plan, projection=projection, order=(), limit=None, offset=0, metrics=metrics)


def is_two_step(plan: ScanPlan) -> bool:
    """True if the plan reads the columns to sort by before all others."""
    if plan.limit is None or plan.includes_deleted:
        return False
    return (plan.offset + plan.limit) * tuning().sort.rows_per_winner <= num_rows(plan.spans)


def _key_outputs(plan: ScanPlan) -> list[Output]:
    return [
        replace(output, field=output.field.with_name(f"{number} of the order"))
        for number, (_, output) in enumerate(plan.order)
    ]


def key_projection(plan: ScanPlan) -> Projection:
    """The projection of the first step: the columns to sort by, and row addresses."""
    address = select(plan.schema, (), (ROW_ADDRESS,)).outputs
    return Projection.of(plan.schema, [*_key_outputs(plan), *address])


def _best_rows(snapshot: Snapshot, plan: ScanPlan, scan: Scan, metrics: ScanMetrics) -> pa.Table:
    """Find the rows by the columns to sort by, then take them."""
    assert plan.limit is not None
    keys = key_projection(plan)
    best = BestRows(plan, plan.offset + plan.limit, keys.schema)
    inner = None if plan.metrics is None else metrics.before_order(metrics.read)
    for table in scan(_without_order(plan, keys, inner)):
        with metrics.sort.timed(table.num_rows):
            best.add(table)
    column = best.rows.column(best.rows.num_columns - 1).slice(plan.offset)
    addresses = np.asarray(column).astype(np.int64)
    metrics.sort.returned(len(addresses), best.rows.nbytes)
    if plan.metrics is not None:
        snapshot = replace(snapshot, reads=metrics.late)
    with metrics.late.timed(len(addresses)):
        result = take_addresses(snapshot, addresses, plan.projection)
    if plan.metrics is not None:
        metrics.late.fragments.update(np.unique(addresses >> 32).tolist())
    metrics.late.returned(result.num_rows, result.nbytes)
    return result


class BestRows:
    """The first ``count`` rows of all added ones in the order of a plan, in ``rows``."""

    def __init__(self, plan: ScanPlan, count: int, schema: pa.Schema) -> None:
        self._by = [by for by, _ in plan.order]
        self._count = count
        self.rows = concatenated([], schema)

    def add(self, table: pa.Table) -> None:
        """Add rows, which come after all earlier ones in the table."""
        first = max(tuning().sort.first_rows, self._count)
        if self.rows.num_rows < self._count and table.num_rows > first:
            self.add(table.slice(0, first))
            table = table.slice(first)
        if self.rows.num_rows == self._count:
            worst = self.rows.column(0).slice(self._count - 1)
            is_better = may_precede(table.column(0), worst, self._by[0], len(self._by) > 1)
            if is_better is not None:
                if not is_better.any():
                    return
                table = filter_rows(table, from_numpy(is_better))
        joined = pa.concat_tables([self.rows, table])
        order = sort_order(joined.columns[: len(self._by)], self._by)[: self._count]
        self.rows = take_rows(joined, from_numpy(order)).combine_chunks()
