"""`Span`: physical rows of a fragment, or of a run of small fragments that are read as one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from lance_core.encodings.decoding import RowRange, packed_rows
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from pyroaring import BitMap

    from lance_core.encodings.decoding import Int64Array, Rows
    from lance_core.table.fragments.data_file import DataFile
    from lance_core.table.fragments.fragment import Fragment


@dataclass(frozen=True, slots=True, eq=False)
class FragmentRun:
    """Fragments whose files have the same fields and columns.

    ``starts``: the first physical row of each fragment in the run, then the number of all rows.
    """

    fragments: tuple[Fragment, ...]
    starts: Int64Array

    @property
    def id(self) -> int:
        """The id of the first fragment."""
        return self.fragments[0].id

    @property
    def files(self) -> tuple[DataFile, ...]:
        """The files of the first fragment, which has the same layout as the others."""
        return self.fragments[0].files

    def owners(self, offsets: Int64Array) -> Int64Array:
        """For each row of the run, the position of its fragment."""
        positions: Int64Array = self.starts.searchsorted(offsets, "right") - 1
        return positions

    def counts(self, rows: Rows) -> Int64Array:
        """The number of ``rows`` in each fragment."""
        if isinstance(rows, RowRange):
            clipped: Int64Array = np.clip(self.starts, rows.start, rows.stop)
            return clipped[1:] - clipped[:-1]
        return np.diff(rows.values.searchsorted(self.starts))

    def parts(self, rows: Rows) -> Iterator[tuple[Fragment, Rows]]:
        """Each fragment that has some of ``rows``, with the offsets of these rows in it."""
        ends = np.cumsum(self.counts(rows))
        firsts = [0, *ends[:-1].tolist()]
        for fragment, start, first, end in zip(
            self.fragments, self.starts.tolist(), firsts, ends.tolist(), strict=False
        ):
            if first == end:
                continue
            if isinstance(rows, RowRange):
                begin = rows.start + first - start
                yield fragment, RowRange(begin, begin + end - first)
            else:
                yield fragment, packed_rows(rows.values[first:end] - start)


FragmentOrRun: TypeAlias = "Fragment | FragmentRun"
"""The fragment or the run of fragments that has the rows of a span."""


def fragment_ids(source: FragmentOrRun) -> list[int]:
    """The ids of the fragments of ``source``."""
    if isinstance(source, FragmentRun):
        return [fragment.id for fragment in source.fragments]
    return [source.id]


@dataclass(frozen=True, slots=True)
class Span:
    """Physical rows ``start`` (inclusive) to ``stop`` (exclusive) of a fragment.

    With a ``run``, the rows count from the start of the run, and ``fragment`` is its first.
    ``chosen``: the rows to read, of which others may be outside of the span; None for all.
    """

    fragment: Fragment
    start: int
    stop: int
    run: FragmentRun | None = None
    chosen: BitMap | None = None

    @property
    def source(self) -> FragmentOrRun:
        """The fragment or run from whose start the rows count."""
        return self.fragment if self.run is None else self.run

    @property
    def num_rows(self) -> int:
        """The number of physical rows to read."""
        if self.chosen is None:
            return self.stop - self.start
        return self.chosen.range_cardinality(self.start, self.stop)

    @property
    def chosen_rows(self) -> Int64Array:
        """The physical rows to read."""
        if self.chosen is None:
            return np.arange(self.start, self.stop)
        inside = self.chosen
        if inside.min() < self.start or inside.max() >= self.stop:
            from pyroaring import BitMap

            inside = inside & BitMap(range(self.start, self.stop))
        return np.frombuffer(inside.to_array(), np.uint32).astype(np.int64)
