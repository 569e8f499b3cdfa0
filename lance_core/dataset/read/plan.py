"""The plan of a scan: the rows to read, and the columns to return."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from operator import attrgetter
from typing import TYPE_CHECKING

from lance_core.dataset.read.columns.projection import ROW_ADDRESS, Projection, required, select
from lance_core.dataset.read.sources.fragment_spans import cut_spans
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from lance_core.dataset.expressions.filters import Filter
    from lance_core.dataset.read.columns.ordering import ColumnOrdering
    from lance_core.dataset.read.columns.projection import Output
    from lance_core.dataset.read.fragments.span import Span
    from lance_core.dataset.read.scan_metrics import ScanMetrics
    from lance_core.dataset.read.sources.row_masks import RowMask
    from lance_core.dataset.read.sources.row_source import RowSource
    from lance_core.dataset.snapshot.snapshot import Snapshot
    from lance_core.schema import Field, Schema

DEFAULT_BATCH_SIZE = 8192


@dataclass(frozen=True, slots=True)
class ScanPlan:
    """The plan of a scan.

    ``rows``: where the rows come from. ``schema``: the stored fields that projection and filter may
    name. ``mask``: the rows that may be returned. ``limit`` and ``offset`` count live rows that
    satisfy the filter. ``order``: the columns to sort by, each with its place in the stored fields.
    ``batch_size``: maximum rows of a batch; with ``exact`` all batches but the last have this size.
    ``batch_bytes``: approximate maximum bytes of a batch. ``includes_deleted``: True returns
    deleted rows too, with null as row id and row address. ``late``: the columns that are read after
    the filter for the rows that satisfy it: True for all, False for none, the names of top-level
    columns, or None if the scan decides. ``use_statistics``: True if statistics in files may
    exclude rows. ``metrics``: what the scan measures, if anything.
    """

    projection: Projection
    rows: RowSource
    schema: Schema
    mask: RowMask | None = None
    limit: int | None = None
    offset: int = 0
    order: tuple[tuple[ColumnOrdering, Output], ...] = ()
    batch_size: int = DEFAULT_BATCH_SIZE
    batch_bytes: int | None = None
    exact: bool = False
    includes_deleted: bool = False
    late: bool | frozenset[str] | None = None
    use_statistics: bool = True
    metrics: ScanMetrics | None = None

    @property
    def spans(self) -> Sequence[Span]:
        """The rows to read, in the order of the result unless there is an ``order``."""
        return self.rows.spans

    @property
    def filter(self) -> Filter | None:
        """The condition that the rows of the result satisfy."""
        return self.rows.filter

    @property
    def has_chosen_rows(self) -> bool:
        """True if the spans have only rows that a search returned."""
        return self.rows.are_chosen

    @property
    def is_selective(self) -> bool:
        """True if only reading tells how many rows of a span are returned."""
        return self.rows.filter is not None or self.mask is not None

    @property
    def filter_fields(self) -> tuple[Field, ...]:
        """The stored fields that the filter needs."""
        condition = self.filter
        return () if condition is None else required(self.schema, condition.columns)[0]

    @property
    def read_fields(self) -> tuple[Field, ...]:
        """The stored fields of projection and filter; some may occur twice."""
        return self.projection.fields + self.filter_fields

    def of_spans(self, spans: Sequence[Span]) -> ScanPlan:
        """The same plan for other spans of the table."""
        return replace(self, rows=self.rows.of_spans(spans))

    def with_addresses(self) -> ScanPlan:
        """The same plan with the addresses of rows as a last column, unless it has them."""
        if ROW_ADDRESS in self.projection.schema.names:
            return self
        outputs = [*self.projection.outputs, *select(self.schema, (ROW_ADDRESS,)).outputs]
        return replace(self, projection=Projection.of(self.schema, outputs))

    def sections(self) -> list[ScanPlan]:
        """The plans that together return the rows of this one, without its limit and offset.

        Runs the searches of the source.
        """
        sections = self.rows.sections(self.metrics)
        if len(sections) == 1 and sections[0] is self.rows:
            return [self]
        projection, _, *others = _values(self)  # `replace` makes more calls
        return [ScanPlan(projection, rows, *others) for rows in sections]

    def up_to(self, rows: int) -> int:
        """``rows``, reduced to ``offset + limit``."""
        return rows if self.limit is None else min(rows, self.offset + self.limit)


_values = attrgetter(*(field.name for field in fields(ScanPlan)))


def narrowed(snapshot: Snapshot, plan: ScanPlan) -> ScanPlan:
    """The plan with spans reduced to offset and limit, which is possible without a filter."""
    if (plan.limit is None and not plan.offset) or plan.is_selective or plan.has_chosen_rows:
        return plan
    spans = cut_spans(snapshot, plan.rows.spans, plan.offset, plan.limit, plan.includes_deleted)
    return replace(plan, rows=plan.rows.of_spans(spans), offset=0)
