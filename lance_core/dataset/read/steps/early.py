"""One window of a scan: rows of a fragment or of a run, filtered early, materialised late.

With a filter, only the filter's columns are read for all rows of a window; the other columns are
read for the rows that satisfy the filter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.concurrency.fork_safe import cached_property
from lance_core.dataset.expressions.combine_chunks import fitting_batches
from lance_core.dataset.read.columns.projection import ROW_ADDRESS, ROW_ID, required
from lance_core.dataset.read.columns.widths import fixed_bytes, probable_bytes
from lance_core.dataset.read.fragments.blob_sizes import described_blobs
from lance_core.dataset.read.fragments.fragment_reader import find_integers
from lance_core.dataset.read.fragments.live_rows import within, without_deleted
from lance_core.dataset.read.fragments.run_reader import (
    deleted_offsets,
    live,
    meta_values,
    read_rows,
)
from lance_core.dataset.read.fragments.span import FragmentRun
from lance_core.dataset.read.scan_metrics import UNMEASURED
from lance_core.dataset.read.sources.pruning import rows_left
from lance_core.dataset.read.steps.key_search import FindKeys, KeyMatches
from lance_core.dataset.read.steps.results import FoundRows, PendingRows
from lance_core.dataset.read.windows.read_ahead import reading_ahead
from lance_core.encodings.arrow.memory_pool import low_retention_pool, release_unused
from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.encodings.arrow.take import take_rows
from lance_core.encodings.decoding import RowIndices, RowRange, Rows, packed_rows
from lance_core.schema.empty_arrays import empty_table

if TYPE_CHECKING:
    from lance_core.dataset.read.fragments.span import FragmentOrRun, Span
    from lance_core.dataset.read.plan import ScanPlan
    from lance_core.dataset.read.windows.window_sizing import WindowSizer
    from lance_core.dataset.snapshot.snapshot import Snapshot
    from lance_core.encodings.decoding import Int64Array, ValueMatches
    from lance_core.schema import Field
    from lance_core.table.fragments.deletion import RowOffsets
    from lance_core.table.fragments.fragment import Fragment

DENSE = 4
"""If at least one row in `DENSE` is selected, decoding all rows and filtering is faster."""

DENSE_NUMBERS = 22
DENSE_TEXTS = 2
"""`DENSE` for numbers, which are cheap to decode, and for strings, in local files from 2.1 on.

