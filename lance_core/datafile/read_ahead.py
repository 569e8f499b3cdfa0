"""Read more of a page than one window of rows needs, because the next windows need the rest.

On a store where each request costs time or money, a scan reads whole pages, or long parts of them,
and takes the bytes of its windows from these. The additional bytes end at the end of the page, and
pages with few wanted rows are read in pieces, so that the scan does not read unwanted bytes.
"""

from __future__ import annotations

import os
import weakref
from bisect import bisect_right, insort
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future
from typing import NamedTuple

import pyarrow as pa

from lance_core.byte_ranges import ByteRange
from lance_core.concurrency.fork_safe import ForkSafeLock
from lance_core.datafile.metadata import FileMetadata
from lance_core.encodings.decoding import RowRange
from lance_core.encodings.page import Page
from lance_core.store.base import ObjectStore
from lance_core.store.buffers import joined
from lance_core.store.read_planning import Extent, plan_reads

CAPACITY = 64 << 20
"""Bytes that one scan caches for its next windows."""

SHARES = 8
"""Maximum number of concurrent calls that share the capacity. If more bytes were read ahead, the
cache would drop bytes before their window is read, and they would be read twice."""

_SLACK = 64 << 10
"""Bytes added to the estimated share of a page, since rows differ in size."""

_EMPTY = pa.py_buffer(b"")

_PADDING = 64
"""Maximum padding in bytes between two buffers of a page."""


class Kept:
    """Cache of the byte ranges that one scan has read or is reading, of all files. Thread-safe.

    The oldest range is dropped first.
    """

    def __init__(self, capacity: int = CAPACITY) -> None:
        self.capacity = capacity
        self.lock = ForkSafeLock()
        self._size = 0
        self._extents: OrderedDict[_Reading, FileReadAhead] = OrderedDict()

    def add(self, reading: _Reading, file: FileReadAhead) -> None:
        """Add ``reading`` of ``file`` to the cache; the caller holds the lock."""
        self._extents[reading] = file
        self._size += reading.stop - reading.start
        while self._size > self.capacity and len(self._extents) > 1:
            oldest = next(iter(self._extents))
            self.drop(oldest)

    def drop(self, reading: _Reading) -> None:
        """Remove ``reading``; the caller holds the lock."""
        file = self._extents.pop(reading, None)
        if file is not None:
            self._size -= reading.stop - reading.start
            file.readings.remove(reading)

    def forget(self) -> None:
        """Remove all ranges."""
        self._size = 0
        self._extents = OrderedDict()


class _Reading:
    """A byte range of a file that is in memory, or that a thread is reading (``done``)."""

    __slots__ = ("done", "start", "stop")

    def __init__(self, start: int, stop: int) -> None:
        self.start = start
        self.stop = stop
        self.done: Future[pa.Buffer] = Future()

    def __lt__(self, other: _Reading) -> bool:
        return self.start < other.start


class _PageSpan(NamedTuple):
    """Bytes of a page: ``start`` and ``stop`` in the file, and the first one that the scan needs.

    ``first_wanted`` is estimated from the share of rows before the scan's first row.
    """

    start: int
    stop: int
    first_wanted: int


