"""The plan of a scan: the columns to return, and the rows to read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from lance_core.dataset.expressions.filters import Filter
    from lance_core.dataset.read.projection import Projection
    from lance_core.dataset.snapshot.snapshot import Snapshot
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
    in the order of the result. ``batch_size``: maximum rows of a batch; with ``exact`` all batches
    but the last have this size. ``schema``: the stored fields that projection and filter may name.
    ``use_statistics``: True if statistics in files may exclude rows.
    """

    projection: Projection
    spans: tuple[Span, ...]
    schema: Schema
    filter: Filter | None = None
    limit: int | None = None
    offset: int = 0
    batch_size: int = DEFAULT_BATCH_SIZE
    exact: bool = False
    use_statistics: bool = True


def all_spans(snapshot: Snapshot) -> tuple[Span, ...]:
    """The spans of all rows of the table."""
    return tuple(
        Span(fragment, 0, snapshot.physical_rows(fragment))
        for fragment in snapshot.manifest.fragments
    )
