"""Join consecutive small fragments to runs, which are read as if they were one fragment.

A window of a scan has a fixed cost for each column. For fragments of a thousand rows this cost
exceeds that of the rows, so a window has the rows of many such fragments.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core.dataset.read.fragments.blob_sizes import described_blobs
from lance_core.dataset.read.fragments.span import FragmentRun, Span
from lance_core.dataset.read.scan_tuning import tuning
from lance_core.dataset.read.windows.window_sizing import WindowSizer
from lance_core.fast_paths import FastPaths
from lance_core.file_version import facts_of_pair
from lance_core.table.storage_version import facts_of

if TYPE_CHECKING:
    from pyroaring import BitMap

    from lance_core.dataset.read.fragments.span import FragmentOrRun
    from lance_core.dataset.snapshot.snapshot import Snapshot
    from lance_core.encodings.decoding import Int64Array
    from lance_core.schema import Field
    from lance_core.table.fragments.fragment import Fragment


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
    return _in_runs(
        snapshot,
        spans,
        sizer,
        tuning().runs.first if may_end else tuning().runs.most,
    )


def in_long_runs(
    snapshot: Snapshot, spans: Sequence[Span], fields: Sequence[Field]
) -> Sequence[Span]:
    """`in_runs` for scans that read all rows: runs of as many fragments as possible.

    They do not depend on ``fields`` if some are returned, so scans of other fields share metadata.
    """
    if not _join(snapshot, fields):
        return spans
    sizer = _longest_runs()
    return list(_in_runs(snapshot, spans, sizer, tuning().runs.most))


def _join(snapshot: Snapshot, fields: Sequence[Field]) -> bool:
    """True if ``fields`` of several fragments can be read at once.

    Arrays with a dictionary keep that of their fragment, so their fragments are read alone. Files
    of a remote store are read concurrently, so that joining them gains little. Version 2 blobs may
    be in files of their own.
    """
    if FastPaths.is_plain:
        return False
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
) -> list[tuple[FragmentOrRun, Int64Array]]:
    """Rows of fragments, with consecutive small fragments joined to runs.

    The rows are ascending physical offsets; those of a run count from the start of the run.
    """
    if len(rows) < tuning().runs.fewest or not _join(snapshot, fields):
        return list(rows)
    spans = [Span(fragment, 0, snapshot.physical_rows(fragment)) for fragment, _ in rows]
    parts_of_runs: list[tuple[FragmentOrRun, Int64Array]] = []
    first = 0
    sizer = _longest_runs()
    for span in _in_runs(snapshot, spans, sizer, tuning().runs.first_of_take):
        if span.run is None:
            parts_of_runs.append(rows[first])
            first += 1
            continue
        parts = [offsets for _, offsets in rows[first : first + len(span.run.fragments)]]
        counts = list(map(len, parts))
        moved = np.concatenate(parts) + np.repeat(span.run.starts[:-1], counts)
        parts_of_runs.append((span.run, moved))
        first += len(parts)
    return parts_of_runs


def _longest_runs() -> WindowSizer:
    rows = tuning().runs.max_rows
    return WindowSizer(rows, rows)


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
            waiting, rows, most = [], 0, min(2 * most, tuning().runs.most)
        if layout is None:
            yield span
        else:
            waiting.append(span)
            rows += span.num_rows
            last = layout
    yield from _joined(waiting)


def _joined(spans: Sequence[Span]) -> Sequence[Span]:
    """``spans`` as a run, or alone if they are few."""
    if len(spans) < tuning().runs.fewest:
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
    if span.run is not None or span.start or rows > tuning().runs.fragment_rows:
        return None
    if not fragment.files or fragment.overlays or rows != snapshot.physical_rows(fragment):
        return None
    layout = []
    for file in fragment.files:
        if not file.file_size_bytes or file.file_size_bytes > tuning().runs.file_bytes:
            return None
        version = file.file_major_version, file.file_minor_version
        layout.append((file.fields, file.column_indices, *version, file.base_id))
    return layout


def _joins(snapshot: Snapshot, layout: _Layout) -> bool:
    """True if fragments of ``layout`` can be read as one."""
    return all(
        len(fields) <= tuning().runs.file_columns
        and facts_of_pair(major, minor).joins_files
        and snapshot.store_of(snapshot.base(base)).has_views
        for fields, _, major, minor, base in layout
    )
