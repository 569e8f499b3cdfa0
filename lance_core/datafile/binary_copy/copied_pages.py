"""Copy the bytes of pages from other files, and serialize the copied pages."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from lance_core.datafile.aligned_output import AlignedOutput
from lance_core.datafile.binary_copy.merged_pages import MergedPages, merged_pages
from lance_core.datafile.binary_copy.page_bytes import PageBytes
from lance_core.datafile.binary_copy.pieces import CopiedPages
from lance_core.datafile.binary_copy.source_pages import SourcePages
from lance_core.datafile.column_metadata import serialize_page
from lance_core.datafile.footer import ALIGNMENT
from lance_core.datafile.joined_ranges import JoinedRanges
from lance_core.datafile.varints import Ints, edges_of
from lance_core.encodings.arrow.coalesced_take import spans_index
from lance_core.encodings.version import FileVersion
from lance_core.lazy_dataclass import dataclass
from lance_core.store.base import ByteRange, BytesLike, ObjectStore, byte_ranges

BLOCK = 16 << 10
"""A large run starts at the same position modulo this number of bytes in both files.

Then file systems that can share blocks (of 4 KiB) do so, and others copy in units of several pages,
which takes a quarter less time.
"""

_LARGE_RUN = 512 << 10
"""Minimum bytes of a run that is aligned to `BLOCK`; the padding is small beside it."""


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """Byte ranges of a file that contain all given buffers, in ascending order.

    Buffer ``i`` is in run ``of_buffer[i]``. All buffers of a run have the same position modulo
    `ALIGNMENT`, so aligned buffers stay aligned if the run is copied to a multiple of it.
    """

    starts: Ints
    stops: Ints
    of_buffer: Ints


def copy_runs(offsets: Ints, sizes: Ints) -> Runs:
    """The runs of buffers; a run has no gap but padding."""
    if not len(offsets):
        return Runs(*(np.zeros(0, np.int64),) * 3)
    order = np.argsort(offsets, kind="stable")
    starts = offsets[order]
    ends = np.maximum.accumulate(starts + sizes[order])
    padded = -(-ends[:-1] // ALIGNMENT) * ALIGNMENT
    is_first = np.ones(len(starts), np.bool_)
    is_first[1:] = (starts[1:] > padded) | (np.diff(starts) % ALIGNMENT != 0)
    firsts = np.flatnonzero(is_first)
    of_buffer = np.empty(len(starts), np.int64)
    of_buffer[order] = np.cumsum(is_first) - 1
    stops = ends[np.append(firsts[1:], len(starts)) - 1]
    return Runs(starts[firsts], stops, of_buffer)


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A data file from which pages are copied.

    ``batch_bytes``: maximum bytes that are read at once if the store does not copy them itself.
    """

    store: ObjectStore
    path: str
    batch_bytes: int


