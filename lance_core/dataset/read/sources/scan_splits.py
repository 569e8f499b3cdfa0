"""`ScanSplit`: rows of a fragment that a scan reads, for scans by several processes.

One process searches the indices of the table and finds the rows that the filter may select; it
sends parts of them to other processes, which read them without another search.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from lance_core.errors import InvalidTypeError
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from pyroaring import BitMap

    from lance_core.dataset.read.sources.row_source import RowSource


@dataclass(frozen=True, slots=True, eq=False)
class ScanSplit:
    """Physical rows of a fragment that a scan must read, some of which may be deleted.

    They are the rows from ``start`` to ``stop`` (exclusive), with ``chosen`` only those in this
    Roaring bitmap. ``is_exact``: True if the filter of the scan selects all of them that are not
    deleted, so that it is not evaluated again. A split can be pickled; it is valid for scans of the
    same version with the same filter.
    """

    fragment_id: int
    start: int
    stop: int
    chosen: BitMap | None
    is_exact: bool

    @property
    def num_rows(self) -> int:
        """The number of rows to read."""
        return self.stop - self.start if self.chosen is None else len(self.chosen)

    def part(self, first: int, end: int) -> ScanSplit:
        """The rows at the positions ``first`` to ``end`` (exclusive) among those to read."""
        if self.chosen is None:
            return replace(self, start=self.start + first, stop=self.start + end)
        from pyroaring import BitMap

        if first >= end:
            return replace(self, stop=self.start, chosen=BitMap())
        # Keep the outer bounds of the first and the last part: `in_runs` joins small fragments only
        # if their spans begin at row 0.
        start = self.chosen[first] if first else self.start
        stop = self.chosen[end] if end < len(self.chosen) else self.stop
        chosen = self.chosen & BitMap(range(start, stop))
        return replace(self, start=start, stop=stop, chosen=chosen)


def splits_of(rows: RowSource) -> Iterator[ScanSplit]:
    """The rows that a scan reads, in the order of its spans; runs the searches of the source."""
    from pyroaring import BitMap

    for section in rows.sections(None):
        for span in section.spans:
            split = ScanSplit(span.fragment.id, span.start, span.stop, None, section.filter is None)
            if span.chosen is not None:
                chosen = span.chosen & BitMap(range(span.start, span.stop))
                split = replace(split, chosen=chosen)
            yield split


def checked_splits(option: object) -> tuple[ScanSplit, ...]:
    """The option ``splits`` of a scan; raises `InvalidTypeError` for other values."""
    splits = tuple(option) if isinstance(option, Iterable) else (option,)
    for split in splits:
        if not isinstance(split, ScanSplit):
            raise InvalidTypeError(f"splits are those of LanceScanner.splits, got {split!r}")
    return splits
