"""Reading ahead for the length of one scan: windows, and more of files than a window needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from lance_core.concurrency.pools import IO_THREADS
from lance_core.datafile.read_ahead import Kept
from lance_core.datafile.reader import FileReader
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.encodings.decoding import RowRange
from lance_core.lazy_dataclass import dataclass
from lance_core.table.fragments.data_file import DataFile

if TYPE_CHECKING:
    from lance_core.dataset.read.plan import Span

TABLE_WINDOWS = 3
STREAM_WINDOWS = 2
"""Windows of a stream that are being read or wait; its reader has one more."""
WAITING_STREAM_WINDOWS = 6
"""The same where reading is waiting for a service."""

CHOSEN_GROWTH = 4
"""How many times as many bytes are read ahead as the rows take that a filter chose."""


@dataclass(frozen=True, eq=False)
class SnapshotReadAhead(Snapshot):
    """A snapshot for a scan that wants ``rows`` of files, by their path.

    ``growth`` as of `FileReadAhead`.
    """

    rows: Mapping[str, RowRange] = field(default_factory=dict)
    growth: int | None = None
    kept: Kept = field(default_factory=Kept)
    _ahead: dict[FileReader, FileReader] = field(default_factory=dict)

    def reader(self, file: DataFile) -> FileReader:
        reader = super().reader(file)
        rows = self.rows.get(file.path)
        if rows is None:
            return reader
        ahead = self._ahead.get(reader)
        if ahead is None:
            made = reader.reading_ahead(rows, self.kept, self.growth)
            ahead = self._ahead.setdefault(reader, made)
        return ahead


def reading_ahead(snapshot: Snapshot, spans: Iterable[Span]) -> tuple[Snapshot, Snapshot]:
    """``snapshot`` for a scan of ``spans``: for all of their rows, and for some that are chosen."""
    if not snapshot.root.store.read_ahead:
        return snapshot, snapshot
    kept, rows = Kept(), _rows_of_files(spans)
    parts = (snapshot.root, snapshot.file, snapshot.location)
    return (
        SnapshotReadAhead(*parts, rows, None, kept),
        SnapshotReadAhead(*parts, rows, CHOSEN_GROWTH, kept),
    )


def windows_ahead(snapshot: Snapshot, *, is_stream: bool = False, may_end: bool = False) -> int:
    """How many windows are read at a time; few if the scan ``may_end`` after any of them."""
    if snapshot.is_io_bound and not may_end:
        return WAITING_STREAM_WINDOWS if is_stream else IO_THREADS
    return STREAM_WINDOWS if is_stream else TABLE_WINDOWS


def _rows_of_files(spans: Iterable[Span]) -> dict[str, RowRange]:
    """From which row of each file to which the scan goes."""
    rows: dict[str, RowRange] = {}
    for span in spans:
        for file in span.fragment.files:
            known = rows.get(file.path, RowRange(span.start, span.stop))
            rows[file.path] = RowRange(min(known.start, span.start), max(known.stop, span.stop))
    return rows
