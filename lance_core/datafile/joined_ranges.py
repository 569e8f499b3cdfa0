"""Positions in several files as positions of one file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core.datafile.footer import ALIGNMENT
from lance_core.errors import CorruptFileError
from lance_core.store.base import ByteRange, byte_ranges

if TYPE_CHECKING:
    from lance_core.encodings.decoding import Int64Array

GAP = 8 << 10
"""Bytes between two ranges of a file up to which they are read as one, as reading copies them."""


class JoinedRanges:
    """Files one after the other: a position is a position in a file plus the file's base.

    ``ends``: the position in each file at which what may be read ends.
    """

    def __init__(self, ends: Int64Array) -> None:
        self._ends = ends
        # Bases are multiples of the alignment, so that aligned buffers stay so. Files are more than
        # a gap apart, so that ranges of two files are not read as one.
        steps = -(-(ends + 2 * GAP) // ALIGNMENT) * ALIGNMENT
        self.bases: Int64Array = np.cumsum(steps) - steps

    @property
    def end(self) -> int:
        """The end of the last file."""
        return int(self.bases[-1] + self._ends[-1]) if len(self._ends) else 0

    def locate(self, ranges: Sequence[ByteRange]) -> tuple[Int64Array, Int64Array, Int64Array]:
        """The number of the file of each range, and the start and end in the file."""
        flat = np.fromiter(chain.from_iterable(ranges), np.int64, 2 * len(ranges))
        owners = self.bases.searchsorted(flat[::2], "right") - 1
        bases = self.bases[owners]
        starts, stops = flat[::2] - bases, flat[1::2] - bases
        if (stops > self._ends[owners]).any():
            raise CorruptFileError("a range of bytes ends after the data of its file")
        return owners, starts, stops

    def get(
        self,
        ranges: Sequence[ByteRange],
        read: Callable[[int, Sequence[ByteRange]], Sequence[pa.Buffer]],
    ) -> list[pa.Buffer]:
        """The bytes of ``ranges``, with one call of ``read`` for each file, given its number."""
        if not ranges:
            return []
        owners, starts, stops = self.locate(ranges)
        order = owners.argsort(kind="stable")
        inner = byte_ranges(starts[order].tolist(), stops[order].tolist())
        sorted_owners = owners[order]
        cuts = np.flatnonzero(np.diff(sorted_owners, prepend=-1)).tolist()
        files = sorted_owners[cuts].tolist()
        found: list[pa.Buffer] = []
        for owner, (first, stop) in zip(files, pairwise([*cuts, len(inner)]), strict=True):
            found += read(owner, inner[first:stop])
        return [found[place] for place in order.argsort().tolist()]
