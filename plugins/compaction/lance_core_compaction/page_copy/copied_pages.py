"""Copy the bytes of pages from other files, and serialize the copied pages."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from lance_core.hookspecs.arrays import spans_index
from lance_core.hookspecs.concurrency import cached_property
from lance_core.hookspecs.stored_pages import (
    ALIGNMENT,
    AlignedOutput,
    EncodeContext,
    Ints,
    serialize_page,
)
from lance_core.hookspecs.stores import ByteRange, BytesLike
from lance_core_compaction.page_copy.file_bytes import FileBytes, SourceFile
from lance_core_compaction.page_copy.merge_groups import MergedPages
from lance_core_compaction.page_copy.merged_pages import MergedBuffers, PageMerges
from lance_core_compaction.page_copy.page_bytes import PageBytes
from lance_core_compaction.page_copy.pieces import CopiedPages
from lance_core_compaction.page_copy.source_pages import SourcePages

BLOCK = 16 << 10
"""A large run starts at the same position modulo this number of bytes in both files.

Then file systems that can share blocks of up to this size do so.
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


class PageCopies:
    """All pages that are copied to one file.

    ``merges``: True to make one page of several where that costs little (`PageMerges`).
    """

    def __init__(
        self,
        table: SourcePages,
        content: FileBytes,
        context: EncodeContext,
        *,
        merges: bool,
    ) -> None:
        self._table = table
        self._content = content
        self._version = context.version
        self._join = context.kernels.join_slices
        self._merges: PageMerges | None = None
        if merges:
            self._merges = PageMerges(table, content, context)
        self._pages: list[Ints] = []
        self._shifts: list[Ints] = []
        self._edges = [0]
        self._serialized: PageBytes | None = None
        self._merged: list[MergedPages] = []
        self._read: list[MergedPages] = []
        self._packed: list[MergedPages] = []
        self._messages: dict[int, bytes] = {}

    @property
    def num_packed(self) -> int:
        """Number of pages that were packed again, after `write_merged`."""
        return sum(merge.stop - merge.first for merge in self._packed)

    @property
    def num_copied(self) -> int:
        """Number of the other pages, each counted as it was before the copy."""
        return self._edges[-1] - self.num_packed

    @property
    def num_bytes(self) -> int:
        """Bytes of the buffers of the other pages."""
        sizes = self._sizes
        packed = [sizes[merge.first : merge.stop].sum() for merge in self._packed]
        return self.total_bytes - int(sum(packed))

    @property
    def total_bytes(self) -> int:
        """Bytes of the buffers of all pages, before any are packed again."""
        return int(self._sizes.sum())

    def add(self, piece: CopiedPages) -> list[tuple[int, int]]:
        """Add pages; returns for each column of the field the arguments for `chunks`."""
        edges = []
        for pages, shifts in zip(piece.pages, piece.shifts, strict=True):
            self._pages.append(pages)
            self._shifts.append(shifts)
            first = self._edges[-1]
            self._edges.append(first + len(pages))
            edges.append((first, self._edges[-1]))
        return edges

    def merged(self) -> list[Callable[[], Iterable[Sequence[MergedBuffers]]]]:
        """Functions that read the pages that become one page, for `write_merged`.

        Call it after all pages are added, and before `copy`. Each function gives one item.
        """
        if self._merges is None:
            return []
        pages, read = self._all_pages, self._merges.read
        self._merged = self._merges.find(pages, self._edges)
        self._read = [merged for merged in self._merged if merged.ranges is None]
        self._content.expect(
            sum(int(self._sizes[merged.first : merged.stop].sum()) for merged in self._read)
        )

        def reader(merged: MergedPages) -> Callable[[], Iterable[Sequence[MergedBuffers]]]:
            return lambda: [read(pages[merged.first : merged.stop], merged)]

        return list(map(reader, self._read))

    def write_merged(
        self, output: AlignedOutput, number: int, pages: Sequence[MergedBuffers]
    ) -> None:
        """Write what function ``number`` of `merged` gave."""
        merged = self._read[number]
        if merged.is_packed and len(pages) == 1:
            self._packed.append(merged)
        messages = []
        for page_number, page in enumerate(pages, merged.first):
            ranges = [output.write_parts(parts) for parts in page.buffers]
            messages.append(self._message(page_number, ranges, page.num_rows, page.encoding))
        self._messages[merged.first] = b"".join(messages)

    def copy(self, output: AlignedOutput) -> Iterator[int]:
        """Copy all pages that are not read, in steps; yields the number of each step.

        Between the steps, the caller may write to the same output.
        """
        table, pages = self._table, self._all_pages
        for number, merged in enumerate(self._merged):
            if merged.ranges is not None:
                self._copy_merged(output, pages[merged.first : merged.stop], merged)
                yield number
        is_alone = np.ones(len(pages), np.bool_)
        for merged in self._merged:
            is_alone[merged.first : merged.stop] = False
        counts = table.num_buffers_of(pages)
        buffers = spans_index(table.first_buffer[pages], table.first_buffer[pages + 1])
        copied = np.repeat(is_alone, counts)
        new = np.zeros(len(buffers), np.int64)
        owners = np.repeat(pages, counts)[copied]
        new[copied] = yield from self._copy_buffers(output, buffers[copied], owners)
        self._serialized = PageBytes(table, pages, new, self._priorities, self._join)

    def chunks(self, first: int, stop: int) -> list[BytesLike]:
        """The serialized pages, after `copy` and `write_merged`."""
        assert self._serialized is not None
        serialized: list[BytesLike] = []
        at = first
        for merged in self._merged:
            if first <= merged.first < stop:
                serialized.append(self._serialized.between(at, merged.first))
                serialized.append(self._messages[merged.first])
                at = merged.stop
        return [*serialized, self._serialized.between(at, stop)]

    def _copy_merged(self, output: AlignedOutput, pages: Ints, merged: MergedPages) -> None:
        """Copy the ranges of merged pages without padding between them."""
        assert self._merges is not None
        assert merged.ranges is not None
        owners = self._table.files_of(pages)
        cuts = [0, *(np.flatnonzero(np.diff(owners)) + 1).tolist(), len(owners)]
        output.align(ALIGNMENT)
        start = output.position
        for first, stop in pairwise(cuts):
            file = self._content.files[int(owners[first])]
            output.append_from(file.store, file.path, merged.ranges[first:stop], file.batch_bytes)
        copied = ByteRange(start, output.position)
        output.align(ALIGNMENT)
        encoding = self._merges.encoding(pages, merged)
        message = self._message(merged.first, [copied], merged.num_rows, encoding)
        self._messages[merged.first] = message

    def _message(
        self, first: int, ranges: Sequence[ByteRange], num_rows: int, encoding: bytes
    ) -> bytes:
        """A serialized page that starts with page ``first``, with buffers at ``ranges``."""
        priority = int(self._priorities[first])
        return serialize_page(ranges, num_rows, self._version.page_encoding_url, encoding, priority)

    @cached_property
    def _all_pages(self) -> Ints:
        """All pages, after the last `add`."""
        return np.concatenate([np.empty(0, np.int64), *self._pages])

    @cached_property
    def _sizes(self) -> Ints:
        """The bytes of the buffers of each page."""
        return self._table.sizes_of(self._all_pages)

    @cached_property
    def _priorities(self) -> Ints:
        shifts = np.concatenate([np.empty(0, np.int64), *self._shifts])
        priorities: Ints = np.maximum(self._table.priorities[self._all_pages] + shifts, 0)
        return priorities

    def _copy_buffers(
        self, output: AlignedOutput, buffers: Ints, page_of: Ints
    ) -> Generator[int, None, Ints]:
        """Copy ``buffers``, of which each belongs to a page; returns their new positions."""
        table, files = self._table, self._content.files
        file_of = table.files_of(page_of)
        # The runs of all files are computed at once. No run has buffers of two files, because the
        # bases leave a gap between them.
        bases = self._content.ranges.bases
        offsets = table.offsets[buffers]
        runs = copy_runs(offsets + bases[file_of], table.sizes[buffers])
        owners = bases.searchsorted(runs.starts, "right") - 1
        starts = (runs.starts - bases[owners]).tolist()
        stops = (runs.stops - bases[owners]).tolist()
        edges = owners.searchsorted(np.arange(len(files) + 1)).tolist()
        moves: list[int] = []
        for number, (first, stop) in enumerate(pairwise(edges)):
            if first < stop:
                file = files[number]
                moves += _append_runs(output, file, starts[first:stop], stops[first:stop])
                yield number
        return offsets + np.array(moves, np.int64)[runs.of_buffer]


def _append_runs(
    output: AlignedOutput, file: SourceFile, starts: Sequence[int], stops: Sequence[int]
) -> list[int]:
    """Copy runs of a file; returns by how many bytes each was moved."""
    moves = []
    pending: list[ByteRange] = []
    position = output.position
    for start, stop in zip(starts, stops, strict=True):
        is_large = stop - start >= _LARGE_RUN
        if position % ALIGNMENT or (is_large and (position - start) % BLOCK):
            output.append_from(file.store, file.path, pending, file.batch_bytes)
            pending = []
            output.align(ALIGNMENT)
            if is_large and start % ALIGNMENT == 0:
                output.align(BLOCK, start % BLOCK)
            position = output.position
        moves.append(position - start)
        # Padding follows every buffer of an aligned file, and metadata the last one.
        padding = -stop % ALIGNMENT if start % ALIGNMENT == 0 else 0
        pending.append(ByteRange(start, stop + padding))
        position += stop + padding - start
    output.append_from(file.store, file.path, pending, file.batch_bytes)
    output.align(ALIGNMENT)
    return moves
