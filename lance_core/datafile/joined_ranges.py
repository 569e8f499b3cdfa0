"""Positions in several files as positions of one file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core.byte_ranges import BufferSlices, ByteRange, RangeArrays, byte_ranges
from lance_core.datafile.footer import ALIGNMENT
from lance_core.errors import CorruptFileError

if TYPE_CHECKING:
    from lance_core.encodings.decoding import Int64Array

GAP = 8 << 10
"""Bytes between two ranges of a file up to which they are read as one, as reading copies them."""


class JoinedRanges:
    """Files one after the other: a position is a position in a file plus the file's base.

    A position plus a multiple of ``span`` is the same byte, so that ranges of any order can ascend.
    ``ends``: the position in each file at which what may be read ends.
    """

    def __init__(self, ends: Int64Array) -> None:
        self._ends = ends
        # Bases are multiples of the alignment, so that aligned buffers stay so. Files are more than
        # a gap apart, so that ranges of two files are not read as one.
        steps = -(-(ends + 2 * GAP) // ALIGNMENT) * ALIGNMENT
        self.bases: Int64Array = np.cumsum(steps) - steps
        self.span = max(1, int(steps.sum()))

    @property
    def end(self) -> int:
        """The end of the last file."""
        return int(self.bases[-1] + self._ends[-1]) if len(self._ends) else 0

    def get(
        self,
        ranges: Sequence[ByteRange],
        read: Callable[[int, Sequence[ByteRange]], Sequence[pa.Buffer]],
    ) -> BufferSlices:
        """The bytes of ``ranges``, with one call of ``read`` for each file, given its number.

        Ranges of a file that are at most `GAP` apart are read as one. Raises `CorruptFileError` for
        a range that ends after the data of its file.
        """
        arrays = self.within_span(ranges)
        if not len(arrays):
            return BufferSlices.of(())
        order = arrays.starts.argsort(kind="stable")
        starts, ends = arrays.starts[order], np.maximum.accumulate(arrays.stops[order])
        is_first = np.ones(len(order), np.bool_)
        is_first[1:] = starts[1:] - ends[:-1] > GAP
        cuts = np.flatnonzero(is_first)
        owners = np.empty(len(order), np.int64)
        owners[order] = is_first.cumsum() - 1
        lasts = np.append(cuts[1:], len(order)) - 1
        pieces = RangeArrays(starts[cuts], ends[lasts])
        buffers = self._read(pieces, read)
        begins = pieces.starts[owners]
        return BufferSlices(buffers, owners, arrays.starts - begins, arrays.stops - begins)

    def slices(self, ranges: Sequence[ByteRange], views: Sequence[pa.Buffer]) -> BufferSlices:
        """The bytes of ``ranges`` as slices of ``views``, which are the data of all files.

        Raises `CorruptFileError` as `get` does.
        """
        arrays = self.within_span(ranges)
        files, inner = self._in_files(arrays)
        return BufferSlices(views, files, inner.starts, inner.stops)

    def within_span(self, ranges: Sequence[ByteRange]) -> RangeArrays:
        """The same bytes by their first positions."""
        arrays = RangeArrays.of(ranges)
        moved = arrays.starts // self.span * self.span
        return RangeArrays(arrays.starts - moved, arrays.stops - moved)

    def _in_files(self, ranges: RangeArrays) -> tuple[Int64Array, RangeArrays]:
        """The number of the file of each range, and its position in that file."""
        files = self.bases.searchsorted(ranges.starts, "right") - 1
        bases = self.bases[files]
        starts, stops = ranges.starts - bases, ranges.stops - bases
        if (stops > self._ends[files]).any():
            raise CorruptFileError("a range of bytes ends after the data of its file")
        return files, RangeArrays(starts, stops)

    def _read(
        self,
        pieces: RangeArrays,
        read: Callable[[int, Sequence[ByteRange]], Sequence[pa.Buffer]],
    ) -> list[pa.Buffer]:
        """The bytes of ascending ``pieces``."""
        files, ranges = self._in_files(pieces)
        inner = byte_ranges(ranges.starts.tolist(), ranges.stops.tolist())
        cuts = np.flatnonzero(np.diff(files, prepend=-1))
        edges = pairwise([*cuts.tolist(), len(inner)])
        buffers: list[pa.Buffer] = []
        for file, (first, stop) in zip(files[cuts].tolist(), edges, strict=True):
            buffers += read(file, inner[first:stop])
        return buffers