Numbers of 2.0 files are never dense: they are stored in Arrow's layout.
"""

SPARSE = 96
"""If at most one row in `SPARSE` satisfies the filter, one read may get the other columns for
several windows: the fixed cost of a read then exceeds the cost of its rows."""

AT_ONCE_BYTES = 256 << 10
"""Maximum bytes of the other columns that are read together with the filter's columns for rows that
indices returned: decoding them takes less time than a second read, and than a second request."""

GROUP_BYTES = 1 << 20
"""Bytes of the columns that are decoded for all rows and filtered together."""


class Window:
    """The reader of all windows of a scan, shared by its threads.

    ``low_retention``: True returns unused memory to the system after each window, which costs time;
    ``max_kept``: but not so many bytes of large columns, which the next scan uses again.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        plan: ScanPlan,
        sizer: WindowSizer,
        *,
        low_retention: bool = False,
        max_kept: int = 0,
    ) -> None:
        self._plan = plan
        self._snapshot = self._chosen_snapshot = snapshot
        self._metrics = metrics = plan.metrics or UNMEASURED
        if plan.metrics is not None:
            self._snapshot = replace(snapshot, reads=metrics.read)
            self._chosen_snapshot = replace(snapshot, reads=metrics.late)
        if not plan.has_chosen_rows and (plan.filter is None or plan.limit is None):
            self._snapshot, self._chosen_snapshot = reading_ahead(
                self._snapshot, self._chosen_snapshot, plan.spans
            )
        self._sparse_snapshot = self._chosen_snapshot
        if plan.metrics is not None:
            self._sparse_snapshot = replace(self._chosen_snapshot, reads=metrics.read)
        self._sizer = sizer
        self._low_retention = low_retention
        self._max_kept = max_kept
        self._projection = projection = plan.projection
        self._filter = plan.filter
        if plan.filter is not None:
            self._tested, self._tested_meta = required(plan.schema, plan.filter.columns)
            rest = _others(projection.fields, self._tested)
            self._rest_meta = tuple(m for m in projection.meta if m not in self._tested_meta)
            self._early, self._late, self._rest = _by_time(rest, plan.late)
            # I/O-bound windows are read concurrently; windows with blobs are sized by their bytes.
            is_free = not (snapshot.is_io_bound or described_blobs(snapshot, rest))
            self._may_wait = is_free and not self._early
            self._others = rest
            self._other_bytes = self._bytes_at_once(rest)

    @cached_property
    def nothing(self) -> pa.Table:
        """An empty table with the schema of the result."""
        return empty_table(self._projection.schema)

    def read(self, span: Span) -> FoundRows | PendingRows:
        """The rows of ``span`` that satisfy the filter; perhaps `PendingRows` if they are few."""
        with self._memory():
            return self._read(span)

    def batches(self, span: Span) -> list[pa.RecordBatch]:
        """The rows of ``span`` in as few batches as can hold them; the plan has no filter."""
        with self._memory():
            found = self._read(span)
            assert isinstance(found, FoundRows)
            return list(fitting_batches(found.table, self._projection.schema))

    def complete(self, chosen: PendingRows) -> FoundRows:
        """What `read` would have returned for the rows ``chosen``."""
        rows = packed_rows(chosen.offsets)
        with self._memory():
            data = self._materialised(chosen.source, rows, chosen.tested)
            return FoundRows(self._projected(data), _edges(chosen.source, rows))

    def count(self, span: Span) -> int:
        """The number of live rows that satisfy the filter; reads only the filter's columns."""
        rows = self._rows(span)
        if self._filter is None or len(rows) == 0:
            return len(rows)
        tested = self._tested_of(span, rows)
        return int(np.count_nonzero(self._mask(tested)))

    def matching(self, span: Span) -> list[tuple[Fragment, RowOffsets]]:
        """The fragments, and the offsets of the span's live rows that satisfy the filter.

        Without a run, the list has the fragment even if no row does.
        """
        rows = self._rows(span)
        if self._filter is not None and len(rows):
            tested = self._tested_of(span, rows)
            rows = _subset(rows, np.flatnonzero(self._mask(tested)))
        parts = [(span.fragment, rows)] if span.run is None else span.run.parts(rows)
        return [(fragment, some.numbers.astype(np.uint32)) for fragment, some in parts]

    def search(self, find: FindKeys, span: Span) -> KeyMatches:
        """The live rows of ``span`` in which ``find`` finds keys.

        Deleted rows are searched, too: leaving them out before the search takes longer.
        """
        places, keys = self._found_in(find, span)
        if not len(places):
            return KeyMatches(np.empty(0, np.uint64), keys)
        offsets = places + span.start
        deleted = deleted_offsets(self._snapshot, span.source)
        if deleted is not None and len(deleted):
            nearest = np.minimum(np.searchsorted(deleted, offsets), len(deleted) - 1)
            is_live = deleted[nearest] != offsets
            offsets, keys = offsets[is_live], keys[is_live]
        addresses = meta_values(self._snapshot, span.source, ROW_ADDRESS, packed_rows(offsets))
        return KeyMatches(addresses, keys)

    def _found_in(self, find: FindKeys, span: Span) -> ValueMatches:
        """The rows of ``span`` in which ``find`` finds keys, counted from the first one."""
        rows, fields = RowRange(span.start, span.stop), self._projection.fields
        if find.integers is not None and span.run is None:
            found = find_integers(self._snapshot, span.fragment, fields[0], rows, find.integers)
            if found is not None:
                return found
        data = self._stored(self._snapshot, span.source, fields, (), rows)
        self._sizer.observe(span.num_rows, data.nbytes)
        return find(data)

    def _read(self, span: Span) -> FoundRows | PendingRows:
        rows = self._rows(span)
        if len(rows) == 0:
            return FoundRows(self.nothing)
        projection = self._projection
        if self._filter is None:
            data = self._first(span.source, projection.fields, projection.meta, rows)
            self._sizer.observe(span.num_rows, data.nbytes)
            return FoundRows(self._projected(data), _edges(span.source, rows))
        size = self._other_bytes
        is_whole = size is not None and len(rows) * size <= AT_ONCE_BYTES
        tested = self._tested_of(span, rows, self._others if is_whole else ())
        mask = self._mask(tested)
        if not mask.any():
            return FoundRows(self.nothing)
        number = np.flatnonzero(mask)
        kept = tested if len(number) == len(rows) else take_rows(tested, from_numpy(number))
        passed = _subset(rows, number)
        if is_whole:
            return FoundRows(self._projected(kept), _edges(span.source, passed))
        if self._may_wait and len(number) * SPARSE <= len(rows):
            return PendingRows(span.source, passed.numbers, kept)
        data = self._materialised(span.source, passed, kept)
        self._sizer.observe(span.num_rows, tested.nbytes + data.nbytes)
        return FoundRows(self._projected(data), _edges(span.source, passed))

    def _mask(self, tested: pa.Table) -> npt.NDArray[np.bool_]:
        """True for the rows that satisfy the filter."""
        assert self._filter is not None
        with self._metrics.filter.timed(tested.num_rows):
            mask = self._filter.mask(tested)
        if self._plan.metrics is not None:
            self._metrics.filter.returned(int(np.count_nonzero(mask)), 0)
        return mask

    def _projected(self, data: pa.Table) -> pa.Table:
        """The columns of the result."""
        with self._metrics.result.timed(data.num_rows):
            result = self._projection.apply(data)
        if self._plan.metrics is not None:
            self._metrics.result.returned(result.num_rows, result.nbytes)
        return result

    @contextmanager
    def _memory(self) -> Iterator[None]:
        if not self._low_retention:
            yield
            return
        with low_retention_pool(max_kept=self._max_kept):
            yield
        release_unused()

    def _bytes_at_once(self, rest: tuple[Field, ...]) -> int | None:
        """The bytes of a row of ``rest``; None to never read it with the filter's columns."""
        if not self._plan.has_chosen_rows or self._plan.late is not None or self._rest_meta:
            return None
        if not {field.name for field in rest}.isdisjoint(field.name for field in self._tested):
            return None
        return fixed_bytes(rest)

    def _tested_of(self, span: Span, rows: Rows, others: tuple[Field, ...] = ()) -> pa.Table:
        """The columns that the filter needs, and ``others``, for ``rows``."""
        tested = self._first(span.source, self._tested + others, self._tested_meta, rows)
        self._sizer.observe(span.num_rows, tested.nbytes)
        return tested

    def _rows(self, span: Span) -> Rows:
        """The rows of the span to read: live, allowed, and not excluded by statistics."""
        rows = self._live(span)
        mask = self._plan.mask
        if mask is None or len(rows) == 0:
            return rows
        ids = meta_values(self._snapshot, span.source, ROW_ID, rows)
        return _subset(rows, np.flatnonzero(mask.keep(ids)))

    def _live(self, span: Span) -> Rows:
        snapshot, source, plan = self._snapshot, span.source, self._plan
        if plan.includes_deleted:
            return RowRange(span.start, span.stop)
        if span.chosen is not None:
            return without_deleted(deleted_offsets(snapshot, source), packed_rows(span.chosen_rows))
        if plan.filter is None or not plan.use_statistics or span.run is not None:
            return live(snapshot, source, RowRange(span.start, span.stop))
        ranges = rows_left(snapshot, span.fragment, plan.filter, span.start, span.stop).ranges
        if not ranges:
            return RowRange(span.start, span.start)
        hull = RowRange(ranges[0][0], ranges[-1][1])
        rows = live(snapshot, source, hull)
        if sum(stop - start for start, stop in ranges) * DENSE >= len(hull):
            return rows
        return within(rows, ranges)

    def _materialised(self, source: FragmentOrRun, rows: Rows, tested: pa.Table) -> pa.Table:
        """The projection's fields for ``rows``; ``tested`` has the columns read before."""
        if not (self._early or self._late or self._rest or self._rest_meta):
            return tested
        metrics = self._metrics.late
        with metrics.timed(len(rows), source):
            read = self._chosen_snapshot, source
            parts = [
                self._fetch(*read, self._early, (), rows, is_dense=True),
                self._fetch(*read, self._late, (), rows, is_dense=False),
                self._fetch(*read, self._rest, self._rest_meta, rows),
            ]
        if self._plan.metrics is not None:
            metrics.returned(len(rows), sum(part.nbytes for part in parts))
        return _side_by_side([tested, *parts])

    def _first(
        self, source: FragmentOrRun, fields: tuple[Field, ...], meta: tuple[str, ...], rows: Rows
    ) -> pa.Table:
        """The fields for ``rows``, none of which is excluded by the filter yet."""
        is_sparse = self._filter is not None and isinstance(rows, RowIndices)
        snapshot = self._sparse_snapshot if is_sparse else self._snapshot
        with self._metrics.read.timed(len(rows), source):
            data = self._fetch(snapshot, source, fields, meta, rows)
        if self._plan.metrics is not None:
            self._metrics.read.returned(data.num_rows, data.nbytes)
        return data

    def _fetch(
        self,
        snapshot: Snapshot,
        source: FragmentOrRun,
        fields: tuple[Field, ...],
        meta: tuple[str, ...],
        rows: Rows,
        is_dense: bool | None = None,
    ) -> pa.Table:
        """The fields for ``rows``; for dense rows, decodes all rows and then filters."""
        if not isinstance(rows, RowIndices) or not (fields or meta):
            return self._stored(snapshot, source, fields, meta, rows)
        if is_dense is None:
            share = (rows.last + 1 - rows.first) / len(rows)
            dense = tuple(f for f in fields if share <= _dense(snapshot, source, f))
        else:
            dense = fields if is_dense else ()
        if described_blobs(snapshot, dense):
            dense = ()
        if not dense:
            return self._stored(snapshot, source, fields, meta, rows)
        is_other = {field.id for field in fields}.difference(field.id for field in dense)
        others = tuple(field for field in fields if field.id in is_other)
        # Without requests to combine, few fields at a time take least memory.
        groups = [dense] if snapshot.is_io_bound else _groups(dense, rows.last + 1 - rows.first)
        first, stop = rows.first, rows.last + 1
        selected = from_numpy(rows.values - first)
        parts = [self._stored(snapshot, source, others, meta, rows)] if others or meta else []
        for group in groups:
            whole = self._stored(snapshot, source, group, (), RowRange(first, stop))
            # For one column Arrow's take is several times faster than its filter.
            parts.append(take_rows(whole, selected))
        return _side_by_side(parts)

    def _stored(
        self,
        snapshot: Snapshot,
        source: FragmentOrRun,
        fields: tuple[Field, ...],
        meta: tuple[str, ...],
        rows: Rows,
    ) -> pa.Table:
        """The fields as stored, and the meta columns; null for the ids of deleted rows."""
        data = read_rows(snapshot, source, fields, meta, rows)
        deleted = deleted_offsets(snapshot, source) if self._plan.includes_deleted else None
        if deleted is None:
            return data
        is_deleted = np.isin(rows.numbers, deleted)
        for name in {ROW_ID, ROW_ADDRESS}.intersection(meta):
            place = data.schema.get_field_index(name)
            ids = np.asarray(data.column(place))
            data = data.set_column(place, name, pa.array(ids, mask=is_deleted))
        return data