class FileReadAhead:
    """Reads ranges of one file for a scan that reads the rows ``rows`` in ascending windows.

    ``growth``: maximum ratio of read bytes to requested bytes; None means no limit.
    """

    def __init__(
        self,
        store: ObjectStore,
        content: FileMetadata,
        rows: RowRange,
        cache: Kept,
        growth: int | None = None,
    ) -> None:
        self._store = store
        self._content = content
        self._rows = rows
        self._cache = cache
        self._growth = growth
        self._pages: list[_PageSpan] = []
        self._num_parsed = 0
        # By the first byte of a page: the end of what was requested of it, also of what the cache
        # has dropped since.
        self._requested: dict[int, int] = {}
        self.readings: list[_Reading] = []
        _all.add(self)

    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        """See `ObjectStore.get_ranges`. Waits for ranges that another thread is reading."""
        with self._cache.lock:
            held = [_holding(self.readings, range_.start, range_.stop) for range_ in ranges]
            missing = [
                ByteRange(readings[-1].stop if readings else range_.start, range_.stop)
                for readings, range_ in zip(held, ranges, strict=True)
                if not readings or readings[-1].stop < range_.stop
            ]
            new = self._begin(missing) if missing else []
        if new:
            self._read(path, new)
        return [_cut(readings, new, range_) for readings, range_ in zip(held, ranges, strict=True)]

    def forget(self) -> None:
        """Remove all ranges: after a fork, the threads that read them do not exist in the child."""
        self._pages, self._num_parsed = [], 0
        self._requested = {}
        self.readings = []
        self._cache.forget()

    def _read(self, path: str, new: Sequence[_Reading]) -> None:
        try:
            ranges = [ByteRange(reading.start, reading.stop) for reading in new]
            buffers = self._store.get_ranges(path, ranges)
        except BaseException as error:
            with self._cache.lock:
                for reading in new:
                    self._cache.drop(reading)
            for reading in new:
                reading.done.set_exception(error)
            raise
        for reading, buffer in zip(new, buffers, strict=True):
            reading.done.set_result(buffer)

    def _begin(self, missing: Sequence[ByteRange]) -> list[_Reading]:
        """Plan and register the readings for the ranges ``missing``, in ascending order."""
        size = self._store.read_ahead
        extents = plan_reads(missing, self._store.coalesce_gap, size).extents
        if not extents:
            return []
        self._know_pages()
        extents = list(map(self._with_earlier_windows, extents))
        stops = list(map(self._stop, extents))
        new: list[_Reading] = []
        for (start, least), most in zip(extents, _fair(extents, stops, self._room()), strict=True):
            behind = new[-1].stop if new else 0
            if least <= behind:
                continue
            for piece in Extent(max(start, behind), max(least, most)).pieces(size):
                reading = _Reading(*piece)
                new.append(reading)
                insort(self.readings, reading)
                self._cache.add(reading, self)
                self._note_requested(reading)
        return new

    def _with_earlier_windows(self, extent: Extent) -> Extent:
        """``extent`` from the first byte of its page on that was not requested.

        Threads may begin with a later window than others. The earlier windows need the bytes
        before it; without this, each of them would take a request of its own.
        """
        page = self._page_of(extent.start)
        if page is None or extent.start >= page.stop or self._growth is not None:
            return extent
        first = max(page.first_wanted, self._requested.get(page.start, 0))
        return Extent(first, extent.stop) if 0 < extent.start - first <= self._room() else extent

    def _note_requested(self, reading: _Reading) -> None:
        number = max(bisect_right(self._pages, reading.start, key=_start_of) - 1, 0)
        while number < len(self._pages) and (page := self._pages[number]).start < reading.stop:
            stop = self._requested.get(page.start, 0)
            self._requested[page.start] = max(stop, min(reading.stop, page.stop))
            number += 1

    def _page_of(self, position: int) -> _PageSpan | None:
        """The page that is worth reading and begins last at or before ``position``."""
        number = bisect_right(self._pages, position, key=_start_of) - 1
        return self._pages[number] if number >= 0 else None

    def _room(self) -> int:
        """Maximum number of bytes that one call reads ahead."""
        return self._cache.capacity // SHARES

    def _stop(self, extent: Extent) -> int:
        """Maximum end of a request for ``extent``, in bytes from the start of the file."""
        page = self._page_of(extent.stop - 1)
        stop = page.stop if page is not None else 0
        if self._growth is not None:
            stop = min(stop, extent.start + (extent.stop - extent.start) * self._growth)
        following = bisect_right(self.readings, extent.start, key=_start_of)
        if following < len(self.readings):
            stop = min(stop, self.readings[following].start)
        return max(stop, extent.stop)

    def _know_pages(self) -> None:
        """Update the byte ranges of the pages of all columns that are parsed so far."""
        columns = self._content.columns.parsed
        if len(columns) == self._num_parsed:
            return
        self._num_parsed = len(columns)
        self._pages = sorted(
            page
            for column in columns
            for first, page_of_column in zip(column.starts, column.pages, strict=False)
            if (page := self._worth_reading(page_of_column, first)) is not None
        )

    def _worth_reading(self, page: Page, first: int) -> _PageSpan | None:
        """What to read of a page whose first row is ``first``.

        None if the scan reads less than half of the page or the page's buffers are not adjacent.
        """
        rows = self._rows
        num_rows = min(rows.stop, first + page.num_rows) - max(rows.start, first)
        if not (page.buffers and page.num_rows) or num_rows * 2 < page.num_rows:
            return None
        start = min(buffer.start for buffer in page.buffers)
        stop = max(buffer.stop for buffer in page.buffers)
        used = sum(buffer.length for buffer in page.buffers)
        if stop - start > used + _PADDING * len(page.buffers):
            return None
        size = stop - start
        before = max(rows.start - first, 0) / page.num_rows
        share = (rows.stop - first) / page.num_rows
        if share < 1.0:
            stop = min(stop, start + int(size * share) + _SLACK)
        return _PageSpan(start, stop, start + int(size * before))