class PageCopies:
    """All pages that are copied to one file.

    ``merges``: True to make one page of several that only have values of equal size.
    """

    def __init__(self, table: SourcePages, version: FileVersion, *, merges: bool) -> None:
        self._table = table
        self._version = version
        self._merges = merges
        self._pages: list[Ints] = []
        self._shifts: list[Ints] = []
        self._edges = [0]
        self._serialized: PageBytes | None = None
        self._merged: dict[int, tuple[MergedPages, bytes]] = {}
        self.num_bytes = 0

    @property
    def num_pages(self) -> int:
        """Number of pages, each counted as it was before the copy."""
        return self._edges[-1]

    def add(self, piece: CopiedPages) -> list[tuple[int, int]]:
        """Add pages; returns for each column of the field the arguments for `chunks`."""
        places = []
        for pages, shifts in zip(piece.pages, piece.shifts, strict=True):
            self._pages.append(pages)
            self._shifts.append(shifts)
            first = self.num_pages
            self._edges.append(first + len(pages))
            places.append((first, self.num_pages))
        return places

    def copy(self, output: AlignedOutput, files: Sequence[SourceFile]) -> None:
        """Copy the buffers of all pages."""
        table = self._table
        pages = np.concatenate([np.empty(0, np.int64), *self._pages])
        merged: list[MergedPages] = []
        if self._merges:
            merged = merged_pages(table, pages, self._edges, self._version)
        counts = table.first_buffer[pages + 1] - table.first_buffer[pages]
        first_buffer = edges_of(counts)
        buffers = spans_index(table.first_buffer[pages], table.first_buffer[pages + 1])
        self.num_bytes = int(table.sizes[buffers].sum())
        output.reserve(self.num_bytes)
        alone = np.ones(len(buffers), np.bool_)
        new = np.empty(len(buffers), np.int64)
        for one in merged:
            mine = slice(*first_buffer[[one.first, one.stop]].tolist())
            alone[mine] = False
            new[mine] = self._copy_merged(output, files, buffers[mine], pages[one.first : one.stop])
        owners = np.repeat(pages, counts)[alone]
        new[alone] = self._copy_buffers(output, files, buffers[alone], owners)
        shifts = np.concatenate([np.empty(0, np.int64), *self._shifts])
        priorities = np.maximum(table.priorities[pages] + shifts, 0)
        self._serialized = PageBytes(table, pages, new, priorities)
        for one in merged:
            start, last = new[first_buffer[[one.first, one.stop - 1]]].tolist()
            stop = last + int(table.sizes[buffers[first_buffer[one.stop - 1]]])
            message = self._message(ByteRange(start, stop), one, int(priorities[one.first]))
            self._merged[one.first] = one, message

    def chunks(self, first: int, stop: int) -> list[BytesLike]:
        """The serialized pages, after `copy`."""
        assert self._serialized is not None
        found: list[BytesLike] = []
        at = first
        for place in [place for place in self._merged if first <= place < stop]:
            one, message = self._merged[place]
            found += self._serialized.chunks(at, place)
            found.append(message)
            at = one.stop
        return found + list(self._serialized.chunks(at, stop))

    def _message(self, place: ByteRange, merged: MergedPages, priority: int) -> bytes:
        url = self._version.page_encoding_url
        return serialize_page([place], merged.num_rows, url, merged.encoding, priority)

    def _copy_merged(
        self, output: AlignedOutput, files: Sequence[SourceFile], buffers: Ints, pages: Ints
    ) -> Ints:
        """Copy the only buffer of each of ``pages`` without padding; returns new positions."""
        table = self._table
        output.align(ALIGNMENT)
        sizes = table.sizes[buffers]
        places = output.position + edges_of(sizes)[:-1]
        owners = np.searchsorted(table.file_pages, pages, "right") - 1
        ranges = byte_ranges(
            table.offsets[buffers].tolist(), (table.offsets[buffers] + sizes).tolist()
        )
        cuts = [0, *(np.flatnonzero(np.diff(owners)) + 1).tolist(), len(ranges)]
        for first, stop in pairwise(cuts):
            file = files[int(owners[first])]
            output.append_from(file.store, file.path, ranges[first:stop], file.batch_bytes)
        output.align(ALIGNMENT)
        return places

    def _copy_buffers(
        self,
        output: AlignedOutput,
        files: Sequence[SourceFile],
        buffers: Ints,
        page_of: Ints,
    ) -> Ints:
        """Copy ``buffers``, of which each belongs to a page; returns their new positions."""
        table = self._table
        file_of = np.searchsorted(table.file_pages, page_of, "right") - 1
        # The runs of all files are computed at once. No run has buffers of two files, because the
        # bases leave a gap between them.
        bases = JoinedRanges(table.data_ends).bases
        offsets = table.offsets[buffers]
        runs = copy_runs(offsets + bases[file_of], table.sizes[buffers])
        owners = bases.searchsorted(runs.starts, "right") - 1
        starts = (runs.starts - bases[owners]).tolist()
        stops = (runs.stops - bases[owners]).tolist()
        edges = owners.searchsorted(np.arange(len(files) + 1)).tolist()
        moves: list[int] = []
        for file, (first, stop) in zip(files, pairwise(edges), strict=True):
            if first < stop:
                moves += _append_runs(output, file, starts[first:stop], stops[first:stop])
        return offsets + np.array(moves, np.int64)[runs.of_buffer]


def _append_runs(
    output: AlignedOutput, file: SourceFile, starts: Sequence[int], stops: Sequence[int]
) -> list[int]:
    """Copy runs of a file; returns by how many bytes each was moved."""
    moves = []
    pending: list[ByteRange] = []
    place = output.position
    for start, stop in zip(starts, stops, strict=True):
        is_large = stop - start >= _LARGE_RUN
        if place % ALIGNMENT or (is_large and (place - start) % BLOCK):
            output.append_from(file.store, file.path, pending, file.batch_bytes)
            pending = []
            output.align(ALIGNMENT)
            if is_large and start % ALIGNMENT == 0:
                output.align(BLOCK, start % BLOCK)
            place = output.position
        moves.append(place - start)
        # Padding follows every buffer of an aligned file, and metadata the last one.
        padding = -stop % ALIGNMENT if start % ALIGNMENT == 0 else 0
        pending.append(ByteRange(start, stop + padding))
        place += stop + padding - start
    output.append_from(file.store, file.path, pending, file.batch_bytes)
    output.align(ALIGNMENT)
    return moves
