"""The plan of a scan: the columns to return, and the rows to read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from lance_core.dataset.expressions.filters import Filter
    from lance_core.dataset.read.projection import Output, Projection
    from lance_core.dataset.read.row_masks import RowMask
    from lance_core.dataset.read.scan_metrics import ScanMetrics
    from lance_core.dataset.read.sort_keys import ColumnOrdering
    from lance_core.schema import Schema
    from lance_core.table.fragments.fragment import Fragment

DEFAULT_BATCH_SIZE = 8192


@dataclass(frozen=True, slots=True)
class Span:
    """Physical rows ``start`` (inclusive) to ``stop`` (exclusive) of a fragment."""

    fragment: Fragment
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class ScanPlan:
    """The plan of a scan.

    ``limit`` and ``offset`` count live rows that satisfy the filter. ``spans``: the rows to read,
    in the order of the result unless there is an ``order``, which has each column with its place in
    the stored fields. ``batch_size``: maximum rows of a batch; with ``exact`` all batches but the
    last have this size. ``batch_bytes``: approximate maximum bytes of a batch. ``schema``: the
    stored fields that projection and filter may name. ``mask``: the rows that may be returned.
    ``includes_deleted``: True returns deleted rows too, with null as row id and row address.
    ``late``: the columns that are read after the filter for the rows that satisfy it: True for all,
    False for none, the names of top-level columns, or None if the scan decides. ``use_statistics``:
    True if statistics in files may exclude rows. ``metrics``: what the scan measures, if anything.
    """

    projection: Projection
    spans: Sequence[Span]
    schema: Schema
    filter: Filter | None = None
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
    def is_selective(self) -> bool:
        """True if only reading tells how many rows of a span are returned."""
        return self.filter is not None or self.mask is not None