_all: weakref.WeakSet[FileReadAhead] = weakref.WeakSet()


def _forget_all() -> None:
    for file in list(_all):
        file.forget()


if hasattr(os, "register_at_fork"):
    # Runs after the handler of `fork_safe`, which renews the locks in the child.
    os.register_at_fork(after_in_child=_forget_all)


def _start_of(span: _Reading | _PageSpan) -> int:
    return span.start


def _holding(readings: Sequence[_Reading], start: int, stop: int) -> list[_Reading]:
    """Adjacent readings that hold the bytes from ``start`` on, at most up to ``stop``.

    The result may end before ``stop``. An earlier reading that ends later is not considered,
    because such overlaps are rare.
    """
    position = bisect_right(readings, start, key=_start_of) - 1
    holding: list[_Reading] = []
    while (
        0 <= position < len(readings)
        and readings[position].start <= start < readings[position].stop
    ):
        holding.append(readings[position])
        start = readings[position].stop
        if start >= stop:
            break
        position += 1
    return holding


def _cut(held: Sequence[_Reading], new: Sequence[_Reading], byte_range: ByteRange) -> pa.Buffer:
    """The bytes of ``byte_range`` from the readings ``held``, and from ``new`` where ``held`` ends.

    Waits for unfinished readings. The bytes are copied if they are in several readings.
    """
    start, stop = byte_range
    if start == stop:
        return _EMPTY
    position = held[-1].stop if held else start
    holding = [*held, *_holding(new, position, stop)] if position < stop else held
    assert holding
    assert holding[-1].stop >= stop
    if len(holding) == 1:
        return holding[0].done.result().slice(start - holding[0].start, stop - start)
    parts = []
    for reading in holding:
        first, last = max(start, reading.start), min(stop, reading.stop)
        parts.append(reading.done.result().slice(first - reading.start, last - first))
        start = last
    return joined(parts)


def _fair(extents: Sequence[Extent], stops: Sequence[int], budget: int) -> list[int]:
    """``stops`` reduced so that the extents have at most ``budget`` bytes in total.

    An extent that is smaller than its equal share leaves the rest to the larger extents.
    """
    ends = list(stops)
    order = sorted(range(len(ends)), key=lambda number: stops[number] - extents[number].start)
    for done, number in enumerate(order):
        start, stop = extents[number].start, stops[number]
        ends[number] = min(stop, start + budget // (len(order) - done))
        budget = max(0, budget - (ends[number] - start))
    return ends
