"""The plan of a scan: the columns to return, and the rows to read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from lance_core.encodings.decoding import RowRange, packed_rows
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from pyroaring import BitMap

    from lance_core.dataset.expressions.filters import Filter
    from lance_core.dataset.read.prefilter.prefilter import Prefilter
    from lance_core.dataset.read.projection import Output, Projection
    from lance_core.dataset.read.row_masks import RowMask
    from lance_core.dataset.read.scan_metrics import ScanMetrics
    from lance_core.dataset.read.sort_keys import ColumnOrdering
    from lance_core.encodings.decoding import Int64Array, Rows
    from lance_core.schema import Schema
    from lance_core.table.fragments.data_file import DataFile
    from lance_core.table.fragments.fragment import Fragment

DEFAULT_BATCH_SIZE = 8192


@dataclass(frozen=True, slots=True, eq=False)
class FragmentRun:
    """Fragments whose files have the same fields and columns.

    ``starts``: the first physical row of each fragment in the run, then the number of all rows.
    """

    fragments: tuple[Fragment, ...]
    starts: Int64Array

    @property
    def id(self) -> int:
        """The id of the first fragment."""
        return self.fragments[0].id

    @property
    def files(self) -> tuple[DataFile, ...]:
        """The files of the first fragment, which has the same layout as the others."""
        return self.fragments[0].files

    def owners(self, offsets: Int64Array) -> Int64Array:
        """For each row of the run, the position of its fragment."""
        found: Int64Array = self.starts.searchsorted(offsets, "right") - 1
        return found

    def counts(self, rows: Rows) -> Int64Array:
        """The number of ``rows`` in each fragment."""
        if isinstance(rows, RowRange):
            clipped: Int64Array = np.clip(self.starts, rows.start, rows.stop)
            return clipped[1:] - clipped[:-1]
        return np.diff(rows.values.searchsorted(self.starts))

    def parts(self, rows: Rows) -> Iterator[tuple[Fragment, Rows]]:
        """Each fragment that has some of ``rows``, with the offsets of these rows in it."""
        ends = np.cumsum(self.counts(rows))
        firsts = [0, *ends[:-1].tolist()]
        for fragment, start, first, end in zip(
            self.fragments, self.starts.tolist(), firsts, ends.tolist(), strict=False
        ):
            if first == end:
                continue
            if isinstance(rows, RowRange):
                begin = rows.start + first - start
                yield fragment, RowRange(begin, begin + end - first)
            else:
                yield fragment, packed_rows(rows.values[first:end] - start)


RowSource: TypeAlias = "Fragment | FragmentRun"
"""The fragment or the run of fragments that has the rows of a span."""


def source_ids(source: RowSource) -> list[int]:
    """The ids of the fragments of ``source``."""
    if isinstance(source, FragmentRun):
        return [fragment.id for fragment in source.fragments]
    return [source.id]


@dataclass(frozen=True, slots=True)
class Span:
    """Physical rows ``start`` (inclusive) to ``stop`` (exclusive) of a fragment.

    With a ``run``, the rows count from the start of the run, and ``fragment`` is its first.
    ``chosen``: the rows to read, of which others may be outside of the span; None for all.
    """

    fragment: Fragment
    start: int
    stop: int
    run: FragmentRun | None = None
    chosen: BitMap | None = None

    @property
    def source(self) -> RowSource:
        """The fragment or run from whose start the rows count."""
        return self.fragment if self.run is None else self.run

    @property
    def num_rows(self) -> int:
        """The number of physical rows to read."""
        if self.chosen is None:
            return self.stop - self.start
        return self.chosen.range_cardinality(self.start, self.stop)

    @property
    def chosen_rows(self) -> Int64Array:
        """The physical rows to read."""
        from pyroaring import BitMap

        if self.chosen is None:
            return np.arange(self.start, self.stop)
        inside = self.chosen
        if inside.min() < self.start or inside.max() >= self.stop:
            inside = inside & BitMap(range(self.start, self.stop))
        return np.frombuffer(inside.to_array(), np.uint32).astype(np.int64)


@dataclass(frozen=True, slots=True)
class ScanPlan:
    """The plan of a scan.

    ``limit`` and ``offset`` count live rows that satisfy the filter. ``spans``: the rows to read,
    in the order of the result unless there is an ``order``. ``order``: the columns to sort by, each
    with its place in the stored fields. ``batch_size``: maximum rows of a batch; with ``exact`` all
    batches but the last have this size. ``batch_bytes``: approximate maximum bytes of a batch.
    ``schema``: the stored fields that projection and filter may name. ``mask``: the rows that may
    be returned. ``includes_deleted``: True returns deleted rows too, with null as row id and row
    address. ``late``: the columns that are read after the filter for the rows that satisfy it: True
    for all, False for none, the names of top-level columns, or None if the scan decides.
    ``use_statistics``: True if statistics in files may exclude rows. ``metrics``: what the scan
    measures, if anything. ``prefilter``: the search of indices for the filter. ``has_chosen_rows``:
    True if the spans have only rows that such a search returned.
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
    prefilter: Prefilter | None = None
    has_chosen_rows: bool = False

    @property
    def is_selective(self) -> bool:
        """True if only reading tells how many rows of a span are returned."""
        return self.filter is not None or self.mask is not None