def _edges(source: FragmentOrRun, rows: Rows) -> Int64Array | None:
    """The position in ``rows`` of the first row of each fragment but the first; None for one."""
    if not isinstance(source, FragmentRun):
        return None
    edges: Int64Array = np.cumsum(source.counts(rows))[:-1]
    return edges


def _dense(snapshot: Snapshot, source: FragmentOrRun, field: Field) -> float:
    """The rows of which one must be selected so that decoding all is faster for ``field``."""
    files = source.files
    if not files or snapshot.is_io_bound or field.children:
        return DENSE
    version = files[0].version_facts
    if version.has_batches:
        return DENSE
    if fixed_bytes((field,)) is None:
        return DENSE if version.has_values_in_place else DENSE_TEXTS
    if pa.types.is_fixed_size_list(field.storage_type):
        return DENSE
    return 0 if version.has_values_in_place else DENSE_NUMBERS


def _groups(fields: tuple[Field, ...], num_rows: int) -> Iterator[tuple[Field, ...]]:
    """``fields`` in groups whose ``num_rows`` rows take about `GROUP_BYTES`, or of one field."""
    group: list[Field] = []
    size = 0
    for field in fields:
        size += num_rows * probable_bytes((field,))
        if group and size > GROUP_BYTES:
            yield tuple(group)
            group, size = [], num_rows * probable_bytes((field,))
        group.append(field)
    if group:
        yield tuple(group)


