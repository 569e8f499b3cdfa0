"""Read-ahead during one scan: of windows, and of further bytes of files than a window needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from lance_core.concurrency.pools import IO_THREADS
from lance_core.datafile.read_ahead import Kept
from lance_core.datafile.reader import FileReader
from lance_core.dataset.read.scan_tuning import tuning
from lance_core.dataset.read.sources.fragment_spans import FragmentSpans
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.encodings.decoding import RowRange
from lance_core.lazy_dataclass import dataclass
from lance_core.table.fragments.data_file import DataFile

if TYPE_CHECKING:
    from lance_core.dataset.read.fragments.span import Span


@dataclass(frozen=True, eq=False)
class SnapshotReadAhead(Snapshot):
    """A snapshot for one scan, which reads ``rows`` (by file path).

    ``whole``: True if the scan reads all rows of the other files, False if it reads none of them.
    ``growth`` has the meaning of `FileReadAhead`.
    """

    rows: Mapping[str, RowRange] = field(default_factory=dict)
    whole: bool = False
    growth: int | None = None
    cache: Kept = field(default_factory=Kept)
    _ahead: dict[FileReader, FileReader] = field(default_factory=dict)

    def reader(self, file: DataFile) -> FileReader:
        reader = super().reader(file)
        rows = self.rows.get(file.path)
        if rows is None and self.whole:
            rows = RowRange(0, reader.num_rows)
        if rows is None:
            return reader
        ahead = self._ahead.get(reader)
        if ahead is None:
            made = reader.reading_ahead(rows, self.cache, self.growth)
            ahead = self._ahead.setdefault(reader, made)
        return ahead


def reading_ahead(
    snapshot: Snapshot, chosen: Snapshot, spans: Sequence[Span]
) -> tuple[Snapshot, Snapshot]:
    """Both snapshots with read-ahead for a scan of ``spans``.

    ``snapshot`` is for reads of all rows, ``chosen`` for reads of rows after a filter.
    """
    if not snapshot.root.store.read_ahead:
        return snapshot, chosen
    whole = isinstance(spans, FragmentSpans)
    rows = _rows_of_files([*spans[:1], *spans[-1:]] if whole else spans)
    cache = Kept()

    def ahead(source: Snapshot, growth: int | None) -> SnapshotReadAhead:
        parts = source.root, source.file, source.location, source.reads
        return SnapshotReadAhead(*parts, rows, whole, growth, cache)

    return ahead(snapshot, None), ahead(chosen, tuning().ahead.chosen_growth)


def windows_ahead(snapshot: Snapshot, *, is_stream: bool = False, may_end: bool = False) -> int:
    """The number of windows to read concurrently; few if the scan ``may_end`` after any window."""
    if snapshot.is_io_bound and not may_end:
        return tuning().ahead.waiting_stream_windows if is_stream else IO_THREADS
    return tuning().ahead.stream_windows if is_stream else tuning().ahead.table_windows


def _rows_of_files(spans: Iterable[Span]) -> dict[str, RowRange]:
    """By file path, the range from the first to the last row that the scan reads."""
    rows: dict[str, RowRange] = {}
    for span in spans:
        for file in span.fragment.files:
            known = rows.get(file.path, RowRange(span.start, span.stop))
            rows[file.path] = RowRange(min(known.start, span.start), max(known.stop, span.stop))
    return rows
