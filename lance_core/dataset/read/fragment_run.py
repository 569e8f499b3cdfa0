"""Read consecutive small fragments as if they were one fragment.

A window of a scan has a fixed cost for each column. For fragments of a thousand rows this cost
exceeds that of the rows, so a window has the rows of many such fragments.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core.dataset.expressions.zero_column_tables import concatenated
from lance_core.dataset.read import fragment_reader
from lance_core.dataset.read.blob_windows import described_blobs
from lance_core.dataset.read.live_rows import without_deleted
from lance_core.dataset.read.meta_columns import meta_column
from lance_core.dataset.read.plan import FragmentRun, Span
from lance_core.dataset.read.projection import ROW_ADDRESS, ROW_ID
from lance_core.dataset.read.window_sizing import WindowSizer
from lance_core.encodings.decoding import RowRange, Rows
from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.file_version import facts_of_pair
from lance_core.on_demand import lazy_module
from lance_core.schema import wrap_chunks
from lance_core.table.fragments.fragment import Fragment, check_fragment_id
from lance_core.table.storage_version import facts_of

if TYPE_CHECKING:
    from pyroaring import BitMap

    from lance_core.datafile import joined_files as joining
    from lance_core.dataset.read.meta_columns import Uint64s
    from lance_core.dataset.read.plan import RowSource
    from lance_core.dataset.snapshot.snapshot import Snapshot
    from lance_core.encodings.decoding import Int64Array
    from lance_core.schema import Field
    from lance_core.table.fragments.deletion import RowOffsets
else:
    joining = lazy_module("lance_core.datafile.joined_files")

FIRST_FRAGMENTS = 16
MAX_FRAGMENTS = 512
"""Maximum fragments of the first run of a stream, and of any run; the maximum doubles from run to
run, because the reader of a stream may want the first rows only."""

FIRST_TAKEN_FRAGMENTS = 128
"""Maximum fragments of the first run of a take. One as long as possible is faster for rows in
fragments of 1,000 rows, and slower in fragments of 5,000."""

MIN_FRAGMENTS = 4
"""Minimum fragments of a run: what is planned once for fewer saves less than it takes."""

MAX_TAKEN_ROWS = 1 << 24
"""Maximum rows of the fragments of a run of which a take reads some rows."""

SMALL_ROWS = 1 << 16
SMALL_BYTES = 4 << 20
"""Maximum rows and stored bytes of a fragment in a run; a larger one gains nothing."""

MAX_COLUMNS = 256
"""Maximum columns of a file in a run: the metadata of more is not in the last bytes of a file."""

FEW = 32
"""If at most one fragment in `FEW` of a run has requested rows, each of them is read alone."""


def in_runs(
    snapshot: Snapshot,
    spans: Iterable[Span],
    fields: Sequence[Field],
    sizer: WindowSizer,
    *,
    may_end: bool = False,
) -> Iterator[Span]:
    """``spans``, with consecutive small fragments joined to runs, for reads of ``fields``.

    A run has no more rows than the next window of ``sizer``. ``may_end``: the reader may want the
    first rows only, so that the first runs are short.
    """
    if not _join(snapshot, fields):
        return iter(spans)
    return _in_runs(snapshot, spans, sizer, FIRST_FRAGMENTS if may_end else MAX_FRAGMENTS)


def in_long_runs(
    snapshot: Snapshot, spans: Sequence[Span], fields: Sequence[Field]
) -> Sequence[Span]:
    """`in_runs` for scans that read all rows: runs of as many fragments as possible.

    They do not depend on ``fields`` if some are returned, so scans of other fields share metadata.
    """
    if not _join(snapshot, fields):
        return spans
    sizer = WindowSizer(MAX_TAKEN_ROWS, MAX_TAKEN_ROWS)
    return list(_in_runs(snapshot, spans, sizer, MAX_FRAGMENTS))


def _join(snapshot: Snapshot, fields: Sequence[Field]) -> bool:
    """True if ``fields`` of several fragments can be read at once.

    Arrays with a dictionary keep that of their fragment, so their fragments are read alone. Files
    of a remote store are read concurrently, so that joining them gains little. Version 2 blobs may
    be in files of their own.
    """
    parts = (part.storage_type for field in fields for part in field.walk())
    if any(map(pa.types.is_dictionary, parts)):
        return False
    if not snapshot.root.store.has_views or snapshot.blobs_v2:
        return False
    if not facts_of(snapshot.manifest.storage_version).joins_files:
        return False
    return not described_blobs(snapshot, fields)


def rows_in_runs(
    snapshot: Snapshot, rows: Sequence[tuple[Fragment, Int64Array]], fields: Sequence[Field]
) -> list[tuple[RowSource, Int64Array]]:
    """Rows of fragments, with consecutive small fragments joined to runs.

    The rows are ascending physical offsets; those of a run count from the start of the run.
    """
    if len(rows) < MIN_FRAGMENTS or not _join(snapshot, fields):
        return list(rows)
    spans = [Span(fragment, 0, snapshot.physical_rows(fragment)) for fragment, _ in rows]
    found: list[tuple[RowSource, Int64Array]] = []
    first = 0
    sizer = WindowSizer(MAX_TAKEN_ROWS, MAX_TAKEN_ROWS)
    for span in _in_runs(snapshot, spans, sizer, FIRST_TAKEN_FRAGMENTS):
        if span.run is None:
            found.append(rows[first])
            first += 1
            continue
        parts = [offsets for _, offsets in rows[first : first + len(span.run.fragments)]]
        counts = list(map(len, parts))
        moved = np.concatenate(parts) + np.repeat(span.run.starts[:-1], counts)
        found.append((span.run, moved))
        first += len(parts)
    return found


def _in_runs(
    snapshot: Snapshot, spans: Iterable[Span], sizer: WindowSizer, most: int
) -> Iterator[Span]:
    """``spans`` in runs; the first one has at most ``most`` fragments."""
    waiting: list[Span] = []
    rows = 0
    last: _Layout | None = None
    for span in spans:
        layout = _layout(snapshot, span)
        if layout is not None and layout != last and not _joins(snapshot, layout):
            layout = None
        is_full = len(waiting) == most or rows + span.num_rows > sizer.rows
        if waiting and (layout is None or layout != last or is_full):
            yield from _joined(waiting)
            waiting, rows, most = [], 0, min(2 * most, MAX_FRAGMENTS)
        if layout is None:
            yield span
        else:
            waiting.append(span)
            rows += span.num_rows
            last = layout
    yield from _joined(waiting)


def _joined(spans: Sequence[Span]) -> Sequence[Span]:
    """``spans`` as a run, or alone if they are few."""
    if len(spans) < MIN_FRAGMENTS:
        return spans
    fragments = tuple([span.fragment for span in spans])
    starts = np.cumsum([0, *(span.stop for span in spans)])
    run = FragmentRun(fragments, starts)
    return [Span(fragments[0], 0, int(starts[-1]), run, _chosen(spans, starts.tolist()))]


def _chosen(spans: Sequence[Span], starts: Sequence[int]) -> BitMap | None:
    """The chosen rows of ``spans``, which begin at ``starts`` in their run; None for all rows."""
    if all(span.chosen is None for span in spans):
        return None
    from pyroaring import BitMap

    moved = (
        BitMap(range(start, start + span.stop)) if span.chosen is None else span.chosen.shift(start)
        for span, start in zip(spans, starts, strict=False)
    )
    return BitMap.union(*moved)


_Layout = list[tuple[tuple[int, ...], tuple[int, ...], int, int, int | None]]
"""What the fragments of a run share: fields, columns, version and base of each of their files."""


def _layout(snapshot: Snapshot, span: Span) -> _Layout | None:
    """The layout of the fragment of ``span``; None for a span that is read alone."""
    fragment, rows = span.fragment, span.stop
    if span.run is not None or span.start or rows > SMALL_ROWS:
        return None
    if not fragment.files or fragment.overlays or rows != snapshot.physical_rows(fragment):
        return None
    layout = []
    for file in fragment.files:
        if not file.file_size_bytes or file.file_size_bytes > SMALL_BYTES:
            return None
        version = file.file_major_version, file.file_minor_version
        layout.append((file.fields, file.column_indices, *version, file.base_id))
    return layout


def _joins(snapshot: Snapshot, layout: _Layout) -> bool:
    """True if fragments of ``layout`` can be read as one."""
    return all(
        len(fields) <= MAX_COLUMNS
        and facts_of_pair(major, minor).joins_files
        and snapshot.store_of(snapshot.base(base)).has_views
        for fields, _, major, minor, base in layout
    )


def live(snapshot: Snapshot, source: RowSource, rows: RowRange) -> Rows:
    """The live offsets in ``rows``; see `live_rows.live`."""
    return without_deleted(deleted_offsets(snapshot, source), rows)


def deleted_offsets(snapshot: Snapshot, source: RowSource) -> RowOffsets | None:
    """The sorted physical offsets of the deleted rows of ``source``, None if there are none."""
    if isinstance(source, Fragment):
        return snapshot.deleted_offsets(source)
    found = []
    for fragment, start in zip(source.fragments, source.starts.tolist(), strict=False):
        deleted = snapshot.deleted_offsets(fragment)
        if deleted is not None:
            found.append(deleted + np.uint32(start))
    return np.concatenate(found) if found else None


def meta_values(snapshot: Snapshot, source: RowSource, name: str, rows: Rows) -> Uint64s:
    """The values of a meta column; see `meta_columns.meta_column`."""
    if isinstance(source, Fragment):
        return meta_column(snapshot, source, name, rows)
    if name == ROW_ADDRESS or (name == ROW_ID and not snapshot.manifest.uses_stable_row_ids):
        ids = [fragment.id for fragment in source.fragments]
        check_fragment_id(max(ids))
        offsets = rows.numbers
        owners = source.owners(offsets)
        local = (offsets - source.starts[owners]).astype(np.uint64)
        found: Uint64s = (np.array(ids, np.uint64) << np.uint64(32))[owners] + local
        return found
    parts = [meta_column(snapshot, one, name, some) for one, some in source.parts(rows)]
    return np.concatenate([np.empty(0, np.uint64), *parts])


def read_rows(
    snapshot: Snapshot,
    source: RowSource,
    fields: Sequence[Field],
    meta: Sequence[str],
    rows: Rows,
) -> pa.Table:
    """Physical ``rows`` of ``source``; see `fragment_reader.read_rows`."""
    if isinstance(source, Fragment):
        return fragment_reader.read_rows(snapshot, source, fields, meta, rows)
    one_by_one = partial(_one_by_one, snapshot, source, fields, meta, rows)
    few = np.count_nonzero(source.counts(rows)) * FEW <= len(source.fragments)
    if not fields or not len(rows) or few:
        return one_by_one()
    columns = None
    # Fragments that cannot be joined can be read alone; if not, the error names the file.
    with contextlib.suppress(CorruptFileError, UnsupportedFeatureError, MemoryError):
        columns = _read_fields(snapshot, source, fields, rows)
    if columns is None:
        return one_by_one()
    arrow = [field.to_arrow() for field in fields]
    for name in meta:
        columns.append(pa.chunked_array([pa.array(meta_values(snapshot, source, name, rows))]))
        arrow.append(pa.field(name, pa.uint64()))
    return pa.Table.from_arrays(columns, schema=pa.schema(arrow))


def _one_by_one(
    snapshot: Snapshot,
    run: FragmentRun,
    fields: Sequence[Field],
    meta: Sequence[str],
    rows: Rows,
) -> pa.Table:
    parts = list(run.parts(rows)) or [(run.fragments[0], rows)]
    read = [fragment_reader.read_rows(snapshot, one, fields, meta, some) for one, some in parts]
    return concatenated(read, read[0].schema)


def _read_fields(
    snapshot: Snapshot, run: FragmentRun, fields: Sequence[Field], rows: Rows
) -> list[pa.ChunkedArray]:
    """The values of each field for physical ``rows``, in the field's Arrow type."""
    first = run.fragments[0]
    columns: dict[int, pa.ChunkedArray] = {}
    for number, mine in fragment_reader.files_of_fields(snapshot, first, fields).items():
        if number == fragment_reader.NOWHERE:
            for i in mine:
                columns[i] = pa.chunked_array([pa.nulls(len(rows), fields[i].arrow_type)])
            continue
        joins: list[int] = []
        joined = None
        if number != fragment_reader.SPLIT:
            joined = joined_files(snapshot, run, number)
            joins = [i for i in mine if joined.joins(fields[i])]
        alone = [i for i in mine if i not in joins]
        if joined is not None and joins:
            store = snapshot.store_of(snapshot.base(first.files[number].base_id))
            wanted = [fields[i] for i in joins]
            read = joined.read(wanted, first.files[number].columns(), rows, store)
            for i, column in zip(joins, read, strict=True):
                columns[i] = wrap_chunks(column, fields[i])
        if alone:
            some = [fields[i] for i in alone]
            found = _one_by_one(snapshot, run, some, (), rows)
            columns.update(zip(alone, found.columns, strict=True))
    return [columns[i] for i in range(len(fields))]


def joined_files(snapshot: Snapshot, run: FragmentRun, number: int) -> joining.JoinedFiles:
    """File ``number`` of each fragment of ``run``, joined to one.

    Raises `CorruptFileError` if their versions or columns differ.
    """
    files = [fragment.files[number] for fragment in run.fragments]
    base = snapshot.base(files[0].base_id)
    paths = [file.store_path(base) for file in files]

    def join() -> joining.JoinedFiles:
        parts = [
            joining.FilePart(path, file.file_size_bytes or 0, snapshot.physical_rows(fragment))
            for path, file, fragment in zip(paths, files, run.fragments, strict=True)
        ]
        return joining.JoinedFiles(snapshot.store_of(base), parts, snapshot.root.registry)

    key = snapshot.root.store, None if base is None else base.path, tuple(paths)
    return snapshot.root.session.joined.get(key, join)
