"""The spans of whole fragments: created on access for a table, which may have many of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from operator import attrgetter
from typing import overload

import numpy as np

from lance_core.dataset.read.fragments.live_rows import count_live, offsets_of
from lance_core.dataset.read.fragments.span import Span
from lance_core.dataset.snapshot.snapshot import MAX_FRAGMENT_ROWS, Snapshot
from lance_core.encodings.decoding import RowRange
from lance_core.lazy_dataclass import dataclass
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.fragments.fragment_counts import Count, FragmentCounts
from lance_core.table.fragments.fragment_list import FEW_FRAGMENTS

_NUM_ROWS = attrgetter("num_rows")


@dataclass(frozen=True, slots=True, eq=False)
class FragmentSpans(Sequence[Span]):
    """The rows of consecutive fragments of ``snapshot``, whose manifest records their rows.

    ``first`` and ``stop``: the positions of the first fragment and after the last one.
    ``start_row``: the first row in the first fragment. ``stop_row``: the row after the last one in
    the last fragment, None for all its rows.
    """

    snapshot: Snapshot
    first: int
    stop: int
    start_row: int = 0
    stop_row: int | None = None

    def __len__(self) -> int:
        return self.stop - self.first

    @overload
    def __getitem__(self, index: int) -> Span: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Span, ...]: ...
    def __getitem__(self, index: int | slice) -> Span | tuple[Span, ...]:
        positions = range(self.first, self.stop)[index]
        fragments = self.snapshot.file.manifest.fragments
        if isinstance(positions, range):
            return tuple(self._span(position, fragments[position]) for position in positions)
        return self._span(positions, fragments[positions])

    def __iter__(self) -> Iterator[Span]:
        positions = range(self.first, self.stop)
        fragments = self.snapshot.file.manifest.fragments.at(positions)
        return map(self._span, positions, fragments)

    def _span(self, position: int, fragment: Fragment) -> Span:
        stop = self.stop_row if position == self.stop - 1 else None
        if stop is None:
            stop = self.snapshot.physical_rows(fragment)
        return Span(fragment, self.start_row if position == self.first else 0, stop)

    @property
    def has_all_rows(self) -> bool:
        """True if the spans have all rows of all fragments."""
        has_all = len(self) == len(self.snapshot.file.manifest.fragments)
        return has_all and not self.start_row and self.stop_row is None

    @property
    def counts(self) -> FragmentCounts:
        """The counts of the fragments, including rows that are not in the spans."""
        return self.snapshot.file.manifest.fragments.counts_between(self.first, self.stop)

    def cut(self, skip: int, limit: int | None, with_deleted: bool) -> Sequence[Span] | None:
        """The spans without their first ``skip`` rows, and without rows after the next ``limit``.

        Counts live rows, or with ``with_deleted`` all rows. Returns None if the manifest does not
        record the deleted rows.
        """
        rows = self.counts.physical_rows if with_deleted else self.counts.live_rows
        if rows is None or not len(self):
            return None
        counts = rows.tolist()
        if self.start_row:
            counts[0] = _count(self.snapshot, self[0], with_deleted)
        if self.stop_row is not None:
            counts[-1] = _count(self.snapshot, self[-1], with_deleted)
        edges = [0, *accumulate(counts)]
        stop = edges[-1] if limit is None else min(edges[-1], skip + limit)
        if skip >= stop:
            return ()
        first, last = bisect_right(edges, skip) - 1, bisect_left(edges, stop) - 1
        skip, stop = skip - edges[first], stop - edges[last]
        if first == last:
            return (_part(self.snapshot, self[first], skip, stop, with_deleted),)
        start = _part(self.snapshot, self[first], skip, counts[first], with_deleted).start
        end = _part(self.snapshot, self[last], 0, stop, with_deleted).stop
        ends = self.first + first, self.first + last + 1
        return FragmentSpans(self.snapshot, *ends, start, end)


def all_spans(snapshot: Snapshot) -> Sequence[Span]:
    """The spans of all rows of the table."""
    fragments = snapshot.file.manifest.fragments
    counts = fragments.counts
    if _are_usual(counts):
        return FragmentSpans(snapshot, 0, counts.table.shape[1])
    return tuple(Span(fragment, 0, snapshot.physical_rows(fragment)) for fragment in fragments)


def _are_usual(counts: FragmentCounts) -> bool:
    """True if the manifest records the rows of all fragments, and they are possible."""
    return not counts.table.shape[1] or 0 < counts.max_rows <= MAX_FRAGMENT_ROWS


def first_spans(snapshot: Snapshot, num_rows: int, with_deleted: bool) -> FragmentSpans | None:
    """The spans of the first fragments, which have ``num_rows`` live rows or more.

    With ``with_deleted`` all rows count. None if the table has as few rows, or if it takes more
    than a few fragments or their deletion files to know.
    """
    fragments = snapshot.file.manifest.fragments
    if len(fragments) <= FEW_FRAGMENTS:
        return None
    counts = fragments.counts_between(0, FEW_FRAGMENTS)
    rows = counts.physical_rows if with_deleted else counts.live_rows
    if rows is None or not _are_usual(counts):
        return None
    stop = int(np.searchsorted(np.cumsum(rows), num_rows)) + 1
    return FragmentSpans(snapshot, 0, stop) if stop <= len(rows) else None


def num_rows(spans: Sequence[Span]) -> int:
    """The number of physical rows in ``spans``."""
    # The first test is for speed: that of a class for sequences is Python code.
    if type(spans) is tuple or not isinstance(spans, FragmentSpans):
        return sum(map(_NUM_ROWS, spans))
    counts = spans.counts
    last = int(counts.physical_rows[-1]) if spans.stop_row is not None else 0
    return counts.totals()[Count.PHYSICAL_ROWS] - spans.start_row - last + (spans.stop_row or 0)


def stored_bytes(spans: Sequence[Span]) -> int:
    """The total bytes of the data files of all fragments in ``spans``."""
    if isinstance(spans, FragmentSpans):
        return spans.counts.totals()[Count.DATA_BYTES]
    return sum(
        file.file_size_bytes or 0
        for fragment in {span.fragment.id: span.fragment for span in spans}.values()
        for file in fragment.files
    )


def ends_of(spans: Sequence[Span]) -> Callable[[Span], bool]:
    """A function that returns True for a part of a span that has the last rows of the span."""
    if not isinstance(spans, FragmentSpans):
        ends = {(span.fragment.id, span.stop) for span in spans}
        return lambda part: (part.fragment.id, part.stop) in ends
    if spans.stop_row is None:
        return lambda part: part.stop == part.fragment.physical_rows
    last = spans[-1].fragment.id, spans.stop_row
    return lambda part: (
        part.stop == part.fragment.physical_rows or (part.fragment.id, part.stop) == last
    )


def cut_spans(
    snapshot: Snapshot, spans: Sequence[Span], skip: int, limit: int | None, with_deleted: bool
) -> Sequence[Span]:
    """``spans`` without their first ``skip`` rows, and without rows after the next ``limit``.

    Counts live rows, or with ``with_deleted`` all rows.
    """
    if isinstance(spans, FragmentSpans):
        cut = spans.cut(skip, limit, with_deleted)
        if cut is not None:
            return cut
    return tuple(_each_cut(snapshot, spans, skip, limit, with_deleted))


def _each_cut(
    snapshot: Snapshot, spans: Sequence[Span], skip: int, left: int | None, with_deleted: bool
) -> Iterator[Span]:
    """The parts of the spans, one after the other; see `cut_spans`."""
    for span in spans:
        rows = _count(snapshot, span, with_deleted)
        if skip >= rows:
            skip -= rows
            continue
        if left == 0:
            return
        stop = rows if left is None else min(rows, skip + left)
        yield _part(snapshot, span, skip, stop, with_deleted)
        left = None if left is None else left - (stop - skip)
        skip = 0


def _count(snapshot: Snapshot, span: Span, with_deleted: bool) -> int:
    """The number of live rows in ``span``, or of all rows."""
    if with_deleted:
        return span.stop - span.start
    return count_live(snapshot, span.fragment, RowRange(span.start, span.stop))


def _part(snapshot: Snapshot, span: Span, first: int, stop: int, with_deleted: bool) -> Span:
    """``span`` from its row ``first`` to its row ``stop`` (exclusive), counted as by `_count`."""
    if with_deleted:
        return Span(span.fragment, span.start + first, span.start + stop)
    if snapshot.deleted_offsets(span.fragment) is None:
        return Span(span.fragment, span.start + first, span.start + stop)
    before = count_live(snapshot, span.fragment, RowRange(0, span.start))
    ends = np.array([before + first, before + stop - 1])
    start, last = offsets_of(snapshot, span.fragment, ends).tolist()
    return Span(span.fragment, start, last + 1)