def _side_by_side(tables: Sequence[pa.Table]) -> pa.Table:
    """The columns of all ``tables``, which have the same rows; the last of each name counts."""
    columns: dict[str, tuple[pa.Field, pa.ChunkedArray]] = {}
    for table in tables:
        for field, column in zip(table.schema, table.columns, strict=True):
            columns.pop(field.name, None)
            columns[field.name] = field, column
    schema = pa.schema([field for field, _ in columns.values()])
    return pa.Table.from_arrays([column for _, column in columns.values()], schema=schema)


def _by_time(
    fields: tuple[Field, ...], late: bool | frozenset[str] | None
) -> tuple[tuple[Field, ...], tuple[Field, ...], tuple[Field, ...]]:
    """The fields to read before the filter, after it, and when it costs less, by ``late``."""
    if late is None:
        return (), (), fields
    if late is True:
        return (), fields, ()
    names = late or frozenset()
    return (
        tuple(field for field in fields if field.name not in names),
        tuple(field for field in fields if field.name in names),
        (),
    )


def _others(fields: tuple[Field, ...], tested: tuple[Field, ...]) -> tuple[Field, ...]:
    """The fields that ``tested`` does not contain completely."""
    have = {field.id: field for field in tested}
    return tuple(field for field in fields if have.get(field.id) != field)


def _subset(rows: Rows, chosen: npt.NDArray[np.intp]) -> Rows:
    """The rows at positions ``chosen`` of ``rows``."""
    if len(chosen) == len(rows):
        return rows
    if isinstance(rows, RowIndices):
        return RowIndices(rows.values[chosen])
    return RowIndices(chosen + rows.start)
